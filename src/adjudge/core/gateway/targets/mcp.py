"""An application that is a tool of an MCP server: a program that speaks JSON-RPC over its standard
input and output, a message per line.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from adjudge.core.aio.event_loop import before_leaving
from adjudge.core.aio.files import cache_folder
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.targets.answer import AnswerPaths
from adjudge.core.gateway.targets.target import Target
from adjudge.core.gateway.targets.targets import end_process, read_output, row_in, split_command
from adjudge.core.reading.places import Row, fill, places_in
from adjudge.errors import ModelError, SetupError, Unavailable
from adjudge.messages import Message
from adjudge.version import __version__

_PROTOCOL = "2025-06-18"
_LONGEST_MESSAGE = 10_000_000
_LONGEST_SKIPPED = 20 * _LONGEST_MESSAGE
"""Bytes of a message that is too long: after them the server is ended."""
_MB = 1_000_000
_EDGE = 200
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,')
_ID_LAST = re.compile(rb'\}\s*,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_LONGEST_SHOWN = 500
_MOST_PAGES = 100
_NO_SUCH_METHOD = -32601


class McpTarget(Target):
    """A tool of an MCP server that is started once and answers all requests of a run.

    The row's fields become the arguments that the tool's schema names, or ``body`` says what they
    are. If the server ends, the calls under way fail, and the next call starts it again.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        name: str,
        tool: str | None,
        body: JsonValue,
        folder: Path,
        paths: AnswerPaths,
    ) -> None:
        super().__init__(name, paths)
        self.arguments = split_command(command)
        self.tool, self.body, self.folder = tool, body, folder
        self._servers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Server] = WeakKeyDictionary()
        before_leaving(self._close)

    @property
    def address(self) -> str:
        return f"mcp {json.dumps(self.arguments, ensure_ascii=False)}"

    @property
    def request_settings(self) -> JsonDict:
        return {"tool": self.tool, "body": self.body}

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(places_in(self.body)))

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        loop = asyncio.get_running_loop()
        server = self._servers.setdefault(loop, _Server(self.arguments, self.folder, self.name))
        tools = await server.tools()
        tool = self._tool(tools)
        arguments = self._arguments(row_in(request), tool, tools[tool])
        result = await server.ask("tools/call", {"name": tool, "arguments": arguments})
        return self.reply(_output_of(result, self), started)

    def _tool(self, tools: Mapping[str, JsonObject]) -> str:
        """Return the tool's name; if there is just one, it need not be named."""
        if self.tool in tools:
            return str(self.tool)
        if self.tool is None and len(tools) == 1:
            return next(iter(tools))
        raise SetupError(
            "the target {name} must name a tool of the MCP server; available: {tools}",
            name=self.name,
            tools=", ".join(tools) or Message("none"),
        )

    def _arguments(self, row: Row, tool: str, schema: JsonObject) -> JsonObject:
        if self.body is not None:
            arguments = fill(self.body, row)
            if not isinstance(arguments, Mapping):
                raise SetupError("the body of {name} must be a JSON object", name=self.name)
            return arguments
        properties = object_in(schema.get("properties"))
        arguments = {name: row[name] for name in properties if name in row}
        required = schema.get("required")
        needed = required if isinstance(required, Sequence) else ()
        if missing := [str(name) for name in needed if name not in arguments]:
            raise SetupError(
                "the tool {tool} needs {missing}: add them to the target's body, with fields of "
                "the row in braces",
                tool=tool,
                missing=", ".join(missing),
            )
        if not arguments:
            raise SetupError(
                "the tool {tool} takes no field of the row: write its arguments in the target's "
                "body, with fields of the row in braces",
                tool=tool,
            )
        return arguments

    async def _close(self) -> None:
        server = self._servers.pop(asyncio.get_running_loop(), None)
        if server is not None:
            await server.end()


def _output_of(result: JsonObject, target: McpTarget) -> JsonValue:
    """Return a tool's structured output, else its text, parsed if it looks like JSON."""
    content = result.get("content")
    parts = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    texts = [part["text"] for part in parts if isinstance(part, Mapping) and "text" in part]
    text = "\n".join(map(str, texts))
    if result.get("isError"):
        raise ModelError(
            "the tool reported an error: {text}",
            model=target.name,
            text=text[:_LONGEST_SHOWN] or Message("no reason given"),
        )
    structured = result.get("structuredContent")
    if isinstance(structured, Mapping):
        return structured
    return read_output(text.encode(), target.name, is_json=target.paths.answer is not None)


class _Server:
    """One process of an MCP server, for one event loop."""

    def __init__(self, arguments: Sequence[str], folder: Path, name: str) -> None:
        self._arguments, self._folder, self._name = arguments, folder, name
        self._process: asyncio.subprocess.Process | None = None
        self._tools: Mapping[str, JsonObject] = {}
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._numbers = count(1)
        self._starting = asyncio.Lock()
        self._readers: list[asyncio.Task[None]] = []
        self._errors = b""

    async def tools(self) -> Mapping[str, JsonObject]:
        """Start the server unless it runs; return name → input schema of its tools."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                await self.end()
                try:
                    await self._start()
                except BaseException:
                    # also if the time for an answer is over: half a server is no server
                    await self.end()
                    raise
            return self._tools

    async def _start(self) -> None:
        self._errors = b""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._folder,
                env={"PYTHONPYCACHEPREFIX": str(cache_folder() / "bytecode"), **os.environ},
                limit=_LONGEST_MESSAGE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ModelError(
                "the MCP server cannot be started: {reason}", model=self._name, reason=str(error)
            ) from error
        self._process = process
        self._readers = [
            asyncio.create_task(self._read(process)),
            asyncio.create_task(self._read_errors(process)),
        ]
        client: JsonDict = {"name": "adjudge", "version": __version__}
        await self.ask(
            "initialize",
            {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client},
        )
        await self._send({"method": "notifications/initialized"})
        self._tools = await self._list_tools()

    async def _list_tools(self) -> dict[str, JsonObject]:
        tools: dict[str, JsonObject] = {}
        cursor: JsonDict = {}
        for _ in range(_MOST_PAGES):
            result = await self.ask("tools/list", cursor)
            listed = result.get("tools")
            for tool in listed if isinstance(listed, Sequence) else ():
                entry = object_in(tool)
                tools[str(entry.get("name"))] = object_in(entry.get("inputSchema"))
            following = result.get("nextCursor")
            if not following:
                break
            cursor = {"cursor": following}
        return tools

    async def ask(self, method: str, parameters: JsonObject) -> JsonObject:
        """Send a request and return its result. If the caller stops waiting, notify the server."""
        number = next(self._numbers)
        future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._send({"id": number, "method": method, "params": parameters})
            return await future
        except asyncio.CancelledError:
            with suppress(ModelError):  # the server has ended
                await self._send(
                    {
                        "method": "notifications/cancelled",
                        "params": {"requestId": number, "reason": "timeout"},
                    }
                )
            raise
        finally:
            self._waiting.pop(number, None)

    async def _send(self, message: JsonObject) -> None:
        pipe = self._process.stdin if self._process else None
        if pipe is None or pipe.is_closing():
            raise self._ended()
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        try:
            pipe.write(line.encode("utf-8", "replace") + b"\n")
            await pipe.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise self._ended() from None

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Hand each message to the request that waits for it, until the server ends."""
        if process.stdout is None:
            raise RuntimeError("the process has no pipes")
        with suppress(ModelError):  # no reader of our reply
            while True:
                try:
                    line = await process.stdout.readuntil(b"\n")
                except asyncio.LimitOverrunError:
                    if await self._skip(process.stdout):
                        continue
                    break
                except asyncio.IncompleteReadError as ending:
                    await self._take(ending.partial)
                    break
                await self._take(line)
        with suppress(asyncio.TimeoutError):
            # its last words come by another pipe
            await asyncio.wait_for(process.wait(), 1.0)
        await end_process(process)
        error = self._ended()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)

    async def _skip(self, pipe: asyncio.StreamReader) -> bool:
        """Read a message that is too long to its end, and fail the request that it answers, or all
        that wait if it does not say which. Return False if it has no end.
        """
        head, tail, size = b"", b"", 0
        while not tail.endswith(b"\n"):
            try:
                piece = await pipe.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                piece = await pipe.read(error.consumed)
            except asyncio.IncompleteReadError:
                return False
            size += len(piece)
            head, tail = (head + piece)[:_EDGE], (tail + piece)[-_EDGE:]
            if size > _LONGEST_SKIPPED:
                break
        place = _ID_FIRST.match(head) or _ID_LAST.search(tail)
        numbers = [int(place[1])] if place else [*self._waiting]
        for number in numbers:
            future = self._waiting.get(number)
            if future is not None and not future.done():
                future.set_exception(
                    ModelError(
                        "the reply has {size} MB; at most {most} MB are read",
                        model=self._name,
                        size=f"{size / _MB:.1f}",
                        most=_LONGEST_MESSAGE // _MB,
                    )
                )
        return size <= _LONGEST_SKIPPED

    async def _take(self, line: bytes) -> None:
        try:
            message = object_in(json.loads(line))
        except (ValueError, RecursionError):  # a print of the server among its messages
            return
        number = message.get("id")
        if "method" in message:
            if number is not None:
                await self._send({"id": number, **_reply_to(str(message["method"]))})
            return
        future = self._waiting.get(number) if isinstance(number, int) else None
        if future is None or future.done():
            return
        if "error" in message:
            error = object_in(message["error"])
            future.set_exception(
                ModelError(
                    "the MCP server rejected the request: {reason}",
                    model=self._name,
                    reason=str(error.get("message", error))[:_LONGEST_SHOWN],
                )
            )
        else:
            future.set_result(object_in(message.get("result")))

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        """Keep the end of what the server prints to its standard error."""
        if process.stderr is None:
            raise RuntimeError("the process has no pipes")
        while piece := await process.stderr.read(65_536):
            self._errors = (self._errors + piece)[-_LONGEST_SHOWN * 4 :]

    def _ended(self) -> Unavailable:
        code = self._process.returncode if self._process else None
        return Unavailable(
            "the MCP server exited with code {code}: {errors}",
            model=self._name,
            code=Message("unknown") if code is None else code,
            errors=self._errors.decode("utf-8", "replace").strip()[-_LONGEST_SHOWN:]
            or Message("no error output"),
        )

    async def end(self) -> None:
        """End the process and its children."""
        process, self._process = self._process, None
        readers, self._readers = self._readers, []
        if process is not None:
            await end_process(process)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)


def _reply_to(method: str) -> dict[str, Any]:
    """Return the answer to a request of the server: we offer it nothing but a sign of life."""
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": _NO_SUCH_METHOD, "message": f"adjudge does not offer {method}"}}
