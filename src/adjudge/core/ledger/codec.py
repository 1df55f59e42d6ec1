"""Convert a judgment's record to its row in the ledger and back: the only place that knows the JSON
stored there.

A ledger may come from anyone, checksums and all. Its content is checked here, once, so records can
be relied on.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast, get_args

from adjudge.core.domain.frozen_mapping import NOTHING, json_copy, json_text
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import (
    FLAGS,
    KIND,
    UNKNOWN_KIND,
    Detail,
    Fields,
    Flag,
    JudgmentRecord,
    OtherDetail,
    OutcomeName,
    SecondOpinionRecord,
    StatusName,
    UnknownDetail,
    VoteRecord,
    json_ready,
)
from adjudge.core.domain.repetition import RELATED
from adjudge.core.domain.vote import count_answering_models, usage_by_model
from adjudge.core.ledger.rows import (
    CACHE_WRITES,
    COLUMNS,
    IN_BATCH,
    INPUT,
    MESSAGES,
    input_from,
    kept_input,
    message_parts,
    storable,
    with_checksum,
    with_messages,
)
from adjudge.core.reading.json_decoder import JsonDecoder, hints_and_defaults, text_decoder
from adjudge.core.reading.typed_json import WrongType, read_as
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import Parts

T = TypeVar("T")
ANSWERS = "answers"
DETAILS: Parts[type[Detail]] = Parts("details")
"""Kinds of records by their tags in the ledger."""
# Kinds whose tags an export leaves out.
_TOLD_BY_KEYS = frozenset({*DETAILS.ours, OtherDetail.kind, UnknownDetail.kind})
# The columns of a vote, without its number, key, time and extras.
_IN_COLUMNS = COLUMNS["votes"][2:-2]
# Columns of a vote that an export leaves out.
_NOT_SHOWN = frozenset({"prompt", "cached_tokens"})
# Values for numbers that an export of a vote may leave out.
_NOT_EXPORTED: Mapping[str, float] = {
    **dict.fromkeys(("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "sample"), 0),
    **dict.fromkeys(("latency", "at"), 0.0),
}

# The keys that a judgment of any kind may have.
_COMMON = frozenset(
    {entry.name for entry in fields(JudgmentRecord)} - {"criterion", "detail", "used", "named"}
) | {"criteria", "decided_by", "row", KIND, UNKNOWN_KIND, ANSWERS}
# Common keys of a judgment of an unknown kind that are not shown as its own.
_STORED = ("status", "score", "reason", KIND)
# Values for keys that a judgment may leave out.
_ABSENT: JsonObject = {"id": None, "reason": None, "low_confidence": False}
_ABSENT_OF_VOTE: JsonObject = {
    **dict.fromkeys(("order", "number", "feedback", "ranking", "distribution")),
    "low_confidence": False,
}
_BATCH_TOKENS = ("batch_prompt_tokens", "batch_completion_tokens")


@light_dataclass(frozen=True)
class _VoteExtras:
    """Stored data of a vote that its record holds elsewhere: the time, and the tokens of prompts
    and replies that went through a provider's batches.
    """

    at: float
    in_batch: tuple[int, int] | None = None
    cache_writes: int = 0


def judgment_row(
    record: JudgmentRecord, ballots: bytes, answers: bytes = b"", *, repaired: bool = False
) -> tuple[object, ...]:
    """Return a judgment as a row of the ledger.

    ``ballots`` and ``answers``: the joined keys of its votes and of its targets' answers;
    ``repaired``: True if a reply needed a repair and the record is without its votes.
    """
    flags = sum(map(flag_bit, record.flags)) | (flag_bit("repaired") if repaired else 0)
    stored = record.detail.to_stored(record.outcome())
    score = cast("float | None", stored["score"])
    if record.judge_identity is not None:
        stored["judge_identity"] = record.judge_identity
    stored |= message_parts(stored)
    # What only this row has comes last, so that rows that are alike begin with the same text. The
    # columns of a row that belongs to others come before: such rows are never alike.
    own = {"id": record.id, "explanation": stored.pop("explanation")}
    columns = {INPUT: kept_input(record.input, record.fields)} if record.input else {}
    is_related = not record.input.keys().isdisjoint(RELATED)
    stored |= {**columns, **own} if is_related else {**own, **columns}
    if answers:
        stored[ANSWERS] = answers.hex()
    return with_checksum(
        storable(record.judge),
        record.index,
        storable(record.id),
        json_text(dict(record.fields)),
        ballots,
        stored["status"],
        None if score is None else float(score) + 0.0,  # SQLite has no -0.0
        storable(record.criterion),
        storable(verdict_text(record)),
        flags,
        json_text(stored),
    )


def with_opinion(row: Sequence[Any], opinion: SecondOpinionRecord) -> tuple[object, ...]:
    """Return a judgment's row with another model's opinion; everything else stays as it is."""
    *_, ballots, _, _, _, _, flags, result = row
    answers = _object(result).get(ANSWERS)
    return judgment_row(
        replace(judgment_of(row), second_opinion=opinion),
        ballots,
        bytes.fromhex(answers) if isinstance(answers, str) else b"",
        repaired="repaired" in flags_in(flags),
    )


def verdict_text(record: JudgmentRecord) -> str | None:
    """Return the verdict in a word, or for responses without names the index of the better one;
    None without either.
    """
    verdict = record.verdict
    choice = record.choice if verdict is None else verdict
    return None if choice is None else str(choice)


def flag_bit(flag: Flag) -> int:
    """Return the bit of the flags column for a flag."""
    return 1 << FLAGS.index(flag)


@lru_cache
def flags_in(column: int) -> tuple[Flag, ...]:
    """Return the flags that a value of the flags column stands for."""
    return tuple(flag for flag in FLAGS if column & flag_bit(flag))


def judgment_of(
    row: Sequence[object], votes: tuple[VoteRecord, ...] | None = None
) -> JudgmentRecord:
    """Return the record of a row whose checksum was checked.

    A value of the wrong type is damage, and raised as SQLite's error.
    """
    if (quick := _decode_judgment(row, votes)) is not None:
        return quick
    judge, index, id, instance, *_, result = row
    stored = with_messages(_object(result))
    stored.setdefault("id", cast("str | None", id))
    stored["judge"], stored["index"] = cast(str, judge), cast(int, index)
    stored["fields"] = _object(instance)
    try:
        return record_of(stored, votes)
    except WrongType as error:
        number = index + 1 if isinstance(index, int) else index
        raise sqlite3.DatabaseError(
            Message(
                "judgment {number} of {judge!r} is damaged or was not written by adjudge: {error}",
                number=number,
                judge=judge,
                error=error,
            )
        ) from error


class StoredOutcome(NamedTuple):
    """The part of a judgment that comparisons of runs read. It failed, or lost no vote."""

    judge: str
    number: int
    """Its place among the judge's judgments, from 0."""
    id: str | None
    fields: Fields
    input: JsonObject
    """The input row as it is stored: its columns, but not the texts that are fields."""
    criterion: str
    status: StatusName
    score: float | None
    verdict: str | None


class StoredVerdict(NamedTuple):
    """The part of a judgment that figures about verdicts read."""

    fields: Fields
    criterion: str
    status: str
    verdict: str | None


# Kinds with one text and one verdict → the key of the verdict.
_VERDICT_KEYS = {"aspect": "verdict", "direct": "option"}


class _StoredJudgment:
    """Decodes the judgments of one kind in one step."""

    def __init__(self, kind: type[Detail]) -> None:
        common, defaults = hints_and_defaults(JudgmentRecord)
        self._common = tuple(name for name in common if name not in _NOT_IN_RESULT)
        kind_hints, kind_defaults = hints_and_defaults(cast(type, kind))
        self._own = tuple(kind_hints)
        self._common_of = attrgetter(*self._common)
        self._own_of = _values_of(self._own)
        hints = {name: common[name] for name in self._common} | kind_hints | {INPUT: object}
        missing = {**defaults, **kind_defaults, **_ABSENT, INPUT: None}
        refused = (MESSAGES, UNKNOWN_KIND)  # left to ``record_of``
        self._decode = JsonDecoder(
            {**hints, "criteria": str},
            {name: missing[name] for name in hints if name in missing and name != "id"},
            refused,
            (KIND, kind.kind),
        ).decode
        self.fields_in = text_decoder(Mapping[str, str | tuple[str, ...]])
        self._kind = kind
        self._verdict_key = _VERDICT_KEYS.get(kind.kind)

    @property
    def has_one_verdict(self) -> bool:
        """True if judgments of this kind have one text and one verdict."""
        return self._verdict_key is not None

    def outcome(self, row: Sequence[object]) -> StoredOutcome | None:
        """Return the outcome of a row with one text and one verdict; None for other rows."""
        judge, index, _, instance, *_, result = row
        if self._verdict_key is None or type(judge) is not str or type(index) is not int:
            return None
        fields, decoded = self.fields_in(instance), self._decode(result)
        if decoded is None or fields is None:
            return None
        if decoded.status == "scored" and decoded.votes_valid < decoded.votes_requested:
            return None
        columns = decoded.input or NOTHING
        if not isinstance(columns, Mapping):
            return None
        return StoredOutcome(
            judge,
            index,
            decoded.id,
            fields,
            columns,
            decoded.criteria,
            decoded.status,
            decoded.score,
            getattr(decoded, self._verdict_key),
        )

    def record(
        self, row: Sequence[object], votes: tuple[VoteRecord, ...] | None
    ) -> JudgmentRecord | None:
        """Return the record of a row; None if it must be read value by value."""
        judge, index, _, instance, *_, result = row
        fields, decoded = self.fields_in(instance), self._decode(result)
        if decoded is None or fields is None or type(judge) is not str or type(index) is not int:
            return None
        # as many names as values: both are made of ``_common`` and ``_own``
        members = dict(zip(self._common, self._common_of(decoded)))  # noqa: B905 - it takes longer
        detail = dict(zip(self._own, self._own_of(decoded)))  # noqa: B905
        members.update(
            judge=judge,
            index=index,
            fields=fields,
            input=input_from(decoded.input, fields),
            criterion=decoded.criteria,
            detail=_instantiate(self._kind, detail),
            votes=votes,
            used=usage_by_model(votes) if votes else {},
            named=count_answering_models(votes) if votes else {},
        )
        return _instantiate(JudgmentRecord, members)


# Fields of a record that do not come unchanged from the JSON of a judgment.
_NOT_IN_RESULT = frozenset(
    {"judge", "index", "fields", INPUT, "criterion", "detail", "votes", "used", "named"}
)


def _instantiate(kind: type[T], values: dict[str, Any]) -> T:
    """Return an instance of a plain dataclass, without checking the values again."""
    instance = object.__new__(kind)
    object.__setattr__(instance, "__dict__", values)
    return instance


def _values_of(names: Sequence[str]) -> Callable[[object], Sequence[object]]:
    """Return a function that reads these attributes."""
    # For one name, attrgetter returns a bare value instead of a tuple.
    if len(names) > 1:
        return attrgetter(*names)
    return lambda decoded: [getattr(decoded, name) for name in names]


@cache
def _stored_judgment(tag: str) -> _StoredJudgment | None:
    """Return the decoder of a kind; None for kinds that are not plain dataclasses, or share a key
    with all judgments.
    """
    try:
        kind = _kind_of(tag)
    except SetupError:
        return None
    names = {entry.name for entry in fields(kind)} if is_dataclass(kind) else set[str]()
    is_plain = kind is not OtherDetail and is_dataclass(kind) and kind.__dictoffset__
    if not is_plain or hasattr(kind, "__post_init__") or names & _COMMON:
        return None
    return _StoredJudgment(kind)


_KIND_KEY, _INPUT_IN_TEXT = f'"{KIND}": ', f'"{INPUT}": '
_KIND_IN_TEXT = re.compile(r'"kind": "(\w+)"')


def _decode_judgment(
    row: Sequence[object], votes: tuple[VoteRecord, ...] | None
) -> JudgmentRecord | None:
    """Return the record of a row in the usual form of adjudge; None for any other row."""
    stored = _decoder_of(row)
    return stored.record(row, votes) if stored else None


def outcome_in(row: Sequence[Any]) -> StoredOutcome | None:
    """Return the outcome of a row whose checksum was verified; None if its whole record must be
    read.
    """
    stored = _decoder_of(row)
    return stored.outcome(row) if stored else None


def verdict_in(row: Sequence[Any]) -> StoredVerdict | None:
    """Return the verdict in the columns of a row whose checksum was verified.

    None unless the judgment is of a kind with one text and one verdict, in the usual form.
    """
    stored = _decoder_of(row)
    if stored is None or not stored.has_one_verdict or not _is_tag_before_input(row[-1]):
        return None
    _, _, _, instance, _, status, _, criterion, verdict, *_ = row
    fields = stored.fields_in(instance)
    return None if fields is None else StoredVerdict(fields, criterion, status, verdict)


def _is_tag_before_input(result: str) -> bool:
    """Return True if the first kind in the text is that of the judgment, and not a column of its
    row.
    """
    columns = result.find(_INPUT_IN_TEXT)
    return columns < 0 or result.find(_KIND_KEY) < columns


def _decoder_of(row: Sequence[object]) -> _StoredJudgment | None:
    match = _KIND_IN_TEXT.search(result) if isinstance(result := row[-1], str) else None
    return _stored_judgment(match[1]) if match else None


def record_of(found: JsonObject, votes: tuple[VoteRecord, ...] | None = None) -> JudgmentRecord:
    """Return the record of a stored judgment; raise a WrongType if a value has the wrong type.

    A judgment of a kind that no installed package brings has failed, with that reason.
    """
    if UNKNOWN_KIND in found:  # an export made without the package
        found = {**found, **_contents(object_in(found[UNKNOWN_KIND]))}
    criterion = found.get("criteria", MISSING)
    if not isinstance(criterion, str):
        raise WrongType("a string", criterion, "criteria")
    problem = None
    try:
        detail = _detail(found)
    except SetupError as error:
        detail, problem = UnknownDetail(contents=_contents(found)), error.message
    record = read_as(
        JudgmentRecord,
        {**_ABSENT, **found},
        criterion=criterion,
        input=input_from(found.get(INPUT), object_in(found.get("fields"))),
        detail=detail,
        votes=votes,
        used=usage_by_model(votes or ()),
        named=count_answering_models(votes or ()),
    )
    if problem is not None:
        return replace(record, status="failed", score=None, reason=problem)
    return record


def _contents(stored: JsonObject) -> JsonObject:
    """Return everything stored that belongs to the judgment's kind."""
    return {name: value for name, value in stored.items() if name not in _COMMON or name in _STORED}


def exported_judgment(record: JudgmentRecord, judge_identity: str | None) -> JsonDict:
    """Return a judgment, with its votes, in the form of the JSONL export."""
    return {
        "judge": record.judge,
        "row": record.row,
        "id": record.id,
        "fields": json_ready(record.fields),
        **record.outcome(),
        **({} if record.detail.kind in _TOLD_BY_KEYS else {KIND: record.detail.kind}),
        **({INPUT: dict(record.input)} if record.input else {}),
        "votes": [exported_vote(vote) for vote in record.votes or ()],
        "judge_identity": judge_identity,
    }


def read_exported_judgment(found: JsonObject) -> JudgmentRecord:
    """Return the record of an exported judgment, without its votes.

    Raise a WrongType if a value has the wrong type.
    """
    row, input_row = found.get("row"), found.get(INPUT)
    if not isinstance(row, int) or row < 1:
        raise WrongType("a number from 1", row, "row")
    if not isinstance(input_row, Mapping | None):
        raise WrongType("an object", input_row, INPUT)
    return replace(record_of({**found, "index": row - 1, INPUT: None}), input=input_row or NOTHING)


def exported_vote(vote: VoteRecord) -> JsonDict:
    """Return a vote in the form of exports."""
    # Batches are left out: the verdict is the same either way.
    extras = {
        name: value
        for name, value in _extras_of(vote).items()
        if name not in (IN_BATCH, CACHE_WRITES)
    }
    columns = zip(_IN_COLUMNS, _columns(vote), strict=True)
    exported = {name: value for name, value in columns if name not in _NOT_SHOWN}
    return {**exported, "at": vote.at, "more": json_text(extras) if extras else None, **extras}


def read_exported_vote(vote: JsonObject) -> VoteRecord:
    """Return the record of an exported vote; missing values are unknown.

    Raise a WrongType if a value has the wrong type.
    """
    return _vote({**dict.fromkeys(COLUMNS["votes"]), "number": None, **_NOT_EXPORTED, **vote})


def vote_row(
    number: int, key: bytes, vote: VoteRecord, at: float | None = None
) -> tuple[object, ...]:
    """Return a vote as a row of the ledger; ``at``: the time of the vote, if that is not now."""
    extras = _extras_of(vote)
    extras |= message_parts({**extras, "explanation": vote.explanation, "reason": vote.reason})
    cast_at = time.time() if at is None else float(at)
    return with_checksum(
        number, key, *_columns(vote), cast_at, json_text(extras) if extras else None
    )


def _columns(vote: VoteRecord) -> tuple[JsonValue, ...]:
    """Return the values of a vote's own columns, in the order of ``_IN_COLUMNS``."""
    usage = vote.usage
    return (
        storable(vote.model),
        vote.sample,
        vote.outcome,
        storable(vote.option),
        storable(vote.explanation),
        storable(vote.reason),
        storable(vote.text),
        vote.prompt,
        _count(usage.calls),
        _count(usage.prompt_tokens),
        _count(usage.completion_tokens),
        _count(usage.cached_tokens),
        float(vote.latency),
    )


def _extras_of(vote: VoteRecord) -> JsonDict:
    """Return the data of a vote that has no column of its own, without empty values."""
    usage = vote.usage
    extras: JsonDict = {
        **vote.details,  # type: ignore[dict-item]
        "repairs": vote.repairs or None,
        "distribution": None if vote.distribution is None else dict(vote.distribution),
        "persona": vote.persona,
        "order": vote.order,
        "low_confidence": vote.low_confidence or None,
        "metadata": json_copy(vote.metadata) if vote.metadata else None,
        "unfinished": vote.unfinished or None,
        "answered_by": storable(vote.answered_by),
        "answered_before": storable(vote.answered_before),
        "fingerprint": storable(vote.fingerprint),
        "estimated": usage.estimated or None,
        IN_BATCH: [usage.batch_prompt_tokens, usage.batch_completion_tokens]
        if usage.batch_prompt_tokens
        else None,
        CACHE_WRITES: usage.cache_write_tokens or None,
    }
    return {name: value for name, value in extras.items() if value is not None}


def _count(number: float) -> float:
    """Return a count as SQLite's integer column returns it: some servers report 12.0 tokens."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def vote_of(row: Sequence[object]) -> VoteRecord:
    """Return the record of a row of votes whose checksum was checked."""
    if (quick := _stored_votes().record(row)) is not None:
        return quick
    columns = dict(zip(COLUMNS["votes"], row, strict=True))
    number, more = columns.pop("number"), columns.pop("more")
    try:
        stored = {**_object(more), **columns} if more else columns
        # The parts of messages are in ``more``, but some messages are in columns.
        return _vote(with_messages(cast(JsonDict, stored)))
    except WrongType as error:
        raise sqlite3.DatabaseError(
            Message(
                "vote {number} is damaged or was not written by adjudge: {error}",
                number=number,
                error=error,
            )
        ) from error


class _StoredVotes:
    """Decodes the extras of votes in one step."""

    def __init__(self) -> None:
        hints, defaults = hints_and_defaults(VoteRecord)
        self._names = tuple(name for name in hints if name not in {*_IN_COLUMNS, "usage", "at"})
        missing = {**defaults, **_ABSENT_OF_VOTE, "estimated": 0, IN_BATCH: None, CACHE_WRITES: 0}
        hints |= {"estimated": int, IN_BATCH: tuple[int, int] | None, CACHE_WRITES: int}
        members = (*self._names, "estimated", IN_BATCH, CACHE_WRITES)
        self._decoder = JsonDecoder(
            {name: hints[name] for name in members},
            {name: missing[name] for name in members},
            (MESSAGES, *_BATCH_TOKENS, "cache_write_tokens"),
        )
        self._values_of = attrgetter(*self._names)
        self._absent = {name: missing[name] for name in self._names}

    def extras(self, text: object) -> Any | None:
        """Return the stored data of a vote besides its columns; None if it must be read value by
        value.
        """
        return self._decoder.decode(text)

    def record(self, row: Sequence[Any]) -> VoteRecord | None:
        """Return the record of a row; None if it must be read value by value."""
        _, _, model, sample, outcome, option, explanation, reason, text, *further_columns = row
        prompt, calls, tokens_in, tokens_out, cached, latency, at, more = further_columns
        types = {type(sample), type(calls), type(tokens_in), type(tokens_out), type(cached)}
        texts = {*map(type, (model, option, explanation, reason, text, prompt))}
        is_plain = types == {int} and texts <= _TEXTS and model is not None
        if not is_plain or type(latency) is not float or type(at) is not float:
            return None
        if outcome not in _OUTCOMES:
            return None
        if more is None:
            values, usage = self._absent, _usage(calls, tokens_in, tokens_out, cached)
        elif (decoded := self.extras(more)) is not None:
            values = dict(zip(self._names, self._values_of(decoded), strict=True))
            batch = decoded.in_batch or (0, 0)
            usage = _usage(
                calls,
                tokens_in,
                tokens_out,
                cached,
                decoded.estimated,
                *batch,
                decoded.cache_writes,
            )
        else:
            return None
        return _instantiate(
            VoteRecord,
            dict(
                values,
                model=model,
                sample=sample,
                outcome=outcome,
                option=option,
                explanation=explanation,
                reason=reason,
                text=text,
                prompt=prompt,
                latency=latency,
                at=at,
                usage=usage,
            ),
        )


_OUTCOMES = frozenset(get_args(OutcomeName))
_TEXTS = frozenset({str, type(None)})
# Most votes share a few counts.
_usage = lru_cache(maxsize=1024)(Usage)


@cache
def _stored_votes() -> _StoredVotes:
    return _StoredVotes()


def vote_extras(text: str) -> Any | None:
    """Return the extras of a vote as attributes; None if its record must be read value by value."""
    return _stored_votes().extras(text)


def _vote(stored: JsonObject) -> VoteRecord:
    used: JsonObject = stored
    extras = read_as(_VoteExtras, stored)
    if extras.in_batch:
        used = {**used, **dict(zip(_BATCH_TOKENS, extras.in_batch, strict=True))}
    if extras.cache_writes:
        used = {**used, "cache_write_tokens": extras.cache_writes}
    return read_as(VoteRecord, {**_ABSENT_OF_VOTE, **stored}, usage=read_as(Usage, used))


def _detail(stored: JsonObject) -> Detail:
    """Return the detail of a stored judgment by its tag, else by its keys; raise a SetupError for
    an unknown kind.
    """
    kind = _kind_of(str(stored[KIND])) if KIND in stored else _kind_by_keys(stored)
    if kind is OtherDetail:
        return OtherDetail(
            values={name: value for name, value in stored.items() if name not in _COMMON}
        )
    return read_as(kind, stored)


@lru_cache(maxsize=64)
def _kind_of(tag: str) -> type[Detail]:
    if tag == OtherDetail.kind:
        return OtherDetail
    try:
        return DETAILS[tag]
    except KeyError:
        raise SetupError(
            "unknown kind {kind}: install the package that provides it", kind=tag
        ) from None


def kind_has_bounds(tag: object) -> bool:
    """Return True if judgments of a kind have bounds instead of a score; False for an unknown
    kind.
    """
    try:
        return isinstance(tag, str) and _kind_of(tag).has_bounds
    except SetupError:
        return False


def _kind_by_keys(stored: JsonObject) -> type[Detail]:
    # Loaded one by one, core's kinds first: most ledgers need no feature.
    matching = (kind for kind in DETAILS.load_all() if _is_kind(kind, stored))
    return next(matching, OtherDetail)


def _is_kind(kind: type[Detail], stored: JsonObject) -> bool:
    keys = _required_keys(cast(type, kind))
    return bool(keys) and keys <= stored.keys()


@cache
def _required_keys(kind: type) -> frozenset[str]:
    return frozenset(entry.name for entry in fields(kind) if entry.default is MISSING)


# Like ``json.loads`` without its checks around each text: it saves a fifth of the time.
_raw_decode = json.JSONDecoder().raw_decode


def _object(text: object) -> JsonDict:
    """Return the object in a JSON column; raise SQLite's error if there is none."""
    if not isinstance(text, str):
        raise sqlite3.DatabaseError(
            Message("contains a value of type {type} instead of JSON", type=type(text).__name__)
        )
    value, end = _raw_decode(text) if text.startswith("{") else (None, 0)
    if end != len(text):  # not as adjudge writes it: whitespace around it, or damage
        value = json.loads(text)
    if not isinstance(value, dict):
        raise sqlite3.DatabaseError(
            Message(
                "contains a value of type {type} instead of an object", type=type(value).__name__
            )
        )
    return value
