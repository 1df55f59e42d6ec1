"""Where texts get into what an agent did: its answer, what a tool gave it, what the user said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from adjudge.core.domain.instance import TRAJECTORY, Instance
from adjudge.features.agents.trajectory import Step, Trajectory

ANSWER, RESULT, USER = "answer", "tool result", "user"
Change = Callable[[str], str]


def trajectory_of(instance: Instance) -> Trajectory | None:
    """What the agent did; None of a row that is no agent's."""
    found = instance.metadata.get(TRAJECTORY)
    return found if isinstance(found, Trajectory) else None


def channels_of(run: Trajectory) -> list[str]:
    """The channels that a trajectory has."""
    return [name for name, find in _STEPS.items() if find(run) is not None]


def attack_through(instance: Instance, channel: str, change: Change) -> Instance:
    """The row with the text of a channel changed, in its steps and in its fields."""
    run = trajectory_of(instance)
    found = None if run is None else _STEPS[channel](run)
    if run is None or found is None:
        return instance
    attacked = _changed(found, change)
    steps = tuple(attacked if one is found else one for one in run.steps)
    made = replace(run, steps=steps)
    if channel == ANSWER:
        made = replace(made, answer=attacked.text)
    if channel == USER and run.goal == found.text:
        made = replace(made, goal=attacked.text)
    return replace(
        instance,
        fields={**instance.fields, **made.fields},
        metadata={**instance.metadata, TRAJECTORY: made},
    )


def _changed(step: Step, change: Change) -> Step:
    call = step.call
    if call is None:
        return replace(step, text=change(step.text))
    return replace(step, call=replace(call, result=change(call.result or "")))


def _last(run: Trajectory, fits: Callable[[Step], object]) -> Step | None:
    return next((one for one in reversed(run.steps) if fits(one)), None)


def _answer(run: Trajectory) -> Step | None:
    return _last(run, lambda one: one.call is None and one.text and one.text == run.answer)


def _result(run: Trajectory) -> Step | None:
    return _last(run, lambda one: one.call is not None and one.call.result)


def _user(run: Trajectory) -> Step | None:
    return _last(run, lambda one: one.actor == "user" and one.call is None and one.text)


_STEPS: Mapping[str, Callable[[Trajectory], Step | None]] = {
    ANSWER: _answer,
    RESULT: _result,
    USER: _user,
}
