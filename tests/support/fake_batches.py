"""The batch APIs of the providers over a real socket: files, jobs, results out of order, and what
goes wrong with them.

What a batch answers to a line is what ``FakeProvider`` answers to a request: the mark in its text
decides.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from itertools import count
from typing import Any, Literal

from aiohttp import web

from support.fake_provider import KEY, FakeProvider, Status, _right_answer
from support.protocols import PROTOCOLS, Json, Protocol, Said

Outcome = Literal["ok", "missing", "expired", "prose"] | Status
_MARK = re.compile(r"REC-(\d+)-([YN])")
_STATUS_WORDS = {
    400: "invalid_request_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class CutsAfterCreating:
    """The batch is made, and the connection is gone before that was said."""


@dataclass
class FakeBatch:
    """A batch as the server has it."""

    id: str
    api: str
    lines: list[Json]
    mark: str = ""
    input_file: str = ""
    account: str = ""
    created: float = field(default_factory=time.time)
    lists: int = 0
    """Asked for since it is there."""
    looks: int = 0
    cancelled: bool = False
    attempts: dict[str, int] = field(default_factory=dict)

    @property
    def ids(self) -> list[str]:
        return [line_id(line) for line in self.lines]


def protocol_of(api: str) -> Protocol:
    return PROTOCOLS[
        {"azure": "openai", **dict.fromkeys(("groq", "together", "openrouter"), "compatible")}.get(
            api, api
        )
    ]


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def line_id(line: Json) -> str:
    return str(line.get("custom_id") or line["metadata"]["key"])


def body_of(line: Json) -> Json:
    found: Json = line.get("body") or line.get("params") or line.get("request") or {}
    return found


class BatchProvider(FakeProvider):
    """A provider with a batch API; every public attribute may be set between requests."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[FakeBatch] = []
        self.files: dict[str, tuple[str, bytes]] = {}
        self.outcome: Callable[[int, int], Outcome] = lambda record, attempt: "ok"
        """What becomes of a record's line, the first time it is sent (0) and later."""
        self.create_faults: list[Status | CutsAfterCreating] = []
        self.looks_until_end = 1
        self.ends_as = "completed"
        self.rejects_with: list[str] = []
        """Codes with which the next batches are rejected."""
        self.cut_at: list[int] = []
        """After how many bytes the next downloads break off."""
        self.other_results: list[bytes] = []
        """What the next downloads bring instead of results."""
        self.list_lag = 0.0
        """From how many lists a new batch is missing; asked for by its id it is there at once."""
        self.accounts: dict[str, str] = {}
        """Key → its account; a key that is not there has one of its own.

        A batch can be seen by its account alone.
        """
        self.tells_accounts = False
        """Whether each answer names the account of the key in a header, as OpenAI's and Anthropic's
        do.
        """
        self.usage_of_answers: Json | None = None
        """What each answer says that it took, in the place of what it did."""
        self.list_faults: list[int] = []
        self.look_faults: list[int] = []
        """Statuses with which the next lists, and looks at one batch, are refused."""
        self.clock_ahead = 0.0
        """Seconds by which this server's clock is ahead of everybody else's."""
        self.takes_ranges = True
        self.repeats = 1
        """How often each line stands in the results."""
        self.on: dict[str, Callable[[], None]] = {}
        """What to do at "upload", "create", "created", "look", "results": before the answer goes
        out.
        """
        self.tokens_of_answers = 0
        """What each answer is said to have taken, where that is not by its length."""
        self.uploads = 0
        self.ranges: list[str] = []
        self.keys = {KEY}
        self._ids = count(1)
        self._sent: Counter[str] = Counter()

    def add_routes(self, app: web.Application) -> None:
        for api in ("openai", "azure", "groq"):
            self._openai_routes(app, api, self._base(api), "/files")
        self._openai_routes(app, "together", self._base("together"), "/files/upload")
        self._mistral_routes(app, self._base("mistral"))
        self._anthropic_routes(app, self._base("anthropic"))
        self._openrouter_routes(app, self._base("openrouter"))
        self._gemini_routes(app, self._base("google"))
        for api in ("azure", "groq", "together", "openrouter"):
            app.router.add_post(
                self._base(api) + "/chat/completions", self._completions(protocol_of(api))
            )
        app.on_response_prepare.append(self._tell_account)

    async def _tell_account(self, request: web.Request, response: web.StreamResponse) -> None:
        api = request.path.split("/")[1]
        header = {"openai": "openai-organization", "anthropic": "anthropic-organization-id"}.get(
            api
        )
        if self.tells_accounts and header:
            response.headers[header] = self._account(request, api)

    def _account(self, request: web.Request, api: str) -> str:
        key = protocol_of(api).key(request.headers)
        return self.accounts.get(key, key)

    def _base(self, api: str) -> str:
        return f"/{api}{protocol_of(api).prefix}"

    def batch_url(self, api: str) -> str:
        """The base URL of a provider."""
        return self.url + self._base(api)

    # -- OpenAI, Azure, Groq, Together -------------------------------------------------

    def _openai_routes(self, app: web.Application, api: str, base: str, upload: str) -> None:
        async def create(request: web.Request) -> web.StreamResponse:
            asked = await request.json()
            assert (
                asked["endpoint"].endswith("/chat/completions")
                and asked["completion_window"] == "24h"
            )
            _, data = self.files[asked["input_file_id"]]
            lines = [json.loads(line) for line in data.decode().splitlines()]
            mark = (asked.get("metadata") or {}).get("adjudge", "") if api != "together" else ""
            batch = FakeBatch(self._id("batch"), api, lines, mark, asked["input_file_id"])
            shown = lambda: (  # noqa: E731
                {"job": self._openai(batch)} if api == "together" else self._openai(batch)
            )
            return await self._created(request, api, batch, shown)

        app.router.add_post(base + upload, self._upload)
        app.router.add_get(base + "/files/{file}", self._file)
        app.router.add_get(base + "/files/{file}/content", self._content)
        app.router.add_post(base + "/batches", create)
        app.router.add_get(base + "/batches", self._list(api, self._openai, "data"))
        app.router.add_get(base + "/batches/{id}", self._look(self._openai))
        app.router.add_post(base + "/batches/{id}/cancel", self._cancel(self._openai))

    def _openai(self, batch: FakeBatch) -> Json:
        state = self._state(batch)
        shown: Json = {
            "id": batch.id,
            "object": "batch",
            "status": state.upper() if batch.api == "together" else state,
            "input_file_id": batch.input_file,
            "output_file_id": None,
            "error_file_id": None,
            "created_at": int(batch.created),
            "expires_at": int(batch.created) + 86_400,
            "request_counts": {"total": len(batch.lines), "completed": 0, "failed": 0},
            "metadata": {"adjudge": batch.mark} if batch.mark else None,
            "errors": None,
        }
        if state == "failed":
            shown["errors"] = {
                "data": [
                    {
                        "code": self.rejects_with[0],
                        "message": "The batch was not valid",
                        "line": None,
                    }
                ]
            }
        if state in ("completed", "expired", "cancelled"):
            good, bad = self._openai_results(batch)
            shown["output_file_id"] = self._stored(f"{batch.id}-out", good) if good else None
            shown["error_file_id"] = self._stored(f"{batch.id}-err", bad) if bad else None
            shown["request_counts"] |= {"completed": len(good), "failed": len(bad)}
        return shown

    def _openai_results(self, batch: FakeBatch) -> tuple[list[Json], list[Json]]:
        good, bad = [], []
        for line, outcome, answer in self._outcomes(batch):
            record: Json = {
                "id": f"r-{line_id(line)}",
                "custom_id": line_id(line),
                "response": None,
                "error": None,
            }
            if outcome == "expired":
                bad.append(
                    record
                    | {
                        "error": {
                            "code": "batch_expired",
                            "message": "This request could not be executed.",
                        }
                    }
                )
            elif isinstance(outcome, Status):
                body = PROTOCOLS["openai"].error(outcome.code, outcome.message)
                bad.append(
                    record
                    | {"response": {"status_code": outcome.code, "request_id": "x", "body": body}}
                )
            else:
                good.append(
                    record | {"response": {"status_code": 200, "request_id": "x", "body": answer}}
                )
        return good, bad

    def _stored(self, name: str, lines: list[Json]) -> str:
        self.files[name] = name, b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return name

    # -- Mistral -----------------------------------------------------------------------

    def _mistral_routes(self, app: web.Application, base: str) -> None:
        async def create(request: web.Request) -> web.StreamResponse:
            asked = await request.json()
            lines = [
                json.loads(line)
                for line in self.files[asked["input_files"][0]][1].decode().splitlines()
            ]
            assert asked["model"] and all(set(line) == {"custom_id", "body"} for line in lines)
            batch = FakeBatch(self._id("job"), "mistral", lines, asked["metadata"]["adjudge"])
            return await self._created(request, "mistral", batch, lambda: self._mistral(batch))

        app.router.add_post(base + "/files", self._upload)
        app.router.add_get(base + "/files/{file}/content", self._content)
        app.router.add_post(base + "/batch/jobs", create)
        app.router.add_get(base + "/batch/jobs", self._list("mistral", self._mistral, "data"))
        app.router.add_get(base + "/batch/jobs/{id}", self._look(self._mistral))
        app.router.add_post(base + "/batch/jobs/{id}/cancel", self._cancel(self._mistral))

    def _mistral(self, batch: FakeBatch) -> Json:
        shown = self._openai(batch)
        words = {
            "completed": "SUCCESS",
            "expired": "TIMEOUT_EXCEEDED",
            "cancelled": "CANCELLED",
            "failed": "FAILED",
        }
        return {
            "id": batch.id,
            "status": words.get(shown["status"], "RUNNING"),
            "created_at": shown["created_at"],
            "metadata": shown["metadata"],
            "output_file": shown["output_file_id"],
            "error_file": shown["error_file_id"],
            "total_requests": len(batch.lines),
            "succeeded_requests": shown["request_counts"]["completed"],
            "failed_requests": shown["request_counts"]["failed"],
            "errors": [],
        }

    # -- Anthropic ---------------------------------------------------------------------

    def _anthropic_routes(self, app: web.Application, base: str) -> None:
        async def create(request: web.Request) -> web.StreamResponse:
            lines = (await request.json())["requests"]
            assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", line["custom_id"]) for line in lines)
            batch = FakeBatch(self._id("msgbatch"), "anthropic", lines)
            return await self._created(request, "anthropic", batch, lambda: self._anthropic(batch))

        async def results(request: web.Request) -> web.StreamResponse:
            batch = self._find(request)
            records = [self._anthropic_result(*one) for one in self._outcomes(batch)]
            return await self._download(
                request, b"".join(json.dumps(one).encode() + b"\n" for one in records)
            )

        app.router.add_post(base + "/messages/batches", create)
        app.router.add_get(
            base + "/messages/batches", self._list("anthropic", self._anthropic, "data")
        )
        app.router.add_get(base + "/messages/batches/{id}", self._look(self._anthropic))
        app.router.add_get(base + "/messages/batches/{id}/results", results)
        app.router.add_post(base + "/messages/batches/{id}/cancel", self._cancel(self._anthropic))

    def _anthropic(self, batch: FakeBatch) -> Json:
        ended = self._state(batch) in ("completed", "expired", "cancelled")
        names = ("processing", "succeeded", "errored", "canceled", "expired")
        counts = dict.fromkeys(names, 0)
        for outcome in [one for _, one, _ in self._outcomes(batch)] if ended else []:
            counts[
                "expired"
                if outcome == "expired"
                else "errored"
                if isinstance(outcome, Status)
                else "succeeded"
            ] += 1
        counts["processing"] = 0 if ended else len(batch.lines)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": _moment(batch.created),
            "expires_at": _moment(batch.created + 86_400),
            "results_url": f"{self.url}/elsewhere" if ended else None,
        }

    def _anthropic_result(self, line: Json, outcome: Outcome, answer: Json) -> Json:
        if outcome == "expired":
            return {"custom_id": line_id(line), "result": {"type": "expired"}}
        if isinstance(outcome, Status):
            error = {
                "type": "error",
                "error": {"type": _STATUS_WORDS[outcome.code], "message": outcome.message},
            }
            return {"custom_id": line_id(line), "result": {"type": "errored", "error": error}}
        return {"custom_id": line_id(line), "result": {"type": "succeeded", "message": answer}}

    # -- OpenRouter --------------------------------------------------------------------

    def _openrouter_routes(self, app: web.Application, base: str) -> None:
        async def create(request: web.Request) -> web.StreamResponse:
            raw = (await request.read()).decode()
            asked = json.loads(raw)
            if not raw.index('"endpoint"') < raw.index('"model"') < raw.index('"requests"'):
                return web.json_response(
                    {"error": {"message": "endpoint and model first"}}, status=400
                )
            batch = FakeBatch(self._id("or"), "openrouter", asked["requests"])
            return await self._created(
                request, "openrouter", batch, lambda: self._openrouter(batch), status=202
            )

        async def look(request: web.Request) -> web.StreamResponse:
            if "results" in request.query:
                return await self._look(self._openrouter)(request)
            batch = self._find(request)
            records = [self._openrouter_result(*one) for one in self._outcomes(batch)]
            return await self._download(
                request, json.dumps(self._openrouter(batch) | {"results": records}).encode()
            )

        app.router.add_post(base + "/batches", create)
        app.router.add_get(base + "/batches", self._list("openrouter", self._openrouter, "data"))
        app.router.add_get(base + "/batches/{id}", look)
        app.router.add_post(base + "/batches/{id}/cancel", self._cancel(self._openrouter))

    def _openrouter(self, batch: FakeBatch) -> Json:
        shown = self._openai(batch)
        return {
            name: shown[name]
            for name in ("id", "status", "created_at", "expires_at", "request_counts")
        }

    def _openrouter_result(self, line: Json, outcome: Outcome, answer: Json) -> Json:
        if outcome == "expired":
            return {"custom_id": line_id(line), "error": {"code": "expired", "message": "expired"}}
        if isinstance(outcome, Status):
            return {
                "custom_id": line_id(line),
                "error": {"code": outcome.code, "message": outcome.message},
            }
        return {"custom_id": line_id(line), "response": {"status_code": 200, "body": answer}}

    # -- Gemini ------------------------------------------------------------------------

    def _gemini_routes(self, app: web.Application, base: str) -> None:
        async def create(request: web.Request) -> web.StreamResponse:
            asked = (await request.json())["batch"]
            lines = asked["input_config"]["requests"]["requests"]
            batch = FakeBatch(f"batches/{self._id('g')}", "google", lines, asked["display_name"])
            return await self._created(request, "google", batch, lambda: self._gemini(batch))

        async def look(request: web.Request) -> web.StreamResponse:
            if "fields" in request.query:
                return await self._look(self._gemini)(request)
            batch = self._find(request)
            inlined = [self._gemini_result(*one) for one in self._outcomes(batch)]
            whole = self._gemini(batch) | {
                "response": {"inlinedResponses": {"inlinedResponses": inlined}}
            }
            return await self._download(request, json.dumps(whole).encode())

        app.router.add_post(base + "/models/{model}:batchGenerateContent", create)
        app.router.add_get(base + "/batches", self._list("google", self._gemini, "operations"))
        app.router.add_get(base + "/batches/{id}", look)
        app.router.add_post(base + "/batches/{id}:cancel", self._cancel(self._gemini))

    def _gemini(self, batch: FakeBatch) -> Json:
        words = {
            "completed": "SUCCEEDED",
            "expired": "EXPIRED",
            "cancelled": "CANCELLED",
            "failed": "FAILED",
        }
        state = self._state(batch)
        told = {"state": f"BATCH_STATE_{words.get(state, 'RUNNING')}", "displayName": batch.mark}
        stats = {"requestCount": str(len(batch.lines))}
        if state == "completed":
            right = [one for _, one, _ in self._outcomes(batch) if one in ("ok", "prose")]
            stats["successfulRequestCount"] = str(len(right) // self.repeats)
        made = _moment(batch.created)
        return {
            "name": batch.id,
            "metadata": told | {"createTime": made, "batchStats": stats},
            "done": state in words,
        }

    def _gemini_result(self, line: Json, outcome: Outcome, answer: Json) -> Json:
        if isinstance(outcome, Status) or outcome == "expired":
            code = {400: 3, 429: 8}.get(outcome.code, 13) if isinstance(outcome, Status) else 4
            return {"metadata": line["metadata"], "error": {"code": code, "message": "no"}}
        return {"metadata": line["metadata"], "response": answer}

    # -- what they share ---------------------------------------------------------------

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._ids)}"

    def _find(self, request: web.Request) -> FakeBatch:
        wanted = request.match_info["id"]
        for batch in self.batches:
            if batch.id.rpartition("/")[2] == wanted and batch.account == self._account(
                request, batch.api
            ):
                return batch
        raise web.HTTPNotFound(text=json.dumps({"error": {"message": f"No batch {wanted}"}}))

    def _state(self, batch: FakeBatch) -> str:
        if self.rejects_with and batch is self.batches[-1]:
            return "failed"
        if batch.cancelled:
            return "cancelled"
        return self.ends_as if batch.looks >= self.looks_until_end else "in_progress"

    def _tell(self, event: str) -> None:
        if (act := self.on.get(event)) is not None:
            act()

    def _refused(self, request: web.Request, api: str) -> web.StreamResponse | None:
        protocol = protocol_of(api)
        problem = protocol.unauthorised(request.headers, self.keys)
        return (
            web.json_response(
                protocol.error(problem.status, problem.message), status=problem.status
            )
            if problem
            else None
        )

    async def _created(
        self,
        request: web.Request,
        api: str,
        batch: FakeBatch,
        shown: Callable[[], Json],
        status: int = 200,
    ) -> web.StreamResponse:
        if refusal := self._refused(request, api):
            return refusal
        self._tell("create")
        fault = self.create_faults.pop(0) if self.create_faults else None
        if isinstance(fault, Status):
            return web.json_response(
                protocol_of(api).error(fault.code, fault.message),
                status=fault.code,
                headers=dict(fault.headers),
            )
        assert len(set(batch.ids)) == len(batch.ids), "a custom_id stands there twice"
        for line in batch.lines:
            mark = json.dumps(body_of(line))
            batch.attempts[line_id(line)] = self._sent[mark]
            self._sent[mark] += 1
        batch.created += self.clock_ahead
        batch.account = self._account(request, api)
        self.batches.append(batch)
        self._tell("created")
        if isinstance(fault, CutsAfterCreating):
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(shown(), status=status)

    def _list(
        self, api: str, shown: Callable[[FakeBatch], Json], key: str
    ) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            if self.list_faults:
                return web.json_response(
                    {"error": {"message": "no lists"}}, status=self.list_faults.pop(0)
                )
            if refusal := self._refused(request, api):
                return refusal
            account = self._account(request, api)
            there = [one for one in self.batches if (one.api, one.account) == (api, account)]
            for one in there:
                one.lists += 1
            found = [one for one in reversed(there) if one.lists > self.list_lag]
            date = formatdate(time.time() + self.clock_ahead, usegmt=True)
            listed = {key: [shown(batch) for batch in found], "has_more": False}
            return web.json_response(listed, headers={"Date": date})

        return handle

    def _look(self, shown: Callable[[FakeBatch], Json]) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            if self.look_faults:
                return web.json_response(
                    {"error": {"message": "no looks"}}, status=self.look_faults.pop(0)
                )
            batch = self._find(request)
            batch.looks += 1
            self._tell("look")
            answer = shown(batch)
            if self.rejects_with and self._state(batch) == "failed":
                self.rejects_with.pop(0)
            return web.json_response(answer)

        return handle

    def _cancel(self, shown: Callable[[FakeBatch], Json]) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            batch = self._find(request)
            batch.cancelled = True
            return web.json_response(shown(batch))

        return handle

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        sent = form["file"]
        assert isinstance(sent, web.FileField) and str(form["purpose"]).startswith("batch")
        self.uploads += 1
        self._tell("upload")
        file = self._id("file")
        self.files[file] = sent.filename, sent.file.read()
        return web.json_response({"id": file, "object": "file", "filename": sent.filename})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        file = request.match_info["file"]
        return web.json_response({"id": file, "filename": self.files[file][0]})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        return await self._download(request, self.files[request.match_info["file"]][1])

    async def _download(self, request: web.Request, data: bytes) -> web.StreamResponse:
        """All of it, or what is missing; cut where that is wanted."""
        self._tell("results")
        data = self.other_results.pop(0) if self.other_results else data
        wanted = request.headers.get("Range", "")
        start = (
            int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.takes_ranges else 0
        )
        self.ranges.append(wanted)
        rest = data[start:]
        headers = {"Content-Length": str(len(rest)), "Content-Type": "application/octet-stream"}
        response = web.StreamResponse(status=206 if start else 200, headers=headers)
        await response.prepare(request)
        if self.cut_at:
            await response.write(rest[: self.cut_at.pop(0)])
            await asyncio.sleep(0.02)
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write(rest)
        return response

    def _outcomes(self, batch: FakeBatch) -> Iterator[tuple[Json, Outcome, Json]]:
        """(line, what becomes of it, its answer), the last line first."""
        for line in reversed(batch.lines):
            marks = _MARK.findall(json.dumps(body_of(line)))
            record = int(marks[-1][0]) if marks else -1
            outcome = self.outcome(record, batch.attempts[line_id(line)])
            if outcome == "missing":
                continue
            for _ in range(self.repeats):
                answer = self._answer(protocol_of(batch.api), body_of(line), outcome)
                yield line, outcome, answer | self.renamed(record)

    def _answer(self, protocol: Protocol, body: Json, outcome: Outcome) -> Json:
        assert not (problem := next(protocol.problems({}, body), None)), problem
        right = (
            "I would rather talk about the weather."
            if outcome == "prose"
            else _right_answer(protocol, body)
        )
        answer = protocol.answer(body, [Said(right)])
        if self.tokens_of_answers:
            answer["usage"]["completion_tokens"] = self.tokens_of_answers
        if self.usage_of_answers is not None:
            answer["usage"] = self.usage_of_answers
        return answer
