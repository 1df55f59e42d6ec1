"""One annotator at work on one criterion of a run: the next row, the answer, undo. Terminal and
page show it in their own ways.
"""

from __future__ import annotations

import random
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from adjudge.domain.instance import STEPS, GivenFields
from adjudge.domain.label import Answer, Kind, Label, State
from adjudge.errors import RunError, SetupError
from adjudge.labels.held_rows import HeldRows
from adjudge.labels.queue import FIRST, Queue, QueuedRow, RowIndex, is_drawn, listed_rows, row_index
from adjudge.labels.scales import JudgedScale, label_scale
from adjudge.labels.store import Draw, LabelStore
from adjudge.labels.weighting import WEIGHTED, WeightedQueue, Weighting
from adjudge.ledger.records import records, row_checksum
from adjudge.runs.folder import reading

_NOTHING = Answer()
_DONE: tuple[State, ...] = ("given", "unsure")
_OF_LATE = 20
"""Labels by which the pace is told."""
_BREAK = 600.0
"""Seconds between two labels in which somebody did something else."""


@dataclass(frozen=True)
class Annotator:
    """Who labels, and which rows."""

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
    """In the queue listed: a judge, and the numbers of its judgments, from 0."""


class ShownRow(NamedTuple):
    """A row as an annotator sees it: nothing in it depends on a verdict."""

    queued: QueuedRow
    fields: GivenFields
    """Its texts; of compared responses in the order they are shown."""
    order: tuple[int, ...]
    """Which of the row's own responses is shown at each place; empty where none are compared."""


class LabelProgress(NamedTuple):
    """How far an annotator is."""

    done: int
    total: int


class Labelling:
    """One annotator's way through the rows.

    Every answer is on the disk before the next row is shown.
    """

    def __init__(
        self,
        store: LabelStore,
        judged: JudgedScale,
        who: Annotator,
        draw: Draw,
        plan: Sequence[QueuedRow],
        rows: int,
        drawn_by: str | None = None,
        held: HeldRows | None = None,
    ) -> None:
        self.judged = judged
        self.rows = rows
        """Of the run, each text once."""
        self._store = store
        self._who = who
        self.draw = draw
        """The permutation that rows are taken from."""
        self._drawn_by = drawn_by
        self._held = held or HeldRows()
        self._plan = {row.identity: row for row in plan}
        self._passed: set[str] = set()
        """Skipped in this session."""
        self._again: str | None = None
        """The row whose label was taken back."""
        self._known: tuple[object, list[Label]] | None = None
        """The labels there are, and until which."""
        self._began = time.time()
        self._read: tuple[object, GivenFields] | None = None
        """The row that was read last, and its texts."""

    def progress(self) -> LabelProgress:
        """Rows that are labelled, of those that are this annotator's to label."""
        own, others = self._labelled()
        done = len(own & self._plan.keys())
        return LabelProgress(done, done + len(self._open(own, others)))

    def pace(self) -> float | None:
        """Seconds that this annotator took for a row of late; None until a few are labelled."""
        return seconds_per_row(
            label.at for label in self.labels(self._who.name) if label.state in _DONE
        )

    def next(self) -> ShownRow | None:
        """The row to label now; None when there are no more.

        What was skipped in earlier sessions comes last.
        """
        open_rows = self._left()
        if self._who.queue == "random":
            self._take_over(open_rows[0] if open_rows else None)
        if self._again in open_rows and self._choose([self._again]):
            return self._shown(self._plan[self._again])
        skipped = {label.row for label in self.labels(self._who.name) if label.state == "skipped"}
        open_rows.sort(key=lambda identity: identity in skipped)
        found = self._choose(open_rows)
        return self._shown(self._plan[found]) if found else None

    def waits_for_others(self) -> bool:
        """Whether there are rows left to label, all of which others have before them."""
        return bool(self._left()) and self.next() is None

    def _left(self) -> list[str]:
        """Rows to label that were not skipped in this session."""
        return [
            identity for identity in self._open(*self._labelled()) if identity not in self._passed
        ]

    def _choose(self, rows: Sequence[str]) -> str | None:
        """The first; of rows that are divided among annotators the first that nobody else has."""
        shared = set(islice(self._plan, self._who.overlap))
        if rows and rows[0] in shared:
            return rows[0]
        divided = [row for row in rows if row not in shared]
        return self._held.take(self._who.name, divided) or next(
            (row for row in rows if row in shared), None
        )

    def answer(
        self,
        shown: ShownRow,
        answer: Answer,
        note: str = "",
        *,
        judge_visible: bool = False,
        step: int | None = None,
    ) -> Label:
        """Keep an answer; of compared responses, by the place where they were shown.

        ``judge_visible``: the annotator has seen the judge's verdict on this row. ``step``: of an
        agent's, the one where it went wrong.
        """
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
        """The annotator cannot say: that is a label, too."""
        return self._keep(shown, "unsure", note, judge_visible=judge_visible, step=step)

    def skip(self, shown: ShownRow, note: str = "") -> Label:
        """Leave the row for later."""
        self._passed.add(shown.queued.identity)
        return self._keep(shown, "skipped", note)

    def undo(self, seen: Container[int] = ()) -> Label | None:
        """Take the annotator's last label back and show its row again; says which it was.

        ``seen``: the numbers of rows on which the annotator has seen the judge's verdict.
        """
        label = self._store.last(
            self.judged.name, self._who.name, chosen=not is_drawn(self._who.queue)
        )
        if label is not None:
            row = self._plan.get(label.row)
            self._store.withdraw(label, judge_visible=row is not None and row.number in seen)
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
        )
        self._store.add(label)
        self._again = None
        return label

    def given(self, shown: ShownRow) -> list[Label]:
        """What annotators said of a row so far: for who decides between them."""
        return [
            one
            for one in self.labels()
            if one.row == shown.queued.identity and one.state == "given"
        ]

    def _take_over(self, until: str | None) -> None:
        """Rows that come before ``until`` in the random order and were labelled when they were
        drawn with a chance of their own: they are in the random sample now, and asked no more.
        """
        before = set(takewhile(lambda identity: identity != until, self._plan))
        drawn = [
            replace(label, design="random", drawn_under=None, drawn_by=None, chance=None)
            for label in self.labels()
            if label.design == "random_weighted"
            and label.row in before
            and self._plan[label.row].design == "random"
        ]
        if drawn:
            self._store.add(*drawn)

    def _labelled(self) -> tuple[set[str], set[str]]:
        """Rows that this annotator labelled, and rows that others did. A row that was only looked
        at because somebody chose it is labelled anew when it is drawn: otherwise the random sample
        would lack it.
        """
        if (
            self._who.queue == "conflicts"
        ):  # who labelled such a row before may well change their mind about it
            return {
                one.row
                for one in self.labels(self._who.name)
                if one.state in _DONE and one.at >= self._began
            }, set()
        wanted = [
            label
            for label in self.labels()
            if label.state in _DONE and (label.is_random or not is_drawn(self._who.queue))
        ]
        own = {label.row for label in wanted if label.annotator == self._who.name}
        return own, {label.row for label in wanted if label.annotator != self._who.name}

    def _open(self, own: set[str], others: set[str]) -> list[str]:
        """Rows that are left to this annotator."""
        shared = len(self._plan) if self._who.overlap is None else self._who.overlap
        return [
            one
            for place, one in enumerate(self._plan)
            if one not in own and (place < shared or one not in others)
        ]

    def labels(self, annotator: str | None = None) -> Iterator[Label]:
        """What an annotator says of the rows of this criterion, or everybody does.

        Read anew when there are new ones: they are asked for several times for each row.
        """
        newest = self._store.newest()
        if self._known is None or self._known[0] != newest:
            self._known = newest, list(self._store.current(self.judged.name))
        return (one for one in self._known[1] if annotator in (None, one.annotator))

    def _shown(self, row: QueuedRow) -> ShownRow:
        fields = self._fields(row)
        if not self.judged.scale.compares:
            return ShownRow(row, fields, ())
        compared = self.judged.scale.criteria.to_evaluate_field
        texts = fields.get(compared)
        if texts is None or isinstance(texts, str):
            raise SetupError(
                "row {id} holds no responses to compare in its field {compared!r}",
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
        """Read once while its row is the one that is shown: a trajectory is long."""
        with reading(self._store.folder) as ledger:
            known = row_checksum(ledger, row.judge, row.number)
            if self._read and self._read[0] == (row, known):
                return self._read[1]
            found = next(records(ledger, judge=row.judge, index=row.number, trajectory=False), None)
        if found is None or found.identity != row.identity:
            raise RunError(
                "the rows of {folder} changed meanwhile: start again; every label until now "
                "is kept",
                folder=self._store.folder,
            )
        self._read = (row, known), found.fields
        return found.fields


def labelling(
    folder: str | Path,
    who: Annotator,
    criteria: str | None = None,
    held: HeldRows | None = None,
) -> Labelling:
    """One annotator's session. The rows are drawn when the first annotator begins. ``held``: what
    those who label at the same time have before them.
    """
    judged = label_scale(folder, criteria)
    store = LabelStore(folder)
    queue = who.queue
    if who.by and queue != "random-stratified":
        raise SetupError("--by goes with --queue random-stratified: leave one of them out")
    if queue in WEIGHTED and judged.scale.range:
        raise SetupError(
            "{queue} draws rows by their verdict, and {criteria!r} asks for a number: use the "
            "queue random",
            queue=queue,
            criteria=judged.name,
        )
    draw, drawn_by = store.draw(judged.name, who.seed), None
    if queue == "listed":
        plan = listed_rows(folder, judged, *who.listed)
        return Labelling(store, judged, who, draw, plan, len(plan), held=held)
    with row_index(folder, judged, draw.seed, queue=queue, by=who.by) as index:
        if queue == "conflicts":
            plan = index.rows(
                one.row
                for one in islice(
                    (one for one in store.conflicts(judged.name) if one.is_open), who.count
                )
            )
        elif queue in WEIGHTED:
            weighting = _weighting(store, judged.name, index, queue, who.by)
            plan, drawn_by = index.draw(weighting, who.count), str(weighting)
        else:
            plan = index.plan(queue, who.count)
        rows = index.count()
    return Labelling(store, judged, who, draw, plan, rows, drawn_by, held)


def _weighting(
    store: LabelStore, criteria: str, index: RowIndex, queue: WeightedQueue, by: str
) -> Weighting:
    """What the chances follow: as the first session of the run had it, whichever rows came since.

    A SetupError where that was another queue.
    """
    wanted = index.weighting(queue, by)
    known = Weighting.read(store.weighting(criteria) or store.keep_weighting(criteria, str(wanted)))
    if known.queue != queue or (queue == "random-stratified" and known.by != by):
        raise SetupError(
            "the rows of criterion {criteria!r} are drawn by {known}: labels of another queue with "
            "chances of its own cannot be joined with them. Go on with that one, or with the queue "
            "random, whose labels can",
            criteria=criteria,
            known=str(known),
        )
    return known


def seconds_per_row(times: Iterable[float]) -> float | None:
    """Of late, by when each label was given; None until a few are."""
    lately = sorted(times)[-_OF_LATE:]
    gaps = [after - before for before, after in pairwise(lately) if 0 < after - before < _BREAK]
    return median(gaps) if len(gaps) > 1 else None
