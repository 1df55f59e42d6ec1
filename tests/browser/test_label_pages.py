"""Labelling in real browsers: by keys alone, two people at once, with answers that come late and a
server that is killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from adjudge.trust.labels.store import LabelStore
from support.browser import expect, needs_browser
from support.labels import compared, judged
from support.page import Page as Server
from support.page import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = needs_browser
ROWS = int(os.environ.get("ADJUDGE_LABEL_ROWS", "14"))
GLANCE = 170
"""Milliseconds after which a row takes keys."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    judged(tmp_path / "dates", [f"text {number}." for number in range(ROWS)], lambda _: "PASS")
    return tmp_path


def options(run: Path) -> dict[str, tuple[str, str | None]]:
    return {str(one.id): (one.annotator, one.option) for one in LabelStore(run).current()}


def option_of(row: str) -> str:
    return "PASS" if int(row) % 2 else "FAIL"


def answer(page: Page) -> str:
    """Press the key that the shown row deserves; says which row it was."""
    page.wait_for_timeout(GLANCE)
    row = page.locator("#now h2").inner_text().removeprefix("Row r")
    page.keyboard.press("1" if option_of(row) == "PASS" else "2")
    expect(page.locator("#now h2")).not_to_have_text(f"Row r{row}")
    return row


def open_desk(browser: Browser, server: Server, query: str) -> Page:
    page = browser.new_context().new_page()
    page.goto(server.access.url)
    page.goto(server.address(f"{server.run('dates')}/label?{query}"), wait_until="networkidle")
    return page


def test_the_next_row_is_there_while_the_answer_is_on_its_way(browser: Browser, root: Path) -> None:
    """An answer that takes long holds nobody up, and each is kept for the row it was given to."""
    with served(root) as server:
        page = open_desk(browser, server, "annotator=ann")

        on_the_way: list[Route] = []
        page.route(
            "**/label?*", lambda one: one.continue_() if on_the_way else on_the_way.append(one)
        )
        first = answer(page)
        page.locator("#note").fill("second thoughts")
        page.locator("#note").blur()
        page.wait_for_timeout(GLANCE)
        second = page.locator("#now h2").inner_text().removeprefix("Row r")
        page.keyboard.press("1" if option_of(second) == "PASS" else "2")
        page.keyboard.press("1")
        assert len(on_the_way) == 1 and not options(root / "dates")
        on_the_way[0].continue_()
        expect(page.locator("#head")).to_contain_text("2 of")
        rows = [first, second, *(answer(page) for _ in range(3))]
        expect(page.locator("#head")).to_contain_text("5 of")
        kept = {str(one.id): (one.option, one.note) for one in LabelStore(root / "dates").current()}
        assert kept == {
            f"r{row}": (option_of(row), "second thoughts" if row == second else "") for row in rows
        }
        page.keyboard.press("u")
        expect(page.locator("#now h2")).to_have_text(f"Row r{rows[-1]}")
        assert len(options(root / "dates")) == 4
        page.context.close()


@pytest.mark.parametrize("language", ["en", "ru"])
def test_pairs_are_labelled_on_a_phone_without_scrolling(
    browser: Browser, tmp_path: Path, language: str
) -> None:
    texts = [(f"fine {number} " + "words " * 300, f"other {number}.") for number in range(6)]
    compared(tmp_path / "pairs", texts)
    with served(tmp_path, language=language) as server:
        context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
        page = context.new_page()
        page.goto(server.access.url)
        address = f"{server.run('pairs')}/label?annotator=ann&queue=random&count=6"
        page.goto(server.address(address), wait_until="networkidle")
        for _ in range(3):
            row = page.locator("#now").get_attribute("data-row")
            for part in page.locator("#now .response .text, .answers button").all():
                box = part.bounding_box()
                assert box and box["y"] >= 0 and box["y"] + box["height"] <= 844
            assert all(
                button.evaluate("button => button.offsetHeight") >= 48
                for button in page.locator(".answers button").all()
            )
            covered = page.locator(".answers").evaluate(
                "answers => [...document.querySelectorAll('#now .response .text')].some((text) =>"
                " text.getBoundingClientRect().bottom > answers.getBoundingClientRect().top)"
            )
            assert not covered
            page.wait_for_timeout(GLANCE)
            page.locator(".answers [data-do=answer]").first.tap()
            expect(page.locator("#now")).not_to_have_attribute("data-row", str(row))
            assert page.evaluate("scrollY") == 0
        context.close()


def test_a_row_whose_answer_was_not_kept_comes_back(browser: Browser, root: Path) -> None:
    with served(root) as server:
        page = open_desk(browser, server, "annotator=ann")
        page.route("**/label?*", lambda route: route.abort())
        shown = page.locator("#now h2").inner_text()
        page.keyboard.press("1")
        expect(page.locator("#unheard")).to_be_visible()
        expect(page.locator("#now h2")).to_have_text(shown)
        assert not options(root / "dates")
        page.unroute("**/label?*")
        answer(page)
        expect(page.locator("#head")).to_contain_text("1 of")
        expect(page.locator("#unheard")).to_be_hidden()
        page.context.close()


@contextmanager
def started(root: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``adjudge view`` as people start it, and its address."""
    command = [sys.executable, "-m", "adjudge", "view", str(root), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            words = (word for line in process.stdout for word in line.split())
            yield process, next(word for word in words if word.startswith("http://"))
        finally:
            process.kill()


def begin(page: Page, address: str, annotator: str) -> None:
    page.goto(address)
    page.get_by_role("link", name="dates").first.click()
    page.get_by_role("link", name="Label", exact=True).click()
    page.wait_for_load_state("networkidle")
    asked = urlencode({"annotator": annotator, "overlap": 0, "count": ROWS})
    page.goto(f"{page.url.partition('?')[0]}?{asked}", wait_until="networkidle")


def test_two_people_label_by_keys_and_the_server_is_killed_in_between(
    browser: Browser, root: Path
) -> None:
    """No label is lost, none is given twice, none is on another row."""
    pages = {name: browser.new_context().new_page() for name in ("ann", "bob")}
    given: dict[str, str] = {}
    with started(root) as (process, address):
        for name, page in pages.items():
            begin(page, address, name)
        for _ in range(ROWS // 4):
            given |= {answer(page): name for name, page in pages.items()}
        for page in pages.values():
            expect(page.locator("#head")).to_contain_text(f"{ROWS // 4} of")
        process.kill()
        process.wait()
        for page in pages.values():
            page.wait_for_timeout(GLANCE)
            shown = page.locator("#now h2").inner_text()
            page.keyboard.press("1")
            expect(page.locator("#unheard")).to_be_visible()
            expect(page.locator("#now h2")).to_have_text(shown)
    assert len(options(root / "dates")) == len(given)
    with started(root) as (_, address):
        for name, page in pages.items():
            begin(page, address, name)
        while any(page.locator("#now h2:has-text('Row')").count() for page in pages.values()):
            for name, page in pages.items():
                if page.locator("#now h2:has-text('Row')").count():
                    given[answer(page)] = name
                    page.wait_for_load_state("networkidle")
    assert options(root / "dates") == {
        f"r{row}": (name, option_of(row)) for row, name in given.items()
    }
    assert len(given) == ROWS
    times = Counter(one.row for one in LabelStore(root / "dates").history())
    assert set(times.values()) == {1}
    for page in pages.values():
        page.context.close()
