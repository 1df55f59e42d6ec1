"""A request's body, counted and timed while it comes: what its head says of its length is
somebody's word.
"""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request

from adjudge.messages import Message

_SECONDS = 30


async def body_of(request: Request, largest: int) -> bytes:
    """All of it, where it is not a larger than that and comes in time; else an HTTPException says
    what is wrong.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > largest:
                    raise HTTPException(
                        413,
                        Message(
                            "the body has more than {largest} bytes, which are the most that is "
                            "read",
                            largest=largest,
                        ),
                    )
    except TimeoutError:
        late = Message("the body did not arrive within {seconds} seconds", seconds=_SECONDS)
        raise HTTPException(408, late) from None
    return bytes(body)
