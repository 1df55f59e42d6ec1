"""OpenAI's batches: upload a file of lines, download two. Azure, Groq and Together differ
slightly.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from adjudge.core.domain.json_types import JsonObject, object_in, objects_in
from adjudge.core.domain.message import Request
from adjudge.core.gateway.http import get_json, post_json
from adjudge.features.batches.providers.api import (
    EXPIRED,
    MARK,
    BatchAnswer,
    BatchApi,
    Json,
    Phase,
    Remote,
    counts_of,
    listed_in,
    seconds,
    status_in,
)
from adjudge.features.batches.transfer import upload

_ENDED = ("completed", "expired", "cancelled")
_UNANSWERED = ("batch_expired", "batch_cancelled", "request_timeout")


class OpenAIBatches(BatchApi):
    """``POST {base_url}/files``, then ``POST {base_url}/batches``."""

    provider_name = "openai"
    most_bytes = 200_000_000
    between: ClassVar[bytes] = b"\n"
    closing: ClassVar[bytes] = b"\n"
    asked_at: ClassVar[str] = "/v1/chat/completions"
    upload_path: ClassVar[str] = "/files"
    purpose: ClassVar[str] = "batch"
    keeps_metadata: ClassVar[bool] = True

    def line(self, id: str, request: Request) -> bytes:
        """Return ``{custom_id, method, url, body}``."""
        return (
            f'{{"custom_id": "{id}", "method": "POST", "url": "{self.asked_at}", "body": '
            f"{self._body(request)}}}"
        ).encode()

    def _body(self, request: Request) -> str:
        return self.provider.encode(request)

    async def upload(self, path: Path) -> str:
        sent = await upload(await self.provider.at(self.upload_path), path, self._fields(path))
        return str(sent["id"])

    # the file was uploaded before
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:  # noqa: ARG002
        """Create a batch from the uploaded file."""
        body: Json = {
            "input_file_id": uploaded,
            "endpoint": self.asked_at,
            "completion_window": "24h",
        }
        if self.keeps_metadata:
            body["metadata"] = {MARK: mark}
        return self._remote(await post_json(await self.provider.at("/batches"), body))

    # some want the file's name as a field
    def _fields(self, path: Path) -> dict[str, str]:  # noqa: ARG002
        return {"purpose": self.purpose}

    async def look(self, id: str) -> Remote:
        return self._remote(await get_json(await self.provider.at(f"/batches/{id}"), of_error=True))

    async def page(self, after: str) -> tuple[list[Remote], str]:
        """Return one page; the cursor is the last id."""
        page = await get_json(
            await self.provider.at(f"/batches?limit=100{f'&after={after}' if after else ''}")
        )
        remotes = [
            await self._with_mark(self._remote(entry), entry) for entry in listed_in(page, "data")
        ]
        return remotes, remotes[-1].id if remotes and page.get("has_more") else ""

    async def _with_mark(self, remote: Remote, data: JsonObject) -> Remote:
        """Set the mark of a batch from its input file's name, if the provider stores no
        metadata.
        """
        if remote.mark or self.keeps_metadata or not data.get("input_file_id"):
            return remote
        file = await get_json(await self.provider.at(f"/files/{data['input_file_id']}"))
        return Remote(
            **{**vars(remote), "mark": str(file.get("filename", "")).removesuffix(".jsonl")}
        )

    async def cancel(self, id: str) -> None:
        """Cancel a batch; it stays "cancelling" for a while."""
        await post_json(await self.provider.at(f"/batches/{id}/cancel"), {})

    def read(self, record: Json) -> BatchAnswer:
        """Parse ``{custom_id, response {status_code, body}, error}``."""
        id, response, error = (
            str(record["custom_id"]),
            object_in(record.get("response")),
            record.get("error"),
        )
        if not response:
            problem = object_in(error)
            if problem.get("code") in _UNANSWERED or not problem:
                return self.unanswered(id, str(problem.get("message") or EXPIRED))
            return self.failed(
                id, 500 if "server" in str(problem.get("code")) else 400, {"error": problem}
            )
        status = status_in(response)
        return (
            self.answered(id, response["body"])
            if status == 200
            else self.failed(id, status, response.get("body"))
        )

    def _remote(self, data: JsonObject) -> Remote:
        data = object_in(data.get("job")) or data
        status = str(data.get("status", "")).lower()
        files = [data.get(name) for name in ("output_file_id", "error_file_id")]
        problems = [object_in(error) for error in listed_in(object_in(data.get("errors")), "data")]
        counts = counts_of(data.get("request_counts"))
        return Remote(
            id=str(data["id"]),
            phase=Phase.ENDED
            if status in _ENDED
            else Phase.REJECTED
            if status == "failed"
            else Phase.WAITING,
            said=status,
            counts=counts,
            requests=counts.get("total"),
            mark=str(object_in(data.get("metadata")).get(MARK, "")),
            created=seconds(data.get("created_at")),
            expires=seconds(data.get("expires_at")),
            results=tuple(f"/files/{file}/content" for file in files if file),
            reason="; ".join(str(problem.get("message")) for problem in problems[:3])
            or str(data.get("error") or ""),
            too_many=any(problem.get("code") == "token_limit_exceeded" for problem in problems),
        )


class AzureBatches(OpenAIBatches):
    """OpenAI's API without the version in endpoints; the model is a GlobalBatch deployment."""

    provider_name = "azure"
    most_requests = 100_000
    asked_at: ClassVar[str] = "/chat/completions"


class GroqBatches(OpenAIBatches):
    """OpenAI's API with a smaller limit on file size."""

    provider_name = "groq"
    most_bytes = 100_000_000


class TogetherBatches(OpenAIBatches):
    """OpenAI's API with shorter lines, another purpose, and no metadata.

    A batch is identified by the name of its input file.
    """

    provider_name = "together"
    most_bytes = 100_000_000
    keeps_metadata: ClassVar[bool] = False
    upload_path: ClassVar[str] = "/files/upload"
    purpose: ClassVar[str] = "batch-api"

    def line(self, id: str, request: Request) -> bytes:
        return f'{{"custom_id": "{id}", "body": {self._body(request)}}}'.encode()

    def _fields(self, path: Path) -> dict[str, str]:
        return {"purpose": self.purpose, "file_name": path.name, "file_type": "jsonl"}


class MistralBatches(OpenAIBatches):
    """``POST {base_url}/files``, then ``POST {base_url}/batch/jobs`` with the model."""

    provider_name = "mistral"
    _PHASES: ClassVar[Mapping[str, Phase]] = {
        **dict.fromkeys(("SUCCESS", "TIMEOUT_EXCEEDED", "CANCELLED"), Phase.ENDED),
        "FAILED": Phase.REJECTED,
    }

    def line(self, id: str, request: Request) -> bytes:
        return f'{{"custom_id": "{id}", "body": {self._body(request)}}}'.encode()

    # the file was uploaded before
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:  # noqa: ARG002
        """Create a batch from the uploaded file."""
        model = self.provider.connection.model
        body: Json = {
            "input_files": [uploaded],
            "model": model,
            "endpoint": self.asked_at,
            "metadata": {MARK: mark},
        }
        return self._remote(await post_json(await self.provider.at("/batch/jobs"), body))

    async def look(self, id: str) -> Remote:
        return self._remote(
            await get_json(await self.provider.at(f"/batch/jobs/{id}"), of_error=True)
        )

    async def page(self, after: str) -> tuple[list[Remote], str]:
        """Return one page. Pages are numbered from 0; one with fewer than 100 jobs is the last."""
        number = int(after or 0)
        data = listed_in(
            await get_json(await self.provider.at(f"/batch/jobs?page={number}&page_size=100")),
            "data",
        )
        return [self._remote(entry) for entry in data], str(number + 1) if len(data) == 100 else ""

    async def cancel(self, id: str) -> None:
        await post_json(await self.provider.at(f"/batch/jobs/{id}/cancel"), {})

    def _remote(self, data: JsonObject) -> Remote:
        status = str(data.get("status", ""))
        files = [data.get(name) for name in ("output_file", "error_file")]
        problems = objects_in(data.get("errors"))
        return Remote(
            id=str(data["id"]),
            phase=self._PHASES.get(status, Phase.WAITING),
            said=status.lower(),
            counts=counts_of(data),
            requests=counts_of(data).get("total_requests"),
            mark=str(object_in(data.get("metadata")).get(MARK, "")),
            created=seconds(data.get("created_at")),
            results=tuple(f"/files/{file}/content" for file in files if file),
            reason="; ".join(str(problem.get("message")) for problem in problems[:3]),
        )
