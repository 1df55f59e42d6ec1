"""What a judge of pairs goes by beside quality: the place that a response is shown at, and its
length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message
from adjudge.runs.folder import records_of
from adjudge.stats.bias import first_advantage, first_rate
from adjudge.stats.difference import compare
from adjudge.trust.labelled_rows import labelled_rows
from adjudge.trust.rows import LabelledRow


@dataclass(frozen=True)
class _Shown:
    """What was picked of two responses that were shown in one order; all of them by their places in
    the row.
    """

    row: str
    first: int
    second: int
    picked: int


def first_place_text(folder: str | Path, judge: str) -> str:
    """How often the response that is shown first is picked, over pairs that were shown in both
    orders.
    """
    both = list(_in_both_orders(list(_shown(folder, judge))))
    if not both:
        return Message(
            "not measured: no pair was shown in both orders: judge with --check-positional-bias"
        )
    found = first_rate(
        [one.picked == one.first for one in both], clusters=[one.row for one in both]
    )
    limits = Message(
        "{lower:.3f} to {upper:.3f}; {count} pairs in both orders",
        lower=found.lower,
        upper=found.upper,
        count=len({one.row for one in both}),
    )
    return Message(
        "the response shown first is picked in {value:.3f} of verdicts, where half is fair "
        "({limits})",
        value=found.value,
        limits=limits,
    )


def better_first_text(folder: str | Path, judge: str) -> str:
    """With labels: how much oftener the better response is found where it is shown first; of each
    row and order one verdict.
    """
    truths = dict(_truths(folder, judge))
    right: dict[bool, list[bool]] = {True: [], False: []}
    for one in {(one.row, one.first, one.second): one for one in _shown(folder, judge)}.values():
        truth = truths.get(one.row)
        if truth in (one.first, one.second):
            right[truth == one.first].append(one.picked == truth)
    found = first_advantage(right[True], right[False])
    return found.say(
        Message(
            "the better one is found {value:+.3f} more often where it is shown first ({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} verdicts"),
    )


def _truths(folder: str | Path, judge: str) -> Iterator[tuple[str, int]]:
    """Row → the place of the better response, as people say."""
    for rows in labelled_rows(folder, judge):
        for one in rows.labelled:
            if one.truth in one.systems:
                yield one.identity, one.systems.index(str(one.truth))


def _shown(folder: str | Path, judge: str) -> Iterator[_Shown]:
    for record in records_of(folder, judge=judge, votes=True):
        for vote in (record.votes or ()) if record.systems else ():
            order, option = vote.order or (), vote.option or ""
            if len(order) == 2 and option.isdecimal() and int(option) in order:
                yield _Shown(record.identity, *order, int(option))


def _in_both_orders(shown: Sequence[_Shown]) -> Iterator[_Shown]:
    """As many in one order as in the other, of each pair."""
    orders: dict[tuple[str, int, int], list[_Shown]] = defaultdict(list)
    for one in shown:
        orders[one.row, one.first, one.second].append(one)
    for (row, first, second), own in orders.items():
        yield from own[: len(orders.get((row, second, first), ()))]


def longer_text(folder: str | Path, judge: str) -> str:
    """With labels: how much oftener the judge picks the longer of two responses than people do."""
    pairs = [
        (_picks_longer(one, one.verdict), _picks_longer(one, str(one.truth)))
        for rows in labelled_rows(folder, judge)
        for one in rows.labelled
        if one.longest
        and one.verdict is not None
        and one.truth is not None
        and len(one.systems) == 2
    ]
    found = compare([said for said, _ in pairs], [truth for _, truth in pairs]).estimate
    return found.say(
        Message(
            "of two responses the longer is picked {value:+.3f} more often than people pick it "
            "({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} pairs"),
    )


def _picks_longer(one: LabelledRow, said: str | None) -> float:
    return 0.5 if said == TIE else float(said == one.longest)
