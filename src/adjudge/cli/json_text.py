"""A JSON document with a long list in it, printed as it is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import click


def echo_json(before: Mapping[str, object], name: str, each: Iterable[object]) -> None:
    """One object: what stands before the list, and the list under its name."""
    parts = [*map(_entry, before.items()), _listed(name, each)]
    click.echo("{", nl=False)
    for number, part in enumerate(parts):
        click.echo("," if number else "")
        for piece in part:
            click.echo(piece, nl=False)
    click.echo("\n}")


def _entry(item: tuple[str, object]) -> Iterator[str]:
    name, value = item
    yield f"  {_text(name)}: {_text(value, 2).lstrip()}"


def _listed(name: str, each: Iterable[object]) -> Iterator[str]:
    yield f"  {_text(name)}: ["
    number = -1
    for number, value in enumerate(each):
        yield f"{',' if number else ''}\n{_text(value, 4)}"
    yield "\n  ]" if number >= 0 else "]"


def _text(value: object, indent: int = 0) -> str:
    """JSON holds no line breaks but its own."""
    space = " " * indent
    return space + json.dumps(value, ensure_ascii=False, indent=2).replace("\n", f"\n{space}")
