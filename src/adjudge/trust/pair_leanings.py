"""Biases of a judge of pairs: the place that a response is shown at, and its length."""

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
class _Pick:
    """A pick between two responses shown in one order. Responses are identified by position in the
    row.
    """

    row: str
    first: int
    second: int
    picked: int


def first_place_text(folder: str | Path, judge: str) -> str:
    """Say how often the response shown first is picked, in pairs shown in both orders."""
    picks = list(_in_both_orders(list(_picks(folder, judge))))
    if not picks:
        return Message(
            "not measured: no pair was shown in both orders: judge with --check-positional-bias"
        )
    rate = first_rate(
        [pick.picked == pick.first for pick in picks], clusters=[pick.row for pick in picks]
    )
    limits = Message(
        "{lower:.3f} to {upper:.3f}; {count} pairs in both orders",
        lower=rate.lower,
        upper=rate.upper,
        count=len({pick.row for pick in picks}),
    )
    return Message(
        "the response shown first is picked in {value:.3f} of verdicts; half would be fair "
        "({limits})",
        value=rate.value,
        limits=limits,
    )


def better_first_text(folder: str | Path, judge: str) -> str:
    """Say how much more often the better response (by labels) is picked if it is shown first.

    One verdict counts per row and order.
    """
    truths = {
        row.identity: row.systems.index(str(row.truth))
        for rows in labelled_rows(folder, judge)
        for row in rows.labelled
        if row.truth in row.systems
    }
    right: dict[bool, list[bool]] = {True: [], False: []}
    for pick in {
        (pick.row, pick.first, pick.second): pick for pick in _picks(folder, judge)
    }.values():
        truth = truths.get(pick.row)
        if truth in (pick.first, pick.second):
            right[truth == pick.first].append(pick.picked == truth)
    advantage = first_advantage(right[True], right[False])
    return advantage.say(
        Message(
            "the better response is picked {value:+.3f} more often if it is shown first ({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} verdicts"),
    )


def _picks(folder: str | Path, judge: str) -> Iterator[_Pick]:
    for record in records_of(folder, judge=judge, votes=True):
        for vote in (record.votes or ()) if record.systems else ():
            order, option = vote.order or (), vote.option or ""
            if len(order) == 2 and option.isdecimal() and int(option) in order:
                yield _Pick(record.identity, *order, int(option))


def _in_both_orders(all_picks: Sequence[_Pick]) -> Iterator[_Pick]:
    """Yield equally many picks in both orders, per pair."""
    orders: dict[tuple[str, int, int], list[_Pick]] = defaultdict(list)
    for pick in all_picks:
        orders[pick.row, pick.first, pick.second].append(pick)
    for (row, place_a, place_b), picks in orders.items():
        yield from picks[: len(orders.get((row, place_b, place_a), ()))]


def longer_text(folder: str | Path, judge: str) -> str:
    """Say how much more often the judge picks the longer of two responses than people do."""
    pairs = [
        (_picks_longer(row, row.verdict), _picks_longer(row, str(row.truth)))
        for rows in labelled_rows(folder, judge)
        for row in rows.labelled
        if row.longest
        and row.verdict is not None
        and row.truth is not None
        and len(row.systems) == 2
    ]
    difference = compare([verdict for verdict, _ in pairs], [truth for _, truth in pairs]).estimate
    return difference.say(
        Message(
            "the judge picks the longer of two responses {value:+.3f} more often than people do "
            "({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} pairs"),
    )


def _picks_longer(row: LabelledRow, answer: str | None) -> float:
    return 0.5 if answer == TIE else float(answer == row.longest)
