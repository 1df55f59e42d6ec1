"""From a task to a checked value: code is written, checked, run in a process of its own, and its
output is what was asked for.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any, cast

import pytest

from adjudge import (
    LLM,
    Agent,
    QualitativeCriteria,
    QuantitativeCriteria,
    Runtime,
    ScriptedModel,
    SetupError,
    Strategy,
)
from adjudge.core.domain.message import Request
from adjudge.errors import NoValidCandidate
from adjudge.features.generate import Selection
from adjudge.features.generate.candidate import Try
from adjudge.features.generate.sandbox.base import Execution, Limits

ONE = Strategy(num_candidates=1, max_iterations=1)


def program(code: str) -> str:
    return f"Here it is:\n```python\n{code}\n```"


def writes(*codes: str) -> ScriptedModel:
    """Candidate i writes program i."""
    return ScriptedModel(lambda request: program(codes[request.sample % len(codes)]), name="writer")


def runtime(**settings: Any) -> Runtime:
    """Without a sandbox, since what runs here was written here: it is the same process, boundary
    and limits.
    """
    return Runtime(**{"timeout": 10, "sandbox": "none", **settings})


def agent(output: Any, *codes: str, **settings: Any) -> Agent:
    strategy = settings.pop("strategy", Strategy(num_candidates=len(codes), max_iterations=1))
    return Agent(output, llm=writes(*codes), strategy=strategy, **settings)


@dataclass
class Point:
    x: int
    y: int


# -- outputs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "code", "wanted"),
    [
        (int, "a, b = 0, 1\nfor _ in range(10):\n    a, b = b, a + b\noutput = a", 55),
        (str, "import json\noutput = json.dumps([1])", "[1]"),
        (list[int], "output = sorted([3, 1, 2])", [1, 2, 3]),
        (Point, "output = {'x': 1, 'y': 2}", Point(1, 2)),
        ({"type": "object", "required": ["ok"]}, "output = {'ok': True}", {"ok": True}),
        (None, "output = None", None),
    ],
)
def test_the_value_that_the_code_leaves_in_output(schema: Any, code: str, wanted: object) -> None:
    assert runtime().jit(agent(schema, code), "Compute.") == wanted


def test_the_model_is_told_what_is_wanted() -> None:
    asked = agent(
        list[int],
        "output = [n]",
        description="You like lists.",
        input_schema={"n": int},
        tools=[len_of],
    )
    runtime().jit(asked, "Make a list.", inputs={"n": 3})
    request = asked.llm.requests[0]  # type: ignore[union-attr]
    system, user = request.prompt.messages
    assert user.content == "Make a list."
    for part in (
        "output must be list[int]",
        "You like lists.",
        "n: int",
        "len_of(text: str) -> int  # Count.",
        "statistics",
    ):
        assert part in system.content


def test_every_candidate_is_in_the_detail_and_in_last() -> None:
    run = runtime()
    strategy = Strategy(cost=lambda code, agent: len(code), num_candidates=3, max_iterations=1)
    asked = agent(int, "output = 1 + 1 + 1", "output = 3", "outputs = 3", strategy=strategy)
    selection = run.jit(asked, "Three.", detail=True)
    assert isinstance(selection, Selection)
    assert run.last is selection
    assert [candidate.state for candidate in selection.candidates] == ["lost", "won", "lost"]
    assert (selection.output, selection.winner and selection.winner.number) == (3, 2)
    assert (selection.cost, selection.compared) == (10, 3)


# -- checks before anything runs -----------------------------------------------------


class Watched:
    """A sandbox that only counts what it is given."""

    name = "watched"

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, code: str, **_: Any) -> Execution:
        self.ran.append(code)
        return Execution(1, True, "", "", 0.0)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os\noutput = 1", "import of os"),
        ("output = (", "not valid Python"),
        ("output = ().__class__.__mro__", "__mro__"),
    ],
)
def test_the_static_check_is_first_and_its_reasons_go_into_the_retry(code: str, said: str) -> None:
    judged: list[str] = []

    def verify(code: str, agent: object) -> bool:
        judged.append(code)
        return True

    model = ScriptedModel(
        lambda request: program(
            "output = 1" if said in request.prompt.text.split("not accepted")[-1] else code
        )
    )
    strategy = Strategy(verify=verify, num_candidates=1)
    box = Watched()
    asked = Agent(int, llm=model, strategy=strategy)
    selection = runtime(sandbox=box).jit(asked, "One.", detail=True)
    assert [one.reasons != () for one in selection.candidates[0].tries] == [True, False]
    assert judged == box.ran == ["output = 1"]


def test_allowed_imports_are_settable() -> None:
    asked = agent(int, "import math\noutput = math.floor(1.5)")
    assert runtime().jit(asked, "One.") == 1
    with pytest.raises(NoValidCandidate, match="import of math"):
        runtime(allowed_imports=["json"]).jit(asked, "One.")


def test_no_sandbox_is_an_error_before_any_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_here(name: str | None = None) -> Any:
        raise SetupError("no sandbox works on this system")

    monkeypatch.setattr("adjudge.features.generate.runtime.find_sandbox", nothing_here)
    asked = agent(int, "output = 1")
    with pytest.raises(SetupError, match="no sandbox"):
        Runtime().jit(asked, "One.")
    assert asked.llm.requests == []  # type: ignore[union-attr]


def test_an_unknown_sandbox_is_named() -> None:
    with pytest.raises(SetupError, match="unknown sandbox 'jail'"):
        runtime(sandbox="jail").jit(agent(int, "output = 1"), "One.")


# -- when running fails --------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("output = 1 / 0", "ZeroDivisionError"),
        ("output = 'three'", "output is 'three', a str, instead of int"),
        ("result = 3", "did not set the variable output"),
        ("output = {1, 2}", "not JSON"),
        ("import time\ntime.sleep(600)", "Timeout"),
    ],
)
def test_a_candidate_that_fails_when_run_gives_way_to_the_next_cheapest(
    code: str, said: str
) -> None:
    strategy = Strategy(
        cost=lambda code, agent: 9 if "1 + 2" in code else 1, num_candidates=2, max_iterations=1
    )
    selection = runtime(timeout=3).jit(
        agent(int, code, "output = 1 + 2", strategy=strategy), "Three.", detail=True
    )
    assert (selection.output, selection.winner and selection.winner.number) == (3, 2)
    first, second = selection.candidates
    assert first.state == "failed"
    assert said in first.why
    assert "candidate 1 failed when run" in second.why


def test_what_failed_when_run_is_told_and_tried_again() -> None:
    model = ScriptedModel(
        lambda request: program(
            "output = 3" if "instead of int" in request.prompt.text else "output = '3'"
        )
    )
    selection = runtime().jit(
        Agent(int, llm=model, strategy=Strategy(num_candidates=2)), "Three.", detail=True
    )
    assert selection.output == 3
    tries = selection.candidates[0].tries
    assert [one.code for one in tries] == ["output = '3'", "output = 3"]


def test_stopped_candidates_go_on_when_the_accepted_one_fails() -> None:
    class Slow:
        name = "slow"

        async def complete(self, request: Request) -> Any:
            await asyncio.sleep(0.3 * request.sample)
            return await writes("output = 'x'", "output = 12345").complete(request)

    strategy = Strategy(
        cost=lambda code, agent: len(code),
        accept_cost_threshold=12,
        num_candidates=2,
        max_iterations=1,
    )
    selection = runtime().jit(
        Agent(int, llm=cast(Any, Slow()), strategy=strategy), "A number.", detail=True
    )
    assert selection.output == 12345
    assert [candidate.state for candidate in selection.candidates] == ["failed", "won"]


def test_nothing_valid_lists_every_reason_and_keeps_the_candidates() -> None:
    run = runtime()
    strategy = Strategy(num_candidates=2, max_iterations=2)
    with pytest.raises(NoValidCandidate) as caught:
        run.jit(agent(int, "output = 1 / 0", "import os", strategy=strategy), "One.")
    message = str(caught.value)
    for part in (
        "candidate 1, try 1: it failed when run",
        "candidate 1, try 2",
        "candidate 2, try 2: line 1: import of os",
    ):
        assert part in message
    assert run.last is caught.value.selection
    assert run.last is not None
    assert run.last.winner is None


def test_time_is_limited() -> None:
    with pytest.raises(NoValidCandidate, match="Timeout"):
        runtime(timeout=0.5).jit(agent(int, "import time\ntime.sleep(20)\noutput = 1"), "One.")


def test_limits_of_one_s_own_are_kept_besides_the_time() -> None:
    class Noting(Watched):
        async def run(self, code: str, **given: Any) -> Execution:
            self.limits = given["limits"]
            return await super().run(code)

    box = Noting()
    runtime(sandbox=box, timeout=7).jit(agent(int, "output = 1"), "One.")
    assert (box.limits.wall, box.limits.cpu, box.limits.memory_mb) == (7, 7, Limits().memory_mb)
    runtime(sandbox=box, timeout=7, limits=Limits(cpu=2, memory_mb=64)).jit(
        agent(int, "output = 1"), "One."
    )
    assert (box.limits.wall, box.limits.cpu, box.limits.memory_mb) == (7, 2, 64)


# -- tools and inputs ----------------------------------------------------------------


def len_of(text: str) -> int:
    """Count."""
    return len(text)


async def twice(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def fails(text: str) -> str:
    raise OSError("the disk is full")


def test_tools_are_called_outside_the_process_sync_and_async() -> None:
    seen: list[int] = []

    def thread() -> int:
        seen.append(threading.get_native_id())
        return len(seen)

    code = "output = [len_of('four'), twice(number=21), thread(), thread()]"
    asked = agent(list[int], code, tools=[len_of, twice, thread])
    assert runtime().jit(asked, "Use them.") == [4, 42, 1, 2]
    assert len(seen) == 2


def test_other_models_are_tools_too() -> None:
    asked = agent(
        str,
        "output = echo('hello').upper()",
        tools={"echo": LLM(lambda prompt: f"you said {prompt}")},
    )
    assert runtime().jit(asked, "Ask.") == "YOU SAID HELLO"


def test_a_tool_s_error_can_be_handled_by_the_code() -> None:
    code = "try:\n    fails('x')\nexcept Exception as error:\n    output = str(error)"
    assert "the disk is full" in runtime().jit(agent(str, code, tools=[fails]), "Try.")


def leaves() -> None:
    raise SystemExit("bye")


async def leaves_later() -> None:
    await asyncio.sleep(0)
    raise SystemExit


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (leaves, "leaves: it called sys.exit('bye')"),
        (leaves_later, "leaves_later: it called sys.exit()"),
    ],
)
def test_sys_exit_in_a_tool_is_an_error_of_the_tool(tool: Any, said: str) -> None:
    code = f"try:\n    {tool.__name__}()\nexcept Exception as error:\n    output = str(error)"
    asked = agent(str, code, tools=[tool])
    assert runtime().jit(asked, "Try.") == said
    assert asyncio.run(runtime().ajit(asked, "Try.")) == said


def test_keys_that_json_makes_one_of_are_said_and_not_dropped() -> None:
    with pytest.raises(NoValidCandidate, match="two keys that are both '1' in JSON"):
        runtime().jit(agent(dict, "output = {1: 'a', '1': 'b'}"), "Count.")
    code = (
        "try:\n    len_of({1: 'a', '1': 'b'})\nexcept ValueError as error:\n    output = str(error)"
    )
    assert "two keys" in runtime().jit(agent(str, code, tools=[len_of]), "Count.")
    both: dict[object, str] = {1: "a", "1": "b"}
    with pytest.raises(SetupError, match="two keys"):
        runtime().jit(agent(int, "output = len(x)"), "Count.", inputs={"x": both})
    code = "try:\n    both()\nexcept RuntimeError as error:\n    output = str(error)"
    assert "two keys" in runtime().jit(agent(str, code, tools={"both": lambda: both}), "Count.")
    assert runtime().jit(agent(dict, "output = {1: 'a', 2: 'b'}"), "Count.") == {"1": "a", "2": "b"}


def test_prose_is_told_that_it_holds_no_code() -> None:
    model = ScriptedModel(
        lambda request: (
            program("output = 3") if "contains no code" in request.prompt.text else "I cannot help."
        )
    )
    selection = runtime().jit(
        Agent(int, llm=model, strategy=Strategy(num_candidates=1)), "Three.", detail=True
    )
    assert selection.output == 3
    assert "not valid Python" not in str(selection.candidates[0].tries[0].reasons)


def test_inputs_are_variables_of_the_code() -> None:
    asked = agent(int, "output = sum(numbers)", input_schema={"numbers": list[int]})
    assert runtime().jit(asked, "Add.", inputs={"numbers": [1, 2, 3]}) == 6


# -- criteria ------------------------------------------------------------------------


def test_criteria_see_task_and_code_and_their_samples_are_kept() -> None:
    judge = ScriptedModel(
        lambda request: "PASS" if request.schema and "score" not in str(request.schema) else "4"
    )
    strategy = Strategy(
        verify=QualitativeCriteria("It is short.", judge, num_samples=3, min_pass=2),
        cost=QuantitativeCriteria("How complex?", judge, num_samples=2),
        num_candidates=2,
    )
    selection = runtime().jit(
        agent(int, "output = 1", strategy=strategy), "One, please.", detail=True
    )
    assert all('field="task">\nOne, please.' in request.prompt.text for request in judge.requests)
    assert [result.votes_requested for result in selection.candidates[0].results] == [3, 2]
    assert (selection.cost, selection.compared, selection.cost_spread) == (4.0, 2, 0.0)


def test_a_custom_generator_replaces_the_model() -> None:
    def generate(task: str, agent: Agent, feedback: str | None) -> str:
        return f"output = {len(task)}" if feedback else "output = ("

    strategy = Strategy(generate=generate, num_candidates=1)
    assert runtime().jit(Agent(int, strategy=strategy), "four") == 4


def test_every_try_is_heard_as_it_ends() -> None:
    heard: list[tuple[int, Try]] = []
    strategy = Strategy(num_candidates=1, max_iterations=2)
    with pytest.raises(NoValidCandidate):
        runtime(on_try=lambda number, one: heard.append((number, one))).jit(
            agent(int, "(", strategy=strategy), "One."
        )
    assert [(number, one.valid) for number, one in heard] == [(1, False), (1, False)]


def test_a_pydantic_model_describes_the_inputs_by_its_fields() -> None:
    pydantic = pytest.importorskip("pydantic")
    basket = pydantic.create_model("Basket", items=(list[int], ...))
    asked = agent(int, "output = sum(items)", input_schema=basket)
    assert runtime().jit(asked, "Add.", inputs={"items": [1, 2]}) == 3


# -- where it may be called ----------------------------------------------------------


def test_it_works_in_a_notebook_and_in_async_code() -> None:
    async def main() -> tuple[int, int]:
        asked = agent(int, "output = twice(21)", tools=[twice])
        return runtime().jit(asked, "Sync."), await runtime().ajit(asked, "Async.")

    assert asyncio.run(main()) == (42, 42)


def test_cancelling_stops_everything() -> None:
    async def main() -> None:
        asked = agent(int, "import time\ntime.sleep(60)\noutput = 1")
        task = asyncio.create_task(runtime(timeout=60).ajit(asked, "One."))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 50))
