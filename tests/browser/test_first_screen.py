"""Rows are within the first screen, whatever the run: on a computer and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browser import expect, needs_browser
from support.kinds_of_runs import FILTERS, make
from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route
    from playwright.sync_api import Page as Tab

pytestmark = needs_browser
TOP = "Math.round(document.querySelector('[data-line]').getBoundingClientRect().top + scrollY)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("screen")
    make(root)
    with served(root) as found:
        yield found


@contextmanager
def _opened(
    browser: Browser, page: Page, address: str, width: int = 1280, height: int = 800, lang: str = ""
) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": width, "height": height})
    origin = f"http://127.0.0.1:{page.access.port}"
    cookies = {page.access.cookie: page.access.session, "adjudge_language": lang or "en"}
    context.add_cookies(
        [{"name": name, "value": value, "url": origin} for name, value in cookies.items()]
    )
    tab = context.new_page()
    tab.goto(page.address(address))
    yield tab
    context.close()


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 320), (390, 844, 480)])
@pytest.mark.parametrize("run", FILTERS)
def test_the_first_row_is_on_the_first_screen(
    browser: Browser, page: Page, run: str, width: int, height: int, most: int, language: str
) -> None:
    for address in (page.run(run), f"{page.run(run)}?{FILTERS[run]}"):
        with _opened(browser, page, address, width, height, language) as tab:
            tab.wait_for_selector(".strip")
            assert tab.evaluate(TOP) <= most, address
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, address


def test_the_list_has_the_whole_width_until_a_row_is_chosen(browser: Browser, page: Page) -> None:
    wide = (
        "document.querySelector('#list').offsetWidth / document.querySelector('.split').offsetWidth"
    )
    with _opened(browser, page, page.run("one")) as tab:
        assert tab.evaluate(wide) == 1
        assert tab.evaluate("document.querySelector('td.t').offsetWidth") > 800
        tab.locator("[data-line] th a").first.click()
        tab.locator("#row .rowhead").wait_for()
        assert tab.evaluate(wide) < 0.6
        tab.locator("[data-close-row]").click()
        assert tab.evaluate(wide) == 1
        assert "row=" not in tab.url
        assert tab.evaluate("document.activeElement.closest('[data-line]') !== null")
        tab.keyboard.press("j")
        tab.locator("#row .rowhead").wait_for()


def test_a_column_keeps_the_width_that_somebody_gave_it(browser: Browser, page: Page) -> None:
    with _opened(browser, page, page.run("one")) as tab:
        width = "document.querySelector('[data-column=verdict]').offsetWidth"
        before = tab.evaluate(width)
        grip = tab.locator("[data-column=verdict] .grip")
        box = grip.bounding_box()
        assert box
        tab.mouse.move(box["x"] + 2, box["y"] + 5)
        tab.mouse.down()
        tab.mouse.move(box["x"] + 82, box["y"] + 5, steps=4)
        tab.mouse.up()
        assert tab.evaluate(width) == pytest.approx(before + 80, abs=3)
        tab.select_option("[name=sort]", "row")  # swaps the list
        tab.wait_for_url("**sort=row**")
        assert tab.evaluate(width) == pytest.approx(before + 80, abs=3)
        tab.goto(page.address(page.run("labelled")))
        assert tab.evaluate(width) == pytest.approx(before + 80, abs=3)
        tab.locator("[data-column=verdict] .grip").dblclick()
        assert tab.evaluate(width) == pytest.approx(before, abs=3)


def test_runs_can_be_ticked_without_scrolling_sideways(browser: Browser, page: Page) -> None:
    with _opened(browser, page, "/") as tab:
        tab.wait_for_load_state("networkidle")
        fits = "region => region.scrollWidth <= region.clientWidth"
        assert tab.locator(".scroll").first.evaluate(fits)
        for box in tab.locator("input[name=runs]").all():
            place = box.bounding_box()
            assert place and place["x"] < 60
        tab.locator("input[name=runs]").first.check()
        bar = tab.locator(".ticked-bar").bounding_box()
        assert bar and bar["y"] + bar["height"] <= 800


def test_a_ticked_run_stays_ticked_when_its_line_comes_late(
    browser: Browser, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        run_of(tmp_path / name, population(20))
        labelled(tmp_path / name, labels_of(population(20)))  # so corrected figures come later
    with served(tmp_path) as own:
        opened = browser.new_context().new_page()
        held: list[Route] = []
        is_ticked = False

        def hold(route: Route) -> None:
            if is_ticked:
                route.continue_()
            else:
                held.append(route)

        opened.route("**/line", hold)
        opened.goto(own.access.url)
        opened.wait_for_selector("tbody[hx-get]")
        for box in opened.locator("input[name=runs]").all():
            box.check()
        is_ticked = True
        for route in held:
            route.continue_()
        opened.locator("tbody[hx-get]").first.wait_for(state="detached")
        assert opened.locator("input[name=runs]:checked").count() == 2
        opened.context.close()


def test_arrows_of_the_row_follow_the_list(browser: Browser, page: Page) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    origin = f"http://127.0.0.1:{page.access.port}"
    context.add_cookies([{"name": page.access.cookie, "value": page.access.session, "url": origin}])
    opened = context.new_page()
    opened.goto(page.address(page.run("one")))
    listed = opened.locator("[data-line] th a").all_inner_texts()
    opened.locator("[data-line] th a").nth(1).click()
    following = opened.locator("#row .rowhead [rel=next]")
    following.get_by_text(listed[2]).or_(following).first.wait_for()
    opened.wait_for_function(
        "text => document.querySelector('#row .rowhead [rel=next]').textContent.includes(text)",
        arg=listed[2],
    )
    following.click()
    opened.wait_for_function(
        "text => document.querySelector('#row .rowhead h2').textContent.includes(text)",
        arg=listed[2],
    )
    context.close()


def test_a_select_acts_at_once(browser: Browser, page: Page) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    origin = f"http://127.0.0.1:{page.access.port}"
    context.add_cookies([{"name": page.access.cookie, "value": page.access.session, "url": origin}])
    opened = context.new_page()
    opened.goto(page.address(page.run("one")))
    opened.select_option("[name=sort]", "row")
    opened.wait_for_url("**sort=row**")
    context.close()


def test_few_stops_of_the_tab_key_lead_to_the_button_that_starts_a_run(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\nr1,yes\n")
    models = ["openai/gpt-4o-mini", "openai/gpt-4o", "local/smollm2-135m"]
    with served(tmp_path, home=tmp_path, models=models) as own:
        opened = browser.new_context().new_page()
        opened.goto(own.access.url)
        opened.goto(own.address("/start?data=rows.csv"), wait_until="load")
        opened.wait_for_function("document.activeElement.name === 'question'")
        stops: list[str] = []
        while "main" not in stops and len(stops) <= 15:
            opened.keyboard.press("Tab")
            stops.append(opened.evaluate("document.activeElement.className"))
        assert len(stops) <= 15
        boxes = opened.locator("#ready input")
        assert boxes.count() > 25
        boxes.first.focus()
        opened.keyboard.press("ArrowDown")
        opened.keyboard.press("Space")
        assert [box.is_checked() for box in boxes.all()[:3]] == [False, True, False]
        opened.context.close()


def test_keys_lead_to_the_actions_and_a_column_keeps_the_focus(
    browser: Browser, page: Page
) -> None:
    with _opened(browser, page, page.run("targets")) as tab:
        tab.keyboard.press("j")
        tab.locator("#row .rowhead").wait_for()
        tab.keyboard.press("x")
        tab.keyboard.press("a")
        assert tab.evaluate("document.activeElement.closest('#these') !== null")
        assert tab.locator("[data-ticked] b").inner_text() == "1"
        tab.locator(".more-pictures > summary").click()
        column = tab.locator("#pictures select[name=across]")
        column.focus()
        with tab.expect_response("**/pictures?**"):
            column.select_option("")
        expect(tab.locator("#pictures .crossed")).to_have_count(0)
        assert tab.evaluate("document.activeElement.name") == "across"
