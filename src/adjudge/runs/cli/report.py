"""``adjudge report``: a run for machines and reviewers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adjudge.errors import RunError
from adjudge.messages import Message, reason_of
from adjudge.runs.cli.inputs import as_usage_error
from adjudge.runs.cli.options import PATH, argument, command, slices
from adjudge.runs.cli.output import echo, typed_language
from adjudge.runs.counts import count_judgments
from adjudge.runs.exporters.export import ENDINGS, to_html, to_markdown
from adjudge.runs.exporters.files import STDOUT, text_file
from adjudge.runs.exporters.github import GithubReport
from adjudge.runs.exporters.junit import to_junit
from adjudge.runs.exporters.table import check_writable
from adjudge.runs.folder import reading
from adjudge.runs.results.paired_gate import refuse_itself
from adjudge.runs.view.clean_text import clean

if TYPE_CHECKING:
    pass


@command("report")
@argument("folder", "A run folder.", type=PATH)
@click.option(
    "--to",
    type=click.Choice(["junit", "github", "md", "html"]),
    required=True,
    help="The format of the report.",
)
@click.option("--baseline", type=PATH, help="A run to compare with.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Output file, or - for standard output; by default next to the ledger.",
)
@click.option(
    "--max-kib",
    type=click.FloatRange(min=1),
    default=900,
    help="With --to github: the maximum size of the summary.",
)
@slices
def report(
    folder: Path,
    to: str,
    baseline: Path | None,
    output: Path | None,
    max_kib: float,
    by: str | None,
) -> int:
    """Report on a run: JUnit XML for CI, a job summary with annotations for GitHub, or a page for
    people.

    With --to github, the summary also goes to GITHUB_STEP_SUMMARY, annotations are printed, and
    score, lower, upper, verdict, cost and report-path go to GITHUB_OUTPUT. The exit code is 0
    whatever the verdict is.
    """
    for run in filter(None, (folder, baseline)):
        with reading(run):
            pass
    if baseline is not None:
        refuse_itself(baseline, folder)
    if by and to not in ("md", "html"):
        raise click.UsageError(Message("--by needs --to md or --to html"))
    target = output or folder / f"results.{ENDINGS.get(to, 'github.md' if to == 'github' else to)}"
    with as_usage_error():
        check_writable(target)
    language = typed_language()
    try:
        if to == "github":
            _github(GithubReport(folder, baseline, language), target, max_kib)
            return 0
        page = _PAGES.get(to)
        rows = (
            page(folder, target, baseline, by, language)
            if page
            else to_junit(folder, target, baseline)
        )
    except OSError as error:
        raise RunError(
            "{filename} cannot be written: {reason}",
            filename=error.filename or target,
            reason=reason_of(error),
        ) from error
    _say_where(
        Message("{judgments} written to {file}", judgments=count_judgments(rows), file=target),
        target,
    )
    return 0


_PAGES = {"md": to_markdown, "html": to_html}
_OF_A_STEP = ("GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
"""Variables of a GitHub step; outside of one no annotations are printed."""


def _github(made: GithubReport, target: Path, max_kib: float) -> None:
    page = made.summary(max_kib)
    with text_file(target) as file:
        file.write(page)
    _append("GITHUB_STEP_SUMMARY", page)
    outputs = {
        **made.outputs,
        "report-path": "" if target == STDOUT else " ".join(str(target).splitlines()),
    }
    _append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))
    if any(name in os.environ for name in _OF_A_STEP):
        for line in made.annotations():  # the runner reads both outputs
            click.echo(clean(line, may_command=True), err=target == STDOUT)
    _say_where(Message("summary written to {file}", file=target), target)


def _say_where(text: Message, target: Path) -> None:
    """Print where the report was written, unless it went to standard output."""
    if target != STDOUT:
        echo(text)


def _append(variable: str, text: str) -> None:
    """Append to the file that this environment variable names. Does nothing if it is not set, i.e.
    outside of GitHub.
    """
    if place := os.environ.get(variable):
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
