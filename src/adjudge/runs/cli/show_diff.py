"""The differences of two runs, in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.messages import Message
from adjudge.runs.cli.json_text import Document, print_results
from adjudge.runs.cli.output import echo
from adjudge.runs.counts import grouped
from adjudge.runs.diff import Change, JudgedRow, RunDiff, run_diff
from adjudge.runs.folder import run_facts
from adjudge.runs.results.better import BetterVerdict, expect_better
from adjudge.runs.results.comparison_words import comparison_lines
from adjudge.runs.view.differences import alone_line, change_line, difference_line
from adjudge.trust.comparison import ComparisonSettings, RunComparison, compare_runs

MOST_SHOWN = 100
"""Rows of a kind that a terminal shows."""


@light_dataclass(frozen=True, kw_only=True)
class DiffFlags:
    """The options of ``runs diff``."""

    everything: bool = False
    confidence: float = 0.95
    margin: float = 0.0
    cluster: str | None = None
    id: str | None = None
    by: str | None = None
    expect_better: bool = False

    @property
    def settings(self) -> ComparisonSettings:
        return ComparisonSettings(level=self.confidence, margin=self.margin)


def show_diff(one: Path, two: Path, flags: DiffFlags) -> BetterVerdict | None:
    """Print differing settings, rows whose outcome changed, rows that only one run has, and which
    run is better. Return if the second one is, as was expected.
    """
    most = None if flags.everything else MOST_SHOWN
    for folder in (one, two):
        if not run_facts(folder).has_ended:
            echo(
                Message(
                    "{run} is not finished: the missing rows may change the results below",
                    run=folder,
                )
            )
    with run_diff(one, two, flags.cluster, flags.id, flags.by) as diff:
        for setting in diff.settings:
            echo(setting)
        _show(map(change_line, diff.changes()), diff.changed, most)
        _show((alone_line(row, str(one)) for row in diff.only_in(0)), diff.alone(0), most)
        _show((alone_line(row, str(two)) for row in diff.only_in(1)), diff.alone(1), most)
        echo(difference_line(diff, (str(one), str(two))))
        comparisons = compare_runs(one, two, diff, flags.settings)
        _show_comparisons(comparisons, two)
        expectation = _expectation(one, two, diff, comparisons, flags)
    if expectation:
        echo(expectation.reason)
    return expectation


def show_comparison(one: Path, two: Path) -> None:
    """Print which run is better by each shared criterion."""
    with run_diff(one, two) as diff:
        comparisons = compare_runs(one, two, diff)
        _show_comparisons(comparisons, two)
    if not comparisons:
        echo(Message("nothing to compare, because no criterion of {run} was judged again", run=one))


def _show_comparisons(comparisons: Iterable[RunComparison], two: Path) -> None:
    for comparison in comparisons:
        for line in comparison_lines(comparison, str(two)):
            echo(line)


class CameShape(TypedDict):
    """The result of a row of a run."""

    judge: str
    criteria: str
    row: int
    id: str | None
    status: str
    score: float | None
    chosen: Annotated[object, "the verdict, the option, or which of the systems is better, from 0"]
    systems: NotRequired[
        Annotated[Sequence[str], "the compared responses, in the order of the first run"]
    ]


class ChangeShape(TypedDict):
    """A row with another result in the other run."""

    before: CameShape
    after: CameShape
    same_content: bool


def _expectation(
    one: Path,
    two: Path,
    diff: RunDiff,
    comparisons: Sequence[RunComparison],
    flags: DiffFlags,
) -> BetterVerdict | None:
    """Return if the second run is better; None if that was not asked for."""
    if not flags.expect_better:
        return None
    unfinished = next((str(run) for run in (one, two) if not run_facts(run).has_ended), "")
    gone = [
        of_system(JudgeCriterion(judge, criteria).name, system)
        for judge, criteria, system in diff.gone()
    ]
    return expect_better(
        comparisons, flags.margin, flags.confidence, gone=gone, unfinished=unfinished
    )


def print_diff(one: Path, two: Path, flags: DiffFlags) -> BetterVerdict | None:
    """Print the differences as JSON, streaming the rows. Return what ``show_diff`` does."""
    with run_diff(one, two, flags.cluster, flags.id, flags.by) as diff:
        compared = compare_runs(one, two, diff, flags.settings)
        expectation = _expectation(one, two, diff, compared, flags)
        comparisons = [comparison.to_dict() for comparison in compared]
        counts = {"compared": diff.compared, "changed": diff.changed}
        alone = {"only_in_one": diff.alone(0), "only_in_two": diff.alone(1)}
        only = {
            "only_in_one": map(_row_data, diff.only_in(0)),
            "only_in_two": map(_row_data, diff.only_in(1)),
        }
        more: Document = {
            "settings": diff.settings,
            "comparisons": comparisons,
            "expectation": expectation and expectation.verdict,
            **only,
        }
        print_results("diff", {**counts, **alone}, map(_change_data, diff.changes()), more)
    return expectation


def _show(lines: Iterable[Message], count: int, most: int | None) -> None:
    for line in islice(lines, most):
        echo(line)
    if most is not None and count > most:
        echo(Message("… and {count} more: --all shows them", count=grouped(count - most)))


def _change_data(change: Change) -> JsonDict:
    return fill(ChangeShape, change, before=_row_data(change.before), after=_row_data(change.after))


def _row_data(row: JudgedRow) -> JsonDict:
    outcome = row.summary
    return fill(CameShape, row, status=outcome.status, score=outcome.score, chosen=outcome.chosen)
