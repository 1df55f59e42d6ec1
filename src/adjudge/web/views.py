"""Views of lists that are kept under a name, in one file of the folder of runs: what is asked of
one run is asked of the next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from adjudge.core.aio.files import locked, writing, written_whole
from adjudge.core.domain.frozen_mapping import json_text
from adjudge.errors import RunError, SetupError

FILE = "views.json"
LONGEST_NAME = 80
_MOST = 100
_LARGEST = 1_000_000
_KEPT = (
    *("judge", "where", "q", "criteria", "status", "verdict", "flag", "min", "max", "dimension"),
    *("rule", "people", "tool", "errors", "steps", "sort", "columns"),
)
"""What of an address is a view: not its rows, which are others in the next run."""
_LOCK = "views.lock"


class SavedView(NamedTuple):
    name: str
    query: str

    @property
    def judge(self) -> str:
        """The judge whose list it is, where the address named one."""
        return dict(parse_qsl(self.query)).get("judge", "")


def view_query(asked: Iterable[tuple[str, str]]) -> str:
    """What of an address is kept."""
    given = dict(asked)
    return urlencode({name: given[name] for name in _KEPT if given.get(name)})


def read_views(root: Path) -> list[SavedView]:
    """Those of a folder, by name."""
    path = root / FILE
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST:
            raise ValueError
        found = json.loads(path.read_text(encoding="utf-8"))
        views = [SavedView(str(name), str(query)) for name, query in found.items()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, AttributeError) as error:
        raise RunError(
            "{path} is not a file of views: move it away, and save them again", path=path.name
        ) from error
    clean = [SavedView(one.name, view_query(parse_qsl(one.query))) for one in views]
    return sorted(clean, key=lambda one: one.name.casefold())


def save_view(root: Path, name: str, query: str) -> None:
    """Keep a view; one of that name is replaced."""
    if not query:
        raise SetupError("there is nothing to save: filter or sort the list first")
    _change(root, lambda known: {**known, _checked(name): query})


def rename_view(root: Path, name: str, new: str) -> None:
    wanted = _checked(new)

    def change(known: dict[str, str]) -> dict[str, str]:
        if name not in known:
            raise SetupError("there is no view {name!r} any more", name=name)
        if wanted != name and wanted in known:
            raise SetupError("there is a view {name!r} already", name=wanted)
        return {(wanted if own == name else own): query for own, query in known.items()}

    _change(root, change)


def delete_view(root: Path, name: str) -> None:
    _change(root, lambda known: {own: query for own, query in known.items() if own != name})


def _checked(name: str) -> str:
    plain = " ".join(name.split())
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable():
        raise SetupError("a view needs a name of at most {most} characters", most=LONGEST_NAME)
    return plain


def _change(root: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    with writing(root / FILE), locked(root / _LOCK):
        changed = change({one.name: one.query for one in read_views(root)})
        if len(changed) > _MOST:
            raise SetupError("there are {most} views already: delete one first", most=_MOST)
        with written_whole(root / FILE) as file:
            file.write(json_text(changed).encode())
