"""Confidence thresholds for a judge's verdicts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The confidence from which on labelled rows allow a judge's verdicts, such as those of a
    cascade step.
    """

    step: str = ""
    """Model of the cascade step, if it is one."""
    identity: str = ""
    """Identity of the judge."""
    confidence: float | None
    """Accept from here on; None: never accept, for the reason given."""
    rows: int
    """Labelled rows of the fit: those that earlier steps left."""
    accepted: int = 0
    errors: int = 0
    limit: float | None = None
    """The upper limit of the share of errors among accepted rows."""
    reason: str = ""

    def accepts(self, confidence: float | None) -> bool:
        """Return True if a verdict of this confidence may be accepted; never without a
        confidence.
        """
        return (
            self.confidence is not None and confidence is not None and confidence >= self.confidence
        )
