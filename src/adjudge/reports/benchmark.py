"""A benchmark of judges as tables, as a Markdown page and as a single HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from adjudge.errors import RunError, SetupError
from adjudge.messages import reason_of
from adjudge.reports.files import text_file
from adjudge.reports.json_version import SCHEMA
from adjudge.reports.russian import translate_line, verbatim
from adjudge.reports.template import environment
from adjudge.stats.estimate import Estimate
from adjudge.trust.benchmark import BenchedJudge, Benchmark, Ranking

ENDINGS = (".md", ".html", ".json")
SHOWN = 50
"""Disagreements that a page lists of each judge."""
_NOTHING = "–"
Cells = Sequence[str]


def _share(one: Estimate, digits: int = 3) -> str:
    return _NOTHING if one.value is None else f"{one.value:.{digits}f}"


def limits(one: Estimate) -> str:
    """The interval, or a dash."""
    return (
        _NOTHING if one.lower is None or one.upper is None else f"{one.lower:.3f}–{one.upper:.3f}"
    )


def _percent(one: Estimate) -> str:
    return _NOTHING if one.value is None else f"{100 * one.value:.1f} %"


def _failed(one: BenchedJudge) -> str:
    return f"{one.failed} of {one.rows}"


def _cost(one: BenchedJudge) -> str:
    per = one.effort.usd_per_1000
    return (
        "not known"
        if one.effort.unpriced and one.effort.calls
        else _NOTHING
        if per is None
        else f"${per:.2f}"
    )


def _time(one: BenchedJudge) -> str:
    return _NOTHING if one.effort.seconds is None else f"{one.effort.seconds:.2f} s"


def against_best(one: BenchedJudge) -> str:
    """Whether the best judge is better, in words."""
    if one.rank == 1:
        return "best"
    if one.told_apart is None:
        return _NOTHING
    return "worse" if one.told_apart else "cannot tell"


_COLUMNS: Mapping[str, Callable[[BenchedJudge], str]] = {
    "rank": lambda one: str(one.rank),
    "judge": lambda one: one.judge,
    "agreement": lambda one: _share(one.agreement),
    "interval": lambda one: limits(one.agreement),
    "kappa": lambda one: _share(one.kappa),
    "vs the best": against_best,
    "one vote": lambda one: _share(one.single_vote),
    "consistency": lambda one: _share(one.consistency),
    "order effect": lambda one: _percent(one.order_effect),
    "confidence error": lambda one: _share(one.confidence_error),
    "failed": _failed,
    "per 1000 rows": _cost,
    "a row takes": _time,
}
_KEPT = ("rank", "judge", "agreement", "interval", "failed")
EXPLAINED: Mapping[str, str] = {
    "agreement": (
        "share of labelled rows on which judge and people agree; of numbers, Spearman's correlation"
    ),
    "kappa": "Cohen's kappa: agreement beyond what chance would give",
    "vs the best": "paired over the rows that both decided, with Holm's correction",
    "one vote": "agreement of single votes, before they are pooled",
    "consistency": "how often two votes on the same question agree",
    "order effect": "verdicts that turn when the order is reversed",
    "confidence error": "how far stated confidence is from being right (ECE)",
    "failed": "rows without a verdict",
    "per 1000 rows": "what a thousand rows would cost, every vote asked",
    "a row takes": "the votes of a row one after the other",
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
        ranking.figure if name == "agreement" and ranking.figure != "accuracy" else name
        for name in headings
    ], lines


def beside(ranking: Ranking) -> list[str]:
    """What stands beside the ranking: how well people agree, and what judges would reach that read
    nothing.
    """
    found = []
    if (ceiling := ranking.ceiling) and ceiling.accuracy is not None:
        kappa = "" if ceiling.kappa is None else f", kappa {ceiling.kappa:.3f}"
        found.append(
            f"people among themselves ({ceiling.people} of them, by pairs): agreement "
            f"{ceiling.accuracy:.3f}{kappa}. "
            "No judge can be expected to agree with them better than they do"
        )
    reached = ", ".join(
        f"{name} {one.value:.3f}"
        for name, one in ranking.baselines.items()
        if one.value is not None
    )
    if reached:
        found.append(f"judges that read nothing would agree: {reached}")
    return found


def title_of(found: Benchmark, ranking: Ranking) -> str:
    """What a ranking is headed by."""
    rows = max(one.rows for one in ranking.judges)
    question = (
        f"{verbatim(ranking.question)}: " if ranking.question and len(found.rankings) > 1 else ""
    )
    return (
        f"{question}{len(ranking.judges)} {'judge' if len(ranking.judges) == 1 else 'judges'} "
        f"on {rows} labelled rows"
    )


def intervals_told(found: Benchmark) -> str:
    """How sure the intervals are, and how they were made."""
    draws = found.settings.agreement.draws
    return (
        f"Intervals at {100 * found.settings.level:.0f} %; those of kappa and confidence by "
        "drawing rows anew, "
        f"{draws.count} times with seed {draws.seed}"
    )


def benchmark_markdown(found: Benchmark, language: str = "en") -> str:
    """For code hosts and mail."""
    return _render("benchmark.md.jinja", found, language, html=False).strip() + "\n"


def benchmark_html(found: Benchmark, language: str = "en") -> str:
    """One file with everything in it: nothing is loaded, nothing is sent."""
    return _render("benchmark.html.jinja", found, language, html=True)


def _render(template: str, found: Benchmark, language: str, *, html: bool) -> str:
    def told(text: str) -> str:
        return translate_line(text, language)

    return (
        environment(language, html=html)
        .get_template(template)
        .render(
            found=found,
            told=told,
            verbatim=verbatim,
            language=language,
            table_of=table_of,
            beside=beside,
            title_of=title_of,
            intervals_told=intervals_told,
            explained=EXPLAINED,
            shown=SHOWN,
        )
    )


def benchmark_json(found: Benchmark) -> str:
    """What ``--json`` prints, as a file."""
    counts = {
        "rankings": len(found.rankings),
        "judges": len(found.judges),
        "failed": sum(one.failed for one in found.judges),
    }
    return json.dumps(
        {
            "schema": SCHEMA,
            "kind": "bench",
            "summary": counts,
            "criteria": [],
            "gates": [],
            **benchmark_facts(found),
            "results": [one.to_dict() for one in found.rankings],
        },
        ensure_ascii=False,
        indent=2,
    )


def benchmark_facts(found: Benchmark) -> dict[str, object]:
    """What a document says beside its rankings."""
    settings = found.settings
    return {
        "data": found.source,
        "missing": settings.agreement.missing,
        "level": settings.level,
        "notes": list(found.notes),
    }


_PAGES = {".md": benchmark_markdown, ".html": benchmark_html}


def check_page(path: Path) -> None:
    """Refuse a file that no page can be written to, before anything is paid for."""
    if path.suffix.lower() not in ENDINGS:
        raise SetupError(
            "{path} cannot be written: let the name end in {ENDINGS} or {ENDINGS2}",
            path=path,
            ENDINGS=", ".join(ENDINGS[:-1]),
            ENDINGS2=ENDINGS[-1],
        )


def write_page(path: Path, found: Benchmark, language: str = "en") -> None:
    """The ranking with its disagreements."""
    page = _PAGES.get(path.suffix.lower())
    text = page(found, language) if page else benchmark_json(found)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with text_file(path, is_page=page is benchmark_html) as file:
            file.write(text)
    except OSError as error:
        raise RunError(
            "{path} cannot be written: {reason}", path=path, reason=reason_of(error)
        ) from error
