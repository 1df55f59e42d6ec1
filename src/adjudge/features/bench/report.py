"""A benchmark of judges as tables, as a Markdown page and as a single HTML page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from adjudge.features.bench.benchmark import AmongPeople, BenchedJudge, Benchmark, Ranking
from adjudge.messages import Message, join, plural, render, term
from adjudge.runs.numbers import figure, limits, percent, short_figure
from adjudge.runs.terms import figure_title
from adjudge.runs.view.plane import Axis, Point, axis, plane
from adjudge.runs.view.plots import Range, interval
from adjudge.runs.view.template import environment
from adjudge.stats.estimate import Estimate

_WIDE = 20
"""How many times as much the dearest judge costs where costs are shown by powers of ten."""
SHOWN = 50
"""Disagreements that a page lists of each judge."""
_NOTHING = "–"
Cells = Sequence[str]


def _share(one: Estimate) -> str:
    return figure(one.value, 3)


def _percent(one: Estimate) -> str:
    return _NOTHING if one.value is None else percent(one.value, 1)


def _failed(one: BenchedJudge) -> Message:
    return Message("{failed} of {rows}", failed=one.failed, rows=one.rows)


def _cost(one: BenchedJudge) -> str:
    if one.effort.unpriced and one.effort.calls:
        return Message("not known")
    per = one.effort.usd_per_1000
    return _NOTHING if per is None else Message("${cost:.2f}", cost=float(per))


def _time(one: BenchedJudge) -> str:
    seconds = one.effort.seconds
    return _NOTHING if seconds is None else Message("{seconds:.2f} s", seconds=float(seconds))


def against_best(one: BenchedJudge) -> str:
    """Whether the best judge is better, in words."""
    if one.rank == 1:
        return Message("best")
    if one.told_apart is None:
        return _NOTHING
    return Message("worse") if one.told_apart else Message("cannot tell")


_COLUMNS: Mapping[Message, Callable[[BenchedJudge], str]] = {
    Message("rank"): lambda one: str(one.rank),
    Message("judge"): lambda one: one.judge,
    Message("agreement"): lambda one: _share(one.agreement),
    Message("interval"): lambda one: limits(one.agreement, 3),
    Message("kappa"): lambda one: _share(one.kappa),
    Message("vs the best"): against_best,
    Message("one vote"): lambda one: _share(one.single_vote),
    Message("consistency"): lambda one: _share(one.consistency),
    Message("order effect"): lambda one: _percent(one.order_effect),
    Message("confidence error"): lambda one: _share(one.confidence_error),
    term("status", "failed"): _failed,
    Message("per 1000 rows"): _cost,
    Message("a row takes"): _time,
}
_KEPT = ("rank", "judge", "agreement", "interval", "failed")
EXPLAINED: Mapping[str, Message] = {
    "agreement": Message(
        "share of labelled rows on which judge and people agree; of numbers, Spearman's correlation"
    ),
    "kappa": Message("Cohen's kappa: agreement beyond what chance would give"),
    "vs the best": Message(
        "paired over the rows that both decided; all pairs of judges are allowed for (Bonferroni)"
    ),
    "one vote": Message("agreement of single votes, before they are pooled"),
    "consistency": Message("how often two votes on the same question agree"),
    "order effect": Message("verdicts that turn when the order is reversed"),
    "confidence error": Message("how far stated confidence is from being right (ECE)"),
    "failed": Message("rows without a verdict"),
    "per 1000 rows": Message("what a thousand rows would cost, every vote asked"),
    "a row takes": Message("the votes of a row one after the other"),
}


def table_of(ranking: Ranking) -> tuple[list[str], list[Cells]]:
    """Headings and a line per judge; what no judge has is left out."""
    cells = {name: [column(one) for one in ranking.judges] for name, column in _COLUMNS.items()}
    single = all(
        one.single_vote.value == one.agreement.value or one.single_vote.value is None
        for one in ranking.judges
    )
    empty = [
        name
        for name, values in cells.items()
        if name not in _KEPT and set(values) <= {_NOTHING, "best"}
    ]
    left = {*empty, *(["one vote"] if single else [])}
    headings = [name for name in cells if name not in left]
    lines: list[Cells] = [
        [cells[name][place] for name in headings] for place in range(len(ranking.judges))
    ]
    return [
        figure_title(ranking.figure)
        if name == "agreement" and ranking.figure != "accuracy"
        else name
        for name in headings
    ], lines


def beside(ranking: Ranking) -> list[Message]:
    """What stands beside the ranking: how well people agree, and what judges would reach that read
    nothing.
    """
    found = []
    if tied := ranking.tied:
        names = ", ".join(one.judge for one in tied)
        found.append(
            plural(
                "this {count} judge cannot be told apart: {names}",
                "these {count} judges cannot be told apart: {names}",
                len(tied),
                names=names,
            )
        )
    if (chosen := ranking.chosen) and chosen.value is not None:
        found.append(
            Message(
                "the judge that comes first agrees with people on {value:.3f} of the rows that had "
                "no part in choosing it ({limits})",
                value=float(chosen.value),
                limits=limits(chosen, 3),
            )
        )
    first = ranking.judges[0]
    if first.among_people:
        found.append(_among_people(first.judge, first.among_people))
    reached = [
        Message("{name} {value:.3f}", name=figure_title(name), value=float(one.value))
        for name, one in ranking.baselines.items()
        if one.value is not None
    ]
    if reached:
        found.append(
            Message("judges that read nothing would agree: {reached}", reached=join(", ", reached))
        )
    return found


def _among_people(judge: str, found: AmongPeople) -> Message:
    """How well people agree with each other, and the judge with one of them."""
    people, own = (
        Message("{agreement:.3f}", agreement=agreement)
        if kappa is None
        else Message("{agreement:.3f} (kappa {kappa:.3f})", agreement=agreement, kappa=kappa)
        for agreement, kappa in (
            (found.agreement, found.kappa),
            (found.judge_agreement, found.judge_kappa),
        )
    )
    return Message(
        "two people ({people} in all) agree with each other in {agreement}; on the same rows, "
        "{judge} agrees with one of them in {own}",
        people=found.people,
        agreement=people,
        judge=judge,
        own=own,
    )


class PricedJudge(NamedTuple):
    """What a judge costs for a thousand rows, and how well it agrees with people."""

    rank: int
    name: str
    usd: float
    agreement: Range


def cost_plot(judges: Sequence[PricedJudge], language: str) -> Markup:
    """Cost to the right, agreement upwards, each judge by its rank. Nothing for fewer than two
    judges.
    """
    if len(judges) < 2:
        return Markup("")
    costs = [one.usd for one in judges]
    is_wide = min(costs) > 0 and max(costs) / min(costs) > _WIDE
    right = _logarithmic(costs, language) if is_wide else _from_nothing(costs, language)
    lowest = min([0.0, *(end for one in judges for end in one.agreement if end is not None)])
    points = [
        Point(
            math.log10(one.usd) if is_wide else one.usd,
            one.agreement,
            f"{one.rank}. {one.name}",
            Message(
                "agreement {value}, {limits}; ${cost:.2f} for 1000 rows",
                value=figure(one.agreement.value, 3),
                limits=limits(one.agreement, 3),
                cost=float(one.usd),
            ).render(language),
            str(one.rank),
        )
        for one in judges
    ]
    return plane(
        points,
        Message("Cost against agreement").render(language),
        right,
        axis(Message("agreement").render(language), lowest, 1.0, language),
    )


def _from_nothing(costs: Sequence[float], language: str) -> Axis:
    title = Message("cost of 1000 rows, $").render(language)
    return axis(title, 0.0, max(costs) or 1.0, language)


def _logarithmic(costs: Sequence[float], language: str) -> Axis:
    """From a power of ten to another, where costs lie far apart."""
    low, high = math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs)))
    title = Message("cost of 1000 rows, $ (logarithmic)").render(language)
    ticks = [(at, render(short_figure(10**at), language)) for at in range(low, high + 1)]
    return Axis(title, low, high, ticks)


def _priced(ranking: Ranking) -> list[PricedJudge]:
    return [
        PricedJudge(one.rank, one.judge, per, _range(one.agreement))
        for one in ranking.judges
        if (per := one.effort.usd_per_1000) is not None and one.agreement.value is not None
    ]


def _range(one: Estimate) -> Range:
    return Range(one.value, one.lower, one.upper)


def title_of(found: Benchmark, ranking: Ranking) -> Message:
    """What a ranking is headed by."""
    title = plural(
        "{count} judge on {rows} labelled rows",
        "{count} judges on {rows} labelled rows",
        len(ranking.judges),
        rows=max(one.rows for one in ranking.judges),
    )
    if not ranking.question or len(found.rankings) == 1:
        return title
    return Message("{question}: {title}", question=ranking.question, title=title)


def intervals_message(found: Benchmark) -> Message:
    """How sure the intervals are, and how they were made."""
    draws = found.settings.agreement.draws
    return Message(
        "Intervals at {level:.0f}%; those of kappa and confidence by drawing rows anew, {count} "
        "times with seed {seed}",
        level=100 * found.settings.level,
        count=draws.count,
        seed=draws.seed,
    )


def benchmark_markdown(found: Benchmark, language: str = "en") -> str:
    """For code hosts and mail."""
    return (
        _render("adjudge.features.bench:benchmark.md.jinja", found, language, html=False).strip()
        + "\n"
    )


def benchmark_html(found: Benchmark, language: str = "en") -> str:
    """One file with everything in it: nothing is loaded, nothing is sent."""
    return _render("adjudge.features.bench:benchmark.html.jinja", found, language, html=True)


def _render(template: str, found: Benchmark, language: str, *, html: bool) -> str:
    return (
        environment(language, html=html)
        .get_template(template)
        .render(
            found=found,
            table_of=table_of,
            beside=beside,
            cost_plot=lambda ranking: cost_plot(_priced(ranking), language),
            agreement_plot=lambda one: interval(_range(one), f"{render(_share(one), language)}"),
            title_of=title_of,
            intervals=intervals_message(found),
            disagreement_title=_disagreement_title,
            disagreements=lambda one: Message("{number} disagreements", number=one),
            without_verdict=lambda one: Message("rows without a verdict: {number}", number=one),
            more_in_folder=lambda one: Message("{number} more are in the run folder", number=one),
            explained=EXPLAINED,
            shown=SHOWN,
        )
    )


def _disagreement_title(judge: str) -> Message:
    return Message("Where {judge} and people disagree", judge=judge)
