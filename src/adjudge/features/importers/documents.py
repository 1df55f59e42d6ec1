"""Read documents that cannot be streamed: YAML, and tables that pandas wrote by columns. Their size
is limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.reading.values import merging_once
from adjudge.errors import RunError

# Bytes of a file, and of what its aliases make of it.
_LARGEST = 50_000_000
# Levels of nesting; libyaml calls itself for each level, in C.
_DEEPEST = 200
_FIRST_KEY = re.compile(r"(?:---\s*\n|#.*\n|\s*\n)*[A-Za-z_][\w-]*:(?: [^,\n]*)?\n")


def is_yaml(head: str) -> bool:
    """Return True if the text starts with a YAML key, unlike any table or JSON."""
    return _FIRST_KEY.match(head) is not None


def yaml_as_json(path: Path) -> bytes:
    """Convert a YAML file to JSON.

    Raise a RunError if the file is invalid, too large or nested too deep.
    """
    import yaml

    _check_size(path, "YAML")
    loader = merging_once(getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # in C if that is there
    depth, content = 0, path.read_bytes()
    try:
        # libyaml calls itself for every level: a deep document would overflow the C stack.
        for event in yaml.parse(content, loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > _DEEPEST:
                raise RunError(
                    "{path}, line {line}: is nested too deeply",
                    path=path,
                    line=event.start_mark.line + 1,
                )
        document = yaml.load(content, loader)  # noqa: S506 - safe, both of them
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise RunError(
            "{path} is not YAML: {said}", path=path, said=" ".join(str(error).split())[:200]
        ) from error
    pieces, size = [], 0
    # Aliases may unfold to far more than the file: stop before memory runs out.
    for piece in json.JSONEncoder(default=str).iterencode(document):
        pieces.append(piece)
        size += len(piece)
        if size > _LARGEST:
            raise RunError(
                "{path} is YAML that expands to more than {most:,} bytes, so it is not used",
                path=path,
                most=_LARGEST,
            )
    return "".join(pieces).encode()


def is_frame(document: JsonObject) -> bool:
    """Return True for a pandas frame from ``to_json()``.

    Its data is by column or, with ``orient="split"``, by cell.
    """
    rows = document.get("data")
    if "columns" in document and isinstance(rows, Sequence) and rows and isinstance(rows[0], list):
        return True
    return len(document) > 1 and all(
        isinstance(column, Mapping) and "0" in column for column in document.values()
    )


def frame_as_json(path: Path) -> bytes:
    """Convert a pandas frame to a list of rows; raise a RunError if it is not JSON."""
    _check_size(path, "a table by its columns")
    try:
        table = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RunError("{path} is not JSON: {error}", path=path, error=str(error)[:200]) from error
    return json.dumps(_rows(table)).encode()


_TRAILING_COMMA = re.compile(rb'("(?:[^"\\]|\\.)*+")|,(?=\s*[\]}])', re.DOTALL)


def without_trailing_commas(path: Path) -> bytes | None:
    """Return a JSON document without commas before ``]`` and ``}``.

    Return None if the file is too large, has no such commas, or is invalid even without them.
    """
    if path.stat().st_size > _LARGEST:
        return None
    content = path.read_bytes()
    mended = _TRAILING_COMMA.sub(lambda match: match[1] or b"", content)
    try:
        json.loads(mended)
    except (ValueError, RecursionError):
        return None
    return mended if mended != content else None


def _rows(table: JsonObject) -> list[JsonDict]:
    names, rows = table.get("columns"), table.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        return [
            dict(zip(map(str, names), row, strict=False)) for row in rows if isinstance(row, list)
        ]
    columns = {name: column for name, column in table.items() if isinstance(column, dict)}
    places = dict.fromkeys(place for column in columns.values() for place in column)
    return [{name: column.get(place) for name, column in columns.items()} for place in places]


def _check_size(path: Path, what: str) -> None:
    if path.stat().st_size > _LARGEST:
        raise RunError(
            "{path} is {what} with more than {most:,} bytes: write it as JSON with one object "
            "per row",
            path=path,
            what=what,
            most=_LARGEST,
        )
