"""Two runs by one criterion whose options are others, or score otherwise: their means do not mean
the same.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import commands

RUDE = "Is the reply rude?"
GATE = ("--not-worse-than", "runs/no-is-good")
SCORES = "the scores of the options changed (Yes 0, No 1 before; Yes 1, No 0 now)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"r{number},reply {number}\n" for number in range(20))
    (tmp_path / "rows.csv").write_text(f"id,response\n{rows}")
    judge(tmp_path, "No", "no-is-good", "--good", "no")
    return tmp_path


def judge(folder: Path, verdict: str, run: str, *words: str) -> tuple[int, str, str]:
    keep = ("--run", f"runs/{run}") if run else ()
    asked = ("--criterion", RUDE, "-m", f"scripted/{verdict}", *keep)
    done = commands.adjudge("judge", "-f", "rows.csv", *asked, *words, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def read(folder: Path, *words: str) -> str:
    done = commands.adjudge(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("verdict", ["Yes", "No"])
def test_a_gate_does_not_compare_options_with_other_scores(folder: Path, verdict: str) -> None:
    """Twenty flipped verdicts passed as unchanged, and twenty equal ones as worse."""
    code, _, errors = judge(folder, verdict, "new", *GATE)
    assert code == 5, errors
    assert (
        f"Gate undecided: {RUDE} (judge DirectJudge) cannot be compared with" in errors
        and SCORES in errors
    ), errors


def test_a_difference_of_runs_says_that_they_are_not_comparable(folder: Path) -> None:
    judge(folder, "Yes", "new")
    words = ("runs", "diff", "runs/no-is-good", "runs/new")
    told = read(folder, *words)
    assert f"{RUDE}: not comparable: {SCORES}" in told
    assert "1.000 (No) → 1.000 (Yes)" in told, "verdicts that differ are listed"
    assert "no difference" not in told
    (found,) = json.loads(read(folder, *words, "--json"))["comparisons"]
    assert (found["outcome"], found["is_comparable"]) == ("cannot tell", False)
    assert found["means"] == [None, None]
    assert found["difference"]["value"] is None
    assert found["difference"]["reason"] == SCORES


@pytest.mark.parametrize("run", ["new", ""])
def test_a_baseline_with_other_scores_is_not_shown(folder: Path, run: str) -> None:
    _, told, _ = judge(folder, "No", run, "--baseline", "runs/no-is-good")
    flat = " ".join(told.split())
    assert SCORES in flat
    assert "1.000 → 0.000" not in flat
    assert "before 1.00" not in flat
    _, told, _ = judge(folder, "No", "", "--baseline", "runs/no-is-good", "--json")
    found = json.loads(told)
    assert "baseline" not in found["criteria"][0]
    assert any(SCORES in remark for remark in found["remarks"])


def test_a_page_for_github_has_no_figure_from_before(folder: Path) -> None:
    judge(folder, "No", "new")
    page = folder / "page.md"
    words = ("report", "runs/new", "--to", "github", "-o", str(page))
    read(folder, *words, "--baseline", "runs/no-is-good")
    text = page.read_text()
    assert SCORES in text
    assert "| before |" not in text


def test_other_options_are_not_compared_and_other_words_are(folder: Path) -> None:
    def write(name: str, question: str, options: list[str]) -> None:
        scored = [
            {"name": option, "score": float(not place)} for place, option in enumerate(options)
        ]
        criteria = [{"name": "tone", "description": question, "options": scored}]
        (folder / name).write_text(json.dumps(criteria))

    write("old.json", "Is the tone right?", ["Good", "Bad"])
    write("words.json", "Is the tone as it should be?", ["Good", "Bad"])
    write("options.json", "Is the tone right?", ["Good", "Fair", "Bad"])
    for name in ("old", "words", "options"):
        asked = ("--criteria", f"{name}.json", "-m", "scripted/Good", "--run", f"runs/{name}")
        done = commands.adjudge("judge", "-f", "rows.csv", *asked, cwd=folder)
        assert done.returncode == 0, done.stderr
    told = read(folder, "runs", "diff", "runs/old", "runs/words")
    assert "tone: no difference: mean 1.000" in told
    told = read(folder, "runs", "diff", "runs/old", "runs/options")
    assert (
        "tone: not comparable: the options of the criterion changed (Good, Bad before; Good, "
        "Fair, Bad now)" in told
    )


OPTIONS = "the options of the criterion changed (Yes, No before; PASS, FAIL now)"


def check(folder: Path, *words: str) -> tuple[int, str, str]:
    """Judge by an aspect, whose verdicts are PASS and FAIL: PASS says that a reply is rude."""
    asked = ("--criterion", RUDE, "-m", "scripted/PASS")
    done = commands.adjudge("check", "-f", "rows.csv", *asked, *words, cwd=folder)
    return done.returncode, " ".join(done.stdout.split()), " ".join(done.stderr.split())


def test_an_aspect_is_not_compared_with_a_criterion_whose_good_end_is_no(folder: Path) -> None:
    """Rude replies alone passed as unchanged against a run without any."""
    code, _, errors = check(folder, "--run", "runs/aspect", *GATE)
    assert code == 5, errors
    assert OPTIONS in errors
    assert "nothing changed" not in errors
    told = read(folder, "runs", "diff", "runs/no-is-good", "runs/aspect")
    assert f"{RUDE}: not comparable: {OPTIONS}" in told
    _, told, _ = check(folder, "--baseline", "runs/no-is-good")
    assert OPTIONS in told


def test_eval_files_whose_judges_have_other_verdicts_are_not_compared(folder: Path) -> None:
    def run(name: str, judge: dict[str, object], verdict: str, *words: str) -> tuple[int, str]:
        named = {"data": "rows.csv", "judges": [{"name": "rude", **judge}]}
        (folder / f"{name}.yaml").write_text(json.dumps(named))
        asked = ("-m", f"scripted/{verdict}", "--run", f"runs/{name}", *words)
        done = commands.adjudge("run", f"{name}.yaml", *asked, cwd=folder)
        return done.returncode, done.stderr

    criterion = {"name": "rude", "description": RUDE, "options": ["Yes", "No"], "good": "No"}
    code, errors = run("direct", {"kind": "direct", "criteria": [criterion]}, "No")
    assert code == 0, errors
    gate = ("--not-worse-than", "runs/direct")
    code, errors = run("aspect", {"kind": "aspect", "criteria": RUDE}, "PASS", *gate)
    assert (code, OPTIONS in errors) == (5, True), errors
    one = {"contains": "reply", "name": "rude"}
    checks: dict[str, object] = {"kind": "check", "name": "checks", "checks": [one]}
    code, errors = run("check", checks, "No", *gate)
    assert (code, OPTIONS in errors) == (5, True), errors
