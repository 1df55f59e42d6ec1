"""Judge a Ray data set by an eval file on the cluster that holds it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from adjudge.core.data.dataset import BadRow, OddRows
from adjudge.core.domain.instance import Instance
from adjudge.core.engine.cluster import RAY, Cluster, On
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import SetupError
from adjudge.features.scale.partition import Partition, Progress, eval_file_of, report_facts
from adjudge.features.scale.ray_run import judge_chunks, work_for
from adjudge.messages import Message
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.execute import Stopping
from adjudge.runs.folder import RunInfo, run_info
from adjudge.runs.plan import Plan, resolve

_LOG = logging.getLogger("adjudge")


class _Options(Protocol):
    preserve_order: bool


class _Context(Protocol):
    @property
    def execution_options(self) -> _Options: ...


@runtime_checkable
class RowSet(Protocol):
    """The part of ``ray.data.Dataset`` that is used."""

    @property
    def context(self) -> _Context: ...

    def iter_rows(self) -> Iterable[Mapping[str, object]]:
        """Yield the rows as Ray produces them."""
        ...


def judge_dataset(
    dataset: RowSet,
    eval_file: str | Path | EvalFile,
    *,
    run: str | Path | None = None,
    on: On = RAY,
    budget: Budget | None = None,
    progress: Callable[[Progress], None] | None = None,
    limit: int | None = None,
    cache: bool = True,
    trust: bool = False,
) -> RunInfo:
    """Judge the rows of a ``ray.data.Dataset`` by all judges of an eval file on a Ray cluster, and
    return the run's summary.

    ``run``: the run's folder, which all machines of the cluster must see; by default the one in the
    file. It becomes an ordinary run folder. A further call asks only about open rows and failed
    calls.
    ``on``: the cluster and the number of workers; by default the connected one, else that of
    RAY_ADDRESS, else workers on this machine.
    ``budget``: for all workers together; by default the file's.
    ``progress`` is called repeatedly with the progress so far.
    ``limit``: judge only the first rows.
    ``trust``: see ``judge_partition``.

    The rows pass through this process in order; the file's own data is not read.
    """
    if not isinstance(dataset, RowSet):
        raise SetupError(
            "judge_dataset takes a ray.data.Dataset, not {name}: create one with "
            "ray.data.from_items",
            name=type(dataset).__name__,
        )
    plan = resolve(
        eval_file_of(
            eval_file, trust=trust, typed=("data", "run", "outputs"), is_limited=budget is not None
        ),
        cache=cache,
        folder=Path(run) if run is not None else None,
        limit=limit,
        budget=budget,
    )
    if plan.folder is None:
        raise SetupError("a run on a cluster needs a run folder: name it with run=FOLDER")
    bad: list[BadRow] = []
    work = work_for(
        replace(plan, facts={**report_facts(plan.file), **plan.facts}),
        Cluster.of(on),
        cache=cache,
        rows=lambda: _number_rows(plan, dataset, bad.append),
    )
    if work:
        judge_chunks(work, _teller(progress))
        _warn_of(bad)
    info = run_info(plan.folder)
    if work and not info.failed_votes:
        work.clear()
    return info


def _teller(
    progress: Callable[[Progress], None] | None,
) -> Callable[[Partition | Progress | Stopping], None]:
    def tell(event: Partition | Progress | Stopping) -> None:
        if progress and isinstance(event, Progress):
            progress(event)

    return tell


def _number_rows(
    plan: Plan, dataset: RowSet, on_bad_row: Callable[[BadRow], None]
) -> Iterator[tuple[int, Instance]]:

    def told(row: OddRows) -> None:
        """Report bad rows; blank rows are skipped, and empty answers judged."""
        if isinstance(row, BadRow):
            on_bad_row(row)

    with _in_order(dataset):
        yield from enumerate(plan.reader.read(told, plan.limit, dataset.iter_rows()))


@contextmanager
def _in_order(dataset: RowSet) -> Iterator[None]:
    """Keep Ray's rows in order inside the block."""
    options = dataset.context.execution_options
    # By default rows come as they are ready, but a row's place must be the same each time.
    old_setting, options.preserve_order = options.preserve_order, True
    try:
        yield
    finally:
        options.preserve_order = old_setting


def _warn_of(bad: list[BadRow]) -> None:
    if bad:
        _LOG.warning(
            Message(
                "{count} of the rows cannot be judged; the first is: {first}",
                count=len(bad),
                first=bad[0],
            )
        )
