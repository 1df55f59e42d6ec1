"""``adjudge trust``: list and change which folders are trusted."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from adjudge.core.aio.files import from_here
from adjudge.core.ledger.file import FILE as LEDGER
from adjudge.core.reading.project_files import FILE, PYPROJECT
from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import Message, plural, render
from adjudge.runs.cli.options import PATH, argument, command
from adjudge.runs.cli.output import echo, output
from adjudge.runs.cli.trust_question import show_needs
from adjudge.runs.project import find_project
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.trusted_folders import (
    TrustedFile,
    files_of_env,
    files_of_eval,
    files_of_project,
    forget,
    remember,
    trusted_files,
)
from adjudge.runs.variables import ENV_FILE, EnvFile

_ENDINGS = (".yaml", ".yml")
_KEYS = ("judges:", "checks:")
"""One of them begins a line of every eval file."""
_NOT_ENTERED = frozenset(("node_modules", "__pycache__", "site-packages"))
_LARGEST = 1 << 20


@command()
@argument("path", "An eval file, or a folder of them.", type=PATH, default=Path(), required=False)
@click.option("--yes", is_flag=True, help="Trust it without asking, for use without a terminal.")
@click.option("--list", "is_list", is_flag=True, help="List what you trust.")
@click.option("--forget", "is_forgotten", is_flag=True, help="Revoke the trust.")
def trust(path: Path, yes: bool, is_list: bool, is_forgotten: bool) -> int:
    """Show what the files of a folder need beyond the limits of a restricted folder, and trust
    them.

    A folder is restricted until you trust it: its eval files ask known providers at their own
    addresses, read files below the folder and spend $5 at most. Whatever goes beyond that (code,
    commands, other addresses, keys, environment variables, .env, settings of adjudge.toml) is
    listed here with its file and field. Your trust is stored in your home folder with a hash of
    every file; if a file changes, you are asked again.
    """
    if is_list:
        for file, needs in trusted_files():
            echo(plural("{file}: {count} need", "{file}: {count} needs", needs, file=file))
        return ExitCode.OK
    if is_forgotten:
        count = forget(path)
        echo(
            plural(
                "{count} file is no longer trusted", "{count} files are no longer trusted", count
            )
        )
        return ExitCode.OK
    files = _files_at(path)
    if not any(file.needs for file in files):
        echo(
            Message(
                "{path} needs no trust, because it does nothing that a restricted folder may not "
                "do",
                path=path,
            )
        )
        return ExitCode.OK
    show_needs(files)
    if not yes:
        if not sys.stdin.isatty():
            raise SetupError(
                "there is no terminal for a question: check what is shown, and add --yes"
            )
        if not click.confirm(render(Message("Trust it?"), output().language), err=True):
            raise SetupError("{file} is not trusted", file=path)
    remember(files)
    if unknown := [file for file in files if not file.is_trusted]:
        raise SetupError(
            "the trust in {file} cannot be stored: the folder for it is not writable, or it "
            "contains too many programs",
            file=from_here(unknown[0].path),
        )
    echo(Message("{path} is trusted until one of its files changes", path=path))
    return ExitCode.OK


def _files_at(path: Path) -> list[TrustedFile]:
    if not path.exists():
        raise SetupError("{path} does not exist", path=path)
    folder = path if path.is_dir() else path.parent
    # commands use the project of the working folder, wherever the eval file is
    trusted_files = [*files_of_project(find_project(folder)), *files_of_project(find_project())]
    if path.name in (FILE, PYPROJECT):
        return trusted_files
    if path.name == ENV_FILE:
        return files_of_env(EnvFile.beside(folder))
    evals = [path] if path.is_file() else list(_eval_files(path))
    for file in evals:
        try:
            trusted_files += [*files_of_project(find_project(file.parent)), *files_of_eval(file)]
        except AdjudgeError as error:
            if path.is_file():
                raise
            echo(Message("left out: {why}", why=error), err=True)
    return list({file.path: file for file in trusted_files}.values())


def _eval_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that look like eval files. Links, hidden folders, run folders
    and environments are skipped.
    """
    for parent, folders, files in os.walk(folder):
        if LEDGER in files or "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = sorted(
            folder_name
            for folder_name in folders
            if folder_name[0] != "." and folder_name not in _NOT_ENTERED
        )
        for name in sorted(files):
            path = Path(parent, name)
            if path.suffix.lower() in _ENDINGS and not path.is_symlink() and _is_eval(path):
                yield path


def _is_eval(path: Path) -> bool:
    try:
        if path.stat().st_size > _LARGEST:
            return False
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(line.startswith(_KEYS) for line in text.splitlines())
