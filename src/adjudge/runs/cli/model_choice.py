"""The models that a command asks, and their servers: those named, else the project's, else the
embedded one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from click import UsageError

from adjudge.core.gateway.opener import default_model
from adjudge.core.gateway.prices import PriceTable
from adjudge.messages import Message
from adjudge.runs import trusted_folders as trusted
from adjudge.runs.cli.output import output, use_language
from adjudge.runs.cli.trust_question import ask_for_trust
from adjudge.runs.project import ModelEntry, Project, ServerEntry


def current_project() -> Project:
    """Return the project's defaults, looked up once per command. A resumed run uses those from when
    it was started.
    """
    context = click.get_current_context(silent=True)
    return (context and context.find_object(Project)) or output().project or Project()


def trusted_project(project: Project | None = None) -> Project:
    """Return the project's defaults, asking the user to trust them first. Only the language may be
    used without.
    """
    project = project or current_project()
    if project.path is None:
        return project

    with trusted.asking(ask_for_trust):
        return trusted.trusted_project(project)


def choose_language(typed: str | None) -> str:
    """Return the typed language, else the project's, else English. Messages are printed in it from
    now on.
    """
    language = typed or current_project().language or "en"
    use_language(language)
    return language


def price_table(path: Path | None = None) -> PriceTable:
    """Load prices from this file, else from the project's, else the default ones."""
    return PriceTable.load(path or trusted_project().prices_path)


def model_entries(
    ids: Sequence[str],
    server: ServerEntry,
    max_concurrency: int | None = None,
    project: Project | None = None,
) -> tuple[ModelEntry, ...]:
    """Return entries for the models, with the typed server and the project's defaults.

    Without ids, use the project's model, else the default one.
    """
    project = trusted_project(project)
    names = tuple(ids) or ((project.model,) if project.model else ())
    if not names and (server.says_anything or project.base_url):
        raise UsageError(
            Message(
                "a server was named, but no model: name one with -m, such as -m openai/gpt-4o-mini"
            )
        )
    entries = (
        ModelEntry(model=id, max_concurrency=max_concurrency) for id in names or (default_model(),)
    )
    return tuple(project.with_defaults(server.over(entry)) for entry in entries)
