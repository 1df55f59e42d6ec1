"""What our pages send: forms, which are never large."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import groupby
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.web.body import body_of

LARGEST = 65_536
"""Bytes of a form, unless a page says otherwise."""
_MOST_FIELDS = 500
_MOST_DIGITS = 15
_MOST_ROWS = 10_000


def whole(text: str) -> int | None:
    """A whole number from 0, where it is one that anybody would count to."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def row_count(text: str, most: int) -> int:
    """How many rows a form asks for."""
    count = whole(text) or 0
    if not 1 <= count <= most:
        raise SetupError(
            "the number of rows must be from 1 to {most}, not {count!r}", most=most, count=text
        )
    return count


def rows_in(texts: Iterable[str]) -> frozenset[int] | None:
    """The rows, from 1, that an address names as ``3,8,12-15``, in one value or several; None where
    it names none.
    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    found: set[int] = set()
    for part in parts:
        ends = [whole(end) for end in part.split("-")]
        first, last = ends[0], ends[-1]
        if len(ends) > 2 or not first or not last or last - first >= _MOST_ROWS - len(found):
            raise SetupError(
                "rows are written as 3,8,12-15, at most {most} of them, not {part!r}",
                most=_MOST_ROWS,
                part=part,
            )
        found.update(range(first, last + 1))
    return frozenset(found) if parts else None


def rows_text(rows: Iterable[int]) -> str:
    """The same the other way round: neighbours as a stretch."""

    def stretches() -> Iterator[str]:
        for _, pairs in groupby(enumerate(sorted(rows)), lambda pair: pair[1] - pair[0]):
            near = [row for _, row in pairs]
            yield f"{near[0]}-{near[-1]}" if len(near) > 1 else str(near[0])

    return ",".join(stretches())


def counted_rows(text: str, per_row: int) -> str:
    """Judgments that an address names, as the rows that people count."""
    return rows_text({(number - 1) // per_row + 1 for number in rows_in([text]) or ()})


async def fields_of(
    request: Request, largest: int = LARGEST, most: int = _MOST_FIELDS
) -> list[tuple[str, str]]:
    """Every field that was sent, in its order; a name may be there several times."""
    body = await body_of(request, largest)
    try:
        return parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=most
        )
    except ValueError as error:
        raise HTTPException(413, Message("that is more than a page of ours sends")) from error


def with_form(
    answer: Callable[[Request, QueryParams], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """A page that is sent a form, and may take its time."""

    async def handle(request: Request) -> Response:
        return await run_in_threadpool(answer, request, QueryParams(await fields_of(request)))

    return handle
