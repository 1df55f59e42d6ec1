"""Conversations that deepeval, ADK and Scenario wrote themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.data.dataset import OddRows
from adjudge.features.conversations.attribution import attribute
from adjudge.features.conversations.recorded import holds_conversations, read_conversations
from adjudge.features.conversations.stored_conversation import StoredConversation
from adjudge.features.conversations.user_checks import UserChecks

DUMPS = Path(__file__).parent / "dumps"
ALL = [path.name for path in sorted(DUMPS.glob("*.json*"))]
TALK = [
    ("user", "I want to cancel an order."),
    ("agent", "Which order?"),
    ("user", "It is 4711."),
    ("agent", "Order 4711 is cancelled."),
]
CALL = ("cancel_order", {"order": "4711"}, {"status": "cancelled"})


def read(path: Path) -> list[StoredConversation]:
    def refuse(bad: OddRows) -> None:
        pytest.fail(f"not read: {bad}")

    return list(read_conversations(path, None, refuse))


def outcomes(name: str) -> list[tuple[str, bool | None, str]]:
    return [
        (stored.scenario.id, stored.passed, stored.conversation.ended)
        for stored in read(DUMPS / name)
    ]


@pytest.mark.parametrize("name", ALL)
def test_messages_and_calls_are_read(name: str) -> None:
    assert holds_conversations(DUMPS / name)
    conversation = read(DUMPS / name)[0].conversation
    assert [(turn.speaker, turn.text) for turn in conversation.turns] == TALK
    calls = [
        (call.name, call.arguments, json.loads(call.result or "null"))
        for call in conversation.turns[3].calls
    ]
    assert calls == [CALL]


def test_outcomes_of_scenario() -> None:
    assert outcomes("scenario.events.jsonl") == [
        ("cancel", True, "state reached"),
        ("cancel", False, "turn limit"),
        ("polite", False, "state reached"),  # the judge's reason has the word "maximum"
        ("undecided", None, "state reached"),  # no criterion could be decided
        ("broken", None, "application failed"),
        ("running", None, "unknown"),
    ]
    assert [stored.trial for stored in read(DUMPS / "scenario.events.jsonl")][:2] == [1, 2]


def test_outcomes_of_adk() -> None:
    assert outcomes("adk.evalset_result.json") == [
        ("cancel", True, "unknown"),
        ("shy", False, "unknown"),
        ("informational", None, "unknown"),
        ("broken", False, "application failed"),
    ]
    assert read(DUMPS / "adk.evalset_result.json")[3].conversation.is_lost


def test_outcomes_of_deepeval() -> None:
    for name in ("deepeval.test_run.json", "deepeval.result.json"):
        assert [passed for _, passed, _ in outcomes(name)] == [True, False]
    assert [passed for _, passed, _ in outcomes("deepeval.cases.json")] == [None, None]


def test_the_user_of_deepeval_is_described() -> None:
    scenario = read(DUMPS / "deepeval.cases.json")[0].scenario
    assert (scenario.goal, scenario.persona, scenario.stop) == (
        "A customer wants to cancel an order.",
        "Ann, in a hurry.",
        "The order is cancelled.",
    )


@pytest.mark.parametrize("name", ALL)
def test_no_fact_is_called_invented_where_the_facts_are_not_stored(name: str) -> None:
    stored = read(DUMPS / name)[0]
    faults = UserChecks(stored.scenario, stored.conversation, stored.passed).faults()
    assert "4711" not in " ".join(str(fault.reason) for fault in faults)
    assert attribute(stored.conversation, stored.passed, faults).fault != "user"


def test_an_invented_fact_is_found_where_the_scenario_is_stored(tmp_path: Path) -> None:
    cases = json.loads((DUMPS / "deepeval.cases.json").read_text())
    cases[0]["turns"][2]["content"] = "It is 9900123."
    (stored, _) = read(write(tmp_path, cases))
    faults = UserChecks(stored.scenario, stored.conversation, False).faults()
    assert "invented fact" in [fault.kind for fault in faults]


def write(folder: Path, content: Any) -> Path:
    path = folder / "cases.json"
    path.write_text(json.dumps(content))
    return path


def without(cases: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for place, case in enumerate(cases):
        yield {**case, "turns": []} if place == 0 else case


def test_one_case_and_a_case_without_turns(tmp_path: Path) -> None:
    cases = json.loads((DUMPS / "deepeval.cases.json").read_text())
    assert len(read(write(tmp_path, cases[0]))) == 1
    first, second = read(write(tmp_path, list(without(cases))))
    assert (first.conversation.turns, len(second.conversation.turns)) == ((), 6)


def test_a_metric_with_an_error_is_no_failure(tmp_path: Path) -> None:
    run = json.loads((DUMPS / "deepeval.test_run.json").read_text())
    case = run["testRunData"]["conversationalTestCases"][1]
    case["metricsData"][0] |= {"error": "no model", "score": None}
    assert [stored.passed for stored in read(write(tmp_path, run))] == [True, None]


def test_older_results_of_adk_are_json_in_json(tmp_path: Path) -> None:
    text = (DUMPS / "adk.evalset_result.json").read_text()
    assert len(read(write(tmp_path, text))) == 4


def scenario_run(**finished: object) -> list[dict[str, object]]:
    messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    return [
        {"type": "SCENARIO_RUN_STARTED", "metadata": {"name": "a\0b", "description": "Cancel."}},
        {"type": "SCENARIO_MESSAGE_SNAPSHOT", "messages": messages},
        {"type": "SCENARIO_RUN_FINISHED", **finished},
    ]


def test_a_record_that_says_two_things_has_no_outcome(tmp_path: Path) -> None:
    success = {"status": "SUCCESS", "results": {"verdict": "failure"}}
    failed = {"status": "FAILED", "results": {"verdict": "success"}}
    events = [*scenario_run(**success), *scenario_run(**failed), *scenario_run(status="SUCCESS")]
    # runs without ids are not mixed up, and an odd character stops nobody
    stored = read(write(tmp_path, {"events": events}))
    assert [(one.passed, one.scenario.id, one.trial) for one in stored] == [
        (None, "a\ufffdb", 1),
        (None, "a\ufffdb", 2),
        (True, "a\ufffdb", 3),
    ]
    run = json.loads((DUMPS / "deepeval.test_run.json").read_text())
    for case in run["testRunData"]["conversationalTestCases"]:
        case["success"] = not case["success"]
    assert [one.passed for one in read(write(tmp_path, run))] == [None, None]


def test_other_names_of_the_user_are_read(tmp_path: Path) -> None:
    turns = [{"role": "human", "content": "Hi."}, {"role": "ai", "content": "Hello."}]
    (stored,) = read(write(tmp_path, [{"scenario": "Cancel.", "turns": turns}]))
    assert [turn.speaker for turn in stored.conversation.turns] == ["user", "agent"]


def test_a_session_that_cannot_be_read_is_no_failed_application(tmp_path: Path) -> None:
    case = {"evalId": "x", "finalEvalStatus": 1, "sessionDetails": {"events": [{"odd": 1}]}}
    (stored,) = read(write(tmp_path, {"evalSetId": "set", "evalCaseResults": [case]}))
    assert (stored.passed, stored.conversation.ended) == (None, "unknown")
    assert "could not be read" in stored.conversation.detail
