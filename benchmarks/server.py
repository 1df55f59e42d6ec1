"""A chat-completions server that costs next to nothing: one process, loopback, a fixed verdict for
each record.

python benchmarks/server.py LATENCY_MS      prints its port
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_MARK = re.compile(rb"REC-(\d+)-([YN])")


def _answer(body: bytes) -> bytes:
    yes = _MARK.findall(body)[-1][1] == b"Y"
    content = json.dumps(
        {"explanation": "The text decides.", "selected_option": "PASS" if yes else "FAIL"}
    )
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 12}
    payload = json.dumps(
        {"id": "x", "model": "bench", "choices": [choice], "usage": usage}
    ).encode()
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(payload)
        + payload
    )


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


async def main(latency: float) -> None:
    server = await asyncio.start_server(lambda r, w: _serve(r, w, latency), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) / 1000))
