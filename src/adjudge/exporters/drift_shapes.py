"""What ``drift`` prints, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict


class DriftShape(TypedDict):
    """One question at all looks."""

    criteria: str
    outcome: Literal["changed", "noise", "cannot tell"]
    evidence: Annotated[Sequence[float], "after each look but the first: the e-value"]
    bar: Annotated[float, "from which on the judge is said to have changed"]
    since: Annotated[int | None, "the look at which the bar was reached first"]
    compared: Annotated[int, "anchors with a verdict at first and at the last look"]
    differ: Annotated[int, "those of them whose verdict is another one"]
    means: Annotated[Sequence[float | None], "of the scores, from 0 to 1, at each look"]
    first: Annotated[Mapping[str, int], "option: anchors, at first"]
    last: Mapping[str, int]
    reconfigured: Annotated[bool, "whether the judge is set up otherwise than at first"]
    sentence: str


class AnchorLookShape(TypedDict):
    """The anchors judged once."""

    number: Annotated[int, "0: when they were chosen"]
    at: float
    models: Annotated[Mapping[str, str], "model that was asked: what its replies name"]


class RenamedShape(TypedDict):
    """A model whose replies name another one than at first."""

    model: str
    before: str
    now: str
