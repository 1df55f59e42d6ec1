"""The end of every command that judges, in a terminal: results, cost, files, and the next
commands.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from adjudge.core.aio.files import from_here
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.objects import ObjectFile
from adjudge.messages import Message, join, plural, term
from adjudge.runs.counts import (
    count_calls,
    count_judgments,
    count_retries,
    count_rows,
    count_used_tokens,
)
from adjudge.runs.results.cost import cost_message
from adjudge.runs.view.terminal import Screen
from adjudge.runs.view.terminal_report import excluded_lines, reason_lines, show_figures
from adjudge.runs.view.terminal_rows import few_rows, rows_table, show_single, worst_rows

if TYPE_CHECKING:
    from adjudge.runs.results.report import Report

PAGE_PACKAGES = ("starlette", "uvicorn")
"""What ``adjudge view`` needs; adjudge[ui] brings it."""
_SIGNS = {"holds": "✓", "failed": "✗", "inconclusive": "?"}
_STYLES = {"holds": "green", "failed": "red", "inconclusive": "yellow"}
_LIMIT = re.compile(r"\bmax_(usd|calls|tokens)=(\d[\d.]*(?:e[+-]?\d+)?)")
_STANDING = {
    "holds": term("gate", "PASS"),
    "failed": term("gate", "FAIL"),
    "inconclusive": term("gate", "UNDECIDED"),
}


@light_dataclass(frozen=True, kw_only=True)
class RunEnding:
    """The output at the end of a command."""

    report: Report
    stopped: str = ""
    """The reason why it stopped early, if it did."""
    folder: Path | None = None
    """The run folder; None if no run is kept."""
    files: Sequence[Path | ObjectFile] = ()
    """Reports and tables that were written."""
    earlier: Path | None = None
    """The run before the eval file was changed."""
    unfinished: bool = False
    """True if a run that is only looked at has more rows to ask about."""
    imported: bool = False
    """True if another tool judged: there is nothing to resume, and the cost is unknown."""
    limit: str = ""
    """The reason why it stopped, if that names a limit."""
    asked: int | None = None
    """The votes that this command asked for; None if it only looks at a run."""

    @property
    def single(self) -> bool:
        return self.report.total == 1 == len(self.report.entries)


def show_ending(ending: RunEnding, screen: Screen, aside: Screen) -> None:
    """Print the complete ending. ``aside``: standard error, where scripts look for errors."""
    report = ending.report
    if ending.single:
        show_single(report.entries[0], report, screen)
        show_figures(report, screen, single=True)
    else:
        table = rows_table(report, screen) if report.entries and few_rows(report) else None
        screen.show(*((table, "") if table else ()), *_headline(ending, screen))
        show_figures(report, screen)
        if worst := worst_rows(report, screen, all_shown=table is not None):
            screen.show("", screen.line(Message("Worst rows"), "bold"), worst)
    notes = [note for note in report.notes if note != ending.stopped]
    if notes and not ending.single:
        screen.show("")
    for note in notes:
        screen.say(note, "yellow")
    show_warnings(report, aside)
    screen.show("")
    _show_facts(list(_facts(ending)), screen)


def show_warnings(report: Report, aside: Screen) -> None:
    """Print why rows have no score, which models did not count, and how the gates ended."""
    several = len(report.sections) > 1
    if report.skipped.rows:
        _warn(Message("{rows} could not be judged", rows=count_rows(report.skipped.rows)), aside)
    for line in reason_lines(report):
        _warn(line, aside)
    for section in report.sections:
        for line in excluded_lines(section.summary, section.name if several else ""):
            _warn(line, aside)
    if report.decided_nothing:
        skipped = plural(
            "No verdicts, because the only row was skipped.",
            "No verdicts, because all {count} rows were skipped.",
            max(part.summary.skipped for part in report.sections),
        )
        _warn(join(" ", (_SIGNS["inconclusive"], skipped)), aside, _STYLES["inconclusive"])
    # An unfinished run has the same sentence for each gate of a criterion.
    for sentence, verdict in {gate.sentence(): gate.verdict for gate in report.gates}.items():
        _warn(join(" ", (_SIGNS[verdict], sentence)), aside, _STYLES[verdict])


def _warn(text: Message, aside: Screen, style: str = "") -> None:
    """Print a warning: one line for scripts, wrapped between words on a terminal."""
    aside.say(text, style, soft_wrap=not aside.console.is_terminal)


def _headline(ending: RunEnding, screen: Screen) -> Iterator[Text | str]:
    """Yield the headline. Nothing if an unsaved run stopped, because the reason was already
    printed.
    """
    report = ending.report
    if ending.stopped and ending.folder is None:
        return
    verdict = None if ending.stopped else report.standing
    line = Text()
    if verdict:
        style = f"bold {_STYLES[verdict]}"
        line.append(f"{_SIGNS[verdict]} {screen.render(_STANDING[verdict])}", style).append("  ")
    sentence = ending.stopped or Message("{counts}.", counts=join("; ", _counts(report)))
    yield line.append_text(screen.line(sentence, "bold"))
    yield ""


def _counts(report: Report) -> Iterator[Message]:
    """Yield how many rows were judged by how many criteria, and how many lack a score."""
    attempted: Counter[tuple[str, str]] = Counter()
    for section in report.sections:
        attempted[section.judge, section.criteria] += section.summary.attempted
    rows = max(attempted.values(), default=0)
    if len(attempted) < 2:
        yield plural("{count:,} row judged", "{count:,} rows judged", rows)
    elif len(set(attempted.values())) == 1:
        yield Message(
            "{rows} judged by {number} criteria", rows=count_rows(rows), number=len(attempted)
        )
    else:
        yield Message(
            "{judgments} by {number} criteria, at most {rows} by one",
            judgments=count_judgments(attempted.total()),
            number=len(attempted),
            rows=count_rows(rows),
        )
    if unscored := sum(section.summary.unscored for section in report.sections):
        number = unscored if len(attempted) < 2 else count_judgments(unscored)
        yield Message("{number} without a score", number=number)


def show_next(
    command: str, screen: Screen, folder: Path | None = None, files: Sequence[Path] = ()
) -> None:
    """Print the files, the run and the next command on separate lines."""
    facts: list[tuple[str, str]] = [(Message("Report"), str(from_here(path))) for path in files]
    facts += [(Message("Run"), str(folder))] if folder is not None else []
    _show_facts([*facts, (Message("Next"), command)], screen)


def _show_facts(facts: Sequence[tuple[str, str]], screen: Screen) -> None:
    """Print facts such as cost, places and next commands, without wrapping, so that they can be
    copied.
    """
    titles = [screen.render(name) for name, _ in facts]
    width, last = max(map(len, titles)), ""
    for title, (_, text) in zip(titles, facts, strict=True):
        shown_title = "" if title == last else title
        line = Text(f"{shown_title:<{width}}  ", style="dim").append_text(screen.line(text))
        line.stylize("not dim", width + 2)
        screen.console.print(line, soft_wrap=True)
        last = title


def _facts(ending: RunEnding) -> Iterator[tuple[str, str]]:
    report, folder = ending.report, ending.folder
    if report.usage.calls or not ending.imported:
        yield Message("Cost"), join(" · ", _cost(report))
    finished = not ending.stopped and not ending.unfinished
    if (
        ending.asked == 0
        and folder is not None
        and report.total
        and finished
        and report.usage.calls
        and not report.reused
    ):
        yield (
            Message("Cost"),
            Message("no request was sent, because every answer was already in the run"),
        )
    for file in ending.files:
        yield Message("Report"), str(from_here(file) if isinstance(file, Path) else file)
    if folder is not None:
        yield Message("Run"), str(folder)
    elif report.total > 1 and not ending.files:
        yield Message("Rows"), Message("not saved: add -o results.csv or --run FOLDER")
    if not ending.stopped:
        yield from ((Message("Next"), command) for command in _next_commands(ending))


def _cost(report: Report) -> Iterator[Message]:
    used = report.usage
    yield cost_message(report.used, report.setup.prices)
    yield count_calls(used.calls)
    yield count_used_tokens(used)
    if report.reused:
        yield plural(
            "{count} answer reused from the cache or an earlier run (--no-cache leaves out the "
            "cache)",
            "{count} answers reused from the cache or an earlier run (--no-cache leaves out the "
            "cache)",
            report.reused,
        )
    if report.retries:
        yield count_retries(report.retries)
    if report.unanswered:
        yield plural(
            "{count} vote without an answer", "{count} votes without an answer", report.unanswered
        )


def resume_command(folder: Path, limit: str = "") -> str:
    """Return the command that resumes a run, doubling the limit named in ``limit``, if any."""
    reached = _LIMIT.search(limit)
    more = f" -- --max-{reached[1]} {_twice(reached[2])}" if reached else ""
    return f"adjudge resume {shlex.quote(str(folder))}{more}"


def _twice(number: str) -> str:
    """Double a limit as a user would type it; after a limit of 0, 1. Whole numbers have no
    exponent, which click would refuse.
    """
    return str(int(number) * 2 or 1) if number.isdecimal() else f"{float(number) * 2 or 1:g}"


def page_command(folder: str | Path) -> str:
    """Return the command that shows a run as a page: served, or as a file without adjudge[ui]."""
    run = shlex.quote(str(folder))
    is_served = all(find_spec(name) for name in PAGE_PACKAGES)
    return f"adjudge view {run}" if is_served else f"adjudge report {run} --to html"


def _next_commands(ending: RunEnding) -> Iterator[str]:
    """Yield the commands that are useful now."""
    if ending.folder is None:
        return
    folder = shlex.quote(str(ending.folder))
    if ending.earlier:
        yield f"adjudge runs diff {shlex.quote(str(ending.earlier))} {folder}"
    if ending.unfinished or (ending.report.unanswered and not ending.imported):
        yield resume_command(ending.folder, ending.limit)
    yield page_command(ending.folder)
    if not ending.report.calibrations:
        from adjudge.trust.labels.scales import (
            label_command,  # loaded only if a run is kept
        )

        yield from filter(None, [label_command(ending.folder)])
