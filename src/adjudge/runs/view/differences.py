"""Rows of two runs that came out differently, in words."""

from __future__ import annotations

from adjudge.messages import Message, join, plural
from adjudge.runs.counts import count_judgments, grouped
from adjudge.runs.diff import Change, JudgedRow, RunDiff
from adjudge.runs.numbers import figure
from adjudge.runs.terms import STATUSES, option_title
from adjudge.trust.contestants import system_at


def change_line(change: Change) -> Message:
    """Which row it is, and what it was and is."""
    before, after = change.before, change.after
    row = _row(before)
    if before.row != after.row:
        row = Message("{row} → {number}", row=row, number=after.row)
    if not change.same_content:
        row = Message("{row}, another text", row=row)
    return Message(
        "{row}: {before} → {after}",
        row=row,
        before=summary_of(before),
        after=summary_of(after),
    )


def alone_line(row: JudgedRow, run: str) -> Message:
    """A row that only one run has."""
    return Message(
        "only in {run}: {row}: {summary}",
        run=run,
        row=_row(row),
        summary=summary_of(row),
    )


def difference_line(found: RunDiff, runs: tuple[str, str]) -> Message:
    """How much differs between two runs."""
    return Message(
        "{settings} and {judgments} differ, of {compared} in both runs; {first} only in {one}, "
        "{second} only in {two}",
        settings=plural("{count} setting", "{count} settings", len(found.settings)),
        judgments=count_judgments(found.changed),
        compared=grouped(found.compared),
        first=grouped(found.alone(0)),
        second=grouped(found.alone(1)),
        one=runs[0],
        two=runs[1],
    )


def summary_of(row: JudgedRow) -> str:
    """The score, what was chosen, and the status of what was not scored."""
    to = row.summary
    chosen = None if to.chosen is None else option_title(str(to.chosen))
    if to.score is None and to.status == "scored" and chosen is not None:
        return system_at(row.systems, to.chosen) if isinstance(to.chosen, int) else chosen
    score = Message("no score") if to.score is None else figure(to.score, 3)
    status = None if to.status == "scored" else STATUSES.get(to.status, to.status)
    more = [one for one in (chosen, status) if one is not None]
    return Message("{score} ({more})", score=score, more=join(", ", more)) if more else score


def _row(row: JudgedRow) -> Message:
    values = {"judge": row.judge, "criterion": row.criteria, "row": row.row, "id": row.id}
    return (
        Message("{judge}, {criterion}, row {row} ({id})", **values)
        if row.id
        else Message("{judge}, {criterion}, row {row}", **values)
    )
