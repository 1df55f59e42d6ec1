"""Published results as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.features.bench.published_results import PublishedJudge, PublishedResults, PublishedSet
from adjudge.messages import Message
from adjudge.runs.numbers import figure, limits
from adjudge.runs.view.terminal import Screen

HEADINGS = (
    Message("judge"),
    Message("agreement"),
    Message("interval"),
    Message("kappa"),
    Message("order effect"),
    Message("failed"),
)


def show_published(found: PublishedResults, screen: Screen) -> None:
    """A table for each set, with what people and a constant answer reach."""
    for one in found.sets:
        screen.say(title_of_set(one), "bold")
        screen.show(screen.table(HEADINGS, (_cells(judge) for judge in one.judges)))
        for line in beside_set(one):
            screen.say(line, "dim")
        screen.show("")


def title_of_set(one: PublishedSet) -> Message:
    """Which set, and what was asked about it."""
    return Message("{name}: {question}", name=Message(one.name), question=Message(one.question))


def beside_set(one: PublishedSet) -> Iterator[Message]:
    """Where a set comes from, and what its figures are to be held against."""
    place = {"source": one.source, "licence": one.licence, "recorded": one.recorded}
    if all(judge.embedded for judge in one.judges):
        yield Message("{labels} rows; {source}, {licence}, {recorded}.", labels=one.labels, **place)
    else:
        yield Message(
            "{labels} labelled rows; {source}, {licence}; verdicts of {recorded}.",
            labels=one.labels,
            **place,
        )
    if one.ceiling is not None:
        yield Message(
            "Two of {people} people agree in {ceiling:.3f}.", people=one.people, ceiling=one.ceiling
        )
    if one.majority is not None:
        yield Message("The commonest answer alone reaches {share:.3f}.", share=one.majority)
    if any(judge.figure == "Spearman" for judge in one.judges):
        yield Message("People gave numbers: agreement is Spearman's correlation with them.")
    if one.note:
        yield Message(one.note)


def _cells(one: PublishedJudge) -> tuple[object, ...]:
    name = Message("{name} (embedded)", name=one.judge) if one.embedded else one.judge
    return (
        name,
        figure(one.agreement.value, 3),
        limits(one.agreement, 3),
        figure(one.kappa.value, 3),
        figure(one.order_effect.value, 3),
        f"{one.failed}/{one.rows}",
    )
