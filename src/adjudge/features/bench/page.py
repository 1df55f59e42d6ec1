"""``/benchmarks``: what ``adjudge bench`` found: judges ranked by how well they agree with people,
down to the single rows.
"""

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
    Disagreement,
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
from adjudge.web.pages.row import begins
from adjudge.web.site import Site, asked_for, place_of, site_of

GROUPS = ("question", "model", "criteria")
_SHOWN = 200
"""Disagreements on one page; all of them are counted."""
Line = JsonDict


def show_all(request: Request) -> Response:
    """Every benchmark, or those lines of them that are asked for."""
    site, asked = site_of(request), request.query_params
    group = asked.get("group") or GROUPS[0]
    one_of("group", group, GROUPS)
    places = [place for place in site.library.scan() if _is_benchmark(site, place)]
    wanted = [place for place in places if asked.get("run") in (None, "", place.id)]
    if any(site.must_wait(request, place, "benchmark") for place in wanted):
        return site.answer_first(request, {"title": Message("Benchmarks")})
    benchmarks, troubles = _measured(site, wanted)
    lines = [
        line for place, found in benchmarks for line in _lines(place, found) if _fits(line, asked)
    ]
    sections = _sections(lines, group, dict(_beside(benchmarks)))
    data = {
        "asked": asked_for(request),
        "group": group,
        "groups": list(GROUPS),
        "runs": [place.link for place in places],
        "criteria": sorted(
            {str(line["criteria"]) for line in lines}
            | ({asked["criteria"]} if asked.get("criteria") else set())
        ),
        "sections": sections,
        "explained": dict(EXPLAINED),
        "troubles": troubles,
        "published": [
            {**object_in(plain(one)), "title": title_of_set(one), "beside": list(beside_set(one))}
            for one in published_results().sets
        ],
    }
    plots = _cost_plots(sections, site.language_of(request)) if group == GROUPS[0] else {}
    return site.answer(request, "bench/benchmarks.html.jinja", data, cost_plots=plots)


def show(request: Request) -> Response:
    """Of one judge, the rows on which it and people disagree."""
    site, asked, place = site_of(request), request.query_params, place_of(request)
    judge, criteria = asked.get("judge", ""), asked.get("criteria", "")
    judges = _benchmark(site, place).judges
    one = next((one for one in judges if (one.judge, one.criteria) == (judge, criteria)), None)
    if one is None:
        raise SetupError(
            "the benchmark {name} has no judge {judge!r} with criteria {criteria!r}",
            name=place.name,
            judge=judge,
            criteria=criteria,
        )
    said = asked.get("said", "")
    pairs = Counter((str(each.said), str(each.truth)) for each in one.disagreements)
    rows = [each for each in one.disagreements if said in ("", f"{each.said}→{each.truth}")]
    data = {
        "run": place.link,
        "judge": _line(place, one, ""),
        "asked": dict(asked),
        "pairs": [
            {"key": f"{a}→{b}", "judge": a, "people": b, "count": count}
            for (a, b), count in sorted(pairs.items())
        ],
        "count": len(rows),
        "rows": [_row(each) for each in rows[:_SHOWN]],
    }
    return site.answer(request, "bench/benchmark.html.jinja", data)


def _row(one: Disagreement) -> Line:
    answers = {who: str(what) for who, what in one.answers.items()}
    return {**one.to_dict(), "labels": answers, "explanation": begins(one.explanation)}


def _is_benchmark(site: Site, place: RunPlace) -> bool:
    """Whether ``adjudge bench`` made it, or it was imported with what people said of its rows."""
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


def _measured(
    site: Site, places: Sequence[RunPlace]
) -> tuple[list[tuple[RunPlace, Benchmark]], list[str]]:
    """The benchmarks, and why some cannot be shown."""
    found = list[tuple[RunPlace, Benchmark]]()
    troubles = list[str]()
    for place in places:
        try:
            found.append((place, _benchmark(site, place)))
        except RunError as error:
            troubles.append(error.message)
    return found, troubles


def _lines(place: RunPlace, found: Benchmark) -> Iterator[Line]:
    for ranking in found.rankings:
        question = _question(place, found, ranking)
        yield from (_line(place, one, question) for one in ranking.judges)


def _question(place: RunPlace, found: Benchmark, ranking: Ranking) -> Message:
    return join(": ", (place.name, title_of(found, ranking)))


def _line(place: RunPlace, one: BenchedJudge, question: str) -> Line:
    effort = one.effort
    return {
        "run": place.id,
        "run_name": place.name,
        "question": question,
        "model": ", ".join(one.models),
        **some_of(one, "rank", "judge", "criteria", "figure", "rows", "failed"),
        "agreement": some_of(one.agreement, "value", "lower", "upper"),
        "kappa": some_of(one.kappa, "value", "lower", "upper"),
        "against_best": against_best(one),
        "consistency": one.consistency.value,
        "order_effect": one.order_effect.value,
        "usd_per_1000": None if effort.unpriced else effort.usd_per_1000,
        "price_known": not (effort.unpriced and effort.calls),
        "seconds": effort.seconds,
        "disagreements": len(one.disagreements),
    }


def _fits(line: Line, asked: Mapping[str, str]) -> bool:
    words = asked.get("q", "").strip().casefold()
    has_words = words in f"{line['judge']} {line['model']} {line['run_name']}".casefold()
    return has_words and asked.get("criteria") in (None, "", line["criteria"])


def _sections(lines: Sequence[Line], group: str, beside: Mapping[str, JsonDict]) -> list[JsonDict]:
    """Lines that belong together. ``beside``: question → what stands beside its ranking.

    Only those of one question are ranked against each other; others are in order of agreement.
    """
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(str(line[group]), []).append(line)
    if group != "question":
        for each in found.values():
            each.sort(key=_by_agreement)
    nothing: JsonDict = {"notes": []}
    return [
        {"title": title, "lines": each, **beside.get(title, nothing)}
        for title, each in found.items()
    ]


def _cost_plots(sections: Sequence[JsonDict], language: str) -> dict[str, Markup]:
    """Return the title of each question with prices of several judges, and their picture."""
    return {
        str(one["title"]): plot for one in sections if (plot := cost_plot(_priced(one), language))
    }


def _priced(section: JsonDict) -> list[PricedJudge]:
    return [
        PricedJudge(line["rank"], line["judge"], line["usd_per_1000"], Range(**line["agreement"]))
        for line in cast("list[Any]", section["lines"])
        if line["usd_per_1000"] is not None and line["agreement"]["value"] is not None
    ]


def _by_agreement(line: Line) -> float:
    agreement = line["agreement"]
    value = agreement["value"] if isinstance(agreement, dict) else None
    return 1.0 if value is None else -value


def _beside(
    benchmarks: Sequence[tuple[RunPlace, Benchmark]],
) -> Iterator[tuple[str, JsonDict]]:
    """What stands beside each ranking: how well people agree, what judges reach that read nothing,
    and notes.
    """
    for place, found in benchmarks:
        for ranking in found.rankings:
            notes = [*beside(ranking), *found.notes]
            shown: JsonDict = {"notes": notes}
            yield _question(place, found, ranking), shown


PAGE = Page(
    name="bench",
    routes=(Route("/benchmarks", show_all), Route("/benchmarks/{run}", show)),
    link=NavigationLink("/benchmarks", term("nav", "Benchmarks")),
    package="adjudge.features.bench",
)
