"""What is judged of a trajectory: all of it, each turn, or steps that a rule picks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from adjudge.core.domain.instance import Instance
from adjudge.errors import SetupError
from adjudge.features.agents.trajectory import Step, Trajectory

Per = Literal["trajectory", "turn", "step"]
PER: tuple[Per, ...] = get_args(Per)
_LAST = re.compile(r"last(?: (\d{1,4}))?")
_CALLS_OF = re.compile(r"calls of (\S.*)")


@dataclass(frozen=True, slots=True)
class StepsPicked:
    """Which steps are asked about."""

    errors: bool = False
    last: int = 0
    tool: str = ""

    def of(self, run: Trajectory) -> list[Step]:
        steps = [step for step in run.steps if step.actor != "user"]
        if self.errors:
            return [step for step in steps if step.call and step.call.error is not None]
        if self.tool:
            return [step for step in steps if step.call and step.call.name == self.tool]
        return steps[-self.last :]


def read_picked(said: str) -> StepsPicked:
    """``errors``, ``last 3``, ``calls of pay``."""
    text = said.strip()
    if text == "errors":
        return StepsPicked(errors=True)
    if (last := _LAST.fullmatch(text)) and int(last[1] or 1) > 0:
        return StepsPicked(last=int(last[1] or 1))
    if calls := _CALLS_OF.fullmatch(text):
        return StepsPicked(tool=calls[1])
    raise SetupError("steps is errors, last 3 or calls of NAME, not {said!r}", said=said)


def parts_of(
    instance: Instance, run: Trajectory, per: Per, picked: StepsPicked | None
) -> Iterator[tuple[Instance, Trajectory, int | None]]:
    """The row and the trajectory of each part, and the step that is asked about."""
    name = instance.id or "row"
    if picked is not None:
        for step in picked.of(run):
            yield replace(instance, id=f"{name} step {step.number}"), run, step.number
    elif per == "turn":
        for number, turn in enumerate(turns_of(run), 1):
            yield _as_row(instance, turn, f"{name} turn {number}"), turn, None
    else:
        yield instance, run, None


def turns_of(run: Trajectory) -> Iterator[Trajectory]:
    """From one saying of the user to the next; the steps keep their numbers. What the whole took is
    said of none of them.
    """
    starts = [place for place, step in enumerate(run.steps) if _asks(step)] or [0]
    starts[0] = 0
    for start, end in zip(starts, [*starts[1:], len(run.steps)], strict=True):
        steps = run.steps[start:end]
        said = [step for step in steps if step.kind == "said" and step.actor != "user"]
        asked = [step.text for step in steps if _asks(step)]
        yield replace(
            run,
            goal="\n".join(asked) or run.goal,
            steps=steps,
            answer=said[-1].text if said else None,
            usage=None,
            usd=None,
            seconds=None,
        )


def _asks(step: Step) -> bool:
    return step.actor == "user" and step.kind == "said"


def _as_row(instance: Instance, run: Trajectory, id: str) -> Instance:
    beside = {name: value for name, value in instance.fields.items() if name not in run.fields}
    return replace(instance, fields={**beside, **run.fields}, id=id)
