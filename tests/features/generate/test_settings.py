"""Strategies, agents and tools: what they take, and what they refuse before anything is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import pytest

from adjudge import (
    LLM,
    Agent,
    AspectCritic,
    QualitativeCriteria,
    QuantitativeCriteria,
    Runtime,
    ScriptedModel,
    SetupError,
    Strategy,
    best_of,
)
from adjudge.core.gateway.opener import OpenModel


def passes() -> QualitativeCriteria:
    return QualitativeCriteria("Fine?", ScriptedModel())


def costs() -> QuantitativeCriteria:
    return QuantitativeCriteria("How much?", ScriptedModel())


# -- strategies ----------------------------------------------------------------------


def test_the_defaults_are_those_of_the_contract() -> None:
    strategy = Strategy()
    assert (
        strategy.num_candidates,
        strategy.max_iterations,
        strategy.min_candidates_for_comparison,
    ) == (3, 3, 1)
    assert (strategy.accept_cost_threshold, strategy.compare_cost_threshold, strategy.generate) == (
        None,
        None,
        None,
    )
    assert strategy.cost_is == "lower"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"num_candidates": 0}, "num_candidates"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"min_candidates_for_comparison": 4}, "can never be reached with num_candidates=3"),
        ({"cost": costs(), "accept_cost_threshold": float("nan")}, "must be a number"),
        ({"cost": costs(), "compare_cost_threshold": "3"}, "must be a number"),
        ({"fresh_samples": 2}, "so a cost is needed"),
        ({"cost": costs(), "fresh_samples": -1}, "fresh_samples"),
        ({"cost_is": "best"}, "cost_is must be one of lower, higher"),
        ({"verify": costs()}, "verify takes a QualitativeCriteria"),
        ({"cost": passes()}, "cost takes a QuantitativeCriteria"),
        ({"verify": "Is it fine?"}, "verify takes a QualitativeCriteria"),
        ({"generate": "gpt-4o"}, "generate takes a function"),
    ],
)
def test_impossible_strategies_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        Strategy(**settings)


@pytest.mark.parametrize("name", ["accept_cost_threshold", "compare_cost_threshold"])
def test_a_threshold_without_a_cost_is_named_before_anything_is_asked(name: str) -> None:
    """Not when it is made: the seed makes strategies first and says what they cost later."""
    model = ScriptedModel(["output = 1"])
    asked = Agent(int, llm=model, strategy=Strategy(**{name: cast(Any, 3)}))
    with pytest.raises(SetupError, match=f"{name} needs a cost"):
        Runtime(sandbox="none").jit(asked, "One.")
    assert model.requests == []


# -- models as tools -----------------------------------------------------------------


def test_an_llm_is_called_with_a_text() -> None:
    model = ScriptedModel(["Hello."])
    assert asyncio.run(LLM(model)("Greet me.")) == "Hello."
    assert model.requests[0].prompt.text == "Greet me."


def test_an_llm_is_a_model_for_judges_too_and_is_not_wrapped_again() -> None:
    llm = LLM(ScriptedModel(["PASS"]), temperature=0.7, max_concurrency=2)
    critic = AspectCritic("It is fine.", llm)
    assert critic.evaluate("x").verdict == "PASS"
    assert list(critic.panel.values()) == [llm]
    assert (llm.temperature, llm.max_concurrency) == (0.7, 2)


def test_an_llm_takes_an_opened_model_and_a_function() -> None:
    assert asyncio.run(LLM(lambda prompt: prompt.upper())("hi")) == "HI"
    assert isinstance(LLM(LLM("scripted/a")), OpenModel)


def test_an_llm_has_a_name_that_code_can_call_and_shows_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    llm = LLM("gpt-4o-mini", api_key="sk-secret")
    assert llm.__name__ == "gpt_4o_mini"
    assert LLM("scripted/3").__name__ == "llm_3"
    assert LLM(lambda prompt: prompt).__name__ == "llm_lambda"
    assert "sk-secret" not in repr(llm)


def test_an_unknown_model_is_refused_when_named() -> None:
    with pytest.raises(SetupError, match="unknown model"):
        LLM("gtp-5")


# -- agents --------------------------------------------------------------------------


def search(words: str, most: int = 3) -> list[str]:
    """Find pages.

    More about it.
    """
    return [words] * most


def test_tools_are_shown_with_signature_and_first_line() -> None:
    agent = Agent(tools=[search, LLM("scripted/x")])
    assert agent.manual() == [
        ("search(words: str, most: int = 3) -> list[str]", "Find pages."),
        ("x(prompt: str) -> str", "Ask the language model scripted/x."),
    ]


def test_equal_names_get_a_number() -> None:
    assert list(Agent(tools=[search, search]).toolbox) == ["search", "search_2"]


def test_tools_may_be_named_and_must_be_callable_by_name() -> None:
    assert list(Agent(tools={"find": lambda text: text}).toolbox) == ["find"]
    with pytest.raises(SetupError, match="'<lambda>' cannot be called from code"):
        Agent(tools=[lambda text: text])
    with pytest.raises(SetupError, match="'find' is not a function"):
        Agent(tools={"find": "search"})  # type: ignore[dict-item]


@dataclass
class Inputs:
    numbers: list[int]
    name: str


class Named(TypedDict):
    numbers: list[int]


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"numbers": list[int]}, [("numbers", "list[int]")]),
        (Inputs, [("numbers", "list[int]"), ("name", "str")]),
        (Named, [("numbers", "list[int]")]),
        (None, []),
    ],
)
def test_inputs_are_shown_with_their_types(schema: Any, shown: list[tuple[str, str]]) -> None:
    assert Agent(input_schema=schema).variables() == shown


def test_who_writes() -> None:
    """The agent's model, else the runtime's, else an LLM among the tools, else the criteria's."""
    one, two, three = LLM("scripted/1"), LLM("scripted/2"), LLM("scripted/3")
    judged = Strategy(verify=QualitativeCriteria("Fine?", "scripted/4"))
    assert Agent(llm=one, tools=[three], strategy=judged).writers(two) == [one]
    assert Agent(tools=[three], strategy=judged).writers(two) == [two]
    assert Agent(tools=[search, three], strategy=judged).writers() == [three]
    assert [model.name for model in Agent(strategy=judged).writers()] == ["scripted/4"]


@pytest.mark.parametrize(
    "schema", [set[int], object, complex, dict[int, int], "int", {"type": "decimal"}, {"allOf": []}]
)
def test_a_schema_that_cannot_be_checked_is_refused(schema: Any) -> None:
    with pytest.raises(SetupError, match="output_schema"):
        Agent(output_schema=schema)


# -- runtimes ------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["", "  ", None])
def test_an_empty_task_is_refused(task: Any) -> None:
    with pytest.raises(SetupError, match="task is empty"):
        Runtime(sandbox="none").jit(Agent(llm="scripted"), task)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, "needs the inputs numbers"),
        ({"numbers": [1], "search": 1}, "search cannot be both an input and a tool"),
        ({"numbers": [1, "2"]}, r"input 'numbers': output\[1\] is '2'"),
    ],
)
def test_inputs_are_checked_before_anything_is_asked(inputs: dict[str, object], said: str) -> None:
    model = ScriptedModel()
    agent = Agent(input_schema={"numbers": list[int]}, tools=[search], llm=model)
    with pytest.raises(SetupError, match=said):
        Runtime(sandbox="none").jit(agent, "Add them.", inputs=inputs)
    assert model.requests == []


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(SetupError, match="language"):
        Runtime(language="de")


def test_an_agent_whose_model_is_not_named_says_how_to_name_it() -> None:
    """A function that verifies asks nobody, so that there is no model to take."""
    nobody = Agent(int, strategy=Strategy(verify=lambda code, agent: True))
    with pytest.raises(SetupError, match=r"Agent\(llm=") as caught:
        Runtime(sandbox="none").jit(nobody, "Add one and two.")
    assert "xllamacpp" not in str(caught.value)


def test_texts_whose_writer_is_not_named_say_how_to_name_it() -> None:
    with pytest.raises(SetupError, match="llm='openai/gpt-4o-mini'"):
        best_of("Write.", 3, cost=lambda text, agent: len(text))
