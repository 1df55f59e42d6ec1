"""``--batch``: its options, and what is said of batches while they are under way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import get_args

import click
from click import UsageError

from adjudge.core.domain.light import light_dataclass
from adjudge.errors import BatchesOpen
from adjudge.features.batches.settings import BatchNews, BatchSettings, Orphans
from adjudge.messages import Message
from adjudge.runs.cli.options import FROM_ONE, given_as, together
from adjudge.runs.cli.output import echo
from adjudge.runs.counts import count_batches, count_requests

_APIS = click.Choice(
    ("openai", "azure", "anthropic", "openrouter", "mistral", "google", "groq", "together")
)
_ALWAYS_SAID = ("twice", "stopping", "cancelled", "note")
ORPHANS = click.Choice(get_args(Orphans))


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
            type=ORPHANS,
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


def say_news(news: BatchNews, *, quiet: bool) -> None:
    """One line; those about money also where nothing else is said."""
    if quiet and news.kind not in _ALWAYS_SAID:
        return
    echo(_news_message(news), err=True)


def _news_message(news: BatchNews) -> Message:
    values = {
        "provider": news.provider,
        "batches": count_batches(news.batches),
        "requests": count_requests(news.requests),
        "done": news.done,
        "seconds": round(news.seconds),
        "text": news.text,
    }
    said = {
        "sent": Message("sent a batch to {provider}: {requests}", **values),
        "searching": Message(
            "{provider} may have taken a batch ({requests}) before its answer was lost, and "
            "its list may be late: looking for the batch there for up to {seconds} s before "
            "it is sent again",
            **values,
        ),
        "waiting": Message(
            "waiting for {batches}: {done} of {requests} done; next look in {seconds} s",
            **values,
        ),
        "collected": Message("collected a batch from {provider}: {requests}", **values),
        "stopping": Message(
            "The batches go on at the provider; Ctrl-C again within {seconds} s cancels them there",
            **values,
        ),
        "cancelled": Message(
            "cancelled at the provider: {batches}. What is answered by then is kept", **values
        ),
        "twice": Message(
            "sent to {provider} again, and may have been paid twice: {requests}; {text}",
            **values,
        ),
        "live": Message(
            "asked one by one, since it is too little for a batch: {requests}", **values
        ),
        "note": Message("note: {text}", **values),
    }
    return said[news.kind]


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
