"""Read the body of a request, with limits on its size and time.

Both are checked while it arrives: the length in its head is only a claim of the client.
"""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request

from adjudge.core.reading.archive import Unpacker, zstd_unpacker
from adjudge.messages import Message

_SECONDS = 30


async def body_of(request: Request, largest: int, *, unpacks: bool = False) -> bytes:
    """Read the whole body. Raises an HTTPException if it is too late or has more than ``largest``
    bytes.

    ``unpacks``: also accept zstd, up to the same unpacked size.
    """
    packing = request.headers.get("content-encoding", "identity").strip().lower()
    unpacker = (zstd_unpacker() if packing == "zstd" else None) if unpacks else None
    if unpacks and packing == "zstd" and unpacker is None:
        raise HTTPException(
            415,
            Message(
                "this server cannot unpack zstd: install backports.zstd next to it, or send the "
                "body uncompressed"
            ),
        )
    if packing not in ("", "identity") and unpacker is None:
        raise HTTPException(
            415,
            Message(
                "a body compressed with {packing} is not supported: send it uncompressed",
                packing=packing,
            ),
        )
    body = await _receive(request, largest)
    return body if unpacker is None else _unpack(unpacker, body, largest)


def _unpack(unpacker: Unpacker, body: bytes, largest: int) -> bytes:
    try:
        # one byte more than allowed, so that a larger body shows without being unpacked to its end
        unpacked_body = unpacker.decompress(body, largest + 1)
    except Exception as error:
        raise HTTPException(
            400, Message("the body is not compressed with zstd, as its header says")
        ) from error
    if len(unpacked_body) > largest:
        raise HTTPException(
            413,
            Message(
                "the body unpacks to more than the limit of {largest} bytes",
                largest=largest,
            ),
        )
    return unpacked_body


async def _receive(request: Request, largest: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > largest:
                    raise HTTPException(
                        413,
                        Message(
                            "the body has more than the limit of {largest} bytes",
                            largest=largest,
                        ),
                    )
    except TimeoutError:
        late = Message("the body did not arrive within {seconds} seconds", seconds=_SECONDS)
        raise HTTPException(408, late) from None
    return bytes(body)
