"""Import adjudge's own JSONL (``adjudge export --to jsonl``) without loss: exported again, it is
the same to the last byte.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.verdict import TIE
from adjudge.core.domain.vote import Outcome
from adjudge.core.ledger.codec import read_exported_judgment, read_exported_vote
from adjudge.core.ledger.rows import CLUSTER, LABELS
from adjudge.core.reading.typed_json import WrongType, read_as
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.folder import ImportedRun
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    PASS_OR_FAIL,
    ImportLog,
    QuestionKind,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord
from adjudge.features.importers.values import JsonObject
from adjudge.messages import Message

_KEYS = ("judge", "row", "fields", "status", "votes")


# Limits (exclusive) of the numbers of a label.
_BOUNDS = {
    "winner": (-1, 2**31),
    "seed": (-(2**63) - 1, 2**63),
    **dict.fromkeys(("at", "drawn_at"), (-math.inf, math.inf)),
}


def read_own(file: ForeignFile, run: ImportedRun) -> None:
    """Store every judgment and label of adjudge's own export unchanged."""
    for record in file.records():
        where = _check(record, file)
        judgment = _judgment(record, where)
        labels = [_label(entry.raw, where) for entry in record.objects(LABELS)]
        run.add_labels(labels)
        keys = [_key(vote.raw) for vote in record.objects("votes")]
        run.recorded_clusters[record.text(CLUSTER)] = None
        run.add_record(judgment, keys, _row(judgment, labels))


def _judgment(record: ForeignRecord, where: str) -> JudgmentRecord:
    try:
        votes = tuple(read_exported_vote(vote.raw) for vote in record.objects("votes"))
        values = {
            name: value for name, value in record.raw.items() if name not in (LABELS, CLUSTER)
        }
        return replace(read_exported_judgment(values), votes=votes)
    except WrongType as error:
        raise RunError("{where}: {reason}", where=where, reason=error) from error


def _label(entry: JsonObject, where: str) -> Label:
    try:
        label = read_as(Label, entry)
        for name, (low, high) in _BOUNDS.items():
            value = getattr(label, name)
            if value not in (None, TIE) and not low < value < high:
                raise SetupError("{name} is {value!r}", name=name, value=value)
    except (SetupError, WrongType) as error:
        raise RunError(
            "{where}: a label cannot be read: {error}", where=where, error=error
        ) from error
    return label


def _check(record: ForeignRecord, file: ForeignFile) -> str:
    """Return the judgment's place in the file; raise a RunError if it is malformed."""
    lacking = next((name for name in _KEYS if name not in record), None)
    if lacking:
        raise RunError(
            "{name}: a judgment lacks {key!r}; an export with votes is needed: adjudge "
            "export RUN --to jsonl",
            name=file.name,
            key=lacking,
        )
    row = record.value("row")
    counted = isinstance(row, int) and not isinstance(row, bool) and row >= 1
    if not counted or not isinstance(record.value("fields"), Mapping):
        raise RunError(
            "{name}: a judgment has the row {row!r}, which is not a row number",
            name=file.name,
            row=row,
        )
    where = Message("{name}, row {row}", name=file.name, row=row)
    for vote in record.objects("votes"):
        if vote.value("outcome") not in set(Outcome):
            raise RunError(
                "{where}: a vote has the unknown outcome {outcome!r}",
                where=where,
                outcome=vote.value("outcome"),
            )
    return where


def _key(vote: JsonObject) -> bytes:
    """Return a hash of the vote as its ledger key."""
    # Votes that judgments share are exported with each of them, and stored once.
    return hashlib.sha256(json.dumps(vote, sort_keys=True).encode()).digest()[:16]


def _row(judgment: JudgmentRecord, labels: Sequence[Label]) -> RecordedRow:
    """Return the question and the models of a judgment, as far as an export has them."""
    detail = judgment.detail
    compared, rated = detail.is_comparison, detail.rating_range is not None
    kind: QuestionKind = "comparison" if compared else "rating" if rated else "choice"
    question = RecordedQuestion(
        judgment.criterion or judgment.judge,
        kind=kind,
        options=_options(judgment, labels) if kind == "choice" else (),
        bounds=detail.rating_range or (0.0, 1.0),
    )
    votes = tuple(
        RecordedVote(
            answer=vote.option if vote.number is None else vote.number,
            model=vote.model,
            outcome=Outcome(vote.outcome),
        )
        for vote in judgment.votes or ()
    )
    return RecordedRow(
        judge=judgment.judge, question=question, fields={"response": ""}, votes=votes
    )


def _options(judgment: JudgmentRecord, labels: Sequence[Label]) -> tuple[CriteriaOption, ...]:
    if not judgment.detail.has_own_options:
        return PASS_OR_FAIL
    if judgment.verdict is not None and judgment.score is not None:
        return (CriteriaOption(judgment.verdict, score=judgment.score),)
    # An option may occur only in people's labels.
    label_options = (label.option for label in labels)  # people may be the only ones who said one
    return tuple(
        CriteriaOption(option) for option in dict.fromkeys(label_options) if option is not None
    )


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    raise NotImplementedError("read_own keeps more than a RecordedRow can hold")


OWN = Format(
    "adjudge",
    Message("adjudge's own JSONL"),
    "adjudge export --to jsonl",
    lambda head: head.form == "lines" and head.has(*_KEYS),
    _read,
)
