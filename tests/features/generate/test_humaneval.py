"""Recorded solutions of public tasks, run in the sandbox: they pass as recorded, and a verifier
chooses better than the first.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adjudge.errors import SetupError
from adjudge.features.generate.sandbox.base import Sandbox
from adjudge.features.generate.sandbox.finder import find_sandbox
from support.records import folders

ROOT = Path(__file__).parents[3]
TASKS = int(os.environ.get("ADJUDGE_HUMANEVAL_TASKS", "12"))
"""All 164 with ``make test-sandbox``."""
PASSED = {"canonical": 164, "reflexion_gpt4": 150, "reflexion_ucs_gpt4": 139}


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "humaneval_bench", ROOT / "benchmarks" / "humaneval.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tasks(bench: ModuleType, records: Path) -> list[dict[str, object]]:
    """Those with a candidate that fails come first: the short form must see both."""
    every: list[dict[str, Any]] = bench.read_tasks(records)
    every.sort(key=lambda task: all(one["verified_pass"] for one in task["candidates"]))
    hard = TASKS * 5 // 6
    return every if len(every) <= TASKS else every[:hard] + every[hard - TASKS :]


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        return find_sandbox()
    except SetupError as error:
        pytest.skip(str(error))


@folders
def test_every_candidate_passes_or_fails_as_recorded(
    bench: ModuleType, tasks: list[dict[str, object]], sandbox: Sandbox
) -> None:
    if len(tasks) == TASKS < 164:
        tasks = tasks[::3]
    passed = asyncio.run(bench.run_every(sandbox, tasks, 2))
    assert list(bench.wrong(tasks, passed)) == []
    outcomes = {outcome for row in passed for outcome in row}
    assert outcomes == {True, False}
    if len(tasks) == 164:
        assert bench.counted(tasks, passed) == PASSED


@folders
def test_choosing_by_the_docstrings_examples_beats_the_first(
    bench: ModuleType, tasks: list[dict[str, object]], sandbox: Sandbox
) -> None:
    choices = asyncio.run(bench.weigh_every(sandbox, tasks, 2))
    for rows in (choices, [row[::-1] for row in choices]):  # whichever run is taken as the first
        first, cheapest, possible = bench.right(rows)
        assert first < cheapest <= possible


def test_examples_are_read_from_docstrings(bench: ModuleType) -> None:
    lines = [">>> f(2)", "4", "", "f(3) ➞ 6  # six", "f([1]) == [1, 1]", "f of nothing is nothing"]
    text = 'def f(x):\n    """Twice.\n\n    ' + "\n    ".join(lines) + '\n    """\n'
    found = bench.examples({"instruction": text, "entry_point": "f"})
    assert found == [("f(2)", "4"), ("f(3)", "6"), ("f([1])", "[1, 1]")]
