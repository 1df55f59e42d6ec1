"""Conversations as instances: each turn, or the whole; what tools were called with and returned is
text.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import Instance, SetupError
from adjudge.core.data.conversations import conversation_of, parts_of, turns_of
from adjudge.core.data.dataset import read_instances
from adjudge.runs.cli.main import app
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.plan import resolve
from adjudge.runs.results.run_report import report_of_run

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How tall is the tower?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "t1",
                "type": "function",
                "function": {"name": "search", "arguments": '{"query": "tower", "top": 3}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "t1", "content": "330 m"},
    {"role": "assistant", "content": "330 m."},
    {"role": "user", "content": "And how old?"},
    {"role": "assistant", "content": "Let me see."},
    {"role": "assistant", "content": "It opened in 1889."},
    {"role": "user", "content": "Thanks"},
]
CALL = '[tool call: search(query="tower", top=3)]'


def row(chat: object = CHAT, **more: str) -> Instance:
    (found,) = read_instances([{"id": "c1", "messages": chat, **more}])
    return found


def test_every_question_that_was_answered_is_a_turn() -> None:
    first, second = turns_of(row(contexts="The tower is 330 m tall."))
    assert (first.id, first.fields["user_input"], first.fields["response"]) == (
        "c1 turn 1",
        "How tall is the tower?",
        "330 m.",
    )
    assert (
        first.fields["history"]
        == f"system: Be brief.\nuser: How tall is the tower?\nassistant: {CALL}\ntool: 330 m"
    )
    assert (second.id, second.fields["user_input"], second.fields["response"]) == (
        "c1 turn 2",
        "And how old?",
        "It opened in 1889.",
    )
    assert str(second.fields["history"]).endswith("user: And how old?\nassistant: Let me see.")
    assert first.fields["contexts"] == second.fields["contexts"] == "The tower is 330 m tall."
    assert second.metadata["turn"] == 2


def test_the_whole_conversation_is_one_text_with_who_says_what() -> None:
    whole = conversation_of(row())
    lines = str(whole.fields["response"]).splitlines()
    assert (lines[1], lines[2], lines[-1]) == (
        "user: How tall is the tower?",
        f"assistant: {CALL}",
        "user: Thanks",
    )
    assert set(whole.fields) == {"response"} and whole.id == "c1"


def test_a_chat_may_be_json_in_a_text() -> None:
    instance = row(json.dumps(CHAT))
    assert len(turns_of(instance)) == 2
    assert [
        one.fields["response"] for one in turns_of(Instance({"messages": json.dumps(CHAT)}))
    ] == [
        "330 m.",
        "It opened in 1889.",
    ]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            {"content": [{"type": "tool_use", "id": "x", "name": "search", "input": {"q": "a"}}]},
            '[tool call: search(q="a")]',
        ),
        (
            {"content": [{"type": "tool_result", "content": [{"type": "text", "text": "330"}]}]},
            "[tool result: 330]",
        ),
        (
            {"content": None, "function_call": {"name": "now", "arguments": "{}"}},
            "[tool call: now()]",
        ),
        (
            {
                "content": "Wait.",
                "tool_calls": [{"function": {"name": "f", "arguments": "not json"}}],
            },
            "Wait.\n[tool call: f(not json)]",
        ),
        (
            {"content": [{"functionCall": {"name": "f", "args": {"x": [1, 2]}}}]},
            "[tool call: f(x=[1, 2])]",
        ),
        ({"content": None, "tool_calls": [{"id": "t1"}]}, '{"id": "t1"}'),
    ],
)
def test_calls_and_results_of_tools_are_text(message: dict[str, object], text: str) -> None:
    said = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", **message},
        {"role": "assistant", "content": "Done."},
    ]
    assert f"assistant: {text}" in str(conversation_of(row(said)).fields["response"])


@pytest.mark.parametrize(
    "instance", [Instance({"response": "r"}), Instance({"messages": "no chat"})]
)
def test_a_row_without_a_conversation_is_told_of(instance: Instance) -> None:
    for per in ("turn", "conversation"):
        with pytest.raises(SetupError, match="no conversation"):
            parts_of(instance, per)


def test_an_eval_file_has_criteria_per_turn_and_per_conversation(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps({"id": "c1", "messages": CHAT}) + "\n")
    (tmp_path / "eval.yaml").write_text(
        "data: log.jsonl\nmodels: scripted/PASS\nrun: kept\n"
        "judges:\n"
        "  - {kind: aspect, name: polite, per: turn, criteria: The answer is polite.}\n"
        "  - {kind: aspect, name: solved, per: conversation, criteria: The user gets what "
        "they asked for.}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        done = CliRunner().invoke(app, ["run", "eval.yaml", "-q"], standalone_mode=False)
        assert done.return_value == 0, (done.output, done.exception)
    sections = {
        one.judge: one.summary.attempted for one in report_of_run(tmp_path / "kept").sections
    }
    assert sections == {"polite": 2, "solved": 1}


def test_the_rag_command_judges_each_turn(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        json.dumps({"id": "c1", "messages": CHAT, "contexts": ["The tower is 330 m tall."]}) + "\n"
    )
    asked = [
        "rag",
        "--csv",
        str(path),
        "--per",
        "turn",
        "--dimensions",
        "completeness",
        "-o",
        str(tmp_path / "out"),
        "--json",
    ]
    done = CliRunner().invoke(app, [*asked, "-m", "scripted/2"], standalone_mode=False)
    assert done.return_value == 0, (done.output, done.exception)
    assert [one["id"] for one in json.loads(done.stdout)["results"]] == ["c1 turn 1", "c1 turn 2"]


@pytest.mark.parametrize(
    "judge",
    ["{kind: evidence, per: conversation}", "{kind: rag, evidence: rules, per: conversation}"],
)
def test_evidence_is_not_looked_for_in_what_users_say(judge: str) -> None:
    with pytest.raises(SetupError, match="per: turn"):
        resolve(parse_eval(f"data: rows.jsonl\nmodels: scripted\njudges:\n  - {judge}\n"))
