"""Group the runs of several systems by task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from adjudge.core.domain.instance import Instance
from adjudge.errors import SetupError, WrongData
from adjudge.features.agents.expectation import TASK_COLUMNS
from adjudge.messages import Message

NAMES = ("system_name", "system")
"""Columns that say which system made a run, the first that a row has; in rows of messages
``system`` is the system prompt.
"""
SYSTEM, ANSWERED_ROW, TRIAL = "system", "answered_row", "trial"
"""The columns that every run has once runs are put side by side: who made it, of which task, and
for which time."""
_RUNS = "runs"
_LONGEST_NAME = 80


def by_task(rows: Iterable[tuple[str, Instance]]) -> Iterator[Instance]:
    """Yield one instance per task with all of its runs.

    ``rows``: (system, run) pairs; a system named in the run's columns takes precedence. All runs
    are held in memory, because those of one task may be in several files.
    """
    tasks: dict[str, list[Instance]] = {}
    systems: dict[str, None] = {}
    for default_name, row in rows:
        name = _system_name(row) or default_name
        task = next((row.input[column] for column in TASK_COLUMNS if row.input.get(column)), None)
        if task is None and "place" not in row.metadata:
            task = row.id  # rows from a program are matched by their position
        if not name or task is None:
            what = "task_id" if task is None else NAMES[0]
            raise WrongData(
                "{id}: there is no column {column}, so it cannot be compared with runs of other "
                "systems",
                id=row.id or Message("a run"),
                column=what,
            )
        systems[name] = None
        tasks.setdefault(str(task), []).append(_of_system(row, name, str(task)))
    if len(systems) < 2:
        raise SetupError(
            "compare: systems needs runs of at least two systems, but there are only runs of "
            "{systems}: name each system in the column {column}, or give a folder with one file "
            "or folder per system",
            systems=", ".join(systems) or "–",
            column=NAMES[0],
        )
    if not any(len({run.input[SYSTEM] for run in runs}) > 1 for runs in tasks.values()):
        raise SetupError("no task was done by two systems: no task_id is in the runs of both")
    for task, runs in tasks.items():
        yield Instance({"task": task}, task, {_RUNS: tuple(runs), "row": {"task_id": task}})


def _system_name(row: Instance) -> str:
    cell = next((row.input[name] for name in NAMES if isinstance(row.input.get(name), str)), "")
    name = str(cell).strip()
    return name if len(name) <= _LONGEST_NAME and "\n" not in name else ""


def _of_system(row: Instance, system: str, task: str) -> Instance:
    columns = {**row.input, SYSTEM: system, ANSWERED_ROW: task}
    return replace(
        row, id=f"{row.id or task} [{system}]", metadata={**row.metadata, "row": columns}
    )


def runs_in(instance: Instance) -> Sequence[Instance]:
    """Return the runs of a task, or the instance itself if it is a single run."""
    runs = instance.metadata.get(_RUNS)
    return runs if isinstance(runs, tuple) else (instance,)


def pairs_in(instance: Instance) -> Iterator[tuple[Instance, Instance]]:
    """Yield pairs of a task's runs by different systems.

    Runs are paired by trial number if they have one, else in their order.
    """
    by_system: dict[str, list[Instance]] = {}
    for run in runs_in(instance):
        by_system.setdefault(str(run.input.get(SYSTEM, "")), []).append(run)
    for system_a, system_b in combinations(sorted(by_system), 2):
        yield from _pair_runs(by_system[system_a], by_system[system_b])


def _pair_runs(
    runs_a: Sequence[Instance], runs_b: Sequence[Instance]
) -> Iterator[tuple[Instance, Instance]]:
    trials: Mapping[str, Instance] = {str(run.input.get(TRIAL)): run for run in runs_b}
    if len(trials) == len(runs_b) and all(TRIAL in run.input for run in (*runs_a, *runs_b)):
        yield from (
            (run, trials[trial]) for run in runs_a if (trial := str(run.input[TRIAL])) in trials
        )
        return
    yield from zip(runs_a, runs_b, strict=False)
