"""Numbers over time as inline SVG, like the other plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from adjudge.messages import render
from adjudge.runs.numbers import axis_end, short_figure
from adjudge.runs.view.plots import Range, picture, piece

_WIDTH, _HEIGHT = 640, 216
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 30, 36
_LETTER = 13.0
"""The width that a letter takes on a narrow page."""


class Moment(NamedTuple):
    """The values at one point in time."""

    name: str
    range: Range
    told: str
    """The text next to the point while the pointer is on it."""


def timeline(
    moments: Sequence[Moment],
    title: str,
    *,
    high: float = 1.0,
    bar: float | None = None,
    language: str = "en",
) -> Markup:
    """Draw points with intervals from left to right, on a scale from 0 to ``high``.

    Neighbours are connected if both have a value. ``bar``: draw a horizontal line at this value.
    """
    high = axis_end(high, upper=True)
    parts = [
        Markup('<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(*ends)
        for ends in (
            (_LEFT, _y(0, high), _WIDTH - _RIGHT, _y(0, high)),
            (_LEFT, _y(0, high), _LEFT, _TOP),
        )
    ]
    parts += [
        Markup('<text x="{}" y="{:.1f}" text-anchor="end">0</text>').format(
            _LEFT - 6, _y(0, high) + 4
        ),
        _highest(render(short_figure(high), language)),
    ]
    if bar is not None:
        parts.append(
            Markup('<line class="limit" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>').format(
                _LEFT, _WIDTH - _RIGHT, _y(min(bar, high), high)
            )
        )
    width, last = _WIDTH - _LEFT - _RIGHT - 28, len(moments) - 1
    # a single moment is in the middle
    places = [_LEFT + 14 + width * (place / last if last else 0.5) for place in range(len(moments))]
    for place, moment in enumerate(moments):
        previous_value = moments[place - 1].range.value if place else None
        if previous_value is not None and moment.range.value is not None:
            parts.append(
                Markup(
                    '<line class="trend" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
                ).format(
                    places[place - 1],
                    _y(previous_value, high),
                    places[place],
                    _y(moment.range.value, high),
                )
            )
    parts += [_point(place, moment, places[place], high) for place, moment in enumerate(moments)]
    parts.append(_names(moments, places))
    return picture("plot", (_WIDTH, _HEIGHT), title, parts)


def _highest(number: str) -> Markup:
    """Draw the highest number left of the axis, or above it if it is too wide."""
    if _LETTER * len(number) > _LEFT - 6:
        return Markup('<text x="0" y="{}">{}</text>').format(_TOP - 8, number)
    return Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
        _LEFT - 6, _TOP + 4, number
    )


def _y(value: float, high: float) -> float:
    height = _HEIGHT - _TOP - _BOTTOM
    return _TOP + height * (1 - min(max(value / high, 0.0), 1.0))


def _point(place: int, moment: Moment, x: float, high: float) -> Markup:
    """Draw a point whose label appears above the plot while it has the pointer or focus."""
    shapes = []
    if moment.range.lower is not None and moment.range.upper is not None:
        shapes.append(
            Markup(
                '<line class="range" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>'
            ).format(x, _y(moment.range.lower, high), _y(moment.range.upper, high))
        )
    label = f"{moment.name}: {moment.told}"
    if moment.range.value is not None:
        shapes.append(
            Markup(
                '<circle class="bar" cx="{:.1f}" cy="{:.1f}" r="4"/>'
                '<text class="told" x="{}" y="{}" text-anchor="end">{}</text>'
            ).format(x, _y(moment.range.value, high), _WIDTH - _RIGHT, _TOP - 8, label)
        )
    return piece(place, label, Markup("").join(shapes))


def _names(moments: Sequence[Moment], places: Sequence[float]) -> Markup:
    """Draw as many names below the points as fit."""
    widest = _LETTER * (1 + max((len(moment.name) for moment in moments), default=0))
    every = max(1, math.ceil(widest * (len(moments) - 1) / (_WIDTH - _LEFT - _RIGHT)))
    return Markup("").join(
        Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
            *(
                (_WIDTH, _HEIGHT - 6, "end")
                if x + _LETTER / 2 * len(moment.name) > _WIDTH
                else (x, _HEIGHT - 6, "middle")
            ),
            moment.name,
        )
        for place, (moment, x) in enumerate(zip(moments, places, strict=True))
        if place % every == 0
    )


def titled(plot: Markup, title: str) -> Markup:
    """Return a plot with a caption."""
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(title, plot)
