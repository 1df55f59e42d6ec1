"""YAML of strangers: it neither takes hours nor fills the memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adjudge.core.gateway.prices import PriceTable
from adjudge.core.reading.values import Place, load_yaml
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.documents import yaml_as_json


def doubling(levels: int) -> str:
    """Mappings of which each merges all before it."""
    lines = ["m0: &m0 {a: 1}"]
    for level in range(1, levels):
        before = ", ".join(f"*m{number}" for number in range(level))
        lines.append(f"m{level}: &m{level} {{<<: [{before}], b{level}: 1}}")
    return "\n".join(lines)


def read(text: str) -> Any:
    return load_yaml(text, Place("a.yaml")).value


def test_merged_keys_do_not_double_with_every_level() -> None:
    """Seen: forty such lines filled the memory."""
    value = read(doubling(60))
    assert len(value["m59"]) == 60
    with pytest.raises(SetupError, match=r"a\.yaml, line \d+.*<< merges more than 100,000 keys"):
        load_yaml(doubling(200), Place("a.yaml"))


def test_imports_and_prices_do_not_double_them_either(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(doubling(200))
    with pytest.raises(RunError, match="merges more than"):
        yaml_as_json(path)
    with pytest.raises(SetupError, match="merges more than"):
        PriceTable.load(path)


def test_merges_keep_their_order() -> None:
    """What is written here counts before what is merged, and of two that are merged the first."""
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {c: 3, <<: [*x, *y]}\nw: &w {<<: *w, d: 4}"
    value = read(text)
    assert value["z"] == {"a": "1", "b": "1", "c": "3"}
    assert value["w"] == {"d": "4"}


@pytest.mark.parametrize("text", ["a: {<<: 1}", "a: {<<: [1, 2]}"])
def test_what_is_merged_must_have_keys(text: str) -> None:
    with pytest.raises(SetupError, match="<< needs a mapping"):
        load_yaml(text, Place("a.yaml"))


def test_a_file_that_would_take_minutes_is_not_read() -> None:
    with pytest.raises(SetupError, match=r"a\.yaml, line 1: is longer than 4,000,000 characters"):
        load_yaml("# " + "x" * 4_000_000, Place("a.yaml"))
