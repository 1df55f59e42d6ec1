"""What ``attack`` prints, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.exporters.bench_shapes import FigureShape


class AttackTextShape(TypedDict):
    """What one text of a family did."""

    text: Annotated[int, "which one of the family, from 1"]
    field: Annotated[str, "the field that it was put into"]
    asked: int
    moved: int
    example: Annotated[str | None, "a row that it moved"]


class AttackFamilyShape(TypedDict):
    """What the texts of one family did."""

    family: str
    control: Annotated[bool, "whether it changes nothing of substance"]
    rows: Annotated[int, "rows that could be moved"]
    moved: Annotated[float, "rows with a better verdict under attack; of controls another"]
    beyond_noise: Annotated[FigureShape, "the share moved, less the share that asking again moves"]
    p_value: Annotated[float | None, "one-sided, held for all families of the run (Holm)"]
    shift: Annotated[FigureShape, "the mean score under attack, less that without"]
    unscored: Annotated[int, "attacked rows without a verdict"]
    failed: Annotated[int, "those of them whose judgment failed: they are left out"]
    texts: Sequence[AttackTextShape]


class ThroughShape(TypedDict):
    """What came through one field."""

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
