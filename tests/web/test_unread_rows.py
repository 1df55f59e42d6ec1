"""Rows of the data that could not be read: every gate and page counts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import adjudge
from support.page import served

EVAL = """\
data: {path: rows.csv, id: id}
checks: [{contains: good, name: good}]
gates: {fail_under: 0.3, confidence: 0.95}
"""
UNREAD = "30 rows of the data could not be read"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 40 rows, all but 10 of which are in another encoding."""
    folder = tmp_path_factory.mktemp("unread")
    rows = [f"r{row},good {'text' if row < 10 else 'текст'}" for row in range(40)]
    (folder / "rows.csv").write_bytes("\n".join(["id,response", *rows]).encode("cp1251"))
    (folder / "eval.yaml").write_text(EVAL)
    words = ("run", "eval.yaml", "--run")
    first = adjudge(*words, "runs/first", "-o", "first.md", cwd=folder)
    second = adjudge(*words, "runs/second", "--not-worse-than", "runs/first", cwd=folder)
    assert (first.returncode, second.returncode) == (5, 5)
    return folder / "runs"


def test_a_gate_counts_unread_rows_as_rows_without_a_score(runs: Path) -> None:
    (gate,) = json.loads(adjudge("runs", "show", runs / "first", "--json").stdout)["gates"]
    assert (gate["verdict"], gate["rows"], gate["missing"], gate["unread"]) == (
        "inconclusive",
        40,
        30,
        30,
    )
    assert UNREAD in gate["message"] and gate["lower"] < 0.25
    text = (runs.parent / "first.md").read_text()
    assert "Undecided" in text and "Ready" not in text and UNREAD in text


def test_rows_that_neither_run_could_read_are_no_proof_that_nothing_changed(runs: Path) -> None:
    gates = json.loads(adjudge("runs", "show", runs / "second", "--json").stdout)["gates"]
    (paired,) = (gate for gate in gates if gate["measure"] == "difference")
    assert (paired["verdict"], paired["rows"], paired["missing"]) == ("inconclusive", 40, 30)


def test_pages_say_how_many_rows_could_not_be_read(runs: Path) -> None:
    with served(runs) as page:
        run = page.run("first")
        (gate,) = page.data(run)["figures"]["gates"]
        assert gate["verdict"] == "inconclusive"
        for place in (run, f"{run}/trust", "/"):
            assert UNREAD in page.get(place).text
