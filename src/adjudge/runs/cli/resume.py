"""``adjudge resume``: run the eval file that a run folder keeps. If another person may have put it
there, show first what it does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import get_args

import click

from adjudge.core.data.dataset import STDIN
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.core.ledger.file import holds_run
from adjudge.core.ledger.pending import Orphans
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import RunError
from adjudge.messages import Message, render, term
from adjudge.runs.cli.main import COMMANDS
from adjudge.runs.cli.options import LANGUAGE, PATH, argument, command, use_trust
from adjudge.runs.cli.output import output, use_language
from adjudge.runs.cli.stored_headers import (
    HiddenHeader,
    hidden_headers,
    with_hidden_headers,
    without_hidden_headers,
)
from adjudge.runs.cli.stored_options import FACT, Kept, is_known, read_kept
from adjudge.runs.cli.trust_question import print_line
from adjudge.runs.cli.typed_values import header_line
from adjudge.runs.criteria_entry import CRITERIA_FILES, Aspect
from adjudge.runs.eval_file import EvalFile, FailUnder, JudgeEntry
from adjudge.runs.folder import run_info
from adjudge.runs.partitions import kept_facts
from adjudge.runs.project import ModelEntry, ServerEntry
from adjudge.runs.restrictions import READS, RUNS, SENDS, SPENDS, WRITES, needs_of_eval
from adjudge.runs.results.gate import bars_of
from adjudge.runs.variables import ENV_FILE

_MODELS = ("model", "judge", "writer")
_ASKS, _JUDGES = term("resume", "asks"), term("resume", "judges")
_LIMITS = ("max_usd", "max_calls", "max_tokens")


@command()
@argument("folder", "A run folder.", type=PATH)
@argument("more", "Additional options, after --.", nargs=-1)
@click.option(
    "--trust",
    "--yes",
    "yes",
    is_flag=True,
    callback=use_trust,
    help="Resume without asking, even if the run was not made by you on this machine.",
)
@click.option(
    "--wait", is_flag=True, help="Wait for the batches of a run that was detached from them."
)
@click.option(
    "--batch",
    type=click.Choice(get_args(Orphans)),
    help=(
        "If it is unclear whether a batch was sent: wait for the batches that may be it (adopt), "
        "or send it again (resubmit)."
    ),
)
@click.option(
    "--language",
    type=LANGUAGE,
    help="Language of errors and questions; prompts and reports keep the run's language.",
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
    """Resume a run that was stopped or killed: run the eval file in its folder again, asking
    only for missing answers.

    The folder contains the eval file, or the options of 'check', 'judge', 'compare' or 'rag' as an
    eval file, as it was when the run began; 'generate', 'bench', 'attack', 'drift check' and
    'criteria improve' are resumed with their options. A run that you did not make on this machine
    is resumed only after you have seen what it does and agreed, or with --trust. Options of
    'adjudge run' may follow after --, for example: adjudge resume RUN -- --max-usd 10. For a run
    with --batch, answers are collected and the next batches are sent; with --detach it does not
    wait for those, unless you add --wait.
    """
    if language:
        use_language(language)
    record = _record(folder)
    hidden = hidden_headers(record)
    # values of hidden headers are looked up after the question whether to resume at all
    stored_run = read_kept(without_hidden_headers(record) if hidden else record, folder)
    options = {
        name: value for name, value in stored_run.options.items() if not wait or name != "detach"
    }
    orphans = ("--batch-orphans", batch) if batch else ()
    called = "run" if isinstance(stored_run.what, EvalFile) else stored_run.what
    with _find_command(called).make_context(
        called,
        ["--run", str(folder), *orphans, *more],
        parent=context,
        obj=stored_run.project,
        default_map=options,
    ) as inner:
        file = stored_run.what if isinstance(stored_run.what, EvalFile) else None
        if not is_known(record, file):
            _confirm(folder, stored_run, hidden, inner.params, yes=yes)
        if hidden:
            typed = inner.params.get("header") or ()
            full = with_hidden_headers(record, folder, file, typed)
            stored_run = read_kept(full, folder)
            inner.obj = stored_run.project
            if not isinstance(stored_run.what, EvalFile):
                typed = (*_headers_of_options(stored_run.options), *typed)
            elif not (inner.params.get("model") or inner.params.get("base_url")):
                # a typed value of a hidden header has its place, and goes to no other server
                names = {header.name.lower() for header in hidden}
                typed = tuple(header for header in typed if header[0].lower() not in names)
            inner.params["header"] = typed
        if isinstance(stored_run.what, EvalFile):
            inner.params["file"] = stored_run.what
            inner.params["fail_under"] = _bars(inner, options)
        try:
            return int(inner.command.invoke(inner) or 0)
        finally:
            # the command printed in the run's language; errors from here on are in the typed one
            if language:
                use_language(language)


def _bars(run: click.Context, kept: JsonObject) -> FailUnder | None:
    """Return the bars that the run was started with, overridden by typed ones of the same name."""
    typed_bars: FailUnder | None = run.params["fail_under"]
    if typed_bars is None or "fail_under" not in kept:
        return typed_bars
    option = next(parameter for parameter in run.command.params if parameter.name == "fail_under")
    first_bars: FailUnder | None = option.process_value(run, kept["fail_under"])
    return tuple({**bars_of(first_bars), **bars_of(typed_bars)}.items())


def _headers_of_options(options: JsonObject) -> Iterator[tuple[str, str]]:
    lines = options.get("header")
    yield from (header_line(str(line)) for line in (lines if isinstance(lines, list) else ()))


def _record(folder: Path) -> JsonObject:
    """Return the stored record for resuming. Raises a RunError for an imported run, or without a
    record.
    """
    facts = _stored_facts(folder)
    if "imported" in facts:
        again = f"adjudge run eval.yaml --data {folder}"
        raise RunError(
            "{folder} was imported, so there is nothing to resume: judge its rows again with "
            "'{again}'",
            folder=folder,
            again=again,
        )
    if FACT not in facts:
        raise RunError(
            "{folder} contains no eval file, because it was created by a program or the file was "
            "lost. To continue, run that program again, or the command with --run",
            folder=folder,
        )
    return object_in(facts[FACT])


def _stored_facts(folder: Path) -> JsonObject:
    """Return the run's facts, or the workers' if their driver was killed before it created the
    run.
    """
    if not holds_run(folder) and (facts_of_workers := kept_facts(folder)):
        return facts_of_workers
    return run_info(folder).facts


def _find_command(name: str) -> click.Command:
    group_name, _, command_name = name.partition(" ")
    found_command = COMMANDS[group_name]
    if not isinstance(found_command, click.Group):
        return found_command
    return found_command.get_command(click.Context(found_command), command_name) or found_command


def _confirm(
    folder: Path,
    kept: Kept,
    hidden: Iterable[HiddenHeader],
    given: JsonObject,
    *,
    yes: bool,
) -> None:
    """Show what resuming would read, write and send, and ask the user to agree unless ``yes``.

    Raises a RunError if the user declines or cannot be asked, or if code would run without a
    sandbox.
    """
    if given.get("sandbox") == "none":
        raise RunError(
            "{folder} was not created by you on this machine and runs code without a sandbox, so "
            "it is not resumed. If you want that, enter the command yourself, with --run",
            folder=folder,
        )
    language = output().language
    lines = [
        render(
            Message("{folder} was not created by you on this machine. Resuming it", folder=folder),
            language,
        )
    ]
    actions = [
        (render(verb, language), render(what, language))
        for verb, what in dict.fromkeys(
            chain(_what_it_does(kept, given), ((SENDS, f"{header.name}: …") for header in hidden))
        )
    ]
    width = max(len(verb) for verb, _ in actions)
    lines += [f"  {verb:<{width}}  {what}" for verb, what in actions]
    for line in lines:
        print_line(line)
    if yes:
        return
    if not sys.stdin.isatty():
        raise RunError(
            "{folder} was not created by you on this machine: check what it does, above, and add "
            "--trust to resume it",
            folder=folder,
        )
    if not click.confirm(render(Message("Resume it?"), language), err=True):
        raise RunError("it is not resumed")


def _what_it_does(kept: Kept, given: JsonObject) -> Iterator[tuple[Message, str]]:
    """Yield what the eval file and the options do, as pairs of a verb such as "reads" and its
    object.
    """
    if isinstance(kept.what, EvalFile):
        yield from _what_file_does(kept.what)
        yield from _what_it_sends(kept.project if given["model"] else ServerEntry())
    else:
        yield RUNS, f"adjudge {kept.what}"
        yield from _what_it_sends(kept.project)
        if kept.project.model and not given["model"]:
            yield _ASKS, kept.project.model
    for name, value in given.items():
        for part in filter(None, value if isinstance(value, list | tuple) else [value]):
            yield from _what_option_does(name, part)
    if kept.what == "generate":
        yield RUNS, Message("code written by models, in a sandbox")
    limits = [f"{name}={given[name]}" for name in _LIMITS if given.get(name) is not None]
    if isinstance(kept.what, EvalFile) and not limits:
        budget = kept.what.budget
        limits = [
            f"{name}={limit}" for name in _LIMITS if (limit := getattr(budget, name)) is not None
        ]
    most = Message("at most {limits}", limits=", ".join(limits))
    yield SPENDS, most if limits else Message("without a limit")


def _what_option_does(name: str, value: object) -> Iterator[tuple[Message, str]]:
    if name in ("run", "folder"):
        return
    if isinstance(value, Path):
        yield WRITES if name == "output" else READS, _place(value)
    elif name == "write":
        yield WRITES, _place(Path(str(value)))
    elif name in ("named", "output_schema") and Path(str(value)).suffix:
        yield READS, _place(Path(str(value)))
    elif name == "not_worse_than":
        yield READS, str(value)
    elif name in _MODELS or "url" in name:
        yield _ASKS, str(value)
    elif name == "api_key_env":
        yield SENDS, f"${value}"
    elif name == "command":
        yield RUNS, str(value)
    elif name in ("on", "store"):
        yield SENDS, Message("rows and answers to {place}", place=value)
    elif name == "header" and isinstance(value, tuple):
        yield SENDS, ": ".join(value)


def _what_file_does(file: EvalFile) -> Iterator[tuple[Message, str]]:
    for need in needs_of_eval(file):
        yield need.verb, need.what
    for target in file.target:
        if target.url or target.model:
            yield _ASKS, target.url or target.model or ""
        yield from _what_it_sends(target)
        for prompt in target.prompts or file.prompts:
            yield READS, _place(file.beside(prompt))
    if file.beside(ENV_FILE).is_file():
        yield READS, _place(file.beside(ENV_FILE))
    if file.data.path:
        yield READS, _place(file.source)
    for path in file.output_paths:
        yield WRITES, _place(path)
    for judge in file.judges:
        for _, name in judge.named_files():
            yield READS, _place(file.beside(name))
        yield from _what_criteria_say(judge)
    if file.gates.not_worse_than:
        yield READS, _place(file.beside(file.gates.not_worse_than))
    for entry in file.all_models:
        yield _ASKS, _model_text(entry)
        yield from _what_it_sends(entry)


def _what_criteria_say(judge: JudgeEntry) -> Iterator[tuple[Message, str]]:
    """Yield the criteria that are ready-made or written in the eval file."""
    for entry in getattr(judge, "criteria", ()):
        match entry.what:
            case str(text) if Path(text).suffix.lower() in CRITERIA_FILES:
                pass  # the file that is read says them
            case str(text):
                yield _JUDGES, f"{judge.kind}: {text}"
            case Criteria() | Aspect() as criterion:
                yield _JUDGES, f"{judge.kind}: {criterion.name}"
            case definition:
                yield _JUDGES, f"{judge.kind}: {definition.get('name')}"


def _what_it_sends(server: ServerEntry) -> Iterator[tuple[Message, str]]:
    if server.api_key_env:
        yield SENDS, f"${server.api_key_env}"
    for header in server.headers:
        yield SENDS, ": ".join(header)


def _place(path: Path | ObjectFile) -> str:
    return Message("standard input") if str(path) == STDIN else str(path.absolute())


def _model_text(entry: ModelEntry) -> str:
    if not entry.base_url:
        return entry.model
    return Message("{model} at {place}", model=entry.model, place=entry.base_url)
