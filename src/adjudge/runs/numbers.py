"""Numbers as people read them, with "–" for a missing one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from adjudge.messages import Message, join, plural, term

if TYPE_CHECKING:
    from adjudge.stats.intervals import Interval


class _Ends(NamedTuple):
    lower: float
    upper: float


class HasLimits(Protocol):
    """Anything with the two ends of an interval."""

    @property
    def lower(self) -> float | None: ...

    @property
    def upper(self) -> float | None: ...


def figure(value: float | None, digits: int = 2) -> str:
    """Format a number with ``digits`` decimals; a dash for None."""
    return "–" if value is None else Message(f"{{value:.{digits}f}}", value=float(value))


def limits(interval: HasLimits | None, digits: int = 2) -> str:
    """Format an interval; a dash if it is missing."""
    if interval is None or interval.lower is None or interval.upper is None:
        return "–"
    lower, upper = figure(interval.lower, digits), figure(interval.upper, digits)
    if interval.lower < 0:
        return Message("{lower} to {upper}", lower=lower, upper=upper)
    return Message("{lower}–{upper}", lower=lower, upper=upper)


def mean_text(
    mean: float | None,
    digits: int = 2,
    *,
    between: Sequence[float] | None = None,
    scored: int = 0,
    separator: str = " ",
) -> str:
    """Format a mean; if rows have bounds instead of a score, the range of the mean over all rows.

    ``between``: that range, or None. ``scored``: the number of rows that ``mean`` is about.
    """
    if between is None:
        return figure(mean, digits)
    whole = limits(_Ends(*between), digits)
    if mean is None:
        return whole
    alone = plural(
        "(the {count} scored row alone: {mean})",
        "(the {count} scored rows alone: {mean})",
        scored,
        mean=figure(mean, digits),
    )
    return join(separator, (whole, alone))


def p_value(value: float | None) -> str:
    """Format a p-value with three decimals, tiny ones as <0.001; a dash for None."""
    # it would be rounded to 0.000
    if value is not None and value < 0.0005:
        return Message("<{least:.3f}", least=0.001)
    return figure(value, 3)


def short_figure(value: float) -> Message:
    """Format a number without trailing zeros."""
    return Message("{value:g}", value=float(value))


def axis_end(value: float, *, upper: bool) -> float:
    """Round the end of an axis outwards to two significant digits, so that its label is exact.

    Example: ``axis_end(1234.5, upper=True) == 1300.0``
    """
    if not value or not math.isfinite(value):
        return value
    digits = 1 - math.floor(math.log10(abs(value)))
    # 0.1 + 0.2 is a little more than 0.3, but needs no more room
    scaled = round(value * 10.0**digits, 6)
    return round((math.ceil(scaled) if upper else math.floor(scaled)) / 10.0**digits, digits + 1)


def percent(share: float, digits: Literal[0, 1, 2] = 0) -> Message:
    """Format a share in percent: 67%, or 67 % in Russian."""
    if digits == 2:
        return term("percent", "{share:.2f}%", share=100 * float(share))
    if digits:
        return term("percent", "{share:.1f}%", share=100 * float(share))
    return term("percent", "{share:.0f}%", share=100 * float(share))


def percent_limits(found: Interval) -> tuple[Message, Message]:
    """Format both limits in percent, rounding outwards if they would look equal."""
    lower, upper = 100 * found.lower, 100 * found.upper
    if round(lower) == round(upper):
        lower, upper = math.floor(lower), math.ceil(upper)
    return percent(lower / 100), percent(upper / 100)


def percent_range(found: Interval) -> Message:
    """Format an interval in percent, e.g. 59%–87%."""
    lower, upper = percent_limits(found)
    return Message("{lower}–{upper}", lower=lower, upper=upper)


def level_text(level: float) -> Message:
    """Format a confidence level without rounding it to another one, e.g. 95%, 97.5%, 99.9%."""
    return term("percent", "{level:.6g}%", level=100 * level)
