"""The output of ``--json``: one envelope for all commands. Long lists are printed as they are
read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import click

from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.runs.exporters.json_version import SCHEMA
from adjudge.runs.view.clean_text import clean_json

Document = Mapping[str, JsonValue | Iterator[JsonValue]]
"""The values by key. An iterator becomes a list that is printed as it is read."""


def print_results(
    kind: str,
    summary: JsonObject,
    results: Iterable[JsonValue],
    more: Document | None = None,
) -> None:
    """Print a document of ``adjudge.results``.

    ``more``: further keys of this kind; an iterator is printed as a list.
    """
    echo_json(
        {
            "schema": SCHEMA,
            "kind": kind,
            "summary": summary,
            **dict.fromkeys(("criteria", "gates", "notes"), ()),
            **(more or {}),
            "results": iter(results),
        }
    )


def echo_json(whole: Document) -> None:
    """Print an object. An iterator is printed as a list, item by item."""
    click.echo("{", nl=False)
    for number, (name, value) in enumerate(whole.items()):
        click.echo("," if number else "")
        for piece in (
            _list_pieces(name, value) if isinstance(value, Iterator) else _entry(name, value)
        ):
            click.echo(piece, nl=False)
    click.echo("\n}")


def _entry(name: str, value: object) -> Iterator[str]:
    yield f"  {_text(name)}: {_text(value, 2).lstrip()}"


def _list_pieces(name: str, each: Iterator[object]) -> Iterator[str]:
    yield f"  {_text(name)}: ["
    # stays -1 for an empty list
    number = -1
    for number, value in enumerate(each):
        yield f"{',' if number else ''}\n{_text(value, 4)}"
    yield "\n  ]" if number >= 0 else "]"


def _text(value: object, indent: int = 0) -> str:
    """Return a value as indented JSON that is safe to print. Line breaks in texts are escaped, so
    every line is indented.
    """
    space = " " * indent
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).replace(
        "\n", f"\n{space}"
    )
    return space + clean_json(text)
