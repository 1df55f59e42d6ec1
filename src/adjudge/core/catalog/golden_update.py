"""Update of golden cases to the judged options. Everything else in the file stays as it is."""

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
"""Index of a golden case of a criterion → its new expected option."""


def update_golden(path: Path, accepted: Mapping[str, Options]) -> None:
    """Write new expected options of golden cases into the file, keeping its comments and order.

    Raise SetupError if that would change anything else, as in values shared by ``&`` and ``*``.
    """
    new_text = old_text = text_in(path, as_written=True)
    # From the end, so that earlier places do not move.
    for start, end, option in sorted(set(_places(old_text, path, accepted)), reverse=True):
        new_text = new_text[:start] + json.dumps(option, ensure_ascii=False) + new_text[end:]
    if not _only_options(old_text, new_text, path, accepted):
        raise SetupError(
            "{path}: the expected options cannot be updated without changing other values, "
            "because they share YAML anchors (& and *): write the values out",
            path=path,
        )
    target = path.resolve()
    with writing(path), written_whole(target) as file:
        Path(file.name).chmod(S_IMODE(target.stat().st_mode))
        file.write(new_text.encode())


def _only_options(before: str, after: str, path: Path, accepted: Mapping[str, Options]) -> bool:
    """Return True if the new text differs from the old one only in the options of these cases."""
    expected = [
        _with_options(entry, accepted.get(entry.criteria.name, {}))
        for entry in _entries(before, path)
    ]
    try:
        return _entries(after, path) == expected
    except SetupError:
        return False


def _entries(content: str, path: Path) -> list[CatalogEntry]:
    return entries_in(content.removeprefix("\ufeff"), str(path))


def _with_options(entry: CatalogEntry, options: Options) -> CatalogEntry:
    golden = (
        replace(case, option=options.get(number, case.option))
        for number, case in enumerate(entry.golden)
    )
    return replace(entry, golden=tuple(golden))


def _places(
    content: str, path: Path, accepted: Mapping[str, Options]
) -> Iterator[tuple[int, int, str]]:
    """Yield (from, to, option) for each expected option in the text; raise SetupError if it is not
    in this file.
    """
    import yaml

    # JSON may be indented with tabs, which YAML's parser refuses.
    spaced = content.replace("\t", " ") if path.suffix.lower() == ".json" else content
    for entry in _items(yaml.compose(spaced, yaml.SafeLoader)):
        name = _child(entry, "name")
        entry_name = "" if name is None else str(name.value).strip()
        options = accepted.get(entry_name, {})
        cases = _items(_child(entry, "golden"))
        for number, option in options.items():
            option_node = _child(cases[number], "option") if number < len(cases) else None
            if option_node is None:
                raise SetupError(
                    "{path}: golden case {number} of {entry_name!r} is not defined in this file",
                    path=path,
                    number=number + 1,
                    entry_name=entry_name,
                )
            start = option_node.start_mark.index
            # A block scalar's node ends on the next line.
            end = start + len(content[start : option_node.end_mark.index].rstrip())
            yield start, end, option


def _items(node: Node | None) -> list[Node]:
    """Return the items of a list; wrap any other value in a list."""
    from yaml.nodes import SequenceNode

    if node is None:
        return []
    return list(node.value) if isinstance(node, SequenceNode) else [node]


def _child(node: Node, key: str) -> Node | None:
    from yaml.nodes import MappingNode

    if not isinstance(node, MappingNode):
        return None
    return next((value for key_node, value in node.value if key_node.value == key), None)
