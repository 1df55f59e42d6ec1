"""Labels and results → how far a judge can be trusted: corrected numbers, agreement, comparisons,
rankings.
"""

from __future__ import annotations

from adjudge.trust.calibration import Calibration, calibrate, calibrate_run
from adjudge.trust.cascades import calibrate_cascades
from adjudge.trust.learnt_weights import learnt_weights

__all__ = ["Calibration", "calibrate", "calibrate_cascades", "calibrate_run", "learnt_weights"]
