"""Batches whose requests are in the body of the request that creates them: Anthropic, OpenRouter,
Gemini.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from adjudge.core.domain.json_types import JsonObject, object_in, objects_in
from adjudge.core.domain.message import Request
from adjudge.core.gateway.http import Endpoint, get_json, post_json
from adjudge.core.gateway.providers.base import HttpProvider
from adjudge.errors import ModelError
from adjudge.features.batches.providers.api import (
    BatchAnswer,
    BatchApi,
    Json,
    Phase,
    Remote,
    as_json,
    counts_of,
    listed_in,
    seconds,
    status_in,
)
from adjudge.features.batches.transfer import send_file
from adjudge.messages import Message

_STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches(BatchApi):
    """``POST {base_url}/messages/batches``; a batch cannot store our name for it."""

    provider_name = "anthropic"
    most_requests = 100_000
    most_bytes = 250_000_000
    marks = False
    note = Message(
        "Anthropic keeps batches and their results for 29 days, even for accounts with zero data "
        "retention"
    )
    between: ClassVar[bytes] = b",\n"
    closing: ClassVar[bytes] = b"]}"

    def opening(self, mark: str) -> bytes:  # noqa: ARG002 - there is no place for it
        return b'{"requests": ['

    def line(self, id: str, request: Request) -> bytes:
        """Return ``{custom_id, params}``."""
        return f'{{"custom_id": "{id}", "params": {self.provider.encode(request)}}}'.encode()

    # there is no place for it
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:  # noqa: ARG002
        return self._remote(await send_file(await self.provider.at("/messages/batches"), path))

    async def look(self, id: str) -> Remote:
        return self._remote(await get_json(await self.provider.at(f"/messages/batches/{id}")))

    async def page(self, after: str) -> tuple[list[Remote], str]:
        """Return one page; the cursor is the last id."""
        page = await get_json(
            await self.provider.at(
                f"/messages/batches?limit=100{f'&after_id={after}' if after else ''}"
            )
        )
        remotes = [self._remote(entry) for entry in listed_in(page, "data")]
        return remotes, remotes[-1].id if remotes and page.get("has_more") else ""

    async def cancel(self, id: str) -> None:
        """Cancel a batch; it stays "canceling" for a while."""
        await post_json(await self.provider.at(f"/messages/batches/{id}/cancel"), {})

    def read(self, record: Json) -> BatchAnswer:
        """Parse ``{custom_id, result {type, message | error}}``."""
        id, result = str(record["custom_id"]), object_in(record["result"])
        if result["type"] == "succeeded":
            return self.answered(id, result["message"])
        if result["type"] != "errored":
            return self.unanswered(id)
        problem = object_in(object_in(result.get("error")).get("error")) or object_in(
            result.get("error")
        )
        return self.failed(id, _STATUS_OF.get(str(problem.get("type")), 500), {"error": problem})

    def _remote(self, data: JsonObject) -> Remote:
        status, counts = (
            str(data.get("processing_status", "")),
            counts_of(data.get("request_counts")),
        )
        id = str(data["id"])
        return Remote(
            id=id,
            phase=Phase.ENDED if status == "ended" else Phase.WAITING,
            said=status,
            counts=counts,
            requests=sum(counts.values()) or None,
            created=seconds(data.get("created_at")),
            expires=seconds(data.get("expires_at")),
            results=(f"/messages/batches/{id}/results",) if status == "ended" else (),
        )


class OpenRouterBatches(BatchApi):
    """``POST {base_url}/batches``, with ``endpoint`` and ``model`` before ``requests``.

    ``GET {base_url}/batches/{id}`` returns the results.
    """

    provider_name = "openrouter"
    most_requests = 5_000
    most_bytes = 50_000_000
    marks = False
    between: ClassVar[bytes] = b",\n"
    closing: ClassVar[bytes] = b"]}"

    def __init__(self, provider: HttpProvider) -> None:
        super().__init__(provider)
        self._path = "/batches"

    def opening(self, mark: str) -> bytes:  # noqa: ARG002 - there is no place for it
        model = json.dumps(self.provider.connection.model)
        return f'{{"endpoint": "/v1/chat/completions", "model": {model}, "requests": ['.encode()

    def line(self, id: str, request: Request) -> bytes:
        return f'{{"custom_id": "{id}", "body": {self.provider.encode(request)}}}'.encode()

    # there is no place for it
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:  # noqa: ARG002
        # some pages of the documentation have another path for it
        try:
            return self._remote(await send_file(await self._at(""), path))
        except ModelError as error:
            if error.status != 404 or self._path != "/batches":
                raise
        self._path = "/../beta/batches"
        return self._remote(await send_file(await self._at(""), path))

    async def _at(self, rest: str) -> Endpoint:
        return await self.provider.at(f"{self._path}{rest}")

    async def look(self, id: str) -> Remote:
        return self._remote(await get_json(await self._at(f"/{id}?results=false"), of_error=True))

    # there is no second one
    async def page(self, after: str) -> tuple[list[Remote], str]:  # noqa: ARG002
        """Return the only page, with the newest batches."""
        return [
            self._remote(entry)
            for entry in listed_in(await get_json(await self._at("?limit=100")), "data")
        ], ""

    async def cancel(self, id: str) -> None:
        await post_json(await self._at(f"/{id}/cancel"), {})

    def records(self, path: Path) -> Iterator[Json]:
        yield from listed_in(as_json(path, self.endpoint.secrets), "results")

    def read(self, record: Json) -> BatchAnswer:
        """Parse ``{custom_id, response | error}``."""
        id, response, error = (
            str(record["custom_id"]),
            object_in(record.get("response")),
            object_in(record.get("error")),
        )
        if error:
            code = error.get("code") or error.get("status_code")
            return (
                self.unanswered(id)
                if "expired" in str(code)
                else self.failed(id, _status(code), {"error": error})
            )
        status = status_in(response)
        body = response.get("body", response)
        return self.answered(id, body) if status == 200 else self.failed(id, status, body)

    def _remote(self, data: JsonObject) -> Remote:
        status, counts = str(data.get("status", "")).lower(), counts_of(data.get("request_counts"))
        ended, id = status in ("completed", "expired", "cancelled"), str(data["id"])
        return Remote(
            id=id,
            phase=Phase.ENDED if ended else Phase.REJECTED if status == "failed" else Phase.WAITING,
            said=status,
            counts=counts,
            requests=counts.get("total"),
            created=seconds(data.get("created_at")),
            expires=seconds(data.get("expires_at")),
            results=(f"{self._path}/{id}",) if ended else (),
            reason=str(object_in(data.get("error")).get("message") or ""),
        )


def _status(code: object) -> int:
    """Return an error's HTTP status, or 500 if its code is not one."""
    return code if isinstance(code, int) and 400 <= code < 600 else 500


class GeminiBatches(BatchApi):
    """``POST {base_url}/models/{model}:batchGenerateContent``; the display name identifies a
    batch.
    """

    provider_name = "google"
    most_requests = 10_000
    most_bytes = 19_000_000
    between: ClassVar[bytes] = b",\n"
    closing: ClassVar[bytes] = b"]}}}}"
    _GOOGLE: ClassVar[Mapping[int, int]] = {
        3: 400,
        4: 504,
        5: 404,
        7: 403,
        8: 429,
        13: 500,
        14: 503,
        16: 401,
    }
    """Google's numbers of errors, as HTTP has them."""

    def line(self, id: str, request: Request) -> bytes:
        """Return ``{request, metadata {key}}``."""
        return (
            f'{{"request": {self.provider.encode(request)}, "metadata": {{"key": "{id}"}}}}'
        ).encode()

    def opening(self, mark: str) -> bytes:
        """Return the bytes before the first request, with the batch's name."""
        name = json.dumps(f"adjudge-{mark}")
        return (
            f'{{"batch": {{"display_name": {name}, "input_config": {{"requests": {{"requests": ['
        ).encode()

    # it stands in the file
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:  # noqa: ARG002
        at = await self.provider.at(
            f"/models/{self.provider.connection.model}:batchGenerateContent"
        )
        return self._remote(await send_file(at, path))

    async def look(self, id: str) -> Remote:
        return self._remote(
            await get_json(
                await self.provider.at(f"/{id}?fields=name,metadata,done,error"), of_error=True
            )
        )

    async def page(self, after: str) -> tuple[list[Remote], str]:
        """Return one page; the cursor is its ``nextPageToken``."""
        page = await get_json(
            await self.provider.at(f"/batches?pageSize=100{f'&pageToken={after}' if after else ''}")
        )
        return [self._remote(entry) for entry in listed_in(page, "operations")], str(
            page.get("nextPageToken") or ""
        )

    async def cancel(self, id: str) -> None:
        await post_json(await self.provider.at(f"/{id}:cancel"), {})

    def records(self, path: Path) -> Iterator[Json]:
        data = as_json(path, self.endpoint.secrets)
        output = object_in(data.get("response")) or object_in(
            object_in(data.get("metadata")).get("output")
        )
        yield from map(
            dict, objects_in(object_in(output.get("inlinedResponses")).get("inlinedResponses"))
        )

    def read(self, record: Json) -> BatchAnswer:
        """Parse ``{metadata {key}, response | error}``."""
        id, error = str(object_in(record["metadata"])["key"]), object_in(record.get("error"))
        if error:
            return self.failed(
                id, self._GOOGLE.get(int(str(error.get("code", 13))), 500), {"error": error}
            )
        return self.answered(id, record["response"])

    def _remote(self, data: JsonObject) -> Remote:
        metadata = object_in(data.get("metadata"))
        state = str(metadata.get("state", "")).rpartition("STATE_")[2].lower()
        counts = {
            name: int(str(value))
            for name, value in object_in(metadata.get("batchStats")).items()
            if str(value).isdigit()
        }
        ended = state in ("succeeded", "partially_succeeded", "cancelled", "expired")
        return Remote(
            id=str(data["name"]),
            phase=Phase.ENDED if ended else Phase.REJECTED if state == "failed" else Phase.WAITING,
            said=state,
            counts=counts,
            requests=counts.get("requestCount"),
            mark=str(metadata.get("displayName", "")).removeprefix("adjudge-"),
            created=seconds(metadata.get("createTime")),
            results=(f"/{data['name']}",) if ended else (),
            reason=str(object_in(data.get("error")).get("message") or ""),
        )
