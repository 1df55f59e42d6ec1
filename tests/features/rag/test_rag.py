"""``adjudge rag`` as a person and a script see it: a real process each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adjudge.runs.cli.main import main
from adjudge.runs.folder import run_info
from support import commands
from support.fake_provider import KEY, FakeProvider, Says
from support.rag import EXAMPLE
from support.records import rag_rows
from support.tables import read_rows

ROOT = Path(__file__).parents[3]


def adjudge(
    *args: str | Path, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(*args, cwd=cwd, environment={**os.environ, **environment})


def rag(tmp_path: Path, *args: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return adjudge("rag", *args, "--output", tmp_path / "out", cwd=ROOT, **environment)


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The same command in this process: quick, for what goes wrong before a model is asked."""

    def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["adjudge", "rag", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(args, int(ended.value.code or 0), out, err)

    monkeypatch.chdir(ROOT)
    return run


def reports(said: str) -> list[Path]:
    """The files that were written."""
    return [Path(word) for word in said.split() if "rag_evaluation_results_" in word]


def test_a_csv_becomes_three_reports_and_a_table(tmp_path: Path) -> None:
    done = rag(tmp_path, "--csv", EXAMPLE, "-m", "scripted/2")
    assert done.returncode == 0, done.stderr
    paths = reports(done.stdout)
    assert [path.suffix for path in paths] == [".md", ".csv", ".html"]
    assert all(path.is_file() and path.name.startswith("rag_evaluation_results_") for path in paths)
    assert len(list(read_rows(paths[1]))) == 12
    assert "Answer relevance" in done.stdout
    assert "composite" in done.stdout
    assert "response = Assistant Answer" in done.stderr


def test_reports_go_to_the_folder_reports(tmp_path: Path) -> None:
    done = adjudge(
        "rag", "--csv", EXAMPLE, "-m", "scripted", "--limit", "1", "--quiet", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "reports").iterdir())) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["reports"]


def test_quiet_prints_the_paths_only(tmp_path: Path) -> None:
    done = rag(tmp_path, "--data", EXAMPLE, "-m", "scripted", "-q", "--limit", "2")
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr == ""


@pytest.mark.parametrize("given", ["flag", "API_KEY", "MISTRAL_API_KEY"])
def test_the_seeds_flags_reach_the_provider(
    tmp_path: Path, provider: FakeProvider, given: str
) -> None:
    provider.faults = lambda record, attempt: Says(
        lambda right: '{"explanation": "so", "selected_option": "1"}'
    )
    environment = {
        "MISTRAL_BASE_URL": provider.base_url("mistral"),
        "API_KEY": "",
        "MISTRAL_API_KEY": "",
    }
    key = ("--api-key", KEY) if given == "flag" else ()
    seed = (
        "--model-provider",
        "mistral",
        "--model-name",
        "mistral-medium-latest",
        "--temperature",
        "0.3",
        "--seed",
        "42",
    )
    environment |= {} if given == "flag" else {given: KEY}
    done = rag(tmp_path, "--csv", EXAMPLE, "--limit", "1", *seed, *key, **environment)
    assert done.returncode == 0, done.stderr
    asked = {(body["model"], body["temperature"], body["random_seed"]) for body in provider.bodies}
    assert asked == {("mistral-medium-latest", 0.3, 42)}
    assert len(provider.bodies) == 6
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir())
    assert KEY not in written + done.stdout + done.stderr
    assert "mistral/mistral-medium-latest" in written


def test_a_key_meant_for_another_model_is_not_sent(tmp_path: Path, provider: FakeProvider) -> None:
    """``API_KEY`` may be anybody's: it counts with --model-provider mistral only, as the seed has
    it.
    """
    base = {
        "MISTRAL_BASE_URL": provider.base_url("mistral"),
        "API_KEY": "sk-of-another",
        "MISTRAL_API_KEY": KEY,
    }
    provider.faults = lambda record, attempt: Says(
        lambda right: '{"explanation": "so", "selected_option": "1"}'
    )
    done = rag(
        tmp_path, "--csv", EXAMPLE, "--limit", "1", "-m", "mistral/mistral-small-latest", **base
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["openai", "ollama"])
def test_mistrals_key_is_not_sent_to_whatever_provider_is_named(
    tmp_path: Path, provider: FakeProvider, name: str
) -> None:
    """Seen: ``API_KEY`` went to any provider, Ollama hosts included, before the
    provider's own key.
    """
    provider.faults = lambda record, attempt: Says(
        lambda right: '{"explanation": "so", "selected_option": "1"}'
    )
    hosts = {
        "OPENAI_BASE_URL": provider.base_url("openai"),
        "OLLAMA_HOST": provider.base_url("ollama"),
    }
    keys = {"API_KEY": "sk-of-mistral", "OPENAI_API_KEY": KEY}
    model = (
        "--model-provider",
        name,
        "--model-name",
        "gpt-4o-mini" if name == "openai" else "llama3.2:3b",
    )
    done = rag(tmp_path, "--csv", EXAMPLE, "--limit", "1", *model, **hosts, **keys)
    assert done.returncode == 0, done.stderr
    assert provider.requests and not any(
        "sk-of-mistral" in str(request.headers) for request in provider.requests
    )


def test_mistrals_own_variable_comes_before_the_seeds(
    tmp_path: Path, provider: FakeProvider
) -> None:
    provider.faults = lambda record, attempt: Says(
        lambda right: '{"explanation": "so", "selected_option": "1"}'
    )
    keys = {
        "API_KEY": "sk-of-another",
        "MISTRAL_API_KEY": KEY,
        "MISTRAL_BASE_URL": provider.base_url("mistral"),
    }
    model = ("--model-provider", "mistral", "--model-name", "mistral-medium-latest")
    done = rag(tmp_path, "--csv", EXAMPLE, "--limit", "1", *model, **keys)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("script", "code"), [("2", 0), ("0", 4), ("huh", 5)])
def test_the_gate_is_the_exit_code(tmp_path: Path, script: str, code: int) -> None:
    done = rag(
        tmp_path,
        "--csv",
        EXAMPLE,
        "-m",
        f"scripted/{script}",
        "--limit",
        "2",
        "--fail-under",
        "0.5",
    )
    assert done.returncode == code


def test_without_a_score_the_exit_code_is_three_and_the_report_is_there(tmp_path: Path) -> None:
    done = rag(tmp_path, "--csv", EXAMPLE, "-m", "scripted/huh", "--limit", "2")
    assert done.returncode == 3
    rows = list(read_rows(reports(done.stdout)[1]))
    assert [row["status"] for row in rows] == ["failed", "failed"]


def test_some_dimensions_other_weights_and_russian(tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("name: clarity\nweight: 3\n")
    chosen = ("--dimensions", "clarity, conciseness", "--config", config, "--language", "ru")
    done = rag(tmp_path, "-f", EXAMPLE, "-m", "scripted/2", *chosen)
    assert done.returncode == 0, done.stderr
    assert "Ясность" in done.stdout
    assert "Обоснованность" not in done.stdout
    markdown, csv, html = (path.read_text(encoding="utf-8") for path in reports(done.stdout))
    assert "Ясность 3, Лаконичность 1" in html
    assert "Лаконичность" in markdown
    assert "0.625" in csv  # (3 · 2/4 + 2/2) / 4


def test_columns_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("frage,antwort,quellen\nq,a,f\n")
    named = (
        "--column",
        "user_input=frage",
        "--column",
        "response=antwort",
        "--column",
        "contexts=quellen",
    )
    done = rag(tmp_path, "--csv", path, "-m", "scripted", *named)
    assert done.returncode == 0, done.stderr
    assert "response = antwort" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "--csv"),
        (("--csv", "none.csv"), 1, "none.csv cannot be read"),
        (("--csv", "README.md"), 1, "README.md"),
        (("--csv", "examples/answers.csv"), 1, "column"),
        (("--csv", EXAMPLE, "--dimensions", "clarty"), 1, "did you mean 'clarity'"),
        (("--csv", EXAMPLE, "--config", "none.yaml"), 1, "none.yaml cannot be read"),
        (("--csv", EXAMPLE, "--language", "xx"), 2, "'xx' is not one of"),
        (("--csv", EXAMPLE, "--model-provider", "mistral"), 2, "belong together"),
        (
            ("--csv", EXAMPLE, "--model-provider", "mistral", "--model-name", "x"),
            2,
            "name the model only once",
        ),
        (("--csv", EXAMPLE, "-m", "scripted/1", "--api-key", "k"), 2, "--api-key is for one model"),
        (("--csv", EXAMPLE, "--strictness", "0"), 2, "votes"),
        (("--csv", EXAMPLE, "--fail-under", "2"), 2, "fail-under"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, args: tuple[str | Path, ...], code: int, message: str, command: Command
) -> None:
    done = command(*args, "-m", "scripted", "--output", tmp_path / "out")
    assert done.returncode == code
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_output_that_is_no_folder_is_said_before_any_call(
    tmp_path: Path, command: Command
) -> None:
    (tmp_path / "out").write_text("")
    done = command("--csv", EXAMPLE, "-m", "scripted", "--output", tmp_path / "out")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_an_empty_file_and_one_in_another_encoding(tmp_path: Path, command: Command) -> None:
    empty, other = tmp_path / "empty.csv", tmp_path / "other.csv"
    empty.write_text("")
    other.write_bytes("question,answer,contexts\nСколько,пять,десять\n".encode("cp1251"))
    assert "has no rows" in command("--csv", empty, "-m", "scripted").stderr
    assert "is not valid UTF-8" in command("--csv", other, "-m", "scripted").stderr


@rag_rows
def test_recorded_rows(tmp_path: Path, source: Path, count: int) -> None:
    done = rag(tmp_path, "--csv", source, "-m", "scripted/2")
    assert done.returncode == 0, done.stderr
    assert f"{count}/{count}" in done.stdout


def test_a_run_is_kept_stopped_by_its_budget_and_gone_on_with(tmp_path: Path) -> None:
    source = str(Path(__file__).parents[3] / "examples" / "rag.csv")
    command = (
        "rag",
        "--csv",
        source,
        "-m",
        "scripted",
        "--run",
        str(tmp_path / "run"),
        "--output",
        str(tmp_path / "reports"),
    )
    stopped = adjudge(*command, "--max-calls", "10")
    assert stopped.returncode == 1
    assert "max_calls=10" in stopped.stderr
    assert run_info(tmp_path / "run").votes == 10
    done = adjudge("resume", str(tmp_path / "run"), "--", "--max-calls", "1000")
    assert done.returncode == 0, done.stderr
    info = run_info(tmp_path / "run")
    assert (info.votes, info.judges) == (72, {"RagEvaluator": {"scored": 12}})
    assert set(info.judge_configurations["RagEvaluator"].dimensions or ()) >= {
        "clarity",
        "harmfulness",
    }
    assert sorted(path.suffix for path in (tmp_path / "reports").iterdir()) == [
        ".csv",
        ".html",
        ".md",
    ]


def test_a_dry_run_counts_every_dimension(tmp_path: Path) -> None:
    source = str(Path(__file__).parents[3] / "examples" / "rag.csv")
    done = adjudge(
        "rag",
        "--csv",
        source,
        "-m",
        "scripted",
        "--strictness",
        "3",
        "--dry-run",
        "--output",
        str(tmp_path / "r"),
    )
    assert "calls: 216 to 238" in done.stdout
    assert not (tmp_path / "r").exists()


def test_evidence_is_counted_before_anything_is_asked(command: Command) -> None:
    plain = command(
        "--csv", EXAMPLE, "-m", "scripted", "--dry-run", "--dimensions", "groundedness", "--json"
    )
    joint = command(
        "--csv",
        EXAMPLE,
        "-m",
        "scripted",
        "--dry-run",
        "--dimensions",
        "groundedness",
        "--evidence",
        "joint",
        "--json",
    )
    each = command(
        "--csv",
        EXAMPLE,
        "-m",
        "scripted",
        "--dry-run",
        "--dimensions",
        "groundedness",
        "--evidence",
        "--json",
    )
    calls = [
        int(json.loads(done.stdout)["results"][0]["calls"]["lower"])
        for done in (plain, joint, each)
    ]
    assert calls[0] == 12
    assert calls[1] <= 12 < calls[2]


def test_claims_without_a_model_that_looks_them_up_are_refused(command: Command) -> None:
    done = command("--csv", EXAMPLE, "-m", "scripted", "--evidence", "rules", "--claims")
    assert done.returncode != 0
    assert "looking up claims takes a model" in done.stderr
