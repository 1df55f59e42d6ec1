"""The weights that labels support, as a panel takes them: with the labels they come from, bound to
the panel's identity.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.label import Label
from adjudge.core.engine.identity import panel_identity
from adjudge.core.judges.learnt_settings import LearntWeights
from adjudge.runs.folder import run_info
from adjudge.trust.calibration import Calibration

_TAKES_WEIGHTS = "AspectCritic"


def learnt_weights(folder: str | Path, calibrations: Iterable[Calibration]) -> list[LearntWeights]:
    """Of each panel of aspect critics: no other judge takes weights."""
    judges = run_info(folder).judge_configurations
    return [made for one in calibrations if (made := _of_panel(one, judges[one.judge]))]


def _of_panel(one: Calibration, configuration: JudgeConfiguration) -> LearntWeights | None:
    if one.panel is None or configuration.kind != _TAKES_WEIGHTS:
        return None
    return LearntWeights(
        criteria=one.criteria,
        weights=one.panel.usable,
        labels=one.panel.labels,
        date=label_date(one.labels.labels),
        identity=panel_identity(configuration, one.criteria),
    )


def label_date(labels: Iterable[Label]) -> str:
    """The day of the last of them."""
    last = max((one.at for one in labels), default=0.0)
    return datetime.fromtimestamp(last, UTC).date().isoformat() if last else "an unknown day"
