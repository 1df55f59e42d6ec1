"""What commands print, in the language of the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import click

from adjudge.messages import render


@dataclass
class Output:
    """How a command prints: the ``obj`` of its click context."""

    language: str = "en"

    def render(self, text: object) -> str:
        """``text`` in this language, harmless to a terminal."""
        from adjudge.view.terminal import clean  # not loaded by those who print nothing

        return clean(render(text, self.language))

    def echo(self, text: object, *, err: bool = False, fg: str | None = None) -> None:
        click.secho(self.render(text), fg=fg, err=err)


def language_in(words: Sequence[str]) -> str:
    """The language that a command line names, before it was read."""
    russian = "--language=ru" in words or ("--language", "ru") in pairwise(words)
    return "ru" if russian else "en"


def output() -> Output:
    """Of the command under way."""
    context = click.get_current_context(silent=True)
    return (context and context.find_object(Output)) or Output()


def language() -> str:
    """The language of the command under way."""
    return output().language


def use_language(language: str) -> None:
    """Set the language of everything that this command prints."""
    output().language = language


def echo(text: object, *, err: bool = False, fg: str | None = None) -> None:
    """Print a line in the language of the command."""
    output().echo(text, err=err, fg=fg)
