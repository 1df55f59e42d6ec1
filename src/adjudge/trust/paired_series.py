"""Paired rows of two runs, with their labels."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.domain.judge_configuration import JudgeConfiguration, OptionScores
from adjudge.core.domain.label import Label
from adjudge.core.domain.verdict import TIE
from adjudge.core.engine.identity import judge_identity
from adjudge.errors import RunError
from adjudge.messages import Message
from adjudge.runs.diff import JudgmentSummary, LoneRow, OutcomeCount, Pair
from adjudge.runs.folder import run_facts
from adjudge.stats.difference import PairedScores, PairOfScores, UnknownPair
from adjudge.trust.labelled_judges import latest_change, learned_labels_note
from adjudge.trust.labels.rows_of_draws import RowPlaces
from adjudge.trust.labels.scales import label_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.large_texts import least_apart
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import by_row, labels_of_copy, majority_value
from adjudge.trust.usable_labels import LabelsUsed, sort_labels
from adjudge.trust.vote_values import MOST_ROWS


@dataclass(frozen=True)
class ComparedRun:
    """The data of a run, apart from its rows, that a comparison needs."""

    folder: Path
    measures: dict[str, Measure]
    """Criteria → how its options are worth what."""
    judges: dict[str, JudgeConfiguration]
    started: float | None = None
    is_imported: bool = False

    @classmethod
    def of(cls, folder: str | Path) -> ComparedRun:
        info = run_facts(folder)
        started = info.facts.get("started")
        try:
            scales = label_scales(folder)
        except RunError:
            # custom judges need not declare their criteria: their scores are compared as they are
            scales = []
        measures = {
            judged.name: measure_of(judged.scale)
            for judged in scales
            if not (judged.scale.compares or judged.scale.by_parts)
        }
        return cls(
            Path(folder),
            measures,
            dict(info.judge_configurations),
            float(started) if isinstance(started, int | float) else None,
            info.state == "imported",
        )

    def _judge(self, name: str) -> JudgeConfiguration:
        return self.judges.get(name, JudgeConfiguration())

    def lock(self, judge: str, criteria: str) -> str:
        return judge_identity(self._judge(judge), criteria)

    def option_scores(self, judge: str, criteria: str) -> OptionScores:
        return self._judge(judge).option_scores(criteria)

    def counts(self, judge: str, criteria: str) -> bool:
        """Return True if the score is a count: lower is better, and there is no maximum."""
        criteria_data = self._judge(judge).criteria
        criterion = next((data for data in criteria_data if data.get("name") == criteria), {})
        return criterion.get("higher_is_better") is False and not criterion.get("options")

    def one_order(self, judge: str) -> bool:
        """Return True if responses were only compared in the given order."""
        settings = self._judge(judge).settings
        return bool(settings) and not (
            settings.get("check_positional_bias") or settings.get("rotations")
        )

    def changed(self, judge: str) -> float | None:
        """Return when the judge was last found changed; None if never.

        If this run has no judge of that name, consider all judges.
        """
        judges = [self.judges[judge]] if judge in self.judges else self.judges.values()
        moments = (latest_change(self.folder, configuration) for configuration in judges)
        return max((moment for moment in moments if moment is not None), default=None)

    def labels(self, judge: str, criteria: str) -> RunLabels | None:
        """Return the labels of the rows; None if this criterion cannot be labelled."""
        measure = self.measures.get(criteria)
        if measure is None:
            return None
        all_labels = LabelStore(self.folder).of_each_copy(criteria)
        learned = self._judge(judge).learned_rows
        used = sort_labels(all_labels, None, since=self.changed(judge))
        learned_rows = {label.row for label in used.labels if label.row in learned}
        count = sum(label.row in learned_rows for label in used.labels)
        drawn = RowPlaces(LabelStore(self.folder).drawn_rows(criteria))
        return RunLabels(measure, used.without(learned_rows), learned_labels_note(count), drawn)


class RunLabels:
    """A run's labels for one criterion, limited to rows with a label drawn from the whole run."""

    def __init__(
        self,
        measure: Measure,
        used: LabelsUsed,
        learned: Sequence[Message],
        places: RowPlaces,
    ) -> None:
        self._measure = measure
        self._places = places
        self._by_row = {
            row: labels
            for row, labels in by_row(used.labels).items()
            if any(label.design == "random" for label in labels)
        }
        self._skipped = {row for row, of_all in used.skipped.items() if of_all}
        self._drawn_of = used.drawn_of
        self.draws_texts = any(
            used_label.is_of_text for used_label in used.labels if used_label.is_random
        )
        """True if labels count for all copies of a text, which was drawn once."""
        self.left_out = (*([] if used.older is None else [used.older]), *learned)
        """Notes about labels that are left out: they are older than a change of the judge, or the
        judge learned from their rows.
        """

    def __bool__(self) -> bool:
        return bool(self._by_row)

    def draw(self, identity: str, place: int) -> int | None:
        """Return the first draw that could include the next row; None if it was added after all
        draws. ``place``: its place in the run.
        """
        draw = bisect_right(self._drawn_of, self._places.number(identity, place))
        return None if draw == len(self._drawn_of) else draw

    def limits(self, identity: str, id: str | None) -> tuple[float, float] | None:
        """Return the lowest and highest possible value of people's answer, from 0 to 1.

        Both are equal if the row is labelled. None if it was not drawn.
        """
        labels = labels_of_copy(self._by_row.get(identity, ()), id) or ()
        answers = [
            answer
            for copy_label in labels
            if (answer := _answer(copy_label, self._measure)) is not None
        ]
        was_drawn = any(label.design == "random" for label in labels)
        if not answers or not was_drawn:
            # a row may be anything if it was skipped, or if its labels name no option
            is_open = (
                was_drawn or (identity, None) in self._skipped or (identity, id) in self._skipped
            )
            return (0.0, 1.0) if is_open else None
        value = majority_value(answers, self._measure)
        return value, value

    def is_of_text(self, identity: str, id: str | None) -> bool:
        """Return True if the row's label is shared with the copies of its text."""
        labels = labels_of_copy(self._by_row.get(identity, ()), id)
        return any(label.is_of_text for label in labels or ())

    def is_contradicted(self, identity: str, id: str | None) -> bool:
        """Return True if the row has no label because copies of its text have different ones."""
        return labels_of_copy(self._by_row.get(identity, ()), id) is None


def _answer(label: Label, measure: Measure) -> str | float | None:
    """Return a label's answer, or None if it is not an option of this criterion."""
    if measure.is_number:
        return label.score
    return label.option if label.option in measure.values else None


@dataclass
class PairColumns:
    """The data of pairs that corrections need, a few bytes per pair."""

    lowest: array[float] = field(default_factory=lambda: array("d"))
    """The least that people's difference may be."""
    highest: array[float] = field(default_factory=lambda: array("d"))
    """The most; equal to ``lowest`` if the pair is labelled in both runs."""
    judged: array[float] = field(default_factory=lambda: array("d"))
    """The differences by the judge."""
    units: array[int] = field(default_factory=lambda: array("q"))
    texts: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))
    """A number for the text of the pair in either run, the same for all its copies, if texts were
    drawn there; otherwise a number of the row's own.
    """

    def __len__(self) -> int:
        return len(self.judged)

    def add(
        self, ends: tuple[float, float], judged: float, unit: int, texts: tuple[int, int]
    ) -> None:
        self.lowest.append(ends[0])
        self.highest.append(ends[1])
        self.judged.append(judged)
        self.units.append(unit)
        for column, text in zip(self.texts, texts, strict=True):
            column.append(text)

    def split(self, large: tuple[Set[int], Set[int]]) -> tuple[PairColumns, PairColumns]:
        """Return the pairs without a large text, and those with one."""
        parts = PairColumns(), PairColumns()
        columns = (self.lowest, self.highest, self.judged, self.units, *self.texts)
        for low, high, judge_value, unit, old_text, new_text in zip(*columns, strict=True):
            is_apart = old_text in large[0] or new_text in large[1]
            parts[is_apart].add((low, high), judge_value, unit, (old_text, new_text))
        return parts


@dataclass
class PairedSeries:
    """Sums over the rows of both runs and, with labels, what is needed to correct them."""

    low: float
    high: float
    labels: Sequence[RunLabels]
    """The labels of both runs; empty if one of them has none."""
    is_count: bool = False
    """True if fewer is better; the decrease is compared then."""
    scores: PairedScores = field(default_factory=PairedScores)
    """Scores of the second run and the first, in this order."""
    missing: int = 0
    """Pairs of which one row has no number, or both have none although a judge was asked."""
    alone: int = 0
    """Rows without a counterpart that a judge was asked about."""
    unjudged: int = 0
    """Pairs that both runs skipped."""
    changed: int = 0
    other_texts: int = 0
    judges: tuple[str, str] = ("", "")
    places: list[tuple[int, int]] = field(default_factory=list)
    """Places of some pairs of rows in the two runs, used to find their votes."""
    labelled: PairColumns = field(default_factory=PairColumns)
    """Rows that are labelled in both runs."""
    skipped: PairColumns = field(default_factory=PairColumns)
    """Rows that were drawn in both runs, and that people skipped or were unsure about in one."""
    rest: PairColumns = field(default_factory=PairColumns)
    """The other rows."""
    texts: set[tuple[str, ...]] = field(default_factory=set)
    """The texts of labelled pairs, and the rows if these were drawn as rows: a label that copies
    share counts once.
    """
    drawable: PairedScores = field(default_factory=PairedScores)
    """Like ``scores``, but rows that were added after the labels were drawn have no number."""
    _units_of_texts: dict[tuple[str, str], int] = field(default_factory=dict)
    added: int = 0
    """Rows that were added to one of the runs after its labels were drawn."""
    contradicted: int = 0
    """Rows without a label because copies of their text were labelled differently."""
    draws: set[tuple[int, int]] = field(default_factory=set)
    """The draws of either run that could take rows first."""

    @property
    def is_grown(self) -> bool:
        """True if rows were added between two draws and so had different chances to be drawn."""
        return len(self.draws) > 1

    def add(self, unit: Iterable[Pair | LoneRow]) -> None:
        """Add rows that form one unit."""
        rows = self._numbers(unit)
        if not self.labels:
            self.scores.add(numbers for numbers, _ in rows)
            return
        both = list(rows)
        self.scores.add(numbers for numbers, _ in both)
        # labels correct what lost votes may have changed
        self.drawable.add(
            (numbers[0], numbers[1])
            if numbers and not isinstance(numbers, UnknownPair) and is_drawable
            else None
            for numbers, is_drawable in both
        )

    def add_outcomes(
        self, outcomes: Sequence[OutcomeCount], places: Callable[[], list[tuple[int, int]]]
    ) -> bool:
        """Add all pairs of a comparison without labels at once, if each pair is its own unit.

        Returns False and adds nothing unless the sums equal those of ``add`` to the last digit.
        ``places``: returns the positions of the first pairs.
        """
        numbers = [(number_of(outcome.before), number_of(outcome.after)) for outcome in outcomes]
        scores = {number for both in numbers for number in both if number is not None}
        if not outcomes or not any(_add_exactly(scores, *limits) for limits in _EXACT):
            return False
        summaries = [summary for outcome in outcomes for summary in (outcome.before, outcome.after)]
        # ``places`` would not leave out rows with a verdict but no number
        has_verdicts_alone = any(
            summary.status == "scored" and number_of(summary) is None for summary in summaries
        )
        if has_verdicts_alone or len({outcome.judges for outcome in outcomes}) > 1:
            return False
        self.judges = outcomes[0].judges
        for counted, (old_number, new_number) in zip(outcomes, numbers, strict=True):
            if old_number is None or new_number is None:
                if counted.before.was_skipped and counted.after.was_skipped:
                    self.unjudged += counted.times
                else:
                    self.missing += counted.times
                    self.scores.add_units(None, counted.times)
                continue
            self.changed += counted.times * (old_number != new_number)
            self.other_texts += counted.other_texts
            self.scores.add_units(
                (-new_number, -old_number) if self.is_count else (new_number, old_number),
                counted.times,
            )
        self.places = places()
        return True

    def _numbers(
        self, unit: Iterable[Pair | LoneRow]
    ) -> Iterator[tuple[PairOfScores | UnknownPair | None, bool]]:
        """Yield each row's numbers in the second and the first run, and whether it could be
        drawn.
        """
        for pair in unit:
            if isinstance(pair, LoneRow):
                self.alone += 1
                yield None, False
                continue
            self.judges = (pair.before.judge, pair.after.judge)
            old_number, new_number = number_of(pair.before.summary), number_of(pair.after.summary)
            if old_number is None or new_number is None:
                skipped = pair.before.summary.was_skipped and pair.after.summary.was_skipped
                self.unjudged += skipped
                self.missing += not skipped
                if not skipped:
                    yield _unknown(pair, old_number, new_number), False
                continue
            self.changed += old_number != new_number
            self.other_texts += pair.identities[0] != pair.identities[1]
            if len(self.places) < MOST_ROWS:
                self.places.append((pair.before.row, pair.after.row))
            is_drawable = bool(self.labels) and self._keep(
                pair, (new_number - old_number) / (self.high - self.low)
            )
            numbers = (-new_number, -old_number) if self.is_count else (new_number, old_number)
            yield (*numbers, *_ends(pair, old_number, new_number)), is_drawable

    def _keep(self, pair: Pair, judged: float) -> bool:
        """Store what the correction needs about a pair. Return False if the pair could not be
        drawn.
        """
        old_draw, new_draw = (
            run_labels.draw(identity, number)
            for run_labels, identity, number in zip(
                self.labels, pair.identities, pair.numbers, strict=True
            )
        )
        # rows added after the last draw could not be drawn
        if old_draw is None or new_draw is None:
            self.added += 1
            return False
        self.draws.add((old_draw, new_draw))
        rows = list(zip(self.labels, pair.identities, pair.names, strict=True))
        self.contradicted += any(
            run_labels.is_contradicted(row, id) for run_labels, row, id in rows
        )
        old_limits, new_limits = (run_labels.limits(row, id) for run_labels, row, id in rows)
        unit = self.scores.units
        (old_low, old_high), (new_low, new_high) = (
            old_limits or (0.0, 1.0),
            new_limits or (0.0, 1.0),
        )
        ends = (new_low - old_high, new_high - old_low)
        if pair.identities[0] == pair.identities[1] and ends[0] < ends[1]:
            ends = (0.0, 0.0)  # people say the same of one text
        if old_limits is None or new_limits is None:
            self.rest.add(ends, judged, unit, self._texts_of(pair))
            return True
        is_of_text = any(run_labels.is_of_text(row, id) for run_labels, row, id in rows)
        if pair.is_alone and is_of_text:  # the label of copies counts once
            unit = self._units_of_texts.setdefault(pair.identities, unit)
        if old_limits[0] < old_limits[1] or new_limits[0] < new_limits[1]:
            self.skipped.add(ends, judged, unit, self._texts_of(pair))
            return True
        self.labelled.add(ends, judged, unit, self._texts_of(pair))
        self.texts.add((*pair.identities, *(() if is_of_text else pair.names)))
        return True

    def _texts_of(self, pair: Pair) -> tuple[int, int]:
        """Return a number for each text, or for each row if rows instead of texts were drawn."""
        old_text, new_text = (
            hash(text if labels.draws_texts else (text, name))
            for labels, text, name in zip(self.labels, pair.identities, pair.names, strict=True)
        )
        return old_text, new_text

    def large_texts(self) -> tuple[Set[int], Set[int]]:
        """Return each run's texts that are too large to be estimated by other texts' labels."""
        rows = len(self.labelled) + len(self.skipped) + len(self.rest)
        large: list[Set[int]] = []
        for side in (0, 1):
            labelled = set(self.labelled.texts[side])
            sizes = Counter(self.rest.texts[side])
            sizes.update(self.labelled.texts[side])
            sizes.update(self.skipped.texts[side])
            drawn = len(labelled | set(self.skipped.texts[side]))
            copies = {text: size for text, size in sizes.items() if size > 1}
            of_labelled = [sizes[text] for text in labelled]
            least = least_apart(copies.values(), of_labelled, rows, drawn)
            large.append({text for text, size in copies.items() if size >= least})
        return large[0], large[1]


def _unknown(pair: Pair, old_number: float | None, new_number: float | None) -> UnknownPair | None:
    """Return the ends of the difference of a row that lacks a number; None unless the row has
    bounds in each run that has no number.
    """
    old_ends, new_ends = (
        summary.possible or (None if number is None else (number, number))
        for summary, number in (
            (pair.before.summary, old_number),
            (pair.after.summary, new_number),
        )
    )
    if old_ends is None or new_ends is None:
        return None
    return UnknownPair(new_ends[0] - old_ends[1], new_ends[1] - old_ends[0])


def _ends(pair: Pair, old_number: float, new_number: float) -> tuple[()] | tuple[float, float]:
    """Return the lowest and highest difference that lost votes allow; empty if they cannot
    change it.

    Models that did not count in either run are assumed to answer the same text alike.
    """
    old_summary, new_summary = pair.before.summary, pair.after.summary
    is_same_text = pair.identities[0] == pair.identities[1]
    if is_same_text and old_number == new_number and old_summary.left_out == new_summary.left_out:
        return ()
    least, most = old_summary.possible or (old_number, old_number)
    low, high = new_summary.possible or (new_number, new_number)
    return (low - most, high - least) if least < most or low < high else ()


def _add_exactly(numbers: Iterable[float], largest: float, parts: int) -> bool:
    """Return True if these are whole numbers of ``parts`` of 1, and at most ``largest``: the sums
    of billions of them are exact, in any order.
    """
    return all(abs(number) <= largest and float(parts * number).is_integer() for number in numbers)


_EXACT = ((1e6, 2), (1024, 1024))
"""Largest number and parts of 1: counts and halves, and shares such as 0.25."""


def number_of(summary: JudgmentSummary) -> float | None:
    """Return the score; for two compared responses 1 if the first won, 0 if it lost, 0.5 for a tie.

    None without a score or verdict.
    """
    if summary.status != "scored":
        return None
    if summary.score is not None:
        return summary.score
    if summary.chosen == TIE:
        return 0.5
    return float(summary.chosen == 0) if isinstance(summary.chosen, int) else None
