"""Filters swap the list without a reload; the arrows of a row follow the list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from support.browser import expect, needs_browser
from support.page import Page, served
from support.trust import population, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("swapped")
    run_of(root / "one", population(60))
    run_of(root / "two", population(60))
    with served(root) as found:
        yield found


@pytest.fixture
def tab(browser: Browser, page: Page) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": 1280, "height": 500})
    origin = f"http://127.0.0.1:{page.access.port}"
    context.add_cookies([{"name": page.access.cookie, "value": page.access.session, "url": origin}])
    yield context.new_page()
    context.close()


def test_a_filter_swaps_the_list(page: Page, tab: Tab) -> None:
    tab.goto(page.address(page.run("one")))
    tab.evaluate("window.isHere = true; scrollTo(0, 60)")
    tab.fill("#find", "verdict = fail")
    tab.press("#find", "Enter")
    expect(tab.locator("#matching")).to_be_visible()
    assert tab.evaluate("isHere"), "the page was not loaded again"
    assert tab.evaluate("scrollY") == 60
    assert tab.evaluate("document.activeElement.id") == "find"
    assert "where=verdict" in tab.url
    tab.select_option("select[name=sort]", "last")
    expect(tab.locator("th[aria-sort=descending]")).to_be_visible()
    tab.click("[data-line] a >> nth=1")
    total = tab.get_attribute("#matching", "data-shown")
    expect(tab.locator(".rowhead [data-place]")).to_have_text(f"2 of {total}")
    expect(tab).to_have_url(re.compile(r"[?&]row=\d+$"))
    chosen = tab.inner_text("[data-line].chosen th")
    tab.click(".chip.on")
    expect(tab.locator("#matching")).to_have_count(0)
    assert tab.evaluate("isHere")
    assert tab.inner_text("[data-line].chosen th") == chosen, "the row beside it stays chosen"
    tab.go_back()
    expect(tab.locator("#find")).to_have_value("verdict = fail")


def test_a_tick_belongs_to_its_row(page: Page, tab: Tab) -> None:
    tab.goto(page.address(page.run("one")))
    box = tab.locator("[data-line] input[name=tick] >> nth=0")
    value = box.get_attribute("value")
    box.check()
    tab.select_option("select[name=sort]", "last")
    expect(tab.locator("th[aria-sort=descending]")).to_be_visible()
    ticked = tab.eval_on_selector_all(
        "input[name=tick]:checked", "boxes => boxes.map(box => box.value)"
    )
    assert ticked in ([], [value])


def test_keys_go_from_difference_to_difference(page: Page, tab: Tab) -> None:
    runs = [page.run(name)[5:] for name in ("one", "two")]
    tab.goto(page.address(f"/compare/outputs?runs={runs[0]}&runs={runs[1]}"))
    tab.click(".heights [data-height=low]")
    assert tab.get_attribute("table.outputs", "data-height") == "low"
    tab.evaluate("document.querySelectorAll('#rows tbody tr')[3].dataset.differs = ''")
    tab.keyboard.press("j")
    expect(tab.locator("tr.chosen")).to_have_id(
        str(tab.locator("#rows tbody tr >> nth=3").get_attribute("id"))
    )
    tab.reload()
    assert tab.get_attribute("table.outputs", "data-height") == "low", "remembered"
