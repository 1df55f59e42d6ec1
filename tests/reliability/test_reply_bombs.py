"""Replies without end or measure: each is a failed vote with a clear reason, within its time and
300 MB of memory.

``ADJUDGE_BOMBS=all`` drops every bomb, also 32 at once (``make test-reliability``).
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from support.raw_server import RawServer, answer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
ALL = os.environ.get("ADJUDGE_BOMBS") == "all"
LIMIT = 300
"""Megabytes of the whole process, the library included."""
MEGABYTE = b"x" * 1_000_000
CHILD = """
import json, sys
from pathlib import Path
from adjudge import AspectCritic, open_model
url, count, timeout = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
model = open_model(f"{url}/v1#m", max_retries=0, timeout=timeout)
critic = AspectCritic("It is so.", model, max_repairs=1)
results = critic.evaluate([f"text {number}" for number in range(count)])
reasons = [vote.reason for result in results for vote in result.votes]
scores = [result.score for result in results]
# not getrusage: that counts what the process was forked from
status = Path("/proc/self/status").read_text()
peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
json.dump({"reasons": reasons, "scores": scores, "peak": peak}, sys.stdout)
"""


def head(*headers: str, status: str = "200 OK") -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "")).encode()


def endless(start: bytes, piece: bytes) -> Iterator[bytes]:
    return itertools.chain([start], itertools.repeat(piece))


def slowly(start: bytes, piece: bytes) -> Iterator[bytes]:
    yield start
    while True:
        time.sleep(0.02)
        yield piece


@cache
def squeezed(wbits: int) -> bytes:
    """Three hundred megabytes of one character."""
    packer = zlib.compressobj(1, wbits=wbits)
    return b"".join(packer.compress(MEGABYTE) for _ in range(300)) + packer.flush()


def chat(content: str) -> bytes:
    return answer(
        json.dumps({"choices": [{"message": {"content": content}}]}, ensure_ascii=False).encode()
    )


def verdict(explanation: str) -> bytes:
    return chat(
        json.dumps({"explanation": explanation, "selected_option": "PASS"}, ensure_ascii=False)
    )


def many(piece: bytes) -> bytes:
    """A list that fills what may be read."""
    return answer(
        b'{"choices": [' + piece * (31_000_000 // len(piece)) + piece.rstrip(b",") + b"]}"
    )


@dataclass(frozen=True)
class Bomb:
    """What is sent, and what the vote then says; a reply that is long and good is scored."""

    sent: Callable[[], Iterable[bytes]]
    reason: str | None
    timeout: float = 60
    short: bool = False
    """Dropped in ``make test`` too."""


LONG = "the reply is longer than 32 MB"
TWICE = "compressed more than once"
LATE = "no reply within"
NO_HTTP = "not valid HTTP"
BOMBS = {
    "endless body": Bomb(lambda: endless(head(), MEGABYTE), LONG, short=True),
    "endless chunks": Bomb(
        lambda: endless(head("Transfer-Encoding: chunked"), b"f4240\r\n" + MEGABYTE + b"\r\n"), LONG
    ),
    "a huge length": Bomb(lambda: endless(head("Content-Length: 99999999999"), MEGABYTE), LONG),
    "endless error": Bomb(lambda: endless(head(status="500 X"), MEGABYTE), LONG),
    "gzip": Bomb(lambda: [answer(squeezed(31), "Content-Encoding: gzip\r\n")], LONG, short=True),
    "deflate": Bomb(lambda: [answer(squeezed(15), "Content-Encoding: deflate\r\n")], LONG),
    "raw deflate": Bomb(lambda: [answer(squeezed(-15), "Content-Encoding: deflate\r\n")], LONG),
    "gzip in an error": Bomb(
        lambda: [answer(squeezed(31), "Content-Encoding: gzip\r\n", "429 X")], LONG
    ),
    "gzip in gzip": Bomb(
        lambda: [answer(gzip.compress(squeezed(31)), "Content-Encoding: gzip, gzip\r\n")], TWICE
    ),
    "gzip in two headers": Bomb(
        lambda: [
            answer(
                gzip.compress(squeezed(31)), "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"
            )
        ],
        TWICE,
    ),
    "many gzips": Bomb(
        lambda: endless(head("Content-Encoding: gzip"), gzip.compress(MEGABYTE)), LONG
    ),
    "endless empty gzips": Bomb(
        lambda: endless(head("Content-Encoding: gzip"), gzip.compress(b"") * 1000),
        "decompressed|" + LATE,
        3,
    ),
    "endless header": Bomb(
        lambda: endless(b"HTTP/1.1 200 OK\r\nX: ", MEGABYTE),
        "headers .* too long|" + NO_HTTP,
        short=True,
    ),
    "endless headers": Bomb(
        lambda: endless(b"HTTP/1.1 200 OK\r\n", b"X-A: y\r\n" * 10_000),
        "headers .* too long|" + NO_HTTP,
    ),
    "endless status": Bomb(
        lambda: endless(b"HTTP/1.1 200 ", MEGABYTE), "headers .* too long|" + NO_HTTP
    ),
    "endless line breaks": Bomb(lambda: endless(b"", b"\r\n" * 100_000), f"{LATE}|{NO_HTTP}", 3),
    "endless early hints": Bomb(
        lambda: endless(b"", head("X: y", status="103 X") * 1000), f"{LATE}|{NO_HTTP}", 3
    ),
    "endless trailers": Bomb(
        lambda: endless(
            head("Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 10_000
        ),
        f"{LATE}|{NO_HTTP}|headers .* too long|no reply in it|broke off",
        3,
    ),
    "endless chunk extension": Bomb(
        lambda: endless(head("Transfer-Encoding: chunked") + b"2;", MEGABYTE),
        f"{LATE}|{NO_HTTP}|broke off",
        3,
    ),
    "more after the end": Bomb(lambda: endless(chat("Who knows?"), MEGABYTE), ".", 10),
    "one byte at a time": Bomb(
        lambda: slowly(head("Content-Length: 100000"), b"x"), LATE, 2, short=True
    ),
    "a header at a time": Bomb(lambda: slowly(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"), LATE, 1),
    "many lists": Bomb(lambda: [many(b"[],")], "more than 1,000,000 values", short=True),
    "many objects": Bomb(lambda: [many(b'{"":0},')], "more than 1,000,000 values"),
    "many numbers": Bomb(lambda: [many(b"1.5,")], "more than 1,000,000 values"),
    "deep lists": Bomb(lambda: [answer(b"[" * 900_000)], "not JSON"),
    "a long number": Bomb(lambda: [answer(b'{"choices": ' + b"9" * 31_000_000 + b"}")], "not JSON"),
    "all escapes": Bomb(lambda: [answer(b'"' + rb"\u0041" * 5_000_000 + b'"')], "not an object"),
    "a long reply": Bomb(lambda: [verdict("x" * 31_000_000)], None),
    "a long reply with a wide character": Bomb(lambda: [verdict("x" * 30_000_000 + "я")], None),
    "a long reply with a wider character": Bomb(
        lambda: [verdict("x" * 30_000_000 + "\U0001f600")], "four-byte characters"
    ),
    "half as long": Bomb(lambda: [verdict("x" * 15_000_000 + "\U0001f600")], None),
    "a long reply without a verdict": Bomb(
        lambda: [chat("{[<x> " * 5_000_000)], "more than 1,000,000 values"
    ),
}


def drop(bomb: Bomb, count: int = 1) -> dict[str, Any]:
    """What a program of its own says of it."""
    next(iter(bomb.sent()))  # made once, and not by each connection's thread
    with RawServer(lambda key: bomb.sent()) as server:
        words = [sys.executable, "-c", CHILD, server.url, str(count), str(bomb.timeout)]
        done = subprocess.run(words, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:].decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [name for name, bomb in BOMBS.items() if ALL or bomb.short])
def test_a_reply_without_measure_is_a_failed_vote(name: str) -> None:
    said, reason = drop(BOMBS[name]), BOMBS[name].reason
    print(f"\n{name}: {said['peak']} MB")
    assert said["peak"] < LIMIT
    if reason is None:
        assert said["scores"] == [1.0]
    else:
        assert said["scores"] == [None]
        assert re.search(reason, said["reasons"][0])


@pytest.mark.skipif(not ALL, reason="takes a minute: make test-reliability")
@pytest.mark.parametrize("name", ["endless body", "gzip"])
def test_many_of_them_at_once_stay_within_the_limit(name: str) -> None:
    said = drop(BOMBS[name], 32)
    print(f"\n32 times {name}: {said['peak']} MB")
    assert said["peak"] < LIMIT
    assert said["scores"] == [None] * 32
    assert {LONG in reason for reason in said["reasons"]} == {True}
