"""Write verdicts back to the service that the traces are from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.traffic.intake import Intake
from adjudge.features.traffic.services import ServiceSpans
from adjudge.runs.exporters.scores import trace_scores

_AT_ONCE = 50


@dataclass(frozen=True)
class WriteBack:
    """Sends each verdict once. A failed judgment is not sent as a number."""

    spans: ServiceSpans

    def send(self, intake: Intake, run: Path) -> int:
        """Send the verdicts of a run and return how many were sent."""
        unsent, count = self._unsent(intake, run), 0
        while batch := list(islice(unsent, _AT_ONCE)):
            self.spans.send([body for _, body in batch])
            # If killed in between, they are sent again, and replace themselves.
            intake.mark_sent([key for key, _ in batch])
            count += len(batch)
        return count

    def _unsent(self, intake: Intake, run: Path) -> Iterator[tuple[str, JsonDict]]:
        for key, body in trace_scores(run, self.spans.service.name):
            if not intake.was_sent(key):
                yield key, body
