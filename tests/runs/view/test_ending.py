"""How commands end in a terminal: in words, within 80 columns, by sign and in colour."""

from __future__ import annotations

import os
import pty
import re
import select
from pathlib import Path

import pytest

from adjudge import AspectCritic, Request, ScriptedModel
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.prices import PriceTable, dollars
from adjudge.features.rag import RagEvaluator
from adjudge.runs.numbers import p_value
from adjudge.runs.results.cost import cost_message
from adjudge.runs.results.report import report_of
from adjudge.runs.view import ending
from adjudge.runs.view.ending import RunEnding, show_ending
from adjudge.runs.view.terminal import Screen
from support.asking import marked, truth
from support.commands import adjudge, start
from support.fake_provider import KEY, FakeProvider
from support.fake_provider import Status as Code
from support.rag import ROW, gives

COLOURED = re.compile(r"\x1b\[[\d;]*m")
WHY = "The response says nothing about the date, although that was asked for in so many words."


def says(request: Request) -> str:
    (text,) = re.findall(r"REC-\d+-[NY]", request.prompt.text)
    verdict = truth(text)
    return f'{{"explanation": "{WHY}", "selected_option": "{verdict}"}}'


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lines = "".join(f"r{number},{text}\n" for number, text in enumerate(marked(30)))
    (tmp_path / "rows.csv").write_text(f"id,answer\n{lines}")
    (tmp_path / "few.csv").write_text("".join(f"id,answer\n{lines}".splitlines(True)[:13]))
    return tmp_path


def in_terminal(*command: str, cwd: Path, **environment: str) -> str:
    """What somebody sees whose terminal has 80 columns."""
    ours, theirs = pty.openpty()
    values = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color", **environment}
    process = start(*command, cwd=cwd, environment=values, terminal=os.ttyname(theirs))
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    process.wait()
    process.close()
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")


CHECK = ("check", "--criterion", "It ends in Y.", "-m", "scripted/PASS,FAIL,PASS", "--no-cache")


def test_a_few_rows_are_shown_one_by_one_with_the_rate(rows: Path) -> None:
    shown = in_terminal(*CHECK, "-f", "few.csv", "--run", "kept", "-q", cwd=rows)
    text = COLOURED.sub("", shown)
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"^r0 +[✓✗] (PASS|FAIL)", text, re.M)
    assert "12 rows judged.\n" in text
    assert re.search(r"^It ends in Y\. +\d+% pass +\d+%–\d+% +12 +PASS \d+, FAIL \d+", text, re.M)
    assert re.search(r"^Cost  \$0 · 12 calls · [\d,]+ tokens", text, re.M)
    assert "Run   kept\nNext  adjudge view kept\n      adjudge label kept\n" in text
    assert "\x1b[1;32m✓ PASS" in shown
    assert "\x1b[1;31m✗ FAIL" in shown


def test_without_colour_the_signs_stay(rows: Path) -> None:
    shown = in_terminal(*CHECK, "-f", "few.csv", "-q", cwd=rows, NO_COLOR="1")
    assert not re.search(r"\x1b\[[\d;]*3[1-7]", shown)
    assert "✗ FAIL" in COLOURED.sub("", shown)


def test_a_gate_is_told_by_sign_and_in_words(rows: Path) -> None:
    shown = in_terminal(*CHECK, "-f", "few.csv", "-q", "--fail-under", "0.99", cwd=rows)
    text = COLOURED.sub("", shown)
    assert "✗ FAIL  12 rows judged." in text
    assert "✗ Gate failed: mean score of It ends in Y." in text
    assert max(map(len, text.splitlines())) <= 80


def test_of_many_rows_the_three_worst_are_shown_with_their_reasons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    critic = AspectCritic("It ends in Y.", models=ScriptedModel(says), name="ends")
    report = report_of(critic, critic.evaluate(marked(30)))
    show_ending(RunEnding(report=report), Screen(width=80), Screen(stderr=True))
    said = capsys.readouterr().out
    assert "30 rows judged." in said
    assert "67% pass" in said
    worst = said[said.index("Worst rows") :]
    assert worst.count("✗ FAIL") == 3
    assert "words." in worst, "the whole reason"
    assert max(map(len, said.splitlines())) <= 80


def test_a_rate_is_of_rows_and_the_share_of_the_panel_stands_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    critic = AspectCritic(
        "It ends in Y.",
        models=[ScriptedModel(["PASS"]), ScriptedModel(["PASS"]), ScriptedModel(["FAIL"])],
        name="ends",
    )
    report = report_of(critic, critic.evaluate(marked(10)))
    assert report.sections[0].summary.mean == pytest.approx(2 / 3)
    show_ending(RunEnding(report=report), Screen(width=80), Screen(stderr=True))
    said = " ".join(capsys.readouterr().out.split())
    assert "100% pass" in said
    assert "share of the panel that says PASS 0.67" in said


def test_a_refused_text_is_no_retry(
    rows: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.faults = lambda record, attempt: Code(400, "content policy") if record == 3 else None
    asked = ("check", "-f", "few.csv", "--criterion", "It ends in Y.", "--no-cache")
    model = ("-m", "openai/gpt-4o-mini", "--base-url", provider.base_url("openai"))
    done = adjudge(*asked, *model, cwd=rows, environment={**os.environ, "OPENAI_API_KEY": KEY})
    assert "11 calls" in done.stdout
    assert "retr" not in done.stdout


def test_a_retried_call_is_no_failed_call(
    rows: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.faults = lambda record, attempt: (
        Code(429, "slow down") if record in (3, 7) and attempt == 0 else None
    )
    asked = ("check", "-f", "few.csv", "--criterion", "It ends in Y.", "--no-cache")
    model = ("-m", "openai/gpt-4o-mini", "--base-url", provider.base_url("openai"))
    done = adjudge(*asked, *model, cwd=rows, environment={**os.environ, "OPENAI_API_KEY": KEY})
    assert done.returncode == 0, done.stderr
    assert "12 calls" in done.stdout
    assert "2 retries" in done.stdout
    assert "without an answer" not in done.stdout
    assert re.search(r"Cost  \$0\.\d{4} \(prompt caching saved \$0\.\d{4}\) · ", done.stdout)


def test_answers_that_were_there_are_named_as_such(rows: Path) -> None:
    cached = {**os.environ, "ADJUDGE_CACHE": str(rows / "cache")}
    asked = ("check", "-f", "few.csv", "--criterion", "It ends in Y.", "-m", "scripted")
    first = adjudge(*asked, "--run", "one", cwd=rows, environment=cached).stdout
    again = adjudge(*asked, "--run", "one", cwd=rows, environment=cached).stdout
    assert "no request was sent" not in first
    assert "no request was sent, because every answer was already in the run" in again


def test_a_stopped_run_says_how_far_it_came(rows: Path) -> None:
    asked = (*CHECK, "-f", "rows.csv", "-j", "1", "--max-calls", "11")
    done = adjudge(*asked, "--run", "kept", cwd=rows)
    assert done.returncode == 1
    assert "\nBudget of 11 calls used up after 11 of 30 rows.\n" in done.stdout
    assert "adjudge resume kept" in done.stderr
    unkept = adjudge(*asked, cwd=rows)
    assert unkept.stderr.count("11 of 30 rows") == 1
    assert "Budget" not in unkept.stdout
    russian = adjudge(*asked, "--run", "ru", "--language", "ru", cwd=rows)
    assert "Бюджет исчерпан (11 вызовов): готово 11 из 30 строк." in russian.stdout


def test_several_criteria_stand_side_by_side(rows: Path) -> None:
    done = adjudge(
        "judge",
        "-f",
        "few.csv",
        "--criterion",
        "Is it kind?",
        "--criterion",
        "Is it short?",
        "-m",
        "scripted",
        "--language",
        "ru",
        cwd=rows,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["r11", "Yes", "1,00", "Yes", "1,00"] in lines
    assert "Оценено: 12 строк, критериев 2." in done.stdout
    assert "Стоимость  $0 · 24 вызова" in done.stdout
    assert "Worst" not in done.stdout


def test_a_single_text_has_its_verdict_and_what_each_model_says(rows: Path) -> None:
    done = adjudge(
        "check",
        "x",
        "--criterion",
        "It is short.",
        "-m",
        "scripted/PASS",
        "-m",
        "scripted/FAIL",
        cwd=rows,
    )
    assert done.stdout.startswith("criterion: It is short.\n")
    assert re.search(r"^scripted/FAIL +1/1 +✗ FAIL", done.stdout, re.M)
    assert "95% interval" not in done.stdout


def test_a_model_that_took_nothing_needs_no_price() -> None:
    prices = PriceTable.load_shipped()
    assert cost_message({"somebody/nobody-knows": Usage()}, prices) == "$0"
    assert "no price" in cost_message({"somebody/nobody-knows": Usage(1, 10, 10)}, prices)


def test_what_is_not_nothing_is_never_written_as_zero() -> None:
    assert dollars(0.00001) == "<$0.0001"
    assert dollars(0.00006) == "$0.0001"
    assert p_value(1e-9) == "<0.001"
    assert p_value(0.0006) == "0.001"


def test_names_to_be_copied_are_whole_in_a_narrow_terminal(rows: Path) -> None:
    shown = in_terminal("models", cwd=rows)
    assert "…" not in shown
    assert re.search(r"-Turbo\b", shown)


def test_a_rag_row_without_a_score_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    judge = RagEvaluator(gives(groundedness="-", clarity=1), max_repairs=0)
    report = report_of(judge, judge.evaluate([{**ROW, "id": "r1"}, {**ROW, "id": "r2"}]))
    show_ending(RunEnding(report=report), Screen(width=120), Screen(stderr=True))
    shown = capsys.readouterr().out
    assert re.search(r"– no score +no verdict", shown)
    assert "Clarity 1/4" not in shown


def test_runs_are_listed_on_a_line_each(rows: Path) -> None:
    for name in ("one", "another-one-with-a-long-name"):
        adjudge(*CHECK, "-f", "rows.csv", "-j", "1", "--max-calls", "3", "--run", name, cwd=rows)
    shown = COLOURED.sub("", in_terminal("runs", "list", ".", cwd=rows))
    assert len(shown.splitlines()) == 3
    assert max(map(len, shown.splitlines())) <= 80
    assert "another-one-with-a-long-name" in shown
    assert "the budget is used up: max_calls=3" in adjudge("runs", "list", ".", cwd=rows).stdout
    page = COLOURED.sub("", in_terminal("runs", "show", "one", cwd=rows))
    assert "adjudge resume one" in page
    assert '"' not in page


def test_reused_answers_name_the_cache_and_how_to_do_without_it(rows: Path, tmp_path: Path) -> None:
    with FakeProvider() as server:
        command = (
            *("check", "--criterion", "It gives a date.", "--file", "few.csv"),
            *("-m", "openai/gpt-4o-mini", "--base-url", server.base_url("openai")),
        )
        environment = {**os.environ, "OPENAI_API_KEY": KEY, "ADJUDGE_CACHE": str(tmp_path / "c")}
        first = adjudge(*command, cwd=rows, environment=environment)
        again = adjudge(*command, cwd=rows, environment=environment)
        without = adjudge(*command, "--no-cache", cwd=rows, environment=environment)
    reused = "12 answers reused from the cache or an earlier run (--no-cache leaves out the cache)"
    assert reused in " ".join(again.stdout.split()), again.stdout + again.stderr
    assert "reused" not in first.stdout
    assert "reused" not in without.stdout


@pytest.mark.parametrize("missing", ["", "starlette", "uvicorn"])
def test_the_page_is_suggested_only_where_it_can_be_served(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "find_spec", lambda name: None if name == missing else object())
    served, written = "adjudge view 'a run'", "adjudge report 'a run' --to html"
    assert ending.page_command("a run") == (written if missing else served)
