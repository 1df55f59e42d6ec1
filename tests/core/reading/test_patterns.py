"""The process that matches regular expressions does not outlive the one that asked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

import pytest

from adjudge.core.reading import matching, patterns
from adjudge.core.reading.patterns import CannotMatch, find_all
from support.asking import wait_until

SLOW, TEXT = "(a+)+$", "a" * 60 + "!"
WAITS = f"""
import json
from adjudge.core.reading.patterns import _matcher
matcher = _matcher()
matcher.ask('["a", 0, ["a"], true, 1]', 5)
print(matcher._process.pid, flush=True)
matcher.ask(json.dumps([{SLOW!r}, 0, [{TEXT!r}], True, 1]), 600)
"""
in_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


def cpu_seconds(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(stat[11]) / os.sysconf("SC_CLK_TCK")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def busy() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that waits for a match without end, and the pid of the one that matches."""
    with subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True) as own:
        assert own.stdout is not None
        worker = int(own.stdout.readline())
        assert wait_until(lambda: cpu_seconds(worker) > 0.2)
        yield own, worker
        own.kill()
        with suppress(ProcessLookupError):
            os.kill(worker, SIGKILL)


@in_proc
def test_it_ends_soon_after_its_parent_was_killed(busy: tuple[subprocess.Popen[str], int]) -> None:
    parent, worker = busy
    parent.kill()
    assert wait_until(lambda: not is_running(worker), 2.5)


@in_proc
def test_it_has_a_limit_on_its_cpu_time(busy: tuple[subprocess.Popen[str], int]) -> None:
    """Also if no signal gets through."""
    limits = Path(f"/proc/{busy[1]}/limits").read_text()
    limit = re.search(r"Max cpu time +(\d+)", limits)
    assert limit is not None
    assert patterns.SECONDS < int(limit[1]) <= patterns.SECONDS + 3


@in_proc
def test_the_limit_is_for_each_question() -> None:
    """A worker may use more than that in all."""
    command = [sys.executable, "-I", "-S", str(matching.__file__), "0"]
    slow = '["(a+)+$", 0, ["aaaaaaaaaaaaaaaaaaaaaa!"], true, 1]\n'
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, bufsize=1, **pipes) as worker:  # type: ignore[call-overload]
        assert worker.stdout.readline() == "ready\n"
        while cpu_seconds(worker.pid) < 2.5:
            worker.stdin.write(slow)
            assert worker.stdout.readline() == "[[]]\n"


def test_it_does_not_end_with_the_thread_that_started_it() -> None:
    matcher = patterns._matcher()

    def ask() -> None:
        assert matcher.ask('["a", 0, ["a"], true, 1]', 5) == "[[[0, 1]]]\n"

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert matcher._process is not None
    first = matcher._process.pid
    ask()
    assert matcher._process.pid == first
    matcher.stop()


def test_a_slow_expression_is_stopped_by_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.3)
    with pytest.raises(CannotMatch, match="longer than"):
        find_all(SLOW, 0, TEXT, whole=True)
    assert find_all("a", 0, "bab", whole=False)[0].start == 1
