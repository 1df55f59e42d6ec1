"""Every judge of the package is a frozen dataclass: nothing changes it, and its fields are all
there is to it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any

import pytest

import adjudge
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.engine import ask as asking
from adjudge.core.engine import likelihood
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.direct import BaseDirectJudge, DirectJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.pairwise import BasePairwiseJudge, PairwiseJudge
from adjudge.core.prompts.renderer import render, render_likelihood
from adjudge.features.compat.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.generate.quantitative import QuantitativeCriteria
from adjudge.features.rag.judge import RagEvaluator

TONE = Criteria(
    "tone",
    "What is the tone?",
    [CriteriaOption("Kind", score=1.0), CriteriaOption("Rude", score=0.0)],
)
FIVE = Criteria(
    "tone",
    "What is the tone?",
    [CriteriaOption(f"{grade}", f"grade {grade}") for grade in range(1, 6)],
)
MAKERS: dict[str, Callable[..., Judge[Any, Any]]] = {
    "DirectJudge": DirectJudge,
    "PairwiseJudge": PairwiseJudge,
    "MPrometheusDirectJudge": MPrometheusDirectJudge,
    "MPrometheusPairwiseJudge": MPrometheusPairwiseJudge,
    "AspectCritic": lambda models, **s: AspectCritic("It is kind.", models, **s),
    "QualitativeCriteria": lambda models, **s: QualitativeCriteria("It is kind.", models, **s),
    "QuantitativeCriteria": lambda models, **s: QuantitativeCriteria("How kind?", models, **s),
    "RagEvaluator": RagEvaluator,
}
OPEN = {"Judge", "BaseDirectJudge", "BasePairwiseJudge", "DummyDirectJudge", "DummyPairwiseJudge"}
"""The base of all, those that judges of one's own begin with, and the two that show how."""


def test_every_judge_that_asks_models_is_a_frozen_dataclass() -> None:
    kinds: dict[str, Any] = {
        name: kind
        for name in adjudge.__all__
        if isinstance(kind := getattr(adjudge, name), type) and issubclass(kind, Judge)
    }
    assert {
        name
        for name, kind in kinds.items()
        if name not in OPEN and not kind.__dataclass_params__.frozen
    } == set()
    assert set(kinds) >= OPEN | set(MAKERS) - {"RagEvaluator"}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_judge_cannot_be_changed_and_is_equal_to_one_made_alike(make: Callable[..., Any]) -> None:
    models = [ScriptedModel(), ScriptedModel()]
    judge = make(models, seed=7)
    for one in fields(judge):
        with pytest.raises(FrozenInstanceError):
            setattr(judge, one.name, None)
    assert judge == make(list(models), seed=7) != make(models, seed=8)
    assert hash(judge) == hash(make(list(models), seed=7))
    assert "seed=7" in repr(judge)
    assert "panel" not in repr(judge)
    assert replace(judge, seed=9).seed == 9
    assert list(judge.panel) == ["scripted", "scripted 2"]
    with pytest.raises(TypeError):
        judge.panel["another"] = models[0]


def test_judges_of_the_package_still_count_as_the_kinds_that_the_seed_names() -> None:
    assert isinstance(DirectJudge("scripted"), BaseDirectJudge)
    assert isinstance(MPrometheusPairwiseJudge("scripted"), BasePairwiseJudge)
    assert not isinstance(PairwiseJudge("scripted"), BaseDirectJudge)


class Noting(DirectJudge):
    """Adds an attribute of its own to a judge of the package."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.seen: list[str] = []

    def pool(self, item: Any, votes: Any) -> DirectInstanceResult:
        self.seen.append(item.criteria.name)
        return super().pool(item, votes)


@dataclass(kw_only=True, eq=False)
class Counting(BaseDirectJudge):
    """Changes a field of its own while it works."""

    calls: int = 0

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        self.calls += len(instances)
        return ["Kind" for _ in instances]


def test_subclasses_may_have_attributes_of_their_own() -> None:
    judge, own = Noting(ScriptedModel(), seed=3), Counting(self_consistency=3)
    assert judge(["a"], TONE)[0].option == own(["a"], TONE)[0].option == "Kind"
    assert (judge.seen, own.calls) == (["tone"], 3)
    with pytest.raises(FrozenInstanceError):
        judge.seed = 4  # type: ignore[misc]


# -- what is rendered ----------------------------------------------------------------


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The model of each prompt, as it is written out."""
    found: list[str] = []

    def counted(render: Callable[..., Any]) -> Callable[..., Any]:
        def count(ballot: Any, *rest: Any) -> Any:
            found.append(ballot.model)
            return render(ballot, *rest)

        return count

    monkeypatch.setattr(asking, "render", counted(render))
    monkeypatch.setattr(likelihood, "render_likelihood", counted(render_likelihood))
    return found


def test_two_votes_of_a_comparison_take_two_prompts(rendered: list[str]) -> None:
    model = ScriptedModel()
    (result,) = PairwiseJudge(model, check_positional_bias=True)([["a", "b"]], "Which is kinder?")
    assert len(rendered) == len(model.requests) == result.votes_requested == 2
    assert result.metadata["prompt"] == model.requests[0].prompt.text
    assert len(rendered) == 3


def test_two_votes_on_a_text_take_two_prompts(rendered: list[str]) -> None:
    model = ScriptedModel()
    (result,) = DirectJudge(model, check_positional_bias=True)(["a"], TONE)
    assert len(rendered) == len(model.requests) == 2
    bias = result.positional_bias
    assert bias is not None
    assert isinstance(bias.result, DirectInstanceResult)
    assert [result.metadata["prompt"], bias.result.metadata["prompt"]] == [
        one.prompt.text for one in model.requests
    ]


def test_a_comparison_by_log_probability_takes_one_prompt(rendered: list[str]) -> None:
    from adjudge.core.domain.message import Reply

    model = ScriptedModel(lambda _: Reply("A", logprobs=({"A": -0.1, "B": -2.0, "C": -3.0},)))
    (result,) = PairwiseJudge(model, mode="likelihood")([["a", "b"]], "Which is kinder?")
    assert result.selected_option == 0
    assert len(rendered) == len(model.requests) == 1
    assert result.votes[0].prompt_hash == model.requests[0].prompt.hash


def test_a_result_travels_with_its_prompt() -> None:
    model = ScriptedModel(["[RESULT] 3"])
    (result,) = MPrometheusDirectJudge(model)(["a"], FIVE)
    there = pickle.loads(pickle.dumps(result))
    assert there == result
    assert there.metadata == result.metadata == {"prompt": model.requests[0].prompt.text}
    assert repr(there.metadata) == repr({"prompt": model.requests[0].prompt.text})
    with pytest.raises(KeyError):
        _ = there.metadata["persona"]
