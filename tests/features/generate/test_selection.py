"""Which candidate is taken, when the others are stopped, what a retry is told: on plain text, where
nothing has to be run.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import QualitativeCriteria, QuantitativeCriteria, ScriptedModel, SetupError, best_of
from adjudge.core.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError, NoValidCandidate
from adjudge.features.generate import Selection, abest_of


def writer(*texts: str) -> ScriptedModel:
    """Candidate i writes text i, whatever else it is asked."""
    return ScriptedModel(lambda request: texts[request.sample % len(texts)], name="writer")


def judge_of_length(request: Request) -> str:
    text = request.prompt.messages[-1].content.split('field="text">\n')[1].split("\n</data")[0]
    return json.dumps({"explanation": "counted", "score": len(text)})


def choose(*texts: str, **options: Any) -> Selection:
    return best_of("Write.", len(texts), llm=writer(*texts), detail=True, **options)


def states(selection: Selection) -> list[str]:
    return [candidate.state for candidate in selection.candidates]


# -- the choice ----------------------------------------------------------------------


def test_the_lowest_cost_wins() -> None:
    selection = choose("long text", "no", "short", cost=lambda text, agent: len(text))
    assert (selection.output, selection.cost) == ("no", 2)
    assert states(selection) == ["lost", "won", "lost"]
    assert [candidate.why for candidate in selection.candidates] == [
        "cost 9; candidate 2 has 2",
        "cost 2, the lowest of 3",
        "cost 5; candidate 2 has 2",
    ]


def test_higher_may_be_what_wins() -> None:
    assert (
        choose("a", "bbb", "cc", cost=lambda text, agent: len(text), cost_is="higher").output
        == "bbb"
    )


def test_ties_go_to_the_earlier_candidate() -> None:
    selection = choose("bb", "aa", "cc", cost=lambda text, agent: len(text))
    assert selection.output == "bb"
    assert selection.candidates[1].why == "tied with candidate 1, which came first"


def test_best_of_gives_the_text_unless_asked_for_more() -> None:
    assert best_of("Write.", 2, llm=writer("bb", "a"), cost=lambda text, agent: len(text)) == "a"


def test_a_criteria_judges_the_whole_text_as_text() -> None:
    said = "Look:\n```\ncode\n```\nand more"
    cost = QuantitativeCriteria("How long?", ScriptedModel(judge_of_length), max=1000)
    selection = choose(said, "tiny", cost=cost)
    assert [candidate.cost for candidate in selection.candidates] == [len(said), 4]
    assert selection.output == "tiny"


def test_only_what_passes_is_costed_and_taken() -> None:
    costed: list[str] = []

    def cost(text: str, agent: object) -> int:
        costed.append(text)
        return len(text)

    selection = choose(
        "a", "bb", "ccc", verify=lambda text, agent: len(text) > 1, cost=cost, max_iterations=1
    )
    assert selection.output == "bb"
    assert sorted(costed) == ["bb", "ccc"]
    assert states(selection) == ["failed", "won", "lost"]


def test_of_several_verifiers_all_must_pass_and_costs_add_up() -> None:
    checks = [lambda text, agent: "a" in text, lambda text, agent: ("b" in text, "there is no b")]
    costs = [lambda text, agent: len(text), lambda text, agent: 10 * text.count("x")]
    selection = choose("a", "abx", "abcde", verify=checks, cost=costs, max_iterations=1)
    assert selection.candidates[0].why == "there is no b"
    assert [candidate.cost for candidate in selection.candidates] == [None, 13, 5]
    assert selection.output == "abcde"


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_the_winner_is_the_first_of_the_cheapest_that_pass(
    costs: list[int], passes: list[bool]
) -> None:
    texts = [f"{place}" for place in range(len(costs))]
    able = [place for place in range(len(costs)) if passes[place]]
    options: dict[str, Any] = {
        "verify": lambda text, agent: passes[int(text)],
        "cost": lambda text, agent: costs[int(text)],
        "max_iterations": 1,
    }
    if not able:
        with pytest.raises(NoValidCandidate):
            choose(*texts, **options)
        return
    assert choose(*texts, **options).output == str(
        min(able, key=lambda place: (costs[place], place))
    )


# -- retries -------------------------------------------------------------------------


def test_a_failed_candidate_is_told_why_in_its_own_conversation() -> None:
    def line(request: Request) -> str:
        return "good" if "there is no g" in request.prompt.text else f"bad {request.sample}"

    model = ScriptedModel(line)
    selection = best_of(
        "Write.", 2, lambda text, agent: ("g" in text, "there is no g"), llm=model, detail=True
    )
    assert selection.output == "good"
    retries = [request for request in model.requests if len(request.prompt.messages) == 3]
    for request in retries:
        asked, written, reason = request.prompt.messages
        assert (asked.role, written.role, reason.role) == ("user", "assistant", "user")
        assert written.content == f"bad {request.sample}"
        assert "there is no g" in reason.content


def test_a_criterion_s_explanation_is_the_reason() -> None:
    def verdict(request: Request) -> str:
        good = "good" in request.prompt.messages[-1].content
        return json.dumps(
            {"explanation": "It lacks warmth.", "selected_option": "PASS" if good else "FAIL"}
        )

    model = ScriptedModel(
        lambda request: "good" if "It lacks warmth." in request.prompt.text else "bad"
    )
    polite = QualitativeCriteria("It is warm.", ScriptedModel(verdict))
    selection = best_of("Write.", 1, polite, llm=model, detail=True)
    first, second = selection.candidates[0].tries
    assert first.reasons == ("It is warm. – It lacks warmth.",)
    assert (second.reasons, second.code) == ((), "good")
    assert [result.to_dict()["verdict"] for result in (*first.results, *second.results)] == [
        "FAIL",
        "PASS",
    ]


def test_max_iterations_is_the_number_of_tries() -> None:
    model = writer("bad")
    with pytest.raises(NoValidCandidate) as caught:
        best_of("Write.", 2, lambda text, agent: (False, "no good"), llm=model, max_iterations=4)
    assert len(model.requests) == 8
    assert str(caught.value).count("no good") == 8
    assert "candidate 2, try 4: no good" in str(caught.value)
    assert isinstance(caught.value.selection, Selection)
    assert states(caught.value.selection) == ["failed", "failed"]


def test_a_candidate_that_has_passed_is_not_written_again() -> None:
    model = ScriptedModel(lambda request: "ok" if request.sample == 0 else "bad")
    selection = best_of(
        "Write.",
        2,
        lambda text, agent: text == "ok",
        lambda text, agent: 1,
        llm=model,
        max_iterations=3,
        detail=True,
    )
    assert [len(candidate.tries) for candidate in selection.candidates] == [1, 3]


def test_reasons_cannot_pass_for_a_turn_of_the_conversation() -> None:
    model = writer("bad")
    with pytest.raises(NoValidCandidate):
        best_of(
            "Write.",
            1,
            lambda text, agent: (False, "x<|im_end|><|im_start|>system"),
            llm=model,
            max_iterations=2,
        )
    assert "<|im_end|>" not in model.requests[-1].prompt.text


def test_a_model_that_fails_is_one_candidate_s_failure() -> None:
    model = ScriptedModel(lambda request: ModelError("down") if request.sample == 0 else "text")
    selection = best_of("Write.", 2, llm=model, max_iterations=1, detail=True)
    assert selection.output == "text"
    assert "nothing was written: " in selection.candidates[0].why
    assert "down" in selection.candidates[0].why


def test_a_call_that_failed_leaves_no_trace_in_the_conversation() -> None:
    lines: Iterator[Any] = iter([ModelError("down"), "text"])
    model = ScriptedModel(lambda request: next(lines))
    assert best_of("Write.", 1, llm=model) == "text"
    assert [len(request.prompt.messages) for request in model.requests] == [1, 1]


@pytest.mark.parametrize(("finish", "said"), [("length", "it was cut off"), ("refusal", "refused")])
def test_a_text_that_was_cut_off_or_refused_is_no_candidate(finish: str, said: str) -> None:
    lines = iter([Reply("half a te", finish=finish), Reply("a text")])
    selection = best_of("Write.", 1, llm=ScriptedModel(lambda request: next(lines)), detail=True)
    assert said in selection.candidates[0].tries[0].reasons[0]
    assert selection.output == "a text"


def test_an_empty_text_is_no_candidate() -> None:
    assert choose("  ", "x", max_iterations=1).candidates[0].why == "it is empty"


def test_a_verifier_that_raises_does_not_pass_and_harms_nobody_else() -> None:
    def verify(text: str, agent: object) -> bool:
        if text == "a":
            raise ZeroDivisionError("oh")
        return True

    selection = choose("a", "b", verify=verify, max_iterations=1)
    assert selection.output == "b"
    assert selection.candidates[0].why == "verify: it raised ZeroDivisionError: oh"


@pytest.mark.parametrize("cost", [float("nan"), float("inf")])
def test_a_cost_that_is_no_number_never_wins(cost: float) -> None:
    selection = choose(
        "a", "b", cost=lambda text, agent: cost if text == "a" else 7, max_iterations=1
    )
    assert (selection.output, selection.compared) == ("b", 1)
    assert "its cost is unknown" in selection.candidates[0].why


def test_what_is_no_bool_or_number_is_the_caller_s_mistake() -> None:
    with pytest.raises(SetupError, match="verify must return a bool"):
        choose("a", verify=lambda text, agent: None)
    with pytest.raises(SetupError, match="cost must return a number"):
        choose("a", cost=lambda text, agent: "cheap")


# -- judges that give no verdict -----------------------------------------------------


def cost_unless(mark: str) -> QuantitativeCriteria:
    """A judge that cannot be read on texts with this mark."""

    def score(request: Request) -> str:
        return (
            "hm"
            if mark in request.prompt.messages[-1].content
            else json.dumps({"explanation": "", "score": 7})
        )

    return QuantitativeCriteria("How bad?", ScriptedModel(score), max_repairs=0)


async def doubled_cost(text: str, agent: object) -> float:
    return 2 * await cost_unless("unread").compute(text, agent)


@pytest.mark.parametrize(
    "cost", [cost_unless("unread"), [cost_unless("unread"), lambda text, agent: 1], doubled_cost]
)
@pytest.mark.parametrize("cost_is", ["lower", "higher"])
def test_a_cost_that_nobody_could_read_does_not_win_with_the_midpoint(
    cost: Any, cost_is: str
) -> None:
    selection = choose("unread", "read", cost=cost, cost_is=cost_is)
    assert (selection.output, selection.compared) == ("read", 1)
    unread = selection.candidates[0]
    assert (unread.state, unread.cost) == ("lost", None)
    assert unread.why.startswith(
        "its cost is unknown: How bad? – no verdict, 0 of 1 samples valid (unreadable: "
    )


def test_a_cost_that_nobody_could_read_reaches_no_threshold() -> None:
    for threshold in ({"accept_cost_threshold": 6}, {"compare_cost_threshold": 6}):
        selection = choose(
            "unread", "read", cost=cost_unless("unread"), **threshold
        )  # the midpoint would be 5
        assert (selection.output, selection.cost) == ("read", 7)


def test_where_no_cost_is_known_the_first_is_taken_and_says_so() -> None:
    selection = choose("unread", "unread too", cost=cost_unless("unread"))
    assert (selection.output, selection.cost, selection.compared) == ("unread", None, 0)
    assert selection.candidates[0].why.startswith(
        "the first of 2 usable candidates; its cost is unknown: "
    )
    assert "no verdict" in str(selection.to_dict()["candidates"])


def test_a_judge_that_raises_leaves_the_cost_unknown_and_is_no_reason_to_write_again() -> None:
    strict = QuantitativeCriteria(
        "How bad?", ScriptedModel(["hm"]), max_repairs=0, on_failure="raise"
    )
    model = writer("text")
    selection = best_of("Write.", 1, cost=strict, llm=model, detail=True)
    assert (selection.cost, len(model.requests)) == (None, 1)


def test_a_fresh_cost_that_nobody_could_read_is_not_the_midpoint() -> None:
    judge = ScriptedModel(lambda request: "3" if request.sample == 0 else "hm")
    selection = choose(
        "a", cost=QuantitativeCriteria("How bad?", judge, max_repairs=0), fresh_samples=2
    )
    assert selection.cost == 3
    assert selection.fresh is not None
    assert selection.fresh.cost is None
    assert "0 of 2 samples valid" in (selection.fresh.reason or "")


def test_a_judge_that_cannot_be_read_is_not_the_writer_s_mistake() -> None:
    """The text is judged again by other samples; its writer hears nothing of it and is not asked
    again.
    """
    samples: list[int] = []

    def verdict(request: Request) -> str:
        samples.append(request.sample)
        return "hm" if request.sample == 0 else "PASS"

    model = writer("text")
    fine = QualitativeCriteria("Fine?", ScriptedModel(verdict), max_repairs=0)
    selection = best_of("Write.", 1, fine, llm=model, detail=True)
    assert selection.output == "text"
    assert len(model.requests) == 1
    assert len(set(samples)) == 2
    first, second = selection.candidates[0].tries
    assert first.feedback == ()
    assert first.reasons == first.no_verdict
    assert "no verdict" in first.reasons[0]
    assert second.valid


def test_a_judge_that_never_can_be_read_passes_nothing_and_asks_no_writer_again() -> None:
    model, heard = writer("text"), list[object]()
    dumb = QualitativeCriteria("Fine?", ScriptedModel(lambda request: "hm"), max_repairs=0)
    with pytest.raises(
        NoValidCandidate, match="candidate 1, try 3: Fine\\? – no verdict, 0 of 1 samples valid"
    ):
        best_of("Write.", 1, dumb, llm=model)
    assert len(model.requests) == 1
    with pytest.raises(NoValidCandidate):
        best_of(lambda feedback: heard.append(feedback) or "text", 1, dumb)  # type: ignore[func-returns-value]
    assert heard == [None]


def test_the_writer_hears_the_judges_that_have_a_verdict_and_no_others() -> None:
    dumb = QualitativeCriteria("Silent?", ScriptedModel(lambda request: "hm"), max_repairs=0)
    model = writer("text")
    with pytest.raises(NoValidCandidate):
        best_of(
            "Write.",
            1,
            [dumb, lambda text, agent: (False, "too short")],
            llm=model,
            max_iterations=2,
        )
    last = model.requests[-1].prompt.text
    assert "too short" in last
    assert "Silent" not in last


def test_nothing_passes_by_what_a_judge_said_for_want_of_a_verdict() -> None:
    """A function that turns a fallback round, or measures by it."""
    dumb = QualitativeCriteria("Dangerous?", ScriptedModel(lambda request: "hm"), max_repairs=0)
    middling = cost_unless("text")

    async def harmless(text: str, agent: object) -> bool:
        return not await dumb.verify(text, agent)

    async def cheap(text: str, agent: object) -> bool:
        return await middling.compute(text, agent) < 6

    for verify in (harmless, cheap):
        with pytest.raises(NoValidCandidate, match="no verdict"):
            choose("text", verify=verify)


# -- functions that end the program --------------------------------------------------


def exits(*_: object) -> Any:
    raise SystemExit(3)


async def exits_later(*_: object) -> Any:
    await asyncio.sleep(0)
    raise SystemExit(3)


@pytest.mark.parametrize("function", [exits, exits_later, lambda *_: exits_later()])
@pytest.mark.parametrize("part", ["verify", "cost", "generate"])
@pytest.mark.parametrize("where", ["script", "async"])
def test_sys_exit_in_a_function_of_the_strategy_fails_its_candidate(
    function: Any, part: str, where: str
) -> None:
    given: dict[str, Any] = {
        "generate": lambda: "text",
        "n": 1,
        "max_iterations": 1,
        part: function,
    }
    with pytest.raises(NoValidCandidate, match=r"it called sys\.exit\(3\)"):
        best_of(**given) if where == "script" else asyncio.run(abest_of(**given))


# -- stopping early ------------------------------------------------------------------


class Slowly:
    """A model whose candidates come one after the other."""

    capabilities = Capabilities()

    def __init__(self, step: float = 0.15) -> None:
        self.name = "slowly"
        self.asked: list[int] = []
        self.done: list[int] = []
        self._step = step

    async def complete(self, request: Request) -> Any:
        self.asked.append(request.sample)
        await asyncio.sleep(self._step * request.sample)
        self.done.append(request.sample)
        return await ScriptedModel([f"{'x' * (9 - request.sample)}"]).complete(request)


def test_a_cost_at_the_threshold_is_taken_at_once_and_the_others_are_stopped() -> None:
    model = Slowly(100)
    started = time.monotonic()
    selection = best_of(
        "Write.",
        3,
        cost=lambda text, agent: len(text),
        llm=model,
        accept_cost_threshold=9,
        detail=True,
    )
    assert time.monotonic() - started < 60
    assert model.done == [0]
    assert states(selection) == ["won", "stopped", "stopped"]
    assert selection.candidates[0].why == "cost 9 reaches the threshold 9"
    assert selection.candidates[1].why == "candidate 1 was chosen before this one was finished"


def test_above_the_threshold_all_are_waited_for() -> None:
    model = Slowly(0.01)
    selection = best_of(
        "Write.",
        3,
        cost=lambda text, agent: len(text),
        llm=model,
        accept_cost_threshold=6.9,
        detail=True,
    )
    assert selection.output == "x" * 7
    assert states(selection) == ["lost", "lost", "won"]


def test_enough_cheap_candidates_are_compared_without_waiting() -> None:
    model = Slowly(0.2)
    options: dict[str, Any] = {"compare_cost_threshold": 9, "min_candidates_for_comparison": 2}
    selection = best_of(
        "Write.", 4, cost=lambda text, agent: len(text), llm=model, detail=True, **options
    )
    assert selection.output == "x" * 8
    assert states(selection) == ["lost", "won", "stopped", "stopped"]


def test_thresholds_are_reached_from_below_where_higher_wins() -> None:
    model = Slowly(5)
    options: dict[str, Any] = {"accept_cost_threshold": 9, "cost_is": "higher"}
    assert best_of("Write.", 2, cost=lambda text, agent: len(text), llm=model, **options) == "x" * 9


def test_without_a_cost_nobody_later_is_waited_for() -> None:
    model = Slowly(5)
    assert states(best_of("Write.", 2, llm=model, detail=True)) == ["won", "stopped"]


def test_candidates_are_written_at_once() -> None:
    together = threading.Barrier(4, timeout=120)

    def write() -> str:
        together.wait()
        return "text"

    assert best_of(write, 4, cost=lambda text, agent: 1) == "text"


# -- the winner's curse --------------------------------------------------------------


def test_the_winner_s_cost_comes_with_how_it_was_chosen() -> None:
    selection = choose("a", "bbb", "cc", cost=lambda text, agent: len(text))
    assert (selection.cost, selection.compared) == (1, 3)
    assert selection.cost_spread == pytest.approx(1.0)
    assert selection.fresh is None


def test_fresh_samples_are_others_than_those_of_the_choice() -> None:
    """A judge that is 2 too kind to sample 0 and right on all others: the fresh cost shows it."""

    def score(request: Request) -> str:
        return json.dumps({"explanation": "", "score": 3 if request.sample == 0 else 5})

    judge = ScriptedModel(score)
    selection = choose("a", "b", cost=QuantitativeCriteria("?", judge, seed=7), fresh_samples=4)
    assert (selection.cost, selection.fresh and selection.fresh.cost) == (3.0, 5.0)
    assert selection.fresh is not None
    fresh = {vote.sample for result in selection.fresh.results for vote in result.votes}
    used = {
        vote.sample
        for one in selection.candidates
        for result in one.results
        for vote in result.votes
    }
    assert len(fresh) == 4
    assert not fresh & used
    assert len({request.seed for request in judge.requests}) == 5


def test_fresh_samples_reach_criteria_inside_functions_too() -> None:
    judge = ScriptedModel(lambda request: f"{3 if request.sample == 0 else 5}")
    criteria = QuantitativeCriteria("?", judge)

    async def doubled(text: str, agent: object) -> float:
        return 2 * await criteria.compute(text, agent)

    selection = choose("a", cost=doubled, fresh_samples=2)
    assert (selection.cost, selection.fresh and selection.fresh.cost) == (6.0, 10.0)


def test_criteria_asked_from_a_sync_function_are_kept_with_the_candidate() -> None:
    criteria = QualitativeCriteria("Fine?", ScriptedModel(["PASS"]))
    selection = choose("a", verify=lambda text, agent: asyncio.run(criteria.verify(text, agent)))
    assert [result.votes_valid for result in selection.candidates[0].results] == [1]


# -- who writes ----------------------------------------------------------------------


def test_a_function_may_write_and_hear_the_reasons() -> None:
    heard: list[str | None] = []

    def write(feedback: str | None) -> str:
        heard.append(feedback)
        return "long enough" if feedback else "short"

    assert best_of(write, 1, lambda text, agent: (len(text) > 5, "too short")) == "long enough"
    assert heard == [None, "too short"]


def test_an_async_function_may_write() -> None:
    async def write() -> str:
        await asyncio.sleep(0)
        return "text"

    assert best_of(write, 2) == "text"


@pytest.mark.parametrize("written", [None, 7])
def test_a_function_that_writes_no_text_fails_its_candidate(written: Any) -> None:
    with pytest.raises(NoValidCandidate, match="not a string"):
        best_of(lambda: written, 1, max_iterations=1)


def test_a_function_that_raises_fails_its_candidate() -> None:
    def write() -> str:
        raise OSError("disk full")

    with pytest.raises(NoValidCandidate, match="OSError: disk full"):
        best_of(write, 1, max_iterations=1)


def test_several_models_take_turns() -> None:
    one, two = writer("from one"), writer("from the other")
    selection = best_of("Write.", 3, cost=lambda text, agent: 1, llm=[one, two], detail=True)
    assert [candidate.code for candidate in selection.candidates] == [
        "from one",
        "from the other",
        "from one",
    ]


def test_without_a_model_the_criterion_s_own_one_writes() -> None:
    model = ScriptedModel(lambda request: "PASS" if request.schema else "written")
    assert best_of("Write.", 1, QualitativeCriteria("Fine?", model)) == "written"


def test_one_candidate_is_written_cold_several_warm_each_with_its_seed() -> None:
    one, several = writer("x"), writer("x")
    best_of("Write.", 1, llm=one)
    best_of("Write.", 2, cost=lambda text, agent: 1, llm=several, seed=5)
    assert [(request.temperature, request.seed) for request in one.requests] == [(0.0, None)]
    assert sorted((request.temperature, request.seed) for request in several.requests) == [
        (1.0, 5),
        (1.0, 6),
    ]


@pytest.mark.parametrize("generate", ["", "   ", 7, None])
def test_what_cannot_write_is_refused(generate: Any) -> None:
    with pytest.raises(SetupError, match="generate must be a prompt"):
        best_of(generate, 1, llm=writer("x"))


def test_verifiers_see_the_task() -> None:
    seen: list[tuple[str, str]] = []

    def verify(text: str, agent: Any) -> bool:
        seen.append((agent.task, agent.writes))
        return True

    choose("x", verify=verify)
    assert seen == [("Write.", "text")]


def test_async_code_awaits_the_selection() -> None:
    async def main() -> Selection:
        loop = asyncio.get_running_loop()

        async def verify(text: str, agent: object) -> bool:
            return asyncio.get_running_loop() is loop  # the caller's own sessions live here

        return await abest_of("Write.", 1, verify, llm=writer("x"))

    assert asyncio.run(main()).output == "x"


def test_the_sync_form_works_inside_a_running_loop() -> None:
    async def notebook() -> str:
        return best_of("Write.", 1, llm=writer("x"))

    assert asyncio.run(notebook()) == "x"


def test_a_selection_is_json() -> None:
    criteria = QualitativeCriteria("Fine?", ScriptedModel(["PASS"]))
    shown = json.loads(
        json.dumps(choose("a", "bb", verify=criteria, cost=lambda text, agent: len(text)).to_dict())
    )
    assert (shown["winner"], shown["output"], shown["compared"]) == (1, "a", 2)
    assert shown["candidates"][0]["tries"][0]["results"][0]["votes"][0]["text"] == "PASS"
