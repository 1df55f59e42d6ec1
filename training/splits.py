"""Words that the data and those who read it share."""

from __future__ import annotations

SPLITS = ("train", "validation", "tuning", "held_out")
"""Trained on; other texts of the same kinds; kinds for fitting the calibration; kinds that nothing
is fitted on.
"""
ANSWERS = ("yes_no", "letter", "number", "pair")
"""Kinds of label."""
