"""What became of criteria that were to be improved, in a terminal."""

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
    """There was nothing to show to the writer."""
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
    found: CriterionImprovement,
    parts: Split,
    cases: Sequence[DisputedRow],
    written: Path | None,
    writer: str,
    screen: Screen,
) -> None:
    """The disagreements, the proposal, and whether it is better."""
    screen.say(_split_line(parts))
    screen.say(
        Message("Disagreements shown to {writer}: {count}", writer=writer, count=len(cases)), "bold"
    )
    for one in cases:
        screen.say(
            Message(
                "  {id}: judge {said}, people {truth}: {text}",
                id=one.instance.id or "",
                said=one.said,
                truth=one.truth,
                text=_text(one),
            )
        )
    screen.say(Message("Proposal"), "bold")
    if found.proposal.explanation:
        screen.say(f"  {found.proposal.explanation}", "dim")
    for what, before, after in found.proposal.changes(found.before):
        screen.say(join("", ("  ", what)))
        if before:
            screen.say(f"    - {before}", "red")
        screen.say(f"    + {_short(after) if what == 'example' else after}", "green")
    screen.say(found.sentence(), _STYLES[found.gain.outcome])
    if found.failed:
        screen.say(
            plural(
                "{count} held-out row has no verdict before or after: it is left out.",
                "{count} held-out rows have no verdict before or after: they are left out.",
                found.failed,
            ),
            "yellow",
        )
    screen.say(
        Message("Written to {file}; the old file is as it was.", file=written)
        if written
        else Message("Nothing was written: add --write to keep the proposal.")
    )


def _split_line(parts: Split) -> Message:
    seen, held = len(parts.seen.rows), len(parts.held_out.rows)
    return Message(
        "{rows} labelled rows: {seen} for the writer, {held} held out (drawn with seed {seed})",
        rows=seen + held,
        seen=seen,
        held=held,
        seed=parts.seed,
    )


def _text(case: DisputedRow) -> str:
    *_, last = case.instance.fields.values()
    return _short(last if isinstance(last, str) else " | ".join(last))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
