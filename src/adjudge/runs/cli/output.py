"""Output of commands, in the language of the command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.project_files import project_files
from adjudge.errors import AdjudgeError
from adjudge.messages import render
from adjudge.runs.view.clean_text import clean

if TYPE_CHECKING:
    from adjudge.runs.project import Project


@light_dataclass()
class Output:
    """The output of a command: the ``obj`` of its click context."""

    typed: str | None = None
    """The language that the command line names."""

    @cached_property
    def language(self) -> str:
        """The typed language, else the project's, else the environment's."""
        return self.typed or self._language_of_project() or _language_of_environment()

    @cached_property
    def project(self) -> Project | None:
        """The project's defaults; None if there is no project."""
        if next(project_files(Path.cwd()), None) is None:
            return None
        from adjudge.runs.project import find_project  # not loaded if there is no project

        return find_project()

    def _language_of_project(self) -> str | None:
        try:
            return self.project.language if self.project else None
        except (AdjudgeError, OSError):  # the folder itself may have been deleted
            return None  # the command that uses the file says what is wrong with it

    def render(self, text: object) -> str:
        """Return ``text`` in this language, without control characters."""
        return clean(render(text, self.language))

    def echo(self, text: object, *, err: bool = False, fg: str | None = None) -> None:
        click.secho(self.render(text), fg=fg, err=err)


def output_of(words: Sequence[str]) -> Output:
    """Return the output for an unparsed command line, in the language that it names."""
    typed_language = next(
        (
            language
            for language in ("en", "ru")
            if f"--language={language}" in words or ("--language", language) in pairwise(words)
        ),
        None,
    )
    return Output(typed_language)


def _language_of_environment() -> str:
    settings = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "ru" if next(filter(None, settings), "").startswith("ru") else "en"


def output() -> Output:
    """Return the current command's output; outside of commands, English output."""
    context = click.get_current_context(silent=True)
    return (context and context.find_object(Output)) or Output("en")


def language() -> str:
    """Return the language of the current command."""
    return output().language


def typed_language() -> str | None:
    """Return the language typed on the command line, or None."""
    return output().typed


def use_language(language: str) -> None:
    """Set the language of everything that this command prints.

    English has an effect only if the user typed a language, since it is also the default language
    of prompts.
    """
    current = output()
    if language != "en" or current.typed:
        current.language = language


def echo(text: object, *, err: bool = False, fg: str | None = None) -> None:
    """Print a line in the language of the command."""
    output().echo(text, err=err, fg=fg)
