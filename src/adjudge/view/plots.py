"""Plots as inline SVG: no script, no file beside them, colours from the page they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

_WIDTH, _HEIGHT = 640, 230
_SIDE, _BOTTOM, _TOP = 18, 32, 28


def histogram(counts: Sequence[int], edges: Sequence[str], title: str) -> Markup:
    """Bars side by side; ``edges``: what stands under the ends of the bars, one more than there are
    bars.
    """
    highest = max(*counts, 1)
    width = (_WIDTH - 2 * _SIDE) / len(counts)
    spans = [f"{low}–{high}" for low, high in pairwise(edges)]
    bars = [_bar(place, count, highest, width, spans[place]) for place, count in enumerate(counts)]
    ticks = [_text(_SIDE + place * width, _HEIGHT - 10, edge) for place, edge in enumerate(edges)]
    floor = Markup('<line class="axis" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>').format(
        _SIDE, _WIDTH - _SIDE, _HEIGHT - _BOTTOM
    )
    body = Markup("").join([*bars, floor, *ticks])
    told = _told(title, counts, spans)
    return Markup(
        '<svg class="plot" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>'
    ).format(told, _WIDTH, _HEIGHT, body)


def distribution(
    counts: Sequence[int], labels: Sequence[str], title: str, steps: Sequence[float] | None = None
) -> Markup:
    """One bar in parts, the worst score on the left; an empty one where nothing was scored.

    ``steps``: how good each part is, from 0 to 1; by default they rise evenly.
    """
    shades = (
        steps
        if steps is not None
        else [place / max(1, len(counts) - 1) for place in range(len(counts))]
    )
    body = Markup("").join(
        _step(place, counts, labels, shades[place]) for place, count in enumerate(counts) if count
    )
    told = _told(title, counts, labels)
    return Markup(
        '<svg class="distribution" role="img" aria-label="{}" width="100%" height="20">{}</svg>'
    ).format(told, body)


def _step(place: int, counts: Sequence[int], labels: Sequence[str], shade: float) -> Markup:
    box = Markup(
        '<rect class="step" style="--step:{:.3f}" x="{:.2f}%" y="0" width="{:.2f}%" '
        'height="100%"><title>{}</title></rect>'
    )
    before, share = (100 * part / sum(counts) for part in (sum(counts[:place]), counts[place]))
    return box.format(shade, before, share, f"{labels[place]}: {counts[place]} ({share:.0f} %)")


def _bar(place: int, count: int, highest: int, width: float, span: str) -> Markup:
    height = (_HEIGHT - _BOTTOM - _TOP) * count / highest
    left, top = _SIDE + place * width, _HEIGHT - _BOTTOM - height
    box = Markup(
        '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" '
        'rx="2"><title>{}</title></rect>'
    )
    number = _text(left + width / 2, top - 6, str(count)) if count else Markup("")
    return box.format(left + 2, top, width - 4, height, f"{span}: {count}") + number


def _text(x: float, y: float, text: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(x, y, text)


def _told(title: str, counts: Sequence[int], labels: Sequence[str]) -> str:
    return f"{title}: " + ", ".join(
        f"{label} {count}" for label, count in zip(labels, counts, strict=True)
    )
