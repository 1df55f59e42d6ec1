"""The pictures in the documents: the page and the reports as they are, over runs of the embedded
model on the examples.

    python tools/pictures.py docs/pictures [FOLDER]

The runs are made in FOLDER, by default one that goes away; what it holds already is not judged
again. Needs the embedded model, playwright, and Chromium (or its path in $CHROMIUM). "make
pictures" brings the first two.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXAMPLES = Path(__file__).parent.parent / "examples"
MOST = 150_000
"""Bytes of a picture."""
COMMANDS = (
    "run examples/trust/eval.yaml --run runs/dates",
    (
        "label runs/dates --import examples/trust/labels.csv --criteria dates --annotator ann "
        "--annotator bob --design random"
    ),
    "compare --file examples/pairs.csv --column old --column new --criterion "
    "pairwise_helpfulness --check-positional-bias"
    " --run runs/pairs",
    "rag --csv examples/rag.csv --run runs/rag",
    "init rag --language ru",
    "run eval.yaml --run runs/rag-ru",
)
ROWS = "scrollTo(0, document.querySelector('table.rows').getBoundingClientRect().top - 150)"
"""Where the rows of a run begin."""
LINKS = "links => links.map(link => [link.textContent.trim(), link.getAttribute('href')])"


class Picture(NamedTuple):
    """What is shown, and how much of it."""

    name: str
    address: str
    height: int
    language: str = "en"


PAGES = (
    Picture("runs", "/", 420),
    Picture("run", "{dates}?row=19", 800),
    Picture("label", "{dates}/label?annotator=cleo", 560),
    Picture("trust", "{dates}/trust", 820),
    Picture("rag-ru", "{rag-ru}?row=6", 800, "ru"),
)
REPORT = Picture("report", "reports", 960)
DIMENSIONS = "scrollTo(0, document.querySelectorAll('h2')[1].getBoundingClientRect().top - 20)"
"""Where a report becomes interesting."""


def adjudge(line: str, folder: Path) -> None:
    """A command in a folder. Judgments without a verdict are part of the picture."""
    done = subprocess.run([sys.executable, "-m", "adjudge", *line.split()], cwd=folder, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"adjudge {line}: exit {done.returncode}")


@contextmanager
def viewing(folder: Path) -> Iterator[str]:
    """``adjudge view``: its address, with the token."""
    command = [sys.executable, "-u", "-m", "adjudge", "view", "runs", "--no-open"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield next(
                word for line in process.stdout for word in line.split() if word.startswith("http")
            )
        finally:
            process.terminate()


def shoot(browser: Browser, picture: Picture, addresses: list[str], out: Path) -> None:
    """Open the addresses one after another, and keep the last."""
    page = browser.new_page(
        viewport={"width": 1100, "height": picture.height}, color_scheme="light"
    )
    for address in addresses:
        page.goto(address)
    if picture is REPORT:
        page.evaluate(DIMENSIONS)
    elif "?row=" in picture.address:
        page.evaluate(ROWS)
    page.wait_for_timeout(500)
    page.screenshot(path=out / f"{picture.name}.png")
    page.close()
    size = (out / f"{picture.name}.png").stat().st_size
    print(f"{picture.name}.png: {size // 1000} kB")
    if size > MOST:
        sys.exit(f"{picture.name}.png has {size} bytes, more than {MOST}")


def shoot_pages(browser: Browser, folder: Path, out: Path) -> None:
    """Those of ``adjudge view``."""
    with viewing(folder) as first:
        page = browser.new_page()
        page.goto(first)
        page.wait_for_load_state("networkidle")
        home = page.url.rstrip("/")
        rows = page.locator("a[href*='/run/']").evaluate_all(
            "links => links.map(l => [l.textContent.trim(), l.href])"
        )
        found = {name: address.removeprefix(home) for name, address in rows}
        runs = {
            name: urlsplit(path).path
            for name, path in found.items()
            if "/" not in path.removeprefix("/run/")
        }
        page.close()
        for picture in PAGES:
            language = f"{home}/language?set={picture.language}"
            shoot(browser, picture, [first, language, home + picture.address.format(**runs)], out)


def main(out: Path, folder: Path) -> None:
    """All of them."""
    from playwright.sync_api import sync_playwright

    out.mkdir(exist_ok=True)
    chromium = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    shutil.copytree(EXAMPLES, folder / "examples", dirs_exist_ok=True)
    with sync_playwright() as playwright:
        for line in COMMANDS:
            adjudge(line, folder)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shoot_pages(browser, folder, out)
        shoot(browser, REPORT, [max((folder / REPORT.address).glob("*.html")).as_uri()], out)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else made))
