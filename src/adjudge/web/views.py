"""Saved views of lists, in one file of the folder of runs, so that a view of one run can be applied
to the next.
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
"""The query names that make a view. Row numbers are not among them: they mean other rows in the
next run.
"""
_LOCK = "views.lock"


class SavedView(NamedTuple):
    name: str
    query: str

    @property
    def judge(self) -> str:
        """The judge of the list; empty if the view names none."""
        return dict(parse_qsl(self.query)).get("judge", "")


def view_query(query: Iterable[tuple[str, str]]) -> str:
    """Return the part of a query that views save."""
    values = dict(query)
    return urlencode({name: values[name] for name in _KEPT if values.get(name)})


def read_views(root: Path) -> list[SavedView]:
    """Return a folder's views sorted by name. Raises a RunError if the file is not what we
    write.
    """
    path = root / FILE
    try:
        # the folder may come from anybody
        if path.is_symlink() or path.stat().st_size > _LARGEST:
            raise ValueError
        content = json.loads(path.read_text(encoding="utf-8"))
        views = [SavedView(str(name), str(query)) for name, query in content.items()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, AttributeError) as error:
        raise RunError(
            "{path} is not a file of views: move it away, and save them again", path=path.name
        ) from error
    # read like an address, so an edited file cannot put anything else into a link
    clean = [SavedView(view.name, view_query(parse_qsl(view.query))) for view in views]
    return sorted(clean, key=lambda view: view.name.casefold())


def save_view(root: Path, name: str, query: str) -> None:
    """Save a view, replacing one of the same name."""
    if not query:
        raise SetupError("there is nothing to save: filter or sort the list first")
    _change(root, lambda known: {**known, _check_name(name): query})


def rename_view(root: Path, name: str, new: str) -> None:
    new_name = _check_name(new)

    def change(known: dict[str, str]) -> dict[str, str]:
        if name not in known:
            raise SetupError("the view {name!r} no longer exists", name=name)
        if new_name != name and new_name in known:
            raise SetupError("a view {name!r} already exists", name=new_name)
        return {
            (new_name if view_name == name else view_name): query
            for view_name, query in known.items()
        }

    _change(root, change)


def delete_view(root: Path, name: str) -> None:
    _change(
        root,
        lambda known: {view_name: query for view_name, query in known.items() if view_name != name},
    )


def _check_name(name: str) -> str:
    plain = " ".join(name.split())
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable():
        raise SetupError("a view needs a name of at most {most} characters", most=LONGEST_NAME)
    return plain


def _change(root: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    # two servers may show the same folder of runs
    with writing(root / FILE), locked(root / _LOCK):
        changed = change({view.name: view.query for view in read_views(root)})
        if len(changed) > _MOST:
            raise SetupError("there are already {most} views: delete one first", most=_MOST)
        with written_whole(root / FILE) as file:
            file.write(json_text(changed).encode())
