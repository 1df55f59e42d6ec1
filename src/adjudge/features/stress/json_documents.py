"""The ``--json`` output of ``adjudge attack`` and ``adjudge drift``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.runs.exporters.documents import Count, Envelope, FigureShape


class AttackTextShape(TypedDict):
    """The effect of one text of a family."""

    text: Annotated[int, "which one of the family, from 1"]
    field: Annotated[str, "the field that it was put into"]
    asked: int
    moved: int
    example: Annotated[str | None, "a row that it moved"]


class AttackFamilyShape(TypedDict):
    """The effect of the texts of one family."""

    family: str
    control: Annotated[bool, "whether it changes nothing of substance"]
    rows: Annotated[int, "rows that could be moved"]
    moved: Annotated[float, "rows with a better verdict under attack; of controls another"]
    beyond_noise: Annotated[FigureShape, "the share moved, less the share that asking again moves"]
    lower_together: Annotated[
        float | None, "lower limit of beyond_noise that holds for all attacks of the run together"
    ]
    p_value: Annotated[float | None, "one-sided, held for all families of the run (Holm)"]
    shift: Annotated[FigureShape, "the mean score under attack, less that without"]
    unscored: Annotated[int, "attacked rows without a verdict"]
    failed: Annotated[int, "those of them whose judgment failed: they are left out"]
    texts: Sequence[AttackTextShape]


class ThroughShape(TypedDict):
    """The attacks that worked in one field."""

    moved: int
    asked: int


class AttackShape(TypedDict):
    """One judge by one criterion with one defence."""

    judge: str
    criteria: str
    defence: Literal["fence", "sandwich", "two-pass"]
    rows: int
    room: Annotated[int, "rows without the best verdict"]
    noise: Annotated[int, "rows with another verdict when they are asked again"]
    unscored: Annotated[int, "rows without a verdict when not attacked"]
    fields: Mapping[str, ThroughShape]
    families: Sequence[AttackFamilyShape]
    grade: Annotated[str, "how far the judge can be moved, in a sentence"]


class DriftShape(TypedDict):
    """One question at all looks."""

    criteria: str
    outcome: Literal["changed", "noise", "cannot tell"]
    evidence: Annotated[
        Sequence[float], "after each look but the first, of the judge looked at: 20 is a risk of 5%"
    ]
    bar: Annotated[float, "from which on the judge is said to have changed"]
    since: Annotated[int | None, "the look at which the bar was reached first"]
    compared: Annotated[int, "anchors with a verdict at first and at the last look"]
    differ: Annotated[int, "those of them whose verdict is another one"]
    means: Annotated[Sequence[float | None], "of the scores, from 0 to 1, at each look"]
    first: Annotated[Count, "option: anchors, at first"]
    last: Count
    reconfigured: Annotated[bool, "whether the judge is set up otherwise than at first"]
    other_judge: Annotated[Sequence[int], "looks at another judge than that of the anchors"]
    sentence: str


class AnchorLookShape(TypedDict):
    """The anchors judged once."""

    number: Annotated[int, "0: when they were chosen"]
    at: float
    models: Annotated[Mapping[str, str], "model that was asked: what its replies name"]


class RenamedShape(TypedDict):
    """A model whose replies name another model than at first."""

    model: str
    before: str
    now: str


class Attacks(Envelope):
    """The output of ``adjudge attack --json``."""

    kind: Literal["attack"]
    summary: Count
    run: str
    level: float
    decisions: Annotated[Sequence[str], "what --fail-over says of each judge"]
    results: Sequence[AttackShape]


class Drifts(Envelope):
    """drift check, drift history."""

    kind: Literal["drift"]
    summary: Count
    edited: Annotated[Sequence[str], "anchors whose text is not the one that was judged"]
    looks: Sequence[AnchorLookShape]
    renamed: Sequence[RenamedShape]
    results: Sequence[DriftShape]
