"""Compare several systems on the same tasks, in pairs."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.engine.run import RunLike
from adjudge.features.agents.judge import AgentEvaluator, Given, instances_of
from adjudge.features.agents.systems import by_task, runs_in
from adjudge.runs.results.systems import SystemDifference, SystemsTally


def compare_systems(
    evaluator: AgentEvaluator, systems: Mapping[str, Given], *, run: RunLike | None = None
) -> tuple[SystemDifference, ...]:
    """Compare each pair of systems on every measure of the evaluator.

    ``systems``: each system's runs, as a file, a folder of traces, or a list. Tasks are matched by
    ``task_id``, else by their id; runs passed as Python objects without either, by position.
    ``run``: a folder that stores every answer.
    """
    rows = ((name, row) for name, runs in systems.items() for row in instances_of(runs))
    instances = [instance for task in by_task(rows) for instance in runs_in(task)]
    tally, judge = SystemsTally(), type(evaluator).__name__
    for index, result in enumerate(evaluator.evaluate(instances, run=run)):
        for measure_result in result.results.values():
            tally.add(measure_result.record(judge, index))
    return tally.summary()
