"""Import plain labelled records, as many papers publish them: a text or a pair, a ``label``, and
verdicts of ``judges``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, gold, pair_vote
from adjudge.features.importers.record import (
    NO_VERDICT,
    NOT_SAID,
    PASS_OR_FAIL,
    UNJUDGED,
    ImportLog,
    Mark,
    RecordedRow,
    RecordedVote,
    pass_or_fail,
)
from adjudge.features.importers.scales import (
    Codes,
    LabelMeaning,
    find_codes,
    question_of,
    read_truth,
    read_verdict,
    response_of,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, fields_of, number, text
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
# Keys for a judge's pass or fail, whatever the labels are.
_TRUTHS = ("verdict_pass", "passed", "core_passed")
_SAID = ("verdict", "label", "option", "decision")
_LABELS = ("label", "human_consistency")
_PREDICTED = "_pred"
_ARENA = ("model_a", "model_b", "human_winner", "judge_pick")
_CASCADE = ("instruction", "outputs", "preferences")


def _matches(head: Head) -> bool:
    if head.has(*_ARENA) or head.has(*_CASCADE):
        return True
    record = head.record
    has_judgments = isinstance(record.value("judges"), Mapping) or record.has_any(*_RESPONSES)
    is_labelled = (has_judgments or record.has(*_PAIR)) and record.has_any(*_LABELS)
    return is_labelled and head.form in ("lines", "list")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if file.head.has(*_ARENA):
        log.use({"human_winner": "labels", "judge_pick": "votes"})
        yield from map(_arena, file.records())
    elif file.head.has(*_CASCADE):
        log.use({"preferences": "labels", "probs": "votes"})
        preferences = (record.nested("preferences").raw.values() for record in file.records())
        codes = find_codes(file.name, (value for group in preferences for value in group))
        yield from (_cascade(record, codes) for record in file.records())
    else:
        log.use({"label": "labels", "judges": "votes"})
        yield from _read_labelled(file, log)


def _read_labelled(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    labels = {record.text(*_LABELS) for record in file.records()}
    pairs = labels if file.head.has(*_PAIR) else ()
    codes = find_codes(file.name, pairs, _pair_verdicts(file) if pairs else None)
    scale = LabelMeaning(BETTER, frozenset(labels - {""}), "" not in labels, codes)
    single = replace(scale, question=question_of(scale.words))
    for record in file.records():
        of_row = scale if record.has(*_PAIR) else single
        judges = list(_judges(record, of_row, log)) or [(UNJUDGED, of_row, ())]
        for place, (judge, judge_scale, votes) in enumerate(judges):
            # Several judges of one row share its label: log it once.
            judge_log = ImportLog() if place else log  # one label, whoever judged its row
            marks = tuple(_marks(record.value(*_LABELS), judge_scale, judge_log))
            yield _row(record, judge, judge_scale, votes, marks)


def _parts(value: Json) -> list[ForeignRecord]:
    """Return a judge's replies for a row as records; a bare verdict is wrapped in one."""
    wrapped = ForeignRecord({"said": value})
    return wrapped.objects("said") or [wrapped.nested("said") or ForeignRecord({"verdict": value})]


def _pair_verdicts(file: ForeignFile) -> dict[str, set[str]]:
    """Return the set of each judge's verdicts."""
    verdicts: dict[str, set[str]] = defaultdict(set)
    for record in file.records():
        for judge, value in record.nested("judges").raw.items():
            verdicts[judge] |= {part.text(*_SAID) for part in _parts(value)}
    return verdicts


def _arena(record: ForeignRecord) -> RecordedRow:
    """Read a human and a judge's preference between two systems.

    The file has no responses, so placeholders are used.
    """
    id, systems = record.text("id"), record.texts("model_a", "model_b")
    vote = RecordedVote(model=record.text("judge") or NOT_SAID)
    return RecordedRow(
        judge="judge",
        question=BETTER,
        fields={"instruction": id, "response": tuple(f"{id}, {system}" for system in systems)},
        id=id or None,
        systems=systems,
        votes=(pair_vote(record.value("judge_pick"), vote),),
        marks=gold(record.value("human_winner"), "people"),
        named_only=True,
        more=record.rest("id", "human_winner", "judge_pick"),
    )


def _cascade(record: ForeignRecord, codes: Codes) -> RecordedRow:
    """Read two outputs, each annotator's preference, and a judge's probabilities."""
    probabilities = [number(value) for value in record.values("probs")]
    vote = RecordedVote().with_failure(Message("no probabilities are recorded"))
    if len(probabilities) == 2 and None not in probabilities:
        share_a, share_b = (value or 0.0 for value in probabilities)
        vote = RecordedVote(
            answer="tie" if share_a == share_b else int(share_b > share_a),
            distribution={"0": share_a, "1": share_b},
        )
    preferences = record.nested("preferences").raw.items()
    marks = [mark for name, value in preferences for mark in gold(response_of(value, codes), name)]
    (instruction,) = record.texts("instruction")
    outputs = tuple(map(text, record.values("outputs")))
    return RecordedRow(
        judge="judge" if probabilities else UNJUDGED,
        question=BETTER,
        fields={"instruction": instruction, "response": outputs},
        id=record.name("id"),
        votes=(vote,) if probabilities else (),
        marks=tuple(replace(mark, kind="human") for mark in marks),
        more=record.rest("instruction", "outputs", "preferences", "probs"),
    )


def _marks(label: Json, scale: LabelMeaning, log: ImportLog) -> Iterator[Mark]:
    if text(label) == "":
        return
    answer = scale.read(label)
    if answer is not None:
        yield Mark(answer=answer, annotator="gold", kind="expert", design=scale.design)
    elif scale.question.options == PASS_OR_FAIL:
        log.skip(Message("label {answer}, which is neither pass nor fail", answer=text(label)))


def _judges(
    record: ForeignRecord, scale: LabelMeaning, log: ImportLog
) -> Iterator[tuple[str, LabelMeaning, tuple[RecordedVote, ...]]]:
    predicted: dict[str, Json] = {
        name: {"verdict": next(iter(record.nested(name).raw.values()), None)}
        for name in record
        if name.endswith(_PREDICTED)
    }
    options = scale.question.options
    scored = len(options) == 2 and options[0].score is not None
    for name, value in {**record.nested("judges").raw, **predicted}.items():
        parts = _parts(value)
        # Judges may say true or false although the labels are other words.
        truths = any(part.has_any(*_TRUTHS) for part in parts) and not scored
        passes = replace(scale, question=pass_or_fail("pass", "Does it pass?"))
        judge_scale = passes if truths else scale
        votes = [_vote(part, name, sample, judge_scale) for sample, part in enumerate(parts)]
        if valid_votes := tuple(vote for vote in votes if vote is not None):
            yield name, judge_scale, valid_votes
        else:
            log.skip(Message("judge {name!r}, which has no recorded verdicts", name=name))


def _vote(part: ForeignRecord, judge: str, sample: int, scale: LabelMeaning) -> RecordedVote | None:
    truth, value, error = part.value(*_TRUTHS), part.value(*_SAID), part.value("error")
    vote = RecordedVote(
        model=judge,
        sample=sample,
        explanation=part.text("reason"),
        text=part.text("raw"),
        more=part.rest("verdict", *_TRUTHS, "raw", "error", "reason"),
    )
    if error or (truth is None and part.has_any(*_TRUTHS)):
        return vote.with_failure(error or NO_VERDICT)
    if scale.question.kind == "comparison":
        alone = RecordedVote(model=judge, explanation=vote.explanation)
        return pair_vote(response_of(value, scale.codes), alone) if "verdict" in part else None
    if truth is not None:
        return read_truth(vote, text(truth), scale.question)
    if text(value) != "":
        return read_verdict(vote, text(value), scale.question)
    # a verdict that is empty is a failure; what holds none at all is not a judge of this
    return vote.with_failure(NO_VERDICT) if part.has_any(*_SAID) else None


def _row(
    record: ForeignRecord,
    judge: str,
    scale: LabelMeaning,
    votes: tuple[RecordedVote, ...],
    marks: tuple[Mark, ...],
) -> RecordedRow:
    compares = scale.question.kind == "comparison"
    response = record.texts(*_PAIR) if compares else record.text(*_RESPONSES)
    return RecordedRow(
        judge=judge,
        question=scale.question,
        fields={**fields_of(record.keep(*_CONTEXT)), "response": response},
        id=record.name("id", "case_id"),
        votes=votes,
        marks=marks,
        more=record.rest(*_CONTEXT, *_PAIR, *_RESPONSES, "judges", "id", *_LABELS),
    )


RECORDS = Format(
    "records",
    Message("labelled records"),
    Message("rows with a label, and judges with a verdict on them"),
    _matches,
    _read,
)
