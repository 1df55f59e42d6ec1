"""Show the improvement of criteria in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.features.bench.benchmark import BenchedJudge
from adjudge.features.bench.improvement import CriterionImprovement, Split
from adjudge.messages import Message, join, plural
from adjudge.runs.view.terminal import Screen
from adjudge.stats.difference import ComparisonOutcome

_LONGEST = 160
_STYLES = {
    ComparisonOutcome.BETTER: "bold green",
    ComparisonOutcome.WORSE: "bold red",
    ComparisonOutcome.CANNOT_TELL: "bold yellow",
}


def show_nothing(judge: BenchedJudge, parts: Split, screen: Screen) -> None:
    """Say that there were no disagreements to show to the writer."""
    screen.say(_split_line(parts))
    agreement = judge.agreement.value
    screen.say(
        Message("The judge agrees with people on every row that may be shown: nothing to improve.")
        if agreement is None
        else Message(
            "The judge agrees with people on every row that may be shown (agreement "
            "{agreement:.3f} on all of them): nothing to improve.",
            agreement=float(agreement),
        )
    )


def show_improvement(
    improvement: CriterionImprovement,
    parts: Split,
    cases: Sequence[DisputedRow],
    file: Path | None,
    writer: str,
    screen: Screen,
) -> None:
    """Show the disagreements, the proposal, and whether it is better."""
    screen.say(_split_line(parts))
    screen.say(
        Message("Disagreements shown to {writer}: {count}", writer=writer, count=len(cases)), "bold"
    )
    for case in cases:
        screen.say(
            Message(
                "  {id}: judge {said}, people {truth}: {text}",
                id=case.instance.id or "",
                said=case.said,
                truth=case.truth,
                text=_text(case),
            )
        )
    screen.say(Message("Proposal"), "bold")
    if improvement.proposal.explanation:
        screen.say(f"  {improvement.proposal.explanation}", "dim")
    for what, old_text, new_text in improvement.proposal.changes(improvement.before):
        screen.say(join("", ("  ", what)))
        if old_text:
            screen.say(f"    - {old_text}", "red")
        screen.say(f"    + {_short(new_text) if what == 'example' else new_text}", "green")
    screen.say(improvement.sentence(), _STYLES[improvement.gain.outcome])
    if improvement.failed:
        screen.say(
            plural(
                "{count} held-out row has no verdict before or after: it is left out.",
                "{count} held-out rows have no verdict before or after: they are left out.",
                improvement.failed,
            ),
            "yellow",
        )
    screen.say(
        Message("Written to {file}; the old file is unchanged.", file=file)
        if file
        else Message("Nothing was written: add --write to keep the proposal.")
    )


def _split_line(parts: Split) -> Message:
    count_seen, count_held = len(parts.seen.rows), len(parts.held_out.rows)
    return Message(
        "{rows} labelled rows: {seen} for the writer, {held} held out (drawn with seed {seed})",
        rows=count_seen + count_held,
        seen=count_seen,
        held=count_held,
        seed=parts.seed,
    )


def _text(case: DisputedRow) -> str:
    *_, judged_text = case.instance.fields.values()
    return _short(judged_text if isinstance(judged_text, str) else " | ".join(judged_text))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
