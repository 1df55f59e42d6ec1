"""Plain labelled records: a text or a pair, a ``label``, and what ``judges`` said, as many papers publish them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from adjudge.domain.criteria import CriteriaOption
from adjudge.domain.label import Design
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold, pair_vote
from adjudge.importers.record import (
    FAIL,
    NOT_SAID,
    PASS,
    PASS_OR_FAIL,
    UNJUDGED,
    Asked,
    Left,
    Mark,
    Recorded,
    RecordedVote,
    pass_or_fail,
)
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
_GOOD = ("correct", "yes", "pass", "passed", "true", "good", "right", "1", "1.0")
_BAD = ("incorrect", "no", "fail", "failed", "false", "bad", "wrong", "0", "0.0")
"""Words for the ends of a scale."""
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
    if file.head.has(*_ARENA):
        left.use({"human_winner": "labels", "judge_pick": "votes"})
        yield from map(_arena, file.records())
        return
    if file.head.has(*_CASCADE):
        left.use({"preferences": "labels", "probs": "votes"})
        codes = _codes(file, (value for one in file.records() for value in mapping(one["preferences"]).values()))
        yield from (_cascade(one, place, codes) for place, one in enumerate(file.records()))
        return
    left.use({"label": "labels", "judges": "votes"})
    said = {text(first(one, *_LABELS)) for one in file.records()}
    labels = _Labels(frozenset(said - {""}), "" not in said)
    pairs = [one for one in said if file.head.has(*_PAIR)]
    codes = _codes(file, pairs, _pair_verdicts(file) if pairs else ())
    for place, record in enumerate(file.records()):
        label = first(record, *_LABELS)
        scale = BETTER if all(name in record for name in _PAIR) else _scale(labels.words)
        judges = list(_judged(record, scale, codes, left))
        for number_, (judge, asked, votes) in enumerate(judges):
            again = Left() if number_ else left  # one label, whoever judged its row
            yield _row(record, judge, asked, votes, _marks(label, asked, labels, codes, again), place)
        if not judges:
            yield _row(record, UNJUDGED, scale, (), _marks(label, scale, labels, codes, left), place)


@dataclass(frozen=True)
class _Labels:
    """What the labels of a whole file tell of each of them."""

    words: frozenset[str]
    every: bool
    """Whether all records have one, so that the rows are no selection; else somebody may have picked them."""

    def passes(self, label: object) -> str | None:
        """PASS or FAIL, where the labels are such; of words that name the good one, every other is a FAIL."""
        word, words = text(label).casefold(), {one.casefold() for one in self.words}
        graded = all(number(one) is not None for one in words)
        if graded and not words <= {*_GOOD, *_BAD}:
            return None
        if word in _GOOD:
            return PASS
        return FAIL if word in _BAD or (not graded and words & {*_GOOD}) else None


Codes = Mapping[str, str]
"""Numbers that stand for compared responses → the usual words for them."""


def _codes(file: ForeignFile, labels: Iterable[object], verdicts: Iterable[object] = ()) -> Codes:
    """Responses are counted from 0 or from 1: what the labels say decides, and where they do not, what judges say."""
    given = {f"{code:g}" for one in labels if (code := number(one)) is not None}
    if {"0", "1", "2"} <= given:
        raise RunError(
            f"{file.name}: pairs are labelled 0, 1 and 2, and nobody says which of them is a tie: write 'tie' for it, and 1 "
            "and 2 for the responses"
        )
    known = given if given & {"0", "2"} else given | {f"{code:g}" for one in verdicts if (code := number(one)) is not None}
    from_nought = "0" in known and "2" not in known
    return {"0": "model_1", "1": "model_2", "2": ""} if from_nought else {}


def _pair_verdicts(file: ForeignFile) -> Iterator[object]:
    for record in file.records():
        for said in mapping(record.get("judges")).values():
            parts = [mapping(one) for one in listed(said)] or [mapping(said) or {"verdict": said}]
            yield from (first(part, *_SAID) for part in parts)


def _response(value: object, codes: Codes) -> object:
    """What names a response, in the usual words."""
    code = number(value)
    return value if code is None else codes.get(f"{code:g}", value)


def _arena(record: Mapping[str, object]) -> Recorded:
    """What people and a judge preferred of two systems' answers, whose texts are elsewhere."""
    id, systems = text(record.get("id")), (text(record["model_a"]), text(record["model_b"]))
    return Recorded(
        judge="judge",
        asked=BETTER,
        fields={"instruction": id, "response": tuple(f"{id}, {one}" for one in systems)},
        id=id or None,
        systems=systems,
        votes=(pair_vote(record.get("judge_pick"), model=text(record.get("judge")) or NOT_SAID),),
        marks=gold(record.get("human_winner"), "people"),
        named_only=True,
        more=without(record, "id", "human_winner", "judge_pick"),
    )


def _cascade(record: Mapping[str, object], place: int, codes: Codes) -> Recorded:
    """Two outputs, whom each annotator prefers, and the probabilities that a judge gives them."""
    outputs, probabilities = listed(record["outputs"]), [number(one) for one in listed(record.get("probs"))]
    vote = RecordedVote()
    if len(probabilities) == 2 and None not in probabilities:
        first_, second = (one or 0.0 for one in probabilities)
        vote = vote.said("tie" if first_ == second else int(second > first_))
        vote = replace(vote, distribution={"0": first_, "1": second})
    said = mapping(record["preferences"]).items()
    marks = [mark for name, one in said for mark in gold(_response(one, codes), name)]
    return Recorded(
        judge="judge" if probabilities else UNJUDGED,
        asked=BETTER,
        fields={"instruction": text(record["instruction"]), "response": tuple(map(text, outputs))},
        id=text(record.get("id")) or f"row {place + 1}",
        votes=() if not probabilities else (vote if vote.answer is not None else vote.failed("no probabilities are recorded"),),
        marks=tuple(replace(mark, kind="human") for mark in marks),
        more=without(record, "instruction", "outputs", "preferences", "probs"),
    )


def _scale(words: frozenset[str]) -> Asked:
    """What the labels are: numbers, or words, the better of two first, where one of them is known to be good or bad."""
    if all(number(word) is not None for word in words):
        return Asked("verdict", "Which number does it deserve?", "rating")
    ordered = sorted(words, key=lambda word: (word.casefold() not in _GOOD, word.casefold() in _BAD, word))
    ends = [(word.casefold() in _GOOD, word.casefold() in _BAD) for word in ordered]
    told = len(ordered) == 2 and ends[0] != ends[1]
    scores = (1.0, 0.0) if told else (None,) * len(ordered)
    return Asked("verdict", "What is to be said of it?", options=tuple(map(_option, ordered, scores)))


def _option(name: str, score: float | None) -> CriteriaOption:
    return CriteriaOption(name, score=score)


def _marks(label: object, asked: Asked, labels: _Labels, codes: Codes, left: Left) -> tuple[Mark, ...]:
    if text(label) == "":
        return ()
    design: Design = "random" if labels.every else "chosen"
    if asked.kind == "comparison":
        return tuple(replace(mark, design=design) for mark in gold(_response(label, codes)))
    answer: str | float | None = number(label) if asked.kind == "rating" else text(label)
    if asked.options == PASS_OR_FAIL:
        answer = labels.passes(label)
        if answer is None:
            left.out(f"label {text(label)}, which says neither pass nor fail")
    return () if answer is None else (Mark(answer=answer or 0.0, annotator="gold", kind="expert", design=design),)


def _judged(
    record: Mapping[str, object], scale: Asked, codes: Codes, left: Left
) -> Iterator[tuple[str, Asked, tuple[RecordedVote, ...]]]:
    ours = [name for name in record if name.endswith(_PREDICTED)]
    predicted = {name: {"verdict": next(iter(mapping(record[name]).values()), None)} for name in ours}
    scored = len(scale.options) == 2 and scale.options[0].score is not None
    for name, said in {**mapping(record.get("judges")), **predicted}.items():
        parts = [mapping(one) for one in listed(said)] or [mapping(said) or {"verdict": said}]
        truths = any(key in part for part in parts for key in _TRUTHS)
        asked = pass_or_fail("pass", "Does it pass?") if truths and not scored else scale
        votes = [_vote(part, name, sample, asked, codes) for sample, part in enumerate(parts)]
        if known := tuple(vote for vote in votes if vote is not None):
            yield name, asked, known
        else:
            left.out(f"judge {name!r}, whose records hold no verdict")


def _vote(part: Mapping[str, object], judge: str, sample: int, asked: Asked, codes: Codes) -> RecordedVote | None:
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
        given = _response(value, codes)
        return pair_vote(given, model=judge, why=text(part.get("reason"))) if "verdict" in part else None
    if truth is not None:
        return _truth(vote, text(truth), asked)
    if text(value) == "":  # a verdict that is empty is a failure; what holds none at all is no judge of this
        return vote.failed("no verdict is recorded") if any(name in part for name in _SAID) else None
    return _said(vote, text(value), asked)


def _truth(vote: RecordedVote, truth: str, asked: Asked) -> RecordedVote:
    if truth.casefold() not in (*_GOOD, *_BAD):
        return vote.failed(f"{truth!r} is neither true nor false", Outcome.UNREADABLE)
    return vote.said(asked.options[0 if truth.casefold() in _GOOD else 1].name)


def _said(vote: RecordedVote, value: str, asked: Asked) -> RecordedVote:
    """A verdict on the scale of the labels; one that is not on it is no further option of it."""
    if asked.kind == "rating":
        points = number(value)
        return vote.failed(f"{value!r} is no number", Outcome.UNREADABLE) if points is None else vote.said(points)
    names = [one.name for one in asked.options]
    named = next((name for name in names if name.casefold() == value.strip().casefold()), None)
    if named is None:
        return vote.failed(f"{value!r} is none of the labels ({', '.join(names)})", Outcome.UNREADABLE)
    return vote.said(named)


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
