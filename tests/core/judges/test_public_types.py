"""What every public name promises: types that resolve, and one set of first keywords."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator

import pytest

import adjudge

JUDGES = [
    adjudge.AgentEvaluator,
    adjudge.AspectCritic,
    adjudge.DirectJudge,
    adjudge.EvidenceJudge,
    adjudge.MPrometheusDirectJudge,
    adjudge.MPrometheusPairwiseJudge,
    adjudge.PairwiseJudge,
    adjudge.QualitativeCriteria,
    adjudge.QuantitativeCriteria,
    adjudge.RagEvaluator,
    adjudge.UnitxtDirectJudge,
    adjudge.UnitxtPairwiseJudge,
]
RESULTS = [
    adjudge.AspectResult,
    adjudge.DirectInstanceResult,
    adjudge.MultiCriteriaDirectInstanceResult,
    adjudge.PairwiseInstanceResult,
    adjudge.RagResult,
]


def public_callables() -> Iterator[object]:
    for name in adjudge.__all__:
        value = getattr(adjudge, name)
        if callable(value):
            yield value
        if inspect.isclass(value):
            yield value.__init__
            yield from (
                member
                for member_name, member in inspect.getmembers(value, inspect.isfunction)
                if member_name[0] != "_"
            )


def test_type_hints_of_every_public_callable_resolve() -> None:
    checked = [typing.get_type_hints(value) for value in public_callables()]
    assert len(checked) > 300


@pytest.mark.parametrize("judge", JUDGES)
def test_every_judge_takes_models_and_votes(judge: type) -> None:
    assert {"models", "votes", "language", "seed"} <= inspect.signature(judge).parameters.keys()


@pytest.mark.parametrize("result", RESULTS)
def test_every_result_has_the_common_attributes(result: type) -> None:
    names = {*dir(result), *getattr(result, "__dataclass_fields__", ())}
    assert {"verdict", "score", "explanation", "status", "votes"} <= names
