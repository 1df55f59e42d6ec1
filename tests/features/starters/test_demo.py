"""``adjudge demo`` judges the example answers and writes a report, from an installed package."""

from __future__ import annotations

from pathlib import Path

from support.commands import adjudge

ROOT = Path(__file__).parents[3]


def test_it_judges_the_rows_of_the_examples(tmp_path: Path) -> None:
    done = adjudge("demo", "-m", "scripted", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12 rows judged." in done.stdout
    assert "adjudge rag --csv adjudge-demo/rag.csv" in done.stdout
    assert "13 of 47 scores are what people expect." in done.stdout  # the model gives 0 to all
    assert "; refuses: harmfulness 0; " in done.stdout and "harmful:" not in done.stdout
    rows = (tmp_path / "adjudge-demo" / "rag.csv").read_bytes()
    assert rows == (ROOT / "examples" / "rag.csv").read_bytes()
    (report,) = (tmp_path / "adjudge-demo" / "reports").glob("*.html")
    assert report.stat().st_size > 1000


def test_rows_that_are_there_are_judged_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "rag.csv").write_text("question,answer,contexts\nq,a,c\n", encoding="utf-8")
    done = adjudge("demo", "--folder", "mine", "-m", "scripted", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Your rows in mine/rag.csv" in done.stdout and "Twelve" not in done.stdout
    assert "people expect" not in done.stdout  # of other rows nothing is known
    (table,) = (folder / "reports").glob("*.csv")
    assert len(table.read_text(encoding="utf-8").splitlines()) == 2


def test_an_unknown_model_is_an_error_of_one_line(tmp_path: Path) -> None:
    done = adjudge("demo", "-m", "nobody/nothing", cwd=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
