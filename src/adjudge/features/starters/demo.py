"""``adjudge demo``: example answers judged at once, without a key."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from adjudge.features.rag.command import rag
from adjudge.features.starters.command import example, write_starter
from adjudge.messages import Message
from adjudge.runs.cli.options import PATH, command
from adjudge.runs.cli.output import echo, output
from adjudge.runs.trusted_folders import own_folder

_FOLDER = Path("adjudge-demo")
_ROWS = "rag.csv"


@command()
@click.option("--folder", type=PATH, default=_FOLDER, help="Folder for rows and reports.")
@click.option("-m", "--model", help="Model to ask, as provider/model. Default: the embedded model.")
def demo(folder: Path, model: str | None) -> int:
    """Judge twelve answers of a shop's assistant on six dimensions, and show the report.

    No key is needed: the embedded model judges on this machine. On the first call its weights are
    fetched once.
    """
    rows = own_folder(folder) / _ROWS
    if rows.exists():
        echo(Message("Your rows in {file}, judged on six dimensions:", file=rows))
    else:
        echo(write_starter(rows, example(_ROWS)))
        echo(Message("Twelve answers of a shop's assistant, judged on six dimensions:"))
    words = ["--csv", str(rows), "--output", str(folder / "reports")]
    words += ["-m", model] if model else []
    click.echo(f"  {shlex.join(['adjudge', 'rag', *words])}")
    code: int = rag.main(words, prog_name="adjudge rag", standalone_mode=False, obj=output())
    echo(Message("Open {file} in a browser. Next: adjudge init", file=folder / "reports"))
    return code
