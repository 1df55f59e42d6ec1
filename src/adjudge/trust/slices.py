"""Corrected numbers per slice of the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, NotRequired, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.stats.correction import METHOD, corrected_mean, from_scale, from_unit, stratify
from adjudge.stats.distributions import z_two_sided
from adjudge.stats.estimate import Estimate, FigureShape, undefined
from adjudge.stats.intervals import clusters_at
from adjudge.stats.slices import OwnValue, PooledValue, labels_missing, level_of_each, pool
from adjudge.trust.large_texts import rows_apart
from adjudge.trust.measure import Measure
from adjudge.trust.rows import Answer, LabelledRow, Rows, repeats


class PooledShape(TypedDict):
    """A slice's value, pulled towards the value that all rows suggest."""

    value: float
    from_whole: Annotated[float, "how much of it is the whole's, from 0 to 1"]


class CorrectedSliceShape(TypedDict):
    """The corrected number of one slice."""

    name: str
    rows: int
    labels: int
    naive: float | None
    corrected: FigureShape
    more: Annotated[int, "labels that it lacks for a number of its own"]
    pooled: PooledShape | None
    rows_added_since_draw: NotRequired[
        Annotated[int, "of its rows; the figures are about the others, if there are any"]
    ]


class SlicesShape(TypedDict):
    """The corrected number per slice."""

    column: str
    level: Annotated[float, "at which the intervals of all slices hold together"]
    level_of_each: float
    multiplicity: str
    slices: Sequence[CorrectedSliceShape]
    notes: Sequence[str]


@dataclass(frozen=True)
class CorrectedSlice:
    """The rows with one value in the column, and their corrected number."""

    name: str
    rows: int
    """All rows of the slice, those that were added after the draw included."""
    labels: int
    """Labelled rows of the slice that count."""
    naive: float | None
    """The judge's own number, as if it were never wrong."""
    corrected: Estimate
    """The number corrected by this slice's labels alone. Without an interval it says why."""
    more: int
    """Labels missing for a separate number."""
    pooled: PooledValue | None = None
    """The same pulled towards what the judge's errors on all rows let expect of this slice."""
    added: int = 0
    """Rows that were added after the draw: if there are others, all figures are about those."""

    def to_dict(self) -> JsonDict:
        pooled = self.pooled._asdict() if self.pooled else None
        return fill(CorrectedSliceShape, self, pooled=pooled, rows_added_since_draw=self.added)


@dataclass(frozen=True)
class SliceReport:
    """All slices by one column, with intervals that hold simultaneously at ``level``."""

    column: str
    slices: tuple[CorrectedSlice, ...]
    level: float
    each: float
    """The level of each interval by itself."""
    notes: tuple[Message, ...] = ()

    def to_dict(self) -> JsonDict:
        return fill(
            SlicesShape, self, level_of_each=self.each, multiplicity="simultaneous (Bonferroni)"
        )


def slices_of(
    rows: Rows, drawn: Sequence[LabelledRow], level: float, *, these_rows: bool = False
) -> SliceReport | None:
    """Return the corrected number of each slice; None if no column was named.

    How many intervals there are depends on the number of labels, not on their answers.
    """
    slicing = rows.slicing
    if slicing is None:
        return None
    labels = rows.label_values(drawn)
    # rows added after the last draw come last in the slicing; no label can be about them
    drawable = len(rows.groups)
    places: dict[str, list[int]] = {}
    for place, name in enumerate(slicing.of_rows[:drawable]):
        places.setdefault(name, []).append(place)
    added: dict[str, list[Answer | None]] = {}
    for name, answer in zip(slicing.of_rows[drawable:], rows.late_answers, strict=True):
        added.setdefault(name, []).append(answer)
    identities = {row.place: row.unit for row in drawn}
    apart = rows_apart(rows, drawn).places
    parts = [
        _Part(rows, name, slice_places, labels, identities, these_rows, apart)
        for name, slice_places in places.items()
    ]
    level_of_slice = level_of_each(level, sum(not part.missing for part in parts))
    means = _means_by_verdict(rows, labels)
    own_values = [part.own_value(level_of_slice, means) for part in parts]
    judge_values = (
        dict(zip(rows.numbered, map(rows.measure.value, rows.numbers), strict=True))
        if rows.measure.is_number
        else dict(zip(rows.decided, rows.judged_values(), strict=True))
    )
    slices = {
        part.name: part.correct(level_of_slice, judge_values, rows.measure, best)
        for part, best in zip(parts, pool(own_values), strict=True)
    }
    for name, answers in added.items():
        slices[name] = (
            replace(slices[name], rows=slices[name].rows + len(answers), added=len(answers))
            if name in slices
            else _added_slice(name, answers, rows.measure, level_of_slice)
        )
    return SliceReport(
        slicing.column,
        tuple(slices[name] for name in slicing.names),
        level,
        level_of_slice,
        slicing.notes,
    )


def _means_by_verdict(rows: Rows, labels: Sequence[float | None]) -> dict[str | None, float]:
    """Return the mean label of each verdict over all rows.

    Labels drawn within a kind are weighted by the rows they represent, because on their own they
    say nothing about other slices.
    """
    keys, order = rows.strata
    means = {stratum.verdict: stratum.mean for stratum in stratify(keys, labels, order)}
    of_rows: defaultdict[str | None, list[float]] = defaultdict(list)
    for verdict, key in zip(rows.verdict_groups, keys, strict=True):
        if (mean := means[key]) is not None:
            of_rows[verdict].append(mean)
    return {verdict: fmean(row_means) for verdict, row_means in of_rows.items()}


def _added_slice(
    name: str, answers: Sequence[Answer | None], measure: Measure, level: float
) -> CorrectedSlice:
    """Return a slice of rows that were all added after the draw, so that it has no labels."""
    judge_values = [measure.value(answer) for answer in answers if answer is not None]
    why = Message("not corrected, because it was added after the draw")
    return CorrectedSlice(
        name,
        len(answers),
        0,
        from_scale(fmean(judge_values), measure.range) if judge_values else None,
        undefined(METHOD, 0, why, level=level),
        0,
        added=len(answers),
    )


class _Part:
    def __init__(
        self,
        rows: Rows,
        name: str,
        places: Sequence[int],
        labels: Sequence[float | None],
        identities: Mapping[int, str],
        these_rows: bool,
        apart: Collection[int],
    ) -> None:
        keys, self._order = rows.strata
        self.name = name
        self._places = places
        self._keys = [keys[at] for at in places]
        verdicts = rows.verdict_groups
        self._verdicts = [verdicts[at] for at in places]
        self._labels = [labels[at] for at in places]
        self._clusters = clusters_at(rows.together, places)
        self._these_rows = these_rows
        self._skipped = [place for place, at in enumerate(places) if at in rows.skipped]
        self._apart = [place for place, at in enumerate(places) if at in apart]
        texts = {place: identities[at] for place, at in enumerate(places) if at in identities}
        self._strata = stratify(self._keys, self._labels, self._order, copies=repeats(texts))
        self.missing = labels_missing(self._strata, every=rows.weighting is not None)

    def _estimate(self, level: float) -> Estimate:
        return corrected_mean(
            self._keys,
            self._labels,
            self._order,
            clusters=self._clusters,
            level=level,
            skipped=self._skipped,
            these_rows=self._these_rows,
            apart=self._apart,
        )

    def own_value(self, level: float, means: Mapping[str | None, float]) -> OwnValue:
        """Estimate the slice from its own labels. ``means``: the mean label per verdict over all
        rows.
        """
        estimate = self._estimate(level)
        error = None if estimate.width is None else estimate.width / 2 / z_two_sided(level)
        usual = fmean(means.values()) if means else 0.5
        expected = fmean(means.get(verdict, usual) for verdict in self._verdicts)
        return OwnValue(estimate.value, error, expected)

    def correct(
        self,
        level: float,
        judge_values: Mapping[int, float],
        measure: Measure,
        best: PooledValue | None,
    ) -> CorrectedSlice:
        estimate = self._estimate(level)
        if self.missing:
            texts = sum(stratum.texts for stratum in self._strata)
            why = (
                Message("too few labels here: {more} more", more=self.missing)
                if texts == estimate.count
                else Message(
                    "too few labels here: {more} more (labels of {texts} different texts; copies "
                    "count once)",
                    more=self.missing,
                    texts=texts,
                )
            )
            estimate = undefined(estimate.method, estimate.count, why, level=level)
        values = [judge_values[at] for at in self._places if at in judge_values]
        return CorrectedSlice(
            self.name,
            len(self._places),
            estimate.count,
            from_scale(fmean(values), measure.range) if values else None,
            from_unit(estimate, measure.range),
            self.missing,
            best and best._replace(value=from_scale(best.value, measure.range)),
        )
