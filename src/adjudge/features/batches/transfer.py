"""Transfer whole files: upload in pieces, and continue downloads where a connection broke."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from adjudge.core.aio.files import writing
from adjudge.core.gateway.http import (
    Endpoint,
    Exchange,
    error_for,
    failure_for,
    http_client,
    no_answer,
    post_form,
)
from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.gateway.replies import retry_after
from adjudge.errors import AdjudgeError, ModelError, Unavailable
from adjudge.messages import Message

if TYPE_CHECKING:
    import aiohttp

_PIECE = 1 << 16
# Bytes that are fetched again where a connection broke off, to see that they are the same.
_OVERLAP = 1 << 16
# How often in a row a download may bring nothing new.
_TRIES = 5
_WAIT = 0.5
# Bytes. What is longer are not results.
_MOST = 10_000_000_000
_MOST_OF_AN_ERROR = 100_000


def upload(endpoint: Endpoint, path: Path, fields: dict[str, str]) -> Exchange:
    """Upload a file as form data with these fields; return the JSON object in the response."""
    headers = {
        name: value for name, value in endpoint.headers.items() if name.lower() != "content-type"
    }

    def form() -> aiohttp.FormData:
        import aiohttp

        data = aiohttp.FormData(fields)
        data.add_field(
            "file", path.open("rb"), filename=path.name, content_type="application/jsonl"
        )
        return data

    return post_form(replace(endpoint, headers=headers), form)


def send_file(endpoint: Endpoint, path: Path) -> Exchange:
    """Send a file as a request body; return the JSON object in the response."""
    return post_form(endpoint, lambda: path.open("rb"))


async def fetch(endpoint: Endpoint, target: Path) -> None:
    """Download ``endpoint`` to ``target``, resuming a partial download."""
    part = target.with_name(f"{target.name}.part")
    idle = 0
    while True:
        size_before = part.stat().st_size if part.exists() else 0
        try:
            await _fetch(endpoint, part)
            break
        except Unavailable:
            idle = 0 if part.exists() and part.stat().st_size > size_before else idle + 1
            if idle >= _TRIES:
                raise
            await asyncio.sleep(_WAIT * idle)
    part.replace(target)


async def _fetch(endpoint: Endpoint, part: Path) -> None:
    with writing(part), part.open("ab") as file:
        try:
            failure: AdjudgeError | None = await _append(endpoint, file, part)
        except no_answer() as trouble:
            failure = failure_for(endpoint, trouble)
        if failure is not None:
            # here and not above: the client's exceptions hold headers, and so the key
            raise failure


async def _append(endpoint: Endpoint, file: BinaryIO, part: Path) -> ModelError | None:
    """Append the missing bytes; return an error if there was one.

    If the server's output has changed, the download restarts, so that no line mixes two versions.
    """
    # fetch the last bytes again, to see that the server still sends the same
    start = max(0, file.tell() - _OVERLAP)
    again = _from(start, part) if start else b""
    # without compression: a range counts bytes of the transfer
    all_headers = {**endpoint.headers, "Accept-Encoding": "identity"}
    headers = {**all_headers, "Range": f"bytes={start}-"} if start else all_headers
    pending = http_client().session.get(
        endpoint.url, headers=headers, proxy=proxy_for(endpoint.url), allow_redirects=False
    )
    async with pending as response:
        if response.status not in (200, 206, 416):
            raw = await response.content.read(_MOST_OF_AN_ERROR)
            return error_for(
                endpoint, response.status, retry_after(response.headers.get("Retry-After")), raw
            )
        if response.status == 416:  # the results are shorter than the part on the disk
            return _other_results(endpoint, file)
        if response.status == 200 and file.tell():  # it does not send parts, or was asked for all
            file.truncate(0)
            again = b""
        async for piece in response.content.iter_chunked(_PIECE):
            if not again.startswith(piece[: len(again)]):
                return _other_results(endpoint, file)
            fresh, again = piece[len(again) :], again[len(piece) :]
            if file.tell() > _MOST:
                return endpoint.error(
                    ModelError,
                    Message(
                        "the results are longer than {most} GB and were not read to the end",
                        most=_MOST // 1_000_000_000,
                    ),
                )
            with writing(part):  # else a full disk would be taken for a broken connection
                file.write(fresh)
                file.flush()
    return _other_results(endpoint, file) if again else None


def _from(start: int, part: Path) -> bytes:
    with part.open("rb") as fetched:
        fetched.seek(start)
        return fetched.read()


def _other_results(endpoint: Endpoint, file: BinaryIO) -> ModelError:
    file.truncate(0)
    return endpoint.error(
        Unavailable, Message("the results differ from the part that was downloaded before")
    )
