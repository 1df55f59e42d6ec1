"""The history of anchors, as sentences and tables."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from adjudge.features.stress.drift.history import (
    AnchorLook,
    DriftOutcome,
    DriftReport,
    QuestionDrift,
)
from adjudge.messages import Message, join, render
from adjudge.runs.numbers import figure
from adjudge.runs.view.document import Document, DocumentPart
from adjudge.runs.view.plots import Range
from adjudge.runs.view.timeline import Moment, timeline, titled
from adjudge.stats import FEWEST

_FEWEST_LOOKS = 2


def drift_document(report: DriftReport, title: str, language: str = "en") -> Document:
    return Document(
        title=Message("Drift: {title}", title=title),
        lines=list(summary(report)),
        parts=[_part(question, report, language) for question in report.questions],
        notes=[
            Message(
                "A judge that has not changed reaches the bar in at most 5% of histories, over all "
                "looks and criteria together."
            )
        ],
    )


def summary(report: DriftReport) -> Iterator[Message]:
    """Yield the conclusions, and what to do about them."""
    for question in report.questions:
        yield sentence(question, len(report.looks) - 1)
    if report.edited:
        yield Message(
            "Rows changed: {names}. Their texts are no longer those that were judged; they are "
            "left out. Restore them, or make new anchors.",
            names=", ".join(report.edited),
        )
    for model, name_then, name_now in report.renamed:
        yield Message(
            "Replies from {model} now name {now!r}; when the anchors were created they named "
            "{before!r}. Use a dated version of the model to pin it.",
            model=model,
            now=name_now,
            before=name_then,
        )
    if any(question.reconfigured for question in report.questions):
        yield Message(
            "The judge's configuration (model, criterion, prompt or settings) has changed since "
            "the anchors were created, so assume that any change comes from that until shown "
            "otherwise."
        )
    if report.unscored:
        yield Message("Anchors without a verdict at the last look: {count}.", count=report.unscored)
    if report.changed:
        yield Message(
            "What to do: pin the model, judge again what you compare with (adjudge run EVAL --run "
            "RUN --no-cache), label rows of the new run and calibrate by these labels alone; then "
            "make new anchors from that run. Without --no-cache, a run reuses answers that the "
            "judge gave before it changed."
        )


def sentence(drift: QuestionDrift, looks: int) -> Message:
    """State the conclusion about one question."""
    values = {
        "name": drift.question,
        "looks": looks,
        "differ": drift.differ,
        "compared": drift.compared,
        "evidence": drift.evidence[-1] if drift.evidence else 1.0,
        "bar": drift.bar,
    }
    values |= {"most": drift.most, "since": drift.since}
    if drift.outcome is DriftOutcome.CHANGED:
        return _change_sentence(drift, values)
    if drift.outcome is DriftOutcome.CANNOT_TELL and drift.compared >= FEWEST:
        return Message(
            "{name}: cannot tell; this judge is not the one that the anchors are from, and was not "
            "compared with it; anchors that differ: {differ} of {compared}. Make anchors from a "
            "run of this judge to follow it.",
            **values,
        )
    if drift.outcome is DriftOutcome.CANNOT_TELL:
        return Message(
            "{name}: cannot tell; anchors with a verdict then and now: {compared}; at least 8 "
            "are needed.",
            **values,
        )
    if drift.differ:
        return Message(
            "{name}: no change beyond noise (looks: {looks}; evidence {evidence:.3g}, the bar is "
            "{bar:g}); anchors that differ: {differ} of {compared}.",
            **values,
        )
    return Message(
        "{name}: no change (looks: {looks}); all {compared} anchors still have the same verdict.",
        **values,
    )


def _change_sentence(drift: QuestionDrift, values: Mapping[str, object]) -> Message:
    """State that a judge changed, and which one."""
    if drift.only_first_changed:
        return Message(
            "{name}: the judge that the anchors are from changed (evidence {most:.3g}, the bar is "
            "{bar:g}, first reached at look {since}). The last look is at another judge; anchors "
            "that differ now: {differ} of {compared}.",
            **values,
        )
    if drift.reconfigured:
        other = Message(
            "{name}: the last look is at another judge than the anchors are from, and its verdicts "
            "differ (evidence of its own looks {most:.3g}, the bar is {bar:g}, first reached at "
            "look {since}); anchors that differ now: {differ} of {compared}.",
            **values,
        )
        if drift.itself is None:
            return other
        first = Message(
            "The anchors' original judge changed, too, at look {look}.", look=drift.itself
        )
        return join(" ", (other, first))
    if drift.other_judge:
        return Message(
            "{name}: the judge that the anchors are from changed (evidence of its own looks "
            "{most:.3g}, the bar is {bar:g}, first reached at look {since}); anchors that differ "
            "now: {differ} of {compared}.",
            **values,
        )
    return Message(
        "{name}: the judge changed (evidence {most:.3g}, the bar is {bar:g}, first reached at "
        "look {since}); anchors that differ now: {differ} of {compared}.",
        **values,
    )


def _plots(drift: QuestionDrift, report: DriftReport, language: str) -> list[Markup]:
    """Draw the mean at each look, and the evidence on its way to the bar; empty before two
    looks.
    """
    if len(report.looks) < _FEWEST_LOOKS:
        return []
    means = [
        Moment(str(look.number), Range(mean), render(figure(mean, 3), language))
        for look, mean in zip(report.looks, drift.means, strict=True)
    ]
    bar = math.log10(drift.bar)
    evidence = [
        Moment(
            str(number),
            Range(max(0.0, math.log10(max(value, 1.0)))),
            Message("{value:.3g}", value=float(value)).render(language),
        )
        for number, value in enumerate(drift.evidence, 1)
    ]
    high = math.ceil(max([bar, *(moment.range.value or 0 for moment in evidence)]) + 0.5)
    mean_of = Message("Mean score of the anchors at each look").render(language)
    towards = Message("Evidence after each look, in powers of ten; dashed: the bar").render(
        language
    )
    return [
        titled(timeline(means, mean_of, language=language), mean_of),
        titled(timeline(evidence, towards, high=high, bar=bar, language=language), towards),
    ]


def _part(drift: QuestionDrift, report: DriftReport, language: str) -> DocumentPart:
    counts = [drift.options_at(look) for look in report.looks]
    options = sorted(set().union(*counts))
    return DocumentPart(
        title=drift.question,
        plots=_plots(drift, report, language),
        headings=[
            Message("look"),
            Message("date"),
            Message("anchors"),
            *options,
            Message("mean"),
            Message("evidence"),
            *([Message("judge")] if drift.other_judge else []),
        ],
        rows=[
            _row(drift, look, counts[place], options, place)
            for place, look in enumerate(report.looks)
        ],
    )


def _row(
    drift: QuestionDrift, look: AnchorLook, counts: Counter[str], options: Sequence[str], place: int
) -> list[str]:
    return [
        str(look.number),
        time.strftime("%Y-%m-%d %H:%M", time.localtime(look.at)),
        str(counts.total()),
        *(str(counts[name]) for name in options),
        figure(drift.means[place], 3),
        "–" if not place else Message("{value:.3g}", value=drift.evidence[place - 1]),
        *(
            [(Message("another") if look.number in drift.other_judge else Message("unchanged"))]
            if drift.other_judge
            else []
        ),
    ]
