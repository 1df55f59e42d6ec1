"""What an agent did, in a real browser: keys, further steps, the step of a fault, nothing that
runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.trust.labels.store import LabelStore
from support.agent_runs import agent_run
from support.browser import needs_browser
from support.page import Page as Server
from support.page import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("runs")
    agent_run(found / "agents", (9, 12, 120))
    return found


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with served(root) as found:
        yield found


def at(browser: Browser, server: Server, path: str, **how: Any) -> tuple[Page, list[str]]:
    page = browser.new_context(**how).new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(server.access.url)
    show(page, server.address(path))
    return page, said


def show(page: Page, address: str) -> None:
    """With its scripts, and with what they fetch. A network that is idle says neither: on a busy
    machine half a second may pass before a page asks for its scripts.
    """
    page.goto(address, wait_until="load")
    page.wait_for_function("!document.querySelector('[hx-trigger=load]')")


def test_keys_go_from_error_to_error_and_further_steps_come(
    browser: Browser, server: Server
) -> None:
    page, said = at(browser, server, f"{server.run('agents')}/row/11/steps")
    assert page.locator(".step").count() == 50
    page.keyboard.press("e")
    assert page.locator(".step.here").get_attribute("data-step") == "3"
    page.keyboard.press("c")
    assert page.locator(".step.here").get_attribute("data-step") == "5"
    page.locator("[data-more]").click()
    page.locator("#step-100").wait_for()
    page.locator("[data-more]").click()
    page.locator("#step-120").wait_for()
    assert page.locator(".step").count() == 120
    assert page.locator("[data-more]").count() == 0
    assert said == []
    page.context.close()


def test_evidence_leads_to_its_step_and_back(browser: Browser, server: Server) -> None:
    page, _ = at(browser, server, f"{server.run('agents')}/row/3")
    page.locator(".evidence a").first.click()
    assert page.url.endswith("#step-3")
    page.locator("#step-3 a.cited").first.click()
    assert page.url.endswith("#evidence-1")
    page.context.close()


def test_nothing_in_a_result_runs(browser: Browser, server: Server) -> None:
    page, said = at(browser, server, f"{server.run('agents')}/row/7")
    page.locator("#step-4 summary").click()
    assert "<script>" in page.locator("#step-4").inner_text()
    assert page.title() != "taken" and page.locator("#steps img").count() == 0 and said == []
    page.context.close()


def test_the_step_under_the_cursor_is_kept_with_the_label(
    browser: Browser, server: Server, root: Path
) -> None:
    page, said = at(browser, server, f"{server.run('agents')}/label?annotator=ann&criteria=goal")
    for key, step in (("j", 1), ("j", 2), ("k", 1), ("j", 2)):
        page.keyboard.press(key)
        page.locator(f"#step-{step}.here").wait_for()
    page.keyboard.press("f")
    assert page.locator("#fault-said b").inner_text() == "2"
    page.keyboard.press("f")
    assert page.locator("#fault-said").is_hidden()
    page.keyboard.press("e")
    page.keyboard.press("f")
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.keyboard.press("3")
    (label,) = LabelStore(root / "agents").current("goal")
    assert (label.option, label.step) == ("Not reached", 3)
    assert said == []
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280, 2560])
@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "ru")])
def test_every_page_fits_and_axe_finds_nothing_serious(
    browser: Browser, server: Server, width: int, theme: str, language: str
) -> None:
    run = server.run("agents")
    size = {"width": width, "height": 900}
    paths = {
        "row": f"{run}/row/3",
        "steps": f"{run}/row/11/steps",
        "step": f"{run}/row/7/step/4",
        "beside": f"{run}/row/3/beside?row2=7",
        "run": f"{run}?errors=yes&row=3",
        "label": f"{run}/label?annotator=bob&criteria=goal",
    }
    page, _ = at(browser, server, run, viewport=size, color_scheme=theme)
    page.goto(server.address(f"/language?set={language}&back=/"))
    for name, path in paths.items():
        show(page, server.address(path))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
        if folder := os.environ.get("ADJUDGE_SCREENSHOTS"):
            target = Path(folder) / f"steps-{name}-{width}-{theme}-{language}.png"
            page.screenshot(path=target, full_page=True)
        if width == 1280:
            page.evaluate(AXE)
            found = page.evaluate(
                "axe.run().then(found => found.violations.filter(one => "
                "['serious', 'critical'].includes(one.impact)).map(one => [one.id, "
                "one.nodes[0].html]))"
            )
            assert found == [], (name, theme)
    page.context.close()


def test_a_bar_of_the_axis_of_time_leads_to_its_step(browser: Browser, server: Server) -> None:
    path = f"{server.run('agents')}/row/3/steps"
    times = server.data(path)["steps"]["times"]
    page, said = at(browser, server, path)
    bars = page.locator(".lane a")
    told = [bar.get_attribute("aria-label") or "" for bar in bars.all()]
    assert sorted(told) == sorted(
        f"{'✗ ' if one['failed'] else ''}step {one['number']}, {one['what']}: "
        f"from {one['started']:.2f} s on, {one['seconds']:.2f} s"
        for one in times
    )
    page.locator(".lane a:has(.failed)").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**#step-3")
    assert said == []
    page.context.close()
