"""An object of a foreign file: its values by their keys, as what a reader needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from adjudge.domain.message import Usage
from adjudge.errors import RunError
from adjudge.importers.values import (
    Json,
    JsonObject,
    is_empty,
    number,
    parse_cell,
    text,
)
from adjudge.messages import Message


class ForeignRecord:
    """An object of a foreign file.

    Of several names, the first that holds something counts. What holds something else than it
    should is empty, as if it were not there; only what is asked for by ``[]``, or by ``texts``,
    must be there.
    """

    __slots__ = ("_path", "_where", "raw", "row")

    def __init__(
        self,
        raw: JsonObject,
        where: Callable[[], str] = str,
        row: int = 0,
        path: str = "",
    ) -> None:
        self.raw = raw
        self.row = row
        """Which record of its file it is, from 1."""
        self._where = where
        """Says the file, and the line in it."""
        self._path = path
        """The keys that lead here, each with a dot behind it."""

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __getitem__(self, name: str) -> Json:
        if name in self.raw:
            return self.raw[name]
        raise RunError(
            "{where}: {reason}",
            where=self._where(),
            reason=Message("the key {name!r} is missing", name=self._path + name),
        )

    def has(self, *names: str) -> bool:
        return all(name in self.raw for name in names)

    def has_any(self, *names: str) -> bool:
        return any(name in self.raw for name in names)

    def value(self, *names: str) -> Json:
        """The value as it stands; None where there is none."""
        return next((found for name in names if (found := self.raw.get(name)) is not None), None)

    def text(self, *names: str) -> str:
        return text(self.value(*names))

    def texts(self, *names: str) -> tuple[str, ...]:
        """The texts of all these keys. A RunError names the one that is not there."""
        return tuple(text(self[name]) for name in names)

    def number(self, *names: str) -> float | None:
        return number(self.value(*names))

    def values(self, *names: str) -> Sequence[Json]:
        """The items of the list of the first of these names; none where it is not a list."""
        found = self.value(*names)
        return found if isinstance(found, list | tuple) else ()

    def nested(self, *names: str) -> ForeignRecord:
        """The object of the first of these names, as a record."""
        return self._inside(self.value(*names), *names)

    def parsed(self, *names: str) -> ForeignRecord:
        """An object, also one that a cell holds in writing."""
        return self._inside(parse_cell(self.value(*names)), *names)

    def objects(self, *names: str) -> list[ForeignRecord]:
        """The objects of a list; what is not one among them is an empty one."""
        return [self._inside(one, *names) for one in self.values(*names)]

    def merge(self, values: JsonObject) -> ForeignRecord:
        """The same record with other values beside its own, or in their place."""
        return self.with_values({**self.raw, **values})

    def with_values(self, raw: JsonObject) -> ForeignRecord:
        """The same record with these values alone."""
        return ForeignRecord(raw, self._where, self.row, self._path)

    def rest(self, *names: str) -> dict[str, Json]:
        """What the record holds beside what was read of it."""
        return {
            name: value
            for name, value in self.raw.items()
            if name not in names and not is_empty(value)
        }

    def keep(self, *names: str) -> dict[str, Json]:
        """Of these keys, those that hold something."""
        return {name: value for name in names if not is_empty(value := self.value(name))}

    def name(self, *names: str) -> str:
        """What the record calls itself, else which one it is."""
        return self.text(*names) or f"row {self.row}"

    def _inside(self, value: Json, *names: str) -> ForeignRecord:
        """An object below this one; an empty one, where it is something else."""
        inner = value if isinstance(value, Mapping) else {}
        return ForeignRecord(inner, self._where, self.row, f"{self._path}{names[0]}.")


def named_objects(record: ForeignRecord) -> dict[str, ForeignRecord]:
    """The objects of an object, by their keys."""
    return {name: record.nested(name) for name in record}


def usage_in(record: ForeignRecord, prompt: str, completion: str) -> Usage:
    """What a reply took in tokens, where the file says so."""
    asked, answered = record.number(prompt), record.number(completion)
    if asked is None and answered is None:
        return Usage()
    return Usage(1, int(asked or 0), int(answered or 0))


EMPTY = ForeignRecord({})
