"""Which answer counts as good: asked about, chosen, and said in the output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import adjudge

_MODEL = ("-m", "scripted/Yes", "--no-cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("answer\nGo away\nGet lost\n")
    return tmp_path


def test_judge_warns_if_yes_seems_to_be_the_bad_answer(folder: Path) -> None:
    done = adjudge("judge", "-f", "rows.csv", "--criterion", "Is it rude?", *_MODEL, cwd=folder)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "'Is it rude?': Yes counts as good, but 'rude' sounds bad." in said
    assert "add --good no." in said
    assert "mean 1.000" in said


def test_good_no_turns_the_scores_round(folder: Path) -> None:
    words = ("judge", "-f", "rows.csv", "--criterion", "Is it rude?", "--good", "no")
    done = adjudge(*words, *_MODEL, "--fail-under", "0.5", cwd=folder)
    assert done.returncode == 4, done.stderr
    assert "mean 0.000" in done.stdout
    assert "No counts as good." in done.stdout
    assert "sounds bad" not in done.stdout


def test_a_chosen_yes_is_not_questioned(folder: Path) -> None:
    words = ("judge", "-f", "rows.csv", "--criterion", "Is it rude?", "--good", "yes")
    done = adjudge(*words, *_MODEL, cwd=folder)
    assert "sounds bad" not in done.stdout
    assert "Yes counts as good." in done.stdout


def test_a_question_whose_good_answer_cannot_be_told_says_which_counts(folder: Path) -> None:
    done = adjudge("judge", "Hello", "--criterion", "Is it blue?", *_MODEL, cwd=folder)
    assert "Yes counts as good." in done.stdout


def test_check_warns_and_asks_the_question_with_good_no(folder: Path) -> None:
    words = ("check", "-f", "rows.csv", "--criterion", "Is it rude?", "--no-cache")
    done = adjudge(*words, "-m", "scripted/PASS", cwd=folder)
    said = " ".join(done.stdout.split())
    assert "'Is it rude?': a text passes if this is true, but 'rude' sounds bad." in said
    turned = adjudge(*words, "-m", "scripted/Yes", "--good", "no", "--json", cwd=folder)
    found = json.loads(turned.stdout)
    assert [one["score"] for one in found["results"]] == [0.0, 0.0]
    assert found["notes"] == []


def test_check_warns_in_russian(folder: Path) -> None:
    words = ("check", "Уходи", "--criterion", "Груб ли ответ?", "--language", "ru", "--no-cache")
    done = adjudge(*words, "-m", "scripted/PASS", cwd=folder)
    assert "--good no" in done.stdout
    assert "звучит" in done.stdout


@pytest.mark.parametrize("command", ["check", "judge"])
def test_good_needs_a_criterion(folder: Path, command: str) -> None:
    done = adjudge(command, "Hello", "--good", "no", cwd=folder)
    assert done.returncode == 2
    assert "--good needs --criterion: it says which answer is the good one" in done.stderr


def test_an_eval_file_is_warned_about_until_it_says_which_answer_is_good(folder: Path) -> None:
    lines = "data: rows.csv\nmodels: scripted/Yes\njudges:\n  - kind: direct\n    criteria: "
    (folder / "eval.yaml").write_text(f"{lines}'Is it rude?'\n")
    done = adjudge("run", "eval.yaml", "--run", "first", "--json", "--no-cache", cwd=folder)
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("'Is it rude?': Yes counts as good, but 'rude' sounds bad.")
    (folder / "eval.yaml").write_text(
        f"{lines}{{name: rude, description: 'Is it rude?', options: [Yes, No], good: no}}\n"
    )
    done = adjudge("run", "eval.yaml", "--run", "second", "--json", "--no-cache", cwd=folder)
    found = json.loads(done.stdout)
    assert found["notes"] == []
    assert found["criteria"][0]["mean"] == 0.0


@pytest.mark.parametrize("name", ["sexual content", "my rude words.yaml"])
def test_criteria_that_are_named_are_not_questioned(folder: Path, name: str) -> None:
    (folder / "my rude words.yaml").write_text(
        "{name: short, description: Is it short., options: [Yes, No], good: Yes}\n"
    )
    (folder / "eval.yaml").write_text(
        f"data: rows.csv\nmodels: scripted\njudges: [{{kind: direct, criteria: {name}}}]\n"
    )
    done = adjudge("run", "eval.yaml", "--json", "--no-cache", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["notes"] == []


def test_options_yes_and_no_need_no_score(folder: Path) -> None:
    (folder / "polite.yaml").write_text(
        "name: polite\ndescription: Is it polite?\noptions: [Yes, No]\n"
    )
    (folder / "short.yaml").write_text(
        "name: short\ndescription: Is it short?\noptions: [Yes, No]\ngood: Yes\n"
    )
    one = adjudge("judge", "-f", "rows.csv", "-c", "polite.yaml", *_MODEL, cwd=folder)
    assert one.returncode == 0, one.stderr
    assert "Yes 2" in one.stdout
    both = adjudge(
        *("judge", "-f", "rows.csv", "-c", "polite.yaml", "-c", "short.yaml", "--json"),
        *_MODEL,
        cwd=folder,
    )
    assert both.returncode == 0, both.stderr
    assert [each["mean"] for each in json.loads(both.stdout)["criteria"]] == [None, 1.0]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("options: [Yes, No], good: maybe", "good is 'maybe', which is not one of 'Yes', 'No'"),
        ("options: [{name: Yes, score: 1}, No], good: No", "good replaces the scores"),
    ],
)
def test_a_good_option_that_cannot_be_is_refused(folder: Path, more: str, reason: str) -> None:
    (folder / "own.yaml").write_text(f"{{name: rude, description: 'Is it rude?', {more}}}\n")
    done = adjudge("judge", "Hello", "-c", "own.yaml", *_MODEL, cwd=folder)
    assert done.returncode == 1
    assert reason in done.stderr


def test_criteria_check_reports_a_bad_end(folder: Path) -> None:
    (folder / "own.yaml").write_text(
        "- {name: rude, description: 'Is it rude?', options: [Yes, No], good: Yes}\n"
        "- {name: toxic, description: 'Is it toxic?', options: [Yes, No], good: No}\n"
        "- {name: грубость, description: 'Груб ли ответ?', options: [Да, Нет], good: да}\n"
    )
    done = adjudge("criteria", "check", "own.yaml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)["results"]
    assert [(one["criteria"], one["field"]) for one in findings] == [
        ("rude", "options"),
        ("грубость", "options"),
    ]


def test_every_report_says_which_answer_counts_as_good(folder: Path) -> None:
    criterion = "{name: leak, description: It leaks., options: [PASS, FAIL], good: FAIL}"
    (folder / "eval.yaml").write_text(
        "data: rows.csv\nmodels: scripted/FAIL\nrun: r\noutputs: [r.md, r.html]\n"
        f"judges:\n  - {{kind: direct, criteria: {criterion}}}\n"
    )
    done = adjudge("run", "eval.yaml", "--no-cache", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "FAIL counts as good." in done.stdout
    adjudge("report", "r", "--to", "github", "--output", "github.md", cwd=folder)
    for name in ("r.md", "r.html", "github.md"):
        assert "FAIL counts as good." in (folder / name).read_text(), name
    shown = json.loads(adjudge("runs", "show", "r", "--json", cwd=folder).stdout)
    assert [one["good_answer"] for one in shown["criteria"]] == ["FAIL"]


def test_of_several_criteria_the_one_is_named_whose_good_answer_is_another(folder: Path) -> None:
    criterion = "{name: leak, description: It leaks., options: [PASS, FAIL], good: FAIL}"
    (folder / "eval.yaml").write_text(
        "data: rows.csv\nmodels: scripted/FAIL\njudges:\n"
        f"  - {{kind: direct, name: safety, criteria: {criterion}}}\n"
        "  - {kind: aspect, name: short, criteria: It is short.}\n"
    )
    done = adjudge("run", "eval.yaml", "--no-cache", cwd=folder)
    assert "leak: FAIL counts as good." in done.stdout
    assert "\nFAIL counts as good." not in done.stdout


def test_a_good_answer_names_its_criterion_if_there_are_others(folder: Path) -> None:
    criterion = "{name: rude, description: 'Is it rude?', options: ['Yes', 'No'], good: 'No'}"
    (folder / "eval.yaml").write_text(
        "data: rows.csv\nmodels: scripted/No\njudges:\n"
        f"  - {{kind: direct, name: manners, criteria: {criterion}}}\n"
        "  - {kind: check, checks: [{words: {most: 6}}]}\n"
    )
    done = adjudge("run", "eval.yaml", "--no-cache", cwd=folder)
    assert "rude: No counts as good." in done.stdout, done.stderr
    assert "\nNo counts as good." not in done.stdout


def test_a_good_pass_needs_no_explanation(folder: Path) -> None:
    words = ("check", "-f", "rows.csv", "--criterion", "It is short.", "-m", "scripted/PASS")
    assert "counts as good" not in adjudge(*words, "--no-cache", cwd=folder).stdout


def test_the_good_answer_may_be_said_in_russian(folder: Path) -> None:
    words = ("judge", "-f", "rows.csv", "--criterion", "Ответ груб?", "-m", "scripted/No")
    turned = adjudge(*words, "--good", "Нет", "--json", cwd=folder)
    assert turned.returncode == 0, turned.stderr
    assert json.loads(turned.stdout)["summary"]["mean"] == 1.0
    assert adjudge(*words, "--good", "может быть", cwd=folder).returncode == 2
