"""The three kinds of applications: a command, an endpoint, a Python function."""

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
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.headers import Headers, header_marks
from adjudge.core.gateway.http import Endpoint, get_json, post_json
from adjudge.core.gateway.redaction import MARK, slow_hash, without_secrets
from adjudge.core.gateway.targets.answer import AnswerPaths, NoAnswer
from adjudge.core.gateway.targets.target import Target
from adjudge.core.reading.places import Row, fill, fill_text, places_in
from adjudge.errors import ModelError, SetupError, Unavailable
from adjudge.messages import Message

_LONGEST_OUTPUT = 10_000_000
_LONGEST_SHOWN = 500
# Seconds to wait for the remaining output of a program that has ended.
_GRACE = 1.0
# Start of JSON. A text like "[1] says so" does not match.
_JSON = re.compile(r'\{\s*"|\[\s*[{"]')
_HINTS: Mapping[int, Message] = {
    401: Message("check the headers of the target"),
    403: Message("check the headers of the target"),
    404: Message("check the url of the target"),
    405: Message("check the method of the target"),
    413: Message("the row is too long for this target"),
}
# The exit code by which a command says that it may work later (EX_TEMPFAIL).
_TRY_AGAIN = 75


def row_in(request: Request) -> Row:
    """Return the row that a request carries."""
    row: Row = json.loads(request.prompt.text)
    return row


def split_command(command: str | Sequence[str]) -> list[str]:
    """Return a program and its arguments; raise a SetupError if there is none."""
    try:
        arguments = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise SetupError(
            "the command {command!r} cannot be read: {reason}",
            command=str(command),
            reason=str(error),
        ) from error
    if not arguments:
        raise SetupError("the command is empty")
    return arguments


class CommandTarget(Target):
    """A program that reads a row as JSON on its standard input, or takes its fields as arguments,
    and prints its answer: a text, or JSON.

    No shell sees the text of a row. An exit code other than 0 is a failure; after 75 the program is
    tried again.
    """

    def __init__(
        self, command: str | Sequence[str], *, name: str, folder: Path, paths: AnswerPaths
    ) -> None:
        super().__init__(name, paths)
        self.arguments = split_command(command)
        self.folder = folder

    @property
    def address(self) -> str:
        return f"command {json.dumps(self.arguments, ensure_ascii=False)}"

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(places_in(self.arguments)))

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        row = row_in(request)
        arguments = [fill_text(argument, row) for argument in self.arguments]
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self.folder,
                # Bytecode that came with the folder may differ from the source that the user has
                # read.
                env={"PYTHONPYCACHEPREFIX": str(cache_folder() / "bytecode"), **os.environ},
                # Its own process group, so that _kill reaches its children, too.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ModelError(
                "the command cannot be started: {reason}", model=self.name, reason=str(error)
            ) from error
        try:
            output, errors = await _communicate(process, request.prompt.text.encode())
        finally:
            await end_process(process)
        if process.returncode:
            kind = Unavailable if process.returncode == _TRY_AGAIN else ModelError
            raise kind(
                "the command ended with {code}: {errors}",
                model=self.name,
                code=process.returncode,
                errors=errors.decode("utf-8", "replace").strip()[-_LONGEST_SHOWN:]
                or Message("no error output"),
            )
        return self.reply(
            read_output(output, self.name, is_json=self.paths.answer is not None), started
        )


async def _communicate(process: asyncio.subprocess.Process, sent: bytes) -> tuple[bytes, bytes]:
    """Feed the program its input, and return its output and errors, read up to a limit."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the process has no pipes")

    async def feed(pipe: asyncio.StreamWriter) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(sent)
            await pipe.drain()
        pipe.close()

    reading = asyncio.gather(
        _read_limited(process.stdout), _read_limited(process.stderr), feed(process.stdin)
    )
    try:
        while not reading.done():
            await asyncio.wait((reading,), timeout=_GRACE)
            if not reading.done() and process.returncode is not None:
                # The program has ended, but a child of it keeps the pipes open.
                _kill(process)  # it has ended, and a child of its keeps the pipes open
        output, errors, *_ = await reading
        await process.wait()
    finally:
        reading.cancel()
    return output, errors


async def _read_limited(pipe: asyncio.StreamReader) -> bytes:
    output = bytearray()
    while piece := await pipe.read(65_536):
        output += piece
        if len(output) > _LONGEST_OUTPUT:
            raise ModelError(
                "the command printed more than {most} MB", most=_LONGEST_OUTPUT // 1_000_000
            )
    return bytes(output)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill the program and its children: nothing goes on after its answer, or its time."""
    _kill(process)
    # nothing else closes the pipes
    process._transport.close()  # type: ignore[attr-defined]
    await process.wait()


def read_output(output: bytes, name: str, *, is_json: bool) -> JsonValue:
    """Return a program's output: JSON if it looks like it or a path into it was given, else a text.

    Raise NoAnswer for JSON that cannot be read.
    """
    text = output.decode("utf-8", "replace").strip()
    if text == "null" or text[:1] in ("{", "[") or (is_json and text):
        try:
            data: JsonValue = json.loads(text)
        except (ValueError, RecursionError) as error:
            if is_json or _JSON.match(text):
                raise NoAnswer(
                    "it printed JSON that cannot be read ({reason}): {said}",
                    model=name,
                    reason=str(error),
                    said=text[:_LONGEST_SHOWN],
                ) from error
        else:
            return data
    return text


@light_dataclass(frozen=True, kw_only=True)
class HttpCall:
    """The request to an endpoint."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str]
    body: JsonValue = None
    """JSON with places; None: the row itself."""


class HttpTarget(Target):
    """An HTTP endpoint that answers in JSON.

    ``$VARIABLE`` in a header is that environment variable. Texts of a row are escaped in the
    address.
    """

    def __init__(self, http_call: HttpCall, *, name: str, paths: AnswerPaths) -> None:
        super().__init__(name, paths)
        self.http_call = http_call
        self._headers = Headers.of(http_call.headers)
        self._marks = header_marks(http_call.headers)

    @property
    def address(self) -> str:
        return f"{self.http_call.method} {without_secrets(self.http_call.url)}"

    @property
    def request_settings(self) -> JsonDict:
        call = self.http_call
        hides_part = without_secrets(call.url) != call.url
        return {
            "body": call.body,
            "headers": self._marks or None,
            "url": slow_hash(call.url)[:MARK] if hides_part else None,
        }

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys((*places_in(self.http_call.url), *places_in(self.http_call.body)))
        )

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        row = row_in(request)
        in_address = {
            name: quote(
                value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), safe=""
            )
            for name, value in row.items()
        }
        endpoint = Endpoint(
            "",
            self.name,
            fill_text(self.http_call.url, in_address),
            self._headers.over({"Content-Type": "application/json"}),
            private=self._headers.secrets,
            hints=_HINTS,
            any_json=True,
        )
        if self.http_call.method == "GET":
            return self.reply(await get_json(endpoint), started)
        body = row if self.http_call.body is None else fill(self.http_call.body, row)
        if not isinstance(body, Mapping):
            raise SetupError("the body of {name} must be a JSON object", name=self.name)
        return self.reply(await post_json(endpoint, body), started)


class FunctionTarget(Target):
    """A Python function, sync or async.

    It takes the fields by their names, or the row as a mapping, and returns a text, a mapping or
    messages.
    """

    def __init__(
        self, function: Callable[..., object], *, name: str, reference: str, paths: AnswerPaths
    ) -> None:
        super().__init__(name, paths)
        self._function = function
        self._reference = reference

    @property
    def address(self) -> str:
        return f"function {self._reference}"

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Parameters that must be fields; none if the function takes the row."""
        parameters = [
            parameter
            for parameter in inspect.signature(self._function).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        needed = tuple(
            parameter.name for parameter in parameters if parameter.default is parameter.empty
        )
        return () if needed in (("row",), ("example",), ("inputs",)) else needed

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        row = row_in(request)
        by_name = {name: row[name] for name in self.fields if name in row}
        try:
            if self.fields and len(by_name) == len(self.fields):
                output = await call(lambda: self._function(**by_name))
            else:
                output = await call(self._function, dict(row))
        except ModelError:
            raise
        # A user's function may call sys.exit.
        except (Exception, SystemExit) as error:
            raise ModelError(
                "{kind}: {error}", model=self.name, kind=type(error).__name__, error=str(error)
            ) from error
        return self.reply(_to_json_value(output, self.name), started)


def _to_json_value(output: object, name: str) -> JsonValue:
    try:
        # A round trip, so that only JSON values get through: tuples become lists.
        data: JsonValue = json.loads(json.dumps(output))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            "the function returned {kind}, not a string, a mapping or messages",
            model=name,
            kind=type(output).__name__,
        ) from error
    return data
