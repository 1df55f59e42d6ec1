"""The rows of two runs side by side, with what people say of them."""

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
from adjudge.runs.diff import JudgmentSummary, LoneRow, OutcomeCount, Pair
from adjudge.runs.folder import run_facts
from adjudge.stats.difference import PairedScores, PairOfScores
from adjudge.trust.labelled_judges import found_changed
from adjudge.trust.labels.scales import label_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.large_texts import least_apart
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import agreed_value, by_row, labels_of_copy
from adjudge.trust.usable_labels import LabelsUsed, labels_used
from adjudge.trust.vote_values import MOST_ROWS


@dataclass(frozen=True)
class ComparedRun:
    """What a comparison needs of a run beside its rows."""

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
            # a judge of one's own need not say what it asks: its scores are compared as they are
            scales = []
        plain = {
            one.name: measure_of(one.scale)
            for one in scales
            if not (one.scale.compares or one.scale.by_parts)
        }
        return cls(
            Path(folder),
            plain,
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
        """Whether the score is a count: the fewer the better, and there is no most."""
        known = self._judge(judge).criteria
        own = next((one for one in known if one.get("name") == criteria), {})
        return own.get("higher_is_better") is False and not own.get("options")

    def one_order(self, judge: str) -> bool:
        """Whether responses were compared as they stand alone."""
        settings = self._judge(judge).settings
        return bool(settings) and not (
            settings.get("check_positional_bias") or settings.get("rotations")
        )

    def changed(self, judge: str) -> float | None:
        """When the judge was last found changed; of one that is called otherwise here, any."""
        own = [self.judges[judge]] if judge in self.judges else self.judges.values()
        found = (found_changed(self.folder, one) for one in own)
        return max((one for one in found if one is not None), default=None)

    def labels(self, judge: str, criteria: str) -> RunLabels | None:
        """Return what people said of the rows; None if such a criterion cannot be labelled."""
        measure = self.measures.get(criteria)
        if measure is None:
            return None
        known = LabelStore(self.folder).of_each_copy(criteria)
        return RunLabels(measure, labels_used(known, None, since=self.changed(judge)))


class RunLabels:
    """The labels of a run by one criterion, of rows that were drawn among all rows."""

    def __init__(self, measure: Measure, used: LabelsUsed) -> None:
        self._measure = measure
        self._by_row = {
            row: labels
            for row, labels in by_row(used.labels).items()
            if any(label.design == "random" for label in labels)
        }
        self._skipped = {row for row, of_all in used.skipped.items() if of_all}
        self._drawn_of = used.drawn_of
        self.draws_texts = any(one.is_of_text for one in used.labels if one.is_random)
        """True if labels count for all copies of a text, which was drawn once."""
        self.older = used.older
        """A note about labels that are older than a change of the judge, which are left out."""

    def __bool__(self) -> bool:
        return bool(self._by_row)

    def draw(self, number: int) -> int | None:
        """Return the first draw that could take the row in this place; None if all draws were
        before the row was added.
        """
        draw = bisect_right(self._drawn_of, number)
        return None if draw == len(self._drawn_of) else draw

    def limits(self, identity: str, id: str | None) -> tuple[float, float] | None:
        """Return the least and the most that people's answer may be worth, from 0 to 1; equal if
        they labelled the row. None if the row was not drawn.
        """
        labels = labels_of_copy(self._by_row.get(identity, ()), id) or ()
        answers = [said for one in labels if (said := _answer(one, self._measure)) is not None]
        if not answers or not any(label.design == "random" for label in labels):
            is_skipped = not self._skipped.isdisjoint({(identity, None), (identity, id)})
            return (0.0, 1.0) if is_skipped else None
        value = agreed_value(answers, self._measure)
        return value, value

    def is_of_text(self, identity: str, id: str | None) -> bool:
        """Return True if the row shares its label with the copies of its text."""
        labels = labels_of_copy(self._by_row.get(identity, ()), id)
        return any(label.is_of_text for label in labels or ())

    def is_contradicted(self, identity: str, id: str | None) -> bool:
        """Return True if the row has no label because copies of its text were labelled
        differently.
        """
        return labels_of_copy(self._by_row.get(identity, ()), id) is None


def _answer(label: Label, measure: Measure) -> str | float | None:
    """What a label says, where it can be said by this criteria."""
    if measure.is_number:
        return label.score
    return label.option if label.option in measure.values else None


@dataclass
class PairColumns:
    """What the correction needs of pairs, a few bytes for each."""

    lowest: array[float] = field(default_factory=lambda: array("d"))
    """The least that people's difference may be."""
    highest: array[float] = field(default_factory=lambda: array("d"))
    """The most; equal to ``lowest`` if the pair is labelled in both runs."""
    judged: array[float] = field(default_factory=lambda: array("d"))
    """What the judge says of the difference."""
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
        """Return the pairs of which no text is large, and the others."""
        parts = PairColumns(), PairColumns()
        columns = (self.lowest, self.highest, self.judged, self.units, *self.texts)
        for low, high, judged, unit, first, second in zip(*columns, strict=True):
            is_apart = first in large[0] or second in large[1]
            parts[is_apart].add((low, high), judged, unit, (first, second))
        return parts


@dataclass
class PairedSeries:
    """What a comparison keeps of the rows of both runs: sums, and where there are labels what may
    correct it.
    """

    low: float
    high: float
    labels: Sequence[RunLabels]
    """Of either run; empty if one of the runs has none."""
    is_count: bool = False
    """Whether fewer is better: then how many fewer there are is compared."""
    scores: PairedScores = field(default_factory=PairedScores)
    """Of the second run and the first."""
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
    """Of some rows, by which votes are found."""
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
        """True if rows were added between two draws: their chances to be drawn differ."""
        return len(self.draws) > 1

    def add(self, unit: Iterable[Pair | LoneRow]) -> None:
        """Add rows that belong together."""
        rows = self._numbers(unit)
        if not self.labels:
            self.scores.add(numbers for numbers, _ in rows)
            return
        both = list(rows)
        self.scores.add(numbers for numbers, _ in both)
        # labels correct what lost votes may have changed
        self.drawable.add(
            (numbers[0], numbers[1]) if numbers and is_drawable else None
            for numbers, is_drawable in both
        )

    def add_outcomes(
        self, outcomes: Sequence[OutcomeCount], places: Callable[[], list[tuple[int, int]]]
    ) -> bool:
        """Add all pairs of a comparison without labels at once, if each is a unit of its own.
        Return False, and add nothing, if the sums could differ from those of ``add`` in their last
        digit. ``places``: returns the places of the first pairs.
        """
        numbers = [(number_of(one.before), number_of(one.after)) for one in outcomes]
        if not outcomes or not all(map(_is_exact, (number for both in numbers for number in both))):
            return False
        both = [summary for one in outcomes for summary in (one.before, one.after)]
        has_verdicts_alone = any(
            one.status == "scored" and number_of(one) is None for one in both
        )  # whose rows ``places`` would not leave out
        if has_verdicts_alone or len({one.judges for one in outcomes}) > 1:
            return False
        self.judges = outcomes[0].judges
        for counted, (one, two) in zip(outcomes, numbers, strict=True):
            if one is None or two is None:
                if counted.before.was_skipped and counted.after.was_skipped:
                    self.unjudged += counted.times
                else:
                    self.missing += counted.times
                    self.scores.add_units(None, counted.times)
                continue
            self.changed += counted.times * (one != two)
            self.other_texts += counted.other_texts
            self.scores.add_units((-two, -one) if self.is_count else (two, one), counted.times)
        self.places = places()
        return True

    def _numbers(
        self, unit: Iterable[Pair | LoneRow]
    ) -> Iterator[tuple[PairOfScores | None, bool]]:
        """Yield the numbers of each row in the second run and the first, and whether the row could
        be drawn to be labelled.
        """
        for pair in unit:
            if isinstance(pair, LoneRow):
                self.alone += 1
                yield None, False
                continue
            self.judges = (pair.before.judge, pair.after.judge)
            one, two = number_of(pair.before.summary), number_of(pair.after.summary)
            if one is None or two is None:
                skipped = pair.before.summary.was_skipped and pair.after.summary.was_skipped
                self.unjudged += skipped
                self.missing += not skipped
                if not skipped:
                    yield None, False
                continue
            self.changed += one != two
            self.other_texts += pair.identities[0] != pair.identities[1]
            if len(self.places) < MOST_ROWS:
                self.places.append((pair.before.row, pair.after.row))
            is_drawable = bool(self.labels) and self._keep(
                pair, (two - one) / (self.high - self.low)
            )
            numbers = (-two, -one) if self.is_count else (two, one)
            yield (*numbers, *_ends(pair, one, two)), is_drawable

    def _keep(self, pair: Pair, judged: float) -> bool:
        """Keep what the correction needs of a pair; return False if the pair could not be drawn."""
        first, second = (
            own.draw(number) for own, number in zip(self.labels, pair.numbers, strict=True)
        )
        if first is None or second is None:
            self.added += 1
            return False
        self.draws.add((first, second))
        rows = list(zip(self.labels, pair.identities, pair.names, strict=True))
        self.contradicted += any(own.is_contradicted(row, id) for own, row, id in rows)
        before, after = (own.limits(row, id) for own, row, id in rows)
        unit = self.scores.units
        ends = _difference_ends(before or (0.0, 1.0), after or (0.0, 1.0))
        if pair.identities[0] == pair.identities[1] and ends[0] < ends[1]:
            ends = (0.0, 0.0)  # people say the same of one text
        if before is None or after is None:
            self.rest.add(ends, judged, unit, self._texts_of(pair))
            return True
        is_of_text = any(own.is_of_text(row, id) for own, row, id in rows)
        if pair.is_alone and is_of_text:  # the label of copies counts once
            unit = self._units_of_texts.setdefault(pair.identities, unit)
        if before[0] < before[1] or after[0] < after[1]:
            self.skipped.add(ends, judged, unit, self._texts_of(pair))
            return True
        self.labelled.add(ends, judged, unit, self._texts_of(pair))
        self.texts.add((*pair.identities, *(() if is_of_text else pair.names)))
        return True

    def _texts_of(self, pair: Pair) -> tuple[int, int]:
        """Return numbers for both texts; for the row, if rows were drawn and not texts."""
        first, second = (
            hash(text if labels.draws_texts else (text, name))
            for labels, text, name in zip(self.labels, pair.identities, pair.names, strict=True)
        )
        return first, second

    def large_texts(self) -> tuple[Set[int], Set[int]]:
        """Return the texts of either run that are too large to be estimated by labels of others."""
        rows = len(self.labelled) + len(self.skipped) + len(self.rest)
        found: list[Set[int]] = []
        for side in (0, 1):
            labelled = set(self.labelled.texts[side])
            sizes = Counter(self.rest.texts[side])
            sizes.update(self.labelled.texts[side])
            sizes.update(self.skipped.texts[side])
            drawn = len(labelled | set(self.skipped.texts[side]))
            copies = {text: size for text, size in sizes.items() if size > 1}
            of_labelled = [sizes[text] for text in labelled]
            least = least_apart(copies.values(), of_labelled, rows, drawn)
            found.append({text for text, size in copies.items() if size >= least})
        return found[0], found[1]


def _difference_ends(
    before: tuple[float, float], after: tuple[float, float]
) -> tuple[float, float]:
    return after[0] - before[1], after[1] - before[0]


def _ends(pair: Pair, before: float, after: float) -> tuple[()] | tuple[float, float]:
    """Return the least and the most that the difference of a pair would be with the votes that
    panels lost; nothing if they could not change it. Models that did not count in either run are
    taken to say the same of the same text.
    """
    one, two = pair.before.summary, pair.after.summary
    is_same_text = pair.identities[0] == pair.identities[1]
    if is_same_text and before == after and one.left_out == two.left_out:
        return ()
    least, most = one.possible or (before, before)
    low, high = two.possible or (after, after)
    return (low - most, high - least) if least < most or low < high else ()


def _is_exact(number: float | None) -> bool:
    """Return True if sums of many such numbers are exact, in any order: whole numbers, halves."""
    return number is None or (abs(number) < _LARGEST_EXACT and float(2 * number).is_integer())


_LARGEST_EXACT = 1e6


def number_of(summary: JudgmentSummary) -> float | None:
    """The score; of two compared responses 1 where the first won and a half for a tie."""
    if summary.status != "scored":
        return None
    if summary.score is not None:
        return summary.score
    if summary.chosen == TIE:
        return 0.5
    return float(summary.chosen == 0) if isinstance(summary.chosen, int) else None
