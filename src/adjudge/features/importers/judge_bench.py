"""Import JUDGE-BENCH: texts with people's answers by several properties, and replies of models to
the same questions.

``prompt_model_json.py`` writes the replies next to the people's answers. A reply without a single
answer is unreadable; the authors draw one at random instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.label import Kind
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import NO_REPLY_VERDICT, winner
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    by_model,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head, named_objects
from adjudge.features.importers.values import Json, Texts, fields_of, number, text

_PEOPLE = ("individual_human_scores", "mean_human", "majority_human")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_SIDES = ("_a", "_b")
_INSTANCES = ("instances",)


@dataclass(frozen=True)
class _Property:
    """A question that people answered, and how to read an answer to it."""

    question: RecordedQuestion
    labels: tuple[str, ...] = ()
    worst: float = 0.0
    best: float = 1.0

    def answer(self, value: Json) -> RecordedAnswer | None:
        """Return a value as an answer, or None if it is not a valid one.

        A scale whose lower end is the better one is reversed.
        """
        if self.question.kind == "comparison":
            return winner(value)
        if self.question.kind == "choice":
            word = text(value).strip().casefold()
            return next((label for label in self.labels if label.casefold() == word), None)
        points = number(value)
        if points is None or not min(self.question.bounds) <= points <= max(self.question.bounds):
            return None
        return points if self.worst <= self.best else self.worst + self.best - points

    def read(self, reply: str) -> RecordedAnswer | None:
        """Return the only answer in a reply; None if it has none or several."""
        if self.question.kind == "rating":
            answers = set(_NUMBER.findall(reply))
        else:
            words = "|".join(map(re.escape, sorted(self.labels, key=len, reverse=True)))
            answers = {word.casefold() for word in re.findall(rf"(?i)\b(?:{words})\b", reply)}
        return self.answer(answers.pop()) if len(answers) == 1 else None


def _matches(head: Head) -> bool:
    declared = head.document.has("dataset", "annotations", "instances")
    return declared and head.at("annotations").has("metric", "category")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"instance": "fields", "individual_human_scores": "labels", "MODEL": "votes"})
    about = file.document(("annotations",), ("expert_annotator",))
    kind: Kind = "expert" if about.text("expert_annotator") == "true" else "human"
    properties = {
        declared.text("metric"): _property(declared) for declared in about.objects("annotations")
    }
    for record in file.records(_INSTANCES):
        answers = named_objects(record.nested("annotations"))
        for name, property_asked in properties.items():
            if name in answers:
                yield from _rows(record, property_asked, answers[name], kind)


def _property(declared: ForeignRecord) -> _Property:
    name = declared.text("metric")
    prompt = _PLACEHOLDER.sub("", declared.text("prompt")).strip()
    labels = tuple(map(text, declared.values("labels_list")))
    low, high = declared.number("worst"), declared.number("best")
    worst, best = 0.0 if low is None else low, 1.0 if high is None else high
    upwards = worst <= best
    if {"model_a", "model_b"} <= {*labels}:
        question = RecordedQuestion(name, prompt, "comparison", ties=len(labels) > 2)
        return _Property(question, labels)
    if labels:
        ends = {declared.text("worst"): 0.0, declared.text("best"): 1.0}
        options = tuple(CriteriaOption(label, score=ends.get(label)) for label in labels)
        question = RecordedQuestion(name, prompt, options=options, higher_is_better=upwards)
        return _Property(question, labels)
    bounds = (min(worst, best), max(worst, best))
    question = RecordedQuestion(name, prompt, "rating", bounds=bounds, higher_is_better=upwards)
    return _Property(question, (), worst, best)


def _rows(
    record: ForeignRecord, property_asked: _Property, answers: ForeignRecord, kind: Kind
) -> Iterator[RecordedRow]:
    fields = _fields(record, property_asked.question.kind == "comparison")
    judged_field = "response" if "response" in fields else next(iter(fields), "response")
    row = RecordedRow(
        judge=property_asked.question.name,
        question=replace(property_asked.question, to_evaluate_field=judged_field),
        fields=fields,
        id=record.name("id"),
        marks=tuple(_marks(property_asked, answers, kind)),
        more=record.rest("id", "instance", "annotations"),
    )
    judges: dict[str, tuple[RecordedVote]] = {}
    for model in (name for name in answers if name not in _PEOPLE):
        reply = answers.text(model)
        vote = RecordedVote(model=model, text=reply).with_answer_or_failure(
            property_asked.read(reply), NO_REPLY_VERDICT, unreadable=True
        )
        judges[by_model(property_asked.question.name, model)] = (vote,)
    return row.judged_by(judges)


def _fields(record: ForeignRecord, compared: bool) -> Texts:
    """Return the row's texts; compared responses form one field."""
    inputs = record.nested("instance")
    if not inputs:
        return {"response": record.text("instance")}
    if compared:
        pair = tuple(
            text(value)
            for side in _SIDES
            for name, value in inputs.raw.items()
            if name[-2:] == side
        )
        shared = {name: value for name, value in inputs.raw.items() if name[-2:] not in _SIDES}
        return {**fields_of(shared), "response": pair}
    # The judged text is "response" or "translation" if there is one, else the first.
    return fields_of(
        {"response" if name == "translation" else name: value for name, value in inputs.raw.items()}
    )


def _marks(property_asked: _Property, answers: ForeignRecord, kind: Kind) -> Iterator[Mark]:
    """Yield one mark per person, or a single one if the file only has the joint answer."""
    people = answers.values("individual_human_scores")
    values = people or [answers.value("mean_human", "majority_human")]
    for place, value in enumerate(values, 1):
        answer = property_asked.answer(value)
        if answer is not None:
            who = f"annotator {place}" if people else "people together"
            yield Mark(answer=answer, annotator=who, kind=kind, design="random")


JUDGE_BENCH = Format("judge-bench", "JUDGE-BENCH", "dmg-illc/JUDGE-BENCH 5a0bf50", _matches, _read)
