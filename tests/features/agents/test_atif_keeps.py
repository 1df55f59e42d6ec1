"""ATIF and back: what the format has no place for is kept beside."""

from __future__ import annotations

from adjudge.core.domain.message import Usage
from adjudge.features.agents.atif_export import atif_of
from adjudge.features.agents.trajectory import Step, ToolCall, Trajectory


def test_the_end_and_the_seconds_of_a_run_come_back() -> None:
    call = ToolCall("get", {"id": 1}, result="x", error="too slow")
    run = Trajectory(
        "q",
        (
            Step(1, "user", "said", "q"),
            Step(2, "assistant", "called", call=call, seconds=1.5, usage=Usage(1, 10, 2)),
            Step(3, "assistant", "said", "a", seconds=0.25),
        ),
        "a",
        ended="max steps",
        seconds=7.0,
    )
    found = Trajectory.of(atif_of(run, "one"))
    assert (found.ended, found.seconds) == ("max steps", 7.0)
    assert [step.seconds for step in found.steps] == [None, 1.5, 0.25]
    assert found.steps[1].call == call
