"""The playground in a real browser, on the embedded model: typed, judged, saved, opened again,
tried on a run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from adjudge.runs.case_file import parse_case
from support.browser import expect, needs_browser
from support.fake_provider import HANGS, FakeProvider, never
from support.labels import judged
from support.page import Page as Server
from support.page import served
from support.playground import MODEL, judging, verdict
from support.trust import labelled, labels_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

SCREENS = Path(os.environ["ADJUDGE_SCREENSHOTS"]) if "ADJUDGE_SCREENSHOTS" in os.environ else None
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
Scheme = Literal["light", "dark"]
YEARS = ["It was built in 1889.", "The tower opened to visitors in May 1889."]
NONE = ["It is tall and made of iron.", "Many people like to visit it."]
BEGUN = """
test_case: 1
criteria:
  name: year
  description: Does the response name a year?
  options: [{name: "Yes", score: 1}, {name: "No", score: 0}]
judge: {models: [local/smollm2-135m]}
instances:
- {fields: {response: It was built in 1889.}, expected: "Yes"}
- {fields: {response: A text that is typed over.}, expected: "No"}
"""
START = "/playground?case=begun"
_SLOW = 90_000
"""Milliseconds for the first verdicts of a model that has to be loaded."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    rows = [
        (text, good, True)
        for text, good in [*((one, True) for one in YEARS), *((one, False) for one in NONE)]
    ]
    judged(
        home / "runs" / "towers",
        [text for text, *_ in rows],
        lambda _: "PASS",
        "The response names a year.",
    )
    labelled(home / "runs" / "towers", labels_of(rows))
    (home / "test-cases" / "begun").mkdir(parents=True)
    (home / "test-cases" / "begun" / "v1.yaml").write_text(BEGUN)
    return home


@pytest.fixture(scope="module")
def model() -> Iterator[FakeProvider]:
    with judging() as running:
        running.answer = lambda body: (
            "In 1889 it was built." if "You rewrite a piece" in json.dumps(body) else verdict(body)
        )
        yield running


@pytest.fixture(scope="module")
def server(home: Path, model: FakeProvider) -> Iterator[Server]:
    with served(home / "runs", home=home, models=[MODEL]) as found:
        yield found


@pytest.fixture
def troubles() -> list[str]:
    """What the page complains of."""
    return []


def opened(
    browser: Browser,
    server: Server,
    troubles: list[str],
    path: str,
    width: int = 1280,
    scheme: Scheme = "light",
    language: str = "en",
) -> Page:
    page = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    ).new_page()
    page.set_default_timeout(10_000)
    own = f"http://127.0.0.1:{server.access.port}"
    page.goto(server.access.url)
    page.goto(server.address(f"/language?set={language}"))
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: (
            troubles.append(request.url)
            if not request.url.startswith((own, "data:,", "blob:"))
            else None
        ),
    )
    page.goto(server.address(path))
    page.wait_for_selector("#findings p")
    return page


def tool(page: Page, name: str) -> None:
    """Open one of the tools over the form."""
    page.locator("#tools > details > summary", has_text=name).click()


def at_its_end(page: Page) -> None:
    page.wait_for_selector("#trial:not([data-events])", timeout=_SLOW)


def serious_issues(page: Page) -> list[tuple[str, str]]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    return [
        (one["id"], one["nodes"][0]["html"])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def test_criteria_are_typed_judged_saved_and_opened_again(
    browser: Browser, server: Server, troubles: list[str], home: Path
) -> None:
    page = opened(browser, server, troubles, START)
    page.locator("[name='row.text:response']").nth(1).fill(NONE[0])
    page.get_by_role("button", name="Judge these").click()
    at_its_end(page)
    beside = [page.locator(f"#instance-{place} .got .verdict").inner_text() for place in (1, 2)]
    assert [one.split(" ")[:2] for one in beside] == [["✓", "Yes"], ["✓", "No"]]
    assert beside[0].endswith("%")
    assert page.locator(".agreement td").nth(1).inner_text() == "2 / 2"
    assert page.locator(".confusion td.agree").all_inner_texts() == ["✓ 1", "✓ 1"]
    page.locator("[name='row.expected']").first.select_option("No")  # after the verdict
    page.locator("#instance-1 .got .verdict.bad").wait_for()
    assert page.locator(".agreement td").nth(1).inner_text() == "1 / 2"
    page.locator("[name='row.expected']").first.select_option("Yes")
    tool(page, "Save")
    page.locator("[name=save_as]").fill("years")
    page.locator("#save").click()
    page.get_by_role("link", name="Continue from this version").click()
    page.wait_for_selector("#findings p")
    assert page.locator("[name='row.text:response']").first.input_value() == YEARS[0]
    page.locator("#add-row").click()
    page.wait_for_selector("#instance-3")
    page.locator("[name='row.text:response']").nth(2).fill(YEARS[1])
    tool(page, "Save")
    page.locator("[name=note]").fill("one more")
    page.locator("#save").click()
    page.get_by_text("Saved as version 2 of years").wait_for()
    page.get_by_role("link", name="Versions of years").click()
    assert any(YEARS[1] in line for line in page.locator(".diff ins").all_inner_texts())
    case = parse_case((home / "test-cases" / "years" / "v2.yaml").read_text(), "v2.yaml")
    assert [row.fields["response"] for row in case.rows] == [YEARS[0], NONE[0], YEARS[1]]
    assert troubles == []


def test_results_are_shown_while_others_are_waited_for_and_the_rest_can_be_stopped(
    browser: Browser, server: Server, troubles: list[str], model: FakeProvider
) -> None:
    model.faults = lambda record, attempt: HANGS if record == 7 else None
    page = opened(browser, server, troubles, START)
    page.locator(".settings > summary").click()
    page.locator(f"[name=model][value='{MODEL}']").check()
    page.locator("[name=model][value^=local]").uncheck()
    page.locator("[name='row.text:response']").nth(1).fill("REC-00007-N never comes.")
    page.get_by_role("button", name="Judge these").click()
    page.wait_for_selector("#instance-1 .got .good")
    assert page.locator(".result .verdict strong").all_inner_texts() == ["Yes"]
    page.get_by_role("button", name="Stop").click()
    at_its_end(page)
    page.wait_for_selector("#trial .note")
    model.faults = never
    assert page.locator("#trial .note").inner_text() == "stopped"
    assert page.locator("#case .result").count() == 2
    assert troubles == []


def test_the_form_follows_what_is_typed(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, START)
    page.locator("[name='option.name']").first.fill("Certainly")
    page.locator("[name='option.name']").nth(1).click()
    assert page.locator("[name='row.expected']").first.input_value() == "Certainly"
    page.get_by_role("button", name="Use as an example: 1").click()
    page.wait_for_selector("[name='example.option']")
    assert page.locator("[name='example.text:response']").input_value() == YEARS[0]
    page.locator("#to-yaml").click()
    page.wait_for_selector("[name=yaml]")
    text = page.locator("[name=yaml]").input_value()
    assert "name: Certainly" in text
    page.locator("[name=yaml]").fill(text.replace("Certainly", "No"))
    page.locator("#findings .note").wait_for()
    assert "twice" in page.locator("#findings").inner_text()
    page.locator("[name=yaml]").fill(text.replace("Certainly", "Surely"))
    page.wait_for_selector("#findings .good, #findings .hint")
    page.locator("#to-form").click()
    page.wait_for_selector("[name='option.name']")
    assert page.locator("[name='option.name']").first.input_value() == "Surely"
    assert troubles == []


def test_criteria_are_tried_on_a_run_and_texts_are_rewritten(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, START)
    for place, name in enumerate(("PASS", "FAIL")):
        page.locator("[name='option.name']").nth(place).fill(name)
    tool(page, "Try on rows of a run")
    page.locator("#try").click()
    at_its_end(page)
    shares = page.locator(".agreement td[data-label='As expected']").all_inner_texts()
    assert shares[0] == "2 / 4"
    assert int(shares[1].split(" / ")[0]) >= 2
    drawn = page.locator("svg.flow .piece:has(.band)").evaluate_all(
        "all => all.map(piece => piece.getAttribute('aria-label'))"
    )
    moves = page.locator("#trial details table tbody tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert sorted(drawn) == sorted(f"{a} → {b}: {rows}" for a, b, rows in moves)
    assert sum(int(rows) for _, _, rows in moves) == 4
    page.locator("[name='row.text:response']").first.select_text()
    page.get_by_role("button", name="Rephrase").click()
    page.get_by_role("button", name="Use it").click()
    assert page.locator("[name='row.text:response']").first.input_value() == "In 1889 it was built."
    assert troubles == []


def test_files_are_taken_away_and_brought_in(
    browser: Browser, server: Server, troubles: list[str], tmp_path: Path
) -> None:
    page = opened(browser, server, troubles, START)
    tool(page, "Take away")
    page.get_by_role("button", name="EvalAssist", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name.endswith(".evalassist.json")
    fresh = opened(browser, server, troubles, "/playground")
    tool(fresh, "Import")
    fresh.locator("#file").set_input_files(file)
    fresh.locator("[name=name][value=year]").wait_for()
    assert fresh.locator("[name='row.text:response']").first.input_value() == YEARS[0]
    assert fresh.locator("[name='row.expected']").nth(1).input_value() == "No"
    assert troubles == []


def test_two_wordings_are_compared_by_keys_alone(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, START)
    page.locator("#keep-wording").press("Enter")
    page.wait_for_selector(".beside .other")
    page.locator("#case [name=name]").press("Enter")
    page.locator("[name=beside_name]").fill("conciseness")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Remove: conciseness").press("Enter")
    page.locator(".beside .other").nth(1).wait_for(state="detached")
    assert page.locator("#trial").count() == 0  # Enter in a field judges nothing
    page.locator("#case [name=description]").fill("Does the response state the year of an event?")
    page.keyboard.press("Control+Enter")
    at_its_end(page)
    page.locator("#instance-1 .got .verdict").nth(1).wait_for()
    assert page.locator("#instance-1 .got .by").all_inner_texts() == ["year (new)", "year (kept)"]
    assert page.locator(".agreement tbody th").all_inner_texts() == ["year (new)", "year (kept)"]
    assert "Cannot tell" in page.locator("#trial .outcome").nth(1).inner_text()
    page.get_by_role("button", name="Edit this one: year (kept)").press("Enter")
    asked = page.locator("#case [name=description]")
    expect(asked).to_have_value("Does the response name a year?")
    page.reload()
    page.wait_for_selector(".beside .other")
    assert page.locator(".beside summary").inner_text() == "year (kept)"
    assert serious_issues(page) == []
    assert troubles == []


def test_a_russian_table_comes_in_and_goes_out(
    browser: Browser, server: Server, troubles: list[str], tmp_path: Path
) -> None:
    page = opened(browser, server, troubles, START, language="ru")
    table = "response;label\r\nПостроена в 1889;Yes\r\n"
    for encoding in ("cp1251", "utf-16", "utf-8-sig"):
        file = tmp_path / f"{encoding}.csv"
        file.write_text(table, encoding=encoding, newline="")
        before = page.locator(".instance").count()
        tool(page, "Загрузить")
        page.locator("#file").set_input_files(file)
        page.wait_for_selector(f"#instance-{before + 1}")
        text = page.locator(f"#instance-{before + 1} [name='row.text:response']")
        assert text.input_value() == "Построена в 1889"
        assert page.locator("#case .note").count() == (encoding == "cp1251")
    tool(page, "Выгрузить")
    page.get_by_role("button", name="CSV").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Скачать").click()
    taken = Path(download.value.path()).read_bytes()
    assert taken.startswith("\ufeffid;response;label\n".encode())
    assert "Построена в 1889;Yes".encode() in taken
    assert troubles == []


def test_each_of_two_tabs_keeps_its_own_draft(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    one = opened(browser, server, troubles, START)
    other = one.context.new_page()
    other.goto(server.address(START))
    other.wait_for_selector("#findings p")
    one.locator("[name='row.text:response']").first.fill("Typed in the first tab.")
    other.locator("#add-row").click()
    other.wait_for_selector("#instance-3")
    other.locator("#undo").click()
    other.wait_for_selector("#instance-3", state="detached")
    one.reload()
    one.locator("#restored").wait_for()
    text = one.locator("#case [name='row.text:response']").first
    expect(text).to_have_value("Typed in the first tab.")
    assert troubles == []


def test_a_server_that_ends_in_the_middle_of_a_trial_is_said_to_have(
    browser: Browser, home: Path, model: FakeProvider, troubles: list[str]
) -> None:
    model.faults = lambda record, attempt: HANGS if record == 8 else None
    with served(home / "runs", home=home, models=[MODEL]) as leaving:
        page = opened(browser, leaving, troubles, START)
        page.locator("[name='row.text:response']").nth(1).fill("REC-00008-N never comes.")
        page.locator(".settings > summary").click()
        page.locator(f"[name=model][value='{MODEL}']").check()
        page.locator("[name=model][value^=local]").uncheck()
        page.get_by_role("button", name="Judge these").click()
        page.wait_for_selector("#trial[data-events]")
    page.locator("#unheard").wait_for()
    model.faults = never
    page.context.close()


def test_the_judge_button_stays_in_view_and_there_is_one_scroll_bar(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, START)
    for place in range(3, 9):
        page.locator("#add-row").click()
        page.wait_for_selector(f"#instance-{place}")
    page.locator("#instance-8").scroll_into_view_if_needed()
    overflows = page.locator(".play > .side").evaluate_all(
        "sides => sides.map((side) => getComputedStyle(side).overflowY)"
    )
    assert overflows == ["visible", "visible"]
    for seen in ("button.main", "[name^='option.']", "#instance-8 textarea"):
        box = page.locator(seen).first.bounding_box()
        assert box is not None
        assert 0 <= box["y"] <= 900 - box["height"], seen
    assert troubles == []


def test_a_text_that_was_changed_since_is_marked_and_its_result_goes_with_the_next_change(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, START)
    page.get_by_role("button", name="Judge these").click()
    at_its_end(page)
    page.locator("#instance-2 .got .verdict").wait_for()
    page.locator("[name='row.text:response']").first.fill("Another text.")
    page.locator("#instance-1 .since").wait_for()
    assert page.locator("#instance-2 .since").is_hidden()
    page.get_by_role("button", name="Duplicate: Instance 2").click()
    page.wait_for_selector("#instance-3")
    assert page.locator("#instance-1 .result").count() == 0
    assert page.locator("#instance-2 .result").count() == 1
    page.locator("#undo").click()
    page.wait_for_selector("#instance-3", state="detached")
    assert page.locator("#instance-2 .result").count() == 1
    assert troubles == []


def test_a_criterion_is_tried_by_keys_alone(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, START)

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("one => document.activeElement.matches(one)", selector):
                return
        raise AssertionError(selector)

    tab_to("button.main")
    page.keyboard.press("Enter")
    at_its_end(page)
    page.locator("#instance-1 .got .verdict").wait_for()
    tab_to("[name='row.expected']")
    page.keyboard.press("ArrowDown")
    page.locator("#instance-1 .got .verdict.bad").wait_for()
    tab_to("[name='row.text:response']")
    page.keyboard.press("Control+a")
    page.keyboard.type("It is old.")
    page.locator("#instance-1 .since").wait_for()
    page.keyboard.press("Control+Enter")
    page.locator("#instance-1 .got").get_by_text("as expected").wait_for()
    page.keyboard.press("Control+s")
    page.get_by_text("Saved as version").wait_for()
    assert troubles == []


@pytest.mark.parametrize(
    ("width", "scheme", "language"),
    [(2560, "light", "ru"), (1280, "light", "en"), (390, "dark", "ru")],
)
def test_results_fit_and_axe_finds_nothing_serious(
    browser: Browser, server: Server, troubles: list[str], width: int, scheme: Scheme, language: str
) -> None:
    page = opened(browser, server, troubles, START, width, scheme, language)
    page.locator("button.main").click()
    at_its_end(page)
    page.wait_for_selector("#instance-1 .got .verdict")
    box = page.locator("#trial").bounding_box()
    assert box is not None
    assert 0 <= box["y"] <= 800  # in view, however narrow
    page.locator("#tools details").last.evaluate("one => one.open = true")
    for part in page.locator("#case details").all():
        part.evaluate("one => one.open = true")
    if SCREENS:
        page.screenshot(
            path=SCREENS / f"view_playground_results_{width}_{scheme}_{language}.png",
            full_page=True,
        )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious_issues(page) == []
    assert troubles == []
    page.context.close()
