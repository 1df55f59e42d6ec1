"""The commonest jobs on the page, in a real browser: find the bad rows, understand one, compare two
runs, try a criterion. Pictures show what the JSON says, and evaluated text stays text.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adjudge import AspectCritic, Instance
from adjudge.web.library import Library, RunPlace
from support.browser import expect, needs_browser
from support.labels import judged, model
from support.page import Page as Server
from support.page import served
from support.playground import MODEL, direct, judging, playground, sent
from support.trust import labelled, labels_of, population, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser
ROWS = population(120)
MARKDOWN = """# Returns

**Thirty** days, see [the rules](javascript:document.title='taken'):

1. print ![label](http://127.0.0.1:9/label.png)
2. send <img src=x onerror="document.title='taken'">

| item | days |
|---|---:|
| shoes | 30 |

```html
<script>document.title = 'taken'</script>
```

<http://127.0.0.1:9/auto> <script>document.title = 'taken'</script>
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS)
    labelled(root / "dates", labels_of(ROWS[:60], annotator="bob"))
    judged(
        root / "again",
        [text for text, _, _ in ROWS],
        lambda prompt: "FAIL" if "row 1" in prompt else "PASS",
    )
    AspectCritic("It is kind.", model(lambda _: "PASS"), name="kind").evaluate(
        [Instance({"user_input": "How?", "response": MARKDOWN})], run=root / "markdown"
    )
    with served(root, home=root) as found:
        yield found


def at(browser: Browser, server: Server, path: str) -> Page:
    page = browser.new_context().new_page()
    page.goto(server.access.url)
    page.goto(server.address(path), wait_until="networkidle")
    return page


def test_a_part_of_a_bar_shows_its_rows_and_their_number_is_that_of_the_json(
    browser: Browser, server: Server
) -> None:
    run = server.run("dates")
    answers = server.data(run)["figures"]["answers"]["dates"]
    page = at(browser, server, run)
    drawn = page.locator("svg.distribution a").evaluate_all(
        "parts => parts.map(part => part.getAttribute('aria-label'))"
    )
    total = sum(one["rows"] for one in answers)
    assert drawn == [
        f"{one['answer']}: {one['rows']} ({100 * one['rows'] / total:.0f}%)" for one in answers
    ]
    page.locator(".figures-more > summary").click()
    page.locator("svg.distribution a").first.click()
    page.wait_for_url("**verdict=FAIL**")
    shown = page.locator("[data-line] td:nth-of-type(2)").all_inner_texts()
    assert set(shown) == {"FAIL"}
    page.locator(".chip.on").click()
    page.wait_for_url(lambda url: "verdict" not in url)
    page.context.close()


def test_pictures_of_trust_and_of_a_comparison_say_what_the_json_says(
    browser: Browser, server: Server
) -> None:
    run = server.run("dates")
    (found,) = server.data(f"{run}/trust")["calibrations"]
    page = at(browser, server, f"{run}/trust")
    cells = page.locator("td.heat").all_inner_texts()
    assert [int(cell.split()[-1]) for cell in cells] == [
        cell["count"] for row in found["confusion"]["rows"] for cell in row["cells"]
    ]
    plots = page.locator("svg.interval").evaluate_all(
        "plots => plots.map(plot => plot.getAttribute('aria-label'))"
    )
    assert plots[0].startswith(f"{found['estimates'][0]['range']['value']:.3f}")
    a, b = run.removeprefix("/run/"), server.run("again").removeprefix("/run/")
    moves = server.data(f"/compare?a={a}&b={b}")["moves"]
    page.goto(server.address(f"/compare?a={a}&b={b}"))
    told = page.locator("svg.flow .piece").evaluate_all(
        "all => all.map(piece => piece.getAttribute('aria-label'))"
    )
    for move in moves:
        assert f"{move['a']} → {move['b']}: {move['count']}" in told
    page.context.close()


def test_markdown_is_drawn_and_nothing_of_it_runs_or_is_fetched(
    browser: Browser, server: Server
) -> None:
    page = at(browser, server, "/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.address(f"{server.run('markdown')}/row/1"), wait_until="networkidle")
    drawn = page.locator(".rendered").last
    assert drawn.locator("strong").inner_text() == "Thirty"
    assert drawn.locator("ol li").count() == 2
    assert drawn.locator("td").all_inner_texts() == ["shoes", "30"]
    assert "<script>" in drawn.locator("pre").inner_text()
    assert drawn.locator("a, img, script, [style], [onerror]").count() == 0
    assert "[the rules](javascript:" in drawn.inner_text()
    assert page.title() != "taken"
    assert not [one for one in asked if ":9/" in one]
    page.get_by_role("button", name="Raw text").click()
    assert page.locator(".source").last.inner_text().startswith("# Returns")
    assert not drawn.is_visible()
    page.context.close()


def test_rows_are_walked_by_keys_and_the_way_back_is_short(
    browser: Browser, server: Server
) -> None:
    page = at(browser, server, server.run("dates"))
    before = page.evaluate("history.length")
    for _ in range(5):
        page.keyboard.press("j")
        page.wait_for_timeout(100)
    page.wait_for_selector("#row h2")
    assert page.evaluate("history.length") == before
    assert "row=" in page.url
    page.goto(server.address(f"{server.run('dates')}/row/2"))
    page.keyboard.press("j")
    page.wait_for_url("**/row/3?*")
    page.keyboard.press("k")
    page.wait_for_url("**/row/2?*")
    page.context.close()


def test_a_key_that_comes_before_htmx_is_heard(browser: Browser, server: Server) -> None:
    page = browser.new_context().new_page()
    page.goto(server.access.url)
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))"
    page.add_init_script(f"document.addEventListener('DOMContentLoaded', () => {press})")
    page.goto(server.address("/"))
    page.wait_for_selector("#names a")
    page.context.close()


def test_help_and_the_list_of_runs_open_by_a_key(
    browser: Browser, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = at(browser, server, "/")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    page.keyboard.press("/")
    page.wait_for_selector("#names a")
    scan = Library.scan

    def scan_slowly(library: Library) -> list[RunPlace]:
        time.sleep(0.4)
        return scan(library)

    with monkeypatch.context() as slow:
        slow.setattr(Library, "scan", scan_slowly)
        for key in ("d", "q", "Backspace"):
            page.keyboard.press(key)
            page.wait_for_timeout(180)
        page.wait_for_timeout(1_000)
        expect(page.locator("#names a")).to_have_text(["markdown", "dates"])
    page.keyboard.press("Backspace")
    page.keyboard.type("mark")
    expect(page.locator("#names a")).to_have_count(1)
    page.locator("#names a").click()
    page.wait_for_url("**/run/markdown-*")
    page.get_by_role("link", name="Dark").click()
    page.wait_for_selector("html[data-theme=dark]")
    page.context.close()


def test_rows_are_reached_by_few_tabs(browser: Browser, server: Server) -> None:
    page = at(browser, server, server.run("dates"))
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[data-line]') !== null")
    page.context.close()


def test_a_draft_outlives_a_reload_a_wrong_button_and_two_saves(
    browser: Browser, tmp_path: Path
) -> None:
    with judging(), playground(tmp_path) as server:
        page = at(browser, server, "/playground")
        page.fill("[name=description]", "Is it a question of taste?")
        page.locator("#kind").select_option("pairwise")
        page.wait_for_selector("[name='option.name']", state="hidden")
        page.locator("#kind").select_option("direct")
        page.wait_for_selector("[name='option.name']:visible")
        assert page.locator("[name='option.name']").first.input_value() == "Concise"
        page.reload(wait_until="networkidle")
        page.wait_for_selector("#restored:visible")
        field, rows = page.locator("textarea[name=description]"), page.locator("[name='row.id']")
        expect(field).to_have_value("Is it a question of taste?")
        count = rows.count()
        page.locator("#add-row").click()
        expect(rows).to_have_count(count + 1)
        page.locator("#undo").click()
        expect(rows).to_have_count(count)
        for number in (1, 2):
            page.keyboard.press("Control+s")
            page.wait_for_selector(f"#said :text('Saved as version {number}')")
        page.context.close()


def test_results_outlive_a_reload_and_a_version_says_what_it_agreed_with(
    browser: Browser, tmp_path: Path
) -> None:
    rows = [("built in 1889", "Yes"), ("no date", "No"), ("long ago", "Yes")]
    with judging(), playground(tmp_path) as server:
        sent(server, "/playground/save", [*direct(rows, ("model", MODEL)), ("save_as", "years")])
        page = at(browser, server, "/playground?case=years")
        page.locator("button.main").click()
        page.wait_for_selector("#trial :text('3 of 3 judged')")
        verdicts = page.locator(".got .verdict").all_inner_texts()
        assert [one.split()[0] for one in verdicts] == ["✓", "✓", "✗"]
        page.reload(wait_until="networkidle")
        expect(page.locator(".got .verdict")).to_have_text(verdicts)
        assert page.locator("#restored").is_hidden()
        page.keyboard.press("Control+s")
        page.wait_for_selector("#said :text('Saved as version 2')")
        page.goto(server.address("/playground/case/years"))
        assert page.locator(".timeline .outcome").all_inner_texts() == ["2 of 3 as expected"]
        page.context.close()


def test_a_server_that_was_started_again_is_told_on_the_page_that_stayed_open(
    browser: Browser, tmp_path: Path
) -> None:
    judged(tmp_path / "one", ["text", "other"], lambda _: "FAIL")
    with served(tmp_path) as first:
        page = at(browser, first, first.run("one"))
        page.route("**/row/*", lambda route: route.fulfill(status=403, body="no"))
        page.locator("[data-line] a").first.click()
        page.wait_for_selector("#stale:visible")
        page.context.close()


def test_keys_pressed_while_the_next_row_loads_hit_no_row(browser: Browser, server: Server) -> None:
    """Ten keys at once give one label; as many undos as labels lead back to the first row."""
    page = at(browser, server, f"{server.run('again')}/label?annotator=hasty")
    row, progress = page.locator("#work h2"), page.locator("#head > p").first
    shown = row.inner_text()
    page.evaluate(
        "for (let i = 0; i < 10; i++) document.body.dispatchEvent("
        "new KeyboardEvent('keydown', {key: '1', bubbles: true}))"
    )
    expect(row).not_to_have_text(shown)
    page.wait_for_timeout(400)
    expect(progress).to_contain_text("1 of")
    for _ in range(3):
        before = row.inner_text()
        page.wait_for_timeout(200)
        page.keyboard.press("1")
        expect(row).not_to_have_text(before)
    expect(progress).to_contain_text("4 of")
    for left in (3, 2, 1, 0):
        page.keyboard.press("u")
        expect(progress).to_contain_text(f"{left} of")
    assert row.inner_text() == shown
    page.context.close()


def test_rows_are_fetched_ahead_and_the_last_key_decides(browser: Browser, server: Server) -> None:
    """By key from row to row, with answers that come late: what is chosen is what is shown."""
    asked = []
    page = at(browser, server, f"{server.run('dates')}?sort=row&row=1")
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_load_state("networkidle")
    page.keyboard.press("j")
    expect(page.locator("#row h2")).to_have_text("Row 2 · r1")
    for row, ending in (("/row/2?", "&seen=1"), ("/row/3?", "&ahead=1")):
        while not [one for one in asked if row in one and one.endswith(ending)]:
            page.wait_for_timeout(20)
    assert not [one for one in asked if one.endswith("/row/2?judge=AspectCritic&part=1")]
    for _ in range(7):
        page.keyboard.press("j")
    expect(page.locator("#row h2")).to_have_text("Row 9 · r8")
    page.wait_for_load_state("networkidle")
    expect(page.locator("#row h2")).to_have_text("Row 9 · r8")
    assert "row=9" in page.url
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator("[data-ticked] b")).to_have_text("2")
    page.get_by_role("button", name="Show only these").click()
    page.wait_for_url("**rows=8-9*")
    assert page.locator("[data-line]").count() == 2
    page.goto(server.address(f"{server.run('dates')}/row/5"))
    page.wait_for_load_state("networkidle")
    for key in "jjkjj":
        page.keyboard.press(key)
    expect(page.locator(".single h2")).to_have_text("Row 8 · r7")
    expect(page).to_have_title("dates, r7")
    assert "/row/8?" in page.url
    page.context.close()


def test_the_figures_of_a_large_run_arrive_behind_its_page(
    browser: Browser, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.library.SLOW", 0)
    a, b = (server.run(name).removeprefix("/run/") for name in ("dates", "markdown"))
    page = at(browser, server, f"/compare?a={a}&b={b}")
    page.wait_for_selector("#main h1 a")
    assert page.locator("#waiting").count() == 0
    assert "wait" not in page.url
    page.keyboard.press("Control+k")
    assert page.locator("#switch[open]").count() == 1
    page.context.close()


def test_rows_that_were_ticked_are_counted_after_a_way_back(
    browser: Browser, server: Server
) -> None:
    run = server.run("dates")
    page = at(browser, server, run)
    for box in page.locator("[data-line] input").all()[:2]:
        box.check()
    page.goto(server.address(f"{run}/trust"))
    page.go_back()
    page.wait_for_function("document.querySelectorAll('[data-line] input:checked').length === 2")
    assert page.locator("[data-ticked]").inner_text().endswith("2")


def test_a_bad_row_is_found_and_understood_and_two_runs_are_compared_by_keys_alone(
    browser: Browser, server: Server
) -> None:
    page = at(browser, server, server.run("dates"))
    focused = page.locator(":focus")
    page.keyboard.press("j")
    page.wait_for_selector("#row .vote")
    page.keyboard.press("Enter")
    expect(page.locator("#row")).to_be_focused()
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused.evaluate("one => one.matches('.vote > summary')"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("#row .vote[open]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("[data-line].chosen a")).to_be_focused()

    page.goto(server.address("/"), wait_until="networkidle")
    ticked = 0
    for _ in range(40):
        page.keyboard.press("Tab")
        assert focused.evaluate("one => getComputedStyle(one).outlineStyle") != "none"
        name = focused.evaluate("one => one.closest('tbody')?.innerText ?? one.innerText")
        if focused.evaluate("one => one.name") == "runs" and "AspectCritic" in name and ticked < 2:
            page.keyboard.press("Space")
            ticked += 1
        elif "Compare the ticked runs" in name:
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?**")
    assert page.locator("h1").inner_text().startswith("A:")
    page.context.close()
