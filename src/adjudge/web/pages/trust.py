"""``/run/ID/trust``: how far to trust a run's rates, by the labels of its rows."""

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
    """Show the corrected rate or why there is none, the labels needed, and how well people and
    judges agree.
    """
    site, place = site_of(request), place_of(request)
    if site.must_wait(request, place, "trust"):
        return site.answer_first(request, {"title": place.name, "run": place.link})
    report = site.library.get_or_compute(place, "trust", lambda: _report(place))
    unread = site.library.about(place).unread
    data = {"run": place.link, **report, "assigned": assigned_rows(place), "unread": unread}
    return site.answer(request, "trust.html.jinja", data)


def _report(place: RunPlace) -> JsonDict:
    conflicts = list(LabelStore(place.folder).conflicts())
    settings = CalibrationSettings(looks=0 if is_large(place) else _LOOKS)
    calibrations = calibrate_run(place.folder, settings=settings)
    return {
        "calibrations": [_data(calibration, place) for calibration in calibrations],
        "conflicts": _conflicts(place, conflicts[:_SHOWN]),
        "conflict_count": len(conflicts),
        "conflicts_by": Counter(conflict.criteria for conflict in conflicts if conflict.is_open),
        "annotators": list(map(asdict, annotator_figures(place))),
        "notes": list(map(asdict, notes_in(place.folder))),
    }


def _conflicts(place: RunPlace, conflicts: Sequence[Conflict]) -> list[JsonDict]:
    begins = _beginnings(place, {conflict.row for conflict in conflicts})
    return [
        {
            "criteria": conflict.criteria,
            "id": conflict.labels[0].id,
            "begins": begins.get(conflict.row, conflict.row),
            "said": {label.annotator: str(label.answer) for label in conflict.labels},
        }
        for conflict in conflicts
    ]


def _beginnings(place: RunPlace, identities: set[str]) -> dict[str, str]:
    """Return row → beginning of its text, because labels only have a hash of the row."""
    texts: dict[str, str] = {}
    with reading(place.folder) as connection:
        judgments = records(connection, trajectory=False)
        while len(texts) < len(identities) and (record := next(judgments, None)):
            if (row := record.identity) in identities:
                value = record.fields.get("response") or next(iter(record.fields.values()))
                text = value if isinstance(value, str) else " · ".join(value)
                texts[row] = text[:_BEGINNING]
    return texts


def _data(calibration: Calibration, place: RunPlace) -> JsonDict:
    agreed = (
        calibration.agreement if calibration.agreement and calibration.agreement.count else None
    )
    estimates = [_figure(name, estimate) for name, estimate in estimates_of(calibration)]
    figures = (
        []
        if agreed is None
        else [
            {
                **_figure(figure_title(name, agreed.alpha_level), estimate),
                "lower_is_better": name in _LOWER_IS_BETTER,
            }
            for name, estimate in agreed.figures.items()
        ]
    )
    return {
        "sentence": trust_sentence(calibration),
        "refused": calibration.refusal is not None,
        "lines": list(calibration_lines(calibration)),
        "people": list(people_lines(agreed)) if agreed else [],
        "estimates": estimates,
        "scale": _scale(estimates),
        "confusion": _heat(calibration.confusion.table) if calibration.confusion.table else None,
        "kappas": _kappas(agreed) if agreed else [],
        "looks": [{"rows": estimate.count, **_range(estimate)} for estimate in calibration.looks],
        "figures": figures,
        "figures_scale": _scale(figures),
        "reliability": []
        if is_large(place)
        else reliability_of(place, calibration.judge, calibration.criteria),
        "data": calibration.to_dict(),
    }


def _figure(name: str, estimate: Estimate) -> JsonDict:
    return {
        "name": name,
        "value": value_text(estimate),
        "limits": limits_text(estimate),
        "count": estimate.count,
        "range": _range(estimate),
    }


def _range(estimate: Estimate) -> JsonDict:
    return some_of(estimate, "value", "lower", "upper")


def _kappas(agreement: AgreementReport) -> list[JsonDict]:
    """Return a line per rater (judge first) with their kappas against all raters; empty if there
    are none.
    """
    lines = kappa_matrix(agreement)
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
    """Return the ends of the axis: 0 and 1, extended in tenths if a figure is outside."""
    ends = [
        float(end)
        for figure in figures
        for end in cast("JsonDict", figure["range"]).values()
        if isinstance(end, int | float)
    ]
    return math.floor(10 * min([0.0, *ends])) / 10, math.ceil(10 * max([1.0, *ends])) / 10


def _heat(table: Mapping[str, Mapping[str, int]]) -> JsonDict:
    """Return the confusion table: people in rows, the judge in columns, each cell with its share of
    the row in tenths.
    """
    options = list(dict.fromkeys([*table, *(name for row in table.values() for name in row)]))
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
                for name in options
            ],
        }
        for truth, row in table.items()
    ]
    return {"judge": [option_title(name) for name in options], "rows": rows}


PAGE = Page(name="trust", routes=(Route("/run/{run}/trust", show),))
