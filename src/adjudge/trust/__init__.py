"""Corrected numbers, agreement, comparisons and rankings from labels and results.

The commands are in ``features/trust``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader

if TYPE_CHECKING:
    from adjudge.trust.calibration import Calibration, calibrate, calibrate_run
    from adjudge.trust.cascades import calibrate_cascades

__all__ = ["Calibration", "calibrate", "calibrate_cascades", "calibrate_run"]

__getattr__ = loader(
    __name__,
    {
        "Calibration": "trust.calibration",
        "calibrate": "trust.calibration",
        "calibrate_cascades": "trust.cascades",
        "calibrate_run": "trust.calibration",
    },
)
