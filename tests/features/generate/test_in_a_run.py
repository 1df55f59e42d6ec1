"""Strategies in a run folder: whatever writers, judges and models as tools answer is kept, and
asked once.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from pathlib import Path

import pytest

from adjudge import (
    LLM,
    Agent,
    QualitativeCriteria,
    QuantitativeCriteria,
    Runtime,
    Strategy,
    best_of,
)
from adjudge.errors import BudgetSpent, NoValidCandidate, Refused, RunError, SetupError
from adjudge.features.generate import abest_of
from adjudge.runs import Budget
from adjudge.runs.folder import run_info
from support.exported import judgments


class Counting:
    """A model that is a function, and knows what it was asked."""

    def __init__(self, writes: str = "output = 4") -> None:
        self.writes = writes
        self.asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, prompt: str) -> str:
        with self._lock:
            self.asked[prompt] += 1
        if '"score"' in prompt:
            return '{"explanation": "e", "score": 3}'
        return (
            '{"explanation": "e", "selected_option": "PASS"}' if "PASS" in prompt else self.writes
        )

    @property
    def calls(self) -> int:
        return self.asked.total()


def agent(model: Counting, **settings: object) -> Agent:
    judge = LLM(model)
    strategy = Strategy(
        QualitativeCriteria("It is good.", judge, num_samples=2, min_pass=1),
        QuantitativeCriteria("How long is it?", judge),
        num_candidates=2,
        **settings,  # type: ignore[arg-type]
    )
    return Agent(int, llm=judge, strategy=strategy)


def test_a_program_is_written_and_judged_once(tmp_path: Path) -> None:
    model = Counting()
    runtime = Runtime(sandbox="none")
    assert runtime.jit(agent(model), "Four.", run=tmp_path / "kept") == 4
    calls = model.calls
    assert calls == run_info(tmp_path / "kept").votes
    assert [row["verdict"] for row in judgments(tmp_path / "kept")] == ["won", "lost"]
    assert runtime.jit(agent(model), "Four.", run=tmp_path / "kept") == 4
    assert model.calls == calls


@pytest.mark.parametrize("most", [1, 3, 4])
def test_a_spent_budget_ends_it_and_the_rest_is_asked_later(tmp_path: Path, most: int) -> None:
    model = Counting()
    with pytest.raises(BudgetSpent):
        Runtime(sandbox="none").jit(
            agent(model), "Four.", run=tmp_path / "kept", budget=Budget(max_calls=most)
        )
    assert model.calls == most == run_info(tmp_path / "kept").votes
    assert run_info(tmp_path / "kept").state == f"the budget is used up: max_calls={most}"
    Runtime(sandbox="none").jit(agent(model), "Four.", run=tmp_path / "kept")
    assert model.calls == run_info(tmp_path / "kept").votes
    assert max(model.asked.values()) <= 2, "no sample is asked twice"


def test_no_valid_candidate_is_an_end_too(tmp_path: Path) -> None:
    model = Counting("output = (")
    with pytest.raises(NoValidCandidate):
        Runtime(sandbox="none").jit(agent(model, max_iterations=2), "Four.", run=tmp_path / "kept")
    info = run_info(tmp_path / "kept")
    assert (info.state, info.rows, info.votes) == ("complete", 2, model.calls)
    assert {row["verdict"] for row in judgments(tmp_path / "kept")} == {"failed"}


def test_a_model_that_the_code_calls_is_kept_as_well(tmp_path: Path) -> None:
    tool = Counting("7")
    code = "output = int(llm('a number'))"
    asked = Agent(
        int, tools={"llm": LLM(tool)}, llm=lambda prompt: code, strategy=Strategy(num_candidates=1)
    )
    for _ in range(2):
        assert Runtime(sandbox="none").jit(asked, "A number.", run=tmp_path / "kept") == 7
    assert tool.calls == 1


def test_a_budget_that_ends_while_the_code_runs_is_not_the_codes_failure(tmp_path: Path) -> None:
    code = "output = int(llm('a number'))"
    asked = Agent(
        int,
        tools={"llm": LLM(Counting("7"))},
        llm=lambda prompt: code,
        strategy=Strategy(num_candidates=1),
    )
    with pytest.raises(BudgetSpent):
        Runtime(sandbox="none").jit(
            asked, "A number.", run=tmp_path / "kept", budget=Budget(max_calls=1)
        )


def test_criteria_inside_functions_belong_to_the_run(tmp_path: Path) -> None:
    model = Counting()
    inner = QualitativeCriteria("It is good.", LLM(model))

    def sync(code: str, agent: object) -> bool:
        return asyncio.run(inner.verify(code, agent))

    async def awaited(code: str, agent: object) -> bool:
        return await inner.verify(code, agent)

    for verify in (sync, awaited):
        strategy = Strategy(verify, num_candidates=1)
        folder = tmp_path / verify.__name__
        for _ in range(2):
            Runtime(sandbox="none").jit(
                Agent(int, llm=model, strategy=strategy), "Four.", run=folder
            )
        assert run_info(folder).votes == 2
        assert model.calls == 2
        model.asked.clear()


def test_async_code_has_the_same(tmp_path: Path) -> None:
    model = Counting()

    async def twice() -> None:
        for _ in range(2):
            assert (
                await Runtime(sandbox="none").ajit(agent(model), "Four.", run=tmp_path / "kept")
                == 4
            )
            await abest_of("Say four.", 2, llm=model, run=tmp_path / "text")

    asyncio.run(twice())
    assert model.calls == run_info(tmp_path / "kept").votes + run_info(tmp_path / "text").votes


def test_the_best_of_several_texts_is_kept(tmp_path: Path) -> None:
    model = Counting("a text")
    for _ in range(2):
        assert best_of("Say something.", 3, llm=model, run=tmp_path / "kept") == "a text"
    assert model.calls == 3
    with pytest.raises(BudgetSpent):
        best_of("Say something else.", 3, llm=model, budget=Budget(max_calls=2))
    assert model.calls == 5


def test_another_strategy_needs_another_folder(tmp_path: Path) -> None:
    model = Counting()
    Runtime(sandbox="none").jit(agent(model), "Four.", run=tmp_path / "kept")
    with pytest.raises(RunError, match=r"settings\.max_iterations: 3 → 2"):
        Runtime(sandbox="none").jit(agent(model, max_iterations=2), "Four.", run=tmp_path / "kept")


def test_a_limit_in_dollars_needs_the_price_of_every_model() -> None:
    with pytest.raises(SetupError, match="no price for model Counting"):
        best_of("Say something.", llm=Counting(), budget=Budget(max_usd=1))


def test_an_llm_raises_what_its_model_raises() -> None:
    def refuses(prompt: str) -> str:
        raise Refused("not this")

    with pytest.raises(Refused, match="not this"):
        asyncio.run(LLM(refuses)("a prompt"))
