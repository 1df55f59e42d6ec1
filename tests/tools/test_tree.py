"""The page with the tree says what the packages say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tree_in_the_docs_is_in_step() -> None:
    command = [sys.executable, str(ROOT / "tools" / "tree.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0, "run: python tools/tree.py"


def test_the_tree_fits_on_one_screen() -> None:
    page = (ROOT / "docs" / "design" / "tree.md").read_text(encoding="utf-8")
    tree = page.partition("```text\n")[2].partition("```")[0].splitlines()
    assert len(tree) <= 56
    assert max(map(len, tree)) <= 160
