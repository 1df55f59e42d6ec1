"""A chat-completions server that costs next to nothing: one process, loopback, a fixed verdict for
each record. Who asks by a tool, as other frameworks do, is answered by its schema.

python benchmarks/server.py LATENCY_MS      prints its port
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_MARK = re.compile(rb"REC-(\d+)-([YN])")
_IDS = count()
"""As real servers do: replies of one id cannot be told apart, and cost a connection each."""


def _answer(body: bytes) -> bytes:
    yes = _MARK.findall(body)[-1][1] == b"Y"
    message: dict[str, object] = {"role": "assistant", "content": None}
    if b'"tools":' in body:
        tool = json.loads(body)["tools"][0]["function"]
        called = {"name": tool["name"], "arguments": _filled(tool["parameters"], yes=yes)}
        message["tool_calls"] = [{"id": "x", "type": "function", "function": called}]
    elif b"selected_option" in body:
        said = {"explanation": "The text decides.", "selected_option": "PASS" if yes else "FAIL"}
        message["content"] = json.dumps(said)
    else:
        schema = json.loads(body)["response_format"]["json_schema"]["schema"]
        message["content"] = _filled(schema, yes=yes)
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 12}
    payload = json.dumps(
        {"id": f"x{next(_IDS)}", "model": "bench", "choices": [choice], "usage": usage}
    ).encode()
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(payload)
        + payload
    )


def _filled(schema: dict[str, dict[str, dict[str, object]]], *, yes: bool) -> str:
    """An object of that schema: of two options the first is a yes."""
    return json.dumps({name: _value(kind, yes) for name, kind in schema["properties"].items()})


def _value(kind: dict[str, object], yes: bool) -> object:
    match kind:
        case {"enum": [first, second, *_]}:
            return first if yes else second
        case {"type": "boolean"}:
            return yes
        case {"type": "number" | "integer"}:
            return int(yes)
    return "The text decides."


async def _serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency: float
) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            found = _LENGTH.search(head)
            body = await reader.readexactly(int(found.group(1)) if found else 0)
            await asyncio.sleep(latency)
            writer.write(_answer(body))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


@contextmanager
def running(latency: int) -> Iterator[str]:
    """The address of a server that takes so many milliseconds."""
    server = subprocess.Popen([sys.executable, __file__, str(latency)], stdout=subprocess.PIPE)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.terminate()
        server.wait()


async def main(latency: float) -> None:
    server = await asyncio.start_server(lambda r, w: _serve(r, w, latency), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) / 1000))
