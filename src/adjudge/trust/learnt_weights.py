"""Panel weights that the labels support, bound to the panel's identity and the labels they come
from.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.label import Label
from adjudge.core.engine.identity import panel_identity
from adjudge.core.judges.learnt_settings import UNKNOWN_DAY, LearntWeights
from adjudge.runs.folder import run_info
from adjudge.trust.calibration import Calibration

_TAKES_WEIGHTS = "AspectCritic"


def learnt_weights(folder: str | Path, calibrations: Iterable[Calibration]) -> list[LearntWeights]:
    """Return the weights of each panel of aspect critics. Other judges do not take weights."""
    judges = run_info(folder).judge_configurations
    return [
        weights
        for calibration in calibrations
        if (weights := _panel_weights(calibration, judges[calibration.judge]))
    ]


def _panel_weights(
    calibration: Calibration, configuration: JudgeConfiguration
) -> LearntWeights | None:
    if calibration.panel is None or configuration.kind != _TAKES_WEIGHTS:
        return None
    return LearntWeights(
        criteria=calibration.criteria,
        weights=calibration.panel.usable,
        labels=calibration.panel.labels,
        date=label_date(calibration.labels.labels),
        identity=panel_identity(configuration, calibration.criteria),
    )


def label_date(labels: Iterable[Label]) -> str:
    """Return the day of the newest label, or a placeholder if it is unknown."""
    latest = max((label.at for label in labels), default=0.0)
    return datetime.fromtimestamp(latest, UTC).date().isoformat() if latest else UNKNOWN_DAY
