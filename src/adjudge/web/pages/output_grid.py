"""Rows of several runs, or of the systems of one run, side by side: where each row's judgments are,
and how they differ. Only numbers are kept in memory, so 100,000 rows of eight runs take about
ten megabytes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import IntFlag
from json import loads

from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.record import JudgmentRecord, column_of
from adjudge.core.ledger.columns import known_data_columns
from adjudge.core.ledger.file import read_judge
from adjudge.core.ledger.record_browser import judges_in
from adjudge.core.reading.values import nearest
from adjudge.errors import SetupError
from adjudge.runs.diff import AlignedOutcome, RunDiff, run_diff
from adjudge.runs.folder import outcomes_of, reading
from adjudge.runs.judged_table import is_place
from adjudge.web.library import RunPlace
from adjudge.web.pages.row import judgments_per_row

MOST = 8
"""Runs or systems that fit side by side."""
_NONE = 0


class RowKind(IntFlag):
    """Properties of a row that may need attention; several can apply."""

    DIFFERS = 1
    """Not all that have it say the same."""
    FAILED = 2
    """Some judgment of it has no verdict."""
    LONE = 4
    """Not all runs have it."""


@dataclass(frozen=True)
class OutputColumn:
    """A run, or one system of a run."""

    place: RunPlace
    system: str = ""


@dataclass
class OutputGrid:
    """The locations of each row's judgments."""

    columns: Sequence[OutputColumn]
    judges: Sequence[str]
    """The judges of the first run that the other runs have, too."""
    judge: str
    """The one of them whose judgments these are."""
    left_out: int = 0
    """Rows of systems beyond the most that fit."""
    other_systems: int = 0
    """Number of these systems."""
    by_others: Counter[int] = field(default_factory=Counter)
    """Column → its judgments by other judges."""
    criteria: list[str] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)
    """Row → its kinds."""

    def __post_init__(self) -> None:
        self._numbers: list[list[array[int]]] = []
        """Criterion → column → row → the judgment's number from 1, or 0."""
        self._outcomes: list[list[array[int]]] = []
        self._judges: dict[tuple[int, int], str] = {}
        self._codes: dict[object, int] = {}
        self._places: dict[int, array[int]] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def add_row(self) -> int:
        """Add an empty row and return its place."""
        for arrays in (*self._numbers, *self._outcomes):
            for numbers in arrays:
                numbers.append(_NONE)
        self.kinds.append(0)
        return len(self.kinds) - 1

    def put(
        self, row: int, column: int, criterion: str, judge: str, number: int, outcome: object
    ) -> None:
        """Enter a judgment. ``outcome``: equal for equal outcomes; begins with the status."""
        place = self._place_of(criterion)
        self._judges.setdefault((place, column), judge)
        self._numbers[place][column][row] = number
        self._outcomes[place][column][row] = self._codes.setdefault(outcome, len(self._codes) + 1)

    def is_taken(self, row: int, column: int, criterion: str) -> bool:
        """Return True if the row has this judgment already."""
        return bool(self._numbers[self._place_of(criterion)][column][row])

    def judgments(self, row: int, column: int) -> list[tuple[str, str, int]]:
        """Return (criterion, judge, number from 1) of each judgment of a row in a column."""
        return [
            (criterion, self._judges[place, column], number)
            for place, criterion in enumerate(self.criteria)
            if (number := self._numbers[place][column][row])
        ]

    def judges_in(self, column: int) -> list[str]:
        """Return the judges whose judgments a column has, usually one."""
        judges = (judge for (_, place), judge in self._judges.items() if place == column)
        return [*dict.fromkeys(judges)]

    def finish(self) -> OutputGrid:
        """Find out the kinds of all rows."""
        failed = {
            code
            for outcome, code in self._codes.items()
            if isinstance(outcome, tuple) and outcome[0] != "scored"
        }
        for row in range(len(self)):
            kind, present = RowKind(0), [False] * len(self.columns)
            for columns in self._outcomes:
                codes = [outcomes[row] for outcomes in columns]
                present = [was or bool(code) for was, code in zip(present, codes, strict=True)]
                different = {*codes} - {_NONE}
                if len(different) > 1:
                    kind |= RowKind.DIFFERS
                if different & failed:
                    kind |= RowKind.FAILED
            self.kinds[row] = kind if all(present) else kind | RowKind.LONE
        return self

    def count(self, kind: RowKind) -> int:
        """Count the rows of a kind."""
        return sum(map(self.kinds.count, _bytes_with(kind)))

    def rows_of(self, kind: RowKind | None) -> Sequence[int]:
        """Return the places of the rows of a kind, or of all rows."""
        if kind is None:
            return range(len(self))
        if kind not in self._places:
            wanted = _bytes_with(kind)
            self._places[kind] = array(
                "i", (row for row, kinds in enumerate(self.kinds) if kinds in wanted)
            )
        return self._places[kind]

    def missing_in(self, column: int) -> int:
        """Count the rows that a column does not have."""
        of_column = [numbers[column] for numbers in self._numbers]
        return sum(not any(numbers[row] for numbers in of_column) for row in range(len(self)))

    def _place_of(self, criterion: str) -> int:
        if criterion not in self.criteria:
            self.criteria.append(criterion)
            for arrays in (self._numbers, self._outcomes):
                empty = bytes(len(self) * array("i").itemsize)
                arrays.append([array("i", empty) for _ in self.columns])
        return self.criteria.index(criterion)


def _bytes_with(kind: RowKind) -> tuple[int, ...]:
    return tuple(kinds for kinds in range(8) if kinds & kind)


def runs_side_by_side(places: Sequence[RunPlace], judge: str = "") -> OutputGrid:
    """Pair the rows of each run with those of the first, as ``runs diff`` does.

    Rows that the first run lacks come last, those of further runs matched by their id alone.
    """
    base, *others = places
    with ExitStack() as opened:
        diffs = [opened.enter_context(run_diff(base.folder, other.folder)) for other in others]
        shared = _judges_of(base, diffs)
        if not shared:
            raise SetupError(
                "{name} shares no judge and criteria with the other runs, so their rows cannot be "
                "matched: judge the answers by the same judge",
                name=base.name,
            )
        grid = OutputGrid([*map(OutputColumn, places)], shared, judge or shared[0])
        if grid.judge not in shared:
            raise SetupError(
                "no judge {judge!r} judged these runs: choose {known}",
                judge=judge,
                known=", ".join(shared),
            )
        _RunRows(grid, base, others).read(diffs)
    return grid.finish()


def _judges_of(base: RunPlace, diffs: Sequence[RunDiff]) -> list[str]:
    with reading(base.folder) as ledger:
        judges = judges_in(ledger)
    in_others = {judge for diff in diffs for judge in diff.judges()}
    return [judge for judge in judges if judge in in_others]


class _RunRows:
    """Puts the judgments of runs into the rows of a grid."""

    def __init__(self, grid: OutputGrid, base: RunPlace, others: Sequence[RunPlace]) -> None:
        self._grid, self._places = grid, (base, *others)
        self._rows: dict[int, int] = {}
        """Row of the first run → its place in the grid."""
        self._lone: dict[tuple[int, str, int], int] = {}
        """Column, judge and row of a run → place in the grid, of rows that the first run lacks."""
        self._names: dict[str, list[int]] = {}
        """Id → places in the grid, of such rows."""
        self._per_row: dict[tuple[int, str], int] = {}

    def read(self, diffs: Sequence[RunDiff]) -> None:
        lone: list[tuple[int, str, AlignedOutcome]] = []
        for column, diff in enumerate(diffs, 1):
            criteria: dict[str, str | None] = {}
            for line, before, after in diff.aligned():
                if line not in criteria:
                    judge, criterion, _ = loads(line)
                    criteria[line] = criterion if judge == self._grid.judge else None
                criterion = criteria[line]
                if criterion is None:
                    if column == 1 and before is not None:
                        self._grid.by_others[0] += 1
                    self._grid.by_others[column] += after is not None
                    continue
                if before is None and after is not None:
                    lone.append((column, criterion, after))
                elif before is not None:
                    row = self._row_in_base(before)
                    if column == 1:
                        self._put(row, 0, criterion, before)
                    if after is not None:
                        self._put(row, column, criterion, after)
        for column, criterion, outcome in lone:
            self._put(self._lone_row(column, criterion, outcome), column, criterion, outcome)

    def _put(self, row: int, column: int, criterion: str, outcome: AlignedOutcome) -> None:
        judge, number, _, result = outcome
        self._grid.put(row, column, criterion, judge, number, result)

    def _row_in_base(self, outcome: AlignedOutcome) -> int:
        row = self._row_of(0, outcome)
        if row not in self._rows:
            self._rows[row] = self._grid.add_row()
        return self._rows[row]

    def _lone_row(self, column: int, criterion: str, outcome: AlignedOutcome) -> int:
        key = (column, outcome.judge, self._row_of(column, outcome))
        if key not in self._lone:
            namesakes = self._names.setdefault(outcome.name, []) if outcome.name else []
            free = (row for row in namesakes if not self._grid.is_taken(row, column, criterion))
            row = next(free, None)
            if row is None:
                row = self._grid.add_row()
                namesakes.append(row)
            self._lone[key] = row
        return self._lone[key]

    def _row_of(self, column: int, outcome: AlignedOutcome) -> int:
        """Return the place of a judgment's row in its run, counted in rows if criteria take
        turns.
        """
        key = (column, outcome.judge)
        if key not in self._per_row:
            with reading(self._places[column].folder) as ledger:
                self._per_row[key] = judgments_per_row(ledger, outcome.judge)
        return (outcome.row - 1) // self._per_row[key]


def systems_side_by_side(place: RunPlace, by: str, judge: str = "") -> OutputGrid:
    """Put the rows of one run side by side that differ only in the column ``by``.

    They are matched by the row that a target answered, else by an id that several systems have,
    else by all texts that are not judged.
    """
    with reading(place.folder) as ledger:
        judges = judges_in(ledger)
        judge = judge or next(iter(judges), "")
        if judge not in judges:
            raise SetupError(
                "no judge {judge!r} judged these runs: choose {known}",
                judge=judge,
                known=", ".join(judges),
            )
        configuration, per_row = read_judge(ledger, judge), judgments_per_row(ledger, judge)
    judged = {str(one.get("to_evaluate_field", "response")) for one in configuration.criteria}
    rows = [row for row in _system_rows(place, by, judge, judged or {"response"}) if row.system]
    counts = Counter(row.system for row in rows)
    systems = [system for system, _ in counts.most_common(MOST)]
    if len(systems) < 2:
        with reading(place.folder) as ledger:
            known = nearest(by, known_data_columns(ledger, judge))
        raise SetupError(
            "the rows of {name} have fewer than two values in a column {column!r}; {known}",
            name=place.name,
            column=by,
            known=known,
        )
    grid = OutputGrid(
        [OutputColumn(place, system) for system in systems],
        judges,
        judge,
        sum(count for system, count in counts.items() if system not in systems),
        len(counts) - len(systems),
    )
    key = _key_of(rows, per_row)
    columns = {system: number for number, system in enumerate(systems)}
    seen: Counter[tuple[object, str, str]] = Counter()
    places: dict[tuple[object, int], int] = {}
    for row in rows:
        if row.system not in columns:
            continue
        name = (key(row), row.system, row.criterion)
        nth = seen[name]
        seen[name] += 1
        if (name[0], nth) not in places:
            places[name[0], nth] = grid.add_row()
        grid.put(
            places[name[0], nth],
            columns[row.system],
            row.criterion,
            judge,
            row.number,
            (row.status, row.score, row.verdict),
        )
    return grid.finish()


@dataclass(frozen=True)
class _SystemRow:
    """A judgment of a row that a system answered."""

    system: str
    number: int
    criterion: str
    status: str
    score: float | None
    verdict: str | int | None
    answered: tuple[str, str] | None
    id: str
    texts: int
    """Hash of all texts that are not judged."""


def _system_rows(place: RunPlace, by: str, judge: str, judged: set[str]) -> Iterator[_SystemRow]:
    for row in outcomes_of(place.folder):
        if row.judge != judge:
            continue
        if isinstance(row, JudgmentRecord):
            number, verdict = row.row, row.choice
        else:
            number, verdict = row.number + 1, row.verdict
        value = column_of(row.fields, row.input, by)
        other_texts = {name: text for name, text in row.fields.items() if name not in judged}
        answered = row.input.get("answered_row")
        yield _SystemRow(
            "" if value is None or isinstance(value, Mapping) else str(value).strip(),
            number,
            row.criterion,
            row.status,
            row.score,
            verdict,
            None if answered is None else (str(answered), str(row.input.get("repeat", ""))),
            "" if row.id is None or is_place(row.id) else row.id,
            hash(identity_of(other_texts)) if other_texts else 0,
        )


def _key_of(rows: Sequence[_SystemRow], per_row: int) -> Callable[[_SystemRow], object]:
    """Return a key that is equal for judgments of rows shown side by side.

    A row without a match is alone with its ``per_row`` judgments.
    """
    if all(row.answered for row in rows):
        return lambda row: row.answered
    systems_by_id: dict[str, str] = {}
    for row in rows:
        if row.id and systems_by_id.setdefault(row.id, row.system) != row.system:
            return lambda row: row.id or (row.texts, (row.number - 1) // per_row)
    return lambda row: row.texts or row.id or (row.number - 1) // per_row
