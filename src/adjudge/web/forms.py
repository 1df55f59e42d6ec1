"""What our pages send: forms, which are never large."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from adjudge.messages import Message
from adjudge.web.body import body_of

LARGEST = 65_536
"""Bytes of a form, unless a page says otherwise."""
_MOST_FIELDS = 500
_MOST_DIGITS = 15


def whole(text: str) -> int | None:
    """A whole number from 0, where it is one that anybody would count to."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


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


async def form_of(request: Request, largest: int = LARGEST) -> dict[str, str]:
    """The same where every name is there once."""
    return dict(await fields_of(request, largest))
