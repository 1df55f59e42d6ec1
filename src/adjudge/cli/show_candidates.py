"""Candidates in a terminal: their code, what was said of it, and why each lost or won; then the
result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from adjudge.cli.inputs import spoken
from adjudge.cli.show import clean, told
from adjudge.cli.terminal import open_console
from adjudge.domain.sampled import QualitativeResult, QuantitativeResult, SampledResult
from adjudge.messages import Message, render
from adjudge.results.russian import verbatim
from adjudge.strategy.candidate import Candidate, Selection, Try

_STYLES = {"won": "bold green", "lost": "bold", "failed": "bold red", "stopped": "yellow"}


def show_selection(selection: Selection, notes: Sequence[str]) -> None:
    """Everything a reader needs to trust the result, or to see why there is none."""
    console = open_console(soft_wrap=True)
    for candidate in selection.candidates:
        _show(candidate, console)
    for note in notes:
        console.print(Text(told(note), style="yellow"))
    console.print(_outcome(selection))


def _show(candidate: Candidate, console: Console) -> None:
    heading = Text(told(f"candidate {candidate.number}") + " ", style="bold")
    heading.append(told(candidate.state), style=_STYLES[candidate.state])
    heading.append(f": {told(candidate.why)}")
    console.print(heading)
    for number, attempt in enumerate(candidate.tries[:-1], 1):
        console.print(
            Text(told(f"  try {number} failed: {'; '.join(attempt.reasons)}"), style="dim")
        )
    if candidate.tries:
        _show_last(candidate.tries[-1], console)
    console.print()


def _show_last(attempt: Try, console: Console) -> None:
    console.print(Padding(Text(clean(attempt.code)), (0, 0, 0, 4)))
    for result in attempt.results:
        console.print(Text(f"  {_said(result)}"))
    if attempt.cost is not None:
        console.print(Text(told(f"  cost {attempt.cost:g}")))


def _said(result: SampledResult) -> str:
    votes = f"{result.votes_valid}/{result.votes_requested} valid"
    outcome = ""
    if isinstance(result, QualitativeResult):
        outcome = f"{result.verdict} ({result.passes} passed, {result.min_pass} needed, {votes})"
    if isinstance(result, QuantitativeResult):
        numbers = ", ".join(f"{number:g}" for number in result.numbers)
        apart = "" if result.spread is None else f", spread {result.spread:.2g}"
        outcome = f"{result.score:g} ({result.agg} of {numbers or 'nothing'}{apart}, {votes})"
    fallback = f" [fallback: {result.fallback}]" if result.fallback else ""
    why = f" – {verbatim(' '.join(result.explanation.split()))}" if result.explanation else ""
    return told(f"{verbatim(result.criteria.description)}: {outcome}{fallback}{why}")


def _outcome(selection: Selection) -> Text:
    if selection.winner is None:
        return Text(
            render(Message("no result: no candidate may be used"), spoken()), style="bold red"
        )
    shown = Text(told("result") + ": ", style="bold")
    shown.append(clean(json.dumps(selection.raw, ensure_ascii=False)), style="bold green")
    shown.append(f"\n{told(_how(selection))}", style="dim")
    return shown


def _how(selection: Selection) -> str:
    """How it was chosen: the cheapest of several noisy costs looks cheaper than it is."""
    chosen = (
        f"candidate {selection.winner.number if selection.winner else '–'} of "
        f"{len(selection.candidates)}"
    )
    if selection.cost is None:
        return chosen
    extreme = "highest" if selection.cost_is == "higher" else "lowest"
    apart = "" if selection.cost_spread is None else f", spread {selection.cost_spread:.2g}"
    chosen += f"; cost {selection.cost:g}, the {extreme} of {selection.compared}{apart}"
    if selection.fresh is None:
        return chosen
    again = (
        f"{selection.fresh.cost:g}"
        if selection.fresh.cost is not None
        else f"not known: {selection.fresh.reason or ''}"
    )
    return f"{chosen}; from fresh samples {again}"
