"""Scenarios that a model proposes, and that a person reviews before they are run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adjudge.core.domain.results import Status
from adjudge.errors import SetupError
from adjudge.features.conversations import command
from adjudge.features.conversations.command import conversations
from adjudge.features.conversations.proposal import ScenarioWriter
from adjudge.features.conversations.scenario import read_scenarios
from features.conversations.bot_script import run_eval

CANCEL = {
    "id": "cancel",
    "goal": "Cancel an order.",
    "facts": [{"name": "name", "value": "Ann"}],
    "withheld": [{"name": "order", "value": "4711"}],
    "unknown": ["phone number"],
    "persona": "A customer in a hurry.",
    "stop": "When the order is cancelled.",
}
TWICE = {**CANCEL, "unknown": ["order"]}


def writer(*replies: object) -> tuple[ScenarioWriter, list[str]]:
    prompts: list[str] = []
    waiting = iter(reply if isinstance(reply, str) else json.dumps(reply) for reply in replies)

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return next(waiting)

    return ScenarioWriter(model, count=2, criterion="Orders can be cancelled."), prompts


def test_scenarios_are_proposed_and_marked() -> None:
    judge, prompts = writer(
        "no", {"scenarios": [TWICE]}, {"scenarios": [CANCEL, {**CANCEL, "id": "b"}]}
    )
    (result,) = judge.evaluate({"faq.md": "Orders can be cancelled within a day."})
    assert [row["id"] for row in result.scenarios] == ["cancel", "b"]
    assert result.scenarios[0] == {
        "id": "cancel",
        "goal": "Cancel an order.",
        "facts": {"name": "Ann"},
        "withheld": {"order": "4711"},
        "unknown": ["phone number"],
        "persona": "A customer in a hurry.",
        "stop": "When the order is cancelled.",
        "proposed": True,
    }
    assert "within a day" in prompts[0]
    assert "Orders can be cancelled." in prompts[0]
    assert "so the user knows it" in prompts[2]  # a scenario that contradicts itself is asked again


def test_a_reply_without_scenarios_is_no_proposal() -> None:
    judge, _ = writer(*["no"] * 9)
    (result,) = judge.evaluate({"faq.md": "Text."})
    assert (result.status, result.scenarios) == (Status.FAILED, ())
    with pytest.raises(SetupError, match="is empty"):
        judge.evaluate({"faq.md": " "})


def proposals(folder: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"id": name, "goal": "Cancel an order.", "proposed": True} for name in "abc"
    ]
    path = folder / "scenarios.yaml"
    path.write_text(json.dumps(rows))
    return path


def test_a_person_reviews_proposals(tmp_path: Path) -> None:
    path = proposals(tmp_path)
    result = CliRunner().invoke(
        conversations, ["review", str(path)], input="accept\ndrop\nlater\n", standalone_mode=False
    )
    assert result.return_value == 0
    assert "1 accepted, 1 dropped, 1 still proposed" in result.output
    found = [(scenario.id, scenario.proposed) for scenario in read_scenarios(path)]
    assert found == [("a", False), ("c", True)]
    checked = CliRunner().invoke(conversations, ["check", str(path)], standalone_mode=False)
    assert checked.output.count("proposed by a model, not reviewed") == 1


def test_a_proposal_is_not_run(tmp_path: Path) -> None:
    path = proposals(tmp_path)
    eval_file = tmp_path / "eval.yaml"
    eval_file.write_text(
        f"data: {path}\ntarget: {{name: bot, url: 'http://127.0.0.1:9/chat'}}\n"
        "judges: [{kind: conversation, user: rules}]\n"
    )
    with pytest.raises(SetupError, match="was proposed by a model"):
        run_eval(eval_file, tmp_path / "run")


def test_the_command_writes_a_file_of_proposals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faq.md").write_text("Orders can be cancelled.")
    (tmp_path / "terms.md").write_text("Refunds take a week.")
    reply = json.dumps({"scenarios": [CANCEL]})
    monkeypatch.setattr(command, "open_entry", lambda *_, **__: lambda prompt: reply)
    output = tmp_path / "new.yaml"
    files = [str(tmp_path / name) for name in ("faq.md", "terms.md")]
    result = CliRunner().invoke(
        command.conversations, ["propose", *files, "-o", str(output)], standalone_mode=False
    )
    assert result.exception is None, result.exception
    found = [(scenario.id, scenario.proposed) for scenario in read_scenarios(output)]
    assert found == [("cancel", True), ("cancel-2", True)]
    again = CliRunner().invoke(
        command.conversations, ["propose", *files, "-o", str(output)], standalone_mode=False
    )
    assert "already exists" in str(again.exception)
