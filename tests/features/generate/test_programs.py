"""Code that is written once and run many times; strategies and imports of the runtime."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adjudge import LLM, Agent, QualitativeCriteria, Runtime, ScriptedModel, SetupError, Strategy
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent, NoValidCandidate, SandboxError, Timeout
from adjudge.features.generate import Program
from adjudge.features.generate.sandbox.base import Execution

PRICES = {"tea": 3.5, "milk": 1.0}


def price(product: str) -> float:
    """The price of a product in euros."""
    return PRICES[product]


def writer(*codes: str) -> ScriptedModel:
    """Candidate i writes program i."""
    return ScriptedModel(
        lambda request: f"```python\n{codes[request.sample % len(codes)]}\n```", name="writer"
    )


def runtime(**settings: Any) -> Runtime:
    return Runtime(**{"timeout": 10, "sandbox": "none", **settings})


def basket(*codes: str, **settings: Any) -> Agent:
    strategy = Strategy(
        cost=lambda code, agent: len(code), num_candidates=len(codes), max_iterations=1
    )
    given = {
        "output_schema": float,
        "input_schema": {"items": list[str]},
        "tools": [price],
        "strategy": strategy,
    }
    return Agent(llm=writer(*codes), **{**given, **settings})


def test_it_is_written_once_and_run_many_times() -> None:
    agent = basket("output = sum(price(one) for one in items)")
    program = runtime().aot(agent, "What does the basket cost?")
    assert [
        program(items=["tea"]),
        program(items=["tea", "milk"]),
        program.run({"items": ["milk"]}),
    ] == [3.5, 4.5, 1.0]
    assert program.code == "output = sum(price(one) for one in items)"
    assert len(agent.llm.requests) == 1  # type: ignore[union-attr]


def test_an_agent_s_description_is_its_task_where_none_is_given() -> None:
    agent = basket("output = 1.0", description="Adds the prices up.")
    assert runtime().aot(agent).agent.task == "Adds the prices up."
    with pytest.raises(SetupError, match="the task is empty"):
        runtime().aot(basket("output = 1.0"))


def test_it_runs_in_async_code() -> None:
    async def both() -> list[object]:
        program = await runtime().aaot(basket("output = float(len(items))"), "How many?")
        return list(
            await asyncio.gather(program.arun({"items": ["tea"]}), program.arun({"items": []}))
        )

    assert asyncio.run(both()) == [1.0, 0.0]


def test_without_an_example_nothing_is_run_and_the_cheapest_is_taken() -> None:
    class NoRun:
        name = "watched"

        async def run(self, code: str, **_: Any) -> Execution:
            raise AssertionError("nothing was to be run")

    program = runtime(sandbox=NoRun()).aot(
        basket("output = float(len(items))", "output = 1.0"), "How many?"
    )
    assert isinstance(program, Program)
    assert (program.code, program.selection.winner and program.selection.winner.number) == (
        "output = 1.0",
        2,
    )


def test_an_example_is_what_candidates_are_tried_with() -> None:
    agent = basket("output = float(len(items) + 0)", "output = items[7]")
    program = runtime().aot(agent, "How many?", inputs={"items": ["tea"]})
    assert program.code == "output = float(len(items) + 0)"
    assert "IndexError" in program.selection.candidates[1].why


def test_what_may_not_be_used_is_no_program() -> None:
    with pytest.raises(NoValidCandidate, match="import of os is not allowed"):
        runtime().aot(basket("import os\noutput = 1.0"), "How many?")


@pytest.mark.parametrize(
    ("code", "inputs", "error", "said"),
    [
        ("output = items[7]", {"items": []}, SandboxError, "IndexError"),
        ("output = 'much'", {"items": []}, SandboxError, "the program ran, but .*float"),
        ("outputs = 1.0", {"items": []}, SandboxError, "not set the variable output"),
        ("while True: pass", {"items": []}, Timeout, "s"),
        ("output = 1.0", {}, SetupError, "needs the inputs items"),
        ("output = 1.0", {"items": "tea"}, SetupError, "input 'items'"),
        ("output = 1.0", {"items": [], "price": 3}, SetupError, "both an input and a tool"),
    ],
)
def test_what_goes_wrong_is_said_when_it_is_run(
    code: str, inputs: dict[str, object], error: type[Exception], said: str
) -> None:
    seconds = 1 if error is Timeout else 60
    program = runtime(timeout=seconds).aot(basket(code), "What does it cost?")
    with pytest.raises(error, match=said):
        program(**inputs)


def test_in_a_run_folder_it_is_written_once_for_all_processes(tmp_path: Path) -> None:
    first, second = basket("output = 1.0"), basket("output = 2.0")
    assert runtime().aot(first, "One.", run=tmp_path / "run")(items=[]) == 1.0
    assert runtime().aot(second, "One.", run=tmp_path / "run")(items=[]) == 1.0
    assert second.llm.requests == []  # type: ignore[union-attr]


def test_a_budget_holds_for_the_writing() -> None:
    with pytest.raises(BudgetSpent):
        runtime().aot(basket("output = 1.0", "output = 2.0"), "One.", budget=Budget(max_calls=1))


def test_models_that_the_code_calls_are_asked_at_every_run() -> None:
    model = ScriptedModel(["seven"], name="helper")
    agent = Agent(
        str,
        llm=writer("output = helper('How many?')"),
        tools=[LLM(model)],
        strategy=Strategy(num_candidates=1),
    )
    program = runtime().aot(agent, "Ask.")
    assert [program(), program()] == ["seven", "seven"]
    assert len(model.requests) == 2


# -- what the runtime says for its agents -----------------------------------------------


def test_the_strategy_of_the_runtime_is_that_of_agents_without_one() -> None:
    verify = QualitativeCriteria("It is short.", ScriptedModel(["PASS"], name="judge"))
    run = runtime(strategy=Strategy(verify=verify, num_candidates=2))
    selection = run.jit(Agent(int, llm=writer("output = 4")), "Give four.", detail=True)
    assert (len(selection.candidates), selection.output) == (2, 4)
    assert selection.candidates[0].results[0].votes_valid == 1
    assert run.estimate(Agent(int, llm=writer("output = 4")), "Give four.").rows == 2


def test_an_agent_s_own_strategy_counts() -> None:
    run = runtime(strategy=Strategy(num_candidates=5))
    assert (
        len(
            run.jit(
                Agent(int, llm=writer("output = 4"), strategy=Strategy()), "Four.", detail=True
            ).candidates
        )
        == 3
    )


@pytest.mark.parametrize("name", ["numpy", "pandas.io"])
def test_a_package_that_the_sandbox_does_not_hold_is_said_at_once(name: str) -> None:
    with pytest.raises(
        SetupError,
        match=f"allowed_imports names {name.partition('.')[0]}, but the sandbox has only the",
    ):
        Runtime(allowed_imports=["math", name])


def test_a_sandbox_of_one_s_own_may_hold_packages() -> None:
    class Own:
        name = "own"

        async def run(self, code: str, **_: Any) -> Execution:
            return Execution(4, True, "", "", 0.0)

    run = Runtime(sandbox=Own(), allowed_imports=["numpy"])
    assert run.jit(Agent(int, llm=writer("import numpy\noutput = 4")), "Give four.") == 4
