"""Ctrl-C: what it says, what is still written, and how to resume. Real processes, a real server."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from adjudge.core.gateway.prices import PriceTable
from adjudge.runs.cli.execute import resumable
from adjudge.runs.cli.main import Terminated
from adjudge.runs.cli.watch import ProgressWatch
from support import commands
from support.asking import wait_until
from support.fake_provider import HANGS, KEY, FakeProvider, Hangs, always

ROWS = 30
ASKED = (
    "-f",
    "rows.csv",
    "--criterion",
    "It is short.",
    "-m",
    "openai/gpt-4o-mini",
    "-j",
    "2",
    "--no-cache",
)


@pytest.fixture
def slow() -> Iterator[FakeProvider]:
    """Answers the first rows, then takes its time."""
    with FakeProvider() as provider:
        provider.latency = 0.3
        yield provider


def start(folder: Path, provider: FakeProvider, *words: str) -> commands.Started:
    (folder / "rows.csv").write_text(
        "id,answer\n" + "".join(f"r{n},REC-{n:05}-Y\n" for n in range(ROWS))
    )
    environment = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": provider.base_url("openai"),
    }
    return commands.start(*words, cwd=folder, environment=environment)


def test_what_was_judged_is_written_also_where_no_run_is_kept(
    tmp_path: Path, slow: FakeProvider
) -> None:
    child = start(tmp_path, slow, "check", *ASKED, "-o", "out.csv", "--json")
    assert wait_until(lambda: len(slow.requests) >= 5, 20)
    child.send_signal(signal.SIGINT)
    out, said = child.communicate(timeout=30)
    assert child.returncode == 1, said
    assert "Stopping: no more requests are sent" in said
    assert "With --run FOLDER" in said
    found = json.loads(out)
    assert 3 <= len(found["results"]) < ROWS
    assert found["notes"][0].startswith("Stopped early after ")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == len(found["results"]) == len(slow.requests)


def test_a_second_interrupt_does_not_wait_and_still_writes(
    tmp_path: Path, slow: FakeProvider
) -> None:
    slow.faults = lambda record, attempt: Hangs() if record >= 6 else None
    child = start(tmp_path, slow, "check", *ASKED, "-o", "out.csv")
    assert wait_until(lambda: len(slow.requests) >= 8, 20)
    _interrupt_until_it_says(child, "Stopping: no more requests are sent")
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130, said
    assert "Stopped at once" in said
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8-sig").splitlines()) == 1 + 6


def test_both_interrupts_of_a_kept_run_say_how_to_resume(
    tmp_path: Path, slow: FakeProvider
) -> None:
    slow.faults = lambda record, attempt: Hangs() if record >= 6 else None
    child = start(tmp_path, slow, "check", *ASKED, "--run", "kept", "--language", "ru")
    assert wait_until(lambda: len(slow.requests) >= 8, 20)
    first = _interrupt_until_it_says(child, "Останавливаюсь")
    assert "Продолжить: adjudge resume kept" in first
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130, said
    assert re.search("остановлено сразу.*Продолжить: adjudge resume kept", said)


def test_generate_says_what_it_does_and_how_to_resume_when_it_is_told_to_end(
    tmp_path: Path, slow: FakeProvider
) -> None:
    slow.faults = always(HANGS)
    child = start(
        tmp_path,
        slow,
        "generate",
        "Add 1 and 1.",
        "-m",
        "openai/gpt-4o-mini",
        "--no-cache",
        "--run",
        "kept",
    )
    assert wait_until(lambda: len(slow.requests) >= 1, 20)
    first = _interrupt_until_it_says(child, "Stopping: no more requests are sent", signal.SIGTERM)
    assert "Resume it with: adjudge resume kept" in first
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130, said
    assert (
        "stopped at once: unfinished requests are asked again. Resume it with: adjudge resume "
        "kept" in said
    )


def test_what_timeout_sends_twice_is_one_signal() -> None:
    """Two would cancel what is under way, batches at the provider too."""
    told = Terminated()
    with pytest.raises(KeyboardInterrupt):
        told(signal.SIGTERM, None)
    told(signal.SIGTERM, None)


def test_what_is_stopped_at_once_and_not_kept_says_so() -> None:
    with (
        pytest.raises(click.Abort, match="nothing was kept"),
        resumable(None),
    ):
        raise KeyboardInterrupt


def test_a_spent_budget_without_a_run_loses_nothing_that_was_paid_for(
    tmp_path: Path, slow: FakeProvider
) -> None:
    slow.latency = 0.0
    child = start(tmp_path, slow, "check", *ASKED, "--max-calls", "7", "-o", "out.jsonl")
    _, said = child.communicate(timeout=30)
    assert child.returncode == 1
    assert "Budget of 7 calls used up after 7 of 30 rows." in said
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 7 == len(slow.requests)


def test_progress_counts_votes_as_well_as_rows() -> None:
    watch = ProgressWatch(lambda: 25, PriceTable.load(), quiet=True)
    for _ in range(3):
        watch.on_vote()
    assert watch.note() == "3 votes"


def _interrupt_until_it_says(
    child: commands.Started, words: str, by: signal.Signals = signal.SIGINT
) -> str:
    child.send_signal(by)
    for line in child.stderr:
        if words in line:
            return line
    raise AssertionError(f"it never said {words!r}")
