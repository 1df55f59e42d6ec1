"""The ratios that the page shows are those that were measured and kept, this version's among
them.
"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_ratios_that_were_kept() -> None:
    kept = json.loads((ROOT / "benchmarks" / "ratios.json").read_text())
    page = (ROOT / "docs" / "performance.md").read_text()
    table = page.partition("<!-- ratios -->\n")[2].partition("<!-- end -->")[0]
    head, _, *rows, aims = [line.strip("| ").split(" | ") for line in table.splitlines()]
    names = head[2:]
    shown = {version: dict(zip(names, cells, strict=True)) for version, _, *cells in rows}
    assert list(shown) == list(reversed(kept)) and aims[0] == "aim"
    for version, one in kept.items():
        for name in names:
            value = one["ratios"].get(name)
            assert shown[version][name] == ("cannot tell" if value is None else f"{value:.2f}")
