"""Rows whose records differ only in their places and texts, which are counted without records.

To make a record takes longer than to read and check its row, and most rows of a run are alike:
of one criterion, one verdict and one score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import KIND, AspectDetail, DirectDetail, Fields, JudgmentRecord
from adjudge.core.domain.repetition import PART_OF, ROW, TRIAL
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
_PLACES = {name: place for place, name in enumerate(COLUMNS["votes"])}
_MODEL, _SAMPLE, _OUTCOME, _TEXT = (
    _PLACES[name] for name in ("model", "sample", "outcome", "text")
)
_PROMPT, _CALLS, _AT, _MORE = (_PLACES[name] for name in ("prompt", "calls", "at", "more"))
_COUNTS = slice(_CALLS, _PLACES["latency"])
"""Calls and tokens, in the order of ``Usage``."""
_Key = tuple[str, str, str]
"""A judge, and all parts of a stored judgment that are equal in rows that are alike."""


class AlikeRow(NamedTuple):
    """A scored judgment with its votes, both as they are stored and verified."""

    like: JudgmentRecord
    """The record of the first row like it: equal but for the place, the row's content, the texts
    and the votes. Of all alike rows it is the same object.
    """
    place: int
    """Its place among the judge's judgments, from 0."""
    row: Sequence[Any]
    votes: Sequence[Sequence[Any]]

    @property
    def record(self) -> JudgmentRecord:
        """Its own record, with its votes."""
        return judgment_of(self.row, tuple(map(vote_of, self.votes)))


class AlikeRows:
    """Finds rows that are alike."""

    def __init__(self) -> None:
        self._likes: dict[_Key, JudgmentRecord | None] = {}
        self._forms = _Forms(_RELATED)
        self._missed = 0
        self._fields_in = text_decoder(Fields)

    def find(
        self, row: Sequence[Any], votes: Sequence[Sequence[Any]], *, usual_votes: bool = False
    ) -> AlikeRow | None:
        """Return the row if it is a usual one: as adjudge writes it, with a score, by votes that
        all count, and independent of others.

        None means that its record must be made. The explanation of an alike row is not decoded,
        since no sum needs it. All other values were decoded in the first row like it.
        ``usual_votes``: True if ``are_usual`` says so of its votes.
        """
        key = self._forms.key_of(row)
        if key is None:
            return None
        index, instance = row[1], row[3]
        if _STEPS in instance or self._fields_in(instance) is None:
            return None
        like = self._likes.get(key)
        if like is None and key not in self._likes:
            like = self._remember(key, row)
        if like is None or not (usual_votes or are_usual(votes)):
            return None
        return AlikeRow(like, index, row, votes)

    def _remember(self, key: _Key, row: Sequence[Any]) -> JudgmentRecord | None:
        self._missed += 1
        if self._missed > _MOST_LIKES:  # no two rows are alike, as those with advice in them
            return None
        like = judgment_of(row) if _is_in_order(key) else None
        self._likes[key] = like = like if like and _is_plain(like) else None
        return like


def alike_outcomes(
    rows: Iterable[tuple[Any, ...]], columns: Iterable[str]
) -> Iterator[tuple[tuple[Any, ...], StoredOutcome | None]]:
    """Yield each row with its outcome, or with None if its whole record must be read.

    Of rows that are alike, only the first one is decoded; the outcomes of the others have no
    ``input``. A row that may have one of ``columns`` is always decoded.
    """
    likes: dict[_Key, StoredOutcome] = {}
    key_of, fields_in = _Forms(columns).key_of, text_decoder(Fields)
    for row in rows:
        key = key_of(row)
        like = likes.get(key) if key else None
        if like is not None and (fields := fields_in(row[3])) is not None:
            same = (like.criterion, like.status, like.score, like.verdict)
            yield row, StoredOutcome(row[0], row[1], row[2], fields, NOTHING, *same)
            continue
        outcome = outcome_in(row)
        if key and outcome and _is_in_order(key):
            if len(likes) >= _MOST_LIKES:
                likes.clear()
            likes[key] = outcome
        yield row, outcome


class _Form(NamedTuple):
    """The parts of a stored judgment between its id, its explanation and its columns."""

    start: str
    end: str
    has_columns: bool
    key: _Key


class _Forms:
    """Tells which stored judgments are alike. Those that may have one of ``columns`` are not."""

    def __init__(self, columns: Iterable[str]) -> None:
        self._columns = tuple(f'"{column}"' for column in columns)
        self._last: dict[tuple[object, ...], _Form] = {}
        """Judge, score and verdict → the form of the last such row, usually that of the next."""

    def key_of(self, row: Sequence[Any]) -> _Key | None:
        """Return what rows that are alike share; None if adjudge did not write the row in its usual
        form.
        """
        id, result = row[2], row[-1]
        if type(result) is not str or type(row[1]) is not int or type(row[3]) is not str:
            return None
        if type(id) is str:
            beginning = f'{{"id": {encode_basestring_ascii(id)}'
        elif id is None:
            beginning = '{"id": null'
        else:
            return None
        hint = (row[0], row[6], row[8])
        if form := self._last.get(hint):
            start, end, has_columns, key = form
            place = len(beginning) + len(start)
            if result.startswith(beginning + start):
                if result.startswith(_NO_TEXT, place):
                    place += len(_NO_TEXT)
                elif result.startswith('"', place):
                    place = result.find(_REASON, place) + len(_REASON)
                columns = result[place + len(end) :]
                if result.startswith(end, place) and bool(columns) is has_columns:
                    return None if self._has_any(columns) else key
        return self._find_key(row, beginning, hint)

    def _find_key(
        self, row: Sequence[Any], beginning: str, hint: tuple[object, ...]
    ) -> _Key | None:
        # No text in JSON holds a bare quotation mark, so a name between two of them begins a
        # member; and adjudge writes them in this order.
        before, _, rest = row[-1].partition(_EXPLANATION)
        explanation, _, rest = rest.partition(_REASON)
        end, input_name, columns = rest.partition(_INPUT)
        id, _, start = before.partition(_AFTER_ID)
        if id != beginning or not explanation.startswith(_TEXT_OR_NULL) or self._has_any(columns):
            return None
        key = (row[0], start, end)
        if _is_in_order(key):
            if len(self._last) >= _MOST_LIKES:
                self._last.clear()
            after_id = f"{_AFTER_ID}{start}{_EXPLANATION}"
            self._last[hint] = _Form(after_id, end + input_name, bool(columns), key)
        return key

    def _has_any(self, columns: str) -> bool:
        for column in self._columns:  # noqa: SIM110 - any() takes several times longer
            if column in columns:
                return True
        return False


_STEPS = f'"{STEPS}"'
_AFTER_ID, _EXPLANATION, _REASON = ', "criteria": ', ', "explanation": ', ', "reason": '
_INPUT = f', "{INPUT}": '
_TEXT_OR_NULL = ('"', "null")
_NO_TEXT = f"null{_REASON}"
_TAGS = tuple(f'"{KIND}": "{kind.kind}"' for kind in (AspectDetail, DirectDetail))
"""Kinds of one text and one verdict."""
_RELATED = (TRIAL, ROW, PART_OF, "repeat")
"""Columns of rows that belong together."""


def _is_in_order(key: _Key) -> bool:
    """Return True if the parts of a judgment between its texts were found."""
    _, start, end = key
    return bool(start) and end.removesuffix("}").endswith(_TAGS)


def _is_plain(record: JudgmentRecord) -> bool:
    """Return True if sums can take the record of another row like it."""
    return (
        record.status == "scored"
        and type(record.score) is float
        and not (record.reason or record.notes or record.fallback)
        and not (record.excluded_models or record.replaced_models or record.steps)
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


def add_votes(rows: Iterable[AlikeRow]) -> VoteTotals:
    """Add up the votes of alike rows."""
    votes_by_model: dict[str, list[Sequence[Any]]] = {}
    named: list[tuple[str, str]] = []
    reused = 0
    for row in rows:
        for vote in row.votes:
            model = vote[_MODEL]
            if model in votes_by_model:
                votes_by_model[model].append(vote)
            else:
                votes_by_model[model] = [vote]
            extras = _extras_in(vote[_MORE])
            if extras is not None and extras.answered_by:
                named.append((model, extras.answered_by))
            if not vote[_CALLS] and vote[_TEXT] is not None:
                reused += not (extras and extras.metadata.get(PAID_WITH))
    usage = {
        model: Usage(*map(sum, zip(*(vote[_COUNTS] for vote in votes), strict=True)))
        for model, votes in votes_by_model.items()
    }
    return VoteTotals(usage, named, reused)


class VoteFormat(NamedTuple):
    """The properties that distinguish a vote from those of other rows, and a flag for repaired
    replies.
    """

    model: str
    key: tuple[object, ...]
    is_mended: bool


def formats_of(rows: Iterable[AlikeRow]) -> Iterator[VoteFormat]:
    """Yield the format of each vote that has a text."""
    for row in rows:
        for vote in row.votes:
            if vote[_TEXT] is not None:
                extras = _extras_in(vote[_MORE])
                key = (vote[_MODEL], vote[_SAMPLE], vote[_PROMPT], vote[_AT])
                yield VoteFormat(vote[_MODEL], key, bool(extras and extras.repairs > 0))


def are_usual(votes: Collection[Sequence[Any]]) -> bool:
    """Return True if all votes counted, and would give records with their values as stored."""
    for name, values in zip(_TYPES, zip(*votes, strict=True), strict=False):
        if not _TYPES[name].issuperset(map(type, values)):
            return False
        if name == "outcome" and not _VERDICT_GIVEN.issuperset(values):
            return False
        if name == "more" and any(more and _extras_in(more) is None for more in values):
            return False
    return True


_TYPES: Mapping[str, frozenset[type]] = {
    **dict.fromkeys(COLUMNS["votes"], frozenset({str, type(None)})),
    **dict.fromkeys(("number", "sample", "calls"), frozenset({int})),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), frozenset({int})),
    **dict.fromkeys(("latency", "at"), frozenset({float})),
    **dict.fromkeys(("model", "outcome"), frozenset({str})),
    "ballot": frozenset({bytes}),
}
"""Column of a vote → its usual types."""


@lru_cache(maxsize=1024)
def _extras_in(text: str | None) -> Any | None:
    """Return the extras of a vote; None if there are none, or its record must be made, as for
    tokens that went through a batch.
    """
    decoded = None if text is None else vote_extras(text)
    if decoded is None or decoded.in_batch or decoded.cache_writes or decoded.estimated:
        return None
    return decoded
