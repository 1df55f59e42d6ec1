"""Conversations with the tool of a real MCP server process."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import SetupError
from features.conversations.bot_script import run_eval, write_eval
from features.conversations.test_simulation import details
from support.commands import adjudge

BOT = Path(__file__).with_name("mcp_bot.py")


def mcp_eval(folder: Path, fault: str = "none", more: str = "", **settings: Any) -> Path:
    path = write_eval(folder, "URL", **settings)
    command = json.dumps([sys.executable, str(BOT), str(folder), fault])
    text = path.read_text(encoding="utf-8").replace('url: "URL"', f"mcp: {command}{more}")
    path.write_text(text, encoding="utf-8")
    return path


def asked(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_tool_talks_and_its_calls_become_steps(tmp_path: Path) -> None:
    run_eval(mcp_eval(tmp_path, "noise"), tmp_path / "run")
    found = details(tmp_path / "run")
    assert {one.option for one in found.values()} == {"passed"}
    for one in found.values():
        assert one.conversation is not None
        assert {call.name for call in one.conversation.calls} == {"cancel"}
        assert one.conversation.state == {"status": "cancelled"}
    (process,) = {one["pid"] for one in asked(tmp_path)}  # one server for all conversations
    assert all(one["messages"][-1]["content"] == one["message"] for one in asked(tmp_path))
    assert process != os.getpid()


@pytest.mark.parametrize("session", ["idempotent", "stateful"])
def test_a_server_that_dies_loses_no_turn_and_acts_once(tmp_path: Path, session: str) -> None:
    run_eval(mcp_eval(tmp_path, "die", count=1, session=session), tmp_path / "run")
    (one,) = details(tmp_path / "run").values()
    turns = [each["turn"] for each in asked(tmp_path)]
    if session == "idempotent":
        assert (one.option, turns) == ("passed", [1, 2, 3, 3, 4, 5])
        assert len({each["pid"] for each in asked(tmp_path)}) == 2
    else:
        # it may have acted before it died, so the message is not sent again
        assert (one.ended, one.validity, turns) == ("in flight", "lost", [1, 2, 3])
        assert one.conversation is not None
        assert "out of memory" in one.conversation.detail


def test_a_server_that_hangs_or_refuses_fails_the_turn(tmp_path: Path) -> None:
    reasons = {
        "huge": "the reply has 12.0 MB; at most 10 MB are read",
        "hang": "no reply within 1",
        "refuse": "no more orders",
    }
    for fault, reason in reasons.items():
        folder = tmp_path / fault
        path = mcp_eval(folder, fault, ", max_retries: 0", count=1)
        if fault == "hang":
            path.write_text(path.read_text(encoding="utf-8").replace("timeout: 20", "timeout: 1"))
        run_eval(path, folder / "run")
        (one,) = details(folder / "run").values()
        assert one.conversation is not None
        assert (one.ended, one.fault) == ("application failed", "environment")
        assert reason in one.conversation.detail
        processes = {each["pid"] for each in asked(folder)}
        assert len(processes) == 1  # only the turn fails, not the server
    run_eval(path, folder / "run")  # it goes on at the same message
    (one,) = details(folder / "run").values()
    assert one.option == "passed"
    assert [each["turn"] for each in asked(folder)] == [1, 2, 3, 3, 4, 5]


def test_wrong_tools_and_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="available: chat"):
        run_eval(mcp_eval(tmp_path / "a", "none", ", tool: ask"), tmp_path / "a" / "run")
    body = ", tool: chat, body: {message: '{message}', messages: '{messages}'}"
    run_eval(mcp_eval(tmp_path / "b", "none", f"{body}, max_retries: 0", count=1), tmp_path / "run")
    assert {"session", "turn_key"}.isdisjoint(asked(tmp_path / "b")[0])
    path = mcp_eval(tmp_path / "c", count=1)
    text = path.read_text(encoding="utf-8").replace(sys.executable, "/no/such/program")
    path.write_text(text, encoding="utf-8")
    run_eval(path, tmp_path / "c" / "run")
    (one,) = details(tmp_path / "c" / "run").values()
    assert one.conversation is not None
    assert "cannot be started" in one.conversation.detail


def test_a_tool_that_gets_nothing_of_the_row_is_refused(tmp_path: Path) -> None:
    """Else one answer would stand for all rows."""
    (tmp_path / "rows.csv").write_text("user_input\nHow much?\nWhen?\n", encoding="utf-8")
    command = json.dumps([sys.executable, str(BOT), str(tmp_path), "optional"])
    path = tmp_path / "eval.yaml"
    path.write_text(
        f"data: rows.csv\ntarget: {{name: bot, mcp: {command}}}\n"
        "judges: [{kind: check, checks: [{contains: order}]}]\n",
        encoding="utf-8",
    )
    with pytest.raises(SetupError, match="takes no field of the row"):
        run_eval(path, tmp_path / "run")


@pytest.mark.usefixtures("untrusting")
def test_an_untrusted_folder_starts_no_server(tmp_path: Path) -> None:
    mcp_eval(tmp_path, count=1)
    done = adjudge("run", "eval.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "mcp_bot.py" in done.stderr
    assert not (tmp_path / "log.jsonl").exists()


def test_no_server_outlives_its_run(tmp_path: Path) -> None:
    mcp_eval(tmp_path, count=1)
    done = adjudge("run", "eval.yaml", "--trust", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (process,) = {one["pid"] for one in asked(tmp_path)}
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    pytest.fail("the server still runs")
