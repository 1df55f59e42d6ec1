"""Rows of two runs that came out differently, in words."""

from __future__ import annotations

from adjudge.messages import Message, join, plural
from adjudge.runs.counts import count_judgments, grouped
from adjudge.runs.diff import Change, JudgedRow, RunDiff
from adjudge.runs.numbers import figure
from adjudge.runs.terms import STATUSES, option_title
from adjudge.trust.contestants import system_at


def change_line(change: Change) -> Message:
    """Return a line with a row and its results in both runs."""
    old_row, new_row = change.before, change.after
    row = _row(old_row)
    if old_row.row != new_row.row:
        row = Message("{row} → {number}", row=row, number=new_row.row)
    if not change.same_content:
        row = Message("{row}, another text", row=row)
    return Message(
        "{row}: {before} → {after}",
        row=row,
        before=summary_of(old_row),
        after=summary_of(new_row),
    )


def alone_line(row: JudgedRow, run: str) -> Message:
    """Return a line about a row that only one run has."""
    return Message(
        "only in {run}: {row}: {summary}",
        run=run,
        row=_row(row),
        summary=summary_of(row),
    )


def difference_line(diff: RunDiff, runs: tuple[str, str]) -> Message:
    """Return how much differs between two runs."""
    return Message(
        "{settings} and {judgments} differ, of {compared} in both runs; {first} only in {one}, "
        "{second} only in {two}",
        settings=plural("{count} setting", "{count} settings", len(diff.settings)),
        judgments=count_judgments(diff.changed),
        compared=grouped(diff.compared),
        first=grouped(diff.alone(0)),
        second=grouped(diff.alone(1)),
        one=runs[0],
        two=runs[1],
    )


def summary_of(row: JudgedRow) -> str:
    """Return a row's score and choice, and its status if it is not scored."""
    summary = row.summary
    choice_title = None if summary.chosen is None else option_title(str(summary.chosen))
    if summary.score is None and summary.status == "scored" and choice_title is not None:
        return (
            system_at(row.systems, summary.chosen)
            if isinstance(summary.chosen, int)
            else choice_title
        )
    score = Message("no score") if summary.score is None else figure(summary.score, 3)
    status = None if summary.status == "scored" else STATUSES.get(summary.status, summary.status)
    more = [part for part in (choice_title, status) if part is not None]
    return Message("{score} ({more})", score=score, more=join(", ", more)) if more else score


def _row(row: JudgedRow) -> Message:
    values = {"judge": row.judge, "criterion": row.criteria, "row": row.row, "id": row.id}
    return (
        Message("{judge}, {criterion}, row {row} ({id})", **values)
        if row.id
        else Message("{judge}, {criterion}, row {row}", **values)
    )
