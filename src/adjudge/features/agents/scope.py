"""Parts of a trajectory that are judged: all of it, each turn, or selected steps."""

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
class StepSelection:
    """A selection of steps to ask about."""

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


def read_step_selection(said: str) -> StepSelection:
    """Read a selection such as ``errors``, ``last 3`` or ``calls of pay``."""
    text = said.strip()
    if text == "errors":
        return StepSelection(errors=True)
    if (tail := _LAST.fullmatch(text)) and int(tail[1] or 1) > 0:
        return StepSelection(last=int(tail[1] or 1))
    if calls := _CALLS_OF.fullmatch(text):
        return StepSelection(tool=calls[1])
    raise SetupError("steps must be errors, last 3 or calls of NAME, not {said!r}", said=said)


def parts_of(
    instance: Instance, run: Trajectory, per: Per, picked: StepSelection | None
) -> Iterator[tuple[Instance, Trajectory, int | None]]:
    """Yield (row, trajectory, step) for each part to judge; step is None unless steps are
    picked.
    """
    name = instance.id or "row"
    if picked is not None:
        for step in picked.of(run):
            yield replace(instance, id=f"{name} step {step.number}"), run, step.number
    elif per == "turn":
        for number, turn in enumerate(turns_of(run), 1):
            # fields that a trajectory does not have are those of the row
            other_fields = {
                field: value for field, value in instance.fields.items() if field not in turn.fields
            }
            id = f"{name} turn {number}"
            yield replace(instance, fields={**other_fields, **turn.fields}, id=id), turn, None
    else:
        yield instance, run, None


def turns_of(run: Trajectory) -> Iterator[Trajectory]:
    """Yield the turns, each from one user message to the next. Steps keep their numbers.

    Totals of the whole run are left out.
    """
    starts = [place for place, step in enumerate(run.steps) if _asks(step)] or [0]
    starts[0] = 0
    for start, end in zip(starts, [*starts[1:], len(run.steps)], strict=True):
        steps = run.steps[start:end]
        messages = [step for step in steps if step.kind == "said" and step.actor != "user"]
        requests = [step.text for step in steps if _asks(step)]
        yield replace(
            run,
            goal="\n".join(requests) or run.goal,
            steps=steps,
            answer=messages[-1].text if messages else None,
            usage=None,
            usd=None,
            seconds=None,
        )


def _asks(step: Step) -> bool:
    return step.actor == "user" and step.kind == "said"
