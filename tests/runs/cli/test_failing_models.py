"""What a user sees of models that cannot work: one line and exit code 1, not a line for each row; a
lost member of a panel.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.runs.cli.main import main
from adjudge.runs.folder import run_info
from support.asking import marked
from support.fake_provider import KEY, NULL, Bills, FakeProvider, always
from support.fake_provider import Status as Code


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["response", *marked(40)]) + "\n")
    return path


@pytest.fixture(autouse=True)
def _at_the_fake_provider(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", provider.base_url(name.lower()))


def adjudge(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["adjudge", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def commands(rows: Path) -> dict[str, list[str]]:
    eval_file = rows.with_name("eval.yaml")
    eval_file.write_text(
        "data: rows.csv\nmodels: [openai/gpt-4o-mini]\njudges: [{kind: aspect, criteria: "
        "conciseness}]\n"
    )
    model = ["-m", "openai/gpt-4o-mini", "--no-cache"]
    return {
        "check": ["check", "-f", str(rows), "--criterion", "It ends in Y.", *model],
        "one text": ["check", "REC-00001-Y", "--criterion", "It ends in Y.", *model],
        "judge": ["judge", "-f", str(rows), "--criterion", "Does it end in Y?", *model],
        "kept": [
            "judge",
            "-f",
            str(rows),
            "--criterion",
            "Does it end in Y?",
            "--run",
            "kept",
            *model,
        ],
        "run": ["run", str(eval_file), "--no-cache"],
    }


@pytest.mark.parametrize("name", ["check", "one text", "judge", "kept", "run"])
def test_a_wrong_key_ends_a_command_with_one_line(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
    name: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key")
    for _ in range(2):
        provider.requests.clear()
        assert adjudge(monkeypatch, *commands(rows)[name]) == 1
        shown = capsys.readouterr()
        assert shown.err.splitlines() == [
            "adjudge: openai/gpt-4o-mini: 401: Incorrect API key provided (check the API key)"
        ]
        assert 1 <= len(provider.requests) <= 3


PANEL = ["-m", "openai/gpt-4o-mini", "-m", "mistral/mistral-small-latest", "--no-cache"]


@pytest.mark.parametrize("how", ["table", "json"])
@pytest.mark.parametrize("command", ["check", "judge"])
def test_a_panel_that_lost_a_model_on_every_row_does_not_end_well_in_silence(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
    command: str,
    how: str,
) -> None:
    """Seen: two of five models lost on every row, exit code 0, not a word."""
    with FakeProvider() as other:
        other.faults = always(Code(400))
        monkeypatch.setenv("MISTRAL_BASE_URL", other.base_url("mistral"))
        words = [
            command,
            "-f",
            str(rows),
            "--criterion",
            "It ends in Y.",
            *PANEL,
            *(["--json"] if how == "json" else []),
        ]
        assert adjudge(monkeypatch, *words) == 3
    shown = capsys.readouterr()
    assert "excluded mistral/mistral-small-latest: 40 of 40 rows" in shown.err.splitlines()
    if how == "json" and command == "check":
        assert json.loads(shown.out)["summary"]["excluded_models"] == {
            "mistral/mistral-small-latest": 40
        }


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "excluded mistral/mistral-small-latest: 2 of 40 rows"),
        ("ru", "исключена модель mistral/mistral-small-latest: 2 из 40 строк"),
    ],
)
def test_a_model_that_is_missing_here_and_there_is_said_and_no_more(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
    language: str,
    said: str,
) -> None:
    words = ["check", "-f", str(rows), "--criterion", "It ends in Y.", "--language", language]
    with FakeProvider() as other:
        other.faults = lambda record, attempt: NULL if record in (3, 4) else None
        monkeypatch.setenv("MISTRAL_BASE_URL", other.base_url("mistral"))
        assert adjudge(monkeypatch, *words, *PANEL) == 0
    assert said in capsys.readouterr().err.splitlines()


def test_tokens_that_were_estimated_are_said_to_be(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
) -> None:
    provider.faults = always(Bills(None))
    assert adjudge(monkeypatch, *commands(rows)["check"]) == 0
    assert "tokens (estimated)" in " ".join(capsys.readouterr().out.split())


def test_a_run_says_that_its_tokens_are_estimated(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
) -> None:
    """Of a run folder, nothing said so: the ledger was not asked."""
    provider.faults = always(Bills(None))
    assert adjudge(monkeypatch, *commands(rows)["kept"]) == 0
    assert "tokens (estimated)" in " ".join(capsys.readouterr().out.split())
    assert adjudge(monkeypatch, "runs", "show", "kept") == 0
    assert " ".join(capsys.readouterr().out.split()).count("tokens (estimated)") == 2
    for kind in ("html", "md"):
        assert adjudge(monkeypatch, "report", "kept", "--to", kind, "-o", f"page.{kind}") == 0
    assert "(estimated)</td>" in rows.with_name("page.html").read_text()
    both = ["--criterion", "conciseness", "--criterion", "coherence"]
    model = ["-m", "openai/gpt-4o-mini", "--no-cache", "--json", "--run", "several"]
    capsys.readouterr()
    assert adjudge(monkeypatch, "judge", "-f", str(rows), *both, *model) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["calls_with_estimated_tokens"] == summary["calls"] == 80


@pytest.mark.parametrize("command", ["check", "judge"])
def test_every_output_states_which_model_a_panel_lost_and_counts_the_same_calls(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
    command: str,
) -> None:
    """Seen: lost on 20 of 30 rows, which Markdown, HTML and 'runs show' did not say; 53 calls here,
    40 there, 127 sent.
    """
    with FakeProvider() as other:
        other.faults = lambda record, attempt: Code(400, "no") if record >= 30 else None
        monkeypatch.setenv("MISTRAL_BASE_URL", other.base_url("mistral"))
        asked = [
            command,
            "-f",
            str(rows),
            "--criterion",
            "Does it end in Y?",
            *PANEL,
            "--run",
            "kept",
            "--json",
        ]
        assert adjudge(monkeypatch, *asked) == 0
        sent = len(other.requests) + len(provider.requests)
    printed = json.loads(capsys.readouterr().out)
    results = printed["results"]
    assert sum(bool(result.get("excluded_models")) for result in results) == 10
    if command == "check":
        assert printed["summary"]["excluded_models"] == {"mistral/mistral-small-latest": 10}
        assert printed["summary"]["calls"] == sent - 10
    assert adjudge(monkeypatch, "runs", "show", "kept", "--json") == 0
    shown = json.loads(capsys.readouterr().out)["run"]
    ((judge, lost),) = shown["excluded_models"].items()
    assert lost == {"mistral/mistral-small-latest": 10}
    assert sum(vote["calls"] for result in results for vote in result["votes"]) == sent - 10
    assert sum(shown["calls"].values()) == sent - 10
    assert shown["failed_calls"] == 10
    said = f"{judge}: without mistral/mistral-small-latest on 10 of 40 rows"
    assert adjudge(monkeypatch, "runs", "show", "kept") == 0
    assert said in capsys.readouterr().out
    for ending in ("md", "html"):
        assert adjudge(monkeypatch, "export", "kept", "--to", ending) == 0
        assert said in Path(f"kept/results.{ending}").read_text().replace("\\", "")


@pytest.mark.parametrize("name", ["judge", "kept"])
def test_failed_calls_are_counted_beside_those_that_were_answered(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
    name: str,
) -> None:
    provider.faults = lambda record, attempt: (
        Code(400, "no such thing") if record in (3, 7) else None
    )
    assert adjudge(monkeypatch, *commands(rows)[name]) == 3
    said = capsys.readouterr().out
    assert " · 38 calls · " in said
    assert " · 2 votes without an answer" in said
    assert "retr" not in said
    assert adjudge(monkeypatch, *commands(rows)[name], "--json") == 3
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert (summary["calls"], summary["failed_calls"]) == (38, 4 if name == "kept" else 2)


def test_a_kept_run_says_why_rows_have_no_score_when_it_is_shown(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: Path,
) -> None:
    provider.faults = lambda record, attempt: (
        Code(400, "no such thing") if record in (3, 7) else None
    )
    adjudge(monkeypatch, *commands(rows)["kept"])
    capsys.readouterr()
    assert adjudge(monkeypatch, "runs", "show", "kept") == 0
    shown = capsys.readouterr().out
    assert "no score: openai/gpt-4o-mini: 400: no such thing: 2 rows" in shown
    assert ".jinja" not in shown, "hashes of templates would hide it"


def test_judges_stand_in_the_order_of_the_file_in_the_terminal_and_on_pages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    names = ["zebra", "apple", "mango"]
    judges = "".join(
        f"  - {{kind: direct, name: {name}, criteria: ['Is it {name}?']}}\n" for name in names
    )
    Path("eval.yaml").write_text(
        f"data: rows.csv\nmodels: scripted\njudges:\n{judges}outputs: [out.md, out.html]\n"
    )
    assert adjudge(monkeypatch, "run", "eval.yaml", "--limit", "2") == 0
    terminal = capsys.readouterr().out
    assert adjudge(monkeypatch, "runs", "show", "runs/eval") == 0
    shown = capsys.readouterr().out
    assert list(run_info("runs/eval").judges) == names
    for text in (terminal, shown, Path("out.md").read_text(), Path("out.html").read_text()):
        places = [text.index(f"Is it {name}?") for name in names]
        assert places == sorted(places)
