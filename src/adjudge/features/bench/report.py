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
from adjudge.runs.view.plane import Axis, PlotPoint, axis, plane
from adjudge.runs.view.plots import Range, interval
from adjudge.runs.view.template import environment
from adjudge.stats.estimate import Estimate

_WIDE = 20
"""How many times as much the dearest judge costs where costs are shown by powers of ten."""
SHOWN = 50
"""Disagreements that a page lists of each judge."""
_NOTHING = "–"
Cells = Sequence[str]


def _share(estimate: Estimate) -> str:
    return figure(estimate.value, 3)


def _percent(estimate: Estimate) -> str:
    return _NOTHING if estimate.value is None else percent(estimate.value, 1)


def _failed_rows(judge: BenchedJudge) -> Message:
    return Message("{failed} of {rows}", failed=judge.failed, rows=judge.rows)


def _cost(judge: BenchedJudge) -> str:
    if judge.effort.unpriced and judge.effort.calls:
        return Message("not known")
    per = judge.effort.usd_per_1000
    return _NOTHING if per is None else Message("${cost:.2f}", cost=float(per))


def _time(judge: BenchedJudge) -> str:
    seconds = judge.effort.seconds
    return _NOTHING if seconds is None else Message("{seconds:.2f} s", seconds=float(seconds))


def against_best(judge: BenchedJudge) -> str:
    """Say whether the best judge is better than this one; a dash if that was not tested."""
    if judge.rank == 1:
        return Message("best")
    if judge.told_apart is None:
        return _NOTHING
    return Message("worse") if judge.told_apart else Message("cannot tell")


_COLUMNS: Mapping[Message, Callable[[BenchedJudge], str]] = {
    Message("rank"): lambda judge: str(judge.rank),
    Message("judge"): lambda judge: judge.judge,
    Message("agreement"): lambda judge: _share(judge.agreement),
    Message("interval"): lambda judge: limits(judge.agreement, 3),
    Message("kappa"): lambda judge: _share(judge.kappa),
    Message("vs the best"): against_best,
    Message("one vote"): lambda judge: _share(judge.single_vote),
    Message("consistency"): lambda judge: _share(judge.consistency),
    Message("order effect"): lambda judge: _percent(judge.order_effect),
    Message("confidence error"): lambda judge: _share(judge.confidence_error),
    term("status", "failed"): _failed_rows,
    Message("per 1000 rows"): _cost,
    Message("time per row"): _time,
}
_KEPT = ("rank", "judge", "agreement", "interval", "failed")
EXPLAINED: Mapping[str, Message] = {
    "agreement": Message(
        "share of labelled rows on which judge and people agree; for numbers, Spearman's "
        "correlation"
    ),
    "kappa": Message("Cohen's kappa: agreement beyond what chance would give"),
    "vs the best": Message(
        "paired on the rows that both judges decided; corrected for all pairs of judges "
        "(Bonferroni)"
    ),
    "one vote": Message("agreement of single votes, before they are pooled"),
    "consistency": Message("agreement of two votes on the same question"),
    "order effect": Message("verdicts that change when the order is reversed"),
    "confidence error": Message("gap between stated confidence and accuracy (ECE)"),
    "failed": Message("rows without a verdict"),
    "per 1000 rows": Message("cost of a thousand rows if every vote is asked"),
    "time per row": Message("time for the votes of a row, run one after another"),
}


def table_of(ranking: Ranking) -> tuple[list[str], list[Cells]]:
    """Return the headings and one line per judge. Columns without any value are left out."""
    cells = {name: [column(judge) for judge in ranking.judges] for name, column in _COLUMNS.items()}
    single = all(
        judge.single_vote.value == judge.agreement.value or judge.single_vote.value is None
        for judge in ranking.judges
    )
    empty = [
        name
        for name, values in cells.items()
        if name not in _KEPT and set(values) <= {_NOTHING, "best"}
    ]
    left_out = {*empty, *(["one vote"] if single else [])}
    headings = [name for name in cells if name not in left_out]
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
    """Return notes on a ranking: ties, the estimate for the winner, agreement among people, and
    baselines.
    """
    notes = []
    if tied := ranking.tied:
        names = ", ".join(judge.judge for judge in tied)
        notes.append(
            plural(
                "this {count} judge cannot be distinguished: {names}",
                "these {count} judges cannot be distinguished: {names}",
                len(tied),
                names=names,
            )
        )
    if (winner := ranking.chosen) and winner.value is not None:
        notes.append(
            Message(
                "on rows that were not used to choose it, the first judge agrees with people in "
                "{value:.3f} ({limits})",
                value=float(winner.value),
                limits=limits(winner, 3),
            )
        )
    best = ranking.judges[0]
    if best.among_people:
        notes.append(_among_people(best.judge, best.among_people))
    reached = [
        Message("{name} {value:.3f}", name=figure_title(name), value=float(estimate.value))
        for name, estimate in ranking.baselines.items()
        if estimate.value is not None
    ]
    if reached:
        notes.append(
            Message(
                "baselines that ignore the texts would agree: {reached}",
                reached=join(", ", reached),
            )
        )
    return notes


def _among_people(judge: str, agreement_among_people: AmongPeople) -> Message:
    """Describe how well people agree with each other, and the judge with either of them."""
    people, judge_text = (
        Message("{agreement:.3f}", agreement=agreement)
        if kappa is None
        else Message("{agreement:.3f} (kappa {kappa:.3f})", agreement=agreement, kappa=kappa)
        for agreement, kappa in (
            (agreement_among_people.agreement, agreement_among_people.kappa),
            (agreement_among_people.judge_agreement, agreement_among_people.judge_kappa),
        )
    )
    return Message(
        "two people ({people} in all) agree with each other in {agreement}; on the same rows, "
        "{judge} agrees with one of them in {own}",
        people=agreement_among_people.people,
        agreement=people,
        judge=judge,
        own=judge_text,
    )


class PricedJudge(NamedTuple):
    """A judge's cost per thousand rows, and its agreement with people."""

    rank: int
    name: str
    usd: float
    agreement: Range


def cost_plot(judges: Sequence[PricedJudge], language: str) -> Markup:
    """Plot agreement (vertical) against cost (horizontal), labelling each judge with its rank.

    Return an empty string for fewer than two judges.
    """
    if len(judges) < 2:
        return Markup("")
    costs = [judge.usd for judge in judges]
    is_wide = min(costs) > 0 and max(costs) / min(costs) > _WIDE
    right = (
        _logarithmic_axis(costs, language)
        if is_wide
        else axis(
            Message("cost of 1000 rows, $").render(language), 0.0, max(costs) or 1.0, language
        )
    )
    lowest = min([0.0, *(end for judge in judges for end in judge.agreement if end is not None)])
    points = [
        PlotPoint(
            math.log10(judge.usd) if is_wide else judge.usd,
            judge.agreement,
            f"{judge.rank}. {judge.name}",
            Message(
                "agreement {value}, {limits}; ${cost:.2f} for 1000 rows",
                value=figure(judge.agreement.value, 3),
                limits=limits(judge.agreement, 3),
                cost=float(judge.usd),
            ).render(language),
            str(judge.rank),
        )
        for judge in judges
    ]
    return plane(
        points,
        Message("Cost against agreement").render(language),
        right,
        axis(Message("agreement").render(language), lowest, 1.0, language),
    )


def _logarithmic_axis(costs: Sequence[float], language: str) -> Axis:
    """Return an axis between powers of ten, for costs that differ widely."""
    low, high = math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs)))
    title = Message("cost of 1000 rows, $ (logarithmic)").render(language)
    ticks = [(at, render(short_figure(10**at), language)) for at in range(low, high + 1)]
    return Axis(title, low, high, ticks)


def _priced_judges(ranking: Ranking) -> list[PricedJudge]:
    return [
        PricedJudge(judge.rank, judge.judge, per, _range(judge.agreement))
        for judge in ranking.judges
        if (per := judge.effort.usd_per_1000) is not None and judge.agreement.value is not None
    ]


def _range(estimate: Estimate) -> Range:
    return Range(estimate.value, estimate.lower, estimate.upper)


def title_of(benchmark: Benchmark, ranking: Ranking) -> Message:
    """Return the heading of a ranking."""
    title = plural(
        "{count} judge on {rows} labelled rows",
        "{count} judges on {rows} labelled rows",
        len(ranking.judges),
        rows=max(judge.rows for judge in ranking.judges),
    )
    if not ranking.question or len(benchmark.rankings) == 1:
        return title
    return Message("{question}: {title}", question=ranking.question, title=title)


def intervals_message(benchmark: Benchmark) -> Message:
    """State the level of the intervals and their method."""
    draws = benchmark.settings.agreement.draws
    return Message(
        "Intervals at {level:.0f}%; those of kappa and confidence by bootstrap, {count} draws "
        "with seed {seed}",
        level=100 * benchmark.settings.level,
        count=draws.count,
        seed=draws.seed,
    )


def benchmark_markdown(benchmark: Benchmark, language: str = "en") -> str:
    """Render the benchmark as Markdown, for code hosts and email."""
    return (
        _render(
            "adjudge.features.bench:benchmark.md.jinja", benchmark, language, html=False
        ).strip()
        + "\n"
    )


def benchmark_html(benchmark: Benchmark, language: str = "en") -> str:
    """Render the benchmark as a self-contained HTML file that makes no network requests."""
    return _render("adjudge.features.bench:benchmark.html.jinja", benchmark, language, html=True)


def _render(template: str, benchmark: Benchmark, language: str, *, html: bool) -> str:
    return (
        environment(language, html=html)
        .get_template(template)
        .render(
            found=benchmark,
            table_of=table_of,
            beside=beside,
            cost_plot=lambda ranking: cost_plot(_priced_judges(ranking), language),
            agreement_plot=lambda estimate: interval(
                _range(estimate), f"{render(_share(estimate), language)}"
            ),
            title_of=title_of,
            intervals=intervals_message(benchmark),
            disagreement_title=lambda judge: Message(
                "Disagreements between {judge} and people", judge=judge
            ),
            disagreements=lambda count: Message("{number} disagreements", number=count),
            without_verdict=lambda count: Message("rows without a verdict: {number}", number=count),
            more_in_folder=lambda count: Message(
                "{number} more are in the run folder", number=count
            ),
            explained=EXPLAINED,
            shown=SHOWN,
        )
    )
