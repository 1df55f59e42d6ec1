"""What became of criteria that were to be improved, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from adjudge.bench.improve import CriterionImprovement, Split
from adjudge.cli.show import clean
from adjudge.cli.terminal import open_console
from adjudge.prompts.criteria_writing import DisputedRow
from adjudge.stats.difference import ComparisonOutcome
from adjudge.trust.benchmark import BenchedJudge

_LONGEST = 160
_STYLES = {
    ComparisonOutcome.BETTER: "bold green",
    ComparisonOutcome.WORSE: "bold red",
    ComparisonOutcome.CANNOT_TELL: "bold yellow",
}


def show_nothing(judge: BenchedJudge, parts: Split) -> None:
    """There was nothing to show to the writer."""
    print_split(open_console(), parts)
    share = (
        ""
        if judge.agreement.value is None
        else f" (agreement {judge.agreement.value:.3f} on all of them)"
    )
    open_console().print(
        f"The judge agrees with people on every row that may be shown{share}: nothing to improve."
    )


def show_improvement(
    found: CriterionImprovement,
    parts: Split,
    cases: Sequence[DisputedRow],
    written: Path | None,
    writer: str,
) -> None:
    """The disagreements, the proposal, and whether it is better."""
    console = open_console()
    print_split(console, parts)
    console.print(Text(f"Disagreements shown to {clean(writer)}: {len(cases)}", style="bold"))
    for one in cases:
        console.print(
            Text(
                clean(
                    f"  {one.instance.id or ''}: judge {one.said}, people {one.truth}: {_text(one)}"
                )
            )
        )
    console.print(Text("Proposal", style="bold"))
    if found.proposal.explanation:
        console.print(Text(clean(f"  {found.proposal.explanation}"), style="dim"))
    for what, before, after in found.proposal.changes(found.before):
        console.print(Text(clean(f"  {what}")))
        if before:
            console.print(Text(clean(f"    - {before}"), style="red"))
        console.print(
            Text(
                clean(f"    + {_short(after)}" if what == "example" else f"    + {after}"),
                style="green",
            )
        )
    console.print(Text(clean(found.sentence()), style=_STYLES[found.gain.outcome]))
    if found.failed:
        console.print(
            Text(
                f"{found.failed} held-out rows have no verdict before or after: they are left out.",
                style="yellow",
            )
        )
    told = (
        f"Written to {written}; the old file is as it was."
        if written
        else "Nothing was written: add --write to keep the proposal."
    )
    console.print(Text(clean(told)))


def print_split(console: Console, parts: Split) -> None:
    seen, held = len(parts.seen.rows), len(parts.held_out.rows)
    console.print(
        f"{seen + held} labelled rows: {seen} for the writer, {held} held out (drawn with "
        f"seed {parts.seed})"
    )


def _text(case: DisputedRow) -> str:
    *_, last = case.instance.fields.values()
    return _short(last if isinstance(last, str) else " | ".join(last))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
