"""Every command that a command suggests runs as it is printed: it is copied from the output and
typed into the same folder.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support.commands import adjudge, start

EXAMPLES = Path(__file__).parents[3] / "examples"
_NEXT = re.compile(r"^(?:Next|Дальше) +(adjudge .+(?:\n +adjudge .+)*)", re.MULTILINE)
_NOW = re.compile(r"^(?:Now|Теперь):\n((?:  adjudge .+\n?)+)", re.MULTILINE)
_IN_A_SENTENCE = re.compile(r"(?:with|Продолжить)(?:[^:\n]{0,30}): (adjudge .+)$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\b(?:[A-Z]{2,}|N)\b")
_RAN = (0, 3, 4, 5)
"""Exit codes of commands that ran, whatever came of it."""


def suggestions(output: str) -> Iterator[str]:
    for match in (*_NEXT.finditer(output), *_NOW.finditer(output)):
        yield from (line.strip() for line in match[1].splitlines())
    yield from (match[1] for match in _IN_A_SENTENCE.finditer(output))


def execute(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as it was printed; a page is opened and closed, a question answered with q."""
    _, *words = shlex.split(command)
    if words[0] != "view":
        return adjudge(*words, cwd=folder, stdin="q\n")
    child = start(*words, cwd=folder, environment={**os.environ, "BROWSER": "true"})
    lines = []
    for line in child.stdout:
        lines.append(line)
        if "http://" in line:
            break
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    ran = any("http://" in line for line in lines)
    return subprocess.CompletedProcess(words, 0 if ran else 1, "".join(lines), errors)


def follow(folder: Path, *words: str | Path, expected: int = 1, at: int = 3) -> list[str]:
    """Run a command and all that it suggests, and what those suggest, ``at`` levels deep."""
    first = adjudge(*words, cwd=folder)
    left = list(dict.fromkeys(suggestions(first.stdout + first.stderr)))
    assert len(left) >= expected, first.stdout + first.stderr
    done: list[str] = []
    for _ in range(at):
        further: list[str] = []
        for command in left:
            if command in done:
                continue
            assert not _PLACEHOLDER.search(_without_names(command)), command
            result = execute(command, folder)
            said = result.stdout + result.stderr
            assert result.returncode in _RAN, f"{command}\n{said}"
            done.append(command)
            further += suggestions(said)
        left = list(dict.fromkeys(further))
    return done


def _without_names(command: str) -> str:
    """The words of a command that are no texts of the user's."""
    return " ".join(word for word in shlex.split(command) if " " not in word)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    rows = [f"q{n},Question {n}?,answer {n},{'PASS' if n % 3 else 'FAIL'}" for n in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,question,answer,ann", *rows]) + "\n")
    return tmp_path


def judged(*criteria: str, more: str = "") -> str:
    return (
        "data: {path: rows.csv, id: id}\nmodels: scripted\njudges:\n  - kind: direct\n"
        f"    criteria: {list(criteria)}\n{more}"
    )


COMMANDS: dict[str, Sequence[str]] = {
    "check": ("check", "-f", "rows.csv", "--criterion", "It's short, isn't it?", "-m", "scripted"),
    "checks": ("check", "-f", "rows.csv", "--contains", "answer", "--check", "words: {most: 9}"),
    "judge": ("judge", "-f", "rows.csv", "-c", "conciseness", "-c", "politeness", "-m", "scripted"),
    "compare": (
        *("compare", "-f", "examples/pairs.csv", "--column", "old", "--column", "new"),
        *("--criterion", "Which is better?", "-m", "scripted"),
    ),
    "rag": ("rag", "--csv", "examples/rag.csv", "-m", "scripted", "-o", "reports"),
    "agent": ("agent", "examples/agent/runs.jsonl"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_judging_command_suggests_runs(folder: Path, name: str) -> None:
    """Also if the name of the run needs quotes."""
    follow(folder, *COMMANDS[name], "--no-cache", "--run", "my runs/it's kept")


def test_what_is_suggested_in_russian_runs(folder: Path) -> None:
    done = follow(folder, *COMMANDS["rag"], "--no-cache", "--run", "kept", "--language", "ru")
    assert any(" label " in command for command in done)


def test_what_a_run_of_six_criteria_and_checks_suggests_runs(folder: Path) -> None:
    names = ("conciseness", "Is it kind?", "Is it a=b?", "Is it: new?", "Is it old?", "Is it it's?")
    more = (
        "  - {kind: aspect, name: polite, criteria: It is polite.}\nchecks: [{words: {most: 9}}]\n"
    )
    (folder / "eval.yaml").write_text(judged(*names, more=more))
    done = follow(folder, "run", "eval.yaml", "--no-cache", expected=2)
    assert any(command.startswith("adjudge label ") for command in done)


def test_what_a_changed_eval_file_suggests_runs(folder: Path) -> None:
    (folder / "eval.yaml").write_text(judged("Is it kind?"))
    adjudge("run", "eval.yaml", "--no-cache", cwd=folder)
    (folder / "eval.yaml").write_text(judged("Is it kind?", "Is it new?"))
    done = follow(folder, "run", "eval.yaml", "--no-cache", expected=3)
    assert any(command.startswith("adjudge runs diff ") for command in done)


@pytest.mark.parametrize("limit", [("--max-calls", "25"), ("--max-tokens", "8000")])
def test_what_a_spent_budget_suggests_runs(folder: Path, limit: tuple[str, str]) -> None:
    (folder / "eval.yaml").write_text(judged("Is it kind?"))
    done = follow(folder, "run", "eval.yaml", "--no-cache", *limit, at=2)
    assert done[0].startswith(f"adjudge resume runs/eval -- {limit[0]} ")
    shown = follow(folder, "runs", "show", "runs/eval")
    assert shown


def labels_for(folder: Path, run: str, *more: str) -> None:
    done = adjudge("label", run, "--import", "labels.csv", "--design", "random", *more, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "eval_file",
    [
        judged("Is it a=b?", "Is it kind?"),
        judged("Is it a=b?").replace("kind: direct", "kind: aspect"),
        judged("It is kind.").replace("kind: direct", "kind: aspect\n    name: polite"),
    ],
    ids=["direct", "aspect", "named"],
)
def test_what_calibrate_suggests_names_a_criterion_that_the_run_has(
    folder: Path, eval_file: str
) -> None:
    (folder / "eval.yaml").write_text(eval_file)
    adjudge("run", "eval.yaml", "--no-cache", "--run", "kept", cwd=folder)
    answers = ("PASS", "FAIL") if "aspect" in eval_file else ("Yes", "No")
    named = "polite" if "polite" in eval_file else "Is it a=b?"
    labels = (f"q{n},{answers[n % 3 == 0]}" for n in range(40))
    (folder / "labels.csv").write_text("\n".join(["id,ann", *labels]) + "\n")
    labels_for(folder, "kept", "--criteria", named, "--annotator", "ann")
    done = follow(folder, "calibrate", "kept")
    assert any("--fail-under" in command for command in done)


def test_what_calibrate_suggests_of_comparisons_runs(folder: Path) -> None:
    rows = (f"p{n},Question {n}?,answer {n},other answer {n}" for n in range(40))
    (folder / "pairs.csv").write_text("\n".join(["id,question,old,new", *rows]) + "\n")
    words = [word.replace("examples/pairs.csv", "pairs.csv") for word in COMMANDS["compare"]]
    adjudge(*words, "--id", "id", "--no-cache", "--run", "kept", cwd=folder)
    labels = (f"p{n},{'A' if n % 3 else 'B'}" for n in range(40))
    (folder / "labels.csv").write_text("\n".join(["id,ann", *labels]) + "\n")
    labels_for(folder, "kept", "--annotator", "ann")
    assert follow(folder, "calibrate", "kept") == ["adjudge rank kept"]


def test_calibrate_suggests_no_gate_for_scores_above_one(folder: Path) -> None:
    options = "{name: clear, description: 'Is it clear?', options: ['1', '2', '3']}"
    (folder / "eval.yaml").write_text(judged("x").replace("['x']", f"[{options}]"))
    adjudge("run", "eval.yaml", "--no-cache", "--run", "kept", cwd=folder)
    labels = (f"q{n},{n % 3 + 1}" for n in range(40))
    (folder / "labels.csv").write_text("\n".join(["id,ann", *labels]) + "\n")
    labels_for(folder, "kept", "--annotator", "ann")
    assert follow(folder, "calibrate", "kept", expected=0) == []


def test_what_calibrate_suggests_of_rag_runs(folder: Path) -> None:
    follow(folder, *COMMANDS["rag"], "--no-cache", "--run", "kept")
    labels = (f"{name},3" for name in ("perfect", "irrelevant"))
    (folder / "labels.csv").write_text("\n".join(["id,ann", *labels]) + "\n")
    named = ("--criteria", "groundedness", "--annotator", "ann")
    adjudge("label", "kept", "--import", "labels.csv", *named, cwd=folder)
    follow(folder, "calibrate", "kept", expected=0)


def test_what_labels_an_import_and_a_benchmark_suggest_runs(folder: Path) -> None:
    (folder / "eval.yaml").write_text(judged("Is it kind?", "Is it new?"))
    adjudge("run", "eval.yaml", "--no-cache", "--run", "kept", cwd=folder)
    asked = ("label", "kept", "--criteria", "Is it kind?", "--annotator", "ann", "--count", "2")
    done = adjudge(*asked, cwd=folder, stdin="1\n2\nq\n")
    assert [execute(one, folder).returncode in _RAN for one in suggestions(done.stderr)] == [True]
    bench = ("bench", "examples/bench/answers.csv", "-c", "examples/bench/tone.yaml")
    follow(folder, *bench, "--human", "ann", "--human", "bob", "-m", "scripted", "--run", "bench")
    adjudge("export", "kept", "--to", "jsonl", "-o", "results.jsonl", cwd=folder)
    follow(folder, "import", "results.jsonl", "--run", "brought")


def test_what_an_attack_suggests_runs(folder: Path) -> None:
    (folder / "eval.yaml").write_text(judged("Is it kind?"))
    follow(folder, "attack", "eval.yaml", "--sample", "3", "--run", "attacked")
