"""Show a learned judge in a terminal and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.features.learning.acceptance import AcceptanceShape
from adjudge.features.learning.learner import LearnedFigures, LearnedFiguresShape, LearnedJudge
from adjudge.messages import Message, join, plural, term
from adjudge.runs.numbers import figure, limits
from adjudge.runs.view.terminal import Screen

NAMES = {
    "learned": Message("learned judge"),
    "zero_shot": Message("embedded judge, untaught"),
    "words": Message("words alone"),
    "majority": Message("more common answer"),
}
_MOST_NAMED = 5


def show_learned(learned: LearnedJudge, screen: Screen) -> None:
    """Print the verdict, then the figures."""
    screen.say(
        verdict_sentence(learned.figures), "bold" if learned.figures.is_worth_it else "bold yellow"
    )
    headings = (Message("judge"), Message("AUC"), "", term("figure", "accuracy"), "")
    rows = (
        (
            NAMES[way.name],
            figure(way.auc.value, 3),
            limits(way.auc, 3),
            figure(way.accuracy.value, 3),
            limits(way.accuracy, 3),
        )
        for way in learned.figures.judges
    )
    screen.show(screen.table(headings, rows))
    for line in lines(learned):
        screen.say(line)


def verdict_sentence(figures: LearnedFigures) -> Message:
    """Return a sentence on whether the learned judge beats the free ways to judge."""
    best = max(figures.gains, key=lambda gain_of: -gain_of[1].lower)
    name, gain = best
    values = {
        "other": NAMES[name],
        "value": Message("{value:+.3f}", value=gain.value),
        "lower": Message("{value:+.3f}", value=gain.lower),
        "upper": Message("{value:+.3f}", value=gain.upper),
    }
    if figures.is_worth_it:
        return Message("worth it: AUC {value} against {other} (95%: {lower} to {upper})", **values)
    return Message("not worth it: AUC {value} against {other} (95%: {lower} to {upper})", **values)


def lines(learned: LearnedJudge, *, in_text: bool = True) -> Iterator[Message]:
    """Yield the lines below the figures.

    ``in_text``: include the curve, the mistakes and the option for cascades, which pages show in
    another form.
    """
    figures, file = learned.figures, learned.file
    if figures.words_suffice:
        yield Message(
            "words alone do as well: --words-only makes a judge that needs no embedded model"
        )
    yield plural(
        "cross-validated on {count} row in {groups} groups, which were kept together",
        "cross-validated on {count} rows in {groups} groups, which were kept together",
        figures.rows,
        groups=figures.groups,
    )
    if in_text:
        yield Message(
            "labels → AUC: {curve}",
            curve=join(
                ", ",
                [
                    Message("{labels} → {area:.3f}", labels=labels, area=float(area))
                    for labels, area in figures.curve
                ],
            ),
        )
    yield from learned.notes
    if learned.wrong and in_text:
        yield Message(
            "most confident wrong verdicts on held-out rows: {rows}",
            rows=", ".join(learned.wrong[:_MOST_NAMED]),
        )
    if file.acceptance is not None:
        yield from file.acceptance.lines()
    elif figures.saving is not None:
        heading = Message("as the first step of a cascade, estimated by cross-validation:")
        saving = heading, *figures.saving.lines()
        if not in_text:
            yield join(" ", saving)
            return
        yield from saving
        yield Message("--cascade sets a threshold with a guarantee")


def next_lines(path: Path) -> Iterator[Message]:
    """Yield lines on how to use the judge."""
    name = shlex.quote(f"learned/{path}")
    yield Message("written to {path}: judge with -m {name}", path=path, name=name)


class LearnedJudgeShape(TypedDict):
    """A judge that learned one criterion from labels."""

    criterion: str
    model: str
    worth_it: bool
    figures: LearnedFiguresShape
    acceptance: AcceptanceShape | None
    learned_from: Mapping[str, object]
    wrong: Annotated[Sequence[object], "rows that it gets wrong, of those not learned from"]
    notes: Sequence[str]
    identity: str


def learned_data(learned: LearnedJudge) -> JsonDict:
    """Return the document of ``--json``."""
    file = learned.file
    return fill(
        LearnedJudgeShape,
        file,
        worth_it=learned.figures.is_worth_it,
        figures=learned.figures,
        wrong=learned.wrong,
        notes=learned.notes,
        identity=file.checksum[:16],
    )
