"""``adjudge schema``: the JSON schema of what ``--json`` prints."""

from __future__ import annotations

import json

import click

from adjudge.runs.cli.options import CommandGroup
from adjudge.runs.exporters.json_schema import results_schema


@click.group(cls=CommandGroup, no_args_is_help=True)
def schema() -> None:
    """Print the JSON schemas of what adjudge prints."""


@schema.command()
def results() -> int:
    """The output of --json, for every command that has it."""
    click.echo(json.dumps(results_schema(), ensure_ascii=False, indent=2))
    return 0
