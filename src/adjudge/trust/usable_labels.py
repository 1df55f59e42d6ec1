"""Sort out which labels may correct a judge's number, with notes on the others."""

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
        "hand, or add --labels-are-model-made"
    ),
)


@dataclass(frozen=True, kw_only=True)
class LabelSettings:
    """Settings of labels, whatever they are used for."""

    cluster: str | None = key(
        Text(),
        "Treat rows with the same value in this column as one unit, e.g. one conversation.",
        None,
        metavar="COLUMN",
    )
    labels_are_model_made: bool = key(
        Flag(), "Accept labels made by a model; the report says so.", False
    )
    labels_before_change: bool = key(
        Flag(),
        "Count labels older than a change of the judge; the numbers then describe the judge as "
        "it was.",
        False,
    )
    """True if labels count that are older than a change of the judge that was found."""
    changes: Mapping[str, float] = field(default_factory=dict)
    """Identity of a judge → when it was found changed, where its runs do not say it."""


@dataclass(frozen=True)
class LabelsUsed:
    """Labels, sorted by what they may be used for."""

    labels: tuple[Label, ...]
    """All labels considered; those of chosen rows correct nothing."""
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    """The reason why no label corrects anything, if none does."""
    model_made: bool = False
    drawn_by: str | None = None
    """The rule behind the rows' chances, if they were drawn with different chances."""
    older: Message | None = None
    """The note about labels from before a change of the judge; one of ``notes``."""
    skipped: Mapping[tuple[str, str | None], bool] = field(default_factory=dict)
    """Draws (``Label.about``) that annotators skipped or were unsure about and nobody labelled →
    True if drawn among all rows.
    """
    drawn_of: tuple[float, ...] = ()
    """Number of rows that the run had at each draw, in ascending order; infinity for labels that do
    not store it.
    """

    @property
    def weighting(self) -> Weighting | None:
        return Weighting.read(self.drawn_by) if self.drawn_by else None

    def without(self, rows: Collection[str]) -> LabelsUsed:
        """Return these labels without those of ``rows``."""
        return replace(self, labels=tuple(label for label in self.labels if label.row not in rows))

    @property
    def designs(self) -> dict[str, int]:
        return dict(Counter(label.design for label in self.labels))

    @property
    def annotators(self) -> list[str]:
        return sorted({label.annotator for label in self.labels})

    @property
    def kind(self) -> str | None:
        """The annotators' kind, or several kinds joined by " + "; None without labels."""
        return " + ".join(sorted({label.kind for label in self.labels})) or None


def sort_labels(
    labels: Iterable[Label],
    lock: str | None,
    *,
    model_made: bool = False,
    since: float | None = None,
    older: bool = False,
) -> LabelsUsed:
    """Sort labels by what they may be used for. ``lock``: the identity of the judge they measure.

    ``model_made``: labels by models may count. ``since``: the judge was found changed at this time,
    so older labels do not count; with ``older`` they do, and a note says so.
    """
    all_labels = list(labels)
    answered = [label for label in all_labels if label.state == "given"]
    people = [label for label in answered if label.kind != "model"]
    usable = answered if model_made else people
    # the first refusal that applies is reported
    refusal = MODEL_MADE if answered and not usable else None
    older_labels = [] if since is None else [label for label in usable if label.at < since]
    if since is not None and older_labels and not older:
        refusal = refusal or (
            _all_older_refusal(len(usable), since) if older_labels == usable else None
        )
        usable = [label for label in usable if label.at >= since]
    usable, is_foreign = _of_this_judge(usable, lock)
    foreign = sum(is_foreign)
    count_chosen = sum(not label.is_random for label in usable) - foreign
    if usable and count_chosen + foreign == len(usable):
        refusal = refusal or _none_drawn_refusal(foreign, count_chosen)
    notes = _notes(all_labels, usable, is_foreign, 0 if model_made else len(answered) - len(people))
    ways = sorted({str(label.drawn_by) for label in usable if label.design == "random_weighted"})
    if len(ways) > 1:
        refusal = refusal or _two_draws_refusal(ways)
    from_before = None
    if older_labels and since is not None:
        from_before = (
            Message(
                "labels from before {date}, when the judge was found to have changed, are "
                "counted: the corrected number describes the judge as it was, not as it is now",
                date=moment_text(since),
            )
            if older
            else _some_older(len(older_labels), since)
        )
        notes.append(from_before)
    return LabelsUsed(
        tuple(usable),
        tuple(notes),
        refusal,
        any(label.kind == "model" for label in usable),
        ways[0] if len(ways) == 1 else None,
        from_before,
        _skipped_rows(all_labels, usable, lock),
        draw_sizes(usable),
    )


def draw_sizes(labels: Iterable[Label]) -> tuple[float, ...]:
    """Return how many rows the run had at each draw, ascending; infinity for labels without it."""
    drawn = (label.drawn_of for label in labels if label.is_random)
    return tuple(sorted({math.inf if size is None else size for size in drawn}))


def _skipped_rows(
    labels: Iterable[Label], usable: Iterable[Label], lock: str | None
) -> dict[tuple[str, str | None], bool]:
    """Return the drawn rows that annotators skipped or were unsure about and nobody labelled.

    These may be the bad ones. A row that one annotator skipped and another labelled counts as
    labelled.
    """
    labelled = {label.about for label in usable}
    passed_over, _ = _of_this_judge(
        [label for label in labels if label.state in ("skipped", "unsure")], lock
    )
    skipped: dict[tuple[str, str | None], bool] = {}
    for label in passed_over:
        if label.is_random and label.kind != "model" and label.about not in labelled:
            skipped[label.about] = skipped.get(label.about, False) or label.design == "random"
    return skipped


def labels_of_drawn_rows(labels: Iterable[Label], drawn: Iterable[Label]) -> list[bool]:
    """Return for each label whether its row was drawn according to the labels in ``drawn``.

    Such a label counts in the corrected number, however its annotator came to the row.
    """
    rows = {(label.criteria, *label.about) for label in drawn if label.is_random}
    texts = {(criteria, text) for criteria, text, _ in rows}
    return [
        (label.criteria, *label.about) in rows
        or (label.criteria, label.row, None) in rows
        or (label.about[1] is None and (label.criteria, label.row) in texts)
        for label in labels
    ]


def _of_this_judge(labels: Sequence[Label], lock: str | None) -> tuple[list[Label], list[bool]]:
    """Mark rows drawn by another judge's verdicts as chosen, since they are not random for this
    judge.

    Also return for each label whether that applies to its row.
    """
    foreign = [
        label.design in ("random_within_verdict", "random_weighted")
        and (lock is None or label.drawn_under != lock)
        for label in labels
    ]
    labels_here = [
        replace(label, design="chosen") if is_foreign else label
        for label, is_foreign in zip(labels, foreign, strict=True)
    ]
    return labels_here, foreign


def _two_draws_refusal(ways: Sequence[str]) -> Refusal:
    return Refusal(
        "two_draws",
        Message(
            "the labels come from draws with different chances ({ways}), which cannot be "
            "combined: calibrate with those of one draw (--labels FILE)",
            ways=", ".join(ways),
        ),
    )


def _all_older_refusal(count: int, since: float) -> Refusal:
    return Refusal(
        "older_than_change",
        plural(
            "the judge was found to have changed on {date}, and the only label is older: label "
            "rows of a newer run, or add --labels-before-change for numbers of the judge as it "
            "was",
            "the judge was found to have changed on {date}, and all {count} labels are older: "
            "label rows of a newer run, or add --labels-before-change for numbers of the judge "
            "as it was",
            count,
            date=moment_text(since),
        ),
    )


def _some_older(count: int, since: float) -> Message:
    return plural(
        "{count} label is older than {date}, when the judge was found to have changed, and is "
        "left out",
        "{count} labels are older than {date}, when the judge was found to have changed, and are "
        "left out",
        count,
        date=moment_text(since),
    )


def moment_text(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def _none_drawn_refusal(foreign: int, chosen: int) -> Refusal:
    if foreign:
        return Refusal(
            "another_judge",
            plural(
                "{count} label is for a row that was drawn within the verdicts of another or "
                "an unnamed judge: for this one it is not a random sample; label rows of this run",
                "{count} labels are for rows that were drawn within the verdicts of another or "
                "an unnamed judge: for this one they are not a random sample; label rows of this "
                "run",
                foreign,
            ),
        )
    return Refusal(
        "chosen_rows",
        Message(
            "all {chosen} labels are for chosen rows, which say nothing about the others; label "
            "rows in the random queue, or, if these were drawn at random, import them with "
            "--design random",
            chosen=chosen,
        ),
    )


def _notes(
    all_labels: Sequence[Label],
    usable: Sequence[Label],
    is_foreign: Sequence[bool],
    models: int,
) -> list[Message]:
    outside = Counter(
        "drawn" if is_drawn else "foreign" if of_another else "chosen"
        for label, of_another, is_drawn in zip(
            usable, is_foreign, labels_of_drawn_rows(usable, usable), strict=True
        )
        if not label.is_random
    )
    return nonzero(
        plural(
            "{count} label of a chosen row: it helps to write better criteria; it does not "
            "affect the corrected number",
            "{count} labels of chosen rows: they help to write better criteria; they do not "
            "affect the corrected number",
            outside["chosen"],
        ),
        plural(
            "{count} label was given outside the draw to a row that is drawn: it counts there",
            "{count} labels were given outside the draw to rows that are drawn: they count there",
            outside["drawn"],
        ),
        plural(
            "{count} label of a row drawn within the verdicts of another or an unnamed judge: "
            "it does not affect the corrected number",
            "{count} labels of rows drawn within the verdicts of another or an unnamed judge: "
            "they do not affect the corrected number",
            outside["foreign"],
        ),
        plural(
            "{count} label made by models, left out",
            "{count} labels made by models, left out",
            models,
        ),
        plural(
            "{count} label marked unsure, left out",
            "{count} labels marked unsure, left out",
            sum(label.state == "unsure" for label in all_labels),
        ),
        plural(
            "{count} label does not say how many rows the run had when its row was drawn: the "
            "number is not about rows that were added since",
            "{count} labels do not say how many rows the run had when their rows were drawn: the "
            "number is not about rows that were added since",
            sum(
                label.is_random and label.seed is not None and label.drawn_of is None
                for label in usable
            ),
        ),
        plural(
            "{count} label was given with the judge's verdict visible, which influences people",
            "{count} labels were given with the judge's verdict visible, which influences people",
            sum(label.judge_visible for label in usable),
        ),
    )


def nonzero(*notes: Message) -> list[Message]:
    """Return the notes whose count is positive."""
    return [note for note in notes if cast("int", note.values["count"]) > 0]
