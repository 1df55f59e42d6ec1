"""``adjudge criteria``: the ready-made criteria, and what is wrong with one's own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from adjudge.catalog import criteria as catalog
from adjudge.catalog.criteria_file import raw_entries
from adjudge.catalog.entry import CatalogEntry, Kind
from adjudge.catalog.lint import Finding, lint_file
from adjudge.cli.show_criteria import show_catalogue, show_entry, show_findings
from adjudge.data.dataset import field_names
from adjudge.domain.frozen import plain
from adjudge.reports.gate import ExitCode

app = typer.Typer()
Language = Annotated[str, typer.Option(help=f"Of the criteria: {' or '.join(catalog.languages())}.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@app.callback(invoke_without_command=True)
def criteria(
    context: typer.Context,
    kind: Annotated[Kind | None, typer.Option(help="Only those that judge one text, or only those that compare.")] = None,
    language: Language = "en",
    as_json: Json = False,
) -> int:
    """List the ready-made criteria; `show` prints one of them, `check` looks for mistakes in a file of your own."""
    if context.invoked_subcommand is not None:
        return ExitCode.OK
    entries = [entry for name in catalog.all_names(language) if kind in (None, (entry := catalog.entry(name, language)).kind)]
    if as_json:
        _print_json([_as_json(entry) for entry in entries])
    else:
        show_catalogue(entries, language)
    return ExitCode.OK


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Which criteria; `adjudge criteria` lists them.")],
    language: Language = "en",
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the file, as a starting point for your own.")] = False,
    as_json: Json = False,
) -> int:
    """Print everything about ready-made criteria: question, options with their scores, fields, golden examples."""
    entry = catalog.entry(name, language)
    if as_yaml:
        typer.echo(catalog.source(name, language), nl=False)
    elif as_json:
        _print_json(_as_json(entry))
    else:
        show_entry(entry, language)
    return ExitCode.OK


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A YAML or JSON file with one criteria or a list of them.")],
    data: Annotated[Path | None, typer.Option(help="Rows to be judged: do they have the fields?")] = None,
    as_json: Json = False,
) -> int:
    """Look for what is likely to go wrong with criteria of your own. Exit code 1 when there are errors, 0 when not."""
    count = len(raw_entries(file))
    findings = lint_file(file, field_names(data) if data else None)
    if as_json:
        _print_json({"file": str(file), "criteria": count, **_counts(findings), "findings": plain(findings)})
    else:
        show_findings(findings, count)
    return ExitCode.COULD_NOT_RUN if _counts(findings)["errors"] else ExitCode.OK


def _counts(findings: list[Finding]) -> dict[str, int]:
    found = Counter(finding.severity for finding in findings)
    return {"errors": found["error"], "warnings": found["warning"]}


def _as_json(entry: CatalogEntry) -> dict[str, object]:
    about = plain(entry.criteria)
    return {
        "kind": entry.kind,
        "language": entry.language,
        "languages": catalog.languages_of(entry.criteria.name),
        **(about if isinstance(about, dict) else {}),
    }


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
