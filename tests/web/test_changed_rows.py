"""A comparison shows what changed: texts, reasons and slices of rows, by the size of the change;
paired differences of each slice; the rows before and after one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from adjudge import Request, ScriptedModel
from adjudge.core.domain.instance import Instance
from adjudge.core.judges.aspect import AspectCritic
from support.page import Page, served

HOSTILE = "<i>hostile</i>"


def _run(folder: Path, poor: set[int], word: str) -> None:
    def verdict(request: Request) -> str:
        return "FAIL" if "poor" in request.prompt.text.rpartition("row ")[2] else "PASS"

    rows = [
        Instance(
            {
                "user_input": f"question {number} {HOSTILE}",
                "response": f"row {number} is {'poor' if number in poor else word}.",
            },
            f"r{number}",
            {"row": {"system": "ab"[number % 2], "plain": f"{number}"}},
        )
        for number in range(40)
    ]
    AspectCritic("Is it good?", ScriptedModel(verdict), name="dates").evaluate(rows, run=folder)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("changed")
    _run(root / "old", {2}, "good")
    _run(root / "new", set(range(1, 30, 2)), "good")
    with served(root) as found:
        yield found


def _address(page: Page) -> str:
    return f"/compare?a={page.run('old')[5:]}&b={page.run('new')[5:]}"


def test_a_changed_row_has_its_texts_its_slice_and_the_change(page: Page) -> None:
    data = page.data(f"{_address(page)}&by=system")
    assert data["counts"]["changed"] == 16
    first = next(row for row in data["rows"] if row["a"]["id"] == "r1")
    assert first["question"] == f"question 1 {HOSTILE}"
    assert [text["answer"] for text in first["texts"]] == ["row 1 is good.", "row 1 is poor."]
    assert (first["slice"], first["change"]) == ("b", -1.0)
    shown = page.get(_address(page)).text
    assert HOSTILE not in shown
    assert "row 1 is poor." in shown


def test_rows_are_sorted_by_the_size_of_the_change(page: Page) -> None:
    rows = page.data(f"{_address(page)}&order=size")["rows"]
    sizes = [abs(row["change"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert len(rows) == 16
    assert page.data(f"{_address(page)}&order=size&tab=both_failed")["order"] == "row"


def test_slices_have_paired_differences_the_worst_first(page: Page) -> None:
    (found,) = page.data(f"{_address(page)}&by=system")["slices"]
    assert [(part["slice"], part["rows"]) for part in found["slices"]] == [("b", 20), ("a", 20)]
    worst, best = found["slices"]
    assert worst["value"] == pytest.approx(-15 / 20)
    assert best["value"] == pytest.approx(1 / 20)
    assert worst["lower"] < worst["value"] < worst["upper"] < 0
    assert "Differences by column" in page.get(_address(page)).text


def test_a_slice_leads_to_its_rows_and_a_column_is_one_click(page: Page) -> None:
    shown = page.get(f"{_address(page)}&by=plain").text
    (other,) = re.findall(r'href="[^"]*(/compare[^"]*by=system[^"]*)#slices"', shown)
    (found,) = page.data(other.replace("&amp;", "&"))["slices"]
    for part in found["slices"]:
        rows = page.data(f"{page.run('new')}?{urlencode(part['query'])}")["matching"]
        assert rows == {"shown": part["rows"], "of": 40}
    text = page.get(other.replace("&amp;", "&")).text
    assert text.count('title="Rows with the same value"') == 2


def test_a_row_leads_to_the_one_before_and_after_it(page: Page) -> None:
    shown = page.get(f"{_address(page)}&order=size").text
    links = [
        link.replace("&amp;", "&") for link in re.findall(r'href="[^"]*(/compare/row[^"]+)"', shown)
    ]
    second = page.data(links[1])
    assert {"before", "after"} == {*second["neighbours"]}
    assert {"after"} == {*page.data(links[0])["neighbours"]}
    assert {"before"} == {*page.data(links[-1])["neighbours"]}
    text = page.get(links[1]).text
    for key, other in (("k", links[0]), ("j", links[2])):
        (link,) = re.findall(rf'data-key="{key}" href="[^"]*(/compare/row[^"]+)"', text)
        assert page.data(link.replace("&amp;", "&"))["id"] == page.data(other)["id"]
