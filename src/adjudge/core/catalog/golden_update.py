"""Golden cases that are accepted as judged: only the expected options are written anew, everything
else stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING

from adjudge.core.aio.files import writing, written_whole
from adjudge.core.catalog.criteria_file import entries_in
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.reading.values import text_in
from adjudge.errors import SetupError

if TYPE_CHECKING:
    from yaml.nodes import Node

Options = Mapping[int, str]
"""The place of a golden case among its criteria's, from 0 → the option to expect there."""


def update_golden(path: Path, accepted: Mapping[str, Options]) -> None:
    """Write the options of these criteria's golden cases into the file; comments and order are
    kept.
    """
    content = before = text_in(path, as_written=True)
    for start, end, option in sorted(
        set(_places(before, path, accepted)), reverse=True
    ):  # what stands before it does not move
        content = content[:start] + json.dumps(option, ensure_ascii=False) + content[end:]
    if not _only_options(before, content, path, accepted):
        raise SetupError(
            "{path}: the expected options cannot be written without changing something "
            "else: write out what is shared by & and *",
            path=path,
        )
    target = path.resolve()
    with writing(path), written_whole(target) as file:
        Path(file.name).chmod(S_IMODE(target.stat().st_mode))
        file.write(content.encode())


def _only_options(before: str, after: str, path: Path, accepted: Mapping[str, Options]) -> bool:
    """Whether the new text says what the old one said, but for the options of these cases."""
    expected = [
        _updated(entry, accepted.get(entry.criteria.name, {})) for entry in _entries(before, path)
    ]
    try:
        return _entries(after, path) == expected
    except SetupError:
        return False


def _entries(content: str, path: Path) -> list[CatalogEntry]:
    return entries_in(content.removeprefix("\ufeff"), str(path))


def _updated(entry: CatalogEntry, options: Options) -> CatalogEntry:
    golden = (
        replace(one, option=options.get(number, one.option))
        for number, one in enumerate(entry.golden)
    )
    return replace(entry, golden=tuple(golden))


def _places(
    content: str, path: Path, accepted: Mapping[str, Options]
) -> Iterator[tuple[int, int, str]]:
    """(from, to, option) of each expected option in the text."""
    import yaml

    spaced = (
        content.replace("\t", " ") if path.suffix.lower() == ".json" else content
    )  # between its words JSON has tabs
    for entry in _items(yaml.compose(spaced, yaml.SafeLoader)):
        name = _below(entry, "name")
        entry_name = "" if name is None else str(name.value).strip()
        options = accepted.get(entry_name, {})
        cases = _items(_below(entry, "golden"))
        for number, option in options.items():
            said = _below(cases[number], "option") if number < len(cases) else None
            if said is None:
                raise SetupError(
                    "{path}: golden case {number} of {entry_name!r} is not written in this file",
                    path=path,
                    number=number + 1,
                    entry_name=entry_name,
                )
            start = said.start_mark.index
            yield (
                start,
                start + len(content[start : said.end_mark.index].rstrip()),
                option,
            )  # a block ends on the next line


def _items(node: Node | None) -> list[Node]:
    """Of a list its items; anything else is the only one."""
    from yaml.nodes import SequenceNode

    if node is None:
        return []
    return list(node.value) if isinstance(node, SequenceNode) else [node]


def _below(node: Node, key: str) -> Node | None:
    from yaml.nodes import MappingNode

    if not isinstance(node, MappingNode):
        return None
    return next((value for written, value in node.value if written.value == key), None)
