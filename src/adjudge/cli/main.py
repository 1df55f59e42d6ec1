"""``adjudge``: the commands, and one line for whatever goes wrong."""

from __future__ import annotations

import atexit
import gc
import io
import logging
import sys

import click

import adjudge
from adjudge.cli.commands import LazyCommands
from adjudge.errors import AdjudgeError
from adjudge.reports.exit_code import INTERRUPTED, ExitCode


@click.group(cls=LazyCommands, name="adjudge", invoke_without_command=True, context_settings={"show_default": True})
@click.version_option(adjudge.__version__, message="adjudge %(version)s", help="Print the version and stop.")
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


def main() -> None:
    """Run a command; its exit code is the process's."""
    logging.getLogger("adjudge").addHandler(_Warnings(logging.WARNING))
    gc.disable()  # loading makes no garbage, and a fifth of a short command went into looking for it; see ``Entry.load``
    atexit.register(gc.freeze)  # nor does the end of the process need another look
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # half an emoji in a reply must not cost the report
    try:
        code = app(standalone_mode=False)
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
    """A command of several commands that was called alone answers with its help, which keeps its lines."""
    if type(error).__name__ == "NoArgsIsHelpError":  # not in every click 8
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    return _complain(error.format_message(), ExitCode.USAGE)


def _complain(message: str, code: int) -> int:
    click.echo(f"adjudge: {_in_its_language(' '.join(message.split()))}", err=True)
    return code


def _in_its_language(message: str) -> str:
    from adjudge.cli.language import spoken  # not loaded by those who have nothing to complain of
    from adjudge.cli.show import clean
    from adjudge.reports.russian import localised

    return clean(localised(message, spoken()))
