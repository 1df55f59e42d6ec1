"""An MCP server with the bot of ``bot_script`` as its tool: ``python mcp_bot.py FOLDER [FAULT]``.

It writes each message that it gets to FOLDER/log.jsonl. At the user's third message FAULT happens
once: ``die``, ``hang``, ``refuse``, ``huge`` (more than is read), or ``noise`` (a print and a
request of its own before the answer). With ``optional`` its tool needs no argument.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from features.conversations.bot_script import Bot

TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": TEXT,
        "messages": {"type": "array"},
        **dict.fromkeys(("session", "turn_key"), TEXT),
        "turn": {"type": "integer"},
    },
    "required": ["message", "messages"],
}
CHAT = {"name": "chat", "description": "Answers a customer.", "inputSchema": SCHEMA}


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def fault_of(log: Path, turn: object, fault: str) -> str:
    """Return the fault if it is due; it happens once in all processes."""
    mark = log.with_suffix(".fault")
    if turn != 3 or fault == "none" or mark.exists():
        return ""
    mark.write_text(str(os.getpid()))
    return fault


def answer(bot: Bot, log: Path, fault: str, arguments: dict[str, Any]) -> dict[str, Any]:
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**arguments, "pid": os.getpid()}, ensure_ascii=False) + "\n")
    match fault_of(log, arguments.get("turn"), fault):
        case "die":
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(3)
        case "hang":
            time.sleep(60)
        case "refuse":
            return {"isError": True, "content": [{"type": "text", "text": "no more orders"}]}
        case "huge":
            return {"content": [{"type": "text", "text": "x" * 12_000_000}]}
        case "noise":
            print("Loading the model …", flush=True)
            say({"id": "mine", "method": "sampling/createMessage", "params": {}})
    reply = bot.answer({"turn_key": time.time_ns(), "session": "", **arguments}, idempotent=True)
    return {"content": [{"type": "text", "text": reply["response"]}], "structuredContent": reply}


def main() -> None:
    bot, log = Bot(), Path(sys.argv[1], "log.jsonl")
    fault = sys.argv[2] if len(sys.argv) > 2 else "none"
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case "initialize":
                result: dict[str, Any] = {
                    "protocolVersion": request["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "bot", "version": "1"},
                }
            case "tools/list":
                if fault == "optional":
                    SCHEMA["required"] = []
                result = {"tools": [CHAT]}
            case "tools/call":
                result = answer(bot, log, fault, request["params"]["arguments"])
            case _:
                continue
        say({"id": request["id"], "result": result})


if __name__ == "__main__":
    main()
