"""``--batch``: its options, and what is said of batches while they are under way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import get_args

import click
from click import UsageError

from adjudge.core.domain.light import light_dataclass
from adjudge.core.ledger.pending import Orphans
from adjudge.errors import BatchesOpen
from adjudge.features.batches.settings import BatchSettings
from adjudge.messages import Message
from adjudge.runs.cli.options import FROM_ONE, given_as, together
from adjudge.runs.cli.output import echo
from adjudge.runs.execute import Rounds

_APIS = click.Choice(
    ("openai", "azure", "anthropic", "openrouter", "mistral", "google", "groq", "together")
)


@light_dataclass(frozen=True)
class BatchFlags(BatchSettings):
    """What the command line says of batches."""

    batch: bool = False

    def settings(self) -> BatchSettings:
        if not self.batch:
            raise UsageError(
                Message("--detach and the --batch-… options say how batches are used: add --batch")
            )
        return replace(self, poll_most=max(300.0, self.poll) if self.poll >= 1 else self.poll)

    def rounds(self) -> Rounds:
        """Return what ``execute`` is given to ask in batches."""
        from adjudge.features.batches.backend import InBatches  # loaded only if batches are used

        return InBatches(self.settings())


batch_options = given_as(
    "batch",
    BatchFlags,
    (
        "batch",
        "detach",
        "batch_only",
        "orphans",
        "api",
        "command",
        "search",
        "most_requests",
        "poll",
    ),
    together(
        click.option(
            "--batch",
            is_flag=True,
            help="Ask through the providers' batch APIs: about half the price, within a day.",
        ),
        click.option(
            "--detach",
            is_flag=True,
            help="With --batch: send, and end with 3; 'adjudge resume RUN' collects.",
        ),
        click.option(
            "--batch-only",
            is_flag=True,
            help="With --batch: also what has to be asked again waits for a batch.",
        ),
        click.option(
            "--batch-orphans",
            "orphans",
            type=click.Choice(get_args(Orphans)),
            help=(
                "Where a crash left open whether a batch was sent: wait for those that may be "
                "it, or send it again."
            ),
        ),
        click.option(
            "--batch-search",
            "search",
            type=click.FloatRange(min=0),
            default=120.0,
            help="Seconds for which a batch that may have been created is looked for in the "
            "provider's list, which may be late, "
            "before it is sent again.",
        ),
        click.option(
            "--batch-api",
            "api",
            type=_APIS,
            help="The batch API of a server that was named by its address.",
        ),
        click.option(
            "--batch-command",
            "command",
            metavar="COMMAND",
            help=(
                "Answer batches on this machine: 'vllm run-batch -i {input} -o {output} --model "
                "MODEL'."
            ),
        ),
        click.option(
            "--batch-size",
            "most_requests",
            type=FROM_ONE,
            help="Requests in one batch, where that is to be less than the provider takes.",
        ),
        click.option(
            "--batch-poll",
            "poll",
            type=click.FloatRange(min=0, min_open=True),
            default=15.0,
            help=(
                "Seconds before batches are looked at again; doubled each time, up to five minutes."
            ),
        ),
    ),
    if_typed=True,
)
"""Gives the command ``batch``: its BatchFlags, or None."""


def say_open(halt: BatchesOpen, folder: Path) -> None:
    """What goes on without us, and how it is collected."""
    echo(
        Message(
            "{halt}. Collect them with: adjudge resume {folder}",
            halt=halt,
            folder=quote(str(folder)),
        ),
        err=True,
    )
