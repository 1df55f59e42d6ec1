"""JUDGE-BENCH: texts with what people say of them by several properties, and replies of models that
were asked the same (``prompt_model_json.py`` writes them beside the people's answers).

A reply without a lone answer is unreadable; the authors draw one at random in its place.
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
    """A question that people answered, and how an answer to it is read."""

    question: RecordedQuestion
    labels: tuple[str, ...] = ()
    worst: float = 0.0
    best: float = 1.0

    def answer(self, value: Json) -> RecordedAnswer | None:
        """What somebody said, as an answer; a scale whose best end is the lower one is turned
        round.
        """
        if self.question.kind == "comparison":
            return winner(value)
        if self.question.kind == "choice":
            said = text(value).strip().casefold()
            return next((one for one in self.labels if one.casefold() == said), None)
        points = number(value)
        if points is None or not min(self.question.bounds) <= points <= max(self.question.bounds):
            return None
        return points if self.worst <= self.best else self.worst + self.best - points

    def read(self, reply: str) -> RecordedAnswer | None:
        """The one answer that a reply names; None where it names none or several."""
        if self.question.kind == "rating":
            found = set(_NUMBER.findall(reply))
        else:
            words = "|".join(map(re.escape, sorted(self.labels, key=len, reverse=True)))
            found = {one.casefold() for one in re.findall(rf"(?i)\b(?:{words})\b", reply)}
        return self.answer(found.pop()) if len(found) == 1 else None


def _matches(head: Head) -> bool:
    declared = head.document.has("dataset", "annotations", "instances")
    return declared and head.at("annotations").has("metric", "category")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"instance": "fields", "individual_human_scores": "labels", "MODEL": "votes"})
    about = file.document(("annotations",), ("expert_annotator",))
    kind: Kind = "expert" if about.text("expert_annotator") == "true" else "human"
    known = {one.text("metric"): _property(one) for one in about.objects("annotations")}
    for record in file.records(_INSTANCES):
        said = named_objects(record.nested("annotations"))
        for name, asked in known.items():
            if name in said:
                yield from _rows(record, asked, said[name], kind)


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
        options = tuple(CriteriaOption(one, score=ends.get(one)) for one in labels)
        question = RecordedQuestion(name, prompt, options=options, higher_is_better=upwards)
        return _Property(question, labels)
    bounds = (min(worst, best), max(worst, best))
    question = RecordedQuestion(name, prompt, "rating", bounds=bounds, higher_is_better=upwards)
    return _Property(question, (), worst, best)


def _rows(
    record: ForeignRecord, asked: _Property, said: ForeignRecord, kind: Kind
) -> Iterator[RecordedRow]:
    fields = _fields(record, asked.question.kind == "comparison")
    judged = "response" if "response" in fields else next(iter(fields), "response")
    row = RecordedRow(
        judge=asked.question.name,
        question=replace(asked.question, to_evaluate_field=judged),
        fields=fields,
        id=record.name("id"),
        marks=tuple(_marks(asked, said, kind)),
        more=record.rest("id", "instance", "annotations"),
    )
    judges: dict[str, tuple[RecordedVote]] = {}
    for model in (name for name in said if name not in _PEOPLE):
        reply = said.text(model)
        vote = RecordedVote(model=model, text=reply).said_or_failed(
            asked.read(reply), NO_REPLY_VERDICT, unreadable=True
        )
        judges[by_model(asked.question.name, model)] = (vote,)
    return row.judged_by(judges)


def _fields(record: ForeignRecord, compared: bool) -> Texts:
    """One text is what is judged; of several, "response" or "translation" is, else the first."""
    shown = record.nested("instance")
    if not shown:
        return {"response": record.text("instance")}
    if compared:
        pair = tuple(
            text(value) for side in _SIDES for name, value in shown.raw.items() if name[-2:] == side
        )
        rest = {name: value for name, value in shown.raw.items() if name[-2:] not in _SIDES}
        return {**fields_of(rest), "response": pair}
    return fields_of(
        {"response" if name == "translation" else name: value for name, value in shown.raw.items()}
    )


def _marks(asked: _Property, said: ForeignRecord, kind: Kind) -> Iterator[Mark]:
    """One for each person; where the file holds only what they say together, that."""
    people = said.values("individual_human_scores")
    given = people or [said.value("mean_human", "majority_human")]
    for place, value in enumerate(given, 1):
        answer = asked.answer(value)
        if answer is not None:
            who = f"annotator {place}" if people else "people together"
            yield Mark(answer=answer, annotator=who, kind=kind, design="random")


JUDGE_BENCH = Format("judge-bench", "JUDGE-BENCH", "dmg-illc/JUDGE-BENCH 5a0bf50", _matches, _read)
