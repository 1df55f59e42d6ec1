"""``--on``: its options, and what is said while workers judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from click import UsageError

from adjudge.cli.options import FROM_ONE, together
from adjudge.cli.show import clean
from adjudge.reports.sentences import sentence
from adjudge.reports.words import counted

if TYPE_CHECKING:
    from adjudge.runs.partition import Partition

cluster_options = together(
    click.option(
        "--on",
        metavar="CLUSTER",
        help="Spread the rows over a Ray cluster: ray (that of RAY_ADDRESS, else workers on this machine), or ray://HOST:PORT; "
        "or share them with other processes that are started so, by postgresql://HOST/DATABASE#NAME.",
    ),
    click.option(
        "--workers",
        type=FROM_ONE,
        help="With --on: how many; by default one per CPU of the Ray cluster. With Postgres: how many share the rate limits.",
    ),
)


def check_alone(on: str | None, workers: int | None, *, batch: bool, fork: bool, watch: bool) -> None:
    """What does not go together is said before anything is read."""
    if on is None and workers is not None:
        raise UsageError("--workers says how many a cluster has: add --on ray")
    if on is not None and (batch or watch):
        raise UsageError("--on goes neither with --batch nor with --watch: leave one of them out")
    if on is not None and fork:
        raise UsageError("--on cannot reuse the answers of another run: leave --fork out, or --on")


def say_parts(language: str, *, quiet: bool) -> Callable[[Partition], None]:
    """A line each time a worker has done its part."""
    rows = asked = 0

    def say(part: Partition) -> None:
        nonlocal rows, asked
        rows, asked = rows + part.rows, asked + part.asked
        counts = {"rows": counted(rows, "row", language), "votes": counted(asked, "vote", language)}
        if not quiet:
            click.echo(clean(sentence("part done", language, **counts)), err=True)

    return say
