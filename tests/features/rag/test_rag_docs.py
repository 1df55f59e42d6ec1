"""What the page about the RAG evaluator says is what the data files say."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from adjudge.core.data.dataset import ALIASES
from adjudge.features.rag import rag_dimensions, read_dimensions

PAGE = (Path(__file__).parents[3] / "docs" / "rag.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The table below a heading, without its head."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [
        line.strip().strip("|").split("|") for line in part.splitlines() if line.startswith("|")
    ]
    return [[cell.strip().strip("`") for cell in line] for line in lines[2:]]


def test_the_scales_are_those_of_the_data_file() -> None:
    table = {name: (scores, reads) for name, scores, reads in rows("Dimensions")}
    assert list(table) == [one.name for one in rag_dimensions()]
    for one in rag_dimensions():
        scores, reads = table[one.name]
        assert scores == ", ".join(f"{score} {label}" for score, label in enumerate(one.labels))
        assert one.reads == ("user_input", *filter(None, reads.split(", ")), "response")


def test_the_columns_are_those_that_are_known() -> None:
    table = rows("Input")
    assert table
    for field, columns, _ in table:
        assert set(columns.split(", ")) <= set(ALIASES[field])


def test_the_example_configuration_is_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    assert yaml.safe_load(example)
    path = tmp_path / "mine.yaml"
    path.write_text(example)
    found = {one.name: one for one in read_dimensions(path)}
    assert found["clarity"].weight == 0.5
    assert found["politeness"].gates[0].cap == 0.4
