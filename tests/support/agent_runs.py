"""Runs of trajectories that a test can look at: long ones, hostile ones, two of one task."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from adjudge import AgentEvaluator, Request, ScriptedModel, Trajectory
from adjudge.core.domain.message import Usage
from adjudge.features.agents.item import as_instance
from adjudge.features.agents.trajectory import Step, ToolCall

HOSTILE = (
    "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
    " \x1b[31mred \u202ereversed\u202c data:image/png;base64," + "iVBORw0KGgo1" * 200
)
_TOOLS = ("get_order", "search", "cancel_order")


def trajectory(count: int, *, hostile: bool = False, other: bool = False) -> Trajectory:
    """``count`` steps of two agents; every seventh call fails; of ``other`` calls differ from step
    5 on.
    """
    steps = [Step(1, "user", "said", "Cancel order 4711.")]
    for number in range(2, count):
        error = "order not found" if number % 7 == 3 else None
        result = HOSTILE if hostile and number == 4 else f"result {number} " + "x " * 400
        arguments = {"id": number + (100 if other and number > 4 else 0)}
        call = ToolCall(_TOOLS[number % 3], arguments, None if error else result, error)
        steps.append(
            Step(
                number,
                "Planner" if number % 3 == 0 else "Worker",
                "called",
                call=call,
                depth=number % 2,
                seconds=0.2 * (number % 9),
                started=1_000.0 + number,
                usage=Usage(calls=1, prompt_tokens=100 * (number % 11), completion_tokens=20),
            )
        )
    steps.append(Step(count, "Worker", "said", "Order 4711 is cancelled."))
    return Trajectory("Cancel order 4711.", tuple(steps), "Order 4711 is cancelled.", "A shop.")


def _script(request: Request) -> str:
    evidence = [
        {"step": 3, "quote": "order not found", "absent": None},
        {"step": 5, "quote": "never written anywhere", "absent": None},
        {"step": None, "quote": None, "absent": "a confirmation"},
    ]
    said: dict[str, object] = {"explanation": "See step 3: <b>not</b> found.", "evidence": evidence}
    if '"paragraph"' not in request.prompt.text and '"agent"' in request.prompt.text:
        said |= {"step": 3, "agent": "Planner", "selected_option": "ignored error"}
    else:
        said["selected_option"] = "Not reached"
    return json.dumps(said)


def agent_run(
    folder: Path,
    sizes: Sequence[int] = (9, 12, 60),
    *,
    measures: Sequence[str] = ("errors", "steps", "goal", "blame"),
    other: bool = False,
    ids: Sequence[str] = (),
) -> Path:
    """A run of trajectories of these sizes; the second one is hostile, the first two are trials of
    one task.
    """
    rows = [
        as_instance(
            trajectory(count, hostile=place == 1, other=other or place == 1),
            place + 1,
            {
                "id": ids[place] if ids else f"t{place}",
                "task_id": f"task{place // 2}",
                "trial": place % 2,
            },
        )
        for place, count in enumerate(sizes)
    ]
    AgentEvaluator(ScriptedModel(_script), measures=measures).evaluate(rows, run=folder)
    return folder


def trials_run(
    folder: Path, *, fails: Callable[[int, int], int] = lambda task, _: task % 2
) -> Path:
    """Twelve tasks with five trials each, in which as many calls fail as ``fails`` says of task and
    trial; a task with an even number has an answer.
    """
    rows = [
        as_instance(
            _trial(task, fails(task, trial)),
            5 * task + trial + 1,
            {"id": f"{task}-{trial}", "task_id": f"task{task}", "trial": trial},
        )
        for task in range(12)
        for trial in range(5)
    ]
    AgentEvaluator(measures=("errors", "ended")).evaluate(rows, run=folder)
    return folder


def _trial(task: int, failed: int) -> Trajectory:
    calls = [ToolCall("pay", {"task": task, "call": call}, None, "no") for call in range(failed)]
    steps = [Step(1, "user", "said", f"Task {task}.")]
    steps += [Step(place, "agent", "called", call=call) for place, call in enumerate(calls, 2)]
    answer = None if task % 2 else "Done."
    return Trajectory(f"Task {task}.", tuple(steps), answer)
