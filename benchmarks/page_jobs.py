"""The jobs that people come to the page with: how many clicks they take, and how many seconds.

    python benchmarks/page_jobs.py [--language en] [--rounds 3]

Judges runs with scripted models in a temporary folder, serves it, and does each job in Chromium
(or its path in $CHROMIUM) as a person would, one click after another: a choice in a select and a
tick count as clicks, keys do not. Seconds, the median of the rounds, are those of the page, without
reading. Needs playwright; "make test-browser" brings it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fake_provider import KEY, FakeProvider
from support.page import Page, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api import Page as Tab

QUESTIONS = 300
PAIRS = 60
LABELS = 30
CHANNELS = ("app", "web")
CODE = """
import re

def _answer(question, passes):
    number = int(re.search(r"order (\\d+)", question)[1])
    mark = "Y" if number % EVERY and passes(number) else "N"
    return f"REC-{number:05}-{mark} is our answer."

def old(question):
    return _answer(question, lambda number: True)

def new(question):
    return _answer(question, lambda number: "refund" not in question or number % 2)
"""
EVAL = """
data: questions.csv
target: [{{name: old, function: "{name}.py:old"}}, {{name: new, function: "{name}.py:new"}}]
models: openai/gpt-4o-mini
judges: [{{kind: aspect, name: helps, criteria: It says how., fail_under: 0.9}}]
run: runs/{name}
"""
EVAL_OF_PAIRS = """
data: {path: pairs.csv, responses: [first, second]}
models: openai/gpt-4o-mini
judges: [{kind: pairwise, name: clear, criteria: "Which is clearer?"}]
run: runs/pairs
"""
REPLIES = {7: "no idea", 9: json.dumps({"explanation": "so", "selected_option": "Perhaps"})}
"""Unreadable replies about two of fifty orders."""


def reply_to(body: object) -> str | None:
    """The reply to a request; None: the verdict that the marked answer asks for."""
    text = json.dumps(body)
    if "REC-" not in text:
        return json.dumps({"explanation": "Both are clear.", "selected_option": "A"})
    return REPLIES.get(int(text.split("REC-")[-1][:5]) % 50)


def make(home: Path) -> None:
    """Judge two runs of two systems, and one of pairs, and write a file that nobody judged."""
    kinds = ("refund", "delivery", "size")
    questions = (
        (f"q{n}", f"How do I ask about order {n} ({kinds[n % 3]})?", kinds[n % 3], CHANNELS[n % 2])
        for n in range(QUESTIONS)
    )
    rows = "".join(f"{','.join(row)}\n" for row in questions)
    (home / "questions.csv").write_text(f"id,question,category,channel\n{rows}")
    pairs = "".join(f"p{n},Open at {n}.,We open at {n}.\n" for n in range(PAIRS))
    (home / "pairs.csv").write_text(f"id,first,second\n{pairs}")
    answers = "".join(f"r{n},REC-{n:05}-Y is fine\n" for n in range(40))
    (home / "rows.csv").write_text(f"id,answer\n{answers}")
    (home / "pairs.yaml").write_text(EVAL_OF_PAIRS)
    for name, every in (("before", 20), ("after", 4)):
        (home / f"{name}.py").write_text(CODE.replace("EVERY", str(every)))
        (home / f"{name}.yaml").write_text(EVAL.format(name=name))
    for name in ("before", "after", "pairs"):
        command = [sys.executable, "-m", "adjudge", "run", f"{name}.yaml", "--trust", "--yes"]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
        if not (home / "runs" / name).exists():
            sys.exit(f"{name}: {done.stdout}{done.stderr}")


@dataclass
class Hand:
    """Clicks on a page, and counts."""

    tab: Tab
    page: Page
    clicks: int = 0

    def click(self, at: Locator) -> None:
        at.click()
        self.clicks += 1

    def choose(self, at: Locator, option: str) -> None:
        at.select_option(option)
        self.clicks += 1

    def open_run(self, name: str) -> None:
        self.click(self.tab.locator("#runs").get_by_role("link", name=name, exact=True))


def why_the_gate_failed(hand: Hand) -> None:
    hand.open_run("after")
    hand.click(hand.tab.locator("#gates a[href*='where=']").first)
    hand.tab.wait_for_url("**where=**")
    hand.tab.locator("[data-line]").first.wait_for()


def what_changed_rows_share(hand: Hand) -> None:
    for name in ("before", "after"):
        row = hand.tab.locator(
            "#runs tbody", has=hand.tab.get_by_role("link", name=name, exact=True)
        )
        hand.click(row.locator("input[name=runs]"))
    hand.click(hand.tab.locator(".ticked-bar button.main"))
    hand.tab.locator("#slices tbody tr").first.wait_for()


def which_system_where(hand: Hand) -> None:
    hand.open_run("after")
    hand.click(hand.tab.locator(".more-pictures > summary"))
    hand.choose(hand.tab.locator("#pictures select[name=by]"), "category")
    hand.tab.locator("#pictures :text('refund')").first.wait_for()


def ask_failures_again(hand: Hand) -> None:
    hand.tab.goto(hand.page.address(hand.page.run("after")))
    hand.click(hand.tab.locator(".failures > summary"))
    hand.click(hand.tab.locator(".failures .again button.main").first)
    hand.tab.wait_for_url("**/jobs/*")


def start_with_a_gate(hand: Hand) -> None:
    hand.click(hand.tab.locator("nav a[href$='/start']").first)
    hand.click(hand.tab.locator("main a[href*='data=rows.csv']").first)
    hand.tab.keyboard.type("Is it short?")
    hand.click(hand.tab.locator("input[name=bar]"))
    hand.tab.keyboard.type("0.8")
    hand.click(hand.tab.locator("#estimate button[hx-post]"))
    hand.tab.wait_for_url("**/jobs/*")


def label_on_a_phone(hand: Hand) -> None:
    annotator = f"annotator=eve{time.monotonic_ns()}"
    hand.tab.goto(hand.page.address(f"{hand.page.run('pairs')}/label?{annotator}"))
    for number in range(1, LABELS + 1):
        button = hand.tab.locator("button[data-key='1']")
        box = button.bounding_box()
        if not box or box["y"] + box["height"] > hand.tab.viewport_size["height"]:
            sys.exit(f"answer {number} is outside the window")
        hand.click(button)
        hand.tab.wait_for_selector(f"#work :text('{number} of')")


JOBS: dict[str, Callable[[Hand], None]] = {
    "start a run with a gate from a CSV": start_with_a_gate,
    "why did the gate fail": why_the_gate_failed,
    "which system is worse in which category": which_system_where,
    "what the changed rows have in common": what_changed_rows_share,
    "group failures, ask one group again": ask_failures_again,
    f"label {LABELS} pairs on a phone": label_on_a_phone,
}


@contextmanager
def hand_at(browser: Browser, page: Page, language: str, *, on_phone: bool) -> Iterator[Hand]:
    width, height = (390, 844) if on_phone else (1280, 800)
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=on_phone, is_mobile=on_phone
    )
    origin = f"http://127.0.0.1:{page.access.port}"
    cookies = {page.access.cookie: page.access.session, "adjudge_language": language}
    context.add_cookies(
        [{"name": name, "value": value, "url": origin} for name, value in cookies.items()]
    )
    tab = context.new_page()
    tab.goto(page.address("/"), wait_until="networkidle")
    yield Hand(tab, page)
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--language", default="en", choices=("en", "ru"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeProvider() as provider,
        sync_playwright() as playwright,
    ):
        home = Path(folder)
        os.environ |= {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": provider.base_url("openai"),
            "ADJUDGE_CACHE": str(home / ".cache"),
        }
        provider.answer = reply_to
        make(home)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with served(home / "runs", home=home, models=["openai/gpt-4o-mini"]) as page:
            print(f"{'job':42} {'clicks':>6} {'seconds':>7}   load {os.getloadavg()[0]:.0f}")
            for name, job in JOBS.items():
                seconds, clicks = [], set()
                for _ in range(options.rounds):
                    phone = "phone" in name
                    with hand_at(browser, page, options.language, on_phone=phone) as hand:
                        began = time.perf_counter()
                        job(hand)
                        seconds.append(time.perf_counter() - began)
                        clicks.add(hand.clicks)
                (count,) = clicks
                print(f"{name:42} {count:6} {statistics.median(seconds):7.1f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
