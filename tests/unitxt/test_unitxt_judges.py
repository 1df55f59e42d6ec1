"""The wrappers of unitxt's judges, on the real package: ``make test-unitxt``."""

from __future__ import annotations

import asyncio
import random
import re
import socket
import subprocess
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    Criteria,
    CriteriaOption,
    DirectJudge,
    Instance,
    ModelError,
    Outcome,
    PairwiseInstance,
    Reply,
    Request,
    ScriptedModel,
    SetupError,
    Status,
    UnitxtDirectJudge,
    UnitxtPairwiseJudge,
    open_model,
)
from adjudge.core.catalog.criteria import criteria as ready_made
from adjudge.core.catalog.criteria import criteria_names
from adjudge.core.gateway.inference_engine import EngineModel
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent, Refused, Unavailable
from adjudge.features.compat import unitxt as wrappers
from adjudge.features.compat import unitxt_criteria
from adjudge.features.compat.unitxt import from_unitxt, to_unitxt

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip(
        "unitxt.llm_as_judge", reason="unitxt is not installed: make test-unitxt"
    )  # this folder has its name
    from unitxt.inference import InferenceEngine
    from unitxt.llm_as_judge_constants import DIRECT_CRITERIA, PAIRWISE_CRITERIA
    from unitxt.llm_as_judge_constants import Criteria as TheirCriteria
    from unitxt.llm_as_judge_constants import CriteriaOption as TheirOption
    from unitxt.llm_as_judge_constants import CriteriaWithOptions as TheirCriteriaWithOptions

pytestmark = pytest.mark.filterwarnings(
    "default"
)  # what unitxt's own dependencies deprecate is not ours to mend
JUDGES_PAGE = Path(__file__).parents[2] / "docs" / "judges" / "unitxt.md"
TONE = Criteria(
    "tone",
    "How friendly is the reply?",
    [
        CriteriaOption("Rude", "it insults", 0.0),
        CriteriaOption("Neutral", "", 0.5),
        CriteriaOption("Friendly", "it is warm", 1.0),
    ],
    context_fields=["user_input"],
)


@pytest.fixture(autouse=True)
def nothing_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No connection to anywhere, and an empty folder to stand in."""

    def refuse(*_: object) -> None:
        raise OSError("a test of unitxt reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.chdir(tmp_path)


def two_steps(choose: Callable[[str], Any]) -> ScriptedModel:
    """Assesses, then says what ``choose`` makes of the first prompt."""

    def script(request: Request) -> Any:
        said = choose(request.prompt.messages[0].content)
        return (
            "It reads well."
            if len(request.prompt.messages) == 1 and not isinstance(said, Exception)
            else said
        )

    return ScriptedModel(script)


def by_mark(prompt: str) -> str:
    """Yes to what is marked good."""
    return "Yes" if "GOOD" in prompt else "No"


def shorter(prompt: str) -> str:
    """The shorter of the two responses."""
    ((first, second),) = re.findall(
        r"Response 1:\n(.*)\nResponse 2:\n(.*)\n\nKeeping", prompt, re.S
    )
    return "1" if len(first) <= len(second) else "Response 2."


class LineEngine(InferenceEngine):  # type: ignore[misc]
    """An engine of unitxt's that knows its lines."""

    label: str = "line"

    def prepare_engine(self) -> None:
        self.asked: list[Any] = []

    def get_engine_id(self) -> str:
        return "line-engine"

    def _infer(self, dataset: Any, return_meta_data: bool = False) -> list[str]:
        self.asked += dataset
        if any("BROKEN" in str(instance["source"]) for instance in dataset):
            raise RuntimeError("the engine broke")
        return ["Yes" if len(instance["source"]) > 1 else "Fine." for instance in dataset]


# -- direct --------------------------------------------------------------------------


def test_a_vote_carries_option_explanation_score_and_cost() -> None:
    model = two_steps(lambda prompt: "Friendly")
    instance = Instance({"user_input": "Tea?", "response": "With pleasure!", "secret": "hidden"})
    (result,) = UnitxtDirectJudge(model)([instance], TONE)
    (vote,) = result.votes
    assert (result.option, result.score, result.explanation, result.feedback) == (
        "Friendly",
        1.0,
        "It reads well.",
        None,
    )
    assert (vote.outcome, vote.text, vote.usage.calls, vote.model) == (
        Outcome.OK,
        "Friendly",
        2,
        "scripted",
    )
    assert result.metadata["prompt"] == model.requests[0].prompt.text
    assert "user_input: Tea?" in str(result.metadata["prompt"])
    assert "hidden" not in str(result.metadata["prompt"])
    assert [len(request.prompt.messages) for request in model.requests] == [1, 3]
    assert {request.temperature for request in model.requests} == {0.0}


def test_options_are_shown_in_the_order_of_the_ballot() -> None:
    first_listed = re.compile(r'Choose an option:\n- "(\w+)"')
    model = two_steps(lambda prompt: str(first_listed.findall(prompt)[0]))
    (result,) = UnitxtDirectJudge(model, check_positional_bias=True)(
        [{"user_input": "Hi?", "response": "Hello."}], TONE
    )
    assert len(model.requests) == 4  # unitxt's own check of positional bias is off
    bias: Any = result.positional_bias
    assert (result.option, bias.result.option) == ("Rude", "Friendly")
    assert bias.detected


def test_what_names_no_option_is_unreadable_and_not_the_nearest() -> None:
    model = two_steps(lambda prompt: "Friendlyish, or Rude")
    (result,) = UnitxtDirectJudge(model)([{"user_input": "Hi?", "response": "Hello."}], TONE)
    (vote,) = result.votes
    assert (result.status, result.option, vote.outcome) == (Status.FAILED, None, Outcome.UNREADABLE)
    assert "unitxt chooses the closest option" in str(vote.reason)


@pytest.mark.parametrize(
    "said", ["yes", '"Yes".', "**Yes**", '{"selected_option": "Yes"}', "Answer: Yes"]
)
def test_other_spellings_of_an_option_are_read(said: str) -> None:
    (result,) = UnitxtDirectJudge(two_steps(lambda prompt: said))(["Hello."], "Is it kind?")
    assert result.option == "Yes"


def test_one_failing_case_harms_no_other() -> None:
    faults = {"BROKEN": ModelError("down"), "DECLINED": Refused("no"), "ODD": "perhaps"}
    model = two_steps(
        lambda prompt: next(
            (fault for mark, fault in faults.items() if mark in prompt), by_mark(prompt)
        )
    )
    texts = [
        f"{mark} {number}"
        for number in range(8)
        for mark in ("GOOD", "BAD", "BROKEN", "DECLINED", "ODD")
    ]
    results = UnitxtDirectJudge(open_model(model, max_retries=0))(texts, "Is it kind?")
    found = Counter(
        (text.split()[0], result.option, result.votes[0].outcome)
        for text, result in zip(texts, results, strict=True)
    )
    assert found == {
        ("GOOD", "Yes", Outcome.OK): 8,
        ("BAD", "No", Outcome.OK): 8,
        ("BROKEN", None, Outcome.MODEL_ERROR): 8,
        ("DECLINED", None, Outcome.REFUSED): 8,
        ("ODD", None, Outcome.UNREADABLE): 8,
    }
    assert {
        result.votes[0].reason
        for result in results
        if result.votes[0].outcome is Outcome.MODEL_ERROR
    } == {"down"}


def test_a_refusal_of_the_first_step_ends_the_vote() -> None:
    model = ScriptedModel([Reply("I will not.", finish="refusal")])
    (result,) = UnitxtDirectJudge(model)(["Hello."], "Is it kind?")
    assert (result.votes[0].outcome, len(model.requests)) == (Outcome.REFUSED, 1)


def test_a_spent_budget_ends_the_judgment_and_is_no_failed_vote() -> None:
    model = two_steps(lambda prompt: "Yes")
    with pytest.raises(BudgetSpent):
        UnitxtDirectJudge(model)(["one", "two"], "Is it fine?", budget=Budget(max_calls=1))
    assert len(model.requests) == 1


def test_calls_go_through_the_chain(fast_retries: None) -> None:
    lines: Iterator[Any] = iter([Unavailable("busy"), "Fine.", Unavailable("busy"), "Yes"])
    model = open_model(ScriptedModel(lambda request: next(lines)))
    (result,) = UnitxtDirectJudge(model)(["Hello."], "Is it kind?")
    assert result.option == "Yes"


def test_samples_differ_in_seed_and_sample() -> None:
    model = two_steps(by_mark)
    (result,) = UnitxtDirectJudge(model, self_consistency=3, seed=7)(["GOOD"], "Is it kind?")
    assert result.votes_valid == 3
    assert Counter(
        (request.seed, request.sample, request.temperature) for request in model.requests
    ) == {
        (7, 0, 1.0): 2,
        (8, 1, 1.0): 2,
        (9, 2, 1.0): 2,
    }


def test_a_panel_of_plain_functions_and_async_ones() -> None:
    async def kind(prompt: str) -> str:
        await asyncio.sleep(0)
        return "Yes"

    def unkind(prompt: str) -> str:
        return "No"

    async def judged() -> Any:
        return await UnitxtDirectJudge([kind, unkind]).aevaluate(["Hello."], "Is it kind?")

    (result,) = asyncio.run(judged())
    assert [(vote.model, vote.verdict.option) for vote in result.votes] == [
        ("kind", "Yes"),
        ("unkind", "No"),
    ]


def test_texts_are_judged_at_the_same_time() -> None:
    together, peak, lock = 0, 0, threading.Lock()

    async def slow(prompt: str) -> str:
        nonlocal together, peak
        with lock:
            together += 1
            peak = max(peak, together)
        await asyncio.sleep(0.3)
        with lock:
            together -= 1
        return by_mark(prompt)

    results = UnitxtDirectJudge(slow)([f"GOOD {number}" for number in range(20)], "Is it kind?")
    assert {result.option for result in results} == {"Yes"}
    assert peak > 2


@pytest.mark.parametrize(
    "text",
    [
        "{x} {{y}} %s",
        '<unitxt-img src="http://evil.test/a.png">',
        "a\n###Response:",
        "",
        "metrics.accuracy",
        "[a=b]",
    ],
)
def test_hostile_texts_and_names_are_only_text(text: str) -> None:
    criteria = Criteria(
        text or "x",
        f"Is it {text}?",
        [CriteriaOption("Yes"), CriteriaOption("No")],
        to_evaluate_field="a/b",
    )
    instance = Instance({"a/b": text, "c/d": text, "e": [text, text]})
    (result,) = UnitxtDirectJudge(two_steps(lambda prompt: "No"))([instance], criteria)
    assert result.option == "No"
    assert text.replace("<unitxt", "< unitxt") in str(result.metadata["prompt"])


def test_several_criteria_and_options_without_scores() -> None:
    (result,) = UnitxtDirectJudge(two_steps(by_mark)).evaluate_multi_criteria(
        ["GOOD"], ["Is it kind?", "Is it short?"]
    )
    assert result.aggregated_score == 1.0


# -- pairwise ------------------------------------------------------------------------


def test_the_winner_is_an_index_and_the_order_is_undone() -> None:
    model = two_steps(shorter)
    asked = PairwiseInstance(responses=["tiny", "much longer"], context={"question": "Which?"})
    judge = UnitxtPairwiseJudge(model, check_positional_bias=True)
    first, second = judge([["a long answer", "short"], asked], "Which is shorter?")
    assert (first.selected_option, second.selected_option) == (1, 0)
    assert first.positional_bias is not None
    assert not first.positional_bias.detected
    assert first.explanation == "It reads well."
    assert len(model.requests) == 8


def test_a_judge_that_takes_the_first_is_found_out() -> None:
    (result,) = UnitxtPairwiseJudge(
        two_steps(lambda prompt: "Response 1"), check_positional_bias=True
    )([["a", "b"]], "Better?")
    assert result.positional_bias is not None
    assert result.positional_bias.detected
    assert result.selected_option == "tie"


def test_three_responses_are_ranked_by_their_contests() -> None:
    model = two_steps(shorter)
    (result,) = UnitxtPairwiseJudge(model)(
        [["the longest of all", "short", "middle one"]], "Which is shorter?"
    )
    assert (result.selected_option, [one.ranking for one in result.per_system_results]) == (
        1,
        [3, 1, 2],
    )
    assert [one.winrate for one in result.per_system_results] == [0.0, 1.0, 0.5]
    assert len(model.requests) == 6


def test_contests_in_a_circle_are_a_tie() -> None:
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}

    def choose(prompt: str) -> str:
        return (
            "1"
            if re.findall(r"Response 1:\n(\w+)\nResponse 2:\n(\w+)", prompt)[0] in beats
            else "2"
        )

    (result,) = UnitxtPairwiseJudge(two_steps(choose))(
        [["rock", "scissors", "paper"]], "Which wins?"
    )
    assert result.selected_option == "tie"


def test_a_reply_that_names_no_response_loses_only_its_contest() -> None:
    model = two_steps(lambda prompt: "both" if "odd" in prompt else shorter(prompt))
    odd, fine = UnitxtPairwiseJudge(model)([["odd", "b"], ["aaa", "b"]], "Which is shorter?")
    assert (odd.status, odd.votes[0].outcome, fine.selected_option) == (
        Status.FAILED,
        Outcome.UNREADABLE,
        1,
    )


# -- engines of unitxt's -------------------------------------------------------------


def test_a_ready_engine_is_asked() -> None:
    engine = LineEngine(use_cache=False)
    good, broken = UnitxtDirectJudge(engine)(["Hello.", "BROKEN"], "Is it kind?")
    assert (good.option, good.votes[0].model, good.explanation) == ("Yes", "line-engine", "Fine.")
    assert broken.votes[0].outcome is Outcome.MODEL_ERROR
    assert broken.votes[0].reason == "line-engine: it raised RuntimeError: the engine broke"


def test_a_ready_engine_stands_in_a_panel_with_our_models() -> None:
    (result,) = UnitxtDirectJudge([LineEngine(use_cache=False), two_steps(by_mark)])(
        ["GOOD"], "Is it kind?"
    )
    assert [vote.model for vote in result.votes] == ["line-engine", "scripted"]
    assert (
        open_model(EngineModel(LineEngine(use_cache=False)), max_concurrency=4).name
        == "line-engine"
    )


def test_an_engine_that_keeps_its_replies_is_not_asked_for_several() -> None:
    engine = LineEngine()
    with pytest.raises(SetupError, match="use_cache=False"):
        UnitxtDirectJudge(engine, self_consistency=3)
    (result,) = UnitxtDirectJudge(engine)(["Hello."], "Is it kind?")
    assert result.option == "Yes"


def test_a_judge_of_ours_asks_a_ready_engine() -> None:
    (result,) = DirectJudge(LineEngine(use_cache=False))(["Hello."], "Is it kind?")
    assert (result.option, result.votes[0].model) == ("Yes", "line-engine")


# -- criteria ------------------------------------------------------------------------


def test_criteria_are_found_by_their_name_in_the_catalogue() -> None:
    found = from_unitxt("metrics.llm_as_judge.direct.criteria.reference_document_faithfulness")
    assert found.option_names
    with pytest.raises(SetupError, match="catalogue has no"):
        from_unitxt("metrics.nothing.of.the.kind")
    with pytest.raises(SetupError, match="is not a criterion"):
        from_unitxt("metrics.accuracy")


@pytest.mark.parametrize("name", criteria_names("direct"))
def test_ready_made_criteria_survive_the_way_there_and_back(name: str) -> None:
    ours = ready_made(name)
    back = from_unitxt(to_unitxt(ours))
    kept = ("name", "description", "options", "to_evaluate_field", "context_fields")
    assert {part: getattr(back, part) for part in kept} == {
        part: getattr(ours, part) for part in kept
    }


@pytest.mark.parametrize(
    "theirs",
    [*DIRECT_CRITERIA, *PAIRWISE_CRITERIA],
    ids=lambda one: f"{type(one).__name__}-{one.name}",
)
def test_criteria_of_unitxt_survive_the_way_here_and_back(theirs: Any) -> None:
    back = to_unitxt(from_unitxt(theirs), pairwise=type(theirs) is TheirCriteria)
    assert type(back) is type(theirs)
    assert (back.name, back.description) == (theirs.name, theirs.description)
    assert getattr(back, "option_map", None) == getattr(theirs, "option_map", None)
    assert [(one.name, one.description) for one in getattr(back, "options", [])] == [
        (one.name, one.description) for one in getattr(theirs, "options", [])
    ]


@pytest.mark.parametrize(
    "theirs",
    [one for one in DIRECT_CRITERIA if one.name in unitxt_criteria._RISKS],
    ids=lambda one: one.name,
)
def test_the_good_end_of_a_risk_scores_1_and_advice_on_it_is_kept(theirs: Any) -> None:
    ours = from_unitxt(theirs)
    assert (ours.option("Yes").score, ours.option("No").score, ours.higher_is_better) == (
        0.0,
        1.0,
        False,
    )
    assert ours.best_options == ("No",)


def test_all_risks_of_unitxt_are_known_and_others_are_named_by_the_caller() -> None:
    assert {one.name for one in DIRECT_CRITERIA} >= unitxt_criteria._RISKS
    mine = TheirCriteriaWithOptions(
        name="rudeness",
        description="Is it rude?",
        options=[TheirOption(name="Yes", description=""), TheirOption(name="No", description="")],
        option_map={"Yes": 1.0, "No": 0.0},
    )
    assert from_unitxt(mine).best_options == ("Yes",)
    assert from_unitxt(mine, higher_is_better=False).best_options == ("No",)


def test_fields_and_scores_of_criteria_are_converted() -> None:
    options = [TheirOption(name="1", description="bad"), TheirOption(name="5", description="good")]
    shared = {"name": "n", "description": "d", "prediction_field": "summary"}
    mapped = from_unitxt(
        TheirCriteriaWithOptions(**shared, context_fields={"Text": "article"}, options=options)
    )
    single = from_unitxt(TheirCriteria(**shared, context_fields="article"))
    assert (mapped.to_evaluate_field, mapped.context_fields, single.context_fields) == (
        "summary",
        ("article",),
        ("article",),
    )
    assert single.option_names == ("A", "B")
    assert to_unitxt(mapped).option_map == {"1": 1.0, "5": 5.0}
    half = Criteria("half", "d", [CriteriaOption("Good", score=1.0), CriteriaOption("Bad")])
    with pytest.raises(SetupError, match="no score for Bad"):
        to_unitxt(half)
    (result,) = UnitxtDirectJudge(two_steps(lambda prompt: "Bad"))(["x"], half)
    assert (result.option, result.score) == ("Bad", None)


# -- the package ---------------------------------------------------------------------


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "unitxt.llm_as_judge", None)
    monkeypatch.setattr(wrappers, "unitxt_package", vars(wrappers)["unitxt_package"].__wrapped__)
    for judge in (UnitxtDirectJudge, UnitxtPairwiseJudge):
        with pytest.raises(SetupError, match=re.escape("pip install 'adjudge[unitxt]'")):
            judge(ScriptedModel())


def test_judging_writes_nothing_and_says_nothing(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    UnitxtDirectJudge(two_steps(by_mark))(["GOOD", "BAD"], "Is it kind?")
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_loading_unitxt_leaves_random_numbers_alone() -> None:
    code = (
        "import random; random.seed(5); from adjudge import ScriptedModel, UnitxtDirectJudge\n"
        "UnitxtDirectJudge(ScriptedModel(['Yes']))(['x'], 'Is it kind?'); print(random.random())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == random.Random(5).random()


def test_the_example_in_the_documents_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "adjudge.core.gateway.opener._by_server",
        lambda id, *_: ScriptedModel(["Fine.", "1"], name=id),
    )
    examples = re.findall(r"```py\n(.*?)```", JUDGES_PAGE.read_text(encoding="utf-8"), re.S)
    assert examples
    for code in examples:
        exec(compile(code, str(JUDGES_PAGE), "exec"), {})
