"""A copy of a run in a real browser, from disk and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adjudge import AspectCritic, Criteria, DirectJudge, Instance
from adjudge.core.domain.criteria import CriteriaOption
from adjudge.web import run_copy
from adjudge.web.library import Library
from adjudge.web.run_copy import CopySettings, choose_runs, write_copy
from adjudge.web.views import save_view
from support.browser import expect, needs_browser
from support.labels import judged_by_two, model
from support.page import served
from support.trust import labelled, labels_of, population, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser
ROWS = population(60)
HOSTILE = (
    "</template></script><script>document.title='taken'</script>"
    "<img src=http://127.0.0.1:9/x onerror=\"document.title='taken'\">"
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS)
    labelled(root / "dates", labels_of(ROWS[:30], annotator="bob"))
    AspectCritic(HOSTILE, model(lambda _: HOSTILE), name=HOSTILE).evaluate(
        [Instance({"response": HOSTILE}, HOSTILE)], run=root / "hostile"
    )
    library = Library(root, read_only=True)
    write_copy(library, choose_runs(library, []), root / "copy", CopySettings())
    return root / "copy"


def opened(browser: Browser, copy: Path, run: str, width: int = 1280) -> tuple[Page, list[str]]:
    """A run of the copy, and what the page complained of or asked for."""
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900})
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto((copy / "index.html").as_uri())
    page.on("request", lambda asked: troubles.append(asked.url))
    page.get_by_role("link", name=run, exact=True).click()
    page.wait_for_selector("#count:not(:empty)")
    return page, [one for one in troubles if not one.endswith(".html")]


def test_rows_are_found_filtered_and_opened(browser: Browser, copy: Path) -> None:
    page, troubles = opened(browser, copy, "dates")
    page.locator(".figures-more summary").click()
    page.locator("svg.distribution a").first.click()
    shown = page.locator("[data-line]:visible").count()
    drawn = page.locator("svg.distribution a").first.get_attribute("aria-label")
    assert (drawn or "").startswith(f"FAIL: {shown} (")
    assert 0 < shown < len(ROWS)
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("document.querySelectorAll('[data-line]:not([hidden])').length == 60")
    page.get_by_role("searchbox").fill("row 17 ")
    assert page.locator("[data-line]:visible").count() == 1
    page.locator("[data-line]:visible a").click()
    assert "row 17 " in page.locator("#row .field").inner_text()
    assert "row=18" in page.url
    page.reload()
    assert "row 17 " in page.locator("#row .field").inner_text()
    page.get_by_role("button", name="Clear").click()
    page.locator("h1").click()
    page.keyboard.press("j")
    assert page.locator("tr.chosen").count() == 1
    assert troubles == []
    page.context.close()


def test_many_rows_are_searched_at_once_and_shown_in_a_frame(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_copy, "_ROWS_OF_A_FILE", 20)
    judged_by_two(tmp_path / "runs" / "two")
    library = Library(tmp_path / "runs", read_only=True)
    write_copy(library, choose_runs(library, []), tmp_path / "copy", CopySettings())
    page, troubles = opened(browser, tmp_path / "copy", "two")
    assert page.locator("#count").inner_text() == "70 of 70 rows"
    page.get_by_role("searchbox").fill("TEXT 69 .")
    assert page.locator("[data-line]:visible").count() == 1
    line = page.locator("[data-line]:visible")
    line.get_by_role("link", name="Yes").click()
    shown = page.frame_locator("#frame")
    shown.get_by_role("heading", name="Row 70 · r69").wait_for()
    assert "text 69 ." in shown.locator("#row .field").inner_text()
    assert shown.locator(".measures .on").inner_text().startswith("short")
    shown.locator(".measures a").first.click()
    shown.locator(".measures .on", has_text="kind").wait_for()
    page.get_by_role("searchbox").fill("text 3 .")
    page.locator("[data-line]:visible th a").click()
    shown.get_by_role("heading", name="Row 4 · r3").wait_for()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Criterion").select_option("short")
    page.get_by_label("Verdict").select_option("No")
    assert page.locator("[data-line]:visible").count() == 10
    assert troubles == []
    page.context.close()


def test_a_copy_is_sorted_by_its_headings_and_has_the_views_that_it_can_show(
    browser: Browser, tmp_path: Path
) -> None:
    judged_by_two(tmp_path / "runs" / "two")
    save_view(tmp_path / "runs", "not short", "criteria=short&verdict=No&sort=-criterion:kind")
    save_view(tmp_path / "runs", "served alone", "where=row+%3C+3")
    save_view(tmp_path / "runs", "by tokens", "sort=tokens")
    library = Library(tmp_path / "runs", read_only=True)
    write_copy(library, choose_runs(library, []), tmp_path / "copy", CopySettings())
    page, troubles = opened(browser, tmp_path / "copy", "two")

    def shown(cell: str) -> list[str]:
        return page.locator(f"[data-line]:visible > {cell}").all_inner_texts()

    def order() -> str | None:
        return page.locator("thead th[aria-sort]").get_attribute("aria-sort")

    first = shown("th")
    assert first[0] == "r5"
    for name, place, wanted in (("kind", 3, "ascending"), ("kind", 3, "descending")):
        page.locator("thead").get_by_role("link", name=name, exact=True).click()
        values = shown(f":nth-child({place})")
        assert values == sorted(values, reverse=wanted == "descending")
        assert order() == wanted
        assert len(values) == 70
    page.locator("select[name=sort]").select_option("last")
    assert shown("th") == [f"r{number}" for number in reversed(range(70))]
    assert (order(), "sort=last" in page.url) == ("descending", True)
    page.keyboard.press("Tab")
    page.locator("h1").click()
    page.keyboard.press("j")
    assert page.locator("tr.chosen th").inner_text() == "r69", "keys follow the order"
    page.locator("select[name=sort]").select_option("")
    assert shown("th") == first
    assert page.locator(".middle > .chips a").all_inner_texts() == ["not short"]
    page.locator(".middle > .chips a").click()
    assert {int(id[1:]) for id in shown("th")} == set(range(0, 70, 7))
    assert page.locator("select[name=sort]").input_value() == "-criterion:kind"
    page.reload()
    assert len(shown("th")) == 10
    assert troubles == []
    page.context.close()


def test_numbers_of_a_copy_sort_as_numbers_and_equal_rows_as_on_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    said = ("0.5", "0.25", "10", "", "0.25", "10")
    options = [CriteriaOption(name, "", float(name) / 10) for name in ("0.25", "0.5", "10")]
    DirectJudge(
        model(lambda prompt: said[int(prompt.rsplit("text ")[-1][0])]), max_repairs=0
    ).evaluate(
        [Instance({"response": f"text {place}"}, f"r{place}") for place in range(6)],
        Criteria("grade", "Which grade?", options),
        run=tmp_path / "runs" / "grades",
    )
    library = Library(tmp_path / "runs", read_only=True)
    write_copy(library, choose_runs(library, []), tmp_path / "copy", CopySettings(language="ru"))
    page, troubles = opened(browser, tmp_path / "copy", "grades")
    with served(tmp_path / "runs") as server:
        for sort in ("verdict", "-verdict", "best", "row"):
            page.evaluate("(sort) => { location.hash = `sort=${sort}`; }", sort)
            wanted = [
                one["id"] for one in server.data(f"{server.run('grades')}?sort={sort}")["rows"]
            ]
            expect(page.locator("[data-line] > th")).to_have_text(wanted)
    assert troubles == []
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280, 2560])
def test_hostile_text_stays_text(browser: Browser, copy: Path, width: int) -> None:
    page, troubles = opened(browser, copy, "hostile", width)
    page.locator("[data-line] a").click()
    assert HOSTILE in page.locator("#row .field .text").last.inner_text()
    assert page.title() == "hostile · adjudge"
    assert page.locator("#row img, #row script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert troubles == []
    page.context.close()
