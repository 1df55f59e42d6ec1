"""The commands by name. A command's module is loaded when it is called; until then one line of help stands for it."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import NamedTuple

import click


class Entry(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    name: str
    help: str

    def load(self) -> click.Command:
        """The command itself. What was loaded stays, so the garbage collector need not look at it."""
        found: click.Command = getattr(import_module(f"adjudge.cli.{self.module}"), self.name)
        if not gc.isenabled():  # by ``main``: in somebody else's process it is left alone
            gc.freeze()
            gc.enable()
        return found


COMMANDS = {
    "check": Entry("check", "check", "Judge texts against one criterion: pass or fail."),
    "judge": Entry("judge", "judge", "Judge texts by criteria with options and scores."),
    "compare": Entry("judge", "compare", "Say which of two or more responses is better."),
    "rag": Entry("rag", "rag", "Score a RAG assistant's answers on six dimensions."),
    "run": Entry("run", "run", "Run an eval file: data, judges, budget, gates."),
    "resume": Entry("resume", "resume", "Resume a run that was stopped or killed."),
    "runs": Entry("runs", "runs", "Look at run folders: list, show, diff, recover, gc."),
    "export": Entry("runs", "export_run", "Write a run to CSV, JSONL, Parquet, Markdown, HTML."),
    "import": Entry("import_run", "import_run", "Make a run of another tool's judgments and labels."),
    "label": Entry("label", "label", "Label rows by hand, blind; import and export labels."),
    "calibrate": Entry("calibrate", "calibrate", "Correct a run's numbers by people's labels, or say why not."),
    "rank": Entry("rank", "rank", "Rank the systems that a run compares."),
    "judge-card": Entry("judge_card", "judge_card", "Print a page about a run's judges: what, how, how well."),
    "generate": Entry("generate", "generate", "Write code, keep what passes, run it in the sandbox."),
    "criteria": Entry("criteria", "criteria", "List the ready-made criteria; check your own."),
    "models": Entry("models", "models", "List the providers; pull the embedded model."),
    "doctor": Entry("doctor", "doctor", "Check what is installed and which models answer."),
    "schema": Entry("schema", "schema", "Print the JSON schema of what --json prints."),
    "serve-model": Entry("serve", "serve_model", "Serve the embedded weights over HTTP."),
}


class LazyCommands(click.Group):
    """Loads the one command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All of them, in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, loaded now."""
        return COMMANDS[cmd_name].load() if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """With a guess at what was meant where there is no such command."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{_guess(args[0])}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """From the table: no command is loaded to be listed."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


def _guess(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    return f" Did you mean {near[0]!r}?" if near else ""
