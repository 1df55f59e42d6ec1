"""Labels and results → how far a judge can be trusted: corrected numbers, agreement, comparisons,
rankings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader

if TYPE_CHECKING:
    from adjudge.features.trust.calibration import Calibration, calibrate, calibrate_run
    from adjudge.features.trust.cascades import calibrate_cascades

__all__ = ["Calibration", "calibrate", "calibrate_cascades", "calibrate_run"]

__getattr__ = loader(
    __name__,
    {
        "Calibration": "features.trust.calibration",
        "calibrate": "features.trust.calibration",
        "calibrate_cascades": "features.trust.cascades",
        "calibrate_run": "features.trust.calibration",
    },
)
