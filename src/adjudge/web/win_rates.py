"""Win rates of runs that compare responses, as reports compute them."""

from __future__ import annotations

from collections import Counter

from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import AdjudgeError
from adjudge.runs.results.run_report import report_of_run
from adjudge.web.library import Library, RunPlace

_WINS = "win rates"


def win_rates(library: Library, place: RunPlace) -> dict[str, dict[str, JsonDict]]:
    """Return judge → system → its win rate with interval. Of two systems only the first has one,
    since the other's is what is left. If the judge has several criteria, they follow the system.

    This reads every judgment, but is cached until the run changes.
    """
    try:
        return library.get_or_compute(place, _WINS, lambda: _read(place))
    except AdjudgeError:  # the list of runs says what is wrong
        return {}


def would_wait(library: Library, place: RunPlace) -> bool:
    """Return True if reading the win rates takes too long for a blank page."""
    return library.would_wait(place, _WINS)


def _read(place: RunPlace) -> dict[str, dict[str, JsonDict]]:
    rates: dict[str, dict[str, JsonDict]] = {}
    sections = report_of_run(place.folder, shown=0).sections
    sections_of_judge = Counter(section.judge for section in sections)
    for section in sections:
        systems = section.contests.systems if section.contests else ()
        for system in systems[:1] if len(systems) == 2 else systems:
            if system.winrate is None:
                continue
            limits = system.interval
            bounds = {"lower": limits.lower, "upper": limits.upper} if limits else {}
            is_only = sections_of_judge[section.judge] == 1
            name = system.name if is_only else f"{system.name} ({section.criteria})"
            rates.setdefault(section.judge, {})[name] = {"value": system.winrate, **bounds}
    return rates
