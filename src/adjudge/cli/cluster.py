"""``--on``: its options, and what does not go with it."""

from __future__ import annotations

import click
from click import UsageError

from adjudge.cli.options import FROM_ONE, together
from adjudge.messages import Message

cluster_options = together(
    click.option(
        "--on",
        metavar="CLUSTER",
        help="Spread the rows over a Ray cluster: ray (that of RAY_ADDRESS, else workers on this "
        "machine), or ray://HOST:PORT; "
        "or share them with other processes that are started so, by "
        "postgresql://HOST/DATABASE#NAME.",
    ),
    click.option(
        "--workers",
        type=FROM_ONE,
        help=(
            "With --on: how many; by default one per CPU of the Ray cluster. With Postgres: "
            "about how many there are."
        ),
    ),
    click.option(
        "--store",
        metavar="PLACE",
        help="With --on ray: where the workers write, instead of the run's folder: a folder that "
        "all machines see, or a bucket, "
        "such as s3://BUCKET/PREFIX.",
    ),
)


def check_alone(
    on: str | None, workers: int | None, store: str | None, *, batch: bool, fork: bool, watch: bool
) -> None:
    """What does not go together is said before anything is read."""
    if store is not None and (on is None or not on.startswith("ray")):
        raise UsageError(
            Message("--store says where the workers of a Ray cluster write: add --on ray")
        )
    if on is None and workers is not None:
        raise UsageError(Message("--workers says how many a cluster has: add --on ray"))
    if on is not None and (batch or watch):
        raise UsageError(
            Message("--on goes neither with --batch nor with --watch: leave one of them out")
        )
    if on is not None and fork:
        raise UsageError(
            Message("--on cannot reuse the answers of another run: leave --fork out, or --on")
        )
