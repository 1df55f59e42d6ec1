"""``adjudge generate`` in a run folder: what was paid for is kept, a budget holds, and a kill costs
nothing that was answered.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.runs.folder import run_info
from support import commands
from support.exported import judgments
from support.fake_provider import KEY, FakeProvider, Status, always

TASK = (
    "generate",
    "Give four.",
    "-m",
    "gpt-4o-mini",
    "--sandbox",
    "none",
    "--output-schema",
    "int",
    "--seed",
    "5",
    "-n",
    "3",
)
JUDGED = (
    "--verify",
    "It has no comments.",
    "--cost",
    "How long is it?",
    "--max-iterations",
    "1",
    "-j",
    "1",
    "--no-cache",
)
CALLS = 3 + 3 + 2
"""Three texts, three verdicts on them, and two costs: the third does not pass."""
Adjudge = Callable[..., subprocess.CompletedProcess[str]]


def scripted(body: Any) -> str:
    """The code ``output = 4`` costs 2, all other code 6; code with a comment does not pass."""
    shape, text = json.dumps(body.get("response_format", {})), body["messages"][-1]["content"]
    if '"score"' in shape:
        return json.dumps({"explanation": "Counted.", "score": 2 if "output = 4\n" in text else 6})
    if '"selected_option"' in shape:
        return json.dumps(
            {"explanation": "Seen.", "selected_option": "FAIL" if "#" in text else "PASS"}
        )
    code = {5: "output = 2 + 2", 6: "output = 4", 7: "output = 4  # four"}[body["seed"]]
    return f"```python\n{code}\n```"


@pytest.fixture
def environment(provider: FakeProvider) -> dict[str, str]:
    provider.answer = scripted
    return {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": provider.base_url("openai"),
        "COLUMNS": "200",
    }


@pytest.fixture
def adjudge(environment: dict[str, str], tmp_path: Path) -> Adjudge:
    return lambda *words: commands.adjudge(*words, cwd=tmp_path, environment=environment)


def test_the_same_command_asks_nothing_twice(
    adjudge: Adjudge, provider: FakeProvider, tmp_path: Path
) -> None:
    first = adjudge(*TASK, *JUDGED, "--run", "kept", "--json")
    assert first.returncode == 0, first.stderr
    assert len(provider.requests) == CALLS
    again = adjudge(*TASK, *JUDGED, "--run", "kept", "--json")
    assert len(provider.requests) == CALLS
    assert _without_latency(json.loads(again.stdout)) == _without_latency(json.loads(first.stdout))
    info = run_info(tmp_path / "kept")
    assert (info.state, info.votes, info.rows) == ("complete", CALLS, 3)


def test_every_candidate_is_a_row_that_is_shown_and_exported(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    adjudge(*TASK, *JUDGED, "--run", "kept")
    rows = list(judgments(tmp_path / "kept", votes=True))
    assert [(row["id"], row["verdict"], row["cost"]) for row in rows] == [
        ("candidate 1", "lost", 6.0),
        ("candidate 2", "won", 2.0),
        ("candidate 3", "failed", None),
    ]
    assert [len(row["votes"]) for row in rows] == [3, 3, 2]
    assert rows[1]["fields"] == {"task": "Give four.", "response": "output = 4"}
    assert "3 rows judged." in adjudge("runs", "show", "kept").stdout
    assert adjudge("export", "kept", "--to", "csv").returncode == 0
    assert "output = 2 + 2" in (tmp_path / "kept" / "results.csv").read_text(encoding="utf-8-sig")


@pytest.mark.parametrize("most", range(1, CALLS))
def test_a_spent_budget_says_how_to_resume_and_the_rest_is_asked_then(
    adjudge: Adjudge, provider: FakeProvider, tmp_path: Path, most: int
) -> None:
    stopped = adjudge(*TASK, *JUDGED, "--run", "kept", "--max-calls", str(most))
    assert stopped.returncode == 1
    advice = f"Continue with a larger limit: adjudge resume kept -- --max-calls {2 * most}"
    assert stopped.stderr == f"adjudge: the budget is used up: max_calls={most}. {advice}\n"
    assert len(provider.requests) == most
    assert run_info(tmp_path / "kept").votes == most, "all that was answered is kept"
    whole = adjudge("resume", "kept", "--", "--max-calls", "100")
    assert whole.returncode == 0, whole.stderr
    assert "result: 4" in whole.stdout
    assert len(provider.requests) == CALLS


def test_a_budget_holds_without_a_run_folder(adjudge: Adjudge, provider: FakeProvider) -> None:
    stopped = adjudge(*TASK, *JUDGED, "--max-calls", "2")
    assert (stopped.returncode, stopped.stderr) == (
        1,
        "adjudge: the budget is used up: max_calls=2\n",
    )
    assert len(provider.requests) == 2


def test_a_limit_in_dollars_needs_prices(
    adjudge: Adjudge, provider: FakeProvider, tmp_path: Path
) -> None:
    model = "https://models.example.com/v1#m"
    done = adjudge(
        "generate", "x", "-m", model, "--sandbox", "none", "--run", "kept", "--max-usd", "1"
    )
    assert done.returncode == 1
    assert "no price for model" in done.stderr
    assert provider.requests == []
    assert not (tmp_path / "kept").exists()


def test_killed_while_a_judge_is_asked_it_resumes_without_writing_anew(
    environment: dict[str, str], adjudge: Adjudge, provider: FakeProvider, tmp_path: Path
) -> None:
    started: list[commands.Started] = []

    def kills(body: Any) -> str:
        if "response_format" in body:
            os.kill(started[0].pid, signal.SIGKILL)
        return scripted(body)

    provider.answer = kills
    words = (*TASK, *JUDGED, "--run", "kept")
    started.append(commands.start(*words, cwd=tmp_path, environment=environment))
    assert started[0].wait(120) == -signal.SIGKILL
    started[0].close()
    written = run_info(tmp_path / "kept").votes
    asked = sum("response_format" not in body for body in provider.bodies)
    assert (
        1 <= written <= asked
    )  # a candidate may have been on its way when the first judge was asked
    provider.answer = scripted
    provider.requests.clear()
    assert adjudge("resume", "kept").returncode == 0
    assert len(provider.requests) == CALLS - written


def test_a_dry_run_asks_nothing_and_counts_what_is_left(
    adjudge: Adjudge, provider: FakeProvider, tmp_path: Path
) -> None:
    new = adjudge(*TASK, *JUDGED, "--run", "kept", "--dry-run")
    assert new.returncode == 0, new.stderr
    assert "candidates: 3\ncalls: 3 to " in new.stdout
    assert not (tmp_path / "kept").exists()
    adjudge(*TASK, *JUDGED, "--run", "kept", "--max-calls", "2")
    rest = adjudge(*TASK, *JUDGED, "--run", "kept", "--dry-run")
    assert "answered already: 2 votes\ncalls: 1 to " in rest.stdout
    assert len(provider.requests) == 2


def test_the_users_cache_answers_the_same_task_again(
    adjudge: Adjudge, provider: FakeProvider
) -> None:
    cached = (*TASK, *JUDGED[:-1])
    adjudge(*cached)
    asked = len(provider.requests)
    adjudge(*cached)
    assert len(provider.requests) == asked
    adjudge(*cached, "--no-cache")
    assert len(provider.requests) == 2 * asked


def test_another_task_does_not_go_into_the_same_folder(
    adjudge: Adjudge, provider: FakeProvider
) -> None:
    adjudge(*TASK, *JUDGED, "--run", "kept")
    other = adjudge("generate", "Give five.", *TASK[2:], *JUDGED, "--run", "kept")
    assert other.returncode == 1
    assert "task" in other.stderr
    assert len(provider.requests) == CALLS


def test_a_wrong_key_ends_it_in_one_line(adjudge: Adjudge, provider: FakeProvider) -> None:
    provider.faults = always(Status(401))
    done = adjudge(*TASK, *JUDGED)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "401" in done.stderr


def _without_latency(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _without_latency(value) for name, value in found.items() if name != "latency"}
    return [_without_latency(one) for one in found] if isinstance(found, list) else found
