"""The command ``adjudge``: its subcommands, and a one-line message for every error."""

from __future__ import annotations

import atexit
import gc
import io
import logging
import signal
import sys
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from adjudge.errors import AdjudgeError
from adjudge.messages import Message, join, reason_of, render
from adjudge.plugins import Parts
from adjudge.runs.cli.help import HelpfulGroup, write_commands
from adjudge.runs.cli.output import Output, output_of
from adjudge.runs.cli.shell_names import COMPLETE_VARIABLE
from adjudge.runs.cli.usage import usage_message
from adjudge.runs.results.exit_code import INTERRUPTED, ExitCode
from adjudge.version import __version__

if TYPE_CHECKING:
    from types import FrameType

    from click.shell_completion import CompletionItem


_SAME_SIGNAL = 0.5
"""Seconds within which a second SIGTERM is the first."""


COMMANDS: Parts[click.Command] = Parts("commands")
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Judge": {
        "demo": "Judge example answers without a key, and show a report.",
        "init": "Write starter files: an eval file, tests, a workflow.",
        "check": "Judge texts against one criterion: pass or fail.",
        "judge": "Judge texts by criteria with options and scores.",
        "compare": "Say which of two or more responses is better.",
        "rag": "Score a RAG assistant's answers on six dimensions.",
        "agent": "Measure agents from the traces of any tool.",
        "conversations": "Check, record and compare simulated conversations.",
        "rubric": "Judge rows by weighted points; check, propose, compare.",
        "generate": "Write code, keep what passes, run it in the sandbox.",
    },
    "Run": {
        "run": "Run an eval file: data, judges, budget, gates.",
        "resume": "Resume a run that was stopped or killed.",
        "follow": "Judge a sample of production traffic as it arrives.",
        "trust": "Trust a folder's files, or revoke that trust.",
    },
    "Look": {
        "view": "Browse, label and compare runs in a browser.",
        "runs": "Inspect run folders: list, show, diff, recover, gc.",
        "report": "Report on a run for CI and reviewers: JUnit, GitHub.",
        "export": "Write a run to CSV, JSONL, Parquet, Markdown, HTML.",
        "import": "Import another tool's judgments and labels as a run.",
    },
    "Trust": {
        "label": "Label rows by hand, blind; import and export labels.",
        "calibrate": "Correct a run's rates using human labels.",
        "learn": "Teach a local judge from a run's labels.",
        "explain": "Get a model's explanation of failed and uncertain rows.",
        "plan": "Plan how many rows and labels a precision needs.",
        "rank": "Rank the systems that a run compares.",
        "bench": "Rank judges by how well they agree with people.",
        "attack": "Attack a judge with texts: how far can it be moved?",
        "drift": "Detect changes of a judge by judging the same rows again.",
        "card": "Print a judge card: what a run's judges do, how, and how well.",
    },
    "Tools": {
        "criteria": "List the ready-made criteria; check your own.",
        "models": "List the providers; pull the embedded model.",
        "doctor": "Check what is installed and which models answer.",
        "plugins": "List installed plugins and report broken ones.",
        "schema": "Print the JSON schema of what --json prints.",
        "serve": "Serve judging, criteria and runs as a JSON API.",
        "mcp": "Serve judging to assistants over MCP.",
        "completion": "Print the shell-completion script.",
        "serve-model": "Serve the embedded weights over HTTP.",
    },
}
"""Heading → command → its line in the list of commands. Loading all commands takes a second."""
HELP = {name: line for group in GROUPS.values() for name, line in group.items()}


class LazyCommands(HelpfulGroup):
    """Loads only the command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the built-in commands in the order of the help. ``adjudge plugins`` lists the
        others.
        """
        return list(COMMANDS.ours)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Load the command."""
        loaded_command = COMMANDS.get(cmd_name)
        # What was loaded stays, so the garbage collector need not look at it.
        if not gc.isenabled():  # by ``main``: in somebody else's process it is left alone
            gc.freeze()
            gc.enable()
        return loaded_command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Set the language from the raw arguments, so that parsing errors are translated, too."""
        extra["obj"] = extra.get("obj") or output_of(args)
        return super().make_context(info_name, args, parent, **extra)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a similar command if this one does not exist."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(_unknown_command(args[0]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Turn an exception of a plugin's command into a one-line error."""
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

        items = [
            CompletionItem(name, help=help)
            for name, help in HELP.items()
            if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from ``GROUPS``, without loading any."""
        write_commands(GROUPS, ctx, formatter)


_CALLED_ELSEWHERE = {
    **dict.fromkeys(("eval", "evaluate", "execute", "test", "start", "evals"), "run"),
    **dict.fromkeys(("score", "grade", "rate", "assess"), "judge"),
    **dict.fromkeys(("show", "status"), "runs show"),
    **dict.fromkeys(("list", "ls", "history"), "runs list"),
    **dict.fromkeys(("diff",), "runs diff"),
    **dict.fromkeys(("ui", "web", "dashboard", "studio"), "view"),
    **dict.fromkeys(("new", "create", "setup"), "init"),
    **dict.fromkeys(("annotate",), "label"),
    **dict.fromkeys(("convert",), "import"),
    **dict.fromkeys(("benchmark",), "bench"),
}
"""Name of a command in other tools → our name."""


def _unknown_command(name: str) -> Message:
    from difflib import get_close_matches

    elsewhere = _CALLED_ELSEWHERE.get(name.lower())
    near = [elsewhere] if elsewhere else get_close_matches(name, COMMANDS, 1)
    if near:
        return Message("No such command {name!r}. Did you mean {near!r}?", name=name, near=near[0])
    return Message("No such command {name!r}.", name=name)


@click.group(
    cls=LazyCommands,
    name="adjudge",
    invoke_without_command=True,
    context_settings={"show_default": True},
)
@click.version_option(
    __version__, message="adjudge %(version)s", help="Print the version, then exit."
)
@click.pass_context
def app(context: click.Context) -> None:
    """Judge the answers of language models, and know how sure the judgment is."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class _Warnings(logging.Handler):
    """Prints the package's warnings in the language of the command."""

    def __init__(self, output: Output) -> None:
        super().__init__(logging.WARNING)
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line on standard error."""
        language, args = self._output.language, record.args
        values = tuple(
            arg if isinstance(arg, int | float) else render(str(arg), language)
            for arg in (args if isinstance(args, tuple) else ())
        )
        text = render(record.msg, language)
        click.echo(self._output.render(text % values if values else text), err=True)


class Terminated:
    """Handles SIGTERM like Ctrl-C.

    ``timeout`` sends it twice, to the process and to its group; this counts as one signal.
    """

    def __init__(self) -> None:
        self._last = -_SAME_SIGNAL

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if (now := monotonic()) - self._last >= _SAME_SIGNAL:
            self._last = now
            signal.default_int_handler(signum, frame)


def main() -> None:
    """Run a command, and exit with its code."""
    output = output_of(sys.argv[1:])
    logging.getLogger("adjudge").addHandler(_Warnings(output))
    # Loading makes no garbage, and the collector took a fifth of a short command.
    # ``LazyCommands.get_command`` switches it on again.
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
        code = app(standalone_mode=False, complete_var=COMPLETE_VARIABLE, obj=output)
    except click.ClickException as error:
        code = _show_usage(error, output)
    except AdjudgeError as error:
        code = _complain(error, output, ExitCode.COULD_NOT_RUN)
    except (KeyboardInterrupt, click.Abort) as error:
        why = error.args[0] if error.args else Message("interrupted")
        code = _complain(why, output, INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; nothing is left to say
        code = ExitCode.COULD_NOT_RUN
    except OSError as error:
        code = _complain(_os_error_message(error), output, ExitCode.COULD_NOT_RUN)
        sys.stdout = None  # what it still holds found no room, and would be tried again at the end
    sys.exit(code or 0)


def _os_error_message(error: OSError) -> Message:
    """Return the message of an OSError, e.g. for a full disk when printing to a file."""
    return join(": ", filter(None, (str(error.filename or ""), reason_of(error))))


def _show_usage(error: click.ClickException, output: Output) -> int:
    """Print a usage error. If a group was called without a command, print its help without a
    prefix.
    """
    if type(error).__name__ == "NoArgsIsHelpError":  # not in every click 8
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    english = output.language == "en"
    why = error.format_message() if english else usage_message(error)
    return _complain(why, output, ExitCode.USAGE)


def _complain(why: object, output: Output, code: int) -> int:
    text = " ".join(output.render(why).split())
    click.echo(f"adjudge: {text}", err=True)
    return code
