"""Which labels may correct a judge's number, and what is said of the others."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from adjudge.core.domain.label import Label
from adjudge.core.reading.types import Flag, Text, key
from adjudge.messages import Message, plural
from adjudge.stats.refusal import Refusal
from adjudge.trust.labels.weighting import Weighting

MODEL_MADE = Refusal(
    "model_made_labels",
    Message(
        "the labels were made by a model, and would correct one model by another; label rows by "
        "hand, or say --labels-are-model-made"
    ),
)


@dataclass(frozen=True, kw_only=True)
class LabelSettings:
    """What may be said of labels, whatever they are used for."""

    cluster: str | None = key(
        Text(),
        "Treat rows with the same value in this column as one unit, e.g. one conversation.",
        None,
        metavar="COLUMN",
    )
    labels_are_model_made: bool = key(
        Flag(), "Correct by labels that a model made; the report says so.", False
    )
    labels_before_change: bool = key(
        Flag(),
        "Count labels older than a change of the judge: the numbers are then those of the judge as "
        "it was.",
        False,
    )
    """True if labels count that are older than a change of the judge that was found."""
    changes: Mapping[str, float] = field(default_factory=dict)
    """Identity of a judge → when it was found changed, where its runs do not say it."""


@dataclass(frozen=True)
class LabelsUsed:
    """Labels by what may be done with them."""

    labels: tuple[Label, ...]
    """All that are looked at; those of chosen rows correct nothing."""
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    """Why none of them corrects anything."""
    model_made: bool = False
    drawn_by: str | None = None
    """What the chances follow of rows that were drawn with chances of their own."""
    older: Message | None = None
    """What is said of labels from before a change of the judge; one of the notes."""
    skipped: Mapping[tuple[str, str | None], bool] = field(default_factory=dict)
    """What was drawn (``Label.about``), that somebody skipped or was unsure about and nobody
    labelled → whether it was drawn among all rows.
    """
    drawn_of: tuple[float, ...] = ()
    """How many rows the run had at each draw, in ascending order; infinity for labels that do not
    say it.
    """

    @property
    def weighting(self) -> Weighting | None:
        return Weighting.read(self.drawn_by) if self.drawn_by else None

    def without(self, rows: Collection[str]) -> LabelsUsed:
        """Those of other rows than these."""
        return replace(self, labels=tuple(one for one in self.labels if one.row not in rows))

    @property
    def designs(self) -> dict[str, int]:
        return dict(Counter(one.design for one in self.labels))

    @property
    def annotators(self) -> list[str]:
        return sorted({one.annotator for one in self.labels})

    @property
    def kind(self) -> str | None:
        """What the annotators are; several kinds are joined."""
        return " + ".join(sorted({one.kind for one in self.labels})) or None


def labels_used(
    given: Iterable[Label],
    lock: str | None,
    *,
    model_made: bool = False,
    since: float | None = None,
    older: bool = False,
) -> LabelsUsed:
    """Sort labels out for the judge whose identity is ``lock``.

    ``model_made``: labels that models made may count. ``since``: those given before do not, since
    the judge was found changed then; with ``older`` they do, and that is said.
    """
    known = list(given)
    answered = [one for one in known if one.state == "given"]
    people = [one for one in answered if one.kind != "model"]
    kept = answered if model_made else people
    refusal = MODEL_MADE if answered and not kept else None
    before = [] if since is None else [one for one in kept if one.at < since]
    if since is not None and before and not older:
        refusal = refusal or (_all_older(len(kept), since) if before == kept else None)
        kept = [one for one in kept if one.at >= since]
    kept, foreign = _of_this_judge(kept, lock)
    chosen = sum(not one.is_random for one in kept) - foreign
    if kept and chosen + foreign == len(kept):
        refusal = refusal or _none_drawn(foreign, chosen)
    notes = _notes(known, kept, chosen, foreign, 0 if model_made else len(answered) - len(people))
    ways = sorted({str(one.drawn_by) for one in kept if one.design == "random_weighted"})
    if len(ways) > 1:
        refusal = refusal or _drawn_twice(ways)
    from_before = None
    if before and since is not None:
        from_before = _as_it_was(since) if older else _some_older(len(before), since)
        notes.append(from_before)
    return LabelsUsed(
        tuple(kept),
        tuple(notes),
        refusal,
        any(one.kind == "model" for one in kept),
        ways[0] if len(ways) == 1 else None,
        from_before,
        _skipped_rows(known, kept, lock),
        draw_sizes(kept),
    )


def draw_sizes(labels: Iterable[Label]) -> tuple[float, ...]:
    """Return how many rows the run had at each draw of labelled rows, in ascending order; infinity
    for labels that do not say it.
    """
    drawn = (one.drawn_of for one in labels if one.is_random)
    return tuple(sorted({math.inf if size is None else size for size in drawn}))


def _skipped_rows(
    labels: Iterable[Label], kept: Iterable[Label], lock: str | None
) -> dict[tuple[str, str | None], bool]:
    """Return the drawn rows that annotators skipped or were unsure about and nobody labelled: they
    may be the bad ones. A row that one of them skipped and another labelled is labelled.
    """
    labelled = {one.about for one in kept}
    passed_over, _ = _of_this_judge(
        [one for one in labels if one.state in ("skipped", "unsure")], lock
    )
    found: dict[tuple[str, str | None], bool] = {}
    for one in passed_over:
        if one.is_random and one.kind != "model" and one.about not in labelled:
            found[one.about] = found.get(one.about, False) or one.design == "random"
    return found


def _of_this_judge(labels: Sequence[Label], lock: str | None) -> tuple[list[Label], int]:
    """Rows that were drawn by another judge's verdicts are no random ones for this judge."""
    foreign = [
        one.design in ("random_within_verdict", "random_weighted")
        and (lock is None or one.drawn_under != lock)
        for one in labels
    ]
    kept = [
        replace(one, design="chosen") if other else one
        for one, other in zip(labels, foreign, strict=True)
    ]
    return kept, sum(foreign)


def _drawn_twice(ways: Sequence[str]) -> Refusal:
    return Refusal(
        "two_draws",
        Message(
            "the labels come from draws with different chances ({ways}), which cannot be joined: "
            "calibrate by those of one draw (--labels FILE)",
            ways=", ".join(ways),
        ),
    )


def _all_older(count: int, since: float) -> Refusal:
    return Refusal(
        "older_than_change",
        plural(
            "the judge was found changed on {date}, and the only label is older: label rows of a "
            "run made since, or say --labels-before-change for numbers of the judge as it was",
            "the judge was found changed on {date}, and all {count} labels are older: label rows "
            "of a run made since, or say --labels-before-change for numbers of the judge as it was",
            count,
            date=moment_text(since),
        ),
    )


def _some_older(count: int, since: float) -> Message:
    return plural(
        "{count} label is older than {date}, when the judge was found changed, and is left out",
        "{count} labels are older than {date}, when the judge was found changed, and are left out",
        count,
        date=moment_text(since),
    )


def _as_it_was(since: float) -> Message:
    return Message(
        "labels count that are older than {date}, when the judge was found changed: the corrected "
        "number is that of the judge as it was, not as it is now",
        date=moment_text(since),
    )


def moment_text(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def _none_drawn(foreign: int, chosen: int) -> Refusal:
    if foreign:
        return Refusal(
            "another_judge",
            plural(
                "{count} label is of a row that was drawn within the verdicts of another judge: "
                "for this one it is not a random sample; label rows of this run",
                "{count} labels are of rows that were drawn within the verdicts of another judge: "
                "for this one they are not a random sample; label rows of this run",
                foreign,
            ),
        )
    return Refusal(
        "chosen_rows",
        Message(
            "all {chosen} labels are of chosen rows, which say nothing of the others; label "
            "rows in the random queue, or, if these were drawn at random, import them with "
            "--design random",
            chosen=chosen,
        ),
    )


def _notes(
    known: Sequence[Label], kept: Sequence[Label], chosen: int, foreign: int, models: int
) -> list[Message]:
    return nonzero(
        plural(
            "{count} label of a chosen row: it helps to write better criteria; it does not "
            "move the corrected number",
            "{count} labels of chosen rows: they help to write better criteria; they do not "
            "move the corrected number",
            chosen,
        ),
        plural(
            "{count} label of a row drawn within the verdicts of another judge: it does not "
            "move the corrected number",
            "{count} labels of rows drawn within the verdicts of another judge: they do not "
            "move the corrected number",
            foreign,
        ),
        plural(
            "{count} label made by models, left out",
            "{count} labels made by models, left out",
            models,
        ),
        plural(
            "{count} label unsure, left out",
            "{count} labels unsure, left out",
            sum(one.state == "unsure" for one in known),
        ),
        plural(
            "{count} label does not say how many rows the run had when its row was drawn: the "
            "number is not about rows that were added since",
            "{count} labels do not say how many rows the run had when their rows were drawn: the "
            "number is not about rows that were added since",
            sum(one.is_random and one.seed is not None and one.drawn_of is None for one in kept),
        ),
        plural(
            "{count} label given with the judge's verdict in sight, which draws people towards it",
            "{count} labels given with the judge's verdict in sight, which draws people towards it",
            sum(one.judge_visible for one in kept),
        ),
    )


def nonzero(*notes: Message) -> list[Message]:
    """Those that count anything."""
    return [one for one in notes if cast("int", one.values["count"]) > 0]
