"""docs/settings.md, from what the entries of an eval file declare.

    python tools/settings.py

tests/test_docs.py says when it is out of step.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any, cast

from adjudge.core.reading.types import (
    ColumnNames,
    FilePath,
    Flag,
    Json,
    JsonNames,
    Kinds,
    LazyType,
    Many,
    Names,
    Number,
    NumberOrNamed,
    Numbers,
    Record,
    Text,
    WholeNumber,
    Word,
    keys_of,
)
from adjudge.runs.builder import JudgeKind
from adjudge.runs.criteria_entry import CriteriaType
from adjudge.runs.eval_file import (
    FROM_LABELS,
    JUDGE_KINDS,
    BudgetEntry,
    CascadeEntry,
    DataEntry,
    EvalFile,
    Gates,
    JudgeEntry,
    WeightsType,
)
from adjudge.runs.project import HeadersType, ModelEntry, ParametersType, Project, VariableType
from adjudge.runs.row_source import FormatType
from adjudge.runs.target_entry import TargetEntry

sys.path.insert(0, str(Path(__file__).parent.parent))

from tools.commands import in_a_cell, safe

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"
HEAD = """# Settings of eval files

Every key of an [eval file](eval-file.md) and of a project's file, as the code declares it. Paths
are relative to the file. Commands that offer a setting as an option take its type, default and help
from the same place.

"""


def page() -> str:
    """Return the whole page."""
    return f"{HEAD}{chr(10).join(_sections())}"


def _sections() -> Iterator[str]:
    yield from _section("The file", EvalFile)
    yield from _section("data", DataEntry)
    yield from _section("models", ModelEntry)
    yield from _section("budget", BudgetEntry)
    yield from _section("gates", Gates)
    yield from _section("target", TargetEntry)
    yield from _section("judges: all kinds", JudgeEntry)
    shared, cascade = keys_of(JudgeEntry), keys_of(CascadeEntry)
    yield from _section("judges: aspect and direct", CascadeEntry, but=shared)
    for name in JUDGE_KINDS.ours:
        kind = JUDGE_KINDS[name]
        assert isinstance(kind, JudgeKind)
        known = cascade if issubclass(kind.entry, CascadeEntry) else shared
        yield from _section(f"judges: {name}", kind.entry, but=known)
    yield from _section("adjudge.toml", Project)


def _section(title: str, entry: type, but: Collection[str] = ()) -> Iterator[str]:
    """Yield a table of the keys that an entry declares. ``but``: those of another table, which are
    listed only if they are declared again.
    """
    yield f"## {title}\n\n| key | value | default | |\n|---|---|---|---|"
    base = entry.__mro__[1]
    for name, field in keys_of(entry).items():
        if name in but and keys_of(base).get(name) == field:
            continue
        cells = (f"`{name}`", _kind(field.metadata["type"]), _default(field), safe(_help(field)))
        yield f"| {' | '.join(map(in_a_cell, cells))} |"
    yield ""
    for name, field in keys_of(entry).items():
        kind = field.metadata["type"]
        if name not in but and isinstance(kind, Record) and issubclass(entry, JudgeEntry):
            yield from _section(f"{title}, {name}", kind.made)


def _help(field: Field[Any]) -> str:
    text: str = field.metadata["help"]
    return text


def _default(field: Field[Any]) -> str:
    value = field.default
    if value is MISSING:
        return "needed"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}"
    return safe(value) if isinstance(value, str) else ""


_LOOKS: dict[type, str] = {
    CriteriaType: "text, or keys",
    FilePath: "path",
    Flag: "true or false",
    HeadersType: "name: text",
    Json: "any",
    JsonNames: "name: any",
    Kinds: "keys",
    LazyType: "keys",
    Names: "name: text",
    ColumnNames: "name: text",
    NumberOrNamed: "number, or name: number",
    Numbers: "name: number",
    ParametersType: "name: any",
    Text: "text",
    VariableType: "name",
    WeightsType: f"name: number, or `{FROM_LABELS}`",
}
"""Type → what its values look like, in a few words."""


def _kind(kind: object) -> str:
    match kind:
        case Word() | FormatType():
            allowed = cast(list[str], kind.schema()["enum"])
            return ", ".join(f"`{word}`" for word in allowed)
        case Many():
            return f"{_kind(kind.item)}, or a list"
        case WholeNumber():
            return _limited("whole number", kind)
        case Number():
            return _limited("number", kind)
        case Record():
            return "keys" if kind.short is None else "text, or keys"
    return _LOOKS[type(kind)]


def _limited(text: str, kind: Number) -> str:
    limits = (("from", kind.least), ("above", kind.above), ("to", kind.most))
    return " ".join([text, *(f"{word} {end:g}" for word, end in limits if end is not None)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
