"""Rows of one judge under one criterion, with the labels of some of them."""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Literal

from adjudge.core.domain.instance import names_only
from adjudge.core.domain.label import Label, LabelScale
from adjudge.core.domain.record import CascadeStepRecord, JudgmentRecord, VoteRecord
from adjudge.core.domain.repetition import PART_OF, ROW, TRIAL, Unit, clusters_of, unit_of
from adjudge.core.domain.slices import Slicing, slice_rows, value_in
from adjudge.core.domain.verdict import TIE
from adjudge.core.ledger.codec import StoredVerdict
from adjudge.errors import RunError
from adjudge.runs.traffic_rows import COLUMN
from adjudge.trust.contestants import Contestants, system_at
from adjudge.trust.labels.queue import FAILED, verdict_of
from adjudge.trust.labels.weighting import Weighting
from adjudge.trust.measure import Measure, measure_of

SPECIAL_COLUMNS = frozenset({TRIAL, ROW, PART_OF, COLUMN})
"""Columns that say how a row was drawn, or with which others it belongs together."""
Answer = str | float
Votes = Sequence[VoteRecord]


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row that people labelled."""

    identity: str
    place: int
    """The row's place among all rows of the judge."""
    verdict: str | None
    """The judge's verdict; None if the judgment failed. For criteria that ask for a number, see
    ``number``.
    """
    number: float | None
    answers: Mapping[str, Answer]
    """Annotator → what they say."""
    random: bool
    """True if the row was drawn among all rows, not within a verdict."""
    counts: bool = True
    """True if the row was drawn at random. Other labels correct nothing."""
    weighted: bool = False
    """True if the row had its own chance to be drawn."""
    longest: str | None = None
    """The longest of the compared responses."""
    systems: Sequence[str] = ()
    """The names of the compared responses."""
    length: int = 0
    """Length of the judged text, in characters."""
    votes: Votes = ()
    steps: Sequence[CascadeStepRecord] = ()
    """The outcome of each step of a cascade."""
    wrong_step: int | None = None
    """The step that the judge blames, for agents."""
    steps_named: Sequence[int] = ()
    """The steps that people blame, by those who name one."""
    id: str | None = None
    """The row's id if it was drawn as a row; None if its text was, whose copies share the label."""

    @property
    def unit(self) -> str:
        """The drawn unit: the text with all its copies, or only this row."""
        return self.identity if self.id is None else f"{self.identity} {self.id}"

    @property
    def judge_answer(self) -> Answer | None:
        """The judge's answer: its number if there is one, otherwise its verdict; None if it
        failed.
        """
        return self.number if self.verdict is not None and self.number is not None else self.verdict

    @property
    def truth(self) -> Answer | None:
        """The answer of most annotators, or the mean for numbers. None if they are evenly split."""
        return majority(list(self.answers.values()))

    @property
    def leading_options(self) -> list[str]:
        """The options that most annotators chose; several if they are evenly split."""
        counts = Counter(answer for answer in self.answers.values() if isinstance(answer, str))
        most = max(counts.values(), default=0)
        return [option for option, count in counts.items() if count == most]

    @property
    def true_step(self) -> int | None:
        """The wrong step that most annotators name. None if they name none or are evenly split."""
        step = majority([str(number) for number in self.steps_named]) if self.steps_named else None
        return None if step is None else int(step)

    @property
    def option_weights(self) -> Mapping[str, float]:
        """The weight of each option that annotators chose; the weights sum to 1.

        The majority's answer has all the weight. If annotators are evenly split, each answer has
        its share, as in ``value``.
        """
        truth = self.truth
        answers = list(self.answers.values()) if truth is None else [truth]
        return {str(answer): count / len(answers) for answer, count in Counter(answers).items()}

    def value(self, measure: Measure) -> float:
        """Return people's answer from 0 to 1, or the mean of their answers if they are evenly
        split.
        """
        return majority_value(list(self.answers.values()), measure)


def majority(answers: Sequence[Answer]) -> Answer | None:
    """Return the answer of most annotators, or the mean for numbers. None if they are evenly
    split.
    """
    numbers = [answer for answer in answers if not isinstance(answer, str)]
    if numbers:
        return fmean(numbers)
    best = Counter(answer for answer in answers if isinstance(answer, str)).most_common(2)
    return best[0][0] if len(best) == 1 or best[0][1] > best[1][1] else None


def majority_value(answers: Sequence[Answer], measure: Measure) -> float:
    """Return the majority's answer from 0 to 1, or the mean answer if annotators are evenly
    split.
    """
    truth = majority(answers)
    return fmean(map(measure.value, answers)) if truth is None else measure.value(truth)


@dataclass
class Rows:
    """All rows of one judge for one criterion.

    Uses a few bytes per row, and more for labelled rows.
    """

    scale: LabelScale
    labels: Mapping[str, Sequence[Label]]
    """Row identity → what people say of it."""
    cluster: str | None = None
    """The column whose rows belong together."""
    group: str | None = None
    """The column by which rows are told apart."""
    read_votes: Callable[[JudgmentRecord], Votes] | None = None
    all_votes: list[Votes] | None = None
    """Votes on every row, if a list is given to keep them in. Otherwise only votes on labelled rows
    are read.
    """
    verdicts: list[str | None] = field(default_factory=list)
    numbers: array[float] = field(default_factory=lambda: array("d"))
    """Numbers given to the rows with a verdict, if the criterion asks for a number."""
    numbered: array[int] = field(default_factory=lambda: array("q"))
    """The place of each of these rows among all rows of the judge."""
    texts: array[int] = field(default_factory=lambda: array("q"))
    """A number for the text of each row, the same for all its copies, if texts were drawn to be
    labelled. Copies of other texts have nothing in common.
    """
    units: list[Unit] = field(default_factory=list)
    """The values that each row may share with others: the one in ``cluster``, and its task or
    question.
    """
    without_group: int = 0
    """Rows without a value in ``cluster``; each counts as a separate group."""
    labelled: list[LabelledRow] = field(default_factory=list)
    contestants: Contestants = Contestants()
    """The compared systems, if responses are compared."""
    stated: dict[int, Mapping[str, float]] = field(default_factory=dict)
    """Place of a row → the win rate of each of its two systems, where the judge said how likely
    each is the better one.
    """
    weighting: Weighting | None = None
    """The rule behind the rows' chances, if chances differ."""
    kinds: list[str] = field(default_factory=list)
    """The kind of each row, if there is a weighting."""
    first_kinds: dict[str, str] = field(default_factory=dict)
    """Row identity → the kind of the first row with that content, by which all its copies were
    drawn.
    """
    drawn_of: Sequence[float] = ()
    """Number of rows that the run had at each draw of labelled rows, in ascending order. Rows added
    between two draws are treated separately, because their chances to be drawn differ.
    """
    draws: list[tuple[int, int]] = field(default_factory=list)
    """Two draws of ``drawn_of`` for each row: the first that could take it or a copy of its text,
    and, if some labels are of single rows, the first that could take the row itself.
    """
    late: int = 0
    """Rows that were added after the last draw and are left out: they could not be drawn."""
    late_groups: list[str] = field(default_factory=list)
    """Value of the column ``group`` in each late row."""
    late_answers: list[Answer | None] = field(default_factory=list)
    """The judge's answer on each late row; None without a verdict."""
    late_labelled: set[str] = field(default_factory=set)
    """Identities of late rows that have labels nevertheless."""
    skipped_rows: Mapping[tuple[str, str | None], bool] = field(default_factory=dict)
    """Draws (``Label.about``) that annotators skipped or were unsure about and nobody labelled →
    True if drawn among all rows.
    """
    skipped: dict[int, bool] = field(default_factory=dict)
    """Like ``skipped_rows``, by the place of the row, and with rows whose labels are all unfit."""
    skipped_units: dict[int, str] = field(default_factory=dict)
    """Place of a skipped row → what was drawn, like ``LabelledRow.unit``."""
    groups: list[str] = field(default_factory=list)
    """Each row's value in the column ``group``."""
    unfit: int = 0
    """Labels that say what cannot be said by this criteria: they are left out."""
    contradicted: int = 0
    """Rows without a label of their own whose copies were labelled differently: they have none."""
    reworded: int = 0
    """Labels that were given to another wording of the criteria."""
    _first_draws: dict[str, int] = field(default_factory=dict)
    """Row identity → the first draw that could take the text, if there were several draws."""

    def add(self, record: JudgmentRecord, number: int = 0) -> None:
        """Add a judgment; ignored if it is for another criterion.

        ``number``: the row's position, from 0, among the rows that the judge judged by this
        criterion, for any system. If the rows of the draws were kept, it is the position of the
        first row of its draw, wherever the row is now.
        """
        verdict = verdict_of(record, self.scale.name)
        if verdict is None:
            return
        draw = bisect_right(self.drawn_of, number)
        # Rows after the last draw could not be drawn, so nothing here is about them.
        if self.drawn_of and draw == len(self.drawn_of):
            self._add_late(record, verdict)
            if self.labels and record.identity in self.labels:
                self.late_labelled.add(record.identity)
            return
        # draws, verdicts and units have one entry per row: their lengths must stay equal
        self.draws.append(self._draws_of(record, draw))
        place = len(self.verdicts)
        answer = None if verdict == FAILED else self._verdict_by_name(record, verdict)
        score = record.score if self.scale.range and answer is not None else None
        if score is not None:
            self.numbers.append(score)
            self.numbered.append(place)
        self._check(record, answer)
        self.verdicts.append(answer)
        if (
            self.scale.compares
            and answer is not None
            and (rates := _stated_rates(record, self._systems(record)))
        ):
            self.stated[place] = rates
        self.units.append(self._unit_of(record))
        if self._label_kinds[0]:
            # A hash, not the text, bounds the memory per row.
            self.texts.append(hash(record.identity))
        if self.weighting is not None:
            kind = "" if answer is None else self.weighting.kind(record)
            self.kinds.append(kind and self.first_kinds.setdefault(record.identity, kind))
        if self.group:
            self.groups.append(value_in(record, self.group))
        if self.all_votes is not None:
            self.all_votes.append(self._votes(record))
        if labels := self._answers(record):
            self.labelled.append(self._row(record, place, answer, score, labels))
        elif self.skipped_rows or record.identity in self.labels:
            self._note_skipped(record, place)

    @property
    def reads_verdicts(self) -> bool:
        """True if the verdict of an unlabelled row is enough: it is one of options, and the row
        belongs to no group, has no votes to keep and no chance of its own.
        """
        needs_records = (
            self.scale.compares
            or self.scale.range is not None
            or self.cluster
            or self.group
            or self.weighting
            or self.all_votes is not None
            or len(self.drawn_of) > 1
        )
        return not needs_records

    def is_enough(self, stored: StoredVerdict, identity: str, number: int) -> bool:
        """Return True if ``add_unlabelled`` can add the row, instead of ``add``.

        ``identity``: of the row's text; ``number``: like in ``add``.
        """
        return (
            (stored.status != "scored" or stored.verdict in self.scale.criteria.option_names)
            and identity not in self.labels
            and identity not in self._skipped_identities
            and (not self.drawn_of or number < self.drawn_of[0])
            and SPECIAL_COLUMNS.isdisjoint(stored.fields)
        )

    def add_unlabelled(self, stored: StoredVerdict, identity: str) -> None:
        """Like ``add``, for a row without labels; see ``is_enough``."""
        self.draws.append((0, 0))
        self.verdicts.append(stored.verdict if stored.status == "scored" else None)
        self.units.append(())
        if self._label_kinds[0]:
            self.texts.append(hash(identity))

    @cached_property
    def _skipped_identities(self) -> frozenset[str]:
        return frozenset(identity for identity, _ in self.skipped_rows)

    def _note_skipped(self, record: JudgmentRecord, place: int) -> None:
        units = {None: record.identity, record.name: f"{record.identity} {record.name}"}
        for id, unit in units.items():
            is_random = self.skipped_rows.get((record.identity, id))
            if is_random is not None:
                self._skip(place, unit, is_random=is_random)
        responses = len(self._systems(record)) if record.identity in self.labels else 0
        for label in self.labels.get(record.identity, ()):
            # an answer that this criterion does not have leaves the row as open as a skip
            drawn_id = label.about[1]
            if label.is_random and drawn_id in units and not self._fits(label, responses):
                self._skip(place, units[drawn_id], is_random=label.design == "random")

    def _skip(self, place: int, unit: str, *, is_random: bool) -> None:
        self.skipped[place] = self.skipped.get(place, False) or is_random
        self.skipped_units.setdefault(place, unit)

    def _add_late(self, record: JudgmentRecord, verdict: str) -> None:
        self.late += 1
        if self.group:
            self.late_groups.append(value_in(record, self.group))
            answer = None if verdict == FAILED else self._verdict_by_name(record, verdict)
            self.late_answers.append(record.score if answer and self.scale.range else answer)

    def _draws_of(self, record: JudgmentRecord, draw: int) -> tuple[int, int]:
        if len(self.drawn_of) < 2:
            return draw, draw
        text_draw = draw
        if self._label_kinds[0]:
            text_draw = self._first_draws.setdefault(record.identity, draw)
        return text_draw, draw if self._label_kinds[1] else text_draw

    @cached_property
    def _label_kinds(self) -> tuple[bool, bool]:
        """Flags for drawn labels of texts, and of single rows."""
        drawn = {
            label.is_of_text
            for labels in self.labels.values()
            for label in labels
            if label.is_random
        }
        return True in drawn, False in drawn

    @cached_property
    def is_grown(self) -> bool:
        """True if rows were added between two draws.

        Labels are then random only among the rows available at each draw.
        """
        return len(set(self.draws)) > 1

    @property
    def drawn(self) -> list[LabelledRow]:
        """Labelled rows drawn at random. If rows were added between draws, none of them counts as
        drawn from all rows.
        """
        drawn = [row for row in self.labelled if row.counts]
        return [replace(row, random=False) for row in drawn] if self.is_grown else drawn

    @property
    def compared(self) -> list[LabelledRow]:
        """Labelled rows for agreement figures: those drawn from all rows.

        Rows that topped up a verdict or had different chances would bias the figures, so they are
        only used if there are no others; chosen rows only if none was drawn. Empty if rows were
        added between two draws.
        """
        drawn = [row for row in self.labelled if row.counts]
        if drawn and self.is_grown:
            return []
        return [row for row in drawn if row.random] or drawn or self.labelled

    def _unit_of(self, record: JudgmentRecord) -> Unit:
        if self.cluster:
            record.cell(self.cluster)  # a SetupError if there is no such column
            self.without_group += record.group(self.cluster) is None
        return unit_of(record, self.cluster or "")

    def _row(
        self,
        record: JudgmentRecord,
        place: int,
        verdict: str | None,
        number: float | None,
        labels: Sequence[Label],
    ) -> LabelledRow:
        texts, systems = (
            record.fields.get(self.scale.criteria.to_evaluate_field),
            self._systems(record),
        )
        return LabelledRow(
            identity=labels[0].row,
            place=place,
            verdict=verdict,
            number=number,
            answers={label.annotator: self._answer(label, systems) for label in labels},
            random=any(label.design == "random" for label in labels),
            counts=any(label.is_random for label in labels),
            weighted=all(label.design == "random_weighted" for label in labels if label.is_random),
            longest=None if names_only(record.input) else self._longest(texts, systems),
            systems=systems,
            length=len(texts) if isinstance(texts, str) else 0,
            votes=self._votes(record),
            steps=record.steps,
            wrong_step=record.detail.blamed_step,
            steps_named=[label.step for label in labels if label.step is not None],
            id=None if any(label.is_of_text for label in labels) else labels[0].id,
        )

    def _votes(self, record: JudgmentRecord) -> Votes:
        return self.read_votes(record) if self.read_votes and not self.scale.by_parts else ()

    def _answers(self, record: JudgmentRecord) -> Sequence[Label]:
        copy_labels = labels_of_copy(self.labels.get(record.identity, ()), record.name)
        if copy_labels is None:
            self.contradicted += 1
            return ()
        responses = len(self._systems(record))
        # a label of another wording, or of another number of responses, may name no option
        fit = [label for label in copy_labels if self._fits(label, responses)]
        self.unfit += len(copy_labels) - len(fit)
        self.reworded += sum(
            label.criteria_identity not in (None, self.scale.criteria.identity) for label in fit
        )
        return fit

    def _fits(self, label: Label, responses: int) -> bool:
        if self.scale.range:
            return (
                label.score is not None
                and self.scale.range[0] <= label.score <= self.scale.range[1]
            )
        if self.scale.compares:
            return label.winner == TIE or (
                isinstance(label.winner, int) and label.winner < responses
            )
        return label.option in self.scale.criteria.option_names

    def _check(self, record: JudgmentRecord, verdict: str | None) -> None:
        # custom judges may return anything
        if verdict is None or self.scale.range:
            return
        options = (
            (*self._systems(record), TIE)
            if self.scale.compares
            else self.scale.criteria.option_names
        )
        if verdict not in options:
            raise RunError(
                "row {name} got the verdict {said!r}, which is not an option of {scale_name!r}: "
                "{known}",
                name=record.name,
                said=verdict,
                scale_name=self.scale.name,
                known=", ".join(options),
            )

    def _verdict_by_name(self, record: JudgmentRecord, verdict: str) -> str:
        """Replace a winner's position by its system, since systems may swap places between rows."""
        if not self.scale.compares:
            return verdict
        # A damaged ledger may hold a position of thousands of digits, which int refuses.
        if not verdict.isdecimal() or len(verdict) > len(str(sys.maxsize)):
            return verdict
        return system_at(self._systems(record), int(verdict))

    def _systems(self, record: JudgmentRecord) -> Sequence[str]:
        return self.contestants.own(record) if self.scale.compares else ()

    def _answer(self, label: Label, systems: Sequence[str]) -> Answer:
        answer = label.answer
        if label.winner is not None:
            return TIE if label.winner == TIE else system_at(systems, int(label.winner))
        return answer if isinstance(answer, str | float) else str(answer)

    def _longest(self, texts: object, systems: Sequence[str]) -> str | None:
        if not self.scale.compares or isinstance(texts, str) or not isinstance(texts, Sequence):
            return None
        lengths = [len(str(text)) for text in texts]
        return system_at(systems, lengths.index(max(lengths)))

    def label_values(self, drawn: Iterable[LabelledRow]) -> list[float | None]:
        """Return people's answer for each row from 0 to 1; None without a label."""
        values: list[float | None] = [None] * len(self.verdicts)
        for row in drawn:
            values[row.place] = row.value(self.measure)
        return values

    def judged_values(self) -> list[float]:
        """Return the judge's value for each row with a verdict: the stated win rate, else the
        verdict's value.
        """
        measure = self.measure
        return [
            self.stated.get(place, {}).get(measure.name, measure.value(verdict))
            for place, verdict in enumerate(self.verdicts)
            if verdict is not None
        ]

    @cached_property
    def copies(self) -> dict[int, int]:
        """Text number (see ``texts``) → number of rows, for texts that several rows have."""
        return {text: count for text, count in Counter(self.texts).items() if count > 1}

    @cached_property
    def repeated_places(self) -> set[int]:
        """Positions of rows that repeat an earlier row's text, if texts were drawn."""
        return set(repeats(dict(enumerate(self.texts)))) if self.copies else set()

    @property
    def decided(self) -> list[int]:
        """Positions of the rows with a verdict."""
        return [place for place, verdict in enumerate(self.verdicts) if verdict is not None]

    @property
    def slicing(self) -> Slicing | None:
        """The rows grouped by the column ``group``, rows added after the last draw at the end; None
        without groups.
        """
        if not self.group or not self.groups:
            return None
        return slice_rows([*self.groups, *self.late_groups], self.group)

    @property
    def verdict_groups(self) -> list[str | None]:
        """The verdict of each row. All numbers are "scored"; failed judgments are None."""
        return ["scored" if verdict and self.scale.range else verdict for verdict in self.verdicts]

    @property
    def strata(self) -> tuple[Sequence[str | None], Sequence[str]]:
        """The stratum within which each row's label is random, and the order of the strata.

        A stratum is a verdict, plus the kind if kinds were drawn separately, plus the draws that
        could include the row if rows were added between draws.
        """
        options = ("scored",) if self.scale.range else self.measure.options
        verdicts = self.verdict_groups
        kinds = self.kinds or [""] * len(verdicts)
        if self.is_grown:
            names_of_draws = {draws: self._rows_of_draws(*draws) for draws in set(self.draws)}
            kinds = [
                f"{kind}, {names_of_draws[draws]}" if kind else names_of_draws[draws]
                for kind, draws in zip(kinds, self.draws, strict=True)
            ]
        elif self.weighting is None:
            return verdicts, options
        names = [
            None if verdict is None else kind_name(verdict, kind)
            for verdict, kind in zip(verdicts, kinds, strict=True)
        ]
        sorted_kinds = sorted(set(kinds))
        return names, [kind_name(verdict, kind) for verdict in options for kind in sorted_kinds]

    def _rows_of_draws(self, text: int, row: int) -> str:
        row_numbers = self._rows_of_draw(row)
        return row_numbers if text == row else f"{row_numbers} = {self._rows_of_draw(text)}"

    def _rows_of_draw(self, draw: int) -> str:
        """Return the range of row numbers, from 1, that were first available at this draw."""
        lowest = int(self.drawn_of[draw - 1]) + 1 if draw else 1
        highest = self.drawn_of[draw]
        return f"{lowest}–{'' if math.isinf(highest) else int(highest)}"

    @cached_property
    def measure(self) -> Measure:
        """The estimated quantity."""
        return measure_of(self.scale, self.contestants.names)

    @cached_property
    def clusters(self) -> list[Hashable]:
        """The cluster of each row. For a row outside any cluster, this is its position."""
        return clusters_of(self.units) or list(range(len(self.units)))

    @cached_property
    def row_clusters(self) -> list[Hashable] | None:
        """The cluster of each row; None if all are independent.

        As in reports and gates, rows are clustered by the column, or if they answer one question.
        Copies of a text count as separate rows.
        """
        distinct = not self.cluster and len(set(self.clusters)) == len(self.clusters)
        return None if distinct else self.clusters

    @cached_property
    def together(self) -> list[Hashable] | None:
        """Like ``row_clusters``, but for labels.

        Copies of one text share a label, which counts once; copies of a skipped text lack one.
        """
        if self.row_clusters is not None:
            return self.row_clusters
        units = {**self.skipped_units, **{row.place: row.unit for row in self.labelled}}
        if len(set(units.values())) == len(units):
            return None
        together = list(self.clusters)
        for place, unit in units.items():
            together[place] = unit
        return together


def independent_rows(
    rows: Iterable[LabelledRow], clusters: Sequence[Hashable]
) -> Iterator[LabelledRow]:
    """Yield the first row per text and per cluster. ``clusters``: indexed by the rows'
    positions.
    """
    texts: set[str] = set()
    seen_clusters: set[Hashable] = set()
    for row in rows:
        cluster = clusters[row.place]
        if row.unit not in texts and cluster not in seen_clusters:
            texts.add(row.unit)
            seen_clusters.add(cluster)
            yield row


def kind_name(verdict: str, kind: str) -> str:
    """Return the name of a stratum, made of verdict and kind."""
    return f"{verdict} ({kind})" if kind else verdict


def _stated_rates(record: JudgmentRecord, systems: Sequence[str]) -> dict[str, float]:
    """Return system → win rate if a probability was stated; empty for plain wins and ties."""
    results = record.detail.system_results
    rates = (
        [result.winrate for result in results if result.winrate is not None]
        if len(results) == 2
        else []
    )
    return (
        dict(zip(systems, rates, strict=True))
        if len(rates) == 2 and rates[0] not in (0.0, 0.5, 1.0)
        else {}
    )


def labels_of_copy(labels: Sequence[Label], id: str | None) -> list[Label] | None:
    """Return the labels of the row with this id, one per annotator.

    This is the annotator's label of the row, or of its text without an id. Otherwise it is their
    label of other copies, if it counts for all copies (``Label.is_of_text``) and their labels
    agree. None if nobody labelled the row and its copies have different labels.
    """
    if not labels:
        return []
    by_annotator: dict[str, Label] = {}
    for label in labels:
        if label.id == id or (label.id is None and label.annotator not in by_annotator):
            by_annotator[label.annotator] = label
    of_copies = [
        label for label in labels if label.is_of_text and label.annotator not in by_annotator
    ]
    answers_by_copy = [
        [str(label.answer) if label.score is None else label.score for label in copy]
        for copy in _group(of_copies, "id")
    ]
    if not by_annotator and len(set(map(majority, answers_by_copy))) > 1:
        return None
    for annotator_labels in _group(of_copies, "annotator"):
        if len({label.answer for label in annotator_labels}) == 1:
            by_annotator[annotator_labels[-1].annotator] = annotator_labels[-1]
    return list(by_annotator.values())


def _group(labels: Iterable[Label], by: Literal["id", "annotator"]) -> Iterable[list[Label]]:
    groups: dict[str | None, list[Label]] = defaultdict(list)
    for label in labels:
        groups[getattr(label, by)].append(label)
    return groups.values()


def repeats(units: Mapping[int, Hashable]) -> list[int]:
    """Return the positions of rows whose unit occurs earlier. ``units``: position → unit."""
    first_places: dict[Hashable, int] = {}
    return [place for place, unit in units.items() if first_places.setdefault(unit, place) != place]


def vote_option(vote: VoteRecord, systems: Sequence[str]) -> str | None:
    """Return a vote's option under the name used in labels; None without an option."""
    option = vote.option
    if option is None:
        return None
    return system_at(systems, int(option)) if option.isdecimal() and systems else option


def stated_probability(votes: Votes, option: str) -> float | None:
    """Return the mean probability that votes state for an option; None if none does."""
    stated = [(vote.distribution or {}).get(option) for vote in votes]
    numbers = [probability for probability in stated if probability is not None]
    return fmean(numbers) if numbers else None


def by_row(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Group labels by row identity."""
    labels_by_row: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        labels_by_row[label.row].append(label)
    return labels_by_row
