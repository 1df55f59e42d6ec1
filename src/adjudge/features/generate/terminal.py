"""Show candidates in a terminal: their code, the verdicts, why each lost or won, and the result."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.padding import Padding
from rich.text import Text

from adjudge.core.domain.sampled import QualitativeResult, QuantitativeResult, SampledResult
from adjudge.features.generate.candidate import Candidate, Selection, Try
from adjudge.messages import Message, join, term
from adjudge.runs.numbers import short_figure
from adjudge.runs.view.clean_text import clean
from adjudge.runs.view.terminal import Screen

_STYLES = {"won": "bold green", "lost": "bold", "failed": "bold red", "stopped": "yellow"}


_STATES = {
    "won": Message("won"),
    "lost": term("candidate", "lost"),
    "failed": term("candidate", "failed"),
    "stopped": term("candidate", "stopped"),
}


def show_selection(selection: Selection, notes: Sequence[str], screen: Screen) -> None:
    """Print all candidates, the notes, and the result with the reason for the choice."""
    for candidate in selection.candidates:
        _show(candidate, screen)
    for note in notes:
        screen.say(note, "yellow")
    if selection.winner is None:
        screen.say(Message("no result, because no candidate is usable"), "bold red")
        return
    result = screen.line(Message("result:"), "bold").append(" ")
    result.append(clean(json.dumps(selection.raw, ensure_ascii=False)), style="bold green")
    screen.show(result)
    screen.say(_choice(selection, selection.winner), "dim")


def _show(candidate: Candidate, screen: Screen) -> None:
    heading = screen.line(Message("candidate {number}", number=candidate.number), "bold")
    state = screen.line(_STATES[candidate.state], _STYLES[candidate.state])
    screen.show(Text.assemble(heading, " ", state, ": ", screen.line(candidate.why)))
    for number, attempt in enumerate(candidate.tries[:-1], 1):
        failed = Message(
            "  try {number} failed: {reasons}", number=number, reasons=join("; ", attempt.reasons)
        )
        screen.say(failed, "dim")
    if candidate.tries:
        _show_last(candidate.tries[-1], screen)
    screen.show("")


def _show_last(attempt: Try, screen: Screen) -> None:
    screen.show(Padding(Text(clean(attempt.code)), (0, 0, 0, 4)))
    for result in attempt.results:
        line = join(": ", (result.criteria.description, _outcome(result)))
        if result.fallback:
            line = Message("{line} [fallback: {fallback}]", line=line, fallback=result.fallback)
        why = " ".join((result.explanation or "").split())
        screen.say(join("", ("  ", (join(" – ", (line, why)) if why else line))))
    if attempt.cost is not None:
        screen.say(Message("  cost {cost:g}", cost=float(attempt.cost)))


def _outcome(result: SampledResult) -> str:
    votes = Message(
        "{valid}/{requested} valid", valid=result.votes_valid, requested=result.votes_requested
    )
    if isinstance(result, QualitativeResult):
        return Message(
            "{verdict} ({passes} passed, {needed} needed, {votes})",
            verdict=result.verdict,
            passes=result.passes,
            needed=result.min_pass,
            votes=votes,
        )
    if isinstance(result, QuantitativeResult):
        spread = () if result.spread is None else (_spread(result.spread),)
        numbers = join(", ", (short_figure(number) for number in result.numbers))
        return Message(
            "{score:g} ({rule} of {numbers}, {details})",
            score=float(result.score or 0.0),
            rule=result.agg,
            numbers=numbers or Message("nothing"),
            details=join(", ", (*spread, votes)),
        )
    return ""


def _spread(spread: float) -> Message:
    return Message("spread {spread:.2g}", spread=float(spread))


def _choice(selection: Selection, winner: Candidate) -> Message:
    """Describe the choice: number of candidates, cost, spread, and the cost from fresh samples.

    The spread matters because the cheapest of several noisy costs looks cheaper than it is.
    """
    parts = [
        Message(
            "candidate {number} of {count}",
            number=winner.number,
            count=len(selection.candidates),
        )
    ]
    if selection.cost is not None:
        values = {"cost": float(selection.cost), "count": selection.compared}
        cost = (
            Message("cost {cost:g}, the highest of {count}", **values)
            if selection.cost_is == "higher"
            else Message("cost {cost:g}, the lowest of {count}", **values)
        )
        spread = () if selection.cost_spread is None else (_spread(selection.cost_spread),)
        parts.append(join(", ", (cost, *spread)))
        if (fresh := selection.fresh) is not None:
            parts.append(
                Message("from fresh samples {cost:g}", cost=float(fresh.cost))
                if fresh.cost is not None
                else Message("from fresh samples not known: {reason}", reason=fresh.reason or "")
            )
    return join("; ", parts)
