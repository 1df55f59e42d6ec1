"""``report --by``: scores apart for each value of a column, also without labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import adjudge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """20 rows in two languages: of the English ones 3 of 10 pass, of the Russian ones 8."""
    rows = [("good" if n < 3 else "bad", "en") for n in range(10)]
    rows += [("good" if n < 8 else "bad", "ru") for n in range(10)]
    lines = "".join(f"{text},{language}\n" for text, language in rows)
    (tmp_path / "rows.csv").write_text(f"answer,language\n{lines}")
    adjudge("check", "-f", "rows.csv", "--contains", "good", "--run", "kept", cwd=tmp_path)
    return tmp_path


def test_slices_without_labels_are_shown(folder: Path) -> None:
    asked = ("report", "kept", "--by", "language", "-o", "-", "--to")
    page = adjudge(*asked, "md", cwd=folder).stdout.replace("\\", "")
    assert "by language: the intervals of all slices hold together at 95%" in page
    assert "| en | 10 | 10 | 0.300 | " in page
    assert "| ru | 10 | 10 | 0.800 | " in page
    html = adjudge(*asked, "html", cwd=folder).stdout
    assert '<th scope="row">ru</th>' in html
    assert ">0.800</td>" in html


def test_a_column_that_no_row_has_is_refused(folder: Path) -> None:
    done = adjudge("report", "kept", "--by", "lang", "--to", "md", "-o", "-", cwd=folder)
    assert done.returncode == 1
    assert "no row has anything in a column 'lang'" in done.stderr


def test_comparisons_have_win_rates_by_slice(folder: Path) -> None:
    rows = "".join(f"q{n},en,a,b\n" for n in range(9)) + "r,ru,a,b\n"
    (folder / "pairs.csv").write_text(f"question,language,old,new\n{rows}")
    asked = ("compare", "-f", "pairs.csv", "--column", "old", "--column", "new", "--order", "one")
    adjudge(*asked, "--criterion", "Which?", "-m", "scripted/A", "--run", "pairs", cwd=folder)
    page = adjudge("report", "pairs", "--to", "md", "--by", "language", "-o", "-", cwd=folder)
    told = page.stdout.replace("\\", "")
    assert "win rate of old by PairwiseJudge: Which?" in told, page.stderr
    assert "| en | 9 | 9 | 1.000 | 0." in told
    assert "| ru | 1 | 1 | 1.000 | – |" in told
    assert "win rate of new by PairwiseJudge: Which?" in told
    assert "| en | 9 | 9 | 0.000 | " in told


def test_comparisons_without_an_outcome_have_no_slices_and_say_so(folder: Path) -> None:
    (folder / "pairs.csv").write_text("question,old,new\nq,a,b\nr,a,b\n")
    asked = ("compare", "-f", "pairs.csv", "--column", "old", "--column", "new")
    adjudge(*asked, "--criterion", "Which?", "-m", "scripted/?", "--run", "pairs", cwd=folder)
    page = adjudge("report", "pairs", "--to", "md", "--by", "question", "-o", "-", cwd=folder)
    assert "No slices: no row has a score." in page.stdout.replace("\\", ""), page.stderr
