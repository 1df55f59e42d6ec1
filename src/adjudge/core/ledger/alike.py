"""Rows whose records differ only in their places and texts, which are counted without records.

To make a record takes longer than to read and check its row, and most rows of a run are alike:
of one criterion, one verdict and one score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any, Generic, NamedTuple, TypeVar, cast

from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import KIND, AspectDetail, DirectDetail, Fields, JudgmentRecord
from adjudge.core.domain.repetition import RELATED
from adjudge.core.domain.vote import PAID_WITH
from adjudge.core.ledger.codec import (
    StoredOutcome,
    judgment_of,
    outcome_in,
    vote_extras,
    vote_of,
)
from adjudge.core.ledger.rows import COLUMNS, INPUT
from adjudge.core.reading.json_decoder import text_decoder

_MOST_LIKES = 4096
"""Different rows that are remembered: scores may be any number, and advice any text."""
_VERDICT_GIVEN = frozenset({"ok", "repaired"})
_COUNTS = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens")
"""Columns of votes, in the order of ``Usage``."""
_Key = tuple[str, str]
"""A judge, and the part of a stored judgment that rows that are alike share."""
_RowWithVotes = tuple[Sequence[Any], Sequence[Sequence[Any]]]
_First = TypeVar("_First")


class AlikeRow(NamedTuple):
    """A scored judgment with its votes, both as they are stored and verified."""

    like: JudgmentRecord
    """The record of the first row like it: equal but for the place, the row's content, the texts
    and the votes. Of all alike rows it is the same object.
    """
    row: Sequence[Any]
    votes: Sequence[Sequence[Any]]

    @property
    def place(self) -> int:
        """Its place among the judge's judgments, from 0."""
        return cast(int, self.row[1])

    @property
    def record(self) -> JudgmentRecord:
        """Its own record, with its votes."""
        return judgment_of(self.row, tuple(map(vote_of, self.votes)))


class AlikeGroup:
    """Scored judgments by one judge and criterion that are each like an earlier one."""

    def __init__(
        self,
        likes: list[JudgmentRecord],
        rows: list[Sequence[Any]],
        votes: list[Sequence[Sequence[Any]]],
    ) -> None:
        self.likes, self._rows, self._votes = likes, rows, votes

    def __iter__(self) -> Iterator[AlikeRow]:
        return map(AlikeRow, self.likes, self._rows, self._votes)

    def rest(self) -> AlikeGroup:
        """Return all but the first row."""
        return AlikeGroup(self.likes[1:], self._rows[1:], self._votes[1:])

    @cached_property
    def _columns(self) -> _VoteColumns:
        return _VoteColumns([vote for votes in self._votes for vote in votes])

    def count_votes(self) -> VoteTotals:
        """Add up the votes."""
        return self._columns.totals()

    def formats(self) -> Iterator[VoteFormat]:
        """Yield the format of each vote that has a text."""
        return self._columns.formats()

    def usual(self) -> Iterator[AlikeGroup | _RowWithVotes]:
        """Yield the rows whose votes are usual as groups, and the others one by one."""
        if self._columns.are_usual():
            yield self
            return
        for like, row, votes in self:
            one = AlikeGroup([like], [row], [votes])
            yield one if one._columns.are_usual() else (row, votes)


class AlikeRows:
    """Finds rows that are alike."""

    def __init__(self) -> None:
        self._likes = _Likes(_plain_record)
        self._fields_in = text_decoder(Fields)

    def groups(
        self, rows: Iterable[Sequence[Any]], votes: Iterable[Sequence[Sequence[Any]]]
    ) -> Iterator[AlikeGroup | _RowWithVotes]:
        """Yield the usual rows in groups, and each other row with its votes.

        A usual row is as adjudge writes it, with a score, by votes that all count, and independent
        of others. The explanations of alike rows are not decoded, since no sum needs them. All
        other values were decoded in the first row like it.
        """
        likes: list[JudgmentRecord] = []
        own_rows: list[Sequence[Any]] = []
        own_votes: list[Sequence[Sequence[Any]]] = []
        find, last = self._find, None
        for row, row_votes in zip(rows, votes, strict=True):
            like = find(row)
            if like is not last and likes and not _is_of_same(like, likes[0]):
                yield from AlikeGroup(likes, own_rows, own_votes).usual()
                likes, own_rows, own_votes = [], [], []
            last = like
            if like is None:
                yield row, row_votes
                continue
            likes.append(like)
            own_rows.append(row)
            own_votes.append(row_votes)
        if likes:
            yield from AlikeGroup(likes, own_rows, own_votes).usual()

    def _find(self, row: Sequence[Any]) -> JudgmentRecord | None:
        like = self._likes.find(row)
        if like is None or _STEPS in (instance := row[3]) or self._fields_in(instance) is None:
            return None
        return like


def _is_of_same(like: JudgmentRecord | None, first: JudgmentRecord) -> bool:
    return like is not None and (like.judge, like.criterion) == (first.judge, first.criterion)


class AlikeOutcome(NamedTuple):
    """A judgment of a kind with one text and one verdict, as it is stored and verified."""

    like: StoredOutcome
    """The outcome of the first row like it: equal but for the place, id, fields and columns. Of all
    alike rows it is the same object.
    """
    fields: Fields
    row: Sequence[Any]

    @property
    def record(self) -> JudgmentRecord:
        """Its own record, without votes."""
        return judgment_of(self.row)


def alike_outcomes(rows: Iterable[tuple[Any, ...]]) -> Iterator[AlikeOutcome | tuple[Any, ...]]:
    """Yield the outcome of each row, or the row itself if its whole record must be read, as that of
    a row that belongs to others.

    Of rows that are alike, only the first one is decoded.
    """
    find_like, fields_in = _Likes(outcome_in).find, text_decoder(Fields)
    for row in rows:
        like = find_like(row)
        if like is None or (fields := fields_in(row[3])) is None:
            yield row
        else:
            yield _new(AlikeOutcome, (like, fields, row))


# Several times faster than to call the class, in Python's words for it.
_new = tuple.__new__


class _Likes(Generic[_First]):
    """Finds what was read in the first row like a row.

    ``read``: reads a row; None if rows like it are not to be found.
    """

    def __init__(self, read: Callable[[Sequence[Any]], _First | None]) -> None:
        self._read = read
        self._firsts: dict[_Key, _First | None] = {}
        self._forms: dict[tuple[object, ...], tuple[int, str, _First | None]] = {}
        """Judge, score and verdict → the shared part of the last such row with its length, which is
        usually that of the next, and what was found.
        """

    def find(self, row: Sequence[Any]) -> _First | None:
        """Return what the first row like this gave.

        None if adjudge did not write the row in its usual form, or if it belongs to others.
        """
        id, result = row[2], row[-1]
        if type(result) is not str or type(row[1]) is not int or type(row[3]) is not str:
            return None
        if type(id) is str:
            own = f"{_ID}{encode_basestring_ascii(id)}{_EXPLANATION}"
        elif id is None:
            own = f"{_ID}null{_EXPLANATION}"
        else:
            return None
        form = self._forms.get((row[0], row[6], row[8]))
        if form is not None:
            length, shared, first = form
            # Slices, since methods that take places need several times longer to be called.
            if result[:length] == shared and result[length : length + len(own)] == own:
                return first
        return self._find(row, own)

    def _find(self, row: Sequence[Any], own: str) -> _First | None:
        result: str = row[-1]
        # No text in JSON holds a bare quotation mark, so a name between two of them begins a
        # member; and adjudge writes them in this order.
        is_of_1_x = result.startswith(_FIRST_ID)
        shared = _shared_in_1_x(result, own) if is_of_1_x else result.partition(own)[0]
        if not shared or shared == result or _INPUT in shared:
            return None
        key = (row[0], shared)
        if key in self._firsts:
            first = self._firsts[key]
        else:
            if len(self._firsts) >= _MOST_LIKES:
                self._firsts.clear()
                self._forms.clear()
            first = self._firsts[key] = self._read(row) if shared.endswith(_TAGS) else None
        if not is_of_1_x:
            self._forms[row[0], row[6], row[8]] = (len(shared), shared, first)
        return first


def _shared_in_1_x(result: str, own: str) -> str | None:
    """Return what rows that are alike share, as it is written today, of a row that version 1 wrote:
    with its id first, and its explanation among what they share.
    """
    before, _, rest = result.partition(_EXPLANATION)
    explanation, _, rest = rest.partition(_REASON)
    end, _, columns = rest.partition(_INPUT)
    id, _, start = before.partition(_CRITERIA)
    is_own = f"{_ID}{id.removeprefix(_FIRST_ID)}{_EXPLANATION}" == own
    if not is_own or not start or not explanation.startswith(('"', "null")):
        return None
    if any(f'"{column}": ' in columns for column in RELATED):
        return None
    return f"{{{_CRITERIA[2:]}{start}{_REASON}{end.removesuffix('}')}"


_STEPS = f'"{STEPS}"'
_ID, _FIRST_ID, _CRITERIA = ', "id": ', '{"id": ', ', "criteria": '
_EXPLANATION, _REASON, _INPUT = ', "explanation": ', ', "reason": ', f', "{INPUT}": '
_TAGS = tuple(f', "{KIND}": "{kind.kind}"' for kind in (AspectDetail, DirectDetail))
"""Kinds of one text and one verdict. A kind is the last thing that rows share."""


def _plain_record(row: Sequence[Any]) -> JudgmentRecord | None:
    """Return the record of a row if sums can take it for those of the rows like it."""
    record = judgment_of(row)
    return record if _is_plain(record) else None


def _is_plain(record: JudgmentRecord) -> bool:
    """Return True if sums can take the record of another row like it."""
    return (
        record.status == "scored"
        and type(record.score) is float
        and not (record.reason or record.notes or record.fallback)
        and not (record.excluded_models or record.replaced_models or record.steps)
        and not record.lost_votes
        and record.second_opinion is None
    )


class VoteTotals(NamedTuple):
    """The figures that reports count from the votes of alike rows."""

    usage: Mapping[str, Usage]
    """Model → its usage."""
    named: Sequence[tuple[str, str]]
    """The model that was asked and the one that the reply names, of each vote that has both."""
    reused: int
    """Answers that cost nothing."""


class VoteFormat(NamedTuple):
    """The properties that distinguish a vote from those of other rows, and a flag for repaired
    replies.
    """

    model: str
    key: tuple[object, ...]
    is_mended: bool


class _VoteColumns:
    """Votes, column by column, which takes a fraction of the time of one by one."""

    def __init__(self, votes: Sequence[Sequence[Any]]) -> None:
        names = COLUMNS["votes"]
        columns = zip(*votes, strict=True) if votes else ((),) * len(names)
        self._of: dict[str, tuple[Any, ...]] = dict(zip(names, columns, strict=True))

    def are_usual(self) -> bool:
        """Return True if all votes counted, and would give records with their values as stored."""
        of = self._of
        try:
            # These raise an error for values of another type, faster than each can be looked at.
            numbers = {type(sum(of[name])) for name in _NUMBERS}
            b"".join(of["ballot"])
            for name in _TEXTS:
                "".join(of[name])
            for name in _OPTIONAL_TEXTS:
                "".join([text for text in of[name] if text is not None])
        except TypeError:
            return False
        is_float = all(type(number) is float for name in _REALS for number in of[name])
        return (
            numbers == {int}
            and is_float
            and _VERDICT_GIVEN.issuperset(of["outcome"])
            and not any(more and _extras_in(more) is None for more in {*of["more"]})
        )

    def totals(self) -> VoteTotals:
        """Add the votes up."""
        named: list[tuple[str, str]] = []
        reused = 0
        models, of = {*self._of["model"]}, self._of
        if any(of["more"]):
            for model, more in zip(of["model"], of["more"], strict=True):
                extras = more and _extras_in(more)
                if extras and extras.answered_by:
                    named.append((model, extras.answered_by))
        if not all(of["calls"]):
            for calls, text, more in zip(of["calls"], of["text"], of["more"], strict=True):
                if not calls and text is not None:
                    extras = more and _extras_in(more)
                    reused += not (extras and extras.metadata.get(PAID_WITH))
        if len(models) == 1:
            usage = {models.pop(): Usage(*(sum(of[name]) for name in _COUNTS))}
        else:
            counts: dict[str, list[Sequence[int]]] = {}
            for model, *amounts in zip(of["model"], *(of[name] for name in _COUNTS), strict=True):
                counts.setdefault(model, []).append(amounts)
            usage = {
                model: Usage(*map(sum, zip(*amounts, strict=True)))
                for model, amounts in counts.items()
            }
        return VoteTotals(usage, named, reused)

    def formats(self) -> Iterator[VoteFormat]:
        of = self._of
        names = ("model", "sample", "prompt", "at", "text", "more")
        for model, sample, prompt, at, text, more in zip(
            *(of[name] for name in names), strict=True
        ):
            if text is not None:
                extras = more and _extras_in(more)
                is_mended = bool(extras and extras.repairs > 0)
                yield _new(VoteFormat, (model, (model, sample, prompt, at), is_mended))


_NUMBERS = ("number", "sample", *_COUNTS)
_REALS = ("latency", "at")
_TEXTS = ("model", "outcome")
_OPTIONAL_TEXTS = ("option", "explanation", "reason", "text", "prompt", "more")


@lru_cache(maxsize=1024)
def _extras_in(text: str | None) -> Any | None:
    """Return the extras of a vote; None if there are none, or its record must be made, as for
    tokens that went through a batch.
    """
    decoded = None if text is None else vote_extras(text)
    if decoded is None or decoded.in_batch or decoded.cache_writes or decoded.estimated:
        return None
    return decoded
