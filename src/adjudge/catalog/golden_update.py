"""Golden cases that are accepted as judged: only the expected options are written anew, everything else stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.errors import RunError, SetupError
from adjudge.reading.values import text_in

if TYPE_CHECKING:
    from yaml.nodes import Node

Options = Mapping[int, str]
"""The place of a golden case among its criteria's, from 0 → the option to expect there."""


def update_golden(path: Path, accepted: Mapping[str, Options]) -> None:
    """Write the options of these criteria's golden cases into the file; comments and order are kept."""
    content = text_in(path)
    places = sorted(_places(content, path, accepted), reverse=True)  # from the end: what stands before it does not move
    for start, end, option in places:
        content = content[:start] + json.dumps(option, ensure_ascii=False) + content[end:]
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def _places(content: str, path: Path, accepted: Mapping[str, Options]) -> Iterator[tuple[int, int, str]]:
    """(from, to, option) of each expected option in the text."""
    import yaml

    for entry in _items(yaml.compose(content, yaml.SafeLoader)):
        name = _below(entry, "name")
        entry_name = "" if name is None else str(name.value).strip()
        options = accepted.get(entry_name, {})
        cases = _items(_below(entry, "golden"))
        for number, option in options.items():
            said = _below(cases[number], "option") if number < len(cases) else None
            if said is None:
                raise SetupError(f"{path}: golden case {number + 1} of {entry_name!r} is not written in this file")
            yield said.start_mark.index, said.end_mark.index, option


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
