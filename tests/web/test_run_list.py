"""The list of a run: its columns, its order, its rows as files; pages that come before their
figures.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

ROWS = population(60)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS, failed=lambda text: text.startswith("row 7 "))
    labelled(root / "dates", labels_of(ROWS[:20], annotator="bob"))
    run_of(root / "again", ROWS[:50])
    with served(root) as found:
        yield found


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
    text = page.get(f"{run}?sort=best").text
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
