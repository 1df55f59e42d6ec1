"""``/run/ID/trust``: how far a run's numbers can be trusted, by what people said of its rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.ledger.records import records
from adjudge.runs.folder import reading
from adjudge.runs.terms import figure_title, option_title
from adjudge.stats.agreement import TwoRaters
from adjudge.stats.estimate import Estimate
from adjudge.trust.agreement import AgreementReport
from adjudge.trust.calibration import Calibration, CalibrationSettings, calibrate_run
from adjudge.trust.calibration_words import (
    calibration_lines,
    estimates_of,
    kappa_matrix,
    limits_text,
    pair_text,
    people_lines,
    value_text,
)
from adjudge.trust.labels.criteria_notes import notes_in
from adjudge.trust.labels.store import Conflict, LabelStore
from adjudge.trust.report import trust_sentence
from adjudge.web.annotators import annotator_figures, assigned_rows
from adjudge.web.library import RunPlace, is_large
from adjudge.web.page import Page
from adjudge.web.people import reliability_of
from adjudge.web.site import place_of, site_of

_LOOKS = 10
_SHOWN = 100
"""Rows on which annotators differ that are named."""
_BEGINNING = 200
_LOWER_IS_BETTER = ("Brier", "ECE", "ECE by chance")


def show(request: Request) -> Response:
    """The corrected number or why there is none, the label plan, and who agrees with whom."""
    site, place = site_of(request), place_of(request)
    if site.must_wait(request, place, "trust"):
        return site.answer_first(request, {"title": place.name, "run": place.link})
    found = site.library.kept(place, "trust", lambda: _report(place))
    data = {"run": place.link, **found, "assigned": assigned_rows(place)}
    return site.answer(request, "trust.html.jinja", data)


def _report(place: RunPlace) -> JsonDict:
    conflicts = list(LabelStore(place.folder).conflicts())
    settings = CalibrationSettings(looks=0 if is_large(place) else _LOOKS)
    found = calibrate_run(place.folder, settings=settings)
    return {
        "calibrations": [_data(one, place) for one in found],
        "conflicts": _conflicts(place, conflicts[:_SHOWN]),
        "conflict_count": len(conflicts),
        "conflicts_by": Counter(one.criteria for one in conflicts if one.is_open),
        "annotators": [asdict(one) for one in annotator_figures(place)],
        "notes": [asdict(one) for one in notes_in(place.folder)],
    }


def _conflicts(place: RunPlace, conflicts: Sequence[Conflict]) -> list[JsonDict]:
    begins = _beginnings(place, {one.row for one in conflicts})
    return [
        {
            "criteria": one.criteria,
            "id": one.labels[0].id,
            "begins": begins.get(one.row, one.row),
            "said": {each.annotator: str(each.answer) for each in one.labels},
        }
        for one in conflicts
    ]


def _beginnings(place: RunPlace, wanted: set[str]) -> dict[str, str]:
    """How the texts of rows begin, which labels know by a hash."""
    found: dict[str, str] = {}
    with reading(place.folder) as connection:
        judged = records(connection, trajectory=False)
        while len(found) < len(wanted) and (one := next(judged, None)):
            if (row := one.identity) in wanted:
                value = one.fields.get("response") or next(iter(one.fields.values()))
                text = value if isinstance(value, str) else " · ".join(value)
                found[row] = text[:_BEGINNING]
    return found


def _data(one: Calibration, place: RunPlace) -> JsonDict:
    agreed = one.agreement if one.agreement and one.agreement.count else None
    estimates = [_figure(name, found) for name, found in estimates_of(one)]
    figures = (
        []
        if agreed is None
        else [
            {
                **_figure(figure_title(name, agreed.alpha_level), found),
                "lower_is_better": name in _LOWER_IS_BETTER,
            }
            for name, found in agreed.figures.items()
        ]
    )
    return {
        "sentence": trust_sentence(one),
        "refused": one.refusal is not None,
        "lines": list(calibration_lines(one)),
        "people": list(people_lines(agreed)) if agreed else [],
        "estimates": estimates,
        "scale": _scale(estimates),
        "confusion": _heat(one.confusion.table) if one.confusion.table else None,
        "kappas": _kappas(agreed) if agreed else [],
        "looks": [{"rows": found.count, **_range(found)} for found in one.looks],
        "figures": figures,
        "figures_scale": _scale(figures),
        "reliability": [] if is_large(place) else reliability_of(place, one.judge, one.criteria),
        "data": one.to_dict(),
    }


def _figure(name: str, found: Estimate) -> JsonDict:
    return {
        "name": name,
        "value": value_text(found),
        "limits": limits_text(found),
        "count": found.count,
        "range": _range(found),
    }


def _range(found: Estimate) -> JsonDict:
    return some_of(found, "value", "lower", "upper")


def _kappas(found: AgreementReport) -> list[JsonDict]:
    """A line for the judge and for each annotator: their kappas with all of these in turn; nothing
    where there are none.
    """
    lines = kappa_matrix(found)
    if not any(pair and pair.kappa.value is not None for _, pairs in lines for pair in pairs):
        return []
    return [
        {"name": name, "cells": [_kappa(pair) if pair else None for pair in pairs]}
        for name, pairs in lines
    ]


def _kappa(pair: TwoRaters) -> JsonDict:
    value = pair.kappa.value
    return {
        "kappa": value,
        "rows": pair.count,
        "told": pair_text(pair),
        "tenth": round(10 * abs(value or 0.0)),
    }


def _scale(figures: Iterable[JsonDict]) -> tuple[float, float]:
    """The ends of what figures are drawn on: 0 and 1, further where one of them lies outside, in
    tenths.
    """
    ends = [
        float(end)
        for one in figures
        for end in cast("JsonDict", one["range"]).values()
        if isinstance(end, int | float)
    ]
    return math.floor(10 * min([0.0, *ends])) / 10, math.ceil(10 * max([1.0, *ends])) / 10


def _heat(table: Mapping[str, Mapping[str, int]]) -> JsonDict:
    """What people say in the rows, what the judge says in the columns; each cell with its share of
    the row in tenths.
    """
    said = list(dict.fromkeys([*table, *(name for row in table.values() for name in row)]))
    rows: list[JsonValue] = [
        {
            "people": option_title(truth),
            "total": sum(row.values()),
            "cells": [
                {
                    "count": row.get(name, 0),
                    "agree": name == truth,
                    "tenth": round(10 * row.get(name, 0) / (sum(row.values()) or 1)),
                    "people": truth,
                    "judge": name,
                }
                for name in said
            ],
        }
        for truth, row in table.items()
    ]
    return {"judge": [option_title(name) for name in said], "rows": rows}


PAGE = Page(name="trust", routes=(Route("/run/{run}/trust", show),))
