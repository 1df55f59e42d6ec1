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
    assert "by language: simultaneous 95% intervals over all slices" in page
    assert "| en | 10 | 10 | 0.300 | " in page
    assert "| ru | 10 | 10 | 0.800 | " in page
    html = adjudge(*asked, "html", cwd=folder).stdout
    assert '<th scope="row">ru</th>' in html
    assert ">0.800</td>" in html


def test_a_column_that_no_row_has_is_refused(folder: Path) -> None:
    done = adjudge("report", "kept", "--by", "lang", "--to", "md", "-o", "-", cwd=folder)
    assert done.returncode == 1
    assert "no row has a value in column 'lang'" in done.stderr


def test_comparisons_have_the_win_rate_of_each_slice(folder: Path) -> None:
    """The new answer is the better one of all kettles and of a quarter of the lamps."""
    lines = [f"{n},{'kettle' if n < 12 else 'lamp'},a,b\n" for n in range(24)]
    (folder / "pairs.csv").write_text(f"question,product,new,old\n{''.join(lines)}")
    replies = ",".join(["A,B"] * 15 + ["B,A"] * 9)  # in the order of the file, then turned round
    compare = ("compare", "-f", "pairs.csv", "--column", "new", "--column", "old", "-j", "1")
    question = ("--criterion", "Which?", "-m", f"scripted/{replies}", "--no-cache")
    adjudge(*compare, *question, "--run", "pairs", cwd=folder)
    page = adjudge("report", "pairs", "--to", "md", "--by", "product", "-o", "-", cwd=folder)
    told = page.stdout.replace("\\", "")
    assert "win rate of new by product: simultaneous 95% intervals over all slices" in told
    assert "(each at 97.5%)" in told
    assert "| kettle | 12 | 12 | 1.000 |" in told
    assert "| lamp | 12 | 12 | 0.250 |" in told


def test_a_column_that_is_named_exactly_goes_before_one_that_differs_in_case(
    tmp_path: Path,
) -> None:
    lines = "".join(f"text {n},N{n % 2},{'east' if n < 12 else 'west'}\n" for n in range(20))
    (tmp_path / "rows.csv").write_text(f"answer,Region,region\n{lines}")
    adjudge("check", "-f", "rows.csv", "--contains", "text", "--run", "kept", cwd=tmp_path)
    shown = {
        name: adjudge("report", "kept", "--by", name, "--to", "md", "-o", "-", cwd=tmp_path).stdout
        for name in ("region", "Region", "REGION")
    }
    assert "| east | 12 |" in shown["region"]
    assert "| N0 | 10 |" not in shown["region"]
    assert "| N0 | 10 |" in shown["Region"]
    assert "| N0 | 10 |" in shown["REGION"]  # no column is written so: the first that is alike


def test_skipped_rows_are_counted_apart(folder: Path) -> None:
    """The column of rows counted them, as no other table does."""
    (folder / "eval.yaml").write_text(
        "data: rows.csv\nchecks: [{contains: good, name: clean, required: true}]\n"
        "judges: [{kind: check, name: c, after: checks, checks: [{words: {most: 5}, name: w}]}]\n"
    )
    adjudge("run", "eval.yaml", "--run", "skipping", cwd=folder)
    asked = ("report", "skipping", "--by", "language", "-o", "-", "--to", "md")
    page = adjudge(*asked, cwd=folder).stdout.replace("\\", "")
    assert "| en | 3 | 3 | 1.000 | " in page
    assert "9 rows were skipped" in page


def test_systems_are_not_mixed_in_slices_and_junit(tmp_path: Path) -> None:
    """A 1.000 and B 0.500 were 0.750 for both values of the column."""
    rows = "".join(f"q{place},{place},{'ab'[place % 2]}\n" for place in range(16))
    (tmp_path / "rows.csv").write_text(f"id,question,grp\n{rows}")
    (tmp_path / "app.py").write_text(
        "def A(row):\n    return 'good'\n\n\n"
        "def B(row):\n    return 'good' if int(row['question']) % 4 < 2 else 'bad'\n"
    )
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\n"
        "target:\n  - {name: A, function: 'app.py:A'}\n  - {name: B, function: 'app.py:B'}\n"
        "judges:\n  - {kind: check, name: tone, checks: [{contains: good, name: nice},"
        " {words: {most: 5}, name: short}]}\n"
    )
    done = adjudge("run", "eval.yaml", "--run", "runs/x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = ("report", "runs/x", "--to")
    adjudge(*report, "md", "--by", "grp", "-o", "out.md", cwd=tmp_path)
    told = (tmp_path / "out.md").read_text().replace("\\", "")
    means = {
        name: [line.split("|")[4].strip() for line in part.splitlines() if line[:4] in _VALUES]
        for part in told.split("\n## ")
        if (name := part.partition(": by grp")[0]).startswith("tone: n")
    }
    assert means == {"tone: nice [A]": ["1.000"] * 2, "tone: nice [B]": ["0.500"] * 2}
    adjudge(*report, "junit", "-o", "out.xml", cwd=tmp_path)
    xml = (tmp_path / "out.xml").read_text()
    assert '<property name="adjudge.score.nice [B]" value="0.5"/>' in xml
    assert 'name="adjudge.score.nice"' not in xml


_VALUES = ("| a ", "| b ")


def test_a_comparison_by_several_checks_counts_each_row_once(folder: Path) -> None:
    lines = "".join(f"good,{'en' if n % 4 else ''}\n" for n in range(12))
    (folder / "rows.csv").write_text(f"answer,language\n{lines}")
    check = ("check", "-f", "rows.csv", "--contains", "good", "--contains", "o", "--run")
    for run in ("one", "two"):
        adjudge(*check, run, cwd=folder)
    told = adjudge("runs", "diff", "one", "two", "--by", "language", cwd=folder).stdout
    assert "6 of 24 rows have no value in 'language'" in told
