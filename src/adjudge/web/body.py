"""A request's body, counted and timed while it comes: what its head says of its length is
somebody's word.
"""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request

from adjudge.core.reading.archive import Unpacker, zstd_unpacker
from adjudge.messages import Message

_SECONDS = 30


async def body_of(request: Request, largest: int, *, unpacks: bool = False) -> bytes:
    """All of it, where it is not a larger than that and comes in time; else an HTTPException says
    what is wrong. ``unpacks``: a body packed with zstd is unpacked, up to the same size.
    """
    packing = request.headers.get("content-encoding", "identity").strip().lower()
    unpacker = _unpacker(packing) if unpacks else None
    if packing not in ("", "identity") and unpacker is None:
        raise HTTPException(
            415, Message("a body packed with {packing} is not read: send it plain", packing=packing)
        )
    body = await _received(request, largest)
    return body if unpacker is None else _unpacked(unpacker, body, largest)


def _unpacker(packing: str) -> Unpacker | None:
    return zstd_unpacker() if packing == "zstd" else None


def _unpacked(unpacker: Unpacker, body: bytes, largest: int) -> bytes:
    try:
        found = unpacker.decompress(body, largest + 1)
    except Exception as error:
        raise HTTPException(
            400, Message("the body is not packed with zstd, as its head says")
        ) from error
    if len(found) > largest:
        raise HTTPException(
            413,
            Message(
                "the body unpacks to more than {largest} bytes, which are the most that is read",
                largest=largest,
            ),
        )
    return found


async def _received(request: Request, largest: int) -> bytes:
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
