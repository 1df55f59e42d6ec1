"""The commands by name. A command's module is loaded when it is called; until then one line of help stands for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command


class Command(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    name: str
    """The function, or ``app`` where the command has commands of its own."""
    help: str

    def load(self, called: str) -> Any:
        """The command itself."""
        found = getattr(import_module(f"adjudge.cli.{self.module}"), self.name)
        own = typer.Typer(add_completion=False, rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            own.add_typer(found, name=called)
            return cast(TyperGroup, get_command(own)).commands[called]
        own.command(called)(found)
        return get_command(own)


COMMANDS = {
    "check": Command("check", "check", "Judge texts against one criterion: pass or fail."),
    "judge": Command("judge", "judge", "Judge texts by criteria with options and scores."),
    "compare": Command("judge", "compare", "Say which of two or more responses is better."),
    "rag": Command("rag", "rag", "Score a RAG assistant's answers on six dimensions."),
    "run": Command("run", "run", "Run an eval file: data, judges, budget, gates."),
    "resume": Command("resume", "resume", "Resume a run that was stopped or killed."),
    "runs": Command("runs", "app", "Look at run folders: list, show, diff, recover, gc."),
    "export": Command("runs", "export_run", "Write a run to CSV, JSONL, Parquet, Markdown, HTML."),
    "generate": Command("generate", "generate", "Write code, keep what passes, run it in the sandbox."),
    "criteria": Command("criteria", "app", "List the ready-made criteria; check your own."),
    "models": Command("models", "app", "List the providers; pull the embedded model."),
    "doctor": Command("doctor", "doctor", "Check what is installed and which models answer."),
    "serve-model": Command("serve", "serve_model", "Serve the embedded weights over HTTP."),
}


class LazyCommands(TyperGroup):
    """Loads the one command that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the command in the place of its line of help."""
        called = args[0] if args else ""
        if called in COMMANDS:
            self.commands[called] = COMMANDS[called].load(called)
        return super().resolve_command(ctx, args)


def add_commands(app: typer.Typer) -> None:
    """Have ``app`` know every command by its line of help."""
    for called, command in COMMANDS.items():
        app.command(called, help=command.help)(lambda: None)
