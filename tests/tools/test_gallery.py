"""The reports of the gallery are of today's examples, and as today's code writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.gallery import MADE, REPORTS, ROOT, report_of, without_time

GALLERY = ROOT / "docs" / "gallery"


def test_no_report_is_older_than_its_examples() -> None:
    made = json.loads((GALLERY / MADE).read_text(encoding="utf-8"))
    assert made == {one.name: one.hash for one in REPORTS}, "run: make gallery"
    assert {one.name for one in REPORTS} == {path.stem for path in GALLERY.glob("*.html")}


def test_the_report_that_needs_no_model_is_written_the_same_today() -> None:
    kept = (GALLERY / "agent.html").read_text(encoding="utf-8")
    assert without_time(report_of(REPORTS[0])) == without_time(kept), "run: make gallery"


def test_both_pages_show_all_of_them() -> None:
    for page in ("docs/gallery.md", "docs/ru/gallery.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(f"gallery/{one.name}.html" in text for one in REPORTS)
        assert all(one.command.partition(" -m ")[0] in text for one in REPORTS)
