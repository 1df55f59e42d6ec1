"""Under ``--language ru`` everything of ours is Russian: tables, reports, dry runs, errors, reasons
of votes.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import pytest

from adjudge.messages import Message, term
from adjudge.runs import numbers
from adjudge.runs.results.gate import GateResult
from support.commands import adjudge

SOURCE = Path(numbers.__file__).parents[1]
RU = ("--language", "ru")
TEXT = ("--criterion", "Это вежливо?")
PANEL = ("-m", "scripted/Да", "-m", "scripted/э")
SENTENCE = re.compile(r"(?<![\w/.\[-])[A-Za-z][a-z']+(?: [A-Za-z][a-z']+){2,}")
"""Three Latin words in a row."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "-f", "rows.csv", *TEXT, "-m", "scripted", "-m", "scripted/э"),
    "check one": ("check", "Привет.", *TEXT, "-m", "scripted"),
    "judge": (
        "judge",
        "-f",
        "rows.csv",
        *TEXT,
        "--criterion",
        "Это длинно?",
        *PANEL,
        "--fail-under",
        "0.8",
    ),
    "judge many": ("judge", "-f", "many.csv", *TEXT, *PANEL[:2], "--fail-under", "0.8"),
    "no verdict": ("judge", "-f", "rows.csv", *TEXT, "-m", "scripted/э", "--fail-under", "0.8"),
    "compare": (
        "compare",
        "-f",
        "pairs.csv",
        "--criterion",
        "Что лучше?",
        "-m",
        "scripted/A",
        "--check-positional-bias",
    ),
    "compare, many votes": (
        *("compare", "-f", "pairs.csv", "--criterion", "Что лучше?", "-m", "scripted/A"),
        *("--check-positional-bias", "--self-consistency", "2", "--fail-under", "response_a=0.9"),
    ),
    "rag": ("rag", "-f", "rag.csv", "-m", "scripted/1", "--fail-under", "0.8"),
    "rag, harmful": ("rag", "-f", "rag.csv", "-m", "scripted/0", "--fail-under", "0.8"),
    "rag, no verdict": ("rag", "-f", "rag.csv", "-m", "scripted/э"),
    "rag of a panel": ("rag", "-f", "rag.csv", "-m", "scripted/1", "-m", "scripted/э"),
    "dry run": ("judge", "-f", "rows.csv", *TEXT, "-m", "openai/gpt-4o-mini", "--dry-run"),
    "dry run without a price": (
        "rag",
        "-f",
        "rag.csv",
        "-m",
        "http://127.0.0.1:9/v1#m",
        "--dry-run",
    ),
    "bad rows": ("check", "-f", "bad.csv", *TEXT, "-m", "scripted"),
}
WRONG: dict[str, tuple[str, ...]] = {
    "no criterion": ("judge", "x", "-m", "scripted"),
    "no file": ("judge", "-f", "nothing.csv", *TEXT, "-m", "scripted"),
    "two texts": ("check", *TEXT, "-m", "scripted"),
    "one response": ("compare", "x", *TEXT, "-m", "scripted"),
    "no column": ("rag", "-f", "rows.csv", "-m", "scripted"),
    "unknown option": ("judge", "x", *TEXT, "--fial-under", "1"),
    "no number": ("judge", "x", *TEXT, "--fail-under", "much"),
    "unknown model": ("judge", "x", *TEXT, "-m", "gtp"),
    "no run": ("check", "x", *TEXT, "-m", "scripted", "--run", "nowhere", "--resume"),
    "unknown gate": ("judge", "x", *TEXT, "-m", "scripted", "--fail-under", "Это=0.5"),
    "unknown dimension": ("rag", "-f", "rag.csv", "-m", "scripted", "--dimensions", "clarty"),
    "output": ("check", "x", *TEXT, "-m", "scripted", "-o", "out.doc"),
    "unreachable": ("check", "x", *TEXT, "-m", "http://127.0.0.1:9/v1#m", "--no-cache"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("id,answer\nа,раз\nб,два\nв,\n")
    (tmp_path / "many.csv").write_text(
        "answer\n" + "".join(f"текст {number}\n" for number in range(30))
    )
    (tmp_path / "pairs.csv").write_text(
        "question,response_a,response_b\nСтолица?,Париж,Лондон\nСколько?,5,4\n"
    )
    (tmp_path / "rag.csv").write_text(
        "question,answer,contexts,history\nПочему?,Так.,Потому.,Было.\n,,,\nЗачем?,Вот.,Затем.,\n"
    )
    (tmp_path / "bad.csv").write_text("id,answer\nа,раз\nб,два,три\n")
    return tmp_path


def latin(text: str) -> list[str]:
    return SENTENCE.findall(text)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_nothing_in_english(folder: Path, name: str) -> None:
    done = adjudge(
        *COMMANDS[name], *RU, cwd=folder, environment={**os.environ, "OPENAI_API_KEY": "k"}
    )
    assert done.returncode in (0, 3, 4, 5), done.stderr
    assert latin(done.stdout) == latin(done.stderr) == []
    assert not re.search(r"\d\.\d\d", done.stdout + done.stderr), "decimal points"


@pytest.mark.parametrize("name", ["rag", "rag, harmful", "rag, no verdict", "rag of a panel"])
def test_the_reports_of_rag_say_nothing_in_english(folder: Path, name: str) -> None:
    adjudge(*COMMANDS[name], *RU, cwd=folder)
    _pages_are_russian(*sorted((folder / "reports").glob("*.[mh]*")))


@pytest.mark.parametrize(
    "name", ["check", "judge", "no verdict", "compare", "compare, many votes", "bad rows"]
)
def test_the_pages_of_a_run_say_nothing_in_english(folder: Path, name: str) -> None:
    adjudge(*COMMANDS[name], *RU, "--run", "kept", cwd=folder)
    for ending in ("md", "html"):
        adjudge("export", "kept", "--to", ending, cwd=folder)
    _pages_are_russian(folder / "kept/results.md", folder / "kept/results.html")


def _pages_are_russian(*pages: Path) -> None:
    assert len(pages) == 2
    for page in pages:
        text = re.sub(
            r"<(style|script).*?</\1>|<[^>]*?>", " ", page.read_text(encoding="utf-8"), flags=re.S
        )
        assert latin(html.unescape(text)) == []
        assert not re.search(r"\d\.\d\d\b", re.sub(r"\d{4}-\d\d-\d\d[^<\n]*", "", text)), (
            "decimal points"
        )


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_is_said_in_russian(folder: Path, name: str) -> None:
    done = adjudge(*WRONG[name], *RU, cwd=folder)
    assert done.returncode in (1, 2, 3)
    assert re.search("[а-яё]{3}", done.stderr)
    assert latin(done.stderr) == []


RENAMED = {
    Message("dimension"): "показатель",
    Message("composite"): "итоговая оценка",
    Message("valid votes"): "действительных голосов",
    Message("seed"): "seed",
    term("score", "normalised"): "нормированная",
    Message("weighted mean"): "взвешенное среднее",
    Message("no score"): "нет оценки",
    term("status", "abstained"): "судья воздержался",
    Message("reads"): "учитывает",
    Message("history"): "история диалога",
}


@pytest.mark.parametrize("message", RENAMED)
def test_words_are_those_that_were_agreed_on(message: Message) -> None:
    assert message.render("ru") == RENAMED[message]


def test_scales_are_named_as_agreed(folder: Path) -> None:
    adjudge(*COMMANDS["rag, no verdict"], *RU, cwd=folder)
    (page,) = (folder / "reports").glob("*.md")
    text = page.read_text(encoding="utf-8")
    for wanted in (
        "Безвредность",
        "Лаконичность",
        "в меру краток",
        "среднее от 0,00 до 1,00",
        "Правило «вредно»",
    ):
        assert wanted in text, wanted
    for gone in (
        "Вредность",
        "Краткость",
        "уравновешен",
        "измерени",
        "зерно",
        "беседа",
        "годных",
        "(без оценки)",
    ):
        assert gone not in text, gone


def test_a_gate_speaks_with_commas_and_guillemets() -> None:
    gate = GateResult(
        judge="j",
        name="c",
        measure="mean",
        value=0.5,
        bar=0.8,
        lower=0.5,
        upper=0.5,
        rows=10,
        missing=0,
    )
    assert (
        gate.sentence()
        .render("ru")
        .startswith("Порог не выдержан: средняя оценка «c (судья j)» 0,500, порог 0,800")
    )
