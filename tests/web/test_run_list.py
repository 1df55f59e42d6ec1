"""The list of a run: its columns, its order, its rows as files; pages that come before their
figures.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from adjudge import Criteria, DirectJudge, Instance
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.domain.criteria import CriteriaOption
from adjudge.features.rag import RagEvaluator
from adjudge.trust.labels.store import LabelStore
from support.labels import compared, judged_by_two, model
from support.page import Page, served
from support.rag import ROW, gives
from support.trust import labelled, labels_of, population, run_of

ROWS = population(60)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS, failed=lambda text: text.startswith("row 7 "))
    labelled(root / "dates", labels_of(ROWS[:20], annotator="bob"))
    run_of(root / "again", ROWS[:50])
    judged_by_two(root / "two")
    with served(root) as found:
        yield found


def _pages(page: Page, address: str) -> list[dict[str, Any]]:
    """Every line of a list, page by page."""
    found, after = [], ""
    while after is not None:
        data = page.data(f"{address}&after={after}")
        found += data["rows"]
        after = data["next"]
    return found


@pytest.mark.parametrize("sort", ["worst", "best", "row", "last"])
def test_a_row_judged_by_several_criteria_is_one_line(page: Page, sort: str) -> None:
    run = page.run("two")
    lines = _pages(page, f"{run}?sort={sort}")
    assert sorted(line["id"] for line in lines) == sorted(f"r{number}" for number in range(70))
    said = {line["id"]: {n: one["verdict"] for n, one in line["group"].items()} for line in lines}
    assert said["r3"] == {"kind": "No", "short": "Yes"}
    assert said["r7"] == {"kind": "Yes", "short": "No"}
    assert {line["id"]: line for line in lines}["r5"]["group"]["short"]["status"] != "scored"
    if sort == "worst":
        assert lines[0]["id"] == "r5"
        assert all("No" in said[line["id"]].values() for line in lines[1:30])
    listed = [line["id"] for line in _pages(page, f"{run}?sort={sort}&verdict=No")]
    assert sorted(listed) == sorted(f"r{n}" for n in range(70) if n % 3 == 0 or n % 7 == 0)
    only = _pages(page, f"{run}?sort={sort}&verdict=No&criteria=short")
    assert {line["id"] for line in only} == {f"r{number}" for number in range(0, 70, 7)}
    assert all(line["criterion"] == "short" and not line["group"] for line in only)


def test_each_criterion_has_a_column_and_rows_follow_each_other(page: Page) -> None:
    run = page.run("two")
    shown = page.get(f"{run}?sort=row").text
    head = shown[shown.index('<table class="rows') :].split("</thead>")[0]
    assert head.index(">kind<") < head.index(">short<")
    assert "Lowest score" not in head  # it says no more than the verdicts
    assert "Votes" not in head
    row = page.data(f"{run}/row/8")["chosen"]
    assert (row["id"], row["criteria"], row["before"], row["behind"]) == ("r3", "short", 6, 10)
    assert [one["criterion"] for one in row["row_measures"]] == ["kind", "short"]
    ends = [page.data(f"{run}/row/{number}")["chosen"] for number in (2, 139)]
    assert (ends[0]["before"], ends[1]["behind"]) == (None, None)


def test_headings_sort_from_either_end_and_the_address_keeps_it(page: Page) -> None:
    run = page.run("dates")
    rows = {
        sort: [one["row"] for one in page.data(f"{run}?sort={sort}")["rows"]]
        for sort in ("worst", "best", "row", "last")
    }
    assert rows["row"] == list(range(1, 51))
    assert rows["last"] == list(range(60, 10, -1))
    assert rows["worst"][0] == 8  # it failed
    assert rows["best"] != rows["worst"]
    text = page.get(f"{run}?sort=best&columns=text,verdict,score").text
    assert 'aria-sort="descending"' in text
    assert "sort=worst" in text
    assert page.get(f"{run}?sort=sideways").status == 400


def test_columns_are_chosen_by_the_address(page: Page) -> None:
    run = page.run("dates")
    shown = page.data(f"{run}?columns=score,field:response")["columns"]
    assert shown["shown"] == ["score", "field:response"]
    text = page.get(f"{run}?columns=score,field:response").text
    head = text[text.index('<table class="rows') :].split("</thead>")[0]
    assert "Verdict" not in head
    assert "Votes" not in head
    assert "row 3 said" in text
    hostile = quote("field:<script>,nothing")
    assert "<script>,nothing" not in page.get(f"{run}?columns={hostile}").text


def test_a_score_and_votes_are_columns_only_if_they_say_something(tmp_path: Path) -> None:
    run_of(tmp_path / "dates", ROWS)
    options = [CriteriaOption(name, "", score) for name, score in (("A", 1.0), ("B", 0.5))]
    answers = model(lambda text: "A" if len(text) % 2 else "B")
    DirectJudge(answers, votes=3).evaluate(
        [Instance({"response": "x" * number}) for number in range(6)],
        Criteria("grade", "Which grade?", options),
        run=tmp_path / "grades",
    )
    with served(tmp_path) as page:

        def shown(address: str) -> list[str]:
            columns: list[str] = page.data(address)["columns"]["shown"]
            return columns

        dates, grades = page.run("dates"), page.run("grades")
        assert "score" not in shown(dates) and "votes" not in shown(dates)
        assert "score" not in shown(f"{dates}?verdict=PASS"), "the same on every page"
        assert {"score", "votes"} <= {*shown(f"{dates}?columns=text,score,votes")}
        assert {"score", "votes"} <= {*shown(grades)}
        table = page.get(dates).text.split('<table class="rows')[1]
        assert ">Score<" not in table.split("</thead>")[0]


def test_a_page_of_a_run_reads_no_row_that_it_does_not_show(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("every row is read")

    monkeypatch.setattr("adjudge.runs.folder.check_rows", refuse)
    page.server.site.library._kept.clear()
    assert page.get(f"{page.run('again')}?sort=row").status == 200


def test_the_rows_of_a_list_come_as_a_file(page: Page) -> None:
    run = page.run("dates")
    answer = page.get(f"{run}/rows.csv?verdict=FAIL")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.body.decode("utf-8-sig"))))
    (counted,) = (
        one["rows"]
        for one in page.data(run)["figures"]["answers"]["dates"]
        if one["answer"] == "FAIL"
    )
    assert len(rows) == counted
    assert {row["status"] for row in rows} == {"scored"}
    lines = page.get(f"{run}/rows.jsonl?people=differ").text.splitlines()
    assert len(lines) == page.data(run)["people"]["differ"]
    assert json.loads(lines[0])["judge"] == "AspectCritic"
    assert page.get(f"{run}/rows.exe").status == 400


def test_large_runs_paint_before_they_are_counted(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.library.SLOW", 0)
    a, b = (page.run(name).removeprefix("/run/") for name in ("again", "dates"))
    for address in (f"/run/{a}/trust", f"/compare?a={a}&b={b}", f"/run/{b}/trust"):
        first = page.get(address).text
        assert 'id="waiting"' in first
        assert 'hx-trigger="load"' in first
        mark = "&" if "?" in address else "?"
        assert f"{address.replace('&', '&amp;')}{mark.replace('&', '&amp;')}wait=1" in first
        whole = page.get(f"{address}{mark}wait=1").text
        assert 'id="waiting"' not in whole
        assert "wait=1" not in whole.split("<main")[1]
        assert 'id="waiting"' not in page.get(address).text  # counted already
    assert "calibrations" in page.data(f"/run/{a}/trust")


def test_a_job_says_how_long_it_will_take() -> None:
    from adjudge.web.jobs import Job

    job = Job.__new__(Job)
    job.total, job.first_seen = 100, None
    job.ended = __import__("threading").Event()
    assert job.seconds_left(10) is None
    began, _ = job.first_seen or (0.0, 0)
    job.first_seen = (began - 10, 10)
    left = job.seconds_left(30)
    assert left is not None
    assert 35 <= left < 60
    job.ended.set()
    assert job.seconds_left(30) is None


def test_rows_of_a_list_without_any_are_an_empty_file(page: Page, tmp_path: Path) -> None:
    run = page.run("dates")
    assert page.get(f"{run}/rows.jsonl?q=nobody-wrote-this").body == b""


def test_ticked_rows_are_a_view_of_their_own(page: Page) -> None:
    run = page.run("dates")
    there = page.get(f"{run}?sort=row&tick=3&tick=8,9&tick=10&row=4")
    assert there.status == 303
    address = there.headers["location"].removeprefix(page.access.place)
    assert address == f"{run}?sort=row&rows=3%2C8-10"
    assert [one["row"] for one in page.data(address)["rows"]] == [3, 8, 9, 10]
    lines = page.get(f"{run}/rows.jsonl?rows=3,8-10&tick=9").text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["r8"]
    failed = page.data(f"{run}?rows=3,8-10&status=failed")["rows"]
    assert [one["row"] for one in failed] == [8]
    for wrong in ("x", "3-", "9-3-1", "0", "1-99999999"):
        assert page.get(f"{run}?rows={wrong}").status == 400, wrong
    assert page.data(f"{page.run('two')}?rows=7,8")["rows"][0]["group"].keys() == {"kind", "short"}


def test_the_rows_of_a_list_are_labelled_and_no_others(page: Page) -> None:
    run = page.run("again")
    there = page.get(f"{run}/these/label?verdict=FAIL&sort=row").headers["location"]
    listed = [one["id"] for one in _pages(page, f"{run}?verdict=FAIL&sort=row")]
    address = there.removeprefix(page.access.place) + "&annotator=zoe"
    assert "FAIL" not in address
    work = page.data(address)["work"]
    assert (work["total"], work["row"]["id"], work["counts"]) == (len(listed), listed[0], False)
    page.post(address, do="answer", row=work["row"]["identity"], choice="PASS")
    assert page.data(address)["work"]["row"]["id"] == listed[1]
    (label,) = (one for one in LabelStore(page.server.site.library.find(run[5:]).folder).current())
    assert (label.id, label.option, label.design) == (listed[0], "PASS", "chosen")
    assert page.get(f"{run}/these/label?q=nobody").status == 400


def test_the_rows_of_a_list_are_judged_again(page: Page, tmp_path: Path) -> None:
    compared(tmp_path / "pairs", [(f"first {number}", f"second {number}") for number in range(3)])
    judged_by_two(tmp_path / "two")
    RagEvaluator(gives()).evaluate([ROW], run=tmp_path / "rag")
    with served(tmp_path, home=tmp_path) as own:
        said = own.post(f"{own.run('rag')}/these/again", rows="1").text
        (file,) = re.findall(r"adjudge rag --data (\S+?)(?:&#39;|')", said)
        assert "Five euros." in (tmp_path / file).read_text()
        there = own.led_to(own.post(f"{own.run('two')}/these/again", tick="7,8"))
        plan = own.data(there)
        assert plan["chosen"]["rows"] == [{"id": "r3", "response": "text 3 ."}]
        (criteria,) = plan["asked"]["criteria"]
        assert [one.criteria.name for one in read_entries(tmp_path / criteria)] == ["kind", "short"]
        there = own.led_to(own.post(f"{own.run('pairs')}/these/again", rows="2"))
        (row,) = own.data(there)["chosen"]["rows"]
        assert "first 1" in row.values() and "second 1" in row.values()
        names = own.data(there)["asked"]["responses"].split(",")
        assert [row[name] for name in names] == ["first 1", "second 1"]
        estimate = own.data(f"{there}&model={quote(own.data(there)['models'][0])}&do=estimate")
        assert estimate["estimate"]["judgments"] == 1
        playground = own.get(f"{own.run('two')}/these/playground?tick=7-9").headers["location"]
        assert playground.endswith("&judge=DirectJudge&rows=7-9")
        opened = own.data(playground.removeprefix(own.access.place))["draft"]["rows"]
        assert [one["id"] for one in opened] == ["r3", "r4"], "rows 7 and 8 are one text"
        assert [one["texts"]["response"] for one in opened] == [["text 3 ."], ["text 4 ."]]
    with served(tmp_path, read_only=True) as own:
        assert own.post(f"{own.run('two')}/these/again", tick="7").status == 403


def test_rows_that_two_people_choose_in_one_second_do_not_replace_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_by_two(tmp_path / "two")
    monkeypatch.setattr("adjudge.web.pages.selection.time.strftime", lambda _: "20260101-000000")
    with served(tmp_path, home=tmp_path) as own:
        one, two = (
            own.led_to(own.post(f"{own.run('two')}/these/again", tick=tick)) for tick in ("1", "7")
        )
        rows = [own.data(there)["chosen"]["rows"][0]["id"] for there in (one, two)]
    assert len({*rows}) == 2


def test_failures_are_grouped_by_reason_and_lead_to_their_rows(page: Page) -> None:
    run = page.run("two")
    (group,) = page.data(run)["figures"]["failures"]
    assert (group["count"], group["reason"]) == (1, "no verdict found in the reply: …")
    (row,) = page.data(f"{run}?{urlencode(group['query'])}")["rows"]
    assert row["id"] == "r5"
    failed = page.data(f"{run}?status=failed")["rows"]
    assert failed[0]["reason"].startswith("no verdict found in the reply: ")
    shown = page.get(f"{run}?status=failed").text
    assert "Failures by reason" in shown
    assert '<div class="begins bad">no verdict found' in shown
