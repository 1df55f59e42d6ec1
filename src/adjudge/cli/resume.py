"""``adjudge resume``: the command that made a run, given again. One that somebody else may have put
there is shown first.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from adjudge.cli.batch import ORPHANS
from adjudge.cli.inputs import is_ours
from adjudge.cli.main import COMMANDS
from adjudge.cli.options import LANGUAGE, PATH, argument, command
from adjudge.cli.output import use_language
from adjudge.data.dataset import STDIN
from adjudge.engine.backends.ray.place import kept_facts
from adjudge.errors import RunError
from adjudge.ledger.file import holds_run
from adjudge.runs.eval_file import CascadeEntry, EvalFile, load_eval
from adjudge.runs.folder import run_info
from adjudge.runs.project import ServerEntry, find_project
from adjudge.view.terminal import clean

_RESUMABLE = ("run", "check", "judge", "compare", "rag", "generate", "bench", "criteria improve")
_RUN = ("run", "folder")
"""What commands call the run folder."""


@command()
@argument("folder", "A run folder.", type=PATH)
@argument("more", "Options to add, behind --.", nargs=-1)
@click.option(
    "--yes",
    is_flag=True,
    help="Resume also a run that was not made by you on this machine, without asking.",
)
@click.option(
    "--wait", is_flag=True, help="Wait for the batches of a run that was detached from them."
)
@click.option(
    "--batch",
    type=ORPHANS,
    help=(
        "Where it cannot be told whether a batch was sent: wait for those that may be it "
        "(adopt), or send it again (resubmit)."
    ),
)
@click.option(
    "--language",
    type=LANGUAGE,
    help="Of errors and questions; what is judged and reported keeps the run's language.",
)
@click.pass_context
def resume(
    context: click.Context,
    folder: Path,
    more: tuple[str, ...],
    yes: bool,
    wait: bool,
    batch: str | None,
    language: str | None,
) -> int:
    """Resume a run that was stopped or killed: the command that made it is given again, and asks
    only what is missing.

    A run that was not made by you on this machine is resumed when you have seen its command and
    said yes, or with --yes. Options behind -- are added to the command, such as: adjudge resume RUN
    -- --max-usd 10. Of a run with --batch, what was answered is collected, and the next batches are
    sent; with --detach nobody waits for those unless --wait says so.
    """
    if language:
        use_language(language)
    kept = _command(folder)
    ours = is_ours(kept)
    orphans = ("--batch-orphans", batch) if batch else ()
    words = _again(kept["argv"], folder.absolute(), (*orphans, *more), attached=wait)
    try:
        os.chdir(kept["cwd"])
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(
            clean(
                f"{kept['cwd']}, where the run was begun, cannot be entered: {reason}. Go "
                "on where its files are "
                f"now, with: adjudge {shlex.join(words)}"
            )
        ) from error
    if not ours:
        _confirm(folder, words, yes=yes)
    sys.argv[1:] = words
    try:
        return int(
            context.find_root().command.main(words, standalone_mode=False, obj=context.obj) or 0
        )
    finally:
        if language:
            use_language(language)


def _command(folder: Path) -> Mapping[str, Any]:
    """The command that made the run, if it is one that may be given again."""
    facts = _facts(folder)
    command: dict[str, Any] | None = facts.get("command")
    if "imported" in facts:
        again = f"adjudge run eval.yaml --data {folder}"
        raise RunError(
            "{folder} was imported, so there is nothing to resume: judge its rows anew with "
            "'{again}'",
            folder=folder,
            again=again,
        )
    if not command:
        raise RunError(
            "{folder} does not say which command made it: it was made by a program, or that "
            "was lost to damage. Run that program again, or the command with --run, and it "
            "goes on",
            folder=folder,
        )
    match command:
        case {"argv": [str(), *_] as argv, "cwd": str()} if all(
            isinstance(word, str) for word in argv
        ):
            pass
        case _:
            raise RunError(
                "{folder} holds a command that adjudge did not write: give the command "
                "itself, with --run {folder}",
                folder=folder,
            )
    called = " ".join(argv[:2]) if argv[0] == "criteria" else argv[0]
    if called not in _RESUMABLE or argv[0] not in COMMANDS:
        raise RunError(
            clean(f"{folder} was made by {argv[0]!r}, and only {', '.join(_RESUMABLE)} are resumed")
        )
    return command


def _facts(folder: Path) -> Mapping[str, Any]:
    """Of the run, or of workers whose driver was killed before there was a run."""
    if not holds_run(folder) and (kept := kept_facts(folder)):
        return kept
    return run_info(folder).facts


def _called(words: Sequence[str]) -> tuple[click.Command, int]:
    """The command that words call, and how many of them name it."""
    command = COMMANDS[words[0]]
    if isinstance(command, click.Group) and (
        inner := command.get_command(click.Context(command), words[1])
    ):
        return inner, 2
    return command, 1


def _again(
    argv: Sequence[str], folder: Path, more: Sequence[str], *, attached: bool = False
) -> list[str]:
    """The command in this folder, with further options before what is not to be taken for options.

    They take the place of those of the same name, so that the command does not grow with every
    resume. ``attached``: without --detach. What was decided about a batch once is not decided for
    the next one.
    """
    command, named = _called(argv)
    place = argv.index("--") if "--" in argv else len(argv)
    new = ["--run", str(folder), *more]
    replaced = [option for option, _ in _by_option(command, new) if option and not option.multiple]
    dropped = ("orphans", "detach") if attached else ("orphans",)
    replaced += [
        one for one in command.params if isinstance(one, click.Option) and one.name in dropped
    ]
    kept = [
        words
        for option, words in _by_option(command, argv[named:place])
        if option is None or option not in replaced
    ]
    return [*argv[:named], *chain.from_iterable(kept), *new, *argv[place:]]


def _by_option(
    command: click.Command, words: Sequence[str]
) -> Iterator[tuple[click.Option | None, list[str]]]:
    """Each option with its value, as the command reads them; an argument has no option."""
    options = {
        name: one
        for one in command.params
        if isinstance(one, click.Option)
        for name in (*one.opts, *one.secondary_opts)
    }
    left = deque(words)
    while left:
        word = left.popleft()
        name, equals, _ = word.partition("=") if word.startswith("--") else (word[:2], word[2:], "")
        option = options.get(name)
        if option and option.is_flag and equals and not word.startswith("--"):  # -qj 4 is -q -j 4
            left.appendleft(f"-{word[2:]}")
            word = name
        has_value = option is not None and not option.is_flag and not equals and left
        yield option, [word, left.popleft()] if has_value else [word]


def _confirm(folder: Path, words: list[str], *, yes: bool) -> None:
    """Show what the command would read, write and ask, and have the user agree to it."""
    command, named = _called(words)
    given = command.make_context(words[named - 1], words[named:]).params
    if given.get("sandbox") == "none":
        raise RunError(
            "{folder} was not made by you on this machine, and its command runs code "
            "without a sandbox: it is not resumed. Give the command yourself, with --run, "
            "if that is what you want",
            folder=folder,
        )
    shown = [
        f"{folder} was not made by you on this machine. Resuming it gives this command:",
        f"  adjudge {shlex.join(words)}",
        f"  in      {Path.cwd()}",
        *(f"  {verb:<7} {what}" for verb, what in dict.fromkeys(_what_it_does(words[0], given))),
    ]
    for line in shown:
        click.echo(
            clean(line).replace("\n", "�"), err=True
        )  # each is one line, whatever the folder says
    if yes:
        return
    if not sys.stdin.isatty():
        raise RunError(
            "{folder} was not made by you on this machine: look at the command above, and "
            "add --yes to resume it",
            folder=folder,
        )
    if not click.confirm("Resume it?", err=True):
        raise RunError("it is not resumed")


def _what_it_does(name: str, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(reads, writes, asks or runs; what) of a command's parameters, and of the eval file that is
    one of them.
    """
    for parameter, value in given.items():
        for one in filter(None, value if isinstance(value, list | tuple) else [value]):
            if isinstance(one, Path) and parameter not in _RUN:
                yield "writes" if parameter == "output" else "reads", _place(one)
            elif parameter == "write":
                yield "writes", _place(Path(one))
            elif (parameter == "named" and Path(one).suffix) or (
                parameter == "output_schema" and one.endswith(".json")
            ):
                yield "reads", _place(Path(one))
            elif (
                parameter in ("model", "model_provider", "model_name", "judge", "writer")
                or "url" in parameter
            ):
                yield "asks", str(one)
            elif parameter == "api_key_env":
                yield "sends", f"${one}"
            elif parameter == "command":
                yield "runs", str(one)
            elif parameter == "header":
                yield "sends", ": ".join(one)
    if name == "generate":
        yield "runs", "code that the models write, in a sandbox"
    project = find_project()
    if project.path:
        yield "reads", _place(project.path)
        yield from _what_it_sends(project)
    if name == "run" and given["file"] and given["file"].is_file():
        yield from _what_it_says(load_eval(given["file"], project, given["data"]))


def _what_it_says(file: EvalFile) -> Iterator[tuple[str, str]]:
    yield "reads", _place(file.source)
    for path in file.output_paths:
        yield "writes", _place(path)
    cascades = [one for one in file.judges if isinstance(one, CascadeEntry)]
    for learnt in filter(None, (one.calibration for one in cascades)):
        yield "reads", _place(file.beside(learnt))
    steps = (step for one in cascades for step in one.cascade)
    for entry in (
        *file.models,
        *(model for judge in file.judges for model in judge.models),
        *steps,
    ):
        yield "asks", f"{entry.model} at {entry.base_url}" if entry.base_url else entry.model
        yield from _what_it_sends(entry)


def _what_it_sends(server: ServerEntry) -> Iterator[tuple[str, str]]:
    if server.api_key_env:
        yield "sends", f"${server.api_key_env}"
    for header in server.headers:
        yield "sends", ": ".join(header)


def _place(path: Path) -> str:
    return "standard input" if str(path) == STDIN else str(path.absolute())
