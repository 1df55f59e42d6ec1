"""What EvalAssist calls otherwise, or gives where we take something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaExample,
    CriteriaOption,
    DirectInstanceResult,
    DirectJudge,
    Instance,
    Outcome,
    PairwiseInstanceResult,
    PairwiseJudge,
    RunError,
    ScriptedModel,
    SetupError,
    Status,
)
from adjudge.features.compat.judges.types import InstanceResult

OPTIONS = [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
SHOWN = Instance({"response": "Turn left."})
UNREADABLE = ScriptedModel(["I would rather not say, or rather: hm."])


class Engine:
    """As unitxt's engines are: callable, with ``infer`` and an id. It remembers
    what it was asked.
    """

    def __init__(self, *, use_cache: bool = False) -> None:
        self.use_cache = use_cache
        self.asked: list[dict[str, object]] = []

    def infer(self, dataset: list[dict[str, object]], return_meta_data: bool = False) -> list[str]:
        self.asked += dataset
        return ['{"explanation": "It does.", "selected_option": "Yes"}' for _ in dataset]

    def get_engine_id(self) -> str:
        return "llama-3-3-70b"

    def __call__(self, dataset: list[dict[str, object]]) -> list[str]:
        raise AssertionError("an engine is not a function of a prompt")


def test_a_result_of_an_earlier_judgment_stands_as_an_example() -> None:
    (earlier,) = DirectJudge(ScriptedModel())(["Turn left."], "Is the text short?")
    criteria = Criteria("short", "Is the text short?", OPTIONS, examples=[earlier])  # type: ignore[list-item]
    assert criteria.examples == (
        CriteriaExample({"response": "Turn left."}, "Yes", earlier.explanation or ""),
    )
    (result,) = DirectJudge(ScriptedModel())(["Go on."], criteria)
    assert "Turn left." in str(result.metadata["prompt"])


def test_an_instance_result_says_the_same_as_an_example() -> None:
    theirs = InstanceResult(instance=SHOWN, selected_option="No", explanation="It is too short.")
    one = Criteria("short", "Is the text short?", OPTIONS, examples=[theirs])  # type: ignore[list-item]
    other = Criteria(
        "short",
        "Is the text short?",
        OPTIONS,
        examples=[CriteriaExample(SHOWN.fields, "No", "It is too short.")],
    )
    assert (one, one.identity) == (other, other.identity)


@pytest.mark.parametrize(("chosen", "label"), [(0, "A"), (1, "B"), ("tie", "tie")])
def test_the_place_of_the_better_response_becomes_its_label(chosen: int | str, label: str) -> None:
    instance = Instance({"response": ["Left.", "Right."]})
    compared = PairwiseInstanceResult(instance=instance, selected_option=chosen)  # type: ignore[arg-type]
    criteria = Criteria("way", "Which shows the way?", examples=[compared])  # type: ignore[list-item]
    assert criteria.examples[0].option == label
    (result,) = PairwiseJudge(ScriptedModel())([["Go.", "Stay."]], criteria)
    assert result.status is Status.SCORED


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (DirectInstanceResult(selected_option="Yes"), "has no instance"),
        (DirectInstanceResult(instance=SHOWN), "has no selected_option"),
        (
            DirectInstanceResult(instance=SHOWN, selected_option="Perhaps"),
            "'Perhaps', which is not one of Yes, No",
        ),
        (
            {"fields": {}, "option": "Yes"},
            "must be a CriteriaExample or the result of a judgment, not dict",
        ),
    ],
)
def test_what_cannot_be_an_example_is_refused_by_name(example: object, said: str) -> None:
    with pytest.raises(SetupError, match=said) as refused:
        Criteria("short", "Is the text short?", OPTIONS, examples=[example])  # type: ignore[list-item]
    assert "'short'" in str(refused.value)


def test_on_generation_failure_random_is_marked() -> None:
    (result,) = DirectJudge(UNREADABLE, on_generation_failure="random", max_repairs=0)(
        ["Left."], "Is it short?"
    )
    assert (result.status, result.fallback) == (Status.FAILED, "random")
    assert result.option in ("Yes", "No")


@pytest.mark.parametrize("kind", [DirectJudge, PairwiseJudge])
def test_on_generation_failure_raises(kind: type[DirectJudge] | type[PairwiseJudge]) -> None:
    judge = kind(UNREADABLE, on_generation_failure="raise", max_repairs=0)
    with pytest.raises(RunError, match="no verdict"):
        judge([["Left.", "Right."]] if kind is PairwiseJudge else ["Left."], "Which is shorter?")


def test_both_names_are_one_setting() -> None:
    ours, theirs = (
        DirectJudge("scripted", on_failure="random"),
        DirectJudge("scripted", on_generation_failure="random"),
    )
    assert ours.configuration() == theirs.configuration()
    assert replace(theirs, on_failure="raise").on_failure == "raise"
    with pytest.raises(SetupError, match="two names of the same setting"):
        DirectJudge("scripted", on_failure="raise", on_generation_failure="random")
    with pytest.raises(SetupError, match="on_failure must be one of"):
        DirectJudge("scripted", on_generation_failure="nearest")  # type: ignore[arg-type]


def test_an_engine_of_unitxt_is_a_model() -> None:
    engine = Engine()
    (result,) = DirectJudge(engine)(["Left."], "Is it short?")
    assert (result.option, result.votes[0].model, result.votes[0].outcome) == (
        "Yes",
        "llama-3-3-70b",
        Outcome.OK,
    )
    (asked,) = engine.asked
    assert "Left." in str(asked["source"])


def test_engines_and_models_of_ours_make_a_panel() -> None:
    (result,) = DirectJudge([Engine(), "scripted"])(["Left."], "Is it short?")
    assert [vote.model for vote in result.votes] == ["llama-3-3-70b", "scripted"]


def test_an_engine_that_keeps_its_replies_has_one_vote() -> None:
    assert DirectJudge(Engine(use_cache=True))(["Left."], "Is it short?")[0].option == "Yes"
    with pytest.raises(
        SetupError,
        match=r"llama-3-3-70b caches its replies, so all 3 votes .* the same.*use_cache=False",
    ):
        DirectJudge(Engine(use_cache=True), self_consistency=3)
    with pytest.raises(SetupError, match="use_cache=False"):
        AspectCritic(definition="It is short.", models=[Engine(use_cache=True)], strictness=2)  # type: ignore[list-item]
