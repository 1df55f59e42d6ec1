"""``adjudge view`` in a real browser: no complaints, nothing loaded from elsewhere, working keys,
nothing serious by axe.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.features.bench.benchmark import FACT
from adjudge.features.rag import RagEvaluator
from adjudge.trust.labels.store import LabelStore
from adjudge.web.opener import opener
from support.agent_runs import agent_run
from support.browser import needs_browser
from support.fake_provider import KEY, FakeProvider
from support.labels import compared, judged, judged_by_two, label, model
from support.page import Page as Server
from support.page import served
from support.rag import EXAMPLE, varied
from support.trust import labelled, labels_of, population, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

SCREENS = Path(os.environ["ADJUDGE_SCREENSHOTS"]) if "ADJUDGE_SCREENSHOTS" in os.environ else None
VENDOR = Path(__file__).parent / "vendor"
ROWS = population(120)
HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"><a "
    "hx-get=/x hx-trigger=load>"
)
PAGES = {
    "runs": "/",
    "run": "{dates}",
    "row_beside": "{dates}?row=3",
    "row": "{dates}/row/8",
    "label_begin": "{dates}/label",
    "label": "{dates}/label?annotator=ann",
    "label_pair": "{pairs}/label?annotator=ann",
    "compare": "/compare?a={dates_id}&b={again_id}&tab=changed",
    "several": "{two}?row=8",
    "expression": "{dates}?where=verdict+%3D+fail+and+not+labelled&sort=-agreement",
    "several_runs": "/compare?runs={dates_id}&runs={again_id}&runs={two_id}",
    "row_of_two": "/compare/row?cell={dates_id}:8:AspectCritic&cell={again_id}:8:AspectCritic",
    "rag": "{rag}?row=5",
    "rag_row": "{rag}/row/5",
    "agents": "{agents}?row=3",
    "steps": "{agents}/row/3/steps",
    "pictures": "{dates}/pictures",
    "conflicts": "{two}/label?annotator=cleo&queue=conflicts&criteria=kind",
    "listed": "{dates}/label?queue=listed&rows=3,8&judge=AspectCritic",
    "trust": "{dates}/trust",
    "watch": "{dates}/watch",
    "start": "/start?data=rows.csv",
    "benchmarks": "/benchmarks",
    "benchmark": "/benchmarks/{dates_id}?judge=AspectCritic&criteria=dates",
    "criteria": "/criteria",
    "criterion": "/criteria/conciseness",
    "playground": "/playground",
    "playground_pairs": "/playground?run={pairs_id}&row=1&judge=PairwiseJudge",
    "playground_hostile": "/playground?run={hostile_id}&row=1&judge=AspectCritic",
    "own_criteria": "/criteria-file?name=own.yaml",
    "copy": "/copy?run={dates_id}",
    "row_more": "{dates}/row/8/more?judge=AspectCritic",
    "error": "/run/nothing",
    "hostile": "{hostile}?row=1",
}
RUNS = ("dates", "again", "pairs", "hostile", "two", "rag", "agents")
HIDDEN_SIDEWAYS = """[...document.querySelectorAll(".scroll")]
    .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.ariaLabel)"""
"""Tables of which a part is seen only by moving them sideways."""
Scheme = Literal["light", "dark"]
LOOKS: list[tuple[int, Scheme, str]] = [
    (1280, "light", "en"),
    (390, "dark", "ru"),
    (2560, "light", "ru"),
]
"""Widths, themes and languages; with $ADJUDGE_SCREENSHOTS all of them."""
if SCREENS:
    LOOKS = list(product((390, 1280, 2560), get_args(Scheme), ("en", "ru")))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS, failed=lambda text: text.startswith("row 7 "))
    for annotator, count in (("bob", 60), ("dan", 30)):
        labelled(root / "dates", labels_of(ROWS[:count], annotator=annotator))
    run_of(root / "again", ROWS[:100], failed=lambda text: text.startswith(("row 7 ", "row 9 ")))
    compared(root / "pairs", [(f"first {number}", f"second {number}") for number in range(3)])
    judged_by_two(root / "two")
    RagEvaluator(varied()).evaluate(
        RagEvaluator(varied()).rows(EXAMPLE).instances, run=root / "rag"
    )
    agent_run(root / "agents", (9, 12))
    said = {"criteria": "kind", "note": "see “text”", "design": "chosen"}
    both = (("ann", "Yes"), ("bob", "No"))
    labelled(
        root / "two", [label("text 3 .", option, annotator=who, **said) for who, option in both]
    )
    rows = [Instance({"response": HOSTILE, HOSTILE: HOSTILE}, HOSTILE)]
    AspectCritic(HOSTILE, model(lambda _: HOSTILE), name=HOSTILE).evaluate(
        rows, run=root / "hostile"
    )
    with connect(root / "dates" / FILE) as ledger:
        write_meta(ledger, {FACT: {"data": "dates.csv", "rows": 60, "notes": []}})
    golden = [{"fields": {"response": "On 3 May."}, "option": "Yes", "explanation": "It is one."}]
    own = {
        "name": "date",
        "description": "Is there a date?",
        "options": ["Yes", "yes!"],
        "golden": golden,
    }
    (root / "own.yaml").write_text(json.dumps(own, indent=1))
    (root / "rows.csv").write_text(
        "id,answer\n1,a text\n2,<script>document.title='taken'</script>\n"
    )
    with served(root, home=root) as found:
        yield found


@pytest.fixture
def troubles() -> list[str]:
    """What the page complains of, and what it loads from elsewhere."""
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
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(server.access.url)
    if language != "en":
        page.goto(server.address(f"/language?set={language}"))
    own = f"http://127.0.0.1:{server.access.port}/"
    page.on(
        "console",
        lambda message: troubles.append(message.text) if "404" not in message.text else None,
    )
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: (
            troubles.append(request.url) if not request.url.startswith((own, "data:,")) else None
        ),
    )
    page.goto(server.address(address(server, path)))
    return page


def address(server: Server, path: str) -> str:
    runs = {name: server.run(name) for name in RUNS}
    return path.format(
        **runs, **{f"{name}_id": run.removeprefix("/run/") for name, run in runs.items()}
    )


def test_axe_is_what_was_published() -> None:
    lines = (line.split() for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    assert all(
        hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == value for value, name in lines
    )


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme", "language"), LOOKS)
def test_every_page_opens_without_a_word_and_fits(
    browser: Browser,
    server: Server,
    troubles: list[str],
    name: str,
    width: int,
    scheme: Scheme,
    language: str,
) -> None:
    page = opened(browser, server, troubles, PAGES[name], width, scheme, language)
    if SCREENS:
        page.screenshot(path=SCREENS / f"view_{name}_{width}_{scheme}_{language}.png")
    assert troubles == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert width > 390 or page.evaluate(HIDDEN_SIDEWAYS) == []
    assert page.title() != "taken"
    page.context.close()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    browser: Browser, server: Server, troubles: list[str], name: str, scheme: Scheme
) -> None:
    page = opened(browser, server, troubles, PAGES[name], scheme=scheme)
    assert serious_by_axe(page) == []
    page.context.close()


def serious_by_axe(page: Page) -> list[tuple[str, str]]:
    page.evaluate((VENDOR / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [
        (one["id"], one["nodes"][0]["html"])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("name", ["run", "rag", "trust", "compare", "several_runs", "benchmarks"])
def test_at_twice_the_size_nothing_leaves_the_page(
    browser: Browser, server: Server, troubles: list[str], name: str
) -> None:
    page = opened(browser, server, troubles, PAGES[name], width=640)
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    shot(page, f"{name}_twice")
    page.context.close()


def test_the_list_of_runs_fits_a_narrow_window(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, "/", width=1000, language="ru")
    assert page.evaluate(HIDDEN_SIDEWAYS) == []
    page.context.close()


def test_empty_folder_and_dialogs_are_read_by_all(
    browser: Browser, troubles: list[str], tmp_path: Path
) -> None:
    with served(tmp_path, home=tmp_path) as own:
        for path in ("/start", "/benchmarks", "/"):
            page = opened_at(browser, own, troubles, path)
            assert serious_by_axe(page) == []
            shot(page, f"empty{path.replace('/', '_')}")
        for key, dialog in (("?", "#help"), ("/", "#switch")):
            page.keyboard.press(key)
            page.wait_for_selector(f"{dialog}[open]")
            assert serious_by_axe(page) == []
            shot(page, dialog[1:])
            page.keyboard.press("Escape")
    assert troubles == []


def test_j_and_k_move_and_the_page_never_reloads(
    browser: Browser, server: Server, troubles: list[str]
) -> None:
    page = opened(browser, server, troubles, "{dates}?sort=row")
    page.evaluate("window.stayed = true")
    for key, row in (("j", 1), ("j", 2), ("j", 3), ("k", 2)):
        page.keyboard.press(key)
        page.wait_for_selector(f"#row h2:has-text('r{row - 1}')")
        assert f"row={row}" in page.url
    assert page.evaluate("window.stayed")
    page.reload()
    assert page.locator("#row h2").inner_text() == "Row 2 · r1"
    page.keyboard.press("n")
    page.wait_for_url("**after=*")
    assert page.locator("[data-line] a").first.inner_text() == "r50"
    assert troubles == []


def test_rows_are_labelled_by_keys_alone(
    browser: Browser, server: Server, troubles: list[str], tmp_path: Path
) -> None:
    judged(tmp_path / "keys", [f"text {number}" for number in range(5)], lambda _: "PASS")
    with served(tmp_path) as own:
        page = opened_at(browser, own, troubles, f"{own.run('keys')}/label?annotator=ann")
        store, titles = LabelStore(tmp_path / "keys"), []
        for number, key in enumerate(("1", "2", "?"), 1):
            titles.append(page.locator("#work h2").inner_text())
            page.keyboard.press(key)
            page.wait_for_selector(f"#work :text('{number} of 5 labelled')")
            page.wait_for_timeout(200)  # nobody reads a row faster, and keys do nothing until then
        assert len(set(titles)) == 3
        assert sorted((label.option or "", label.state) for label in store.current()) == [
            ("", "unsure"),
            ("FAIL", "given"),
            ("PASS", "given"),
        ]
        page.keyboard.press("u")
        page.wait_for_selector("#work :text('2 of 5 labelled')")
        assert page.locator("#work h2").inner_text() == titles[2]
        page.keyboard.press("n")
        page.keyboard.type("1 and 2 are typed here")
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        page.wait_for_selector("#work :text('3 of 5 labelled')")
        page.wait_for_timeout(200)
        assert [label.note for label in store.current() if label.note] == ["1 and 2 are typed here"]
        page.keyboard.press("Space")
        page.wait_for_selector("#work :text('Skipped')")
    assert troubles == []


def test_keys_work_on_a_russian_layout_and_press_what_has_the_focus(
    browser: Browser, troubles: list[str], tmp_path: Path
) -> None:
    compared(tmp_path / "pairs", [(f"first {number}", f"second {number}") for number in range(5)])
    with served(tmp_path) as own:
        page = opened_at(browser, own, troubles, f"{own.run('pairs')}/label?annotator=ann")
        store = LabelStore(tmp_path / "pairs")
        page.keyboard.press("t")
        page.wait_for_selector("#work :text('1 of 5 labelled')")
        assert [label.winner for label in store.current()] == ["tie"]
        page.evaluate(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'г', code: "
            "'KeyU', bubbles: true}))"
        )
        page.wait_for_selector("#work :text('0 of 5 labelled')")
        page.locator("button[data-key='2']").focus()
        page.keyboard.press("Space")
        page.wait_for_selector("#work :text('1 of 5 labelled')")
        assert [label.state for label in store.current()] == ["given"]
        page.wait_for_timeout(200)
        page.locator("button[data-key='1']").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#work :text('2 of 5 labelled')")
        assert page.locator("#revealed *").count() == 0
    assert troubles == []


def test_a_run_is_started_watched_stopped_and_resumed(
    browser: Browser, troubles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.csv").write_text(
        "id,answer\n" + "".join(f"r{n},REC-{n:05}-Y\n" for n in range(20))
    )
    (tmp_path / "adjudge.toml").write_text("max_concurrency = 2\n")
    with (
        FakeProvider() as provider,
        served(tmp_path, home=tmp_path, models=["openai/gpt-4o-mini"]) as own,
    ):
        provider.latency = 1.0  # long enough to be stopped on a busy machine
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
        page = opened_at(browser, own, troubles, "/start")
        page.get_by_role("link", name="rows.csv").click()
        page.get_by_label("Find a ready-made criterion").type("needless words")
        assert page.locator("#ready label:visible").count() == 1
        # the cost comes by itself: five clicks from the list of runs to the run
        page.get_by_label("A question of your own").fill("Is it short?")
        page.get_by_label("Each mean must be at least").fill("0.9")
        page.wait_for_selector("#estimate .strip")
        assert page.get_by_role("button", name="Estimate the cost").is_hidden()
        assert serious_by_axe(page) == []
        shot(page, "estimate")
        page.get_by_label("Name of the run").fill("from the page")
        page.get_by_role("button", name="Start the run").click()
        page.wait_for_selector("#said :text('is not a valid run name')")
        assert troubles.pop().startswith("Failed to load resource")
        page.get_by_label("Name of the run").fill("tried")
        page.get_by_role("button", name="Start the run").click()
        page.wait_for_url("**/jobs/*")
        page.wait_for_selector("#job :text-matches('[1-9] of 20 judgments')")
        shot(page, "job")
        assert serious_by_axe(page) == []
        page.get_by_role("button", name="Stop").click()
        page.wait_for_selector("#job :text('can be resumed')")
        shot(page, "job_stopped")
        provider.latency = 0
        page.get_by_role("button", name="Resume").click()
        page.wait_for_selector("#job :text('Finished.')")
        page.wait_for_selector("#job-figures .gate")
        assert serious_by_axe(page) == []
        assert len(provider.requests) == 20
        page.get_by_role("link", name="Look at the rows").click()
        assert page.locator("[data-line]").count() == 20
    assert troubles == []


def test_what_is_being_written_moves_by_itself(
    browser: Browser, troubles: list[str], tmp_path: Path
) -> None:
    judged(tmp_path / "runs" / "growing", ["one", "two"], lambda _: "PASS")
    with connect(tmp_path / "runs" / "growing" / FILE) as ledger:
        write_meta(ledger, {"ended": None})
    with served(tmp_path / "runs") as own:
        page = opened_at(browser, own, troubles, own.run("growing"))
        page.wait_for_selector("#figures :text('being written')")
        second = browser.new_page()
        second.goto(own.access.url)
        second.wait_for_selector("#runs :text('being written')")
        judged(tmp_path / "runs" / "growing", ["one", "two", "three"], lambda _: "PASS")
        page.wait_for_selector("#figures dd:has-text('3 / 3')")
        second.wait_for_selector("#runs :text('complete')")
        second.close()
    assert troubles == []


def test_an_own_file_of_criteria_is_linted_while_it_is_edited(
    browser: Browser, troubles: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "tone.yaml"
    file.write_text("name: tone\ndescription: Is it kind?\noptions: ['Yes', 'No']\n")
    with served(tmp_path, home=tmp_path) as own:
        page = opened_at(browser, own, troubles, "/criteria")
        page.get_by_role("link", name="tone.yaml").click()
        page.wait_for_selector("#own :text('The linter found no problems.')")
        file.write_text("name: tone\ndescription: Is it kind?\noptions: ['Yes', 'yes!']\n")
        page.wait_for_selector("#own :text('differ only in case')")
    assert troubles == []


def test_a_server_that_does_not_answer_is_told(
    browser: Browser, troubles: list[str], tmp_path: Path
) -> None:
    judged(tmp_path / "one", ["text", "other"], lambda _: "FAIL")
    with served(tmp_path) as own:
        page = opened_at(browser, own, troubles, f"{own.run('one')}/label?annotator=ann")
        page.context.set_offline(True)
        page.keyboard.press("1")
        page.wait_for_selector("#unheard:visible")
        page.context.set_offline(False)
        page.wait_for_timeout(300)  # a key within 0.15 s of a row that comes back does nothing
        page.keyboard.press("1")
        page.wait_for_selector("#work :text('1 of 2 labelled')")
        assert not page.locator("#unheard").is_visible()


def test_the_verdict_is_revealed_by_a_key_after_the_label(
    browser: Browser, troubles: list[str], tmp_path: Path
) -> None:
    judged(tmp_path / "one", ["text"], lambda _: "FAIL")
    with served(tmp_path) as own:
        page = opened_at(browser, own, troubles, f"{own.run('one')}/label?annotator=ann")
        page.keyboard.press("1")
        page.wait_for_selector("#work :text('What did the judge say')")
        page.keyboard.press("Enter")
        page.wait_for_selector("#revealed :text('FAIL')")
        assert serious_by_axe(page) == []
        shot(page, "revealed")
    assert troubles == []


def shot(page: Page, name: str) -> None:
    if SCREENS:
        page.screenshot(path=SCREENS / f"view_{name}.png")


def opened_at(browser: Browser, server: Server, troubles: list[str], path: str) -> Page:
    page = browser.new_page()
    page.goto(server.access.url)
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(
        server.address(path), wait_until="networkidle"
    )  # a key is lost before buttons are ready
    return page


def test_reading_works_without_scripts(browser: Browser, server: Server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server.access.url)
    page.get_by_role("link", name="dates").click()
    page.get_by_role("link", name="r7", exact=True).click()
    assert page.locator("#row .vote").count() == 1
    page.get_by_role("link", name="Next page").click()
    assert page.locator("[data-line]").count() == 50


def test_a_page_of_somebody_else_can_neither_read_nor_change_anything(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    stranger = tmp_path / "stranger.html"
    run = f"http://127.0.0.1:{server.access.port}{server.run('dates')}"
    stranger.write_text(
        f"<iframe src='{run}'></iframe><form id=f method=post "
        f"action='{run}/label?annotator=x'></form>",
        "utf-8",
    )
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.access.url)
    page.goto(stranger.as_uri())
    assert (
        page.evaluate(
            f"fetch('{run}', {{credentials: 'include'}}).then(() => 'read', () => 'refused')"
        )
        == "refused"
    )
    page.evaluate("document.querySelector('#f').submit()")
    page.wait_for_url("**/label*")
    assert "only the page itself" in page.content()


class _Listener(http.server.BaseHTTPRequestHandler):
    """Somebody else's server on this machine, who looks at what browsers send."""

    heard: list[str]

    def do_GET(self) -> None:
        self.heard.append(
            f"{self.path} {self.headers.get('cookie', '')} {self.headers.get('referer', '')}"
        )
        self.send_response(200)
        self.send_header("Set-Cookie", "odd[name]=x; Path=/")
        self.end_headers()
        self.wfile.write(b"<h1>another server</h1>")

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_server_on_another_port_is_sent_nothing_that_opens_the_page(
    browser: Browser, server: Server
) -> None:
    heard: list[str] = []
    listener = type("_Here", (_Listener,), {"heard": heard})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), listener) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        page = browser.new_context().new_page()
        page.goto(server.access.url)
        page.goto(f"http://127.0.0.1:{other.server_port}/anything")
        page.goto(server.address("/"))
        assert page.locator("h1").count() == 1, "a cookie of the other server locked the user out"
        page.evaluate(f"location.href = 'http://127.0.0.1:{other.server_port}/linked'")
        page.wait_for_url("**/linked")
        other.shutdown()
    sent = " ".join(heard)
    assert "/anything" in sent and "/linked" in sent
    secrets = (
        server.access.token,
        server.access.session,
        server.access.form_token,
        server.access.place,
    )
    assert not [one for one in secrets if one in sent]


def test_an_address_without_the_place_finds_its_way_in_a_browser_that_was_let_in(
    browser: Browser, server: Server
) -> None:
    run, page = server.run("dates"), browser.new_context().new_page()
    own = f"http://127.0.0.1:{server.access.port}"
    page.goto(f"{own}{run}?row=3")
    assert "open the address that adjudge view printed" in page.content()
    page.goto(server.access.url)
    for earlier in ("", f"/{'0' * 32}"):
        page.goto(f"{own}{earlier}{run}?row=3#row")
        page.wait_for_url(server.address(f"{run}?row=3#row"))
        assert page.locator("#row .vote").count() == 1


def test_the_file_that_opens_the_browser_leads_to_the_page(
    browser: Browser, server: Server
) -> None:
    with opener(server.access.url) as file:
        assert file.stat().st_mode & 0o077 == 0
        page = browser.new_context().new_page()
        page.goto(file.as_uri())
        page.wait_for_url(server.address("/"))
        assert page.get_by_role("link", name="dates").count() == 1
    assert not file.exists()
