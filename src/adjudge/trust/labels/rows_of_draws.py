"""The rows that a run had when rows were drawn to be labelled, wherever the data has them now."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

_KEY = 16
"""Hexadecimal digits of a row's identity that are kept."""


def row_key(identity: str) -> int:
    """Return the number by which a row with this content is known."""
    return int(identity[:_KEY], 16)


class RowsOfDraws:
    """Every row that the run had at a draw for one criterion, in blocks: the rows of the first
    draw, those added until the second, and so on. Copies of a text are separate rows.
    """

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        self.blocks: list[array[int]] = []
        """The sorted keys of each block's rows."""
        for packed in blocks:
            self.blocks.append(array("Q", zlib.decompress(packed)))

    @property
    def total(self) -> int:
        """The number of rows that could be drawn so far, also of those that the run no longer
        has.
        """
        return sum(map(len, self.blocks))

    def add(self, keys: Iterable[int], sizes: Sequence[int] = ()) -> list[bytes]:
        """Add the rows of one judge that are new, and return the blocks to store.

        ``sizes``: numbers of rows of earlier draws whose rows were not kept. The first rows in the
        order of the run count as theirs.
        """
        numbers = RowNumbers(self)
        before = self.total
        new = array("Q")
        for key in keys:
            if numbers.next(key) == before:
                new.append(key)
        inner = sorted({size - before for size in sizes if before < size < before + len(new)})
        ends = [*inner, len(new)]
        blocks = [
            array("Q", sorted(new[start:end]))
            for start, end in zip([0, *ends], ends, strict=False)
            if end > start
        ]
        self.blocks += blocks
        return [zlib.compress(block.tobytes(), 1) for block in blocks]


class RowNumbers:
    """Numbers for a judge's rows, read once in their order: those of one block have the number of
    its first row. A row that was never there at a draw has the number of rows that were.
    """

    def __init__(self, rows: RowsOfDraws) -> None:
        self._blocks = rows.blocks
        self._starts = [sum(map(len, self._blocks[:place])) for place in range(len(self._blocks))]
        self._total = rows.total
        self._taken = [bytearray(len(block)) for block in self._blocks]
        self._copies: dict[tuple[int, int], int] = {}
        """Block and key → how many copies of the text were read, if more than one."""

    def next(self, key: int) -> int:
        """Return the number of the next row; ``key``: of its content."""
        for place, block in enumerate(self._blocks):
            first = bisect_left(block, key)
            if first == len(block) or block[first] != key:
                continue
            if not self._taken[place][first]:
                self._taken[place][first] = 1
                return self._starts[place]
            copies = self._copies.get((place, key), 1)
            if first + copies < len(block) and block[first + copies] == key:
                self._copies[place, key] = copies + 1
                return self._starts[place]
        return self._total


class RowPlaces:
    """Like ``RowNumbers``, but the place of a row in the run if the rows of no draw were kept."""

    def __init__(self, rows: RowsOfDraws) -> None:
        self._numbers = RowNumbers(rows) if rows.blocks else None

    def number(self, identity: str, place: int) -> int:
        """Return the number of the next row. ``place``: its place among the rows of its judge."""
        return place if self._numbers is None else self._numbers.next(row_key(identity))
