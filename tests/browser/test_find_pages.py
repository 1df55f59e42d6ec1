"""Finding rows and comparing runs in a real browser, by clicking and typing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from support.browser import expect, needs_browser
from support.page import Page as Server
from support.page import served
from support.trust import labelled, labels_of, population, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser
ROWS = population(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS, failed=lambda text: text.startswith("row 7 "))
    labelled(root / "dates", labels_of(ROWS[:20], annotator="bob"))
    run_of(root / "again", ROWS[:50])
    run_of(root / "third", ROWS[:40], failed=lambda text: text.startswith("row 9 "))
    with served(root) as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text))
    page.goto(server.access.url)
    yield page
    page.close()
    assert [one for one in troubles if "status of 400" not in one] == []


def test_rows_are_found_sorted_and_kept_as_a_view(page: Page, server: Server) -> None:
    page.goto(server.address(server.run("dates")))
    box = page.locator("#find")
    box.press_sequentially("verdict = fail and lab")
    assert page.locator("#completions option").evaluate_all(
        "all => all.map((one) => one.value)"
    ) == ["verdict = fail and labelled"]
    box.press_sequentially("elled nd")
    box.press("Enter")
    expect(page.locator("#where-wrong mark")).to_have_text("nd")
    box.fill("verdict = fail and not labelled")
    box.press("Enter")
    shown = page.locator("[data-line]")
    page.locator("#matching").wait_for()
    found = server.data(f"{server.run('dates')}?where=verdict%3Dfail+and+not+labelled")["rows"]
    assert shown.count() == len(found) > 0
    page.get_by_role("link", name="Text").click()
    page.wait_for_url("**sort=field*")
    expect(page.locator("[aria-sort=ascending]")).to_have_text(re.compile("Text"))
    texts = page.locator("[data-line] .begins").all_inner_texts()
    assert texts == sorted(texts)
    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill("to label")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="to label").wait_for()
    page.goto(server.address(server.run("third")))
    page.get_by_role("link", name="to label").click()
    page.locator(".chip.on", has_text="verdict = fail").wait_for()
    page.get_by_text("Save this view").click()
    page.locator("#views input[name=new]").fill("later")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("link", name="later").wait_for()
    page.get_by_text("Save this view").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("link", name="later").wait_for(state="detached")
    page.locator(".chip.on", has_text="verdict = fail").click()
    page.wait_for_url(lambda url: "where" not in url)


def test_three_runs_are_ticked_compared_and_looked_into(page: Page) -> None:
    for name in ("dates", "again", "third"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare the ticked runs").click()
    page.locator("h1", has_text="Comparison").wait_for()
    assert page.locator("svg.interval").count() >= 5
    page.get_by_role("link", name="A score is missing").click()
    page.locator("table.grid tbody tr", has_text="r7").get_by_role("link", name="failed").click()
    page.get_by_role("heading", name="Row 8 · r7").wait_for()
    page.go_back()
    page.get_by_role("link", name="Use as base").last.click()
    assert "third" in page.locator("ul.plain li").first.inner_text()
    page.get_by_role("link", name="With the base alone").first.click()
    page.get_by_role("link", name="Swap A and B").click()
    page.locator("h1", has_text="B: third").wait_for()


def test_comparisons_fit_a_telephone(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    one, two, three = (server.run(name)[5:] for name in ("dates", "again", "third"))
    for query in (f"a={one}&b={three}", f"runs={one}&runs={two}&runs={three}"):
        page.goto(server.address(f"/compare?{query}"))
        page.locator("table a").first.wait_for()
        assert (
            page.evaluate(
                "() => [...document.querySelectorAll('html, .scroll')]"
                ".filter((one) => one.scrollWidth > one.clientWidth).length"
            )
            == 0
        ), query
