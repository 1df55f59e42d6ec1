"""Read the forms that our pages send, which are never large."""

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
MOST_FIELDS = 500
"""Fields of a form, unless a page says otherwise."""
_MOST_DIGITS = 15
_MOST_ROWS = 10_000


def whole(text: str) -> int | None:
    """Parse a non-negative whole number; None if the text is not one, or has too many digits."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def row_count(text: str, most: int) -> int:
    """Parse how many rows a form asks for. Raises a SetupError unless it is from 1 to ``most``."""
    count = whole(text) or 0
    if not 1 <= count <= most:
        raise SetupError(
            "the number of rows must be from 1 to {most}, not {count!r}", most=most, count=text
        )
    return count


def rows_in(texts: Iterable[str]) -> frozenset[int] | None:
    """Parse row numbers from 1, written like ``3,8,12-15`` in one or several texts; None if there
    are none.
    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    rows: set[int] = set()
    for part in parts:
        ends = [whole(bound) for bound in part.split("-")]
        start, end = ends[0], ends[-1]
        if len(ends) > 2 or not start or not end or end - start >= _MOST_ROWS - len(rows):
            raise SetupError(
                "write rows as 3,8,12-15, at most {most} of them, not {part!r}",
                most=_MOST_ROWS,
                part=part,
            )
        rows.update(range(start, end + 1))
    return frozenset(rows) if parts else None


def rows_text(rows: Iterable[int]) -> str:
    """Format row numbers like ``3,8,12-15``, the inverse of ``rows_in``."""

    def stretches() -> Iterator[str]:
        for _, pairs in groupby(enumerate(sorted(rows)), lambda pair: pair[1] - pair[0]):
            near = [row for _, row in pairs]
            yield f"{near[0]}-{near[-1]}" if len(near) > 1 else str(near[0])

    return ",".join(stretches())


def counted_rows(text: str, per_row: int) -> str:
    """Convert judgment numbers in an address to row numbers as people count them."""
    return rows_text({(number - 1) // per_row + 1 for number in rows_in([text]) or ()})


async def fields_of(
    request: Request, largest: int = LARGEST, most: int = MOST_FIELDS
) -> list[tuple[str, str]]:
    """Read all form fields in order. A name may occur several times."""
    body = await body_of(request, largest)
    try:
        return parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=most
        )
    except ValueError as error:
        raise HTTPException(
            413, Message("that is more data than this page's forms send")
        ) from error


def with_form(
    answer: Callable[[Request, QueryParams], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Turn ``answer`` into a route that parses a form and runs in a thread."""

    async def handle(request: Request) -> Response:
        return await run_in_threadpool(answer, request, QueryParams(await fields_of(request)))

    return handle
