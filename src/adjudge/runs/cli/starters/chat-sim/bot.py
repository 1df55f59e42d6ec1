"""A small shop assistant with tools, to talk to: python bot.py

It keeps nothing between requests: every request holds the whole conversation. It asks for the order
and the e-mail address, confirms before it changes anything, and says which tools it called.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

ORDERS = {
    "4711": {"email": "ann@example.com", "status": "sent", "address": "1 Old Street"},
    "4712": {"email": "bob@example.com", "status": "packed", "address": "2 Old Street"},
    "4713": {"email": "cleo@example.com", "status": "delivered", "address": "3 Old Street"},
}
TASKS = {
    "cancel": "cancel_order",
    "money back": "refund",
    "refund": "refund",
    "address": "change_address",
}
YES = re.compile(r"\b(yes|please do|go ahead|sure)\b", re.IGNORECASE)


def reply(messages: list[dict[str, str]], careless: bool = False) -> dict[str, object]:
    """Answer the last message. ``careless``: change orders without asking for the address."""
    said = [one["content"] for one in messages if one["role"] == "user"]
    text = "\n".join(said)
    orders = json.loads(json.dumps(ORDERS))
    numbers = [one for one in re.findall(r"\b\d{4}\b", text) if one in orders]
    task = next((tool for word, tool in TASKS.items() if word in text.casefold()), None)
    asked = [one["content"] for one in messages if one["role"] == "assistant"]
    state = {"orders": orders}
    if task is None:
        return {"response": "How can I help you with your order?", "state": state}
    if not numbers:
        return {"response": "What is your order number?", "state": state}
    number = numbers[0]
    order = orders[number]
    calls = [{"name": "get_order", "arguments": {"order": number}, "result": order}]
    if not careless and order["email"] not in text:
        return {
            "response": "Which email address is the order under?",
            "tool_calls": calls,
            "state": state,
        }
    arguments = {"order": number}
    if task == "change_address":
        found = re.search(r"\b\d+ (?!Old)[A-Z]\w+ (?:Road|Street)\b", text)
        if not found:
            return {"response": "What is the new address?", "tool_calls": calls, "state": state}
        arguments["address"] = found[0]
    question = f"Shall I do this for order {number}: {task.replace('_', ' ')}?"
    confirmed = any(
        one["role"] == "assistant" and one["content"] == question and YES.search(answer["content"])
        for one, answer in pairwise(messages)
    )
    if not confirmed:
        return {"response": question, "tool_calls": calls, "state": state}
    order |= {
        "cancel_order": {"status": "cancelled"},
        "refund": {"status": "refunded"},
        "change_address": {"address": arguments.get("address", "")},
    }[task]
    calls.append({"name": task, "arguments": arguments, "result": "done"})
    done = f"It is done for order {number}. Is there anything else I can help you with?"
    return {"response": done, "tool_calls": [] if done in asked else calls, "state": state}


def chat(messages: list[dict[str, str]]) -> dict[str, object]:
    """Answer without a server: function: bot.py:chat."""
    return reply(messages)


def careless(messages: list[dict[str, str]]) -> dict[str, object]:
    """Like chat, but without asking who the user is."""
    return reply(messages, careless=True)


class Bot(BaseHTTPRequestHandler):
    """POST /chat {"messages": […]} → {"response": …, "tool_calls": […], "state": {…}}"""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(reply(body["messages"], self.path == "/careless")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8765
    sys.stdout.write(f"http://127.0.0.1:{port}/chat\n")
    ThreadingHTTPServer(("127.0.0.1", port), Bot).serve_forever()
