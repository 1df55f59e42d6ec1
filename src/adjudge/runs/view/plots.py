"""Plots as inline SVG: no extra files, with the colours of the page. They need no script; with
``plots.js`` the tab key stops only once at each plot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from adjudge.messages import render
from adjudge.runs.numbers import percent
from adjudge.runs.view.template import environment

_WIDTH, _HEIGHT = 640, 248
_SIDE, _BOTTOM, _TOP = 18, 32, 46
_MOST_TICKS = 10
MOST_STOPS = 30
"""Pieces of a picture that the tab key stops at without a script. A table has all numbers."""
_FLOW_WIDTH, _FLOW_HEIGHT, _FLOW_SIDE, _FLOW_GAP, _FLOW_NAME = 560, 180, 150, 12, 16
_FLOW_TOP = 24


def histogram(
    counts: Sequence[int], edges: Sequence[str], title: str, links: Sequence[str] | None = None
) -> Markup:
    """Draw adjacent bars. ``edges``: labels of their ends, one more than bars. ``links``: target of
    each bar.
    """
    highest = max(*counts, 1)
    width = (_WIDTH - 2 * _SIDE) / len(counts)
    spans = [f"{low}–{high}" for low, high in pairwise(edges)]
    drawn = [place for place, count in enumerate(counts) if count]
    bars = [
        piece(
            number,
            (label := f"{spans[place]}: {counts[place]}"),
            _bar(place, counts[place], highest, width, label),
            link=links[place] if links else "",
        )
        for number, place in enumerate(drawn)
    ]
    # rounded up: never more ticks than fit
    every = -(-len(counts) // _MOST_TICKS)
    ticks = [
        _text(_SIDE + place * width, _HEIGHT - 10, edge)
        for place, edge in enumerate(edges)
        if place % every == 0
    ]
    floor = Markup('<line class="axis" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>').format(
        _SIDE, _WIDTH - _SIDE, _HEIGHT - _BOTTOM
    )
    return picture("plot", (_WIDTH, _HEIGHT), title, [*bars, floor, *ticks])


def distribution(
    counts: Sequence[int],
    labels: Sequence[str],
    title: str,
    steps: Sequence[float | None] | None = None,
    links: Sequence[str] | None = None,
    *,
    language: str = "en",
) -> Markup:
    """Draw one bar in parts, worst score on the left; empty if nothing was scored.

    ``steps``: how good each part is, from 0 to 1, or None if unknown; by default they increase
    evenly. ``links``: the target of each part.
    """
    shades = (
        steps
        if steps is not None
        else [place / max(1, len(counts) - 1) for place in range(len(counts))]
    )
    total, body, start = sum(counts), Markup(""), 0.0
    for number, place in enumerate(place for place, count in enumerate(counts) if count):
        share = counts[place] / total
        percent_text = render(percent(share), language)
        label = f"{labels[place]}: {counts[place]} ({percent_text})"
        drawn = _step(step_class(shades[place], place), start, share, label)
        body += piece(number, label, drawn, link=links[place] if links else "")
        start += share
    return Markup(
        '<svg class="distribution" role="group" aria-label="{}" width="100%" height="20">{}</svg>'
    ).format(title, body)


def step_class(shade: float | None, place: int = 0) -> str:
    """Return the CSS class for a shade, in tenths, or for the position if there is no shade."""
    return f"p{place % 6}" if shade is None else f"s{round(10 * min(max(shade, 0.0), 1.0))}"


def _step(colour: str, start: float, share: float, label: str) -> Markup:
    is_left = start + share / 2 < 0.5
    return Markup(
        '<rect class="step {}" x="{:.2%}" y="0" width="{:.2%}" height="100%"/>'
        '<text class="told" x="{:.2%}" y="-6" text-anchor="{}">{}</text>'
    ).format(
        *(colour, start, share, start if is_left else start + share),
        *("start" if is_left else "end", label),
    )


def piece(place: int, label: str, drawn: Markup, *, link: str = "") -> Markup:
    """Wrap a part of a picture with a label for pointer and keyboard. ``link``: where it leads."""
    tag = Markup('a href="{}"').format(link) if link else Markup('g role="img"')
    return Markup('<{} class="piece" tabindex="{}" aria-label="{}">{}</{}>').format(
        tag, 0 if place < MOST_STOPS else -1, label, drawn, "a" if link else "g"
    )


def picture(kind: str, size: tuple[float, float], title: str, parts: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="{}" role="group" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}">{}</svg>'
    ).format(kind, title, *size, Markup("").join(parts))


class Range(NamedTuple):
    """A number and its interval."""

    value: float | None
    lower: float | None = None
    upper: float | None = None


def interval(
    range_: Range, label: str, low: float = 0.0, high: float = 1.0, gate: float | None = None
) -> Markup:
    """Draw a dot for the value and a bar for its interval, on a line from ``low`` to ``high``.

    Lines with the same scale appear below each other in a table that contains the numbers.
    ``gate``: the bar of a gate, drawn as a tick.
    """
    parts = [Markup('<line class="axis" x1="0%" x2="100%" y1="9" y2="9"/>')]
    if low < 0 < high:
        parts.append(
            Markup('<line class="axis" x1="{0:.2f}%" x2="{0:.2f}%" y1="1" y2="17"/>').format(
                _percent(0.0, low, high)
            )
        )
    if range_.lower is not None and range_.upper is not None:
        parts.append(
            Markup('<line class="range" x1="{:.2f}%" x2="{:.2f}%" y1="9" y2="9"/>').format(
                _percent(range_.lower, low, high), _percent(range_.upper, low, high)
            )
        )
    if range_.value is not None:
        parts.append(
            Markup('<circle class="bar" cx="{:.2f}%" cy="9" r="4.5"/>').format(
                _percent(range_.value, low, high)
            )
        )
    if gate is not None and low <= gate <= high:
        parts.append(
            Markup('<line class="gate" x1="{0:.2f}%" x2="{0:.2f}%" y1="1" y2="17"/>').format(
                _percent(gate, low, high)
            )
        )
    return Markup(
        '<svg class="interval" role="img" aria-label="{0}" width="100%" height="18">'
        "<title>{0}</title>{1}</svg>"
    ).format(label, Markup("").join(parts))


class Move(NamedTuple):
    """The number of rows that changed from one answer to another."""

    before: str
    after: str
    rows: int


def flow(moves: Sequence[Move], shades: Mapping[str, float | None], title: str) -> Markup:
    """Draw earlier answers on the left and later ones on the right, connected by bands as thick as
    their rows.

    ``shades``: how good each answer is; the best is on top.
    """
    total = sum(change.rows for change in moves)
    order = sorted(
        dict.fromkeys(name for change in moves for name in (change.before, change.after)),
        key=lambda name: (-(shade if (shade := shades.get(name)) is not None else -1.0), name),
    )
    places = {name: place for place, name in enumerate(order)}
    sides = [
        Counter(
            {name: sum(change.rows for change in moves if change[side] == name) for name in order}
        )
        for side in (0, 1)
    ]
    scale = _FLOW_HEIGHT / max(total, 1)
    starts = [_starts(side, order, scale) for side in sides]
    filled: list[Counter[str]] = [Counter(), Counter()]
    bands = []
    ordered = sorted(moves, key=lambda move: (places[move.before], places[move.after]))
    for number, change in enumerate(ordered):
        tops = [
            starts[side][name] + filled[side][name] * scale
            for side, name in enumerate((change.before, change.after))
        ]
        for side, name in enumerate((change.before, change.after)):
            filled[side][name] += change.rows
        colour = step_class(shades.get(change.after))
        bands.append(_band(number, change, tops, change.rows * scale, colour))
    bars = [
        _flow_bar(side, name, sides[side][name], starts[side][name], scale, shades.get(name))
        for side in (0, 1)
        for name in order
        if sides[side][name]
    ]
    height = _FLOW_TOP + _FLOW_HEIGHT + _FLOW_GAP * max(len(order) - 1, 0) + 4
    return picture("flow", (_FLOW_WIDTH, height), title, [*bars, *bands])


def _starts(counts: Mapping[str, int], order: Sequence[str], scale: float) -> dict[str, float]:
    """Return answer → top edge."""
    tops, top = {}, float(_FLOW_TOP)
    for name in order:
        tops[name] = top
        top += counts[name] * scale + _FLOW_GAP
    return tops


def _band(number: int, move: Move, tops: Sequence[float], thick: float, colour: str) -> Markup:
    left_edge, right_edge = _FLOW_SIDE + 12, _FLOW_WIDTH - _FLOW_SIDE - 12
    middle = (left_edge + right_edge) / 2
    path = (
        f"M{left_edge} {tops[0]:.1f} C{middle} {tops[0]:.1f} {middle} {tops[1]:.1f} {right_edge} "
        f"{tops[1]:.1f} V{tops[1] + thick:.1f} C{middle} {tops[1] + thick:.1f} {middle} "
        f"{tops[0] + thick:.1f} {left_edge} {tops[0] + thick:.1f} Z"
    )
    kind = "same" if move.before == move.after else "moved"
    label = f"{move.before} → {move.after}: {move.rows}"
    drawn = Markup(
        '<path class="band {} {}" d="{}"/>'
        '<text class="told" x="{}" y="14" text-anchor="middle">{}</text>'
    ).format(kind, colour, path, _FLOW_WIDTH / 2, label)
    return piece(number, label, drawn)


def _flow_bar(
    side: int, name: str, count: int, top: float, scale: float, shade: float | None
) -> Markup:
    left_edge = _FLOW_WIDTH - _FLOW_SIDE - 12 if side else _FLOW_SIDE
    bar = Markup('<rect class="step {}" x="{}" y="{:.1f}" width="12" height="{:.1f}"/>').format(
        step_class(shade), left_edge, top, max(count * scale, 1.0)
    )
    place = (left_edge + 18, "start") if side else (left_edge - 6, "end")
    text = Markup('<text x="{}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        place[0],
        top + max(count * scale, 1.0) / 2 + 4,
        place[1],
        f"{name if len(name) <= _FLOW_NAME else name[: _FLOW_NAME - 1] + '…'} {count}",
    )
    return bar + text


def plot_style() -> str:
    """Return the style sheet for pictures."""
    return environment("en", html=True).get_template("plots.css").render()


def plot_script() -> str:
    """Return the script for keyboard navigation within pictures."""
    return environment("en", html=True).get_template("plots.js").render()


def _percent(value: float, low: float, high: float) -> float:
    """Return a value's position between two others in percent, clipped to 0 to 100."""
    return 100 * min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)


def _bar(place: int, count: int, highest: int, width: float, label: str) -> Markup:
    height = (_HEIGHT - _BOTTOM - _TOP) * count / highest
    left_edge, top = _SIDE + place * width, _HEIGHT - _BOTTOM - height
    room = Markup('<rect class="room" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>').format(
        left_edge, _TOP, width, _HEIGHT - _BOTTOM - _TOP
    )
    bar = Markup(
        '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>'
    ).format(left_edge + 2, top, width - 4, height)
    above = Markup('<text class="told" x="{}" y="20" text-anchor="end">{}</text>').format(
        _WIDTH - _SIDE, label
    )
    return room + bar + _text(left_edge + width / 2, top - 6, str(count)) + above


def _text(x: float, y: float, text: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(x, y, text)
