"""Plain labelled records: a text or a pair, a ``label``, and what ``judges`` said, as many papers
publish them.
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
_TRUTHS = ("verdict_pass", "passed", "core_passed")
"""Where a judge says whether it passes, whatever the labels are."""
_SAID = ("verdict", "label", "option", "decision")
_LABELS = ("label", "human_consistency")
_PREDICTED = "_pred"
_ARENA = ("model_a", "model_b", "human_winner", "judge_pick")
_CASCADE = ("instruction", "outputs", "preferences")


def _matches(head: Head) -> bool:
    if head.has(*_ARENA) or head.has(*_CASCADE):
        return True
    record = head.record
    judged = isinstance(record.value("judges"), Mapping) or record.has_any(*_RESPONSES)
    labelled = (judged or record.has(*_PAIR)) and record.has_any(*_LABELS)
    return labelled and head.form in ("lines", "list")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if file.head.has(*_ARENA):
        log.use({"human_winner": "labels", "judge_pick": "votes"})
        yield from map(_arena, file.records())
    elif file.head.has(*_CASCADE):
        log.use({"preferences": "labels", "probs": "votes"})
        said = (one.nested("preferences").raw.values() for one in file.records())
        codes = find_codes(file.name, (value for each in said for value in each))
        yield from (_cascade(one, codes) for one in file.records())
    else:
        log.use({"label": "labels", "judges": "votes"})
        yield from _labelled(file, log)


def _labelled(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    said = {one.text(*_LABELS) for one in file.records()}
    pairs = said if file.head.has(*_PAIR) else ()
    codes = find_codes(file.name, pairs, _pair_verdicts(file) if pairs else None)
    scale = LabelMeaning(BETTER, frozenset(said - {""}), "" not in said, codes)
    single = replace(scale, question=question_of(scale.words))
    for record in file.records():
        of_row = scale if record.has(*_PAIR) else single
        judges = list(_judges(record, of_row, log)) or [(UNJUDGED, of_row, ())]
        for place, (judge, own, votes) in enumerate(judges):
            again = ImportLog() if place else log  # one label, whoever judged its row
            marks = tuple(_marks(record.value(*_LABELS), own, again))
            yield _row(record, judge, own, votes, marks)


def _parts(said: Json) -> list[ForeignRecord]:
    """What a judge said of a row: once or several times, an object or the verdict alone."""
    wrapped = ForeignRecord({"said": said})
    return wrapped.objects("said") or [wrapped.nested("said") or ForeignRecord({"verdict": said})]


def _pair_verdicts(file: ForeignFile) -> dict[str, set[str]]:
    """What each judge says, all in all."""
    found: dict[str, set[str]] = defaultdict(set)
    for record in file.records():
        for judge, said in record.nested("judges").raw.items():
            found[judge] |= {part.text(*_SAID) for part in _parts(said)}
    return found


def _arena(record: ForeignRecord) -> RecordedRow:
    """What people and a judge preferred of two systems' answers, whose texts are elsewhere."""
    id, systems = record.text("id"), record.texts("model_a", "model_b")
    vote = RecordedVote(model=record.text("judge") or NOT_SAID)
    return RecordedRow(
        judge="judge",
        question=BETTER,
        fields={"instruction": id, "response": tuple(f"{id}, {one}" for one in systems)},
        id=id or None,
        systems=systems,
        votes=(pair_vote(record.value("judge_pick"), vote),),
        marks=gold(record.value("human_winner"), "people"),
        named_only=True,
        more=record.rest("id", "human_winner", "judge_pick"),
    )


def _cascade(record: ForeignRecord, codes: Codes) -> RecordedRow:
    """Two outputs, whom each annotator prefers, and the probabilities that a judge gives them."""
    probabilities = [number(one) for one in record.values("probs")]
    vote = RecordedVote().failed(Message("no probabilities are recorded"))
    if len(probabilities) == 2 and None not in probabilities:
        first, second = (one or 0.0 for one in probabilities)
        vote = RecordedVote(
            answer="tie" if first == second else int(second > first),
            distribution={"0": first, "1": second},
        )
    said = record.nested("preferences").raw.items()
    marks = [mark for name, one in said for mark in gold(response_of(one, codes), name)]
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
        log.skip(Message("label {answer}, which says neither pass nor fail", answer=text(label)))


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
    for name, said in {**record.nested("judges").raw, **predicted}.items():
        parts = _parts(said)
        truths = any(part.has_any(*_TRUTHS) for part in parts) and not scored
        passes = replace(scale, question=pass_or_fail("pass", "Does it pass?"))
        own = passes if truths else scale
        votes = [_vote(part, name, sample, own) for sample, part in enumerate(parts)]
        if known := tuple(vote for vote in votes if vote is not None):
            yield name, own, known
        else:
            log.skip(Message("judge {name!r}, whose records hold no verdict", name=name))


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
        return vote.failed(error or NO_VERDICT)
    if scale.question.kind == "comparison":
        alone = RecordedVote(model=judge, explanation=vote.explanation)
        return pair_vote(response_of(value, scale.codes), alone) if "verdict" in part else None
    if truth is not None:
        return read_truth(vote, text(truth), scale.question)
    if text(value) != "":
        return read_verdict(vote, text(value), scale.question)
    # a verdict that is empty is a failure; what holds none at all is not a judge of this
    return vote.failed(NO_VERDICT) if part.has_any(*_SAID) else None


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
    Message("rows with a label, and judges that said something of them"),
    _matches,
    _read,
)
