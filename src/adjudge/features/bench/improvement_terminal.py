"""Show the improvement of criteria in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.features.bench.candidates import NAMES
from adjudge.features.bench.improvement import CriteriaSearch, CriterionImprovement
from adjudge.messages import Message, join, plural
from adjudge.runs.view.terminal import Screen
from adjudge.stats.difference import ComparisonOutcome

_LONGEST = 160
_STYLES = {
    ComparisonOutcome.BETTER: "bold green",
    ComparisonOutcome.WORSE: "bold red",
    ComparisonOutcome.CANNOT_TELL: "bold yellow",
}


def show_nothing(search: CriteriaSearch, screen: Screen) -> None:
    """Say why no candidate was measured on the held-out rows."""
    _show_search(search, screen)
    screen.say(
        Message(
            "Nothing left to gain: {reason}. Nothing was measured on the held-out rows.",
            reason=search.reason,
        ),
        "bold",
    )


def show_improvement(
    improvement: CriterionImprovement,
    search: CriteriaSearch,
    cases: Sequence[DisputedRow],
    file: Path | None,
    writer: str | None,
    screen: Screen,
) -> None:
    """Show the disagreements, the candidates, the best of them, and whether it is better."""
    if writer and cases:
        screen.say(
            Message("Disagreements shown to {writer}: {count}", writer=writer, count=len(cases)),
            "bold",
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
    _show_search(search, screen)
    screen.say(Message("The search stopped: {reason}.", reason=search.reason))
    screen.say(Message("Proposal"), "bold")
    if improvement.proposal.explanation:
        screen.say(f"  {improvement.proposal.explanation}", "dim")
    for what, old_text, new_text in improvement.proposal.changes(improvement.before):
        screen.say(join("", ("  ", what)))
        if old_text:
            screen.say(f"    - {_short(old_text)}", "red")
        screen.say(f"    + {_short(new_text) if what == 'example' else new_text}", "green")
    screen.say(improvement.sentence(), _STYLES[improvement.gain.outcome])
    if improvement.measurement > 1:
        screen.say(
            Message(
                "This is measurement {number} on these held-out rows, so the interval is wider "
                "(level {level:.1%}).",
                number=improvement.measurement,
                level=improvement.gain.estimate.level,
            )
        )
    if improvement.failed:
        screen.say(
            plural(
                "{count} held-out row lacks a verdict before or after; the limits hold whatever "
                "it would be.",
                "{count} held-out rows lack a verdict before or after; the limits hold whatever "
                "they would be.",
                improvement.failed,
            ),
            "yellow",
        )
    screen.say(
        Message("Written to {file}; the old file is unchanged.", file=file)
        if file
        else Message("Nothing was written: add --write to keep the proposal.")
    )


def _show_search(search: CriteriaSearch, screen: Screen) -> None:
    """Show the split and each candidate's agreement on the rows to choose by."""
    counts = {part: len(rows) for part, rows in search.parts.identities.items()}
    screen.say(
        Message(
            "{rows} labelled rows: {shown} for learning, {choosing} for choosing, {held_out} "
            "held out (drawn with seed {seed})",
            rows=sum(counts.values()),
            **counts,
            seed=search.parts.seed,
        )
    )
    for note in search.parts.held_out.notes:
        screen.say(note)
    if search.tried_before:
        screen.say(
            plural(
                "Earlier calls tried {count} other candidate on these labels.",
                "Earlier calls tried {count} other candidates on these labels.",
                search.tried_before,
            )
        )
    for result in search.results:
        screen.say(
            Message(
                "  round {round}, {source}: agreement {before:.3f} → {after:.3f} on the {rows} "
                "rows used for choosing",
                round=result.round,
                source=NAMES[result.candidate.source],
                before=result.agreement_before,
                after=result.agreement,
                rows=result.rows,
            ),
            "bold" if result.chosen else "",
        )


def _text(case: DisputedRow) -> str:
    *_, judged_text = case.instance.fields.values()
    return _short(judged_text if isinstance(judged_text, str) else " | ".join(judged_text))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
