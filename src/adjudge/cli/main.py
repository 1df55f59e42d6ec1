"""``adjudge``: the commands, and one line for whatever goes wrong."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer
from typer.exceptions import Exit, TyperException

import adjudge
from adjudge.cli import check, criteria, doctor, generate, judge, models, rag, resume, run, runs, serve
from adjudge.errors import AdjudgeError
from adjudge.reports.gate import ExitCode

app = typer.Typer(
    name="adjudge",
    help="Judge the answers of language models, and know how sure the judgment is.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("check")(check.check)
app.add_typer(criteria.app, name="criteria")
app.add_typer(models.app, name="models")
app.command("judge")(judge.judge)
app.command("compare")(judge.compare)
app.command("rag")(rag.rag)
app.command("run")(run.run)
app.command("resume")(resume.resume)
app.add_typer(runs.app, name="runs")
app.command("export")(runs.export_run)
app.command("generate")(generate.generate)
app.command("doctor")(doctor.doctor)
app.command("serve-model")(serve.serve_model)


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
        code = _complain(error.format_message(), ExitCode.USAGE)
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


def _complain(message: str, code: int) -> int:
    one_line = " ".join(message.split())
    typer.echo(f"adjudge: {one_line}", err=True)
    return code
