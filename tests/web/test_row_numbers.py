"""A row has one number on every page; texts without much in common stand side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import DirectJudge, Instance, MultiCriteria
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.runs.numbers import axis_end
from adjudge.web.text_differences import are_unrelated, word_difference
from support.labels import model
from support.page import Page, served

GOOD = "You can change the date of your booking yourself, free of charge until two days before."
OTHER = "Nobody here knows anything about hotels; please write to another company, thanks so much!"


def _run(folder: Path, bad: int, text: str) -> None:
    def verdict(prompt: str) -> str:
        return "No" if f"text {bad} " in prompt else "Yes"

    criteria = [replace(yes_no_criteria(f"Is it {what}?"), name=what) for what in ("kind", "short")]
    rows = [Instance({"question": f"about {n}", "response": f"text {n} {text}"}) for n in range(5)]
    DirectJudge(model(verdict)).evaluate_multi_criteria(rows, MultiCriteria(criteria), run=folder)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("numbers")
    _run(root / "one", 9, GOOD)
    _run(root / "two", 3, OTHER)
    _run(root / "three", 3, GOOD.replace("two days", "three days"))
    with served(root) as found:
        yield found


def test_row_four_is_row_four_everywhere(page: Page) -> None:
    one, two, three = (page.run(name)[5:] for name in ("one", "two", "three"))
    shown = page.get(f"/compare?a={one}&b={two}").text
    assert re.findall(r"/compare/row[^>]*>([^<]+)</a>", shown) == ["4", "4"]
    assert ">7<" not in shown
    several = page.get(f"/compare?runs={one}&runs={two}&runs={three}&base={one}").text
    assert re.findall(r"/compare/row[^>]*>([^<]+)</a>", several) == ["4", "4"]
    link = re.findall(r'href="[^"]*(/compare/row[^"]+)"', shown)[0].replace("&amp;", "&")
    assert page.data(link)["id"] == "4"
    assert "Row 4" in page.get(f"/run/{two}/row/7").text
    grid = page.data(f"/compare/outputs?runs={one}&runs={two}&kind=differ")["rows"]
    assert [row["number"] for row in grid] == [4]
    label = page.data(f"/run/{one}/label?annotator=ann&criteria=short")["work"]["row"]
    assert label["number"] <= 5, "ten judgments are of five rows"


def test_unrelated_texts_stand_side_by_side(page: Page) -> None:
    one, two, three = (page.run(name)[5:] for name in ("one", "two", "three"))
    cells = "/compare/row?cell={}:1:DirectJudge&cell={}:1:DirectJudge"
    (text,) = page.data(cells.format(one, two))["runs"][1]["texts"]
    assert text["parts"] is None
    assert text["beside"] == [f"text 0 {GOOD}", f"text 0 {OTHER}"]
    shown = page.get(cells.format(one, two)).text
    assert "little in common" in shown
    assert "<del>" not in shown
    (text,) = page.data(cells.format(one, three))["runs"][1]["texts"]
    assert text["beside"] is None
    assert ["gone", "two"] in text["parts"]


@pytest.mark.parametrize(
    ("old", "new", "unrelated"),
    [
        (GOOD, OTHER, True),
        (GOOD, f"{GOOD} And more.", False),
        ("yes", "no", False),
        ("", "", False),
    ],
)
def test_short_texts_are_always_compared(old: str, new: str, *, unrelated: bool) -> None:
    assert are_unrelated(word_difference(old, new)) is unrelated


def test_nothing_to_watch_is_no_tab(page: Page) -> None:
    assert "/watch" not in page.get(page.run("one")).text
    assert page.get(f"{page.run('one')}/watch").status == 200


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [(1234.5, 1200, 1300), (0.123, 0.12, 0.13), (0.1 + 0.2, 0.3, 0.3), (-1234.5, -1300, -1200)],
)
def test_an_axis_ends_at_two_digits(value: float, low: float, high: float) -> None:
    assert (axis_end(value, upper=False), axis_end(value, upper=True)) == (low, high)
    assert axis_end(0.0, upper=True) == 0
