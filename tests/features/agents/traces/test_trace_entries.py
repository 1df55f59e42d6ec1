"""Messages in any shape become one trajectory."""

from __future__ import annotations

import pytest

from adjudge import Trajectory
from adjudge.errors import WrongData

CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}],
    },
    {"role": "tool", "tool_call_id": "a", "content": "rain"},
    {"role": "assistant", "content": "It rains."},
]


def test_a_chat_is_a_goal_steps_and_an_answer() -> None:
    found = Trajectory.of(CHAT)
    assert (found.goal, found.answer, found.system) == ("Weather?", "It rains.", "Be kind.")
    assert [step.canonical for step in found.steps] == [
        "user said\nWeather?",
        'assistant called look({"city":"Oslo"})\nrain',
        "assistant said\nIt rains.",
    ]
    assert found.fields["steps"] == [step.canonical for step in found.steps]


def test_what_is_no_trace_is_refused() -> None:
    with pytest.raises(WrongData, match="no agent trace"):
        Trajectory.of([{"question": "x"}])
