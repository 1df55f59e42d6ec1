"""Columns of the data on the page: shown, named in expressions, as chips on the row, and linked
from slices; rows of agents by their measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from adjudge import Request, ScriptedModel
from adjudge.core.domain.instance import Instance
from adjudge.core.judges.aspect import AspectCritic
from support.agent_runs import trials_run
from support.page import Page, served

HOSTILE = '<b onmouseover=1>\ud800 «x» "y" \\z'


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("columns")

    def verdict(request: Request) -> str:
        return "PASS" if "good" in request.prompt.text.rpartition("row ")[2] else "FAIL"

    rows = [
        Instance(
            {"response": f"row {number} is {'good' if number % 3 else 'poor'}."},
            f"r{number}",
            {
                "row": {
                    "system": ("5.0", "4.1", HOSTILE)[number % 3],
                    "verdict": "mine" if number < 4 else "other",
                    "text": "a text of the data",
                    "answer": f"row {number} is {'good' if number % 3 else 'poor'}.",
                    "rows tried": number,
                    **({"late": "x"} if number == 29 else {}),
                }
            },
        )
        for number in range(30)
    ]
    AspectCritic("Is it good?", ScriptedModel(verdict), name="dates").evaluate(
        rows, run=root / "data"
    )
    trials_run(root / "agents", fails=lambda _, trial: trial % 2)
    with served(root) as found:
        yield found


def _listed(page: Page, where: str, run: str = "data") -> list[str]:
    return [
        row["id"] for row in page.data(f"{page.run(run)}?{urlencode({'where': where})}")["rows"]
    ]


def test_a_column_of_the_data_is_a_name_in_expressions(page: Page) -> None:
    assert set(_listed(page, 'system = "5.0"')) == {f"r{number}" for number in range(0, 30, 3)}
    assert _listed(page, '"rows tried" >= 28') == ["r28", "r29"]
    assert set(_listed(page, "system ~ /^4/ and verdict = pass")) == {
        f"r{number}" for number in range(1, 30, 3)
    }
    assert _listed(page, "late = x") == ["r29"]  # only the last row has it
    assert len(_listed(page, "answer ~ poor")) == 10  # stored once, as the response


def test_a_name_that_means_something_else_is_reachable_and_said(page: Page) -> None:
    assert _listed(page, "column:verdict = mine") == ["r0", "r3", "r1", "r2"]
    assert len(_listed(page, 'column:text = "a text of the data"')) == 30
    run = page.run("data")
    built_in = page.data(f"{run}?{urlencode({'where': 'verdict = fail'})}")
    assert built_in["other_meanings"] == [["verdict", "column:verdict"]]
    assert len(built_in["rows"]) == 10
    shown = page.get(f"{run}?{urlencode({'where': 'verdict = fail'})}").text
    assert "verdict is not the column of the data here. Write column:verdict for that." in shown
    own = page.data(f"{run}?{urlencode({'where': 'column:verdict = mine'})}")
    assert own["other_meanings"] == []
    assert {"system", "column:verdict", "column:text"} <= {*own["words"]}


def test_an_unknown_name_is_answered_with_the_nearest_one(page: Page) -> None:
    answer = page.get(f"{page.run('data')}?{urlencode({'where': 'sistem = 5'})}")
    assert answer.status == 400
    assert "did you mean" in answer.text
    assert "system" in answer.text


def test_columns_of_the_data_are_shown_and_sorted_by(page: Page) -> None:
    run = page.run("data")
    known = page.data(run)["columns"]["known"]
    assert {"column:system", "column:verdict", "column:rows tried"} <= {*known}
    assert "column:answer" not in known  # it is the response
    shown = page.get(f"{run}?columns=text,column:system&sort=-column:rows%20tried").text
    head = shown[shown.index('<table class="rows') :].split("</thead>")[0]
    assert ">system<" in head
    assert "<b onmouseover" not in shown
    rows = page.data(f"{run}?sort=-column:rows%20tried")["rows"]
    assert [row["columns"]["rows tried"] for row in rows[:3]] == ["29", "28", "27"]


def test_chips_on_the_row_lead_to_the_rows_with_the_same_value(page: Page) -> None:
    run = page.run("data")
    cells = page.data(f"{run}/row/3")["chosen"]["columns"]
    (system,) = (cell for cell in cells if cell["name"] == "system")
    assert system["value"] == HOSTILE.replace("\ud800", "?")
    assert set(_listed(page, system["where"])) == {f"r{number}" for number in range(2, 30, 3)}
    (own,) = (cell for cell in cells if cell["name"] == "verdict")
    assert own["where"] == 'column:verdict == "mine"'
    shown = page.get(f"{run}/row/3").text
    assert "<b onmouseover" not in shown
    assert "chips data" in shown


def test_slices_lead_to_their_rows(page: Page) -> None:
    run = page.run("data")
    (slices,) = page.data(f"{run}/pictures?by=verdict")["slices"]
    for part in slices["slices"]:
        assert len(_listed(page, slices["queries"][part["name"]]["where"])) == part["rows"]
    assert {part["rows"] for part in slices["slices"]} == {4, 26}
    (ranges,) = page.data(f"{run}/pictures?by=rows%20tried")["slices"]
    assert len(ranges["slices"]) == 4
    for part in ranges["slices"]:
        assert len(_listed(page, ranges["queries"][part["name"]]["where"])) == part["rows"]


def test_counts_place_no_row_of_agents(page: Page) -> None:
    """Rows without an answer and with a failed call come first, then those with one of both."""
    rows = [row["id"] for row in page.data(page.run("agents"))["rows"]]
    failed = {f"{task}-{trial}": task % 2 + trial % 2 for task in range(12) for trial in range(5)}
    # of equal shares, those without an answer first, then in the order of the file
    worst_first = sorted(failed, key=lambda row: (-failed[row], int(row.split("-")[0]) % 2 == 0))
    assert rows == worst_first[:50]
    best = page.data(f"{page.run('agents')}?sort=best")
    assert best["sort"] == "best"
    assert all(failed[row["id"]] == 0 for row in best["rows"][:18])
    more = page.data(f"{page.run('agents')}?after={page.data(page.run('agents'))['next']}")
    assert [row["id"] for row in more["rows"]] == worst_first[50:]
    only = page.data(f"{page.run('agents')}?{urlencode({'where': 'criterion = errors'})}")["rows"]
    # a search by an expression may stop before the page is full
    assert [row["id"] for row in only] == worst_first[: len(only)] != []


def test_a_filtered_list_says_how_many_rows_it_has_and_marks_the_words(page: Page) -> None:
    run = page.run("data")
    found = page.data(f"{run}?{urlencode({'where': 'verdict = fail'})}")
    assert found["matching"] == {"shown": 10, "of": 30}
    assert page.data(run)["matching"] is None
    shown = page.get(f"{run}?q=POOR").text
    assert "10 of 30 rows" in shown
    assert "<mark>poor</mark>" in shown
    assert page.get(f"{run}?q=%3Cb").text.count("<b onmouseover") == 0
    agents = page.data(f"{page.run('agents')}?{urlencode({'where': 'criterion = errors'})}")
    assert agents["matching"] == {"shown": 60, "of": 60}  # rows, not judgments
