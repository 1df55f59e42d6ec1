"""The page of benchmarks: the same figures as ``adjudge bench`` prints, filtered, grouped, down to
the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.features.bench.benchmark import FACT, benchmark_of
from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

ROWS = population(60)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for name in ("one", "two"):
        run_of(root / name, ROWS)
        labelled(root / name, labels_of(ROWS[:40]))
        with connect(root / name / FILE) as ledger:
            write_meta(ledger, {FACT: {"data": f"{name}.csv", "rows": 40, "notes": ["a note"]}})
    run_of(root / "no benchmark", ROWS[:5])
    return root


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def test_the_figures_are_those_of_the_command(page: Page, root: Path) -> None:
    found = page.data("/benchmarks")
    assert sorted(one["name"] for one in found["runs"]) == ["one", "two"]
    (judge,) = benchmark_of(root / "one").judges
    line = next(
        one for section in found["sections"] for one in section["lines"] if one["run_name"] == "one"
    )
    assert line["agreement"] == {
        "value": judge.agreement.value,
        "lower": judge.agreement.lower,
        "upper": judge.agreement.upper,
    }
    assert (line["rows"], line["failed"], line["disagreements"]) == (
        40,
        judge.failed,
        len(judge.disagreements),
    )
    assert "a note" in found["sections"][0]["notes"]


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 2), ("q=ONE", 1), ("q=nothing", 0), ("criteria=dates", 2), ("criteria=x", 0)],
)
def test_lines_are_filtered(page: Page, query: str, count: int) -> None:
    found = page.data(f"/benchmarks?{query}")
    assert sum(len(section["lines"]) for section in found["sections"]) == count
    assert page.get(f"/benchmarks?{query}").status == 200


@pytest.mark.parametrize(("group", "sections"), [("question", 2), ("model", 1), ("criteria", 1)])
def test_lines_are_grouped(page: Page, group: str, sections: int) -> None:
    assert len(page.data(f"/benchmarks?group={group}")["sections"]) == sections
    assert page.get(f"/benchmarks?group={group}").status == 200


def test_one_benchmark_alone(page: Page) -> None:
    run = page.run("two").removeprefix("/run/")
    assert [
        section["lines"][0]["run_name"]
        for section in page.data(f"/benchmarks?run={run}")["sections"]
    ] == ["two"]


def test_disagreements_lead_to_their_rows(page: Page, root: Path) -> None:
    (judge,) = benchmark_of(root / "one").judges
    run = page.run("one").removeprefix("/run/")
    address = f"/benchmarks/{run}?{urlencode({'judge': judge.judge, 'criteria': judge.criteria})}"
    found = page.data(address)
    assert found["count"] == len(judge.disagreements) > 0
    assert sum(one["count"] for one in found["pairs"]) == found["count"]
    one = found["pairs"][0]
    assert page.data(f"{address}&{urlencode({'said': one['key']})}")["count"] == one["count"]
    row = found["rows"][0]
    assert f"/run/{run}/row/{row['row']}?" in page.get(address).text
    assert page.get(f"/run/{run}/row/{row['row']}").status == 200


def test_rows_with_a_disagreement_are_no_longer_labelled_blind(root: Path) -> None:
    (judge,) = benchmark_of(root / "one").judges
    differing = {row.identity for row in judge.disagreements}
    with served(root) as page:
        run = page.run("one")
        query = urlencode({"judge": judge.judge, "criteria": judge.criteria})
        assert page.get(f"/benchmarks/{run.removeprefix('/run/')}?{query}").status == 200
        address, seen = f"{run}/label?annotator=eve&count=60", {}
        while row := page.data(address)["work"]["row"]:
            seen[row["identity"]] = page.data(address)["work"]["seen"]
            page.post(address, do="answer", row=row["identity"], choice="PASS")
        assert {identity for identity, is_seen in seen.items() if is_seen} == differing


def test_what_is_not_there_is_refused_in_words(page: Page) -> None:
    run = page.run("one").removeprefix("/run/")
    assert page.get("/benchmarks?group=x").status == 400
    assert page.get(f"/benchmarks/{run}?judge=x&criteria=y").status == 400
    assert page.get("/benchmarks/nothing").status == 404


def test_published_results_are_data_for_scripts(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        found = page.data("/benchmarks")["published"]
        shown = page.get("/benchmarks").text
    assert "beside" in found[0] and isinstance(found[0]["judges"][0]["agreement"]["value"], float)
    assert found[0]["beside"][0] in shown
