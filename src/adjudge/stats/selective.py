"""Confidence thresholds above which a judge's verdicts may be accepted, with a guarantee about
their errors.

Fixed-sequence testing with Clopper and Pearson's limits (Jung, Brahman and Choi 2025): go down from
the highest confidence while the upper limit of the error rate among the rows above stays within the
risk. If the first step already fails there is no threshold: the judge is never accepted. All of it
holds for rows like those of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.messages import Message, plural
from adjudge.stats.distributions import beta_cdf
from adjudge.stats.intervals import upper_limit
from adjudge.stats.threshold import Threshold

FEWEST_ACCEPTED = 30
"""Minimum number of rows in the first step: fewer show nothing about an error rate."""


def threshold(
    confidences: Sequence[float], right: Sequence[bool], *, risk: float, doubt: float = 0.05
) -> Threshold:
    """Return the lowest confidence above which at most ``risk`` of verdicts are wrong, with
    probability 1 − ``doubt``.

    If there is none, the result has a reason instead.
    """
    ordered = sorted(zip(confidences, right, strict=True), key=lambda row: -row[0])
    least = max(FEWEST_ACCEPTED, _rows_to_show(0, risk, doubt))
    if len(ordered) < least:
        reason = Message(
            "{count} labelled rows with a confidence; at least {least} are needed to show a risk "
            "of {risk:.1%}",
            count=len(ordered),
            least=least,
            risk=risk,
        )
        return Threshold(confidence=None, rows=len(ordered), reason=reason)
    start = min(len(ordered), max(least, _rows_to_show(1, risk, doubt)))
    passed: tuple[int, int] | None = None
    errors = 0
    for count, (confidence, correct) in enumerate(ordered, 1):
        errors += not correct
        # Rows with equal confidence are accepted or refused together.
        if count < start or (count < len(ordered) and ordered[count][0] == confidence):
            continue
        if not _within(errors, count, risk, doubt):
            break
        passed = count, errors
    if passed is None:
        return _never(errors, count, len(ordered), risk, doubt)
    accepted, wrong = passed
    return Threshold(
        confidence=ordered[accepted - 1][0],
        rows=len(ordered),
        accepted=accepted,
        errors=wrong,
        limit=upper_limit(wrong, accepted, risk=doubt),
    )


def _rows_to_show(errors: int, risk: float, doubt: float) -> int:
    """Return the fewest rows that still show the risk with this many errors.

    Starting there, one early error does not end the sequence.
    """
    count = errors + 1
    while not _within(errors, count, risk, doubt):
        count += 1
    return count


def _within(errors: int, count: int, risk: float, doubt: float) -> bool:
    """Return True if the upper limit of the error rate is at most ``risk``, without computing that
    limit.
    """
    return errors < count and beta_cdf(risk, errors + 1, count - errors) >= 1 - doubt


def _never(errors: int, count: int, rows: int, risk: float, doubt: float) -> Threshold:
    wrong = plural("{count} is wrong", "{count} are wrong", errors)
    limit = upper_limit(errors, count, risk=doubt)
    reason = Message(
        "never accept: of the {count} most confident rows {wrong}, so up to {limit:.1%} may "
        "be; {risk:.1%} is allowed",
        count=count,
        wrong=wrong,
        limit=limit,
        risk=risk,
    )
    return Threshold(confidence=None, rows=rows, limit=limit, reason=reason)


@dataclass(frozen=True, slots=True)
class Stage:
    """One judge of a cascade on the labelled rows: its confidences and correctness; None if it
    failed.
    """

    confidences: Sequence[float | None]
    right: Sequence[bool]


def cascade_thresholds(
    stages: Sequence[Stage], *, risk: float, doubt: float = 0.05
) -> list[Threshold]:
    """Return a threshold per judge, fitted on rows that earlier judges left, splitting the doubt
    evenly.

    Each judge keeps its own guarantee, so the cascade does, too, whatever share each accepts.
    """
    thresholds: list[Threshold] = []
    remaining = list(range(len(stages[0].confidences))) if stages else []
    for stage in stages:
        confident = [
            (place, confidence)
            for place in remaining
            if (confidence := stage.confidences[place]) is not None
        ]
        right = [stage.right[place] for place, _ in confident]
        stage_threshold = threshold(
            [confidence for _, confidence in confident], right, risk=risk, doubt=doubt / len(stages)
        )
        thresholds.append(stage_threshold)
        remaining = [
            place for place in remaining if not stage_threshold.accepts(stage.confidences[place])
        ]
    return thresholds
