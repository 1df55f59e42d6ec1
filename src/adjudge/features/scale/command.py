"""``adjudge run --on``: options of a cluster, and running on one."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from click import UsageError

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.engine.cluster import Cluster
from adjudge.core.reading.types import Text, WholeNumber, key
from adjudge.messages import Message
from adjudge.runs.cli.execute import RunDisplay
from adjudge.runs.cli.run_mode import RunMode, RunRequest
from adjudge.runs.plan import Plan


@light_dataclass(frozen=True)
class ClusterMode(RunMode):
    """Options of a cluster on the command line."""

    name: ClassVar[str] = "cluster"
    is_spread: ClassVar[bool] = True
    on: str | None = key(
        Text(),
        "Spread the rows over a Ray cluster: ray (the cluster of RAY_ADDRESS, else workers on "
        "this machine) or ray://HOST:PORT. postgresql://HOST/DATABASE#NAME shares them with "
        "other processes started with the same option.",
        None,
        metavar="CLUSTER",
    )
    workers: int | None = key(
        WholeNumber(least=1),
        "With --on: number of workers; by default one per CPU of the Ray cluster. With Postgres: "
        "their approximate number.",
        None,
    )
    store: str | None = key(
        Text(),
        "With --on ray: where the workers write, instead of the run's folder: a folder that all "
        "machines see, or a bucket, such as s3://BUCKET/PREFIX.",
        None,
        metavar="PLACE",
    )

    def check(self, run: RunRequest) -> None:
        if self.store is not None and (self.on is None or not self.on.startswith("ray")):
            raise UsageError(Message("--store works only with a Ray cluster: add --on ray"))
        if self.on is None:
            raise UsageError(Message("--workers works only with a cluster: add --on ray"))
        if len(run.modes) > 1 or run.is_watching:
            raise UsageError(
                Message("--on cannot be combined with --batch or --watch: leave one of them out")
            )
        if run.is_fork:
            raise UsageError(
                Message("--on cannot reuse the answers of another run: leave --fork out, or --on")
            )

    def begin(self, plan: Plan, display: RunDisplay, *, cache: bool) -> None:
        from adjudge.features.scale.progress import WorkerDisplay  # loaded only if rows are spread

        tell, on = WorkerDisplay(display.watch, plan.folder, quiet=display.quiet), self.on or ""
        try:
            if on.startswith(("postgres://", "postgresql://")):
                from adjudge.features.scale.postgres_run import judge_together

                judge_together(plan, on, share=self.workers or 1, cache=cache, tell=tell)
            else:
                from adjudge.features.scale.ray_run import spread

                spread(plan, Cluster(on, self.workers, self.store), cache=cache, tell=tell)
        finally:
            tell.say()

    @staticmethod
    def adopt(folder: Path) -> None:
        from adjudge.features.scale.ray_run import adopt_partitions

        adopt_partitions(folder)
