"""From which confidence on a judge's verdict may be accepted, with a promise about the errors among
those accepted.

Fixed-sequence testing with Clopper and Pearson's limits (Jung, Brahman and Choi 2025): go down from
the highest confidence while the upper limit of the error rate among the rows above stays within the
risk. Where already the first step fails there is no such confidence: the judge is never accepted.
All of it holds for rows like those it was learnt from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.messages import Message, plural
from adjudge.stats.distributions import beta_cdf
from adjudge.stats.intervals import upper_limit
from adjudge.stats.threshold import Threshold

FEWEST_ACCEPTED = 30
"""The first step has at least so many rows: fewer show nothing about an error rate."""


def threshold(
    confidences: Sequence[float], right: Sequence[bool], *, risk: float, doubt: float = 0.05
) -> Threshold:
    """The lowest confidence from which on at most ``risk`` of the verdicts are wrong, except with
    probability ``doubt``.
    """
    ordered = sorted(zip(confidences, right, strict=True), key=lambda row: -row[0])
    least = max(FEWEST_ACCEPTED, _rows_to_show(0, risk, doubt))
    if len(ordered) < least:
        reason = Message(
            "{count} labelled rows with a confidence; {least} are the fewest that can show a "
            "risk of {risk:.1%}",
            count=len(ordered),
            least=least,
            risk=risk,
        )
        return Threshold(confidence=None, rows=len(ordered), reason=reason)
    first = min(len(ordered), max(least, _rows_to_show(1, risk, doubt)))
    held: tuple[int, int] | None = None
    errors = 0
    for count, (confidence, correct) in enumerate(ordered, 1):
        errors += not correct
        if count < first or (count < len(ordered) and ordered[count][0] == confidence):
            continue
        if not _within(errors, count, risk, doubt):
            break
        held = count, errors
    return (
        _accepting(ordered[held[0] - 1][0], held, len(ordered), doubt)
        if held
        else _never(errors, count, len(ordered), risk, doubt)
    )


def _rows_to_show(errors: int, risk: float, doubt: float) -> int:
    """The fewest rows with so many errors that still show the risk.

    Starting there, one early error does not end it all.
    """
    count = errors + 1
    while not _within(errors, count, risk, doubt):
        count += 1
    return count


def _within(errors: int, count: int, risk: float, doubt: float) -> bool:
    """Whether the upper limit of the error rate is the risk or less, without
    computing the limit.
    """
    return errors < count and beta_cdf(risk, errors + 1, count - errors) >= 1 - doubt


def _accepting(confidence: float, held: tuple[int, int], rows: int, doubt: float) -> Threshold:
    accepted, errors = held
    limit = upper_limit(errors, accepted, risk=doubt)
    return Threshold(
        confidence=confidence, rows=rows, accepted=accepted, errors=errors, limit=limit
    )


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
    """One judge of a cascade, on the labelled rows: its confidence in each and whether it was
    right; None where it failed.
    """

    confidences: Sequence[float | None]
    right: Sequence[bool]


def cascade_thresholds(
    stages: Sequence[Stage], *, risk: float, doubt: float = 0.05
) -> list[Threshold]:
    """A threshold for each judge, learnt on the rows that the former ones left, with the doubt
    split evenly among them.

    Each judge keeps its own promise, so the cascade keeps it too, whatever share each accepts.
    """
    found: list[Threshold] = []
    left = list(range(len(stages[0].confidences))) if stages else []
    for stage in stages:
        known = [
            (place, confidence)
            for place in left
            if (confidence := stage.confidences[place]) is not None
        ]
        right = [stage.right[place] for place, _ in known]
        one = threshold(
            [confidence for _, confidence in known], right, risk=risk, doubt=doubt / len(stages)
        )
        found.append(one)
        left = [place for place in left if not one.accepts(stage.confidences[place])]
    return found
