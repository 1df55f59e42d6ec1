"""A ledger that is damaged in every way a disk or a copy can damage it: noticed or harmless, saved,
and resumed.

``ADJUDGE_DAMAGES`` says how often (``make test-reliability``: 200). The run has two hundred votes
and some more; a model that always says the same about a text shows whether any value is other than
in the run that nobody disturbed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, Request, RunError, ScriptedModel
from adjudge.core.ledger import file
from adjudge.core.ledger.file import FILE
from adjudge.runs.folder import run_info
from adjudge.runs.recovery import recover

DAMAGES = int(os.environ.get("ADJUDGE_DAMAGES", "12"))
PAGE = 4096
TEXTS = [f"Row {number}: " + "some words " * (number % 40 * 12) for number in range(70)]
LOG = f"{FILE}-wal"
KILLED = 55
"""The row at which the run that leaves a log is killed."""


def said(request: Request) -> str:
    """Mostly a verdict, sometimes noise; always the same about the same text and sample."""
    seed = zlib.crc32(f"{request.prompt.messages[-1].content} {request.seed}".encode())
    if seed % 11 == 0:
        return "no verdict in here"
    explanation = "because " * (seed % 500)
    return json.dumps(
        {"explanation": explanation, "selected_option": "PASS" if seed % 3 else "FAIL"}
    )


def evaluate(
    folder: Path, progress: Callable[[Any], None] | None = None, rows: int = len(TEXTS)
) -> ScriptedModel:
    """The command that is given again and again."""
    model = ScriptedModel(said)
    critic = AspectCritic("The text is good.", model, strictness=3, seed=5, max_repairs=0)
    critic.evaluate(TEXTS[:rows], run=folder, progress=progress)
    return model


def values(folder: Path) -> list[Any]:
    """Everything that the run found out, without the times."""
    from support.exported import judgments  # not known where this file is run by itself

    rows = list(judgments(folder, votes=True))
    return [
        {**row, "votes": [{**vote, "at": 0, "latency": 0} for vote in row["votes"]]} for row in rows
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run that ended, and one that was killed: much of that lies in the log."""
    whole, killed = (
        tmp_path_factory.mktemp("runs") / "whole",
        tmp_path_factory.mktemp("runs") / "killed",
    )
    evaluate(whole)
    subprocess.run([sys.executable, __file__, str(killed)], check=False, timeout=300)
    assert (killed / LOG).stat().st_size > 20 * PAGE
    assert (killed / FILE).stat().st_size > 20 * PAGE
    return {"whole": whole, "killed": killed}


# -- what can happen ---------------------------------------------------------------


def truncated(content: bytearray, pick: random.Random) -> None:
    del content[
        pick.randrange(len(content)) // pick.choice((1, 512, PAGE)) * pick.choice((1, 512, PAGE)) :
    ]


def zeroed_pages(content: bytearray, pick: random.Random) -> None:
    for _ in range(pick.randint(1, 4)):
        place = pick.randrange(0, len(content), PAGE)
        content[place : place + PAGE] = bytes(len(content[place : place + PAGE]))


def flipped_bits(content: bytearray, pick: random.Random) -> None:
    for _ in range(pick.randint(1, 6)):
        content[pick.randrange(pick.choice((100, 2 * PAGE, len(content))))] ^= 1 << pick.randrange(
            8
        )


def half_zeroed_rows(content: bytearray, pick: random.Random) -> None:
    for _ in range(pick.randint(1, 4)):
        place, size = pick.randrange(len(content)), pick.randint(1, 1500)
        content[place : place + size] = bytes(len(content[place : place + size]))


def swapped_pages(content: bytearray, pick: random.Random) -> None:
    one, two = (pick.randrange(0, len(content) - PAGE, PAGE) for _ in range(2))
    first, second = content[one : one + PAGE], content[two : two + PAGE]
    content[one : one + PAGE], content[two : two + PAGE] = second, first


def overwritten(content: bytearray, pick: random.Random) -> None:
    place, size = pick.randrange(len(content)), pick.randint(1, 3 * PAGE)
    content[place : place + size] = pick.randbytes(len(content[place : place + size]))


HARMS = (truncated, zeroed_pages, flipped_bits, half_zeroed_rows, swapped_pages, overwritten)


def harm(folder: Path, pick: random.Random) -> str:
    """Damage the ledger, its log, or both; says how."""
    told = []
    log = folder / LOG
    if log.exists() and pick.random() < 0.2:
        log.unlink()
        told.append("lost log")
    for _ in range(1 if pick.random() < 0.7 else 2):
        file = log if log.exists() and pick.random() < 0.3 else folder / FILE
        content = bytearray(file.read_bytes())
        if len(content) > 3 * PAGE and (not told or pick.random() < 0.5):
            how = pick.choice(HARMS)
            how(content, pick)
            file.write_bytes(content)
            told.append(f"{how.__name__} {file.name}")
    return ", ".join(told)


# -- what is to come of it ---------------------------------------------------------


def outcome(folder: Path, expected: list[Any]) -> str:
    """Go on as a user would: the same command, ``runs recover`` where that is the advice, the same
    command.
    """
    read(folder, expected)
    try:
        model = evaluate(folder)
        told = "unnoticed, and harmless"
    except RunError as error:
        assert "adjudge runs recover" in str(error)
        saved, _ = recover(folder)
        read(folder, expected)
        model = evaluate(folder)
        told = "recovered"
        assert len(model.requests) == 3 * len(TEXTS) - saved
    assert values(folder) == expected
    assert not evaluate(folder).requests
    return told


def read(folder: Path, expected: list[Any]) -> None:
    """Readers say what was written, or that the ledger is damaged."""
    try:
        assert all(row in expected for row in values(folder))
        run_info(folder)
    except RunError as error:
        assert "adjudge runs recover" in str(error)


@pytest.mark.parametrize(("kind", "large"), [("whole", False), ("killed", False), ("whole", True)])
def test_whatever_happens_to_a_ledger_it_can_be_gone_on_with_and_no_value_is_wrong(
    tmp_path: Path, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, kind: str, large: bool
) -> None:
    """A large ledger is not read through before it is used: its rows are checked as they come."""
    if large:
        monkeypatch.setattr(file, "_SMALL", 0)
    expected, counts = values(runs["whole"]), Counter[str]()
    for number in range(DAMAGES // 4 if large else DAMAGES // 2):
        folder = tmp_path / str(number)
        shutil.copytree(runs[kind], folder)
        how = harm(folder, random.Random(f"{kind} {number}"))
        try:
            counts[outcome(folder, expected)] += 1
        except Exception as error:
            raise AssertionError(f"{kind} {number}: {how}") from error
        shutil.rmtree(folder)
    print(
        f"\n{counts.total()} damages of a {kind} run{' that is large' if large else ''}: "
        f"{dict(counts)}"
    )


if __name__ == "__main__":
    seen: list[Any] = []
    evaluate(Path(sys.argv[1]), rows=30)
    evaluate(
        Path(sys.argv[1]), lambda result: os._exit(9) if len(seen) > KILLED else seen.append(result)
    )
