"""Rows are within the first screen, whatever the run: on a computer and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.agent_runs import agent_run
from support.browser import needs_browser
from support.labels import compared, judged_by_two
from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = needs_browser
TOP = "Math.round(document.querySelector('[data-line]').getBoundingClientRect().top + scrollY)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("screen")
    run_of(root / "one", population(60))
    judged_by_two(root / "two")
    compared(root / "pairs", [(f"fine {n}", f"other {n}") for n in range(20)])
    agent_run(root / "agents")
    with served(root) as found:
        yield found


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 320), (390, 844, 480)])
@pytest.mark.parametrize("run", ["one", "two", "pairs", "agents"])
def test_the_first_row_is_on_the_first_screen(
    browser: Browser, page: Page, run: str, width: int, height: int, most: int, language: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    origin = f"http://127.0.0.1:{page.access.port}"
    context.add_cookies(
        [
            {"name": page.access.cookie, "value": page.access.session, "url": origin},
            {"name": "adjudge_language", "value": language, "url": origin},
        ]
    )
    opened = context.new_page()
    opened.goto(page.address(page.run(run)))
    opened.wait_for_selector(".strip")
    assert opened.evaluate(TOP) <= most
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_a_filtered_list_begins_on_the_first_screen(browser: Browser, page: Page) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    origin = f"http://127.0.0.1:{page.access.port}"
    context.add_cookies([{"name": page.access.cookie, "value": page.access.session, "url": origin}])
    opened = context.new_page()
    opened.goto(page.address(f"{page.run('one')}?where=score+%3C+0.5"))
    opened.wait_for_selector(".strip")
    assert opened.evaluate(TOP) <= 320
    assert opened.locator("#views summary").is_visible()
    context.close()


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
        while "main" not in stops and len(stops) <= 25:
            opened.keyboard.press("Tab")
            stops.append(opened.evaluate("document.activeElement.className"))
        assert len(stops) <= 25
        boxes = opened.locator("#ready input")
        assert boxes.count() > 25
        boxes.first.focus()
        opened.keyboard.press("ArrowDown")
        opened.keyboard.press("Space")
        assert [box.is_checked() for box in boxes.all()[:3]] == [False, True, False]
        opened.context.close()
