"""A calibration in words: what stands behind the number, what it would take to know more, who
agrees with whom.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from adjudge.domain.verdict import TIE
from adjudge.messages import Message, join
from adjudge.results.counts import count_labels, count_rows
from adjudge.results.russian import mark, translate_report, verbatim
from adjudge.stats.agreement import TwoRaters
from adjudge.stats.estimate import Estimate
from adjudge.stats.refusal import Needed
from adjudge.trust.agreement import CROWD, AgreementReport
from adjudge.trust.both_orders import OrderAgreement
from adjudge.trust.calibration import Calibration
from adjudge.trust.confusion import FAILED
from adjudge.trust.distance import Distance


def value_text(one: Estimate | None) -> str:
    """An estimate as a number."""
    return "–" if one is None or one.value is None else f"{one.value:.3f}"


def limits_text(one: Estimate | None) -> str:
    return (
        "–"
        if one is None or one.lower is None or one.upper is None
        else f"between {one.lower:.3f} and {one.upper:.3f}"
    )


def calibration_lines(one: Calibration) -> Iterator[str]:
    """What stands behind a corrected number."""
    each = (
        Message(
            "{option} {number} of {rows}",
            option=translate_report(name) if name in (FAILED, TIE) else name,
            number=number,
            rows=one.rows_by_verdict.get(name, 0),
        )
        for name, number in _verdicts(one)
    )
    yield Message("labelled rows: {each}", each=join(", ", each))
    for truth, row in one.confusion.table.items():
        judged = ", ".join(f"{option_name(said)} {number}" for said, number in row.items())
        yield f"people say {option_name(truth)}: the judge says {judged}"
    for name, share in (
        ("sensitivity", one.confusion.sensitivity),
        ("specificity", one.confusion.specificity),
    ):
        if share is not None:
            reason = mark(share.reason, one.measure.options)
            limits = limits_text(share) if share.lower is not None else reason
            yield f"{name} {value_text(share)}, {limits} ({count_labels(share.count)})"
    if one.distance:
        yield distance_text(one.distance)
    yield needed_text(one.needed, one.measure.range)
    yield f"judge identity {one.lock or 'not known'}"
    yield from one.notes


def option_name(name: str) -> str:
    """An option as its criterion names it; that nothing was said, or that both are as good, are
    words of ours.
    """
    return name if name in (FAILED, TIE) else verbatim(name)


def _verdicts(one: Calibration) -> list[tuple[str, int]]:
    return [(name, one.labels_by_verdict.get(name, 0)) for name in one.rows_by_verdict]


def distance_text(one: Distance) -> str:
    """How far people's answer may lie from the judge's."""
    rows = f"{one.level:.0%} of rows like these ({count_labels(one.count)})"
    if not one.options:
        return f"people's number lies within {one.within:.3g} of the judge's on {rows}"
    if not one.within:
        return f"people choose the judge's option on {rows}"
    return f"people's option lies at most {one.within:g} from the judge's on {rows}"


def needed_text(needed: Needed, scale: tuple[float, float]) -> str:
    """How many labels an interval of the wanted width takes."""
    of = "" if scale == (0, 1) else " of the scale"
    width = f"an interval {needed.target_width:g}{of} wide"
    if needed.labels is None:
        return f"{width}: {needed.reason}"
    if not needed.more:
        return f"{width}: the labels are enough"
    among = ", ".join(
        f"{number} among {option_name(verdict)}" for verdict, number in needed.by_verdict.items()
    )
    saved = (
        f"; without the judge it would take {needed.labels_alone}" if needed.labels_alone else ""
    )
    return (
        f"{width} needs {count_labels(needed.labels)}, {needed.more} "
        f"more{f' ({among})' if among else ''}{saved}"
    )


def people_lines(found: AgreementReport) -> Iterator[str]:
    """How the judge agrees with each annotator, they with each other, and whether it may replace
    one.
    """
    for name, pair in found.groups.items():
        yield f"group {verbatim(name) if name else '(empty)'}: {_pair(pair)}"
    for name, orders in found.orders.items():
        yield _both_orders(name, orders)
    for name, pair in islice(found.annotators.items(), CROWD):
        yield f"judge and {verbatim(name)}: {_pair(pair)}"
    if len(found.annotators) > CROWD:
        yield f"… and {len(found.annotators) - CROWD} more annotators: --json has them"
    for (one, other), pair in found.people.items():
        yield f"{verbatim(one)} and {verbatim(other)}: {_pair(pair)}"
    if found.people_alpha.value is not None:
        yield f"people among themselves: Krippendorff's alpha {found.people_alpha.value:.3f}"
    test = found.alt_test
    if test is None:
        return
    if test.winning_rate is None or test.advantage is None:
        yield f"alternative annotator test: {test.reason}"
        return
    near = ", ".join(f"{rate:.2f} at {epsilon:g}" for epsilon, rate in (test.nearby or {}).items())
    may = "may replace a person" if test.passed else "may not replace a person"
    yield (
        f"alternative annotator test: the judge {may} (winning rate {test.winning_rate:.2f} "
        f"at epsilon {test.epsilon:g}; {near}; "
        f"advantage {test.advantage:.2f})"
    )


def _both_orders(group: str, found: OrderAgreement) -> str:
    first, other = found.right
    about = f"both orders{f', group {verbatim(group)}' if group else ''}"
    votes = f"{found.accuracy:.2%} of votes right ({first:.2%} and {other:.2%})"
    rows = (
        f"{found.both:.2%} of rows right in both, {found.mostly:.2%} with more right votes than "
        "wrong"
    )
    return (
        f"{about}: {votes}; {rows}; {found.alike:.2%} of rows say the same in both "
        f"({count_rows(found.count)})"
    )


def _pair(pair: TwoRaters) -> str:
    kappa = pair.kappa.reason if pair.kappa.value is None else f"kappa {pair.kappa.value:.3f}"
    share = "" if pair.accuracy.value is None else f"{pair.accuracy.value:.1%} alike, "
    return f"{share}{kappa} ({count_rows(pair.count)})"
