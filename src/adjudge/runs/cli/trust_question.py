"""The screen that shows what the files of a folder need, and the question at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from adjudge.core.aio.files import from_here
from adjudge.errors import SetupError
from adjudge.messages import Message, plural, render, term
from adjudge.runs.cli.output import output
from adjudge.runs.restrictions import RUNS, SENDS
from adjudge.runs.trusted_folders import TrustedFile, changes_of, place_of
from adjudge.runs.view.clean_text import clean

_CHANGED = term("trust", "changed")
_MOST_LINES = 20
"""Files that are listed per verb."""
_LONGEST_LINE = 2000


def ask_for_trust(files: Sequence[TrustedFile]) -> None:
    """Show what a restricted folder may not do, and ask the user. Raises a SetupError unless they
    agree.
    """
    show_needs(files)
    name = from_here(files[0].path)
    if not sys.stdin.isatty():
        raise SetupError(
            "{file} needs what is shown above, but is not trusted, so nothing was read, run or "
            "sent. Check it, then run 'adjudge trust {file}', or add --trust for one command",
            file=name,
        )
    if not click.confirm(render(Message("Trust it?"), output().language), err=True):
        raise SetupError("{file} is not trusted, so nothing was read, run or sent", file=name)


def show_needs(files: Sequence[TrustedFile]) -> None:
    """Print the needs to standard error, one line each, whatever the files contain.

    What is run and sent comes last, next to the question, and is never cut. Long lists of files
    that are read and written are cut, with a count.
    """
    language = output().language
    head = Message(
        "{file} does more than an untrusted folder may:",
        file=from_here(files[0].path),
    )
    lines = [tuple(render(cell, language) for cell in line) for line in _cut(_lines(files))]
    width = max(len(verb) for _, verb, _, _ in lines)
    print_line(render(head, language))
    for mark, verb, what, place in lines:
        print_line(f"{mark:1} {verb:<{width}}  {what}" + (f"  ({place})" if place else ""))
    if any(mark for mark, *_ in lines):
        print_line(render(Message("+ is new since you trusted it."), language))


_Line = tuple[str, str, str, str]
"""A mark, the verb, its object and its place."""


def _lines(files: Sequence[TrustedFile]) -> Iterator[_Line]:
    """Yield every need. A need that occurs in several places is one line."""
    for file in files:
        changes = changes_of(file)
        places: dict[tuple[str, str, str], list[str]] = {}
        for need in file.needs:
            is_new = changes.was_trusted and need in changes.needs
            key = "+" if is_new else "", need.verb, need.what
            places.setdefault(key, []).append(place_of(need))
        for (mark, verb, what), need_places in places.items():
            place = need_places[0]
            if more := len(need_places) - 1:
                place = plural(
                    "{place} and {count:,} more place",
                    "{place} and {count:,} more places",
                    more,
                    place=place,
                )
            yield mark, verb, what, place
        for name in changes.files:
            what = str(from_here(Path(name)))
            yield "+", _CHANGED, what, Message("since you trusted {file}", file=file.path.name)


def _cut(lines: Iterable[_Line]) -> Iterator[_Line]:
    by_verb: dict[str, list[_Line]] = {}
    for line in lines:
        by_verb.setdefault(line[1], []).append(line)
    for verb in sorted(by_verb, key=(RUNS, SENDS).__contains__):
        needs_of_verb = by_verb[verb]
        most = len(needs_of_verb) if verb in (RUNS, SENDS) else _MOST_LINES
        yield from needs_of_verb[:most]
        if cut_needs := needs_of_verb[most:]:
            mark = "+" if any(line[0] for line in cut_needs) else ""
            yield mark, verb, Message("… and {count:,} more", count=len(cut_needs)), ""


def print_line(line: str) -> None:
    """Print one line to standard error. Control characters are replaced, and very long lines
    cut.
    """
    # A tab or a space of another width could move what follows out of sight.
    plain = "".join(character if character.isprintable() else "�" for character in clean(line))
    if len(plain) > _LONGEST_LINE:
        cut_characters = len(plain) - _LONGEST_LINE
        more = Message("… ({count:,} more characters, see the file)", count=cut_characters)
        plain = plain[:_LONGEST_LINE] + render(more, output().language)
    click.echo(plain, err=True)
