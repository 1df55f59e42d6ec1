"""Plain labelled records: a text or a pair, a ``label``, and what ``judges`` said, as many papers publish them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.domain.criteria import CriteriaOption
from adjudge.domain.label import Design
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold, pair_vote
from adjudge.importers.record import FAIL, PASS, PASS_OR_FAIL, UNJUDGED, Asked, Left, Mark, Recorded, RecordedVote, pass_or_fail
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, listed, mapping, number, text, without

_PAIR = ("response_1", "response_2")
_RESPONSES = ("response", "agent_output", "answer", "output", "summary")
_CONTEXT = (
    "instruction",
    "question",
    "prompt",
    "input",
    "history",
    "context",
    "contexts",
    "reference_answer",
    "reference",
    "rubric",
    "trajectory",
)
_GOOD = ("correct", "yes", "pass", "true", "good")
"""Words for the better end of a scale."""
_TRUTHS = ("verdict_pass", "passed", "core_passed")
"""Where a judge says whether it passes, whatever the labels are."""
_SAID = ("verdict", "label", "option", "decision")
"""Where it says what."""
_NAME = "label"
_LABELS = (_NAME, "human_consistency")
_PREDICTED = "_pred"
_ARENA = ("model_a", "model_b", "human_winner", "judge_pick")
_CASCADE = ("instruction", "outputs", "preferences")


def _matches(head: Head) -> bool:
    record = head.record
    if head.has(*_ARENA) or head.has(*_CASCADE):
        return True
    judged = isinstance(record.get("judges"), Mapping) or head.has(*_PAIR) or any(name in record for name in _RESPONSES)
    return head.form in ("lines", "list") and judged and any(name in record for name in _LABELS)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    if file.head.has(*_ARENA) or file.head.has(*_CASCADE):
        left.use({"human_winner": "labels", "judge_pick": "votes", "preferences": "labels", "probs": "votes"})
        yield from (_arena(one) if "human_winner" in one else _cascade(one, place) for place, one in enumerate(file.records()))
        return
    left.use({"label": "labels", "judges": "votes"})
    said = {text(first(one, *_LABELS)) for one in file.records()}
    words, every = said - {""}, "" not in said
    for place, record in enumerate(file.records()):
        label = first(record, *_LABELS)
        scale = BETTER if all(name in record for name in _PAIR) else _scale(words)
        judges = list(_judged(record, scale, left))
        for judge, asked, votes in judges:
            yield _row(record, judge, asked, votes, _marks(label, asked, every), place)
        if not judges:
            yield _row(record, UNJUDGED, scale, (), _marks(label, scale, every), place)


def _arena(record: Mapping[str, object]) -> Recorded:
    """What people and a judge preferred of two systems' answers, whose texts are elsewhere."""
    id, systems = text(record.get("id")), (text(record["model_a"]), text(record["model_b"]))
    return Recorded(
        judge="judge",
        asked=BETTER,
        fields={"instruction": id, "response": tuple(f"{id}, {one}" for one in systems)},
        id=id or None,
        systems=systems,
        votes=(pair_vote(record.get("judge_pick"), model=text(record.get("judge")) or "judge"),),
        marks=gold(record.get("human_winner"), "people"),
        named_only=True,
        more=without(record, "id", "human_winner", "judge_pick"),
    )


def _cascade(record: Mapping[str, object], place: int) -> Recorded:
    """Two outputs, whom each annotator prefers, and the probabilities that a judge gives them."""
    outputs, probabilities = listed(record["outputs"]), [number(one) for one in listed(record.get("probs"))]
    vote = RecordedVote(model="judge")
    if len(probabilities) == 2 and None not in probabilities:
        first_, second = (one or 0.0 for one in probabilities)
        vote = vote.said("tie" if first_ == second else int(second > first_))
        vote = replace(vote, distribution={"0": first_, "1": second})
    marks = [mark for name, one in mapping(record["preferences"]).items() for mark in gold(one, name)]
    return Recorded(
        judge="judge" if probabilities else UNJUDGED,
        asked=BETTER,
        fields={"instruction": text(record["instruction"]), "response": tuple(map(text, outputs))},
        id=text(record.get("id")) or f"row {place + 1}",
        votes=() if not probabilities else (vote if vote.answer is not None else vote.failed("no probabilities are recorded"),),
        marks=tuple(replace(mark, kind="human") for mark in marks),
        more=without(record, "instruction", "outputs", "preferences", "probs"),
    )


def _scale(words: set[str]) -> Asked:
    """What the labels are: numbers, or words, the better of two first."""
    if all(number(word) is not None for word in words):
        return Asked("verdict", "Which number does it deserve?", "rating")
    ordered = sorted(words, key=lambda word: (word.casefold() not in _GOOD, word))
    scores = (1.0, 0.0) if len(ordered) == 2 else (None,) * len(ordered)
    return Asked("verdict", "What is to be said of it?", options=tuple(map(_option, ordered, scores)))


def _option(name: str, score: float | None) -> CriteriaOption:
    return CriteriaOption(name, score=score)


def _marks(label: object, asked: Asked, every: bool) -> tuple[Mark, ...]:
    """``every``: all records have their label, so that the rows are no selection; else somebody may have picked them."""
    if text(label) == "":
        return ()
    design: Design = "random" if every else "chosen"
    if asked.kind == "comparison":
        return tuple(replace(mark, design=design) for mark in gold(label))
    answer: str | float | None = number(label) if asked.kind == "rating" else text(label)
    if asked.options == PASS_OR_FAIL:
        answer = PASS if text(label).casefold() in _GOOD else FAIL
    return () if answer is None else (Mark(answer=answer or 0.0, annotator="gold", kind="expert", design=design),)


def _judged(record: Mapping[str, object], scale: Asked, left: Left) -> Iterator[tuple[str, Asked, tuple[RecordedVote, ...]]]:
    ours = [name for name in record if name.endswith(_PREDICTED)]
    predicted = {name: {"verdict": next(iter(mapping(record[name]).values()), None)} for name in ours}
    for name, said in {**mapping(record.get("judges")), **predicted}.items():
        parts = [mapping(one) for one in listed(said)] or [mapping(said) or {"verdict": said}]
        truths = any(key in part for part in parts for key in _TRUTHS)
        asked = pass_or_fail("pass", "Does it pass?") if truths and len(scale.options) != 2 else scale
        votes = [_vote(part, name, sample, asked) for sample, part in enumerate(parts)]
        if known := tuple(vote for vote in votes if vote is not None):
            yield name, asked, known
        else:
            left.out(f"judge {name!r}, whose records hold no verdict")


def _vote(part: Mapping[str, object], judge: str, sample: int, asked: Asked) -> RecordedVote | None:
    value, truth = first(part, *_SAID), first(part, *_TRUTHS)
    vote = RecordedVote(
        model=judge,
        sample=sample,
        explanation=text(part.get("reason")) or None,
        text=text(part.get("raw")) or None,
        more=without(part, "verdict", *_TRUTHS, "raw", "error", "reason"),
    )
    if part.get("error") or (truth is None and any(name in part for name in _TRUTHS)):
        return vote.failed(part.get("error") or "no verdict is recorded")
    if asked.kind == "comparison":
        return pair_vote(value, model=judge, why=text(part.get("reason"))) if "verdict" in part else None
    if truth is not None:
        return vote.said(asked.options[0 if text(truth).casefold() == "true" else 1].name)
    answer = number(value) if asked.kind == "rating" else text(value) or None
    if answer is None:  # a verdict that is empty is a failure; what holds none at all is no judge of this
        return vote.failed("no verdict is recorded") if any(name in part for name in _SAID) else None
    return vote.said(answer)


def _row(
    record: Mapping[str, object], judge: str, asked: Asked, votes: tuple[RecordedVote, ...], marks: tuple[Mark, ...], place: int
) -> Recorded:
    shown = fields_of({name: record.get(name) for name in _CONTEXT})
    response: str | tuple[str, ...] = text(first(record, *_RESPONSES))
    if asked.kind == "comparison":
        response = tuple(text(record[name]) for name in _PAIR)
    return Recorded(
        judge=judge,
        asked=asked,
        fields={**shown, "response": response},
        id=text(first(record, "id", "case_id")) or f"row {place + 1}",
        votes=votes,
        marks=marks,
        more=without(record, *_CONTEXT, *_PAIR, *_RESPONSES, "judges", "id", *_LABELS),
    )


RECORDS = Format("records", "labelled records", "rows with a label, and judges that said something of them", _matches, _read)
