"""One annotator's session on one criterion of a run: the next row, the answer, undo.

Terminal and web page present it in their own ways.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from adjudge.core.domain.instance import STEPS, GivenFields
from adjudge.core.domain.label import Answer, Kind, Label, State
from adjudge.core.ledger.records import records, row_checksum
from adjudge.errors import RunError, SetupError
from adjudge.runs.folder import reading
from adjudge.trust.labels.people import Assignment, People
from adjudge.trust.labels.queue import (
    FIRST,
    Queue,
    QueuedRow,
    RowIndex,
    is_drawn,
    listed_rows,
    row_index,
)
from adjudge.trust.labels.scales import JudgedScale, label_scale
from adjudge.trust.labels.store import Draw, LabelStore
from adjudge.trust.labels.weighting import WEIGHTED, WeightedQueue, Weighting

_NOTHING = Answer()
AHEAD = 2
"""Rows that are held for an annotator: the one before them, and the next."""
# Labels by which the pace is told.
_OF_LATE = 20
# Seconds between two labels in which somebody did something else.
_BREAK = 600.0


@dataclass(frozen=True)
class Annotator:
    """An annotator, and the rows they label."""

    name: str
    kind: Kind = "human"
    queue: Queue = "random"
    count: int = FIRST
    overlap: int | None = None
    """Rows that every annotator labels; the others are divided among them.

    None: everybody labels all of them.
    """
    seed: int | None = None
    by: str = ""
    """The column that rows are drawn apart by, in the queue random-stratified."""
    listed: tuple[str, tuple[int, ...]] = ("", ())
    """A judge and the numbers of its judgments, from 0, for the queue ``listed``."""


class ShownRow(NamedTuple):
    """A row as an annotator sees it, independent of any verdict."""

    queued: QueuedRow
    fields: GivenFields
    """Its texts; of compared responses in the order they are shown."""
    order: tuple[int, ...]
    """The index of the row's own response at each place; empty unless responses are compared."""


class LabelProgress(NamedTuple):
    """An annotator's progress."""

    done: int
    total: int


class DrawnRows(NamedTuple):
    """The rows of a queue, and how they were drawn."""

    draw: Draw
    """The permutation that they are taken from."""
    rows: Sequence[QueuedRow]
    total: int
    """Rows of the run, each text once."""
    drawn_by: str | None = None
    """The rule behind their chances, if chances differ."""
    of: int | None = None
    """Rows of the run that could be drawn, copies of one text included."""

    @property
    def identities(self) -> list[str]:
        return [row.identity for row in self.rows]


class AssignedRows(NamedTuple):
    """The rows assigned to one annotator."""

    assignment: Assignment
    rows: Collection[str]


class Labelling:
    """One annotator's labelling session.

    Every answer is on disk when the call returns.
    """

    def __init__(
        self,
        store: LabelStore,
        judged: JudgedScale,
        who: Annotator,
        drawn: DrawnRows,
        assigned: AssignedRows | None = None,
    ) -> None:
        self.judged = judged
        self.rows = drawn.total
        """Rows of the run; equal texts count once."""
        self.draw = drawn.draw
        self.queue = who.queue
        """The queue; an assignment has its own."""
        self.assigned = assigned
        """The assigned rows; None if rows are not assigned."""
        self._store = store
        self._who = who
        self._drawn_by = drawn.drawn_by
        self._drawn_of = drawn.of
        self._people = People(store.folder)
        self._plan = {row.identity: row for row in drawn.rows}
        self._passed: set[str] = set()
        """Skipped in this session."""
        self._again: str | None = None
        """The row whose label was taken back."""
        self._known: tuple[object, list[Label]] | None = None
        """The labels there are, and until which."""
        self._began = time.time()
        self._read: dict[str, tuple[object, GivenFields]] = {}
        """The rows that were read last, and their texts."""

    def progress(self) -> LabelProgress:
        """Return how many of this annotator's rows are labelled, and how many there are."""
        own_rows, rows_of_others = self._labelled_rows([*self.labels()])
        done = len(own_rows.intersection(self.assigned.rows if self.assigned else self._plan))
        return LabelProgress(done, done + len(self._open_rows(own_rows, rows_of_others)))

    def pace(self) -> float | None:
        """Return this annotator's recent median of seconds per row; None until a few are
        labelled.
        """
        return seconds_per_row(label.at for label in self.labels(self._who.name) if label.is_done)

    def next(self) -> ShownRow | None:
        """Return the row to label now; None if there is none.

        Rows skipped in earlier sessions come last.
        """
        return next(iter(self.upcoming(1)), None)

    def upcoming(self, count: int = AHEAD) -> list[ShownRow]:
        """Return up to ``count`` rows: the one to label now and those after it."""
        labels = [*self.labels()]
        own_rows, rows_of_others = self._labelled_rows(labels)
        if self._who.queue == "random":
            self._take_over(labels, own_rows if self.assigned else own_rows | rows_of_others)
        skipped = {
            label.row
            for label in labels
            if label.state == "skipped" and label.annotator == self._who.name
        }
        open_rows = sorted(
            (row for row in self._open_rows(own_rows, rows_of_others) if row not in self._passed),
            key=lambda row: (row != self._again, row in skipped),
        )
        held_rows = self._choose(open_rows)
        if self._labelled_rows([*self.labels()]) != (
            own_rows,
            rows_of_others,
        ):  # another annotator labelled a row and released it
            return self.upcoming(count)
        return [self._show(self._plan[row]) for row in held_rows[:count]]

    def waits_for_others(self) -> bool:
        """Return True if rows remain, but all are held for other annotators."""
        open_rows = self._open_rows(*self._labelled_rows([*self.labels()]))
        return any(row not in self._passed for row in open_rows) and self.next() is None

    def leave(self) -> None:
        """Release the rows held for this annotator."""
        self._people.release(self.judged.name, self._who.name)

    def _choose(self, rows: Sequence[str]) -> list[str]:
        """Return the next rows. If rows are divided among annotators, skip those held for
        others.
        """
        if self.assigned or self._who.overlap is None:
            return [*rows[:AHEAD]]
        shared = set(islice(self._plan, self._who.overlap))
        first_rows = [*takewhile(shared.__contains__, rows)][:AHEAD]
        if missing := AHEAD - len(first_rows):
            divided = [row for row in rows if row not in shared]
            first_rows += self._people.take(self.judged.name, self._who.name, divided, missing)
        return first_rows or [row for row in rows if row in shared]

    def answer(
        self,
        shown: ShownRow,
        answer: Answer,
        note: str = "",
        *,
        judge_visible: bool = False,
        step: int | None = None,
    ) -> Label:
        """Store an answer. A winner is given by the position at which it was shown.

        ``judge_visible``: the annotator has seen the judge's verdict on this row. ``step``: the
        step at which an agent went wrong.
        """
        # the responses were shuffled: translate the place shown into the row's own
        winner = answer.winner
        if isinstance(winner, int):
            winner = shown.order[winner]
        return self._keep(
            shown,
            "given",
            note,
            replace(answer, winner=winner),
            judge_visible=judge_visible,
            step=step,
        )

    def unsure(
        self,
        shown: ShownRow,
        note: str = "",
        *,
        judge_visible: bool = False,
        step: int | None = None,
    ) -> Label:
        """Store that the annotator cannot decide, which also counts as a label."""
        return self._keep(shown, "unsure", note, judge_visible=judge_visible, step=step)

    def skip(self, shown: ShownRow, note: str = "") -> Label:
        """Store that the annotator skipped the row, and leave it for later."""
        self._passed.add(shown.queued.identity)
        return self._keep(shown, "skipped", note)

    def undo(self, seen: Container[str] = ()) -> Label | None:
        """Withdraw the annotator's last label, return it, and show its row again. None without a
        label.

        ``seen``: identities of rows whose verdict the annotator has seen.
        """
        label = self._store.last(
            self.judged.name, self._who.name, chosen=not is_drawn(self._who.queue)
        )
        if self._who.queue == "learn":  # has rows of both kinds
            drawn = self._store.last(self.judged.name, self._who.name)
            label = max(filter(None, (label, drawn)), key=lambda last: last.at, default=None)
        if label is not None:
            self._choose([label.row])  # before others can have it
            self._store.withdraw(label, judge_visible=label.row in seen)
            self._passed.discard(label.row)
            self._again = label.row
        return label

    def _keep(
        self,
        shown: ShownRow,
        state: State,
        note: str,
        answer: Answer = _NOTHING,
        *,
        judge_visible: bool = False,
        step: int | None = None,
    ) -> Label:
        row = shown.queued
        if step is not None and not 1 <= step <= len(shown.fields.get(STEPS, ())):
            raise SetupError("the row has no step {step}", step=step)
        label = Label(
            row=row.identity,
            id=row.id,
            criteria=self.judged.name,
            criteria_identity=self.judged.scale.criteria.identity,
            annotator=self._who.name,
            kind=self._who.kind,
            option=answer.option,
            score=answer.score,
            winner=answer.winner,
            state=state,
            design=row.design,
            judge_visible=judge_visible,
            note=note,
            at=time.time(),
            seed=self.draw.seed if row.design != "chosen" else None,
            drawn_at=self.draw.at if row.design != "chosen" else None,
            drawn_under=self.judged.identity
            if row.design in ("random_within_verdict", "random_weighted")
            else None,
            drawn_by=self._drawn_by if row.chance else None,
            chance=row.chance,
            step=step,
            drawn_of=self._drawn_of if row.design != "chosen" else None,
        )
        self._store.add(label)
        self._again = None
        return label

    def given(self, shown: ShownRow) -> list[Label]:
        """Return all annotators' answers to a row so far, for resolving conflicts."""
        return [
            label
            for label in self.labels()
            if label.row == shown.queued.identity and label.state == "given"
        ]

    def _take_over(self, labels: Sequence[Label], labelled: Container[str]) -> None:
        """Move rows that were labelled with a different chance into the random sample.

        This is valid once all rows before them in the random order, or in the annotator's share of
        it, are labelled or skipped. They are not shown again.
        """
        left_out = {
            label.row
            for label in labels
            if label.state == "skipped" and label.design != "random_weighted"
        }
        order = (row for row in self._plan if not self.assigned or row in self.assigned.rows)
        reached = set(takewhile(lambda row: row in labelled or row in left_out, order))
        drawn = [
            replace(
                label,
                design="random",
                drawn_under=None,
                drawn_by=None,
                chance=None,
                drawn_of=self._drawn_of,
            )
            for label in labels
            if label.design == "random_weighted"
            and label.row in reached
            and self._plan[label.row].design == "random"
        ]
        if drawn:
            self._store.draw_anew(*drawn)

    def _labelled_rows(self, labels: Sequence[Label]) -> tuple[set[str], set[str]]:
        """Return the rows that have labels by this annotator, and those with labels by others.

        A row that was labelled because someone chose it must be labelled again when drawn, or the
        random sample would lack it.
        """
        # in this queue, annotators may change earlier labels of their own
        if self._who.queue == "conflicts":
            return {
                own_label.row
                for own_label in labels
                if own_label.annotator == self._who.name
                and own_label.is_done
                and own_label.at >= self._began
            }, set()
        counted = [
            label
            for label in labels
            if label.is_done and (label.is_random or not self._needs_drawn_label(label.row))
        ]
        own_rows = {label.row for label in counted if label.annotator == self._who.name}
        return own_rows, {label.row for label in counted if label.annotator != self._who.name}

    def _needs_drawn_label(self, row: str) -> bool:
        """Return True if this queue drew the row at random."""
        if self._who.queue == "learn" and row in self._plan:
            return self._plan[row].design != "chosen"
        return is_drawn(self._who.queue)

    def _open_rows(self, own_rows: set[str], rows_of_others: set[str]) -> list[str]:
        """Return the rows that this annotator still has to label."""
        if self.assigned:
            return [row for row in self._plan if row in self.assigned.rows and row not in own_rows]
        shared = len(self._plan) if self._who.overlap is None else self._who.overlap
        return [
            row
            for place, row in enumerate(self._plan)
            if row not in own_rows and (place < shared or row not in rows_of_others)
        ]

    def labels(self, annotator: str | None = None) -> Iterator[Label]:
        """Yield the labels for this criterion, by one annotator or all.

        They are cached until new ones are added, since each row needs them several times.
        """
        newest = self._store.newest()
        if self._known is None or self._known[0] != newest:
            self._known = newest, list(self._store.current(self.judged.name))
        return (label for label in self._known[1] if annotator in (None, label.annotator))

    def _show(self, row: QueuedRow) -> ShownRow:
        fields = self._fields(row)
        if not self.judged.scale.compares:
            return ShownRow(row, fields, ())
        compared = self.judged.scale.criteria.to_evaluate_field
        texts = fields.get(compared)
        if texts is None or isinstance(texts, str):
            raise SetupError(
                "row {id} has no responses to compare in its field {compared!r}",
                id=row.id or row.number + 1,
                compared=compared,
            )
        order = list(range(len(texts)))
        seed = f"{self.draw.seed}:{self._who.name}:{row.identity}"
        random.Random(seed).shuffle(order)  # noqa: S311 - no secret
        return ShownRow(
            row, {**fields, compared: tuple(texts[place] for place in order)}, tuple(order)
        )

    def _fields(self, row: QueuedRow) -> GivenFields:
        """Return a row's texts, cached while it is on screen or next, because trajectories are
        long.
        """
        with reading(self._store.folder) as ledger:
            row_version = row, row_checksum(ledger, row.judge, row.number)
            if (cached := self._read.get(row.identity)) and cached[0] == row_version:
                return cached[1]
            record = next(
                records(ledger, judge=row.judge, index=row.number, trajectory=False), None
            )
        if record is None or record.identity != row.identity:
            raise RunError(
                "the rows of {folder} changed meanwhile: start again; all labels so far are saved",
                folder=self._store.folder,
            )
        self._read[row.identity] = row_version, record.fields
        if len(self._read) > AHEAD:
            self._read.pop(next(iter(self._read)))
        return record.fields


def labelling(
    folder: str | Path,
    who: Annotator,
    criteria: str | None = None,
    draw: Callable[[LabelStore, JudgedScale, Annotator], DrawnRows] | None = None,
) -> Labelling:
    """Open an annotator's session.

    Rows are drawn when the first annotator begins. If rows are assigned to people, the session has
    this annotator's share. ``draw``: used instead of ``draw_rows``.
    """
    scale = label_scale(folder, criteria)
    store, people = LabelStore(folder), People(folder)
    assignment = people.assignment(scale.name) if is_drawn(who.queue) else None
    if assignment:
        who = _with_assigned_queue(assignment, who, scale.name)
    plan = (draw or draw_rows)(store, scale, who)
    assigned = None
    if assignment:
        mine = people.rows_of(scale.name, assignment, who.name, plan.identities, plan.draw.seed)
        assigned = AssignedRows(assignment, mine)
    return Labelling(store, scale, who, plan, assigned)


def assign_rows(folder: str | Path, assignment: Assignment, criteria: str | None = None) -> None:
    """Draw rows and assign them to people, taking existing labels into account."""
    scale, store = label_scale(folder, criteria), LabelStore(folder)
    plan = draw_rows(
        store, scale, _with_assigned_queue(assignment, Annotator(assignment.people[0]))
    )
    People(folder).assign(scale.name, assignment, plan.identities, plan.draw.seed)


def _with_assigned_queue(assignment: Assignment, who: Annotator, criteria: str = "") -> Annotator:
    """Return the annotator with the assignment's queue. Raises a SetupError if it does not include
    them.
    """
    if who.name not in assignment.people:
        raise SetupError(
            "the rows of criterion {criteria!r} are assigned to {people}, not to {name!r}: label "
            "as one of them, or assign the rows again",
            criteria=criteria,
            people=", ".join(assignment.people),
            name=who.name,
        )
    return replace(
        who,
        queue=assignment.queue,
        count=assignment.count,
        by=assignment.by,
        overlap=None,
    )


def draw_rows(store: LabelStore, judged: JudgedScale, who: Annotator) -> DrawnRows:
    """Draw the rows for an annotator's queue."""
    queue = who.queue
    if who.by and queue != "random-stratified":
        raise SetupError("--by works only with --queue random-stratified: leave one of them out")
    if queue in WEIGHTED and judged.scale.range:
        raise SetupError(
            "{queue} draws rows by their verdict, but {criteria!r} asks for a number: use the "
            "queue random",
            queue=queue,
            criteria=judged.name,
        )
    draw = store.draw(judged.name, who.seed)
    if queue == "listed":
        rows = listed_rows(store.folder, judged, *who.listed)
        return DrawnRows(draw, rows, len(rows))
    with row_index(store.folder, judged, draw.seed, queue=queue, by=who.by) as index:
        if queue == "conflicts":
            conflicts = (
                conflict.row for conflict in store.conflicts(judged.name) if conflict.is_open
            )
            return DrawnRows(draw, index.rows(islice(conflicts, who.count)), index.count())
        if queue in WEIGHTED:
            weighting = _weighting(store, judged.name, index, queue, who.by)
            rows, rule = index.draw(weighting, who.count), str(weighting)
        else:
            rows, rule = index.plan(queue, who.count), None
        draws = is_drawn(queue) or queue == "learn"
        of = store.keep_drawn_rows(judged.name, index.keys) if draws else None
        return DrawnRows(draw, rows, index.count(), rule, of)


def _weighting(
    store: LabelStore, criteria: str, index: RowIndex, queue: WeightedQueue, by: str
) -> Weighting:
    """Return what chances are based on, as fixed by the run's first session even if rows were added
    since.

    Raises a SetupError if that was for another queue.
    """
    proposed = index.weighting(queue, by)
    stored = Weighting.read(
        store.weighting(criteria) or store.keep_weighting(criteria, str(proposed))
    )
    if stored.queue != queue or (queue == "random-stratified" and stored.by != by):
        raise SetupError(
            "the rows of criterion {criteria!r} are drawn by {known}: labels of another queue "
            "with its own chances cannot be combined with them. Continue with that queue, or "
            "with the queue random",
            criteria=criteria,
            known=str(stored),
        )
    return stored


def seconds_per_row(times: Iterable[float]) -> float | None:
    """Return the median seconds per row from recent label times; None with too few."""
    lately = sorted(times)[-_OF_LATE:]
    gaps = [later - earlier for earlier, later in pairwise(lately) if 0 < later - earlier < _BREAK]
    return median(gaps) if len(gaps) > 1 else None
