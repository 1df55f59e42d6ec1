"""Rows of judges of kind ``agent``: trajectories from traces or from an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from adjudge.core.data.dataset import OddRows
from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.instance import TRAJECTORY, Instance
from adjudge.core.domain.json_types import is_deep
from adjudge.core.ledger.file import holds_run
from adjudge.errors import NothingToJudge, WrongData
from adjudge.features.agents.item import trajectory_in
from adjudge.features.agents.record import agent_detail
from adjudge.features.agents.systems import by_task
from adjudge.features.agents.traces.source import trace_instances
from adjudge.messages import Message
from adjudge.runs.earlier_rows import places_of_run
from adjudge.runs.eval_file import EvalFile


def read_trajectories(
    file: EvalFile,
    tell: Callable[[OddRows], None],
    limit: int | None,
    *,
    compares_systems: bool,
) -> Iterator[Instance]:
    """Yield the trajectories in the eval file's data; with ``compares_systems``, one instance per
    task.

    Rows that cannot be read are passed to ``tell`` if ``on_bad_row`` is ``report``; otherwise they
    raise an error.
    """
    source = file.local_source
    if holds_run(source):
        yield from islice(_trajectories_of_run(source), limit)
        return
    tell_bad = tell if file.on_bad_row == "report" else None
    if compares_systems:
        yield from islice(by_task(_by_system(file, tell_bad)), limit)
        return
    rows = islice(
        _flat_enough(trace_instances(source, file.data.as_, (), tell_bad), tell_bad), limit
    )
    first_row = next(rows, None)
    if first_row is None:
        raise NothingToJudge("{path} contains no readable trajectory", path=source)
    yield first_row
    yield from rows


def _by_system(
    file: EvalFile, tell_bad: Callable[[OddRows], None] | None
) -> Iterator[tuple[str, Instance]]:
    """Yield (system, run) pairs.

    If the data is a folder, the system is named after each file or subfolder in it; otherwise the
    name is empty.
    """
    folder = file.local_source
    parts = (
        sorted(entry for entry in folder.iterdir() if entry.name[0] != ".")
        if folder.is_dir()
        else []
    )
    for path in parts or [folder]:
        name = (path.name.partition(".")[0] if path.is_file() else path.name) if parts else ""
        rows = trace_instances(path, file.data.as_, (), tell_bad)
        yield from ((name, row) for row in _flat_enough(rows, tell_bad))


def _flat_enough(
    rows: Iterable[Instance], tell_bad: Callable[[OddRows], None] | None
) -> Iterator[Instance]:
    """Yield the rows that are not nested too deep to be stored and compared.

    The others are passed to ``tell_bad``, or raise a WrongData if it is None.
    """
    for row in rows:
        run = trajectory_in(row)
        arguments = [step.call.arguments for step in run.steps if step.call is not None]
        if not is_deep([*arguments, *(tool.schema for tool in run.tools), row.input]):
            yield row
            continue
        bad = BadRow(str(row.metadata.get("place", row.id)), Message("it is nested too deeply"))
        if tell_bad is None:
            raise WrongData(str(bad))
        tell_bad(bad)


def _trajectories_of_run(folder: Path) -> Iterator[Instance]:
    """Yield the trajectories that a run stores with the first measure of each row."""
    seen_places: set[tuple[str, int]] = set()
    for record, place in places_of_run(folder):
        detail = agent_detail(record)
        run = detail.trajectory if detail else None
        if run is None or place in seen_places:
            continue
        seen_places.add(place)
        about = {"place": record.name, "row": record.input, TRAJECTORY: run}
        yield Instance(run.fields or {"response": ""}, record.id, about)
