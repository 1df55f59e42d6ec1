"""``adjudge``: the commands, and one line for whatever goes wrong."""

from __future__ import annotations

import atexit
import gc
import io
import logging
import signal
import sys
from time import monotonic
from typing import TYPE_CHECKING

import click

import adjudge
from adjudge.cli.shell_names import COMPLETE_VARIABLE
from adjudge.errors import AdjudgeError
from adjudge.plugins import Parts
from adjudge.results.exit_code import INTERRUPTED, ExitCode

if TYPE_CHECKING:
    from types import FrameType

    from click.shell_completion import CompletionItem


_SAME_SIGNAL = 0.5
"""Seconds within which a second SIGTERM is the first."""


COMMANDS: Parts[click.Command] = Parts("commands")
HELP = {
    "init": "Write files to begin with: an eval file, tests, a workflow.",
    "check": "Judge texts against one criterion: pass or fail.",
    "judge": "Judge texts by criteria with options and scores.",
    "compare": "Say which of two or more responses is better.",
    "rag": "Score a RAG assistant's answers on six dimensions.",
    "run": "Run an eval file: data, judges, budget, gates.",
    "resume": "Resume a run that was stopped or killed.",
    "runs": "Look at run folders: list, show, diff, recover, gc.",
    "export": "Write a run to CSV, JSONL, Parquet, Markdown, HTML.",
    "report": "Report on a run for CI and reviewers: JUnit, GitHub.",
    "import": "Make a run of another tool's judgments and labels.",
    "view": "Look at runs, label and compare them in a browser.",
    "label": "Label rows by hand, blind; import and export labels.",
    "calibrate": "Correct a run's numbers by people's labels, or say why not.",
    "rank": "Rank the systems that a run compares.",
    "bench": "Rank judges by how well they agree with people.",
    "judge-card": "Print a page about a run's judges: what, how, how well.",
    "generate": "Write code, keep what passes, run it in the sandbox.",
    "criteria": "List the ready-made criteria; check your own.",
    "models": "List the providers; pull the embedded model.",
    "plugins": "List what installed plugins bring, and what is broken.",
    "doctor": "Check what is installed and which models answer.",
    "schema": "Print the JSON schema of what --json prints.",
    "serve": "Serve judging, criteria and runs as a JSON API.",
    "mcp": "Serve judging to assistants over MCP.",
    "completion": "Print what a shell needs to complete commands.",
    "serve-model": "Serve the embedded weights over HTTP.",
}
"""What the list of commands says of each of ours, which is not loaded for that."""


class LazyCommands(click.Group):
    """Loads the one command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Our own, in the order people meet them; ``adjudge plugins`` lists the others."""
        return list(HELP)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, loaded now."""
        found = COMMANDS.get(cmd_name)
        # What was loaded stays, so the garbage collector need not look at it.
        if not gc.isenabled():  # by ``main``: in somebody else's process it is left alone
            gc.freeze()
            gc.enable()
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """With a guess at what was meant where there is no such command."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{_guess(args[0])}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """What a plugin's command raises is one line, too."""
        try:
            return super().invoke(ctx)
        except (AdjudgeError, click.ClickException, click.Abort, click.exceptions.Exit, OSError):
            raise
        except Exception as error:
            part = COMMANDS.find(ctx.invoked_subcommand or "init")
            if part is None or not part.package:
                raise
            raise part.error(f"{type(error).__name__}: {error}") from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=help)
            for name, help in HELP.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """From the table: no command is loaded to be listed."""
        with formatter.section("Commands"):
            formatter.write_dl(list(HELP.items()))


def _guess(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    return f" Did you mean {near[0]!r}?" if near else ""


@click.group(
    cls=LazyCommands,
    name="adjudge",
    invoke_without_command=True,
    context_settings={"show_default": True},
)
@click.version_option(
    adjudge.__version__, message="adjudge %(version)s", help="Print the version and stop."
)
@click.pass_context
def app(context: click.Context) -> None:
    """Judge the answers of language models, and know how sure the judgment is."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class _Warnings(logging.Handler):
    """Warnings of the package, in the language that the command speaks."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line on standard error."""
        click.echo(_in_its_language(record.getMessage()), err=True)


class Terminated:
    """SIGTERM is taken for Ctrl-C.

    ``timeout`` sends it twice, to the process and to its group: that is one.
    """

    def __init__(self) -> None:
        self._last = -_SAME_SIGNAL

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if (now := monotonic()) - self._last >= _SAME_SIGNAL:
            self._last = now
            signal.default_int_handler(signum, frame)


def main() -> None:
    """Run a command; its exit code is the process's."""
    logging.getLogger("adjudge").addHandler(_Warnings(logging.WARNING))
    # loading makes no garbage, and a fifth of a short command went into looking for it; see
    # ``Entry.load``
    gc.disable()
    atexit.register(gc.freeze)  # nor does the end of the process need another look
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # half an emoji in a reply must not cost the report
    signal.signal(
        signal.SIGTERM, Terminated()
    )  # also where a shell left Ctrl-C ignored: behind an & in a script
    try:
        code = app(standalone_mode=False, complete_var=COMPLETE_VARIABLE)
    except click.ClickException as error:
        code = _show_usage(error)
    except AdjudgeError as error:
        code = _complain(str(error), ExitCode.COULD_NOT_RUN)
    except (KeyboardInterrupt, click.Abort) as error:
        code = _complain(str(error) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; nothing is left to say
        code = ExitCode.COULD_NOT_RUN
    except OSError as error:
        code = _complain(_of_the_system(error), ExitCode.COULD_NOT_RUN)
        sys.stdout = None  # what it still holds found no room, and would be tried again at the end
    sys.exit(code or 0)


def _of_the_system(error: OSError) -> str:
    """Such as a full disk behind standard output."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


def _show_usage(error: click.ClickException) -> int:
    """A command of several commands that was called alone answers with its help, which keeps its
    lines.
    """
    if type(error).__name__ == "NoArgsIsHelpError":  # not in every click 8
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    return _complain(error.format_message(), ExitCode.USAGE)


def _complain(message: str, code: int) -> int:
    click.echo(f"adjudge: {_in_its_language(' '.join(message.split()))}", err=True)
    return code


def _in_its_language(message: str) -> str:
    from adjudge.cli.inputs import spoken  # not loaded by those who have nothing to complain of
    from adjudge.cli.show import clean
    from adjudge.results.russian import localised

    return clean(localised(message, spoken()))
