"""``adjudge criteria``: list the ready-made criteria, and check custom ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, TypedDict, get_args

import click

from adjudge.core.catalog import criteria as catalog
from adjudge.core.catalog.criteria_file import raw_entries, read_entries
from adjudge.core.catalog.criteria_lock import add_to_lock, lock_changes, write_lock
from adjudge.core.catalog.differences import criteria_diff
from adjudge.core.catalog.entry import CatalogEntry, Kind
from adjudge.core.catalog.lint import Finding, lint_file
from adjudge.core.catalog.remote import RemoteCriteria, keep_criteria
from adjudge.core.data.dataset import field_names
from adjudge.core.domain.criteria import CriteriaExample, CriteriaOption
from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import RunError
from adjudge.messages import Message, plural
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.model_choice import choose_language
from adjudge.runs.cli.options import PATH, CommandGroup, argument, as_json
from adjudge.runs.cli.output import echo
from adjudge.runs.cli.output import language as output_language
from adjudge.runs.criteria_entry import CRITERIA_FILES
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.terminal import Screen
from adjudge.runs.view.terminal_criteria import show_catalogue, show_entry, show_findings

_language = click.option(
    "--language", help=f"Language of the criteria: {' or '.join(catalog.languages())}."
)


_ASKING = {"test": "runs.cli.goldens", "improve": "features.bench.improvement_command"}


class _Commands(CommandGroup):
    """Loads `improve` and `test` only when they are called, since only they ask models."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_ASKING]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command."""
        if cmd_name not in _ASKING:
            return super().get_command(ctx, cmd_name)
        loaded_command: click.Command = getattr(
            import_module(f"adjudge.{_ASKING[cmd_name]}"), cmd_name
        )
        return loaded_command


@click.group(cls=_Commands, invoke_without_command=True)
@click.option(
    "--kind",
    type=click.Choice(get_args(Kind)),
    help="Only criteria that judge one text, or only those that compare responses.",
)
@_language
@as_json
@click.pass_context
def criteria(context: click.Context, kind: Kind | None, language: str | None, as_json: bool) -> int:
    """List the ready-made criteria; `show` prints one, `check` looks for mistakes in your own file,
    `improve` suggests better wording.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.OK
    language_name = choose_language(language)
    entries = [
        entry
        for name in catalog.all_names(language_name)
        if kind in (None, (entry := catalog.entry(name, language_name)).kind)
    ]
    if as_json:
        print_results("criteria", {"criteria": len(entries)}, map(_as_json, entries))
    else:
        show_catalogue(entries, Screen(output_language()))
    return ExitCode.OK


@criteria.command()
@argument("name", "Ready-made criteria (`adjudge criteria` lists them) or your own file.")
@_language
@click.option(
    "--yaml", "as_yaml", is_flag=True, help="Print the file as a starting point for your own."
)
@as_json
def show(name: str, language: str | None, as_yaml: bool, as_json: bool) -> int:
    """Print everything about criteria, ready-made or your own: question, options with their
    scores, fields, golden examples.
    """
    criteria_file = Path(name) if Path(name).suffix.lower() in CRITERIA_FILES else None
    language_name = choose_language(language)
    entries = read_entries(criteria_file) if criteria_file else [catalog.entry(name, language_name)]
    if as_yaml:
        click.echo(
            criteria_file.read_text(encoding="utf-8-sig")
            if criteria_file
            else catalog.source(name, language_name),
            nl=False,
        )
    elif as_json:
        print_results("criteria", {"criteria": len(entries)}, map(_as_json, entries))
    else:
        for entry in entries:
            show_entry(entry, Screen(output_language()))
    return ExitCode.OK


@criteria.command()
@argument("file", "A YAML or JSON file with one criterion or a list of them.", type=PATH)
@click.option("--data", type=PATH, help="Rows to check for the fields that the criteria need.")
@as_json
def check(file: Path, data: Path | None, as_json: bool) -> int:
    """Check your own criteria for likely problems.

    Exit code 1 if there are errors, else 0.
    """
    count = len(raw_entries(file))
    findings = lint_file(file, field_names(data) if data else None)
    if as_json:
        print_results(
            "findings",
            {"criteria": count, **_counts(findings)},
            map(plain, findings),
            {"file": str(file)},
        )
    else:
        show_findings(findings, count, Screen(output_language()))
    return ExitCode.COULD_NOT_RUN if _counts(findings)["errors"] else ExitCode.OK


@criteria.command()
@argument("old", "A file of criteria.", type=PATH)
@argument("new", "A later version of the file.", type=PATH)
def diff(old: Path, new: Path) -> int:
    """Show how criteria changed: their wording, options, examples and golden cases. Exit code 0."""
    for line in criteria_diff(read_entries(old), read_entries(new)):
        echo(line)
    return ExitCode.OK


@criteria.command()
@argument("files", "Files of criteria, or names of criteria.", nargs=-1, required=True)
@click.option(
    "--lock", "path", type=PATH, default=Path("criteria.lock"), help="The file of hashes."
)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Write nothing; exit with 1 if anything differs from the lock.",
)
def lock(files: tuple[str, ...], path: Path, only_check: bool) -> int:
    """Store the version and hash of each criterion in a file, or check that they are unchanged."""
    if not only_check:
        locked = write_lock(files, path)
        echo(
            plural(
                "{count} criterion locked in {file}",
                "{count} criteria locked in {file}",
                len(locked),
                file=path,
            )
        )
        return ExitCode.OK
    changed = lock_changes(files, path)
    for line in changed:
        echo(line, err=True)
    return ExitCode.COULD_NOT_RUN if changed else ExitCode.OK


@criteria.command()
@argument("source", "github:OWNER/REPOSITORY@TAG/PATH.yaml.")
@click.option(
    "--to", "folder", type=PATH, default=Path("criteria"), help="Folder for the new file."
)
@click.option(
    "--lock", "path", type=PATH, default=Path("criteria.lock"), help="The file of hashes."
)
def add(source: str, folder: Path, path: Path) -> int:
    """Fetch criteria from a public repository once, into your own locked file.

    The lock records their source, licence and hash. Nothing is fetched while judging, and none of
    your files is overwritten.
    """
    remote = RemoteCriteria.of(source)
    file = folder / remote.path.name
    content = remote.fetch()
    if file.exists() and file.read_bytes() != content:
        raise RunError(
            "{file} already exists and differs: move it, or choose another folder with --to",
            file=file,
        )
    keep_criteria(file, content)
    locked = add_to_lock(str(file), path, origin=source, licence=remote.licence())
    echo(
        Message("{file}: {names}, locked in {lock}", file=file, names=", ".join(locked), lock=path)
    )
    return ExitCode.OK


def _counts(findings: list[Finding]) -> dict[str, int]:
    counts = Counter(finding.severity for finding in findings)
    return {"errors": counts["error"], "warnings": counts["warning"]}


class EntryShape(TypedDict):
    """Ready-made criteria in the catalogue."""

    kind: str
    language: str
    languages: Sequence[str]
    name: str
    description: str
    options: Sequence[CriteriaOption]
    to_evaluate_field: str
    context_fields: Annotated[Sequence[str] | None, "null: every other field of the row"]
    examples: Sequence[CriteriaExample]
    higher_is_better: Annotated[bool, "of the options' order; scores do not depend on it"]


def _as_json(entry: CatalogEntry) -> JsonDict:
    return fill(
        EntryShape,
        entry.criteria,
        kind=entry.kind,
        language=entry.language,
        languages=catalog.languages_of(entry.criteria.name),
    )
