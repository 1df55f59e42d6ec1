"""Runs of pairs have a win rate; the list of runs shows at most three criteria of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import DirectJudge, Instance, MultiCriteria
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.runs.results.run_report import report_of_run
from support.labels import compared, model
from support.page import Page, served

NAMES = ("kind", "short", "polite", "safe", "clear")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("pairs")
    compared(root / "pairs", [(f"fine {n}", f"other {n} <b>") for n in range(12)])
    DirectJudge(model(lambda _: "Yes")).evaluate_multi_criteria(
        [Instance({"response": f"text {n}."}, f"r{n}") for n in range(3)],
        MultiCriteria([replace(yes_no_criteria(f"Is it {name}?"), name=name) for name in NAMES]),
        run=root / "five",
    )
    with served(root) as found:
        yield found


def _folder(page: Page, name: str) -> Path:
    return page.server.site.library.find(page.run(name)[5:]).folder


def test_a_win_rate_is_that_of_the_report(page: Page) -> None:
    (section,) = report_of_run(_folder(page, "pairs")).sections
    assert section.contests
    system = section.contests.systems[0]
    line = next(run for run in page.data("/")["runs"] if run["name"] == "pairs")
    (wins,) = (judge["wins"] for judge in line["judges"])
    assert list(wins) == [system.name], "the other one's is what is left"
    assert wins[system.name]["value"] == system.winrate
    assert system.interval
    assert wins[system.name]["upper"] == system.interval.upper
    assert page.data(page.run("pairs"))["figures"]["wins"] == wins
    assert f"{system.name} wins" in page.get("/").text
    assert f"{system.name} wins" in page.get(page.run("pairs")).text


def test_a_list_of_pairs_has_both_beginnings_and_no_empty_column(page: Page) -> None:
    shown = page.get(page.run("pairs")).text
    head = re.search(r"<thead>.*?</thead>", shown, re.DOTALL)
    assert head
    assert "Score" not in head[0]
    assert shown.count("single-line") == 2 * 12
    assert "other 3 &lt;b&gt;" in shown


def test_explanations_say_which_response_is_a(page: Page) -> None:
    row = page.data(f"{page.run('pairs')}/row/1")["chosen"]
    first, second = row["votes"][0]["shown"]
    shown = page.get(f"{page.run('pairs')}/row/1").text
    assert shown.count(f"A = {first}, B = {second}") == 2, "at the explanation and at the vote"


def test_three_criteria_and_how_many_more(page: Page) -> None:
    shown = page.get("/").text
    (row,) = (part for part in shown.split("<tbody")[1:] if "five" in part)
    visible, _, rest = row.partition('<details class="rest">')
    assert visible.count('class="line"') == 3
    assert rest.count('class="line"') == 2
    assert "+2</summary>" in rest


def test_ticked_runs_are_shared(page: Page) -> None:
    one, two = (page.run(name)[5:] for name in ("pairs", "five"))
    data = page.data(f"/copy?runs={one}&runs={two}")
    assert {*data["chosen_runs"]} == {one, two}
    assert page.data(f"/copy?runs={one}")["chosen_runs"] == [one]
    assert 'formaction="' in page.get("/").text
