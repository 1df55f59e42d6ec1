"""``tool_call_appropriateness`` judges the call of a log, with what led to it, and not what was
said in the end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge import DirectJudge, Instance, ScriptedModel, SetupError
from adjudge.core.data.dataset import read_instances
from support.commands import adjudge

CRITERIA = "tool_call_appropriateness"
ASKED = {"role": "user", "content": "Will it rain in Oslo tomorrow?"}
FOUND = {"role": "tool", "content": '{"id": 3143244}'}
ANSWER = {"role": "assistant", "content": "Yes, it will rain."}
CITY = {"id": "1", "function": {"name": "find_city", "arguments": '{"name": "Oslo"}'}}
WEATHER = {
    "id": "2",
    "function": {"name": "get_weather", "arguments": '{"id": 3143244, "day": "tomorrow"}'},
}
OPENAI = [
    ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CITY]},
    FOUND,
    {"role": "assistant", "content": "Now the weather.", "tool_calls": [WEATHER]},
    {"role": "tool", "content": "rain"},
    ANSWER,
]
ANTHROPIC = [
    ASKED,
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "name": "find_city", "input": {"name": "Oslo"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "content": '{"id": 3143244}'}]},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Now the weather."},
            {
                "type": "tool_use",
                "name": "get_weather",
                "input": {"id": 3143244, "day": "tomorrow"},
            },
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "content": "rain"}]},
    ANSWER,
]
CALL = '[tool call: get_weather(id=3143244, day="tomorrow")]'
TOOLS = "find_city(name); get_weather(id, day)"


def judged(rows: Any) -> list[Instance]:
    results = DirectJudge(ScriptedModel(["Right"])).evaluate(rows, CRITERIA)
    return [result.instance for result in results]


LANGCHAIN = [
    {"type": "human", "content": ASKED["content"]},
    {"type": "ai", "content": "", "tool_calls": [{"name": "find_city", "args": {"name": "Oslo"}}]},
    {"type": "tool", "content": '{"id": 3143244}'},
    {
        "type": "ai",
        "content": "Now the weather.",
        "tool_calls": [{"name": "get_weather", "args": {"id": 3143244, "day": "tomorrow"}}],
    },
    {"type": "tool", "content": "rain"},
    {"type": "ai", "content": "Yes, it will rain."},
]


@pytest.mark.parametrize("log", [OPENAI, ANTHROPIC, json.dumps(OPENAI), LANGCHAIN])
def test_the_last_call_of_a_log_is_judged_with_what_led_to_it(log: object) -> None:
    (found,) = judged([{"messages": log, "tools": TOOLS}])
    assert found.fields["tool_call"] == CALL
    led = str(found.fields["before_call"])
    assert "Will it rain in Oslo tomorrow?\n" in led
    assert "3143244" in led
    assert led.endswith("Now the weather.")
    assert "it will rain" not in " ".join(map(str, found.fields.values()))


def test_a_file_of_logs_gives_the_same_and_says_which_has_no_call(tmp_path: Path) -> None:
    path = tmp_path / "logs.jsonl"
    rows = [
        {"id": "a", "messages": OPENAI, "tools": TOOLS},
        {"id": "b", "messages": [ASKED, ANSWER], "tools": TOOLS},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = adjudge("judge", "--file", str(path), "-c", CRITERIA, "-m", "scripted/Right", "--json")
    assert done.returncode == 3
    (result,) = json.loads(done.stdout)["results"]
    assert result["fields"]["tool_call"] == CALL
    assert "line 2: column 'messages': the conversation has no tool call" in done.stderr


def test_a_log_without_a_call_is_refused_in_python_with_the_reason() -> None:
    with pytest.raises(SetupError, match="b: column 'messages': the conversation has no tool call"):
        judged([{"id": "b", "messages": [ASKED, ANSWER], "tools": TOOLS}])


def test_calls_that_were_made_at_once_are_judged_together() -> None:
    log = [ASKED, {"role": "assistant", "content": "", "tool_calls": [CITY, WEATHER]}]
    (found,) = judged([{"messages": log, "tools": TOOLS}])
    assert found.fields["tool_call"] == f'[tool call: find_city(name="Oslo")]\n{CALL}'
    assert found.fields["before_call"] == "Will it rain in Oslo tomorrow?"


@pytest.mark.parametrize("call", ['get_weather(city="Oslo")', [WEATHER], json.dumps([WEATHER])])
def test_a_call_may_stand_in_a_column_of_its_own(call: object) -> None:
    row = {"question": "Will it rain?", "tool_calls": call, "tools": TOOLS}
    (found,) = judged([row])
    (read,) = read_instances([row], needed=["tool_call", "before_call", "tools"])
    for one in (found, read):
        assert one.fields["tool_call"] == (call if call == 'get_weather(city="Oslo")' else CALL)
        assert one.fields["before_call"] == "Will it rain?"


def test_an_answer_is_not_taken_for_a_call() -> None:
    with pytest.raises(SetupError, match="reads the field 'tool_call'"):
        judged([{"question": "Will it rain?", "response": "Yes, it will rain.", "tools": TOOLS}])
