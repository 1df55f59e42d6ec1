"""Scatter plots of two numbers per thing, as inline SVG like the other plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from adjudge.runs.numbers import axis_end, short_figure
from adjudge.runs.view.plots import Range, picture, piece

_WIDTH, _HEIGHT = 360, 302
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 6, 42, 44
_INSIDE = 14
"""The distance from an axis to the first values."""
_LONGEST = 46
"""Characters of a name above the plot."""


class Axis(NamedTuple):
    """An axis: title, ends and ticks."""

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]

    def share(self, value: float) -> float:
        """Return a value's position between the ends, from 0 to 1."""
        return min(max((value - self.low) / ((self.high - self.low) or 1.0), 0.0), 1.0)


class PlotPoint(NamedTuple):
    x: float
    y: Range
    name: str
    told: str
    """Its numbers: with the name, what is told when one points at it or comes to it by keys."""
    mark: str = ""
    """A short text shown next to it."""
    radius: float = 5.0


def axis(title: str, low: float, high: float, language: str = "en") -> Axis:
    """Return an axis with both ends labelled, by two significant digits."""
    low, high = axis_end(low, upper=False), axis_end(high, upper=True)
    ends = [(end, short_figure(end).render(language)) for end in (low, high)]
    return Axis(title, low, high, ends)


def plane(
    points: Sequence[PlotPoint],
    title: str,
    right: Axis,
    up: Axis,
    *,
    joined: bool = False,
    diagonal: bool = False,
) -> Markup:
    """Draw points with vertical intervals.

    ``joined``: connect neighbouring points. ``diagonal``: draw the line of equal values.
    """

    def x(value: float) -> float:
        width = _WIDTH - _LEFT - _RIGHT - 2 * _INSIDE
        return _LEFT + _INSIDE + width * right.share(value)

    def y(value: float) -> float:
        height = _HEIGHT - _TOP - _BOTTOM - 2 * _INSIDE
        return _HEIGHT - _BOTTOM - _INSIDE - height * up.share(value)

    parts = [
        _line("axis", _LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM),
        _line("axis", _LEFT, _HEIGHT - _BOTTOM, _LEFT, _TOP),
        *(_text(x(value), _HEIGHT - _BOTTOM + 17, text) for value, text in right.ticks),
        *(_text(_LEFT - 6, y(value) + 4, text, "end") for value, text in up.ticks),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, right.title),
        Markup('<text class="up" x="4" y="{}">{}</text>').format(_TOP - 12, up.title),
    ]
    if diagonal:
        parts.append(_line("axis", x(right.low), y(up.low), x(right.high), y(up.high)))
    for point, next_point in pairwise(points if joined else ()):
        if point.y.value is not None and next_point.y.value is not None:
            parts.append(
                _line("trend", x(point.x), y(point.y.value), x(next_point.x), y(next_point.y.value))
            )
    for place, point in enumerate(points):
        drawn = []
        if point.y.lower is not None and point.y.upper is not None:
            drawn.append(_line("range", x(point.x), y(point.y.lower), x(point.x), y(point.y.upper)))
        if point.y.value is not None:
            drawn += _dot(point, x(point.x), y(point.y.value))
        label = f"{point.name}: {point.told}"
        parts.append(piece(place, label, Markup("").join([*drawn, _label(point)])))
    return picture("plane", (_WIDTH, _HEIGHT), title, parts)


def _dot(point: PlotPoint, x: float, y: float) -> Iterator[Markup]:
    yield Markup('<circle class="bar" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>').format(
        x, y, point.radius
    )
    if point.mark:
        late = x > _WIDTH - _RIGHT - 24
        offset = -point.radius - 3 if late else point.radius + 3
        yield _text(x + offset, y - 4, point.mark, "end" if late else "start")


def _label(point: PlotPoint) -> Markup:
    """Draw the label above the plot, which is visible while the pointer is on the point."""
    name = point.name if len(point.name) <= _LONGEST else point.name[: _LONGEST - 1] + "…"
    return Markup(
        '<g class="told"><text x="4" y="13">{}</text><text x="4" y="30">{}</text></g>'
    ).format(name, point.told)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, x1, y1, x2, y2
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x, y, anchor, text
    )
