"""Labels and results → how far a judge can be trusted: corrected numbers, agreement, comparisons, rankings."""

from __future__ import annotations

from adjudge.trust.calibration import Calibration, calibrate, calibrate_run

__all__ = ["Calibration", "calibrate", "calibrate_run"]
