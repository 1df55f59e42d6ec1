"""Runs of several systems on the same tasks, compared by two."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.engine.run import RunLike
from adjudge.features.agents.judge import AgentEvaluator, Given, instances_of
from adjudge.features.agents.systems import by_task, runs_in
from adjudge.runs.results.systems import SystemDifference, SystemsTally


def compare_systems(
    evaluator: AgentEvaluator, systems: Mapping[str, Given], *, run: RunLike | None = None
) -> tuple[SystemDifference, ...]:
    """Every two systems by every measure of the evaluator. ``systems``: the runs of each, as a
    file or a folder of traces, or a list; tasks are known by ``task_id``, else by their id, and
    what a program gave by its place. ``run``: a folder in which every answer is kept.
    """
    rows = ((name, row) for name, given in systems.items() for row in instances_of(given))
    made = [one for task in by_task(rows) for one in runs_in(task)]
    tally, judge = SystemsTally(), type(evaluator).__name__
    for index, result in enumerate(evaluator.evaluate(made, run=run)):
        for one in result.results.values():
            tally.add(one.record(judge, index))
    return tally.summary()
