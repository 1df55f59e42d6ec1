"""Code that an eval file runs: shown and confirmed once, unless it was typed or confirmed here
before.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adjudge.cli.kept import is_known, remember
from adjudge.cli.output import echo, output
from adjudge.domain.json_types import JsonDict
from adjudge.errors import SetupError
from adjudge.messages import Message, render
from adjudge.runs.code_in import code_files, code_in
from adjudge.runs.eval_file import EvalFile
from adjudge.view.clean_text import clean


def confirm_code(file: EvalFile, *, yes: bool) -> None:
    """Go on with the file only where this user knows what it runs."""
    code = code_in(file)
    if not code:
        return
    files = code_files(file)
    record: JsonDict = {
        "eval": str(Path(file.path).resolve()),
        "runs": [str(one) for one in code],
        "files": dict(files),
    }
    if is_known(record):
        return
    if not yes:
        echo(
            Message(
                "{file} runs code on this machine, sends what it keeps, or writes elsewhere:",
                file=file.path,
            ),
            err=True,
        )
        for one in (*code, *files):
            told = clean(render(one, output().language)).replace("\n", "�")
            click.echo(f"  {told}", err=True)
        if not sys.stdin.isatty():
            raise SetupError(
                "{file} does what is shown above, which was not confirmed on this machine: look at "
                "it, and add --yes",
                file=file.path,
            )
        if not click.confirm(render(Message("Run it?"), output().language), err=True):
            raise SetupError("nothing was run")
    remember(record)
