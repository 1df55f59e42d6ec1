"""Recorded solutions of the HumanEval tasks, run in the sandbox: do they pass where they should,
and does a verifier choose well?

python benchmarks/humaneval.py --data ../shared/data [--limit 20] [--sandbox bubblewrap]

First all candidates are run with the task's hidden tests and compared with what is recorded. Then
one candidate a task is chosen among the two recorded runs, canonical solution left out: the first
one, or the one that fails the fewest of the examples in the task's docstring (the earlier one where
they are equal).
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import doctest
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adjudge.errors import SandboxError, SetupError
from adjudge.features.generate.sandbox.base import Limits, Sandbox
from adjudge.features.generate.sandbox.finder import find_sandbox

Task = dict[str, Any]
Candidate = dict[str, Any]
LIMITS = Limits(wall=20, cpu=5)
_ARROWS = r"(?:==>|=>|==|->|=|➞|➡|should return|returns|return|should be|is)"


def read_tasks(data: Path, limit: int | None = None) -> list[Task]:
    lines = (data / "humaneval_candidates.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:limit]]


def solution(task: Task, candidate: Candidate) -> str:
    """A candidate is the whole function, or its body to be put under the task's heading."""
    code: str = candidate["code"]
    return task["instruction"] + code if code[:1].isspace() else code


def tested(task: Task, candidate: Candidate) -> str:
    """The candidate with the hidden tests."""
    return (
        f"{solution(task, candidate)}\n{task['test']}\ncheck({task['entry_point']})\noutput = "
        "True\n"
    )


def examined(task: Task, candidate: Candidate) -> str:
    """The candidate with the examples of the docstring; ``output`` is how many it fails."""
    checks = [f"({call}) == ({expected})" for call, expected in examples(task)]
    return f"""{solution(task, candidate)}
assert callable({task["entry_point"]})
output = 0
for check in {checks!r}:
    try:
        output += not eval(check)
    except Exception:
        output += 1
"""


def examples(task: Task) -> list[tuple[str, str]]:
    """Calls in the docstring with what they should give, both as Python: ``>>>`` and the usual
    arrows.
    """
    text, name = task["instruction"], task["entry_point"]
    asked = list(_interactive(text, name))
    asked += re.findall(rf"({name}\(.*?\))\s*{_ARROWS}\s*(.+?)\s*$", text, re.M)
    return list(
        dict.fromkeys(
            (call, value)
            for call, want in asked
            if (value := _literal(want)) and _is_call(call, name)
        )
    )


def _interactive(text: str, name: str) -> Iterator[tuple[str, str]]:
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    try:
        found = doctest.DocTestParser().get_examples(
            (ast.get_docstring(functions[0]) or "") if functions else ""
        )
    except ValueError:  # indented in a way doctest does not read
        return
    yield from ((one.source.strip(), one.want.strip()) for one in found)


def _literal(text: str) -> str:
    """The longest beginning of the text that is a Python value."""
    for end in range(len(text), 0, -1):
        try:
            return repr(ast.literal_eval(text[:end].strip()))
        except (ValueError, SyntaxError):
            continue
    return ""


def _is_call(text: str, name: str) -> bool:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
        for node in ast.walk(tree)
    )


async def passes(sandbox: Sandbox, task: Task, candidate: Candidate) -> bool:
    """Whether the candidate passes the hidden tests."""
    try:
        return (await sandbox.run(tested(task, candidate), limits=LIMITS)).output is True
    except SandboxError:
        return False


async def failed_examples(sandbox: Sandbox, task: Task, candidate: Candidate) -> float:
    """How many of the docstring's examples it fails; infinitely many when it does not even run."""
    try:
        return float((await sandbox.run(examined(task, candidate), limits=LIMITS)).output or 0)  # type: ignore[arg-type]
    except SandboxError:
        return float("inf")


async def costs_of(sandbox: Sandbox, task: Task) -> list[tuple[Candidate, float]]:
    """The recorded candidates, in the order of the recorded runs, with what the verifier thinks of
    them.
    """
    recorded = [one for one in task["candidates"] if one["candidate_source"] != "canonical"]
    return [(one, await failed_examples(sandbox, task, one)) for one in recorded]


def right(choices: list[list[tuple[Candidate, float]]]) -> tuple[int, int, int]:
    """How many tasks are solved: by the first candidate, by the cheapest, by any."""
    first = sum(row[0][0]["verified_pass"] for row in choices)
    cheapest = sum(min(row, key=lambda pair: pair[1])[0]["verified_pass"] for row in choices)
    return first, cheapest, sum(any(one["verified_pass"] for one, _ in row) for row in choices)


def wrong(tasks: list[Task], passed: list[list[bool]]) -> Iterator[str]:
    """Where running a candidate gave something else than is recorded."""
    for task, outcomes in zip(tasks, passed, strict=True):
        for candidate, outcome in zip(task["candidates"], outcomes, strict=True):
            if outcome != candidate["verified_pass"]:
                yield f"{task['id']} {candidate['candidate_source']}: ran to {outcome}"


async def run_every(sandbox: Sandbox, tasks: list[Task], jobs: int) -> list[list[bool]]:
    """Whether each candidate of each task passes."""
    turn = asyncio.Semaphore(jobs)

    async def run_all(task: Task) -> list[bool]:
        async with turn:
            return [await passes(sandbox, task, candidate) for candidate in task["candidates"]]

    return await asyncio.gather(*map(run_all, tasks))


async def weigh_every(
    sandbox: Sandbox, tasks: list[Task], jobs: int
) -> list[list[tuple[Candidate, float]]]:
    """The candidates of each task with what the verifier thinks of them."""
    turn = asyncio.Semaphore(jobs)

    async def weigh(task: Task) -> list[tuple[Candidate, float]]:
        async with turn:
            return await costs_of(sandbox, task)

    return await asyncio.gather(*map(weigh, tasks))


def counted(tasks: list[Task], passed: list[list[bool]]) -> dict[str, int]:
    """How many candidates of each source pass."""
    pairs = [
        pair
        for task, row in zip(tasks, passed, strict=True)
        for pair in zip(task["candidates"], row, strict=True)
    ]
    return dict(
        sorted(Counter(candidate["candidate_source"] for candidate, ok in pairs if ok).items())
    )


async def measure(sandbox: Sandbox, tasks: list[Task], jobs: int) -> int:
    started = time.monotonic()
    passed = await run_every(sandbox, tasks, jobs)
    trouble = list(wrong(tasks, passed))
    print(
        f"{sandbox.name}: {sum(map(len, passed))} candidates in "
        f"{time.monotonic() - started:.0f} s, {jobs} at once"
    )
    print(
        "passed:",
        ", ".join(f"{source} {count}" for source, count in counted(tasks, passed).items()),
        "of",
        len(tasks),
    )
    print(f"other than recorded: {len(trouble)}", *trouble, sep="\n  ")
    choices = await weigh_every(sandbox, tasks, jobs)
    for order, rows in (("as recorded", choices), ("turned round", [row[::-1] for row in choices])):
        first, cheapest, possible = right(rows)
        print(
            f"{order}: first candidate {first} right, chosen by the docstring's examples "
            f"{cheapest}, at most {possible} possible"
        )
    print(f"tasks with examples that could be read: {sum(bool(examples(task)) for task in tasks)}")
    return len(trouble)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sandbox")
    given = parser.parse_args()
    try:
        sandbox = find_sandbox(given.sandbox)
    except SetupError as error:
        print(error)
        return 1
    return int(asyncio.run(measure(sandbox, read_tasks(given.data, given.limit), given.jobs)) > 0)


if __name__ == "__main__":
    sys.exit(main())
