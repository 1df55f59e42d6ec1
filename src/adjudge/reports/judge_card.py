"""A page about the judges of a run: what each judges and how, how well it agrees with people, what
leans it, what it costs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adjudge.domain.message import Usage
from adjudge.gateway.prices import PriceTable
from adjudge.ledger.file import holds_labels
from adjudge.ledger.labels import LabelStore
from adjudge.messages import render
from adjudge.reports.cascades import learnt_by
from adjudge.reports.export import report_of_run
from adjudge.reports.report import Report, Section
from adjudge.reports.russian import translate_line
from adjudge.reports.template import environment
from adjudge.reports.trusted import trust_sentence
from adjudge.runs.folder import RunInfo, run_info
from adjudge.runs.label_scales import judge_scales
from adjudge.stats.estimate import Estimate
from adjudge.trust.calibration import Calibration, calibrate_run
from adjudge.trust.leanings import Leaning, leanings_of

_HIDDEN = ("definition", "expression", "name", "config", "weights", "weights_from", "calibration")
"""Settings that are said elsewhere on the card."""
_SHOWN = ("accuracy", "kappa", "AC1", "alpha", "quadratic kappa", "Spearman")


@dataclass(frozen=True)
class JudgeCard:
    name: str
    kind: str
    identity: str
    questions: tuple[tuple[str, str, str], ...]
    """(name, what is asked, its options)."""
    models: Mapping[str, object]
    settings: Mapping[str, object]
    sections: tuple[Section, ...]
    calibrations: tuple[Calibration, ...]
    leanings: tuple[Leaning, ...]
    learnt: tuple[str, ...] = ()
    """What it uses that was learnt from labels, and from which."""


def judge_cards(folder: str | Path) -> list[JudgeCard]:
    """A card for each judge of a run."""
    info, report = run_info(folder), report_of_run(folder, shown=0)
    found = calibrate_run(folder) if holds_labels(folder) else []
    return [
        _card(name, info, report, [one for one in found if one.judge == name], folder)
        for name in info.identities
    ]


def _card(
    name: str, info: RunInfo, report: Report, found: list[Calibration], folder: str | Path
) -> JudgeCard:
    configuration = info.configuration["judges"][name]
    settings = configuration.get("settings") or {}
    return JudgeCard(
        name,
        str(configuration.get("judge")),
        info.identities[name],
        tuple(_questions(configuration) or _labelled_by(name, folder)),
        configuration.get("models") or {},
        {
            key: value
            for key, value in settings.items()
            if key not in _HIDDEN and value not in (None, [], {})
        },
        tuple(one for one in report.sections if one.judge == name),
        tuple(found),
        tuple(leanings_of(folder, name)),
        tuple(learnt_by(name, configuration)),
    )


def _questions(configuration: Mapping[str, object]) -> list[tuple[str, str, str]]:
    settings = configuration.get("settings")
    own = settings if isinstance(settings, Mapping) else {}
    if said := own.get("definition") or own.get("expression"):
        return [(str(own.get("name") or configuration.get("judge")), str(said), "")]
    asked, dimensions = configuration.get("criteria"), configuration.get("dimensions")
    listed = list(asked) if isinstance(asked, list) else []
    listed += (
        [one.get("criteria") for one in dimensions.values()]
        if isinstance(dimensions, Mapping)
        else []
    )
    return [
        (str(one.get("name")), str(one.get("description")), _options(one))
        for one in listed
        if isinstance(one, Mapping)
    ]


def _labelled_by(name: str, folder: str | Path) -> list[tuple[str, str, str]]:
    """What people are asked, of a judge that has no criteria of its own: one that looks sentences
    up.
    """
    scales = [scale for judge, scale, _ in judge_scales(folder) if judge == name]
    return [
        (one.name, one.criteria.description, ", ".join(one.criteria.option_names)) for one in scales
    ]


def _options(criteria: Mapping[str, object]) -> str:
    options = criteria.get("options")
    named = (
        [str(one.get("name")) for one in options if isinstance(one, Mapping)]
        if isinstance(options, list)
        else []
    )
    return ", ".join(named)


def judge_card_page(folder: str | Path, language: str = "en") -> str:
    """The cards of a run as a Markdown page."""
    info = run_info(folder)
    made = environment("en", html=False)
    made.filters |= {
        "sentence": lambda one: render(trust_sentence(one), language),
        "figure": _figure,
    }
    page = made.get_template("judge_card.md.jinja").render(
        run=Path(folder).name,
        cards=judge_cards(folder),
        judged=_date(info.facts.get("started")),
        labelled=_labelled(folder),
        usage=sum(info.usage.values(), Usage()),
        cost=_cost(info),
        figures=_SHOWN,
    )
    return "\n".join(_line(text, language) for text in page.strip().splitlines()) + "\n"


def _line(text: str, language: str) -> str:
    """A line in ``language``; of a table, each cell; of a list, what stands behind the dash."""
    if text.startswith("- "):
        return f"- {_line(text[2:], language)}"
    if text.startswith("| ") and text.endswith(" |"):
        return f"| {' | '.join(_line(cell, language) for cell in text[2:-2].split(' | '))} |"
    return translate_line(text, language)


def _figure(one: Estimate) -> str:
    if one.value is None:
        return f"none: {one.reason}"
    limits = (
        "" if one.lower is None or one.upper is None else f" ({one.lower:.3f} to {one.upper:.3f})"
    )
    return f"{one.value:.3f}{limits}"


def _date(moment: object) -> str:
    return (
        time.strftime("%Y-%m-%d", time.localtime(moment))
        if isinstance(moment, int | float)
        else "unknown"
    )


def _labelled(folder: str | Path) -> str:
    """From when to when; nothing where no label says it."""
    moments = (
        [one.at for one in LabelStore(folder).current() if one.at] if holds_labels(folder) else []
    )
    return "" if not moments else f"{_date(min(moments))} to {_date(max(moments))}"


def _cost(info: RunInfo) -> str:
    prices = PriceTable.load()
    costs = {name: prices.cost(name, usage) for name, usage in info.usage.items()}
    unknown = [name for name, cost in costs.items() if cost is None]
    total = sum(cost or 0.0 for cost in costs.values())
    return f"price of {', '.join(unknown)} not known" if unknown else f"${total:.4f}"
