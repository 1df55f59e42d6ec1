"""Runs of the same tasks by several systems, put side by side."""

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
    """One instance a task, with all runs of it. ``rows``: the system that made each run, empty
    where its columns say that.

    All runs are held until the last is read: those of one task may lie in several files.
    """
    tasks: dict[str, list[Instance]] = {}
    systems: dict[str, None] = {}
    for given, row in rows:
        name = _named(row) or given
        task = next((row.input[one] for one in TASK_COLUMNS if row.input.get(one)), None)
        if task is None and "place" not in row.metadata:
            task = row.id  # what a program gave, in their order
        if not name or task is None:
            what = "task_id" if task is None else NAMES[0]
            raise WrongData(
                "{id}: there is no column {column}, so it cannot be put beside the runs of other "
                "systems",
                id=row.id or Message("a run"),
                column=what,
            )
        systems[name] = None
        tasks.setdefault(str(task), []).append(_of_system(row, name, str(task)))
    if len(systems) < 2:
        raise SetupError(
            "compare: systems needs runs of two systems, and there are only those of {systems}: "
            "name each by the column {column}, or give a folder with a file or a folder for each",
            systems=", ".join(systems) or "–",
            column=NAMES[0],
        )
    if not any(len({run.input[SYSTEM] for run in runs}) > 1 for runs in tasks.values()):
        raise SetupError("no task was done by two systems: their runs share no task_id")
    for task, runs in tasks.items():
        yield Instance({"task": task}, task, {_RUNS: tuple(runs), "row": {"task_id": task}})


def _named(row: Instance) -> str:
    said = next((row.input[name] for name in NAMES if isinstance(row.input.get(name), str)), "")
    name = str(said).strip()
    return name if len(name) <= _LONGEST_NAME and "\n" not in name else ""


def _of_system(row: Instance, system: str, task: str) -> Instance:
    columns = {**row.input, SYSTEM: system, ANSWERED_ROW: task}
    return replace(
        row, id=f"{row.id or task} [{system}]", metadata={**row.metadata, "row": columns}
    )


def runs_in(instance: Instance) -> Sequence[Instance]:
    """The runs of a task; of one run, itself."""
    found = instance.metadata.get(_RUNS)
    return found if isinstance(found, tuple) else (instance,)


def pairs_in(instance: Instance) -> Iterator[tuple[Instance, Instance]]:
    """Every two runs of a task by different systems: the first of one beside the first of the
    other, or those of the same trial.
    """
    by_system: dict[str, list[Instance]] = {}
    for run in runs_in(instance):
        by_system.setdefault(str(run.input.get(SYSTEM, "")), []).append(run)
    for one, two in combinations(sorted(by_system), 2):
        yield from _side_by_side(by_system[one], by_system[two])


def _side_by_side(
    one: Sequence[Instance], two: Sequence[Instance]
) -> Iterator[tuple[Instance, Instance]]:
    trials: Mapping[str, Instance] = {str(run.input.get(TRIAL)): run for run in two}
    if len(trials) == len(two) and all(TRIAL in run.input for run in (*one, *two)):
        yield from (
            (run, trials[trial]) for run in one if (trial := str(run.input[TRIAL])) in trials
        )
        return
    yield from zip(one, two, strict=False)
