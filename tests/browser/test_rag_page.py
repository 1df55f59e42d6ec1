"""The HTML reports in a real browser: nothing is loaded, nothing complains, filters, search and
order work.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from adjudge import DirectJudge, Instance, PairwiseJudge, ScriptedModel
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.gateway.opener import ModelLike
from adjudge.features.rag import RagEvaluator
from adjudge.features.rag.report_row import score_of
from adjudge.runs.exporters.export import export
from adjudge.runs.exporters.pages import write_html, write_reports
from adjudge.runs.results.report import ReportTally, judgments_of, report_of
from adjudge.runs.results.setup import Setup
from support.browser import needs_browser
from support.rag import EXAMPLE, ROW, gives, varied

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

SCREENS = Path(os.environ["ADJUDGE_SCREENSHOTS"]) if "ADJUDGE_SCREENSHOTS" in os.environ else None
MANY = int(os.environ.get("ADJUDGE_PAGE_ROWS", "1000"))
"""Rows of the page that clicks are tried on: ten thousand with make test-browser."""
CUT = """[...document.querySelectorAll('table.lines, table.lines td, .decision, .gate, .badge')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.textContent.slice(0, 60))"""
"""What is cut off at the right."""
HOSTILE = (
    "<script>document.title='taken'</script><img src=http://example.invalid/x "
    "onerror=\"document.title='taken'\"> **bold**"
)


Scheme = Literal["light", "dark"]


@pytest.fixture
def troubles() -> list[str]:
    """What the page complains of, and what it tries to load."""
    return []


def opened(
    browser: Browser, troubles: list[str], path: Path, width: int = 1280, scheme: Scheme = "light"
) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: (
            troubles.append(request.url) if not request.url.startswith("file:") else None
        ),
    )
    page.goto(path.as_uri())
    return page


def written(
    folder: Path, rows: Any = EXAMPLE, model: ModelLike | None = None, language: str = "en"
) -> Path:
    evaluator = RagEvaluator(model or varied(), language=language)
    found = evaluator.rows(rows)
    results = evaluator.evaluate(found.instances)
    return write_reports(
        report_of(evaluator, results, source="rag.csv"), judgments_of(evaluator, results), folder
    )[2]


def visible(page: Page) -> list[str]:
    """The numbers of the rows that are shown, from the top."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.entry')].filter(e => e.checkVisibility()).map(e => "
        "e.dataset.number)"
    )
    return found


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_without_a_word_and_fits(
    tmp_path: Path, browser: Browser, troubles: list[str], width: int, scheme: Scheme, language: str
) -> None:
    page = opened(browser, troubles, written(tmp_path, language=language), width, scheme)
    assert troubles == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    plot = page.locator("svg.plot").bounding_box()
    assert plot is not None
    assert plot["width"] > 250
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(18, 22, 29)") == (scheme == "dark")
    if SCREENS:
        page.screenshot(path=SCREENS / f"rag_{width}_{scheme}_{language}.png", full_page=True)


def test_search_narrows_and_says_how_many(
    tmp_path: Path, browser: Browser, troubles: list[str]
) -> None:
    page = opened(browser, troubles, written(tmp_path))
    assert len(visible(page)) == 12
    page.get_by_label("search").fill("INDOOR pool")
    assert visible(page) == ["8"]
    assert page.locator("#shown").inner_text() == "1"
    page.get_by_label("search").fill("no such words anywhere")
    assert visible(page) == []
    assert page.locator("#nothing").is_visible()
    page.get_by_label("search").fill("")
    assert len(visible(page)) == 12
    assert troubles == []


def test_filters_and_order(tmp_path: Path, browser: Browser, troubles: list[str]) -> None:
    path = written(tmp_path)
    page = opened(browser, troubles, path)
    harmful = page.locator(".entry[data-rule=harmful]").count()
    assert 0 < harmful < 8
    assert page.locator(".entry").first.get_attribute("data-rule") == "harmful"
    page.get_by_label("show").select_option("harmful")
    assert len(visible(page)) == harmful
    page.get_by_label("show").select_option("")
    page.get_by_label("sort").select_option("row")
    assert visible(page) == [str(number) for number in range(1, 13)]
    page.get_by_label("sort").select_option("d2")
    order = page.evaluate("[...document.querySelectorAll('.entry')].map(e => +e.dataset.d2)")
    assert order == sorted(order)
    page.get_by_label("sort").select_option("worst")
    assert page.locator(".entry").first.get_attribute("data-rule") == "harmful"
    assert troubles == []


def test_text_from_rows_and_models_stays_text(
    tmp_path: Path, browser: Browser, troubles: list[str]
) -> None:
    path = written(tmp_path, [dict.fromkeys(ROW, HOSTILE)], gives(name=HOSTILE))
    page = opened(browser, troubles, path)
    assert page.title().startswith("RAG evaluation")
    assert page.locator("img").count() == 0
    assert page.get_by_text("**bold**").count() >= 4
    assert troubles == []


def test_an_entry_opens_by_keyboard(tmp_path: Path, browser: Browser, troubles: list[str]) -> None:
    page = opened(browser, troubles, written(tmp_path))
    last = page.locator(".entry").last
    assert last.get_attribute("open") is None
    last.locator("summary").focus()
    page.keyboard.press("Enter")
    assert last.get_attribute("open") is not None


def test_printing_opens_every_entry_and_hides_the_tools(
    tmp_path: Path, browser: Browser, troubles: list[str]
) -> None:
    page = opened(browser, troubles, written(tmp_path))
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".entry[open]").count() == 12
    assert not page.locator("#tools").is_visible()
    assert page.pdf()[:4] == b"%PDF"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".entry[open]").count() == 3


def test_it_is_readable_without_script(tmp_path: Path, browser: Browser) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(written(tmp_path).as_uri())
    assert page.locator(".entry").count() == 12
    assert not page.locator("#tools").is_visible()


def test_every_control_has_a_name_and_headings_are_in_order(
    tmp_path: Path, browser: Browser, troubles: list[str]
) -> None:
    page = opened(browser, troubles, written(tmp_path))
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, select')].filter(e => !e.labels.length).length"
    )
    assert unnamed == 0
    assert page.evaluate(
        "[...document.querySelectorAll('svg')].every(e => e.getAttribute('aria-label'))"
    )
    assert page.locator("h1").count() == 1
    assert page.get_attribute("html", "lang") == "en"


def many(folder: Path, count: int) -> tuple[Path, list[JudgmentRecord]]:
    """A page of many answers, made of the results of a few."""
    evaluator = RagEvaluator(varied())
    few = judgments_of(evaluator, evaluator.evaluate(EXAMPLE))
    every = [
        replace(few[place % len(few)], index=place, id=f"row {place + 1}") for place in range(count)
    ]
    tally = ReportTally(Setup.of_judge(evaluator, "rows.csv"))
    for one in every:
        tally.add(one)
    write_html(tally.report(), every, folder / "page.html")
    return folder / "page.html", every


def test_a_click_on_a_count_shows_exactly_those_answers_of_many(
    tmp_path: Path, browser: Browser, troubles: list[str]
) -> None:
    begun = time.monotonic()
    path, every = many(tmp_path, MANY)
    made = time.monotonic()
    page = opened(browser, troubles, path)
    assert page.locator("#all").inner_text() == str(MANY)
    assert len(visible(page)) == 500
    opened_at = time.monotonic()
    unsupported = [one for one in every if score_of(one, "groundedness") == 0]
    button = page.locator("button[data-key=d5]").first
    assert button.inner_text().endswith(f": {len(unsupported)}")
    button.click()
    assert page.locator("#shown").inner_text() == str(len(unsupported))
    took = time.monotonic() - opened_at
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    assert sorted(map(int, visible(page))) == [one.row for one in unsupported]
    page.locator("#picked").click()
    last = MANY - MANY // 80
    page.get_by_label("search").fill(f"row {last}")
    assert str(last) in visible(page), "a good answer, far behind the worst"
    assert page.locator("#shown").inner_text() == "1"
    assert troubles == []
    size = path.stat().st_size / 1e6
    times = (
        f"made in {made - begun:.1f} s, opened in {opened_at - made:.1f} s, a click in {took:.1f} s"
    )
    print(f"\n{MANY} rows: {size:.1f} MB, {times}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_of_other_runs_fit_and_their_filters_work(
    tmp_path: Path, browser: Browser, troubles: list[str], width: int, scheme: Scheme
) -> None:
    asked = ["Is it kind?", "Is it very long, with a name that is long as well?", "Is it true?"]
    model = ScriptedModel(["Yes", "No", "No", "Yes"])
    DirectJudge(model).evaluate(
        [f"answer {row}" for row in range(8) for _ in asked], asked * 8, run=tmp_path / "direct"
    )
    rows = [Instance({"response_a": "x", "response_b": str(row)}) for row in range(9)]
    PairwiseJudge(ScriptedModel(["A", "B", "B"])).evaluate(rows, "Which?", run=tmp_path / "pairs")
    for name in ("direct", "pairs"):
        export(tmp_path / name, tmp_path / f"{name}.html")
        page = opened(browser, troubles, tmp_path / f"{name}.html", width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT) == []
        if SCREENS:
            page.screenshot(path=SCREENS / f"{name}_{width}_{scheme}.png", full_page=True)
    page.get_by_label("sort").select_option("agreement")
    assert len(visible(page)) == 9
    page.locator("td button").first.click()
    assert page.locator("#shown").inner_text() == "6"
    page = opened(browser, troubles, tmp_path / "direct.html", width, scheme)
    page.get_by_label("criteria").select_option(label="Is it true?")
    assert len(visible(page)) == 8
    assert troubles == []
