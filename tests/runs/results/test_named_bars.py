"""A bar by name holds for every judge that has the name, whatever gate of its own it has."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from adjudge.runs.eval_file import parse_eval
from adjudge.runs.plan import resolve
from adjudge.runs.results.gate import Bar
from adjudge.runs.results.outcome import RunOutcome
from support.commands import adjudge

TWO = {"kind": "direct", "name": "both", "criteria": ["conciseness", "politeness"]}


@pytest.mark.parametrize(
    ("own", "of_file", "bars"),
    [
        ({"politeness": 0.5}, {"conciseness": 0.9}, {"politeness": 0.5, "conciseness": 0.9}),
        ({"politeness": 0.5}, {"politeness": 0.9}, {"politeness": 0.5}),
        ({"politeness": 0.5}, 0.9, {"politeness": 0.5}),
        (0.5, {"conciseness": 0.9}, {"": 0.5, "conciseness": 0.9}),
        (0.5, 0.9, {"": 0.5}),
        (None, 0.9, {"": 0.9}),
    ],
)
def test_a_named_bar_holds_beside_a_judges_own(
    tmp_path: Path,
    own: object,
    of_file: object,
    bars: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "rows.csv").write_text("id,answer\nr1,why\n")
    judge = TWO if own is None else {**TWO, "fail_under": own}
    text = {"data": "rows.csv", "models": "openai/m", "judges": [judge]}
    file = parse_eval(
        yaml.safe_dump({**text, "gates": {"fail_under": of_file}}), tmp_path / "eval.yaml"
    )
    gates = RunOutcome(resolve(file)).gates
    assert {*gates.bars()} == {Bar("both", bar, name) for name, bar in bars.items()}


def test_a_judge_of_rows_that_no_row_is_decides_nothing(tmp_path: Path) -> None:
    """A misspelt field switched a judge off: 0 of 0 judgments without a score passed."""
    (tmp_path / "rows.csv").write_text("id,expected,answer\nr1,x,why\n")
    judges = [
        {"kind": "aspect", "name": "dates", "criteria": "It gives a date."},
        {"kind": "aspect", "name": "kind", "criteria": "It is kind.", "rows_with": "expcted"},
    ]
    content = {"data": "rows.csv", "models": "scripted/PASS", "judges": judges}
    for gates in ({}, {"gates": {"max_failed": 0}}):
        (tmp_path / "eval.yaml").write_text(yaml.safe_dump({**content, **gates}))
        done = adjudge("run", "eval.yaml", "-q", "--no-cache", cwd=tmp_path)
        assert done.returncode == 5, done.stderr
        assert "kind judged no row: is the field 'expcted' of rows_with misspelt?" in done.stdout
    assert "Gate undecided: no row was judged by kind." in done.stderr
