"""``/benchmarks``: results of ``adjudge bench``, from rankings down to single rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.judges.settings import one_of
from adjudge.core.ledger.file import holds_labels, read_meta
from adjudge.errors import RunError, SetupError
from adjudge.features.bench.benchmark import (
    FACT,
    BenchedJudge,
    Benchmark,
    Ranking,
    benchmark_of,
)
from adjudge.features.bench.published_results import published_results
from adjudge.features.bench.published_tables import beside_set, title_of_set
from adjudge.features.bench.report import (
    EXPLAINED,
    PricedJudge,
    against_best,
    beside,
    cost_plot,
    title_of,
)
from adjudge.messages import Message, join, term
from adjudge.runs.folder import reading
from adjudge.runs.view.plots import Range
from adjudge.web.library import RunPlace
from adjudge.web.page import NavigationLink, Page
from adjudge.web.pages.row import begins, row_number
from adjudge.web.site import Site, asked_for, place_of, site_of

GROUPS = ("question", "model", "criteria")
_SHOWN = 200
"""Disagreements on one page; all of them are counted."""
Line = JsonDict


def show_all(request: Request) -> Response:
    """Show all benchmarks, or the lines that match the query."""
    site, query = site_of(request), request.query_params
    group = query.get("group") or GROUPS[0]
    one_of("group", group, GROUPS)
    places = [place for place in site.library.scan() if _is_benchmark(site, place)]
    selected = [place for place in places if query.get("run") in (None, "", place.id)]
    if any(site.must_wait(request, place, "benchmark") for place in selected):
        return site.answer_first(request, {"title": Message("Benchmarks")})
    benchmarks, troubles = _load(site, selected)
    lines = [
        line
        for place, benchmark in benchmarks
        for ranking in benchmark.rankings
        for judge in ranking.judges
        if _fits(line := _line(place, judge, _question(place, benchmark, ranking)), query)
    ]
    sections = _sections(lines, group, dict(_notes_of_rankings(benchmarks)))
    data = {
        "asked": asked_for(request),
        "group": group,
        "groups": list(GROUPS),
        "runs": [place.link for place in places],
        "criteria": sorted(
            {str(line["criteria"]) for line in lines}
            | ({query["criteria"]} if query.get("criteria") else set())
        ),
        "sections": sections,
        "explained": dict(EXPLAINED),
        "troubles": troubles,
        "published": [
            {
                **object_in(plain(published_set)),
                "title": title_of_set(published_set),
                "beside": list(beside_set(published_set)),
            }
            for published_set in published_results().sets
        ],
    }
    plots = _cost_plots(sections, site.language_of(request)) if group == GROUPS[0] else {}
    return site.answer(request, "bench/benchmarks.html.jinja", data, cost_plots=plots)


def show(request: Request) -> Response:
    """Show the rows on which one judge and people disagree."""
    site, query, place = site_of(request), request.query_params, place_of(request)
    judge, criteria = query.get("judge", ""), query.get("criteria", "")
    judges = _benchmark(site, place).judges
    bench_judge = next(
        (entry for entry in judges if (entry.judge, entry.criteria) == (judge, criteria)), None
    )
    if bench_judge is None:
        raise SetupError(
            "the benchmark {name} has no judge {judge!r} with criteria {criteria!r}",
            name=place.name,
            judge=judge,
            criteria=criteria,
        )
    pair = query.get("said", "")
    pairs = Counter((str(row.said), str(row.truth)) for row in bench_judge.disagreements)
    rows = [row for row in bench_judge.disagreements if pair in ("", f"{row.said}→{row.truth}")]
    shown = rows[:_SHOWN]
    site.sessions.mark_seen(*(row.identity for row in shown))
    data = {
        "run": place.link,
        "judge": _line(place, bench_judge, ""),
        "asked": dict(query),
        "pairs": [
            {"key": f"{a}→{b}", "judge": a, "people": b, "count": count}
            for (a, b), count in sorted(pairs.items())
        ],
        "count": len(rows),
        "rows": [
            {
                **row.to_dict(),
                "number": row_number(site.library, place, judge, row.row),
                "labels": {person: str(answer) for person, answer in row.answers.items()},
                "explanation": begins(row.explanation),
            }
            for row in shown
        ],
    }
    return site.answer(request, "bench/benchmark.html.jinja", data)


def _is_benchmark(site: Site, place: RunPlace) -> bool:
    """Return True if ``adjudge bench`` made the run, or it was imported with labels.

    The result is cached per run.
    """
    return site.library.get_or_compute(place, "is benchmark", lambda: _has_labels_and_judges(place))


def _has_labels_and_judges(place: RunPlace) -> bool:
    if not holds_labels(place.folder):
        return False
    try:
        with reading(place.folder) as connection:
            facts = read_meta(connection)
    except RunError:
        return False
    return FACT in facts or "imported" in facts


def _benchmark(site: Site, place: RunPlace) -> Benchmark:
    return site.library.get_or_compute(place, "benchmark", lambda: benchmark_of(place.folder))


def _load(
    site: Site, places: Sequence[RunPlace]
) -> tuple[list[tuple[RunPlace, Benchmark]], list[str]]:
    """Return the benchmarks, and error messages for those that cannot be shown."""
    benchmarks = list[tuple[RunPlace, Benchmark]]()
    troubles = list[str]()
    for place in places:
        try:
            benchmarks.append((place, _benchmark(site, place)))
        except RunError as error:
            troubles.append(error.message)
    return benchmarks, troubles


def _question(place: RunPlace, benchmark: Benchmark, ranking: Ranking) -> Message:
    return join(": ", (place.name, title_of(benchmark, ranking)))


def _line(place: RunPlace, judge: BenchedJudge, question: str) -> Line:
    effort = judge.effort
    return {
        "run": place.id,
        "run_name": place.name,
        "question": question,
        "model": ", ".join(judge.models),
        **some_of(judge, "rank", "judge", "criteria", "figure", "rows", "failed"),
        "agreement": some_of(judge.agreement, "value", "lower", "upper"),
        "kappa": some_of(judge.kappa, "value", "lower", "upper"),
        "against_best": against_best(judge),
        "consistency": judge.consistency.value,
        "order_effect": judge.order_effect.value,
        "usd_per_1000": None if effort.unpriced else effort.usd_per_1000,
        "price_known": not (effort.unpriced and effort.calls),
        "seconds": effort.seconds,
        "disagreements": len(judge.disagreements),
    }


def _fits(line: Line, query: Mapping[str, str]) -> bool:
    words = query.get("q", "").strip().casefold()
    has_words = words in f"{line['judge']} {line['model']} {line['run_name']}".casefold()
    return has_words and query.get("criteria") in (None, "", line["criteria"])


def _sections(
    lines: Sequence[Line], group: str, notes_by_question: Mapping[str, JsonDict]
) -> list[JsonDict]:
    """Group the lines. ``notes_by_question``: question → notes on its ranking.

    Only lines with the same question are ranked against each other; others are sorted by agreement.
    """
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(str(line[group]), []).append(line)
    if group != "question":
        for group_lines in groups.values():
            group_lines.sort(key=_by_agreement)
    nothing: JsonDict = {"notes": []}
    return [
        {"title": title, "lines": group_lines, **notes_by_question.get(title, nothing)}
        for title, group_lines in groups.items()
    ]


def _cost_plots(sections: Sequence[JsonDict], language: str) -> dict[str, Markup]:
    """Return a cost plot for each question that has at least two priced judges, by its title."""
    return {
        str(section["title"]): plot
        for section in sections
        if (plot := cost_plot(_priced_judges(section), language))
    }


def _priced_judges(section: JsonDict) -> list[PricedJudge]:
    return [
        PricedJudge(line["rank"], line["judge"], line["usd_per_1000"], Range(**line["agreement"]))
        for line in cast("list[Any]", section["lines"])
        if line["usd_per_1000"] is not None and line["agreement"]["value"] is not None
    ]


def _by_agreement(line: Line) -> float:
    agreement = line["agreement"]
    value = agreement["value"] if isinstance(agreement, dict) else None
    return 1.0 if value is None else -value


def _notes_of_rankings(
    benchmarks: Sequence[tuple[RunPlace, Benchmark]],
) -> Iterator[tuple[str, JsonDict]]:
    """Yield (question, notes) for each ranking: ties, agreement among people, baselines, and
    notes of the run.
    """
    for place, benchmark in benchmarks:
        for ranking in benchmark.rankings:
            notes: JsonDict = {"notes": [*beside(ranking), *benchmark.notes]}
            yield _question(place, benchmark, ranking), notes


PAGE = Page(
    name="bench",
    routes=(Route("/benchmarks", show_all), Route("/benchmarks/{run}", show)),
    link=NavigationLink("/benchmarks", term("nav", "Benchmarks")),
    package="adjudge.features.bench",
)
