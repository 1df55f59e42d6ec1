"""``adjudge``: the commands, and one line for whatever goes wrong."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer
from typer.exceptions import Exit, TyperException

import adjudge
from adjudge.cli.commands import LazyCommands, add_commands
from adjudge.errors import AdjudgeError
from adjudge.reports.gate import ExitCode

app = typer.Typer(
    name="adjudge",
    cls=LazyCommands,
    help="Judge the answers of language models, and know how sure the judgment is.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
add_commands(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adjudge {adjudge.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run a command; its exit code is the process's."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # half an emoji in a reply must not cost the report
    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        code = _show_usage(error)
    except AdjudgeError as error:
        code = _complain(str(error), ExitCode.COULD_NOT_RUN)
    except Exit as exit_:
        code = exit_.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = _complain("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; nothing is left to say
        code = ExitCode.COULD_NOT_RUN
    sys.exit(code or 0)


def _show_usage(error: TyperException) -> int:
    """A command of several commands that was called alone answers with its help, which keeps its lines."""
    if type(error).__name__ == "NoArgsIsHelpError":  # typer does not export it
        typer.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    return _complain(error.format_message(), ExitCode.USAGE)


def _complain(message: str, code: int) -> int:
    from adjudge.cli.show import clean  # not loaded by those who have nothing to complain of

    one_line = " ".join(message.split())
    typer.echo(clean(f"adjudge: {one_line}"), err=True)
    return code
