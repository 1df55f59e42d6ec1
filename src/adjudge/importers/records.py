"""Plain labelled records: a text or a pair, a ``label``, and what ``judges`` said, as many papers
publish them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.domain.label import Design
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold, pair_vote
from adjudge.importers.record import (
    NOT_SAID,
    PASS_OR_FAIL,
    UNJUDGED,
    Asked,
    Left,
    Mark,
    Recorded,
    RecordedVote,
    pass_or_fail,
)
from adjudge.importers.scales import (
    Codes,
    LabelSet,
    codes_of,
    option_on,
    response_of,
    said_on,
    scale_of,
    truth_on,
)
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, listed, mapping, number, text, without
from adjudge.messages import Message

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
_TRUTHS = ("verdict_pass", "passed", "core_passed")
"""Where a judge says whether it passes, whatever the labels are."""
_SAID = ("verdict", "label", "option", "decision")
_NAME = "label"
_LABELS = (_NAME, "human_consistency")
_PREDICTED = "_pred"
_ARENA = ("model_a", "model_b", "human_winner", "judge_pick")
_CASCADE = ("instruction", "outputs", "preferences")


def _matches(head: Head) -> bool:
    record = head.record
    if head.has(*_ARENA) or head.has(*_CASCADE):
        return True
    judged = (
        isinstance(record.get("judges"), Mapping)
        or head.has(*_PAIR)
        or any(name in record for name in _RESPONSES)
    )
    return head.form in ("lines", "list") and judged and any(name in record for name in _LABELS)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    if file.head.has(*_ARENA):
        left.use({"human_winner": "labels", "judge_pick": "votes"})
        yield from map(_arena, file.records())
        return
    if file.head.has(*_CASCADE):
        left.use({"preferences": "labels", "probs": "votes"})
        codes = codes_of(
            file.name,
            (value for one in file.records() for value in mapping(one["preferences"]).values()),
        )
        yield from (_cascade(one, place, codes) for place, one in enumerate(file.records()))
        return
    left.use({"label": "labels", "judges": "votes"})
    said = {text(first(one, *_LABELS)) for one in file.records()}
    labels = LabelSet(frozenset(said - {""}), "" not in said)
    pairs = [one for one in said if file.head.has(*_PAIR)]
    codes = codes_of(file.name, pairs, _pair_verdicts(file) if pairs else None)
    for place, record in enumerate(file.records()):
        label = first(record, *_LABELS)
        scale = BETTER if all(name in record for name in _PAIR) else scale_of(labels.words)
        judges = list(_judged(record, scale, codes, left))
        for number_, (judge, asked, votes) in enumerate(judges):
            again = Left() if number_ else left  # one label, whoever judged its row
            yield _row(
                record, judge, asked, votes, _marks(label, asked, labels, codes, again), place
            )
        if not judges:
            yield _row(
                record, UNJUDGED, scale, (), _marks(label, scale, labels, codes, left), place
            )


def _pair_verdicts(file: ForeignFile) -> dict[str, set[str]]:
    """What each judge says, all in all."""
    found: dict[str, set[str]] = defaultdict(set)
    for record in file.records():
        for judge, said in mapping(record.get("judges")).items():
            parts = [mapping(one) for one in listed(said)] or [mapping(said) or {"verdict": said}]
            found[judge] |= {text(first(part, *_SAID)) for part in parts}
    return found


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
    outputs, probabilities = (
        listed(record["outputs"]),
        [number(one) for one in listed(record.get("probs"))],
    )
    vote = RecordedVote()
    if len(probabilities) == 2 and None not in probabilities:
        first_, second = (one or 0.0 for one in probabilities)
        vote = vote.said("tie" if first_ == second else int(second > first_))
        vote = replace(vote, distribution={"0": first_, "1": second})
    said = mapping(record["preferences"]).items()
    marks = [mark for name, one in said for mark in gold(response_of(one, codes), name)]
    return Recorded(
        judge="judge" if probabilities else UNJUDGED,
        asked=BETTER,
        fields={"instruction": text(record["instruction"]), "response": tuple(map(text, outputs))},
        id=text(record.get("id")) or f"row {place + 1}",
        votes=()
        if not probabilities
        else (
            vote
            if vote.answer is not None
            else vote.failed(Message("no probabilities are recorded")),
        ),
        marks=tuple(replace(mark, kind="human") for mark in marks),
        more=without(record, "instruction", "outputs", "preferences", "probs"),
    )


def _marks(
    label: object, asked: Asked, labels: LabelSet, codes: Codes, left: Left
) -> tuple[Mark, ...]:
    if text(label) == "":
        return ()
    design: Design = "random" if labels.every else "chosen"
    if asked.kind == "comparison":
        return tuple(replace(mark, design=design) for mark in gold(response_of(label, codes)))
    answer: str | float | None = (
        number(label) if asked.kind == "rating" else option_on(asked, text(label))
    )
    if asked.options == PASS_OR_FAIL:
        answer = labels.passes(label)
        if answer is None:
            left.out(
                Message("label {answer}, which says neither pass nor fail", answer=text(label))
            )
    return (
        ()
        if answer is None
        else (Mark(answer=answer or 0.0, annotator="gold", kind="expert", design=design),)
    )


def _judged(
    record: Mapping[str, object], scale: Asked, codes: Codes, left: Left
) -> Iterator[tuple[str, Asked, tuple[RecordedVote, ...]]]:
    ours = [name for name in record if name.endswith(_PREDICTED)]
    predicted = {
        name: {"verdict": next(iter(mapping(record[name]).values()), None)} for name in ours
    }
    scored = len(scale.options) == 2 and scale.options[0].score is not None
    for name, said in {**mapping(record.get("judges")), **predicted}.items():
        parts = [mapping(one) for one in listed(said)] or [mapping(said) or {"verdict": said}]
        truths = any(key in part for part in parts for key in _TRUTHS)
        asked = pass_or_fail("pass", "Does it pass?") if truths and not scored else scale
        votes = [_vote(part, name, sample, asked, codes) for sample, part in enumerate(parts)]
        if known := tuple(vote for vote in votes if vote is not None):
            yield name, asked, known
        else:
            left.out(Message("judge {name!r}, whose records hold no verdict", name=name))


def _vote(
    part: Mapping[str, object], judge: str, sample: int, asked: Asked, codes: Codes
) -> RecordedVote | None:
    value, truth = first(part, *_SAID), first(part, *_TRUTHS)
    vote = RecordedVote(
        model=judge,
        sample=sample,
        explanation=text(part.get("reason")) or None,
        text=text(part.get("raw")) or None,
        more=without(part, "verdict", *_TRUTHS, "raw", "error", "reason"),
    )
    if part.get("error") or (truth is None and any(name in part for name in _TRUTHS)):
        return vote.failed(part.get("error") or Message("no verdict is recorded"))
    if asked.kind == "comparison":
        given = response_of(value, codes)
        return (
            pair_vote(given, model=judge, why=text(part.get("reason")))
            if "verdict" in part
            else None
        )
    if truth is not None:
        return truth_on(vote, text(truth), asked)
    if (
        text(value) == ""
    ):  # a verdict that is empty is a failure; what holds none at all is not a judge of this
        return (
            vote.failed(Message("no verdict is recorded"))
            if any(name in part for name in _SAID)
            else None
        )
    return said_on(vote, text(value), asked)


def _row(
    record: Mapping[str, object],
    judge: str,
    asked: Asked,
    votes: tuple[RecordedVote, ...],
    marks: tuple[Mark, ...],
    place: int,
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


RECORDS = Format(
    "records",
    Message("labelled records"),
    Message("rows with a label, and judges that said something of them"),
    _matches,
    _read,
)
