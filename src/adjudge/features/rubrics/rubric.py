"""A rubric: weighted points, groups of points, and gates. Weights are fractions, so sums
are exact.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from adjudge.errors import SetupError

Kind = Literal["met", "graded", "count"]
Combine = Literal["points", "mean", "sum", "penalties", "any", "all", "at most one"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMBINES: tuple[Combine, ...] = get_args(Combine)
LOGICAL: tuple[Combine, ...] = ("any", "all", "at most one")
"""Groups that are met or not as a whole; all others add up."""
MET, NOT_MET, CANNOT_TELL = "met", "not met", "cannot tell"
MOST_POINTS = 2000
_MOST_COUNTED = 100
_DEEPEST = 30


@dataclass(frozen=True, kw_only=True)
class Point:
    """One requirement and its points."""

    id: str
    text: str
    points: Fraction = Fraction(1)
    """Points, or the weight in a mean; below 0 for what should not be there."""
    kind: Kind = "met"
    levels: tuple[str, ...] = ()
    """The levels of a graded point, worst to best."""
    most: int = 0
    """The number that earns all points of a count."""
    tags: tuple[str, ...] = ()
    """Categories of the point."""
    required: bool = False
    """A gate: the row fails if the point is missed, or met if its points are below 0."""
    evidence: bool = False
    """True if the point counts as met only with a quote that is found in the answer."""
    invert: bool = False
    """True if it earns its points by not being met."""
    proposed: bool = field(default=False, repr=False, compare=False)
    """True if a model proposed it and no person has accepted it yet."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The possible answers except "cannot tell"."""
        if self.kind == "graded":
            return tuple(str(number) for number in range(1, len(self.levels) + 1))
        if self.kind == "count":
            return tuple(str(number) for number in range(self.most + 1))
        return (MET, NOT_MET)

    def value(self, answer: str) -> Fraction:
        """Return the value of an answer, from 0 to 1."""
        if self.kind == "met":
            value = Fraction(int(answer == MET))
        else:
            value = Fraction(self.answers.index(answer), len(self.answers) - 1)
        return 1 - value if self.invert else value


@dataclass(frozen=True, kw_only=True)
class Group:
    """Points that are combined into one figure."""

    id: str
    parts: tuple[Point | Group, ...]
    combine: Combine
    points: Fraction = Fraction(1)
    text: str = ""
    tags: tuple[str, ...] = ()
    required: bool = False

    @property
    def positive(self) -> Fraction:
        """The sum of the points above 0, by which the score is divided."""
        return sum((part.points for part in self.parts if part.points > 0), Fraction())

    @property
    def negative(self) -> Fraction:
        """The sum of the points below 0."""
        return sum((part.points for part in self.parts if part.points < 0), Fraction())


Node = Point | Group


@dataclass(frozen=True)
class Unit:
    """A point, or a group that is met as a whole, with its share of the rubric's points."""

    node: Node
    weight: Fraction
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Rubric:
    """The checked rubric of a row: it has points with distinct ids, and can give a score."""

    root: Group
    layout: str = "adjudge"
    """The layout of its file: "adjudge", "healthbench", "paperbench" or "biggen"."""

    def __post_init__(self) -> None:
        _check(self.root)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All points, in the order in which they are written."""
        return tuple(node for node in nodes(self.root) if isinstance(node, Point))

    @cached_property
    def gates(self) -> tuple[Node, ...]:
        """The points and groups that a row must pass."""
        return tuple(node for node in nodes(self.root) if node.required)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The parts that add up to the score, each with its share of the highest score.

        Groups that add up are taken apart: a leaf's share is the product of the shares above it.
        """
        return tuple(_units(self.root, Fraction(1), ()))

    @property
    def adds_up(self) -> bool:
        """True if the score is the sum of the parts' shares, apart from gates on points."""
        groups = [node for node in nodes(self.root) if isinstance(node, Group)]
        return not any(
            group.required or group.combine == "penalties" or group.combine in LOGICAL
            for group in groups
        )

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The categories, in the order in which they first occur."""
        return tuple(dict.fromkeys(tag for unit in self.units for tag in unit.tags))

    @cached_property
    def identity(self) -> str:
        """A hash that is equal for rubrics with the same questions and scoring."""
        return hashlib.sha256(repr(self.root).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def groups(self) -> dict[str, tuple[Group, ...]]:
        """Point → the groups that it is in, the inner one first, without the whole rubric."""
        found: dict[str, tuple[Group, ...]] = {}

        def look(group: Group, above: tuple[Group, ...]) -> None:
            for part in group.parts:
                if isinstance(part, Point):
                    found[part.id] = above
                else:
                    look(part, (part, *above))

        look(self.root, ())
        return found

    def point(self, id: str) -> Point:
        """Return the point with this id."""
        return next(point for point in self.points if point.id == id)


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, in the order in which they are written."""
    yield node
    if isinstance(node, Group):
        for part in node.parts:
            yield from nodes(part)


def divisor(group: Group) -> Fraction:
    """Return the divisor of a group's sum; 0 if the group can have no score."""
    if group.combine == "penalties":
        return -group.negative
    return Fraction(1) if group.combine == "sum" else group.positive


def _units(group: Group, share: Fraction, tags: tuple[str, ...]) -> Iterator[Unit]:
    group_divisor = divisor(group)
    for part in group.parts:
        weight = share * part.points / group_divisor if group_divisor else Fraction()
        below = tuple(dict.fromkeys((*tags, *part.tags)))
        if isinstance(part, Group) and part.combine not in LOGICAL:
            yield from _units(part, weight, below)
        else:
            inner = nodes(part) if isinstance(part, Group) else ()
            yield Unit(
                part, weight, tuple(dict.fromkeys((*below, *(t for n in inner for t in n.tags))))
            )


# -- what cannot be judged is refused before any call ----------------------------------


def _check(root: Group) -> None:
    _check_depth(root)
    points = [node for node in nodes(root) if isinstance(node, Point)]
    if not points:
        raise SetupError("the rubric has no points")
    if len(points) > MOST_POINTS:
        raise SetupError(
            "the rubric has {count} points; at most {most} can be judged",
            count=len(points),
            most=MOST_POINTS,
        )
    ids = Counter(node.id for node in nodes(root) if node is not root)
    if twice := next((id for id, count in ids.items() if count > 1), None):
        raise SetupError("two points have the id {id!r}: give each a different one", id=twice)
    for node in nodes(root):
        _check_point(node) if isinstance(node, Point) else _check_group(node, is_root=node is root)
    _check_gates(root)


def _check_depth(root: Group) -> None:
    level: list[Node] = [root]
    for _ in range(_DEEPEST):
        level = [part for node in level if isinstance(node, Group) for part in node.parts]
        if not level:
            return
    raise SetupError("the rubric is nested deeper than {most} levels", most=_DEEPEST)


def _check_point(point: Point) -> None:
    if not point.text.strip():
        raise SetupError("point {id}: its text is empty", id=point.id)
    if point.kind == "graded" and len(point.levels) < 2:
        raise SetupError("point {id}: a graded point needs two levels or more", id=point.id)
    if point.kind == "count" and not 1 <= point.most <= _MOST_COUNTED:
        raise SetupError(
            "point {id}: a count needs 'most', a whole number from 1 to {most}",
            id=point.id,
            most=_MOST_COUNTED,
        )
    if point.kind != "graded" and point.levels:
        raise SetupError("point {id}: only a graded point has levels", id=point.id)


def _check_group(group: Group, *, is_root: bool) -> None:
    if not group.parts:
        raise SetupError("group {id} has no points", id=group.id)
    if group.combine in ("mean", *LOGICAL) and group.negative:
        raise SetupError(
            "group {id}: in a group that combines by {combine!r} no points may be below 0; "
            "use 'invert' for a point that should not be met, or combine: points",
            id=group.id,
            combine=group.combine,
        )
    if group.combine == "penalties" and group.positive:
        raise SetupError(
            "group {id}: combine: penalties works only if all points are below 0", id=group.id
        )
    if group.combine == "at most one" and any(
        isinstance(part, Point) and part.kind != "met" for part in group.parts
    ):
        raise SetupError(
            "group {id}: 'at most one' works only with points that are met or not, not with "
            "graded or counted ones",
            id=group.id,
        )
    if divisor(group) or group.combine in LOGICAL:
        return
    if is_root:
        raise SetupError("the rubric cannot give a score, because no point is worth more than 0")
    raise SetupError(
        "group {id} cannot give a score, because no point in it is worth more than 0", id=group.id
    )


def _check_gates(root: Group) -> None:
    """Raise a SetupError if no answer can pass all gates."""
    for node in nodes(root):
        if isinstance(node, Group) and node.combine == "at most one" and node.required:
            required_ids = [part.id for part in node.parts if part.required]
            if len(required_ids) > 1:
                raise SetupError(
                    "group {id}: {points} are required, and at most one of them may be met: no "
                    "answer can pass",
                    id=node.id,
                    points=", ".join(required_ids),
                )
    texts: dict[str, bool] = {}
    for node in nodes(root):
        if isinstance(node, Point) and node.required:
            wanted_met = (node.points >= 0) != node.invert
            normalized = " ".join(node.text.casefold().split())
            if texts.setdefault(normalized, wanted_met) != wanted_met:
                raise SetupError(
                    "point {id}: the same text is required to be met and not to be met: no answer "
                    "can pass",
                    id=node.id,
                )
