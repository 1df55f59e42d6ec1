"""The page that counts lines beside other tools counts them right, and ours are the fewest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "compared.md").read_text(encoding="utf-8")
TABLE = {
    cells[0]: tuple(map(int, cells[1:]))
    for line in PAGE.splitlines()
    if len(cells := [one.strip() for one in line.strip("|").split("|")]) == 4 and cells[1].isdigit()
}
TOOLS = ("adjudge", "promptfoo", "deepeval")


def lines_of(section: str, tool: str) -> int:
    """The lines that a tool needs in a section of the page."""
    parts = re.split(rf"^({'|'.join(TOOLS)})(?::$| has )", section, flags=re.M)
    ours = parts[parts.index(tool) + 1]
    blocks = re.findall(r"^```\w+\n(.*?)^```$", ours, re.S | re.M)
    return sum(bool(line.strip()) for block in blocks for line in block.splitlines())


@pytest.mark.parametrize("job", TABLE)
def test_lines_are_counted(job: str) -> None:
    title = re.escape(job.partition(",")[0])
    (section,) = re.findall(rf"(?ims)^## {title}.*?(?=^## |\Z)", PAGE)
    assert tuple(lines_of(section, tool) for tool in TOOLS) == TABLE[job]
    assert TABLE[job][0] == min(TABLE[job])
