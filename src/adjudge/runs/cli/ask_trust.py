"""The one screen that shows what files of a folder need, and the question at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from adjudge.core.aio.files import from_here
from adjudge.errors import SetupError
from adjudge.messages import Message, render, term
from adjudge.runs.cli.output import output
from adjudge.runs.trusted import TrustedFile, changes_of, place_of
from adjudge.runs.view.clean_text import clean

_CHANGED = term("trust", "changed")


def ask_for_trust(files: Sequence[TrustedFile]) -> None:
    """Show what goes beyond a restricted folder, and return if the user agrees."""
    show_needs(files)
    name = from_here(files[0].path)
    if not sys.stdin.isatty():
        raise SetupError(
            "{file} needs what is shown above, and you have not trusted it: nothing was read, run "
            "or sent. Look at it, then run 'adjudge trust {file}', or add --trust for one command",
            file=name,
        )
    if not click.confirm(render(Message("Trust it?"), output().language), err=True):
        raise SetupError("{file} is not trusted: nothing was read, run or sent", file=name)


def show_needs(files: Sequence[TrustedFile]) -> None:
    """Print the screen to standard error: every line is one line, whatever the files say."""
    language = output().language
    head = Message(
        "{file} does more than an untrusted folder may:",
        file=from_here(files[0].path),
    )
    lines = [tuple(render(cell, language) for cell in line) for line in _lines(files)]
    width = max(len(verb) for _, verb, _, _ in lines)
    _print(render(head, language))
    for mark, verb, what, place in lines:
        _print(f"{mark:1} {verb:<{width}}  {what}  ({place})")
    if any(mark for mark, *_ in lines):
        _print(render(Message("+ is new since you trusted it."), language))


def _lines(files: Sequence[TrustedFile]) -> Iterator[tuple[str, str, str, str]]:
    """Yield a mark, the verb, its object and the place of every need."""
    for file in files:
        changes = changes_of(file)
        for need in file.needs:
            is_new = changes.was_trusted and need in changes.needs
            yield "+" if is_new else "", need.verb, need.what, place_of(need)
        for name in changes.files:
            what = str(from_here(Path(name)))
            yield "+", _CHANGED, what, Message("since you trusted {file}", file=file.path.name)


def _print(line: str) -> None:
    click.echo(clean(line).replace("\n", "�"), err=True)
