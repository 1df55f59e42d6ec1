"""The tool that shows the way of a judgment, and the page that describes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.walks import WALKS, show, walked  # noqa: E402 - not part of the package

PAGE = (ROOT / "docs" / "design" / "walks.md").read_text(encoding="utf-8")
COUNTS = {
    name: figures
    for name, *figures in re.findall(r"^\| (\w+) \| .+ \| (\d+) \| (\d+) \|$", PAGE, re.M)
}
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M))


@pytest.mark.parametrize("name", WALKS)
def test_the_walk_passes_every_stop_that_the_page_names(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = walked(WALKS[name](tmp_path))
    calls, modules = COUNTS[name]
    assert len(walk.steps) == pytest.approx(int(calls), rel=0.03), "write the new figures"
    assert len(walk.modules) == pytest.approx(int(modules), abs=2), "write the new figures"
    passed = {step for _, step in walk.steps}
    stops = re.findall(r"`([a-z_/]+:[\w.]+)`", SECTIONS[name])
    assert len(stops) > 4
    assert [stop for stop in stops if stop not in passed] == []
    show(name, walk, stations=True, chain=True)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"{name}: {len(walk.steps)} calls in {len(walk.modules)} modules"
    assert {line.strip().split("  ")[0] for line in lines if line} == passed, (
        "the chain holds every function once or more"
    )


def test_the_page_describes_the_five() -> None:
    assert list(SECTIONS) == list(WALKS)


def test_an_unknown_walk_is_named() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "walks.py"), "stroll"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2
    assert (
        "there is no walk 'stroll': there are judgment, pairwise, rag, candidate, run"
        in done.stderr
    )
