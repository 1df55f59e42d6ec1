"""Every example of the seed runs as written, only the import path changed, against a server that
speaks OpenAI's protocol.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge import Agent, QualitativeCriteria, QuantitativeCriteria, Runtime, SetupError, Strategy
from adjudge.features.generate import find_sandbox
from support.fake_provider import KEY, FakeProvider

SEED = Path(__file__).parents[4] / "shared" / "seeds" / "a1-criteria.md"
pytestmark = pytest.mark.skipif(
    not SEED.is_file(), reason="the seed document is not part of this project"
)


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", SEED.read_text(encoding="utf-8"), re.DOTALL)


def a_sandbox_works() -> bool:
    try:
        find_sandbox()
    except SetupError:
        return False
    return True


def scripted(body: Any) -> str:
    """A number, a verdict or a program, as the request asks."""
    shape = json.dumps(body.get("response_format", {}))
    if '"score"' in shape:
        return json.dumps({"explanation": "It is simple.", "score": 3})
    if '"selected_option"' in shape:
        return json.dumps({"explanation": "It is fine.", "selected_option": "PASS"})
    asked = body["messages"][-1]["content"]
    program = "a, b = 0, 1\nfor _ in range(10):\n    a, b = b, a + b\noutput = a"
    if "CSV" in asked:
        program = "import csv\noutput = next(csv.reader(['a,b']))[0]"
    return f"```python\n{program}\n```"


@pytest.fixture
def server(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    provider.answer = scripted
    yield provider


def run_all() -> list[dict[str, Any]]:
    """All blocks, one after the other as a reader meets them; the names after each: a later block
    may use a name again.
    """
    left: list[dict[str, Any]] = []
    for place, block in enumerate(blocks()):
        names = dict(left[-1]) if left else {}
        exec(
            compile(
                block.replace("from a1 import", "from adjudge import"), f"block {place}", "exec"
            ),
            names,
        )
        left.append(names)
    return left


def first_with(left: list[dict[str, Any]], name: str) -> Any:
    """What the first block that defines ``name`` made of it; asyncio, which the seed uses without
    importing it, is there too.
    """
    names = next(names for names in left if name in names)
    names["asyncio"] = asyncio
    return names[name]


@pytest.mark.skipif(not a_sandbox_works(), reason="no sandbox works on this system")
def test_every_block_runs_and_the_two_tasks_are_solved(server: FakeProvider) -> None:
    left = run_all()
    assert len(left) == len(blocks()) == 19
    assert (first_with(left, "result"), left[-1]["result"]) == (55, "a")
    assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert {body["model"] for body in server.bodies} == {"gpt-4o-mini"}


@pytest.mark.skipif(not a_sandbox_works(), reason="no sandbox works on this system")
def test_the_functions_that_the_seed_defines_work_in_its_strategies(
    server: FakeProvider, capsys: pytest.CaptureFixture[str]
) -> None:
    left = run_all()
    names = left[-1]
    strategy = Strategy(
        verify=first_with(left, "verify_all"),
        cost=first_with(left, "combined_cost"),
        num_candidates=2,
    )
    selection = Runtime().jit(
        Agent(int, llm="gpt-4o", strategy=strategy), "Calculate fibonacci of 10", detail=True
    )
    assert (selection.output, selection.cost) == (55, pytest.approx(3.0))
    asked = [
        result.criteria.description.partition(" (")[0] for result in selection.candidates[0].results
    ]
    assert set(asked[:3]) == {  # asked at once, so they end in any order
        "Code is readable and well-documented",
        "Code uses efficient algorithms",
        "Code handles errors and edge cases properly",
    }
    assert [result.votes_requested for result in selection.candidates[0].results] == [3] * 6
    instrumented = names["InstrumentedQuantitativeCriteria"]("Rate complexity", llm=names["scorer"])
    for criteria in (
        names["complexity"],
        names["reliable_score"],
        names["LoggedQuantitativeCriteria"]("Rate", names["scorer"]),
        instrumented,
    ):
        assert asyncio.run(criteria.compute("x = 1", None)) == 3.0
    assert instrumented.sample_history == []
    shown = capsys.readouterr().out
    assert "[CRITERIA] Rate: 3.0/10.0" in shown
    assert "Final score: 3.0" in shown
    assert "Aggregation: avg" in shown


def test_all_criteria_of_the_seed_are_what_they_say(
    server: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without running any task, so that it holds without a sandbox too."""
    monkeypatch.setattr(
        "adjudge.features.generate.runtime.Runtime.jit", lambda *args, **options: None
    )
    names = run_all()[-1]
    high = names["is_high_quality"]
    assert isinstance(high, QualitativeCriteria)
    assert (high.num_samples, high.min_samples_for_aggregation, high.min_pass) == (5, 4, 3)
    readability = names["readability_score"]
    assert isinstance(readability, QuantitativeCriteria)
    assert (readability.agg, readability.num_samples, readability.max) == ("med", 5, 10.0)
    assert server.requests == []
