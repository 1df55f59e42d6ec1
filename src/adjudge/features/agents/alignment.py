"""Align two lists: the largest one-to-one matching, the longest common order, the best
assignment.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import inf


def match_most(options: Sequence[Sequence[int]], rights: int) -> list[int | None]:
    """Return the right node matched to each left node in a maximum matching; None if unmatched.

    Left ``i`` may be matched with any node in ``options[i]``, and no right node is used twice. This
    uses augmenting paths, because a greedy matching need not be the largest.
    """
    right_of: list[int | None] = [None] * len(options)
    left_of: list[int | None] = [None] * rights
    # A greedy start leaves few lefts for the search.
    for left, candidates in enumerate(options):
        right = next((right for right in candidates if left_of[right] is None), None)
        if right is not None:
            right_of[left], left_of[right] = right, left
    given_up: set[int] = set()
    for left in range(len(options)):
        if right_of[left] is None:
            _augment(left, options, right_of, left_of, given_up)
    return right_of


def _augment(
    start: int,
    options: Sequence[Sequence[int]],
    right_of: list[int | None],
    left_of: list[int | None],
    given_up: set[int],
) -> None:
    """Find a path from the unmatched node ``start`` to a free right node and flip the pairs along
    it.

    If there is no such path, add the right nodes that were reached to ``given_up``.
    """
    came_from: dict[int, int] = {}
    waiting = [start]
    for left in waiting:
        for right in options[left]:
            if right in came_from or right in given_up:
                continue
            came_from[right] = left
            owner = left_of[right]
            if owner is None:
                _shift(right, came_from, right_of, left_of)
                return
            waiting.append(owner)
    # what this search has reached leads nowhere for any later one either
    given_up.update(came_from)


def _shift(
    right: int,
    came_from: dict[int, int],
    right_of: list[int | None],
    left_of: list[int | None],
) -> None:
    """Match every left node on the path that ends at ``right`` with the right node found for it."""
    following: int | None = right
    while following is not None:
        left = came_from[following]
        freed_right = right_of[left]
        right_of[left], left_of[following] = following, left
        following = freed_right


def match_in_order(options: Sequence[Sequence[int]]) -> list[int | None]:
    """Return the right node matched to each left node in the longest matching that keeps both
    orders.

    Each list in ``options`` must be ascending. Unmatched nodes get None.
    """
    ends: list[int] = []
    """The smallest right that a chain of so many pairs ends with."""
    chains: list[_Pair] = []
    for left, rights in enumerate(options):
        # descending, so that one left does not extend its own chain
        for right in reversed(rights):
            length = bisect_left(ends, right)
            pair = (left, right, chains[length - 1] if length else None)
            if length == len(ends):
                ends.append(right)
                chains.append(pair)
            elif right < ends[length]:
                ends[length], chains[length] = right, pair
    right_of: list[int | None] = [None] * len(options)
    link = chains[-1] if chains else None
    while link is not None:
        left, right, link = link
        right_of[left] = right
    return right_of


_Pair = tuple[int, int, "_Pair | None"]


def assign_best(worth: Sequence[Sequence[float]]) -> list[int | None]:
    """Assign as many rows as possible to distinct columns, with the greatest total worth.

    Return the column of each row; None for a row without one.
    """
    if not worth or not worth[0]:
        return [None] * len(worth)
    if len(worth) <= len(worth[0]):
        return [*_assign([[-value for value in row] for row in worth])]
    row_of = _assign([[-row[column] for row in worth] for column in range(len(worth[0]))])
    columns: list[int | None] = [None] * len(worth)
    for column, row in enumerate(row_of):
        columns[row] = column
    return columns


def _assign(cost: Sequence[Sequence[float]]) -> list[int]:
    """Return the column assigned to each row at the least total cost.

    There must be at least as many columns as rows. Rows are added one at a time along the cheapest
    augmenting path (Kuhn, Munkres; Jonker, Volgenant).
    """
    columns = len(cost[0])
    row_price, column_price = [0.0] * (len(cost) + 1), [0.0] * (columns + 1)
    row_in = [0] * (columns + 1)
    """Rows and columns count from 1 here; column 0 holds the row that comes in."""
    for row in range(1, len(cost) + 1):
        row_in[0], column = row, 0
        slack, previous_column = [inf] * (columns + 1), [0] * (columns + 1)
        done = [False] * (columns + 1)
        while row_in[column]:
            done[column] = True
            at, step, following = row_in[column], inf, 0
            for next_column in range(1, columns + 1):
                if done[next_column]:
                    continue
                reduced = cost[at - 1][next_column - 1] - row_price[at] - column_price[next_column]
                if reduced < slack[next_column]:
                    slack[next_column], previous_column[next_column] = reduced, column
                if slack[next_column] < step:
                    step, following = slack[next_column], next_column
            for next_column in range(columns + 1):
                if done[next_column]:
                    row_price[row_in[next_column]] += step
                    column_price[next_column] -= step
                else:
                    slack[next_column] -= step
            column = following
        while column:
            row_in[column] = row_in[previous_column[column]]
            column = previous_column[column]
    column_of = [0] * len(cost)
    for column in range(1, columns + 1):
        if row_in[column]:
            column_of[row_in[column] - 1] = column - 1
    return column_of
