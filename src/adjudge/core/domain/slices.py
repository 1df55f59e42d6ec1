"""Slices: rows grouped by their value in a column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.core.domain.record import JudgmentRecord, column_of
from adjudge.errors import SetupError
from adjudge.messages import Message, plural

MOST = 12
"""Most slices of a column: the most common values, with the others in one slice."""
PARTS = 4
"""Number of ranges of about equal size for columns with many different numbers."""
EMPTY = ("", "none", "nan", "nat", "null")
"""Texts of a cell without a value, in lower case."""
MISSING = Message("(no value)")
OTHERS = Message("(other values)")


@dataclass(frozen=True)
class SliceNames:
    """Maps the values of a column to slices."""

    column: str
    names: Mapping[str, str]
    """Value of the column → name of its slice."""
    notes: tuple[Message, ...] = ()

    def of(self, value: str) -> str:
        """Return the slice of a row with ``value``; rows without a value have a slice too."""
        return self.names.get(value, OTHERS) if value else MISSING


@dataclass(frozen=True)
class Slicing:
    """The slice of each row."""

    column: str
    of_rows: tuple[str, ...]
    """The name of each row's slice."""
    notes: tuple[Message, ...] = ()

    @property
    def names(self) -> list[str]:
        """The distinct slices, the largest first."""
        return [name for name, _ in Counter(self.of_rows).most_common()]


def value_in(record: JudgmentRecord, column: str) -> str:
    """Return a row's value in a column, or at a path into one, as text; an empty text if it has
    none.

    Raise a SetupError if several values are nested there.
    """
    value = column_of(record.fields, record.input, column)
    if isinstance(value, Mapping):
        raise SetupError(
            "column {column!r} of row {name} is an object; name one of its values: {paths}",
            column=column,
            name=record.name,
            paths=", ".join(f"{column}.{key}" for key in value),
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        raise SetupError(
            "column {column!r} of row {name} contains a list; name one of its elements, such as "
            "{path}",
            column=column,
            name=record.name,
            path=f"{column}[0]",
        )
    text = "" if value is None else str(value).strip()
    return "" if text.casefold() in EMPTY else text


def slice_rows(values: Sequence[str], column: str) -> Slicing:
    """Group the rows with ``values`` by the rules of :func:`slice_names`."""
    slices = slice_names(Counter(values), column)
    return Slicing(column, tuple(map(slices.of, values)), slices.notes)


def slice_names(rows: Counter[str], column: str) -> SliceNames:
    """Make a slice per value; with more than MOST values, one per range of numbers or per common
    value.

    ``rows``: rows per value. Slices depend on the rows alone, not on verdicts or labels. Raise a
    SetupError if no row has a value.
    """
    counts = Counter({value: number for value, number in rows.items() if value})
    if not counts:
        raise SetupError("no row has a value in column {column!r}: check the name", column=column)
    notes = []
    if missing := rows[""]:
        notes.append(
            plural(
                "{count} of {rows} rows has no value in {column!r} and is shown as a separate "
                "slice",
                "{count} of {rows} rows have no value in {column!r} and are shown as a separate "
                "slice",
                missing,
                rows=rows.total(),
                column=column,
            )
        )
    numbers = {value: number for value in counts if (number := _number(value)) is not None}
    names: dict[str, str] = {value: value for value in counts}
    if len(counts) > MOST and len(numbers) == len(counts):
        names = _parts(counts, numbers)
        notes.append(
            Message(
                "{column!r} has {count} different numbers: rows were divided into {parts} groups "
                "of about equal size",
                column=column,
                count=len(counts),
                parts=len(set(names.values())),
            )
        )
    elif len(counts) > MOST:
        names = {value: value for value, _ in counts.most_common(MOST)}
        notes.append(
            Message(
                "{column!r} has {count} values: the {most} with the most rows are shown "
                "separately, the other {others} together",
                column=column,
                count=len(counts),
                most=MOST,
                others=len(counts) - MOST,
            )
        )
    return SliceNames(column, names, tuple(notes))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _parts(counts: Counter[str], numbers: Mapping[str, float]) -> dict[str, str]:
    """Map each value to the name of its range."""
    order = sorted(counts, key=lambda value: numbers[value])
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    below, total = 0, counts.total()
    for value in order:
        # By the rows below it: equal values always share a part, so parts may differ in size.
        parts[min(PARTS - 1, below * PARTS // total)].append(value)
        below += counts[value]
    return {
        value: Message("{low:g} to {high:g}", low=numbers[part[0]], high=numbers[part[-1]])
        for part in parts
        for value in part
    }
