"""Our own JSONL (``adjudge export --to jsonl``), without loss: exported again, it is the same to
the last byte.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping

from adjudge.domain.criteria import CriteriaOption
from adjudge.domain.label import Label
from adjudge.domain.record import JudgmentRecord
from adjudge.domain.verdict import TIE
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError, SetupError
from adjudge.importers.folder import ImportedRun
from adjudge.importers.format import Format
from adjudge.importers.record import PASS_OR_FAIL, Asked, AskedKind, Left, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import first, listed, mapping, number, text
from adjudge.ledger.codec import check_exported_vote, exported_judgment
from adjudge.ledger.rows import LABELS
from adjudge.reading.typed_json import WrongType

_KEYS = ("judge", "row", "fields", "status", "votes")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_nothing(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_number_or_nothing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isfinite(value))


_LABEL: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(("row", "criteria", "annotator", "state", "kind", "design", "note"), _is_text),
    **dict.fromkeys(("option", "criteria_identity", "drawn_under", "id"), _is_text_or_nothing),
    **dict.fromkeys(("score", "drawn_at"), _is_number_or_nothing),
    "winner": lambda value: value in (None, TIE) or (type(value) is int and 0 <= value < 2**31),
    "judge_visible": lambda value: isinstance(value, bool),
    "at": lambda value: value is not None and _is_number_or_nothing(value),
    "seed": lambda value: value is None or (type(value) is int and -(2**63) <= value < 2**63),
}
"""What each field of a label may be, as an export writes it."""


def _matches(head: Head) -> bool:
    return head.form == "lines" and head.has(*_KEYS)


def read_own(file: ForeignFile, run: ImportedRun) -> None:
    """Keep every judgment as it stands."""
    for record in file.records():
        _check(record, file)
        votes = [mapping(vote) for vote in listed(record["votes"])]
        keys = [_key(vote) for vote in votes]
        run.add_labels(_labels(record, file))
        run.add_record(_judgment(record, votes, file), votes, keys, _recorded(record, votes))


def _judgment(
    record: Mapping[str, object], votes: list[Mapping[str, object]], file: ForeignFile
) -> JudgmentRecord:
    try:
        for vote in votes:
            check_exported_vote(vote)
        return exported_judgment({name: value for name, value in record.items() if name != LABELS})
    except WrongType as error:
        raise RunError(
            "{name}, row {record}: {error}", name=file.name, record=record["row"], error=error
        ) from error


def _labels(record: Mapping[str, object], file: ForeignFile) -> Iterator[Label]:
    for given in listed(record.get(LABELS)):
        said = mapping(given)
        wrong = next(
            (name for name, fits in _LABEL.items() if name in said and not fits(said[name])), None
        )
        try:
            if wrong is not None:
                raise SetupError("{wrong} is {said!r}", wrong=wrong, said=said[wrong])
            yield Label(**{name: said[name] for name in _LABEL if name in said})  # type: ignore[arg-type]  # checked above
        except (SetupError, TypeError) as error:
            raise RunError(
                "{name}, row {record}: a label cannot be read: {error}",
                name=file.name,
                record=record["row"],
                error=error,
            ) from error


def _check(record: Mapping[str, object], file: ForeignFile) -> None:
    wrong = [name for name in _KEYS if name not in record]
    if wrong:
        raise RunError(
            "{name}: a judgment lacks {wrong!r}; an export with votes is needed: adjudge "
            "export RUN --to jsonl",
            name=file.name,
            wrong=wrong[0],
        )
    row = record["row"]
    if (
        not isinstance(row, int)
        or isinstance(row, bool)
        or row < 1
        or not isinstance(record["fields"], Mapping)
    ):
        raise RunError(
            "{name}: a judgment has the row {row!r}, which is no number from 1",
            name=file.name,
            row=row,
        )
    for vote in listed(record["votes"]):
        if not isinstance(vote, Mapping) or vote.get("outcome") not in set(Outcome):
            raise RunError(
                "{name}, row {row}: a vote has the outcome {mapping!r}, which is none",
                name=file.name,
                row=row,
                mapping=mapping(vote).get("outcome"),
            )


def _key(vote: Mapping[str, object]) -> bytes:
    """Votes that judgments share are exported with each of them, and kept once."""
    return hashlib.sha256(json.dumps(vote, sort_keys=True).encode()).digest()[:16]


def _recorded(record: Mapping[str, object], votes: list[Mapping[str, object]]) -> Recorded:
    """What was asked and who answered, as far as an export tells."""
    kind = _kind(record)
    bounds = [one for one in map(number, listed(record.get("range"))) if one is not None]
    asked = Asked(
        text(record.get("criteria")) or text(record["judge"]),
        kind=kind,
        options=_options(record) if kind == "choice" else (),
        bounds=(bounds[0], bounds[1]) if len(bounds) == 2 else (0.0, 1.0),
    )
    said = tuple(_said(vote) for vote in votes)
    return Recorded(judge=text(record["judge"]), asked=asked, fields={"response": ""}, votes=said)


def _options(record: Mapping[str, object]) -> tuple[CriteriaOption, ...]:
    if "verdict" in record:  # of a judge that says PASS or FAIL
        return PASS_OR_FAIL
    option, score = record.get("option"), number(record.get("score"))
    if option is not None and score is not None:
        return (CriteriaOption(text(option), score=score),)
    said = (
        mapping(label).get("option") for label in listed(record.get(LABELS))
    )  # people may be the only ones who said one
    return tuple(CriteriaOption(one) for one in dict.fromkeys(said) if isinstance(one, str))


def _said(vote: Mapping[str, object]) -> RecordedVote:
    answer = first(vote, "number", "option")
    kept = answer if isinstance(answer, str | int | float) else None
    return RecordedVote(
        answer=kept, model=text(vote.get("model")), outcome=Outcome(text(vote["outcome"]))
    )


def _kind(record: Mapping[str, object]) -> AskedKind:
    return (
        "comparison"
        if "per_system_results" in record
        else "rating"
        if "numbers" in record
        else "choice"
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    raise NotImplementedError("read_own keeps more than a Recorded can hold")


OWN = Format("adjudge", "adjudge's own JSONL", "adjudge export --to jsonl", _matches, _read)
