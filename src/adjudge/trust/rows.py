"""The rows of one judge under one criterion, with what people said of some of them."""

from __future__ import annotations

import math
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
from adjudge.core.domain.repetition import Unit, clusters_of, unit_of
from adjudge.core.domain.slices import Slicing, slice_rows, value_in
from adjudge.core.domain.verdict import TIE
from adjudge.errors import RunError
from adjudge.trust.contestants import Contestants, system_at
from adjudge.trust.labels.queue import FAILED, verdict_of
from adjudge.trust.labels.weighting import Weighting
from adjudge.trust.measure import Measure, measure_of

Answer = str | float
Votes = Sequence[VoteRecord]


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row that people labelled."""

    identity: str
    place: int
    """Among all rows of the judge."""
    verdict: str | None
    """None: the judgment failed. Where a number is asked for, see ``number``."""
    number: float | None
    answers: Mapping[str, Answer]
    """Annotator → what they say."""
    random: bool
    """Whether the row was drawn among all rows, and not within a verdict."""
    counts: bool = True
    """Whether it was drawn at random at all: others are looked at, and correct nothing."""
    weighted: bool = False
    """Whether it was drawn with a chance of its own."""
    longest: str | None = None
    """Of compared responses, the one with the longest text."""
    systems: Sequence[str] = ()
    """Of compared responses, what each is called."""
    length: int = 0
    """Of the judged text, in characters."""
    votes: Votes = ()
    steps: Sequence[CascadeStepRecord] = ()
    """Of a cascade: what each step says."""
    wrong_step: int | None = None
    """Of what an agent did: where the judge says that it went wrong."""
    steps_named: Sequence[int] = ()
    """Where people say so, those who name a step."""
    id: str | None = None
    """The row's id if it was drawn as a row; None if its text was, whose copies share the label."""

    @property
    def unit(self) -> str:
        """What was drawn to be labelled: the text with all its copies, or this row alone."""
        return self.identity if self.id is None else f"{self.identity} {self.id}"

    @property
    def said(self) -> Answer | None:
        """The judge's verdict on the row."""
        return self.number if self.verdict is not None and self.number is not None else self.verdict

    @property
    def truth(self) -> Answer | None:
        """What most annotators say; of numbers their mean. None where they are evenly split."""
        return agreed(list(self.answers.values()))

    @property
    def true_step(self) -> int | None:
        """The step that most of those name; None where nobody does, or they are evenly split."""
        found = agreed([str(one) for one in self.steps_named]) if self.steps_named else None
        return None if found is None else int(found)

    @property
    def option_weights(self) -> Mapping[str, float]:
        """The weight of each option that annotators chose, 1 in sum: all of it for the answer of
        most of them, or, like ``value``, the share of each answer if they are evenly split.
        """
        truth = self.truth
        answers = list(self.answers.values()) if truth is None else [truth]
        return {str(one): count / len(answers) for one, count in Counter(answers).items()}

    def value(self, measure: Measure) -> float:
        """What people say, from 0 to 1; where they are evenly split, the mean of what they say."""
        return agreed_value(list(self.answers.values()), measure)


def agreed(answers: Sequence[Answer]) -> Answer | None:
    """What most annotators say; of numbers their mean. None where they are evenly split."""
    numbers = [one for one in answers if not isinstance(one, str)]
    if numbers:
        return fmean(numbers)
    best = Counter(one for one in answers if isinstance(one, str)).most_common(2)
    return best[0][0] if len(best) == 1 or best[0][1] > best[1][1] else None


def agreed_value(answers: Sequence[Answer], measure: Measure) -> float:
    """The same from 0 to 1; where they are evenly split, the mean of what they say."""
    truth = agreed(answers)
    return fmean(map(measure.value, answers)) if truth is None else measure.value(truth)


@dataclass
class Rows:
    """All rows of one judge under one criteria.

    Memory grows by a few bytes a row beside those that are labelled.
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
    """Of every row, where a list is given to keep them in; else those of labelled rows alone are
    read.
    """
    verdicts: list[str | None] = field(default_factory=list)
    numbers: array[float] = field(default_factory=lambda: array("d"))
    """Of the rows with a verdict, where a number is asked for."""
    numbered: array[int] = field(default_factory=lambda: array("q"))
    """The place of each of these rows among all rows of the judge."""
    texts: array[int] = field(default_factory=lambda: array("q"))
    """A number for the text of each row, the same for all its copies, if texts were drawn to be
    labelled. Copies of other texts have nothing in common.
    """
    units: list[Unit] = field(default_factory=list)
    """What each row shares with others: its value in ``cluster``, and its task or question."""
    without_group: int = 0
    """Rows that have nothing in ``cluster``; each counts as a group of its own."""
    labelled: list[LabelledRow] = field(default_factory=list)
    contestants: Contestants = Contestants()
    """What is compared, where responses are."""
    stated: dict[int, Mapping[str, float]] = field(default_factory=dict)
    """Place of a row → the win rate of each of its two systems, where the judge said how likely
    each is the better one.
    """
    weighting: Weighting | None = None
    """What the chances of rows follow, where they were drawn with chances of their own."""
    kinds: list[str] = field(default_factory=list)
    """The kind of each row, where there is a weighting."""
    first_kinds: dict[str, str] = field(default_factory=dict)
    """Row identity → the kind of the first row with that content, by which all its copies were
    drawn.
    """
    drawn_of: Sequence[float] = ()
    """How many rows the run had at each draw of labelled rows, in ascending order. Rows that came
    between two draws are apart: their chances to be drawn differ.
    """
    draws: list[tuple[int, int]] = field(default_factory=list)
    """For each row, the first draw of ``drawn_of`` that could take it or a copy of its text, and
    the first that could take the row itself, if some labels are of single rows.
    """
    late: int = 0
    """Rows that were added after the last draw and are left out: they could not be drawn."""
    late_groups: list[str] = field(default_factory=list)
    """What each of them holds in the column ``group``."""
    late_answers: list[Answer | None] = field(default_factory=list)
    """What the judge says of each of them; None without a verdict."""
    late_labelled: set[str] = field(default_factory=set)
    """Identities of those that have labels all the same."""
    skipped_rows: Mapping[tuple[str, str | None], bool] = field(default_factory=dict)
    """What was drawn (``Label.about``) → whether it was drawn among all rows, if annotators skipped
    it or were unsure about it and nobody labelled it.
    """
    skipped: dict[int, bool] = field(default_factory=dict)
    """Like ``skipped_rows``, by the place of the row."""
    skipped_units: dict[int, str] = field(default_factory=dict)
    """Place of a skipped row → what was drawn, like ``LabelledRow.unit``."""
    groups: list[str] = field(default_factory=list)
    """What each row holds in the column ``group``."""
    unfit: int = 0
    """Labels that say what cannot be said by this criteria: they are left out."""
    contradicted: int = 0
    """Rows without a label of their own whose copies were labelled differently: they have none."""
    reworded: int = 0
    """Labels that were given to another wording of the criteria."""
    _first_draws: dict[str, int] = field(default_factory=dict)
    """Row identity → the first draw that could take the text, if there were several draws."""

    def add(self, record: JudgmentRecord, number: int = 0) -> None:
        """Add a judgment, unless it is by another criterion. ``number``: the place of its row,
        from 0, among the rows that the judge judged by this criterion for any system.
        """
        verdict = verdict_of(record, self.scale.name)
        if verdict is None:
            return
        draw = bisect_right(self.drawn_of, number)
        if self.drawn_of and draw == len(self.drawn_of):
            self._add_late(record, verdict)
            if self.labels and record.identity in self.labels:
                self.late_labelled.add(record.identity)
            return
        self.draws.append(self._draws_of(record, draw))
        place = len(self.verdicts)
        said = None if verdict == FAILED else self._named(record, verdict)
        score = record.score if self.scale.range and said is not None else None
        if score is not None:
            self.numbers.append(score)
            self.numbered.append(place)
        self._check(record, said)
        self.verdicts.append(said)
        if (
            self.scale.compares
            and said is not None
            and (rates := _stated_rates(record, self._systems(record)))
        ):
            self.stated[place] = rates
        self.units.append(self._unit_of(record))
        if self._label_kinds[0]:
            self.texts.append(hash(record.identity))
        if self.weighting is not None:
            own = "" if said is None else self.weighting.kind(record)
            self.kinds.append(own and self.first_kinds.setdefault(record.identity, own))
        if self.group:
            self.groups.append(value_in(record, self.group))
        if self.all_votes is not None:
            self.all_votes.append(self._votes(record))
        if given := self._answers(record):
            self.labelled.append(self._row(record, place, said, score, given))
        elif self.skipped_rows:
            self._add_skipped(record, place)

    def _add_skipped(self, record: JudgmentRecord, place: int) -> None:
        """Note whether the row or its text was skipped."""
        units = {None: record.identity, record.name: f"{record.identity} {record.name}"}
        for id, unit in units.items():
            is_random = self.skipped_rows.get((record.identity, id))
            if is_random is not None:
                self.skipped[place] = self.skipped.get(place, False) or is_random
                self.skipped_units.setdefault(place, unit)

    def _add_late(self, record: JudgmentRecord, verdict: str) -> None:
        self.late += 1
        if self.group:
            self.late_groups.append(value_in(record, self.group))
            said = None if verdict == FAILED else self._named(record, verdict)
            self.late_answers.append(record.score if said and self.scale.range else said)

    def _draws_of(self, record: JudgmentRecord, draw: int) -> tuple[int, int]:
        if len(self.drawn_of) < 2:
            return draw, draw
        first = draw
        if self._label_kinds[0]:
            first = self._first_draws.setdefault(record.identity, draw)
        return first, draw if self._label_kinds[1] else first

    @cached_property
    def _label_kinds(self) -> tuple[bool, bool]:
        """Return whether there are drawn labels of texts, and of single rows."""
        drawn = {one.is_of_text for own in self.labels.values() for one in own if one.is_random}
        return True in drawn, False in drawn

    @cached_property
    def is_grown(self) -> bool:
        """True if rows were added between two draws: labels are then random within the rows of each
        draw alone, and not among all rows.
        """
        return len(set(self.draws)) > 1

    @property
    def drawn(self) -> list[LabelledRow]:
        """The labelled rows that were drawn at random; none among all rows if there were fewer of
        them at some draw.
        """
        drawn = [one for one in self.labelled if one.counts]
        return [replace(one, random=False) for one in drawn] if self.is_grown else drawn

    @property
    def compared(self) -> list[LabelledRow]:
        """The labelled rows that figures of agreement are about: those drawn among all rows.

        Rows that topped up a verdict or had chances of their own would bias the figures: they
        count only if no row was drawn among all rows, and chosen rows only if no row was drawn.
        None of them if rows were added between two draws.
        """
        drawn = [one for one in self.labelled if one.counts]
        if drawn and self.is_grown:
            return []
        return [one for one in drawn if one.random] or drawn or self.labelled

    def _unit_of(self, record: JudgmentRecord) -> Unit:
        if self.cluster:
            record.cell(self.cluster)  # a SetupError if there is no such column
            self.without_group += record.group(self.cluster) is None
        return unit_of(record, self.cluster or "")

    def _row(
        self,
        record: JudgmentRecord,
        place: int,
        said: str | None,
        number: float | None,
        given: Sequence[Label],
    ) -> LabelledRow:
        texts, own = record.fields.get(self.scale.criteria.to_evaluate_field), self._systems(record)
        return LabelledRow(
            identity=given[0].row,
            place=place,
            verdict=said,
            number=number,
            answers={one.annotator: self._answer(one, own) for one in given},
            random=any(one.design == "random" for one in given),
            counts=any(one.is_random for one in given),
            weighted=all(one.design == "random_weighted" for one in given if one.is_random),
            longest=None if names_only(record.input) else self._longest(texts, own),
            systems=own,
            length=len(texts) if isinstance(texts, str) else 0,
            votes=self._votes(record),
            steps=record.steps,
            wrong_step=record.detail.blamed_step,
            steps_named=[one.step for one in given if one.step is not None],
            id=None if any(one.is_of_text for one in given) else given[0].id,
        )

    def _votes(self, record: JudgmentRecord) -> Votes:
        return self.read_votes(record) if self.read_votes and not self.scale.by_parts else ()

    def _answers(self, record: JudgmentRecord) -> Sequence[Label]:
        known = labels_of_copy(self.labels.get(record.identity, ()), record.name)
        if known is None:
            self.contradicted += 1
            return ()
        responses = len(self._systems(record))
        fit = [one for one in known if self._fits(one, responses)]
        self.unfit += len(known) - len(fit)
        self.reworded += sum(
            one.criteria_identity not in (None, self.scale.criteria.identity) for one in fit
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

    def _check(self, record: JudgmentRecord, said: str | None) -> None:
        """A judge of one's own may say anything."""
        if said is None or self.scale.range:
            return
        known = (
            (*self._systems(record), TIE)
            if self.scale.compares
            else self.scale.criteria.option_names
        )
        if said not in known:
            raise RunError(
                "row {name} got the verdict {said!r}, which is not an option of {scale_name!r}: "
                "{known}",
                name=record.name,
                said=said,
                scale_name=self.scale.name,
                known=", ".join(known),
            )

    def _named(self, record: JudgmentRecord, verdict: str) -> str:
        """Compared responses by the names of the row's own systems: which of them stands first may
        change from row to row.
        """
        if not self.scale.compares:
            return verdict
        return system_at(self._systems(record), int(verdict)) if verdict.isdecimal() else verdict

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
        """What people say of each row, from 0 to 1; None where nobody labelled it."""
        values: list[float | None] = [None] * len(self.verdicts)
        for one in drawn:
            values[one.place] = one.value(self.measure)
        return values

    def judged_values(self) -> list[float]:
        """What the judge says of each row with a verdict, from 0 to 1: the stated win rate, else
        what the verdict is worth.
        """
        measure = self.measure
        return [
            self.stated.get(place, {}).get(measure.name, measure.value(verdict))
            for place, verdict in enumerate(self.verdicts)
            if verdict is not None
        ]

    @cached_property
    def copies(self) -> dict[int, int]:
        """The texts that several rows have (see ``texts``), and how many."""
        return {text: count for text, count in Counter(self.texts).items() if count > 1}

    @cached_property
    def repeated(self) -> set[int]:
        """The places of rows whose text an earlier row has, if texts were drawn to be labelled."""
        return set(repeats(dict(enumerate(self.texts)))) if self.copies else set()

    @property
    def decided(self) -> list[int]:
        """The places of the rows with a verdict."""
        return [place for place, verdict in enumerate(self.verdicts) if verdict is not None]

    @property
    def slicing(self) -> Slicing | None:
        """The rows by the column ``group``; those that were added after the last draw at the
        end.
        """
        if not self.group or not self.groups:
            return None
        return slice_rows([*self.groups, *self.late_groups], self.group)

    @property
    def verdict_groups(self) -> list[str | None]:
        """The verdict of each row; numbers are one group, failed judgments None."""
        return ["scored" if one and self.scale.range else one for one in self.verdicts]

    @property
    def strata(self) -> tuple[Sequence[str | None], Sequence[str]]:
        """The group within which the label of each row is a random one, and the order of these
        groups: its verdict, its kind if kinds were drawn apart, and the rows whose texts were there
        at the same draws if rows were added between draws.
        """
        options = ("scored",) if self.scale.range else self.measure.options
        said = self.verdict_groups
        kinds = self.kinds or [""] * len(said)
        if self.is_grown:
            named = {draws: self._rows_of_draws(*draws) for draws in set(self.draws)}
            kinds = [
                f"{kind}, {named[draws]}" if kind else named[draws]
                for kind, draws in zip(kinds, self.draws, strict=True)
            ]
        elif self.weighting is None:
            return said, options
        names = [
            None if verdict is None else kind_name(verdict, kind)
            for verdict, kind in zip(said, kinds, strict=True)
        ]
        known = sorted(set(kinds))
        return names, [kind_name(verdict, kind) for verdict in options for kind in known]

    def _rows_of_draws(self, text: int, row: int) -> str:
        own = self._rows_of_draw(row)
        return own if text == row else f"{own} = {self._rows_of_draw(text)}"

    def _rows_of_draw(self, draw: int) -> str:
        """Return the numbers, from 1, of the rows that a draw was the first to find."""
        first = int(self.drawn_of[draw - 1]) + 1 if draw else 1
        last = self.drawn_of[draw]
        return f"{first}–{'' if math.isinf(last) else int(last)}"

    @cached_property
    def measure(self) -> Measure:
        """What is estimated of them."""
        return measure_of(self.scale, self.contestants.names)

    @cached_property
    def clusters(self) -> list[Hashable]:
        """The cluster of each row; a row alone has its own place."""
        return clusters_of(self.units) or list(range(len(self.units)))

    @cached_property
    def row_clusters(self) -> list[Hashable] | None:
        """The cluster of each row; None if all are independent. Reports and gates have the same:
        rows belong together by the column, or if they answer one question. Copies of one text are
        rows of their own.
        """
        distinct = not self.cluster and len(set(self.clusters)) == len(self.clusters)
        return None if distinct else self.clusters

    @cached_property
    def together(self) -> list[Hashable] | None:
        """Like row_clusters, but for labels: copies of one text share one label, which counts
        once, and those of a text that was skipped lack one label.
        """
        if self.row_clusters is not None:
            return self.row_clusters
        units = {**self.skipped_units, **{one.place: one.unit for one in self.labelled}}
        if len(set(units.values())) == len(units):
            return None
        together = list(self.clusters)
        for place, unit in units.items():
            together[place] = unit
        return together


def independent_rows(
    rows: Iterable[LabelledRow], clusters: Sequence[Hashable]
) -> Iterator[LabelledRow]:
    """Yield the first row of each text and of each cluster; ``clusters``: by the place of a row."""
    texts: set[str] = set()
    seen: set[Hashable] = set()
    for row in rows:
        cluster = clusters[row.place]
        if row.unit not in texts and cluster not in seen:
            texts.add(row.unit)
            seen.add(cluster)
            yield row


def kind_name(verdict: str, kind: str) -> str:
    """What rows of a verdict and a kind are called."""
    return f"{verdict} ({kind})" if kind else verdict


def _stated_rates(record: JudgmentRecord, systems: Sequence[str]) -> dict[str, float]:
    """The win rates of two responses that are not whole wins or ties; nothing where they are."""
    each = record.detail.system_results
    known = [one.winrate for one in each if one.winrate is not None] if len(each) == 2 else []
    return (
        dict(zip(systems, known, strict=True))
        if len(known) == 2 and known[0] not in (0.0, 0.5, 1.0)
        else {}
    )


def labels_of_copy(labels: Sequence[Label], id: str | None) -> list[Label] | None:
    """Return the labels of the row that has this id, one per annotator: the label that they gave
    to the row, or to its text without an id, or else to other copies of the text, if these labels
    count for all copies (``Label.is_of_text``) and say the same.

    None if nobody labelled the row and its copies were labelled differently: which of them it is
    like is unknown.
    """
    own: dict[str, Label] = {}
    for label in labels:
        if label.id == id or (label.id is None and label.annotator not in own):
            own[label.annotator] = label
    others = [label for label in labels if label.is_of_text and label.annotator not in own]
    if not own and len({_agreed_label(copy) for copy in _group(others, "id")}) > 1:
        return None
    for said in _group(others, "annotator"):
        if len({label.answer for label in said}) == 1:
            own[said[-1].annotator] = said[-1]
    return list(own.values())


def _group(labels: Iterable[Label], by: Literal["id", "annotator"]) -> Iterable[list[Label]]:
    groups: dict[str | None, list[Label]] = defaultdict(list)
    for label in labels:
        groups[getattr(label, by)].append(label)
    return groups.values()


def _agreed_label(labels: Iterable[Label]) -> Answer | None:
    return agreed([str(one.answer) if one.score is None else one.score for one in labels])


def repeats(units: Mapping[int, Hashable]) -> list[int]:
    """Return the places of rows whose unit an earlier one has: place → unit."""
    first: dict[Hashable, int] = {}
    return [place for place, one in units.items() if first.setdefault(one, place) != place]


def vote_option(vote: VoteRecord, systems: Sequence[str]) -> str | None:
    """What a vote says, by the name that labels have for it; None where it says nothing."""
    option = vote.option
    if option is None:
        return None
    return system_at(systems, int(option)) if option.isdecimal() and systems else option


def stated_probability(votes: Votes, option: str) -> float | None:
    """What votes say of an option's probability, their mean; None where none of them says it."""
    stated = [(vote.distribution or {}).get(option) for vote in votes]
    known = [one for one in stated if one is not None]
    return fmean(known) if known else None


def by_row(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Row identity → its labels."""
    found: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        found[label.row].append(label)
    return found
