"""The judge card: what each judge of a run judges and how, its agreement with people, its leanings
and its cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.domain.json_types import JsonObject, objects_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.message import Usage
from adjudge.core.ledger.file import holds_labels
from adjudge.errors import RunError
from adjudge.features.stress.attacks.report import AttackReport, attack_report
from adjudge.features.stress.drift.anchors import read_anchors
from adjudge.features.stress.drift.history import DriftReport, drift_report, looks_of
from adjudge.messages import Message
from adjudge.runs.folder import RunInfo, run_info
from adjudge.runs.results.cascades import learnt_by
from adjudge.runs.results.cost import cost_message
from adjudge.runs.results.report import Report, Section
from adjudge.runs.results.run_report import report_of_run
from adjudge.trust.calibration import Calibration, CalibrationSettings, calibrate_run
from adjudge.trust.labels.scales import judge_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.leanings import Leaning, leanings_of

# Settings that are said elsewhere on the card.
_HIDDEN = ("definition", "expression", "name", "config", "weights", "weights_from", "calibration")


@dataclass(frozen=True, kw_only=True)
class JudgeCards:
    """A card for each judge of one run."""

    run: str
    cards: tuple[JudgeCard, ...]
    judged: str
    """The date on which it was judged."""
    labelled: tuple[str, str] | None
    """Dates of the first and the last label; None if no label has a time."""
    usage: Usage
    cost: str
    attack: AttackReport | None = None
    """The report of an attack, if one was made."""
    drift: DriftReport | None = None
    """The report of drift, if anchors were given."""


@dataclass(frozen=True)
class JudgeCard:
    name: str
    kind: str
    identity: str
    questions: tuple[tuple[str, str, str], ...]
    """(name, what is asked, its options)."""
    models: JsonObject
    settings: JsonObject
    sections: tuple[Section, ...]
    calibrations: tuple[Calibration, ...]
    leanings: tuple[Leaning, ...]
    learnt: tuple[str, ...] = ()
    """Descriptions of what it uses that was learned from labels, and from which ones."""


def judge_cards(
    folder: str | Path, attack: str | Path | None = None, anchors: Path | None = None
) -> JudgeCards:
    """Make a card for each judge of a run.

    ``attack`` is the run of an attack on it, ``anchors`` the file with its anchors.
    """
    info, report = run_info(folder), report_of_run(folder, shown=0)
    _check_same_judge(info, attack, anchors)
    anchor_set = read_anchors(anchors) if anchors else None
    drift = drift_report(anchor_set, looks_of(anchors)) if anchors and anchor_set else None
    settings = CalibrationSettings(
        changes=drift.changes(anchor_set) if drift and anchor_set else {}
    )
    calibrations = calibrate_run(folder, settings=settings) if holds_labels(folder) else []
    cards = (
        _card(
            name,
            info,
            report,
            [calibration for calibration in calibrations if calibration.judge == name],
            folder,
        )
        for name in info.identities
    )
    return JudgeCards(
        run=Path(folder).name,
        cards=tuple(cards),
        judged=_date(info.facts.get("started")),
        labelled=_label_dates(folder),
        usage=sum(info.usage.values(), Usage()),
        cost=cost_message(info.usage, info.prices),
        attack=attack_report(attack) if attack else None,
        drift=drift,
    )


def _check_same_judge(info: RunInfo, attack: str | Path | None, anchors: Path | None) -> None:
    """Raise a RunError if the attack or the anchors belong to other judges than the run's."""
    if anchors and not {*read_anchors(anchors).identities.values()} & {*info.identities.values()}:
        raise RunError(
            "{anchors} are anchors of a different judge than those of {run}",
            anchors=anchors,
            run=info.folder,
        )
    if attack and not {*run_info(attack).identities.values()} <= {*info.identities.values()}:
        raise RunError(
            "{attack} is an attack on a different judge than those of {run}",
            attack=attack,
            run=info.folder,
        )


def _card(
    name: str, info: RunInfo, report: Report, calibrations: list[Calibration], folder: str | Path
) -> JudgeCard:
    configuration = info.judge_configurations[name]
    return JudgeCard(
        name,
        str(configuration.kind),
        info.identities[name],
        tuple(_questions(configuration) or _labelled_by(name, folder)),
        configuration.models,
        {
            key: value
            for key, value in configuration.settings.items()
            if key not in _HIDDEN and value not in (None, [], {})
        },
        tuple(section for section in report.sections if section.judge == name),
        tuple(calibrations),
        tuple(leanings_of(folder, name)),
        tuple(learnt_by(name, configuration)),
    )


def _questions(configuration: JudgeConfiguration) -> list[tuple[str, str, str]]:
    judge_settings = configuration.settings
    if question := judge_settings.get("definition") or judge_settings.get("expression"):
        return [(str(judge_settings.get("name") or configuration.kind), str(question), "")]
    return [
        (
            str(criterion.get("name")),
            str(criterion.get("description")),
            ", ".join(str(option.get("name")) for option in objects_in(criterion.get("options"))),
        )
        for criterion in configuration.questions
    ]


def _labelled_by(name: str, folder: str | Path) -> list[tuple[str, str, str]]:
    """Return the questions that people are asked, for a judge without criteria.

    One that looks sentences up is an example.
    """
    scales = [label_scale for judge, label_scale, _ in judge_scales(folder) if judge == name]
    return [
        (scale.name, scale.criteria.description, ", ".join(scale.criteria.option_names))
        for scale in scales
    ]


def _date(moment: object) -> str:
    return (
        time.strftime("%Y-%m-%d", time.localtime(moment))
        if isinstance(moment, int | float)
        else Message("unknown")
    )


def _label_dates(folder: str | Path) -> tuple[str, str] | None:
    """Return the dates of the first and the last label; None if no label has a time."""
    moments = (
        [label.at for label in LabelStore(folder).current() if label.at]
        if holds_labels(folder)
        else []
    )
    return (_date(min(moments)), _date(max(moments))) if moments else None
