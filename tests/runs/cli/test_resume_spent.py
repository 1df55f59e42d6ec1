"""A run whose budget is used up, resumed without a larger one: it reports every row that its folder
holds, not only those it passed again. A real server that fails first, several requests at once.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adjudge.runs.folder import records_of
from adjudge.runs.view.ending import resume_command
from support.commands import adjudge
from support.fake_provider import KEY, FakeProvider, Status

_CALLS = 20


@pytest.fixture
def environment(tmp_path: Path, provider: FakeProvider) -> dict[str, str]:
    """Thirty rows and a server whose first ten answers fail once, so that later rows overtake
    them.
    """
    marks = (f"{n},REC-{n:05}-{'Y' if n % 4 == 0 else 'N'}\n" for n in range(30))
    (tmp_path / "rows.csv").write_text("id,answer\n" + "".join(marks))
    provider.latency = 0.02
    provider.faults = lambda record, attempt: Status(500) if record < 10 and not attempt else None
    return {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": provider.base_url("openai"),
    }


def test_resume_prints_all_rows_of_the_ledger(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.csv, id: id}\n"
        "models: {model: openai/gpt-4o-mini, max_concurrency: 8}\n"
        "judges: [{kind: aspect, criteria: It is right.}]\n"
        f"budget: {{max_calls: {_CALLS}}}\n"
        "run: kept\n"
    )
    first = adjudge("run", "eval.yaml", "--no-cache", cwd=tmp_path, environment=environment)
    held = [record.row for record in records_of(tmp_path / "kept")]
    assert first.returncode == 1, first.stderr
    assert held != list(range(1, 1 + len(held)))  # rows overtook each other
    again = adjudge("resume", "kept", cwd=tmp_path, environment=environment)
    assert again.returncode == 1
    assert f"Budget of {_CALLS} calls used up after {len(held)} of 30 rows." in again.stdout
    assert again.stdout == first.stdout


def test_the_same_command_reports_all_rows_of_the_ledger(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    command = (
        *("check", "-f", "rows.csv", "--criterion", "It is right.", "-m", "openai/gpt-4o-mini"),
        *("--id", "id", "-j", "8", "--no-cache", "--max-calls", str(_CALLS)),
        *("--run", "kept", "--json"),
    )
    first = adjudge(*command, cwd=tmp_path, environment=environment)
    held = [record.row for record in records_of(tmp_path / "kept")]
    assert first.returncode == 1, first.stderr
    assert held != list(range(1, 1 + len(held)))
    again = json.loads(adjudge(*command, cwd=tmp_path, environment=environment).stdout)
    assert [one["row"] for one in again["results"]] == held
    assert again["criteria"] == json.loads(first.stdout)["criteria"]
    assert again["results"] == json.loads(first.stdout)["results"]


def test_a_limit_that_one_long_row_does_not_fit_in_says_so(tmp_path: Path) -> None:
    """It said "used up" of a limit of which a tenth was spent."""
    (tmp_path / "rows.csv").write_text(f"response\nshort\nbrief\n{'long ' * 20_000}\n")
    limit = ("--max-tokens", "20000", "-j", "1", "-q", "--no-cache")
    words = ("judge", "--file", "rows.csv", "--criterion", "Is it short?", "-m", "scripted")
    done = adjudge(*words, *limit, "--run", "r", cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert "reached after 2 of 3 rows: the next request may take 2" in said, said
    assert "max_tokens=20000; the next request may take 2" in done.stderr


def test_the_gates_of_a_criterion_that_was_cut_short_are_one_line(tmp_path: Path) -> None:
    """Its bar and its limit on missing scores said the same twice."""
    (tmp_path / "rows.csv").write_text("response\n" + "".join(f"row {n}\n" for n in range(9)))
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: [scripted]\nbudget: {max_calls: 3}\n"
        "judges: [{kind: aspect, name: short, criteria: It is short.}]\n"
        "gates: {fail_under: 0.5, max_failed: 0.2}\n"
    )
    done = adjudge("run", "eval.yaml", "-q", "--no-cache", cwd=tmp_path)
    said = done.stdout + done.stderr
    assert said.count("? Gate undecided") == 1, said


@pytest.mark.parametrize(
    ("limit", "larger"),
    [
        ("max_calls=0", "--max-calls 1"),
        ("max_usd=0.0; the next request may take $0.0041", "--max-usd 1"),
        ("max_usd=1e-05", "--max-usd 2e-05"),
        ("max_usd=0.5", "--max-usd 1"),
        ("max_tokens=5000", "--max-tokens 10000"),
    ],
)
def test_the_limit_that_is_suggested_is_larger_and_of_the_same_size(
    limit: str, larger: str
) -> None:
    assert resume_command(Path("a"), limit) == f"adjudge resume a -- {larger}"
