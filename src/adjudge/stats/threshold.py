"""From which confidence on a judge's verdicts may stand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """What labelled rows allow one judge, such as a step of a cascade."""

    step: str = ""
    """Its model, where it is such a step."""
    identity: str = ""
    """Of the judge that this was learnt of."""
    confidence: float | None
    """Accept from here on; None: never accept, for the reason given."""
    rows: int
    """Labelled rows that it was learnt on: those that earlier steps left."""
    accepted: int = 0
    errors: int = 0
    limit: float | None = None
    """The upper limit of the share of errors among accepted rows."""
    reason: str = ""

    def accepts(self, confidence: float | None) -> bool:
        """Whether a verdict of this confidence may stand; one without a confidence never does."""
        return (
            self.confidence is not None and confidence is not None and confidence >= self.confidence
        )
