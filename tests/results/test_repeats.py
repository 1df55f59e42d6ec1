"""pass^k: how often all of k answers pass, as the benchmarks of agents count it."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from adjudge.results.repeats import pass_all
from support.commands import adjudge


@pytest.mark.parametrize("passed", [[4, 0, 2], [1, 1], [3], [0]])
def test_the_share_is_that_of_all_draws(passed: list[int]) -> None:
    for k, share in enumerate(pass_all(passed, 4), 1):
        draws = [
            all(one < count for one in drawn)
            for count in passed
            for drawn in combinations(range(4), k)
        ]
        assert share == pytest.approx(sum(draws) / len(draws))


def test_nothing_is_said_of_nothing() -> None:
    assert pass_all([], 3) == ()


@pytest.mark.parametrize("ids", [True, False])
def test_a_repeated_row_passes_when_all_its_answers_do(tmp_path: Path, ids: bool) -> None:
    (tmp_path / "app.py").write_text(
        "from pathlib import Path\n"
        "def app(question):\n"
        "    log = Path(__file__).with_name('log')\n"
        "    with log.open('a') as file: file.write(question)\n"
        "    times = log.read_text().count(question)\n"
        "    if question == 'c' and times > 1: raise ValueError('broken')\n"
        "    return 'good' if question == 'a' or times > 1 else 'bad'\n"
    )
    rows = "id,question\n1,a\n2,b\n3,c\n" if ids else "question\na\nb\nc\n"
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\ntarget: {function: 'app.py:app', name: app, max_concurrency: 1}\n"
        "repeat: 3\nchecks: {contains: good}\n"
    )
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=tmp_path)
    (section,) = json.loads(done.stdout)["criteria"]
    (found,) = section["repeats"]
    assert (found["system"], found["rows"], found["incomplete"]) == ("app", 2, 1)
    assert found["pass_all"] == pytest.approx({"1": 5 / 6, "2": 2 / 3, "3": 1 / 2})
    shown = adjudge("run", "eval.yaml", cwd=tmp_path).stdout
    assert "of 2 rows 50% pass all 3 times (pass^3), one time 83%" in " ".join(shown.split())
