"""A real server on 127.0.0.1 that speaks every provider's protocol, tells the truth about marked
texts, and fails on request.

A text with ``REC-00012-Y`` passes, one with ``REC-00012-N`` fails. Faults are a pure function of
(record, attempt), so that they do not depend on the order in which a client asks.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Self
from urllib.parse import parse_qs

from aiohttp import web

from adjudge.core.gateway.layers.retry import HAVE_ANSWERED
from support.gateways import GATEWAYS
from support.protocols import PROTOCOLS, Json, Protocol, Said

KEY = "sk-MARKED-7f3a91c2d4e8b605"
"""The key every request is to carry, and nothing else is to show."""
SERVERS = {**PROTOCOLS, **GATEWAYS}
_MARK = re.compile(r"REC-(\d+)-([YN])")


# -- faults ------------------------------------------------------------------------


class Fault:
    """One way to misbehave."""


@dataclass(frozen=True)
class Status(Fault):
    """An error status, worded as the provider words it."""

    code: int
    message: str = "something went wrong"
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class RetryAt(Fault):
    """429 with the moment as an HTTP date, the way proxies say it."""

    seconds: float


@dataclass(frozen=True)
class EchoesKey(Fault):
    """An error that repeats the key it was sent."""

    code: int


@dataclass(frozen=True)
class Rejects(Fault):
    """400 as long as the request has this field."""

    field: str


@dataclass(frozen=True)
class Raw(Fault):
    """An answer with this body, in which ``{key}`` is the key that was sent."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200


@dataclass(frozen=True)
class Says(Fault):
    """A proper answer with another text, made from the right one, in which ``{key}`` is the key
    that was sent.
    """

    text: Callable[[str], str | None]
    finish: str = "stop"


@dataclass(frozen=True)
class Bills(Fault):
    """A proper answer with this in the place of its usage; None: without any."""

    usage: object


class Hangs(Fault):
    """No answer, until the client goes away."""


class StallsInBody(Fault):
    """Half an answer, and then nothing, until the client goes away."""


class CutsBeforeHeaders(Fault):
    """The connection is gone before anything was said."""


class TalksNonsense(Fault):
    """An answer that is not HTTP."""


class CutsInBody(Fault):
    """The connection is gone in the middle of the answer."""


HANGS, STALLS, CUT_EARLY, CUT_LATE, NO_HTTP = (
    Hangs(),
    StallsInBody(),
    CutsBeforeHeaders(),
    CutsInBody(),
    TalksNonsense(),
)
EMPTY_BODY = Raw(b"")
HTML = Raw(b"<html><body>502 Bad Gateway</body></html>", "text/html")
JSON_LIST = Raw(b'[{"choices": []}]')
NO_CHOICES = Raw(b'{"choices": [], "candidates": [], "content": null, "message": null}')
ERROR_IN_200 = Raw(b'{"error": {"message": "Provider returned error", "code": 502}}')
EMPTY = Says(lambda right: "")
NULL = Says(lambda right: None)
TRUNCATED = Says(lambda right: right[: len(right) // 2], "length")
MALFORMED = Says(lambda right: '{"explanation": "it is so')
PROSE = Says(lambda right: "I would rather talk about the weather.")
REFUSES = Says(lambda right: "I can't help with that.", "refusal")
FILTERED = Says(lambda right: None, "filter")

Faults = Callable[[int, int], Fault | None]


def never(record: int, attempt: int) -> Fault | None:
    """No fault at all."""
    return None


def always(fault: Fault) -> Faults:
    """The same fault at each attempt of each record."""
    return lambda record, attempt: fault


def at_first(*faults: Fault) -> Faults:
    """These faults at a record's first attempts, none afterwards."""
    return lambda record, attempt: faults[attempt] if attempt < len(faults) else None


# -- the server --------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """A request as it arrived."""

    protocol: str
    method: str
    url: str
    headers: Mapping[str, str]
    body: Json
    record: int
    attempt: int
    at: float


class FakeProvider:
    """Start it with ``with``; every public attribute may be set between requests."""

    def __init__(self) -> None:
        self.faults: Faults = never
        self.answer: Callable[[Json], str | None] = lambda body: None
        """What is answered to a request; None: what the mark in its text says."""
        self.named: Callable[[int], str | None] = lambda record: None
        """The model that the reply to a record names; None: the one that was asked, with its
        version.
        """
        self.token_faults: Callable[[int], Fault | None] = lambda attempt: None
        self.models: tuple[str, ...] = ()
        """What it lists, where the protocol itself does not say; none: an empty list."""
        self.any_name = False
        """Whether it says of any model that it has it, as gateways do that pass names on."""
        self.latency = 0.0
        self.together = 0
        """Nobody is answered before so many are inside at once."""
        self.token_seconds = 3600
        self.requests: list[Recorded] = []
        self.tokens: list[str] = []
        """Those the token service gave out."""
        self.token_requests = 0
        self.most_at_once = 0
        self.disconnects = 0
        """Hanging requests whose client went away."""
        self.url = ""
        self._inside = 0
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._thread = threading.Thread(target=self._serve, name="fake provider", daemon=True)
        self._listening = threading.Event()
        self._stop = asyncio.Event()

    def __enter__(self) -> Self:
        HAVE_ANSWERED.clear()  # another server may have had the same port
        self._thread.start()
        assert self._listening.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(120)

    @property
    def token_url(self) -> str:
        """Where watsonx keys are changed for tokens."""
        return f"{self.url}/identity/token"

    def base_url(self, name: str) -> str:
        """The base URL of the protocol ``name``."""
        return f"{self.url}/{name}{SERVERS[name].prefix}"

    @property
    def bodies(self) -> list[Json]:
        """What was posted."""
        return [request.body for request in self.requests if request.method == "POST"]

    def attempts(self, record: int) -> int:
        """How often this record was asked about."""
        return sum(request.record == record for request in self.requests)

    def _serve(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._until_stopped())
        self._loop.close()

    async def _until_stopped(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/identity/token", self._give_token)
        for protocol in SERVERS.values():
            base = f"/{protocol.name}{protocol.prefix}"
            app.router.add_post(base + protocol.path, self._completions(protocol))
            if protocol.lists_models:
                app.router.add_get(base + protocol.probe_path, self._probe(protocol))
                app.router.add_get(
                    base + protocol.probe_path + "/{alias:.+}", self._probe(protocol)
                )
        self.add_routes(app)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.01
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._listening.set()
        await self._stop.wait()
        await runner.cleanup()

    def add_routes(self, app: web.Application) -> None:
        """What a server of another kind answers beside."""

    def _completions(self, protocol: Protocol) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            recorded = self._record(protocol, request, json.loads(await request.read()))
            self._inside += 1
            self.most_at_once = max(self.most_at_once, self._inside)
            try:
                await self._wait_for_others()
                return await self._respond(protocol, request, recorded)
            finally:
                self._inside -= 1

        return handle

    async def _wait_for_others(self) -> None:
        for _ in range(1000):
            if self.most_at_once >= self.together:
                return
            await asyncio.sleep(0.005)

    def _probe(self, protocol: Protocol) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            recorded = self._record(protocol, request, {})
            fault = self.faults(recorded.record, recorded.attempt)
            if fault is not None:
                return await self._misbehave(fault, protocol, request, recorded)
            problem = protocol.unauthorised(request.headers, self._keys(protocol))
            if problem:
                return _problem(protocol, problem.status, problem.message)
            alias = request.match_info.get("alias")
            if alias and not self.any_name and f"{alias}-latest" not in self.models:
                return _problem(protocol, 404, f"The model {alias!r} does not exist")
            return web.json_response(protocol.listing(self.models or protocol.served))

        return handle

    def _record(self, protocol: Protocol, request: web.Request, body: Json) -> Recorded:
        marks = _MARK.findall(json.dumps(body))
        record = int(marks[-1][0]) if marks else -1
        attempt = self._attempts[protocol.name, record]
        self._attempts[protocol.name, record] += 1
        found = Recorded(
            protocol.name,
            request.method,
            str(request.url),
            dict(request.headers),
            body,
            record,
            attempt,
            time.monotonic(),
        )
        self.requests.append(found)
        return found

    async def _respond(
        self, protocol: Protocol, request: web.Request, recorded: Recorded
    ) -> web.StreamResponse:
        if self.latency:
            await asyncio.sleep(self.latency)
        fault = self.faults(recorded.record, recorded.attempt)
        if isinstance(fault, Rejects) and not protocol.has(fault.field, recorded.body):
            fault = None
        if fault is not None and not isinstance(fault, Says | Bills | CutsInBody | StallsInBody):
            return await self._misbehave(fault, protocol, request, recorded)
        problem = protocol.unauthorised(request.headers, self._keys(protocol))
        problem = problem or next(protocol.problems(request.query, recorded.body), None)
        if problem:
            return _problem(protocol, problem.status, problem.message)
        right = self.answer(recorded.body) or _right_answer(protocol, recorded.body)
        said = (
            _said(fault, right, protocol.key(request.headers))
            if isinstance(fault, Says)
            else Said(right)
        )
        answer = protocol.answer(
            recorded.body, [said] * protocol.samples(recorded.body)
        ) | self.renamed(recorded.record)
        if isinstance(fault, CutsInBody | StallsInBody):
            return await self._half(fault, request, json.dumps(answer).encode())
        if isinstance(fault, Bills):
            answer = {
                name: value if "usage" not in name else fault.usage
                for name, value in answer.items()
            }
        return web.json_response(answer)

    def renamed(self, record: int) -> Json:
        """What stands in the answer where it names another model."""
        return {"model": named} if (named := self.named(record)) else {}

    async def _misbehave(
        self, fault: Fault, protocol: Protocol, request: web.Request, recorded: Recorded
    ) -> web.StreamResponse:
        match fault:
            case Status(code, message, headers):
                return _problem(protocol, code, message, headers)
            case RetryAt(seconds):
                when = {"Retry-After": formatdate(time.time() + seconds, usegmt=True)}
                return _problem(protocol, 429, "Rate limit reached", when)
            case EchoesKey(code):
                sent = protocol.key(request.headers)
                return _problem(
                    protocol,
                    code,
                    f"the key {sent} is wrong, so is 'Bearer {sent}'",
                    {"X-Key": sent},
                )
            case Rejects(field):
                return _problem(
                    protocol, protocol.rejection(field).status, protocol.rejection(field).message
                )
            case Raw(body, content_type, status):
                sent = protocol.key(request.headers)
                return web.Response(
                    body=body.replace(b"{key}", sent.encode()),
                    content_type=content_type,
                    status=status,
                )
            case Hangs():
                return await self._hang()
        assert request.transport is not None
        if isinstance(fault, TalksNonsense):
            request.transport.write(b"HELO me 250\r\n\r\n")
            request.transport.close()
        else:
            request.transport.abort()
        return web.Response()

    async def _hang(self) -> web.StreamResponse:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.disconnects += 1
            raise
        return web.Response()

    async def _half(self, fault: Fault, request: web.Request, body: bytes) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Content-Length": str(len(body))}
        )
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        if isinstance(fault, StallsInBody):
            await self._hang()
        assert request.transport is not None
        request.transport.close()
        return response

    def _keys(self, protocol: Protocol) -> set[str]:
        return set(self.tokens[-1:]) if protocol.name == "watsonx" else {KEY}

    async def _give_token(self, request: web.Request) -> web.StreamResponse:
        form = {
            name: values[0] for name, values in parse_qs((await request.read()).decode()).items()
        }
        attempt, self.token_requests = self.token_requests, self.token_requests + 1
        fault = self.token_faults(attempt)
        if isinstance(fault, EchoesKey):
            return _token_problem(fault.code, f"{form['apikey']} not found")
        if fault is not None:
            recorded = Recorded(
                "watsonx", "POST", str(request.url), {}, form, -1, attempt, time.monotonic()
            )
            return await self._misbehave(fault, PROTOCOLS["watsonx"], request, recorded)
        asked_well = (
            form.get("grant_type") == "urn:ibm:params:oauth:grant-type:apikey"
            and form.get("apikey") == KEY
        )
        if request.content_type != "application/x-www-form-urlencoded" or not asked_well:
            return _token_problem(400, "Provided API key could not be found.")
        self.tokens.append(f"eyMARKED-token-{len(self.tokens)}")
        given = {
            "access_token": self.tokens[-1],
            "refresh_token": "not_supported",
            "token_type": "Bearer",
        }
        return web.json_response(
            given
            | {
                "expires_in": self.token_seconds,
                "expiration": int(time.time()) + self.token_seconds,
            }
        )


def _right_answer(protocol: Protocol, body: Json) -> str:
    """What the mark in the text says, in the options that the schema offers."""
    marks = _MARK.findall(json.dumps(body))
    schema = protocol.schema(body) or {}
    options = schema.get("properties", {}).get("selected_option", {}).get("enum", ["PASS", "FAIL"])
    record, truth = marks[-1] if marks else ("0", "Y")
    return json.dumps(
        {
            "explanation": f"REC-{record}-{truth} says so.",
            "selected_option": options[0 if truth == "Y" else -1],
        }
    )


def _token_problem(status: int, message: str) -> web.Response:
    return web.json_response({"errorCode": "BXNIM0415E", "errorMessage": message}, status=status)


def _said(fault: Says, right: str, key: str) -> Said:
    text = fault.text(right)
    return Said(text and text.replace("{key}", key), fault.finish)


def _problem(
    protocol: Protocol, status: int, message: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.json_response(protocol.error(status, message), status=status, headers=headers)


def busiest_rate(provider: FakeProvider, window: float) -> float:
    """Requests a second that the server saw, in the busiest of all stretches of so many seconds."""
    times = sorted(one.at for one in provider.requests)
    return (
        max(bisect_left(times, start + window) - place for place, start in enumerate(times))
        / window
    )
