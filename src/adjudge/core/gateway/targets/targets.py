"""The three kinds of applications: a command, an endpoint, a function of one's own."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from time import perf_counter
from urllib.parse import quote

from adjudge.core.aio.files import cache_folder
from adjudge.core.aio.user_functions import call
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.headers import Headers
from adjudge.core.gateway.http import Endpoint, get_json, post_json
from adjudge.core.gateway.redaction import without_secrets
from adjudge.core.gateway.targets.answer import AnswerPaths, NoAnswer
from adjudge.core.gateway.targets.target import Target
from adjudge.core.reading.places import Row, filled, filled_text, places_in
from adjudge.errors import ModelError, SetupError, Unavailable
from adjudge.messages import Message

_LONGEST_OUTPUT = 10_000_000
_LONGEST_SHOWN = 500
_GRACE = 1.0
"""Seconds that are waited for the rest of what a program printed before it ended."""
_JSON = re.compile(r'\{\s*"|\[\s*[{"]')
"""How JSON begins, and a text like "[1] says so" does not."""
_HINTS: Mapping[int, Message] = {
    401: Message("check the headers of the target"),
    403: Message("check the headers of the target"),
    404: Message("check the url of the target"),
    405: Message("check the method of the target"),
    413: Message("the row is too long for it"),
}
_TRY_AGAIN = 75
"""The exit code by which a command says that it may work later (EX_TEMPFAIL)."""


def row_in(request: Request) -> Row:
    """The row that a request is about."""
    found: Row = json.loads(request.prompt.text)
    return found


class CommandTarget(Target):
    """A program that reads a row as JSON on its standard input, or takes its fields as arguments,
    and prints its answer: a text, or JSON.

    No shell sees what a row says. A program that ends with another code than 0 failed; with 75 it
    is tried again.
    """

    def __init__(
        self, command: str | Sequence[str], *, name: str, folder: Path, paths: AnswerPaths
    ) -> None:
        super().__init__(name, paths)
        try:
            self.arguments = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise SetupError(
                "the command {command!r} cannot be read: {reason}",
                command=str(command),
                reason=str(error),
            ) from error
        if not self.arguments:
            raise SetupError("the command is empty")
        self.folder = folder

    @property
    def identity(self) -> str:
        return f"command {json.dumps(self.arguments)}{self.version}"

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(places_in(self.arguments)))

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        row = row_in(request)
        arguments = [filled_text(one, row) for one in self.arguments]
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self.folder,
                # compiled files of Python that came with the folder are not what the user has seen
                env={"PYTHONPYCACHEPREFIX": str(cache_folder() / "bytecode"), **os.environ},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ModelError(
                "the command cannot be started: {reason}", model=self.name, reason=str(error)
            ) from error
        try:
            said, errors = await _communicate(process, request.prompt.text.encode())
        finally:
            await _end(process)
        if process.returncode:
            kind = Unavailable if process.returncode == _TRY_AGAIN else ModelError
            raise kind(
                "the command ended with {code}: {errors}",
                model=self.name,
                code=process.returncode,
                errors=_tail(errors) or Message("it printed no reason"),
            )
        return self.reply(_read(said, self.name, is_json=self.paths.answer is not None), started)


async def _communicate(process: asyncio.subprocess.Process, sent: bytes) -> tuple[bytes, bytes]:
    """What it printed, up to a limit, while it is given its input."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the process has no pipes")

    async def feed(pipe: asyncio.StreamWriter) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(sent)
            await pipe.drain()
        pipe.close()

    reading = asyncio.gather(
        _limited(process.stdout), _limited(process.stderr), feed(process.stdin)
    )
    try:
        while not reading.done():
            await asyncio.wait((reading,), timeout=_GRACE)
            if not reading.done() and process.returncode is not None:
                _kill(process)  # it has ended, and a child of its keeps the pipes open
        said, errors, *_ = await reading
        await process.wait()
    finally:
        reading.cancel()
    return said, errors


async def _limited(pipe: asyncio.StreamReader) -> bytes:
    found = bytearray()
    while piece := await pipe.read(65_536):
        found += piece
        if len(found) > _LONGEST_OUTPUT:
            raise ModelError(
                "the command printed more than {most} MB", most=_LONGEST_OUTPUT // 1_000_000
            )
    return bytes(found)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _end(process: asyncio.subprocess.Process) -> None:
    """With whatever it started: nothing goes on after its answer, or its time."""
    _kill(process)
    process._transport.close()  # type: ignore[attr-defined]  # nothing else closes the pipes
    await process.wait()


def _read(said: bytes, name: str, *, is_json: bool) -> JsonValue:
    """What a program printed: JSON where it looks so, or where a path into it was named; else a
    text.
    """
    text = said.decode("utf-8", "replace").strip()
    if text == "null" or text[:1] in ("{", "[") or (is_json and text):
        try:
            found: JsonValue = json.loads(text)
        except (ValueError, RecursionError) as error:
            if is_json or _JSON.match(text):
                raise NoAnswer(
                    "it printed JSON that cannot be read ({reason}): {said}",
                    model=name,
                    reason=str(error),
                    said=text[:_LONGEST_SHOWN],
                ) from error
        else:
            return found
    return text


def _tail(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip()[-_LONGEST_SHOWN:]


@light_dataclass(frozen=True, kw_only=True)
class HttpCall:
    """How an endpoint is asked."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str]
    body: JsonValue = None
    """JSON with places; None: the row itself."""


class HttpTarget(Target):
    """An HTTP endpoint that answers in JSON. ``$VARIABLE`` in a header is that environment
    variable; what a row says is escaped in the address.
    """

    def __init__(self, asked: HttpCall, *, name: str, paths: AnswerPaths) -> None:
        super().__init__(name, paths)
        self.asked = asked
        self._headers = Headers.of(asked.headers)

    @property
    def identity(self) -> str:
        return f"{self.asked.method} {without_secrets(self.asked.url)}"

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*places_in(self.asked.url), *places_in(self.asked.body))))

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        row = row_in(request)
        in_address = {name: quote(_plain(value), safe="") for name, value in row.items()}
        endpoint = Endpoint(
            "",
            self.name,
            filled_text(self.asked.url, in_address),
            self._headers.over({"Content-Type": "application/json"}),
            private=self._headers.secrets,
            hints=_HINTS,
            any_json=True,
        )
        if self.asked.method == "GET":
            return self.reply(await get_json(endpoint), started)
        body = row if self.asked.body is None else filled(self.asked.body, row)
        if not isinstance(body, Mapping):
            raise SetupError("the body of {name} must be a JSON object", name=self.name)
        return self.reply(await post_json(endpoint, body), started)


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class FunctionTarget(Target):
    """A function of one's own, sync or async: it takes the fields by their names, or the row as a
    mapping, and returns a text, a mapping or messages.
    """

    def __init__(
        self, function: Callable[..., object], *, name: str, reference: str, paths: AnswerPaths
    ) -> None:
        super().__init__(name, paths)
        self._function = function
        self._reference = reference

    @property
    def identity(self) -> str:
        return f"function {self._reference}{self.version}"

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The parameters that must be fields; none of a function that takes the row."""
        named = [
            one
            for one in inspect.signature(self._function).parameters.values()
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        ]
        needed = tuple(one.name for one in named if one.default is one.empty)
        return () if needed in (("row",), ("example",), ("inputs",)) else needed

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        row = row_in(request)
        by_name = {name: row[name] for name in self.fields if name in row}
        try:
            if self.fields and len(by_name) == len(self.fields):
                said = await call(lambda: self._function(**by_name))
            else:
                said = await call(self._function, dict(row))
        except ModelError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(
                "{kind}: {error}", model=self.name, kind=type(error).__name__, error=str(error)
            ) from error
        return self.reply(_returned(said, self.name), started)


def _returned(said: object, name: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(json.dumps(said))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            "the function returned {kind}, not a text, a mapping or messages",
            model=name,
            kind=type(said).__name__,
        ) from error
    return found
