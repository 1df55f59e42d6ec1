"""The record of everything tried on a set of labels, in a file next to them.

It keeps each row's part, so that rows by which candidates were chosen never measure one later, and
it counts how often the held-out rows were measured on. It contains hashes, but no texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

from adjudge.core.aio.files import locked, writing, written_whole
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.file import holds_run
from adjudge.errors import SetupError
from adjudge.messages import Message, reason_of

Part = Literal["shown", "choosing", "held_out"]
PARTS: tuple[Part, ...] = get_args(Part)
_NAME = "tries.jsonl"
_FORMAT = "adjudge tries 1"
_ROW_HASH = 16
_LARGEST = 64_000_000


@dataclass(frozen=True)
class TriesAccount:
    """The account of one criterion's labels."""

    path: Path
    criterion: str

    @classmethod
    def beside(cls, labels: Path, criterion: str) -> TriesAccount:
        """Return the account of labels in a run folder or a file."""
        path = labels / _NAME if holds_run(labels) else labels.with_name(f"{labels.name}.{_NAME}")
        return cls(path, criterion)

    def parts(self) -> dict[str, Part]:
        """Return the part of each row that was used before, by the start of its identity."""
        return _parts(self._entries())

    def tried_before(self, ours: Iterable[str]) -> int:
        """Count the candidates that earlier calls tried, without those of this call."""
        tried = {entry["candidate"] for entry in self._entries() if entry["stage"] == "tried"}
        return len(tried.difference(ours))

    def keep_parts(self, parts: Mapping[Part, Sequence[str]]) -> dict[str, Part]:
        """Add rows without a part, and return the parts of all rows."""
        with self._changing() as (entries, added):
            known = _parts(entries)
            new: dict[str, list[str]] = {
                part: [short for row in parts[part] if (short := short_identity(row)) not in known]
                for part in PARTS
            }
            if any(new.values()):
                added.append({"stage": "rows", **new})
                known |= {row: part for part in PARTS for row in new[part]}
        return known

    def keep_tried(self, candidates: Iterable[str]) -> None:
        """Add candidates before they are tried on the rows to choose by."""
        with self._changing() as (entries, added):
            known = {entry["candidate"] for entry in entries if entry["stage"] == "tried"}
            added += [
                {"stage": "tried", "candidate": candidate}
                for candidate in dict.fromkeys(candidates)
                if candidate not in known
            ]

    def keep_measured(self, candidate: str, rows: Iterable[str]) -> int:
        """Add a candidate before it is measured on held-out rows.

        Return which measurement on any of these rows it is: the first is 1. The same candidate on
        the same rows is one measurement, however often the command is resumed.
        """
        held_out = sorted(map(short_identity, rows))
        with self._changing() as (entries, added):
            number = 1
            for entry in entries:
                if entry["stage"] != "measured" or {*entry["rows"]}.isdisjoint(held_out):
                    continue
                if entry["candidate"] == candidate and entry["rows"] == held_out:
                    return number
                number += 1
            added.append({"stage": "measured", "candidate": candidate, "rows": held_out})
        return number

    @contextmanager
    def _changing(self) -> Iterator[tuple[list[dict[str, Any]], list[JsonDict]]]:
        """Yield the entries and a list of new ones, and write these; other processes wait."""
        with (
            writing(self.path),
            locked(self.path.with_name(f".{self.path.name}.lock"), stays=False),
        ):
            added: list[JsonDict] = []
            yield self._entries(), added
            if not added:
                return
            before = self.path.read_text("utf-8") if self.path.exists() else _line(format=_FORMAT)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            lines = [_line(criterion=self.criterion, at=at, **entry) for entry in added]
            with written_whole(self.path) as file:
                file.write("".join([before, *lines]).encode())

    def _entries(self) -> list[dict[str, Any]]:
        """Read the entries of the criterion; raise a SetupError if the file is damaged."""
        try:
            if self.path.stat().st_size > _LARGEST:
                raise self._damaged(Message("it is too large"))
            lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._damaged(reason_of(error)) from error
        except ValueError as error:
            raise self._damaged(Message("it is not UTF-8")) from error
        if not lines:
            raise self._damaged(Message("it is empty"))
        entries = []
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                is_good = entry == {"format": _FORMAT} if number == 1 else _is_entry(entry)
            except (ValueError, RecursionError, TypeError):
                is_good = False
            if not is_good:
                raise self._damaged(Message("line {number} is not a valid entry", number=number))
            if number > 1 and entry["criterion"] == self.criterion:
                entries.append(entry)
        return entries

    def _damaged(self, reason: Message) -> SetupError:
        return SetupError(
            "{path} cannot be read ({reason}). It records how often these labels were used: "
            "restore it, or use new labels",
            path=self.path,
            reason=reason,
        )


def level_of(number: int, level: float) -> float:
    """Return the level of the interval for the ``number``-th measurement on the same rows.

    The chances that a useless candidate is called better add up to at most 1 − ``level``, over any
    number of measurements: (1 − level) / (n (n + 1)) for the n-th. The first keeps its level.
    """
    return 1 - 2 * (1 - level) / (number * (number + 1))


def _parts(entries: Iterable[Mapping[str, Any]]) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for entry in entries:
        if entry["stage"] == "rows":
            for part in PARTS:
                for row in entry[part]:
                    parts.setdefault(row, part)
    return parts


def short_identity(row: str) -> str:
    """Return the start of a row's identity, as the account holds it."""
    return row[:_ROW_HASH]


def _line(**entry: object) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("criterion"), str):
        return False
    lists = {"rows": PARTS, "measured": ("rows",), "tried": ()}.get(cast("str", entry.get("stage")))
    if lists is None:
        return False
    has_candidate = entry["stage"] == "rows" or isinstance(entry.get("candidate"), str)
    return has_candidate and all(
        isinstance(entry.get(name), list) and all(isinstance(row, str) for row in entry[name])
        for name in lists
    )
