"""Show the progress of workers."""

from __future__ import annotations

from pathlib import Path

from adjudge.features.scale.partition import Partition, Progress
from adjudge.messages import Message
from adjudge.runs.cli.execute import say_stopping
from adjudge.runs.cli.output import echo, output
from adjudge.runs.cli.watch import ProgressWatch
from adjudge.runs.counts import count_rows, count_votes
from adjudge.runs.execute import Stopping


class WorkerDisplay:
    """Shows progress while workers judge, and a summary at the end."""

    def __init__(self, watch: ProgressWatch, folder: Path | None, *, quiet: bool) -> None:
        self._watch, self._folder, self._quiet = watch, folder, quiet
        self._rows = self._asked = 0

    def __call__(self, event: Partition | Progress | Stopping) -> None:
        if isinstance(event, Stopping):
            say_stopping(self._folder, output())
        elif isinstance(event, Progress):
            self._watch.elsewhere(event.judgments, event.unscored, event.asked, event.spent)
        else:
            self._rows, self._asked = self._rows + event.rows, self._asked + event.asked

    def say(self) -> None:
        if not self._quiet and self._rows:
            echo(
                Message(
                    "the workers have judged {rows} and asked for {votes}",
                    rows=count_rows(self._rows),
                    votes=count_votes(self._asked),
                ),
                err=True,
            )
