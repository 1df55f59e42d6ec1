"""``adjudge run --batch``: its options, and the run mode."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from click import UsageError

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.types import Flag, key
from adjudge.features.batches.settings import BatchSettings
from adjudge.messages import Message
from adjudge.runs.cli.run_mode import RunMode, RunRequest
from adjudge.runs.execute import Rounds


@light_dataclass(frozen=True)
class BatchMode(BatchSettings, RunMode):
    """Options of ``adjudge run`` for batches."""

    name: ClassVar[str] = "batch"
    batch: bool = key(
        Flag(),
        "Use the providers' batch APIs: about half the price, within a day.",
        False,
    )

    def check(self, run: RunRequest) -> None:  # noqa: ARG002
        if not self.batch:
            raise UsageError(Message("--detach and the --batch-… options need --batch"))

    def rounds(self) -> Rounds:
        from adjudge.features.batches.backend import InBatches  # loaded only if batches are used

        most = max(300.0, self.poll) if self.poll >= 1 else self.poll
        return InBatches(replace(self, poll_most=most))
