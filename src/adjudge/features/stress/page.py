"""Pages to watch in a run folder: an attack on its judge, or the looks at its anchors."""

from __future__ import annotations

from pathlib import Path

from adjudge.features.stress.attack_report import attack_document
from adjudge.features.stress.attacks.report import FACT as ATTACK
from adjudge.features.stress.attacks.report import attack_report
from adjudge.features.stress.drift.anchors import read_anchors
from adjudge.features.stress.drift.history import FACT as LOOK
from adjudge.features.stress.drift.history import anchors_of, drift_report
from adjudge.features.stress.drift_report import drift_document
from adjudge.messages import Message
from adjudge.runs.folder import run_facts
from adjudge.runs.view.document import Document
from adjudge.web.page import Page


def document_of(folder: Path, language: str) -> Document | None:
    """Return the report of an attack or of drift; None if the run is neither."""
    facts = run_facts(folder).facts
    if ATTACK in facts:
        return attack_document(attack_report(folder), language)
    if LOOK in facts and (anchors := anchors_of(folder)) is not None:
        report = drift_report(read_anchors(anchors), folder.parent)
        return drift_document(report, anchors.name, language)
    return None


def has_document(folder: Path) -> bool:
    """Return True if a run is an attack or a look at anchors."""
    facts = run_facts(folder).facts
    return ATTACK in facts or (LOOK in facts and anchors_of(folder) is not None)


PAGE = Page(
    name="stress",
    document=document_of,
    has_document=has_document,
    watched_by=(
        Message("Measure how far texts can move its judge: {command}", command="adjudge attack"),
        Message("Check whether its judge has changed: {command}", command="adjudge drift"),
    ),
)
