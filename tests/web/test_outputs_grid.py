"""Outputs of two to eight runs, or of the systems of one run, side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge import Criteria, DirectJudge, MultiCriteria, Request, ScriptedModel
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.judges.aspect import AspectCritic
from adjudge.runs.diff import run_diff
from support.page import Page, served

HOSTILE = "<script>taken</script>"


def _run(
    folder: Path, poor: set[int], rows: list[int], system: str = "", lost: tuple[int, ...] = ()
) -> None:
    def verdict(request: Request) -> str:
        asked = request.prompt.text
        if any(f"row {number} " in asked for number in lost):
            return f"no idea {HOSTILE}"
        return "FAIL" if "is poor" in asked else "PASS"

    instances = [
        Instance(
            {
                "user_input": f"question {number} {HOSTILE}",
                "response": f"row {number} is {'poor' if number in poor else 'good'}.",
            },
            f"r{number}",
            {"row": {"system": system or "ab"[place % 2]}},
        )
        for place, number in enumerate(rows)
    ]
    AspectCritic("Is it good?", ScriptedModel(verdict), name="dates", max_repairs=0).evaluate(
        instances, run=folder
    )


def _two_criteria(folder: Path, bad: int, *, are_systems: bool = False) -> None:
    criteria = [
        Criteria(name, yes_no_criteria(f"Is it {name}?").description, options)
        for name in ("kind", "short")
        for options in [yes_no_criteria("x").options]
    ]
    DirectJudge(
        ScriptedModel(lambda request: "No" if f"text {bad}." in request.prompt.text else "Yes")
    ).evaluate_multi_criteria(
        [
            Instance(
                {"response": f"text {number}."},
                None if are_systems else f"r{number}",
                {"row": {"system": "ab"[number % 2]}},
            )
            for number in range(4)
        ],
        MultiCriteria(criteria),
        run=folder,
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("outputs")
    _run(root / "one", {2}, [*range(30)])
    _run(root / "two", {2, 5, 28}, [*range(1, 30), 40], lost=(7,))
    _run(root / "three", {2}, [*range(30), 40, 41])
    _two_criteria(root / "kind one", 1)
    _two_criteria(root / "kind two", 2)
    _two_criteria(root / "kinds of systems", 2, are_systems=True)
    # the same questions answered by two systems
    both = [*range(3), *range(3)]
    _run(root / "systems", {1}, both)
    with served(root) as found:
        yield found


def _address(page: Page, *names: str) -> str:
    return "/compare/outputs?" + "&".join(f"runs={page.run(name)[5:]}" for name in names)


def test_rows_are_matched_by_id_and_lone_rows_are_counted(page: Page) -> None:
    data = page.data(_address(page, "one", "two", "three"))
    assert [column["name"] for column in data["columns"]] == ["one", "two", "three"]
    assert data["kinds"] == {"all": 32, "differ": 3, "failed": 1, "lone": 3}
    assert [column["missing"] for column in data["columns"]] == [2, 2, 0]
    lone = page.data(f"{_address(page, 'one', 'two', 'three')}&kind=lone")["rows"]
    assert [row["id"] for row in lone] == ["r0", "r40", "r41"], "r40 is one row of two runs"
    assert [[bool(cell) for cell in row["cells"]] for row in lone] == [
        [True, False, True],
        [False, True, True],
        [False, False, True],
    ]
    one, two = (page.server.site.library.find(page.run(name)[5:]) for name in ("one", "two"))
    pair = page.data(_address(page, "one", "two"))
    with run_diff(one.folder, two.folder) as diff:
        assert pair["kinds"]["differ"] == diff.changed
        assert pair["kinds"]["lone"] == diff.alone(0) + diff.alone(1)


def test_a_cell_has_its_text_verdict_and_reason(page: Page) -> None:
    rows = {row["id"]: row for row in page.data(_address(page, "one", "two"))["rows"]}
    assert rows["r5"]["differs"]
    assert [cell["texts"][0]["text"] for cell in rows["r5"]["cells"]] == [
        "row 5 is good.",
        "row 5 is poor.",
    ]
    lost = rows["r7"]["cells"][1]["verdicts"][0]
    assert (lost["status"], lost["score"]) == ("failed", None)
    assert "no idea" in lost["why"]
    shown = page.get(_address(page, "one", "two")).text
    assert HOSTILE not in shown
    assert "&lt;script&gt;taken" in shown
    cell = re.search(r'<tr id="r7".*?</tr>', shown, re.DOTALL)
    assert cell
    assert "no idea" in cell[0], "a failed row says why"


def test_pages_and_the_next_row_that_differs(page: Page) -> None:
    address = _address(page, "one", "two")
    data = page.data(address)
    assert (len(data["rows"]), data["listed"]) == (25, 31)
    assert data["changed"] == {"after": {"from": 25, "row": 28}}
    second = page.data(f"{address}&from=25")
    assert second["rows"][3]["id"] == "r28"
    assert second["changed"] == {"before": {"from": 0, "row": 7}}
    assert page.data(f"{address}&from=9999")["rows"], "an address beyond the end shows the last"
    shown = page.get(address).text
    link = re.search(r'id="changed-after" href="([^"]+)"', shown)
    assert link
    assert link[1].endswith("from=25#r28")
    only = page.data(f"{address}&kind=differ")
    assert [row["id"] for row in only["rows"]] == ["r5", "r7", "r28"]


def test_several_criteria_are_one_row(page: Page) -> None:
    data = page.data(_address(page, "kind one", "kind two"))
    assert data["kinds"] == {"all": 4, "differ": 2, "failed": 0, "lone": 0}
    assert data["criteria"] == ["kind", "short"]
    verdicts = data["rows"][1]["cells"][0]["verdicts"]
    assert [one["verdict"] for one in verdicts] == ["No", "No"]
    assert data["rows"][3]["number"] == 4, "rows are counted, not judgments"


def test_systems_of_a_run(page: Page) -> None:
    address = f"{_address(page, 'systems')}&by=system"
    data = page.data(address)
    assert [column["system"] for column in data["columns"]] == ["a", "b"]
    assert data["kinds"] == {"all": 3, "differ": 0, "failed": 0, "lone": 0}
    one_value = page.get(f"{_address(page, 'systems')}&by=nothing")
    assert one_value.status == 400
    assert "nothing" in one_value.text
    assert "did you mean" in page.get(f"{_address(page, 'systems')}&by=sistem").text
    assert page.get(_address(page, "systems")).status == 400, "a single run without a column"
    assert page.get(f"{_address(page, 'one', 'two')}&by=system").status == 400
    assert page.get(f"{_address(page, 'one', 'two')}&kind=strange").status == 400
    assert page.get(f"{_address(page, 'one', 'two')}&judge=strange").status == 400


def test_a_row_of_a_system_that_has_no_match_is_counted_once(page: Page) -> None:
    data = page.data(f"{_address(page, 'kinds of systems')}&by=system")
    assert data["kinds"] == {"all": 4, "differ": 0, "failed": 0, "lone": 4}
    assert [len(cell["verdicts"]) for cell in data["rows"][0]["cells"] if cell] == [2]


def test_the_height_of_rows_is_remembered(page: Page) -> None:
    address = _address(page, "one", "two")
    assert 'data-height="middle"' in page.get(address).text
    answer = page.get("/row-height?set=high&back=/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("adjudge_row_height=high")
    assert "Max-Age" in cookie
    shown = page.get(address, cookie=f"{page.cookie}; adjudge_row_height=high").text
    assert '<table class="stack outputs" id="rows" data-height="high">' in shown


def test_runs_without_a_common_judge_are_not_matched(page: Page) -> None:
    answer = page.get(_address(page, "one", "kind one"))
    assert answer.status == 400
    assert "shares no judge" in answer.text
    data = page.data(_address(page, "one", "two", "kind one"))
    assert [column["by_others"] for column in data["columns"]] == [0, 0, 8]
    assert data["columns"][2]["missing"] == data["kinds"]["all"] == 31


@pytest.mark.parametrize("place", ["/", "/compare", "/run"])
def test_the_grid_is_reached_from_lists_and_comparisons(page: Page, place: str) -> None:
    one, two = (page.run(name)[5:] for name in ("one", "two"))
    address = {
        "/": "/",
        "/compare": f"/compare?a={one}&b={two}",
        "/run": page.run("systems"),
    }[place]
    assert "/compare/outputs" in page.get(address).text
