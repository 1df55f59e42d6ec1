"""Win rates of a comparison by several criteria on the page."""

from __future__ import annotations

import json
from pathlib import Path

import adjudge
from adjudge.runs.results.run_report import report_of_run
from adjudge.web.library import Library
from adjudge.web.win_rates import win_rates


def test_each_criterion_has_its_own_win_rate(tmp_path: Path) -> None:
    lines = "".join(f"old {number},new {number}\n" for number in range(12))
    (tmp_path / "pairs.csv").write_text(f"old,new\n{lines}")
    judge = {
        "kind": "pairwise",
        "name": "pairs",
        "order": "one",
        "criteria": ["Which is shorter?", "Which is nicer?"],
    }
    file = {
        "data": {"path": "pairs.csv", "responses": ["old", "new"]},
        "models": [f"scripted/{'A,' * 12}{'B,' * 11}B"],
        "judges": [judge],
    }
    (tmp_path / "eval.yaml").write_text(json.dumps(file))
    adjudge.run(tmp_path / "eval.yaml", folder=tmp_path / "runs/pairs")
    library = Library(tmp_path / "runs")
    (place,) = library.scan()
    shown = {name: rate["value"] for name, rate in win_rates(library, place)["pairs"].items()}
    expected = {}
    for section in report_of_run(place.folder).sections:
        assert section.contests is not None
        first = section.contests.systems[0]
        expected[f"{first.name} ({section.criteria})"] = first.winrate
    assert shown == expected
    assert len(shown) == 2
