"""The sentence on top names what failed, and nothing that passed."""

from __future__ import annotations

from pathlib import Path

from support.commands import adjudge

EVAL = """\
data: rows.csv
target:
  - {name: A, function: 'app.py:A'}
  - {name: B, function: 'app.py:B'}
judges:
  - {kind: check, name: tone, checks: [{contains: good, name: nice}]}
"""


def command(folder: Path, *words: str, code: int = 0) -> str:
    done = adjudge(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout


def sentence(folder: Path, run: str) -> str:
    page = command(folder, "report", run, "--to", "md", "-o", "-").replace("\\", "")
    return next(line for line in page.splitlines() if line.startswith("**"))


def test_a_system_that_did_not_get_worse_is_not_named(tmp_path: Path) -> None:
    rows = "".join(f"q{place},{place}\n" for place in range(40))
    (tmp_path / "rows.csv").write_text(f"id,question\n{rows}")
    app = "def A(row):\n    return 'good'\n\n\ndef B(row):\n    return {}\n"
    (tmp_path / "eval.yaml").write_text(EVAL)
    (tmp_path / "app.py").write_text(app.format("'good'"))
    command(tmp_path, "run", "eval.yaml", "--run", "runs/main")
    worse = "'good' if int(row['question']) % 2 else 'bad'"
    (tmp_path / "app.py").write_text(app.format(worse))
    gate = ("--not-worse-than", "runs/main", "--margin", "0.02")
    command(tmp_path, "run", "eval.yaml", "--run", "runs/new", *gate, code=4)
    assert sentence(tmp_path, "runs/new") == "**Not ready: nice [B]: mean 0.50.**"


def test_a_labelled_criterion_that_passed_is_not_named(tmp_path: Path) -> None:
    rows = "".join(f"r{place},good {place}\n" for place in range(60))
    (tmp_path / "rows.csv").write_text(f"id,response\n{rows}")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\njudges:\n  - {kind: check, name: c, checks: "
        "[{contains: good, name: nice}, {contains: bad, name: harsh}]}\n"
        "gates: {fail_under: {nice: 0.5, harsh: 0.5}}\n"
    )
    command(tmp_path, "run", "eval.yaml", "--run", "runs/x", code=4)
    labels = "".join(f"r{place},{'FAIL' if place % 5 == 0 else 'PASS'}\n" for place in range(40))
    (tmp_path / "labels.csv").write_text(f"id,label\n{labels}")
    words = ("label", "runs/x", "--criteria", "nice", "--import", "labels.csv")
    command(tmp_path, *words, "--design", "random", "--annotator", "ann")
    told = sentence(tmp_path, "runs/x")
    assert told == "**Not ready: harsh: mean 0.00, bar 0.50 missed by 0.50.**"
