"""Show published results as tables in a terminal."""

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


def show_published(results: PublishedResults, screen: Screen) -> None:
    """Show a table per set, with reference figures such as agreement among people."""
    for published_set in results.sets:
        screen.say(title_of_set(published_set), "bold")
        screen.show(screen.table(HEADINGS, (_cells(judge) for judge in published_set.judges)))
        for line in beside_set(published_set):
            screen.say(line, "dim")
        screen.show("")


def title_of_set(published_set: PublishedSet) -> Message:
    """Return the set's name and question."""
    return Message(
        "{name}: {question}",
        name=Message(published_set.name),
        question=Message(published_set.question),
    )


def beside_set(published_set: PublishedSet) -> Iterator[Message]:
    """Yield a set's origin, and reference values for its figures."""
    place = {
        "source": published_set.source,
        "licence": published_set.licence,
        "recorded": published_set.recorded,
    }
    if all(judge.embedded for judge in published_set.judges):
        yield Message(
            "{labels} rows; {source}, {licence}, {recorded}.", labels=published_set.labels, **place
        )
    else:
        yield Message(
            "{labels} labelled rows; {source}, {licence}; verdicts of {recorded}.",
            labels=published_set.labels,
            **place,
        )
    if published_set.ceiling is not None:
        yield Message(
            "Two of the {people} people agree on a share of {ceiling:.3f}.",
            people=published_set.people,
            ceiling=published_set.ceiling,
        )
    if published_set.majority is not None:
        yield Message(
            "Always giving the most common answer reaches {share:.3f}.",
            share=published_set.majority,
        )
    if any(judge.figure == "Spearman" for judge in published_set.judges):
        yield Message("People gave numbers: agreement is Spearman's correlation with them.")
    if published_set.note:
        yield Message(published_set.note)


def _cells(judge: PublishedJudge) -> tuple[object, ...]:
    name = Message("{name} (embedded)", name=judge.judge) if judge.embedded else judge.judge
    return (
        name,
        figure(judge.agreement.value, 3),
        limits(judge.agreement, 3),
        figure(judge.kappa.value, 3),
        figure(judge.order_effect.value, 3),
        f"{judge.failed}/{judge.rows}",
    )
