"""What every public name promises: types that resolve, and one set of first keywords."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator

import pytest

import adjudge
from adjudge.core.domain.multi_results import MultiCriteriaPairwiseInstanceResult
from adjudge.core.domain.results import Result

NOT_ASKING = {"Judge", "BaseDirectJudge", "BasePairwiseJudge", "Cascade", "SqlJudge"} | {
    "DummyDirectJudge",
    "DummyPairwiseJudge",
}
"""Judges that ask no model themselves: base classes, judges by a program, judges made of others."""
PUBLIC = [getattr(adjudge, name) for name in adjudge.__all__]
JUDGES = [
    judge
    for judge in PUBLIC
    if inspect.isclass(judge)
    and issubclass(judge, adjudge.Judge)
    and judge.__name__ not in NOT_ASKING
]


def subclasses_of(parent: type) -> Iterator[type]:
    children: list[type] = parent.__subclasses__()
    for child in children:
        yield child
        yield from subclasses_of(child)


RESULTS = [
    adjudge.MultiCriteriaDirectInstanceResult,
    MultiCriteriaPairwiseInstanceResult,
    *dict.fromkeys(subclasses_of(Result)),
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
    names = {"models", "votes", "language", "temperature", "seed", "max_repairs"}
    assert names <= inspect.signature(judge).parameters.keys()


@pytest.mark.parametrize("result", RESULTS)
def test_every_result_has_the_common_attributes(result: type) -> None:
    names = {*dir(result), *getattr(result, "__dataclass_fields__", ())}
    assert {"verdict", "score", "explanation", "status", "votes"} <= names
