"""Means of the measures over many rows, and counts of whom the rows blame: retriever or
generator.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import Unit
from adjudge.features.rag.record import BLAMED, MeasureRecord, PartRecord, rag_detail
from adjudge.messages import abridge
from adjudge.runs.results.summary import (
    NONE_OPEN,
    UNSURE,
    GateConfidence,
    LostRows,
    OpenScores,
    Summary,
    interval_dict,
    interval_of,
)

if TYPE_CHECKING:
    from adjudge.features.rag.measures import RagMeasure
    from adjudge.stats.intervals import Interval


@light_dataclass(frozen=True)
class MeasureSummary:
    """One measure over all rows."""

    measure: RagMeasure
    mean: float | None
    rows: int
    missing: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Reasons for missing values → how often, the most frequent first."""
    interval: Interval | None = None
    confident: Interval | None = None
    """Limits of the mean, at the confidence that gates ask for. They hold whatever the rows
    without a value are.
    """
    opened: OpenScores = NONE_OPEN
    """Values that lost votes could change."""

    def as_summary(self) -> Summary:
        """Return its values for a separate gate."""
        return Summary.of_scores(self.mean, self.rows, self.missing, self.confident, self.opened)

    def to_dict(self) -> JsonDict:
        numbers = {
            "mean": self.mean,
            "interval": interval_dict(self.interval),
            "rows": self.rows,
            "missing": self.missing,
        }
        return {**numbers, "of": self.measure.of, "reasons": dict(self.reasons)}


@light_dataclass(frozen=True)
class MeasuresSummary:
    """All measures over all rows."""

    each: tuple[MeasureSummary, ...]
    blamed: Mapping[str, int]
    """Side to blame → number of rows."""
    idle: int | None = None
    """Rows in which the answer leaves a relevant fragment unused; None if that was not asked."""

    def named(self, name: str) -> MeasureSummary | None:
        """Return the measure of that name."""
        return next((summary for summary in self.each if summary.measure.name == name), None)

    def to_dict(self) -> JsonDict:
        return {
            "measures": {summary.measure.name: summary.to_dict() for summary in self.each},
            "blame": dict(self.blamed),
        }


class MeasureTally:
    """Accumulates the measures of rows."""

    def __init__(self, measures: Sequence[RagMeasure], sureness: GateConfidence = UNSURE) -> None:
        self._measures = tuple(measures)
        self._sureness = sureness
        self._values = {measure.name: array("d") for measure in measures}
        self._units: dict[str, list[Unit]] = {measure.name: [] for measure in measures}
        self._lost = {measure.name: LostRows() for measure in measures}
        self._open: dict[str, set[int]] = {measure.name: set() for measure in measures}
        """Places among the values of those that lost votes could change."""
        self._reasons: dict[str, Counter[str]] = {measure.name: Counter() for measure in measures}
        self._blamed: Counter[str] = Counter()
        self._idle = 0

    def add(self, record: JudgmentRecord) -> None:
        self._blamed[blamed_side(record)] += 1
        self._idle += has_idle_fragment(record)
        for name, values in self._values.items():
            value, reason = measure_of(record, name)
            if value is None:
                self._reasons[name][abridge(reason)] += 1
                self._lost[name].add(self._sureness.unit(record))
            else:
                # the place is noted before the value is appended there
                if could_change(record, name):
                    self._open[name].add(len(values))
                values.append(value)
                self._units[name].append(self._sureness.unit(record))

    def summary(self) -> MeasuresSummary:
        """Return the means of the rows added so far."""
        # both answers are needed to tell that a relevant fragment was left unused
        checks = {name for measure in self._measures for name in measure.checks} >= {
            "fragment_relevance",
            "fragment_used",
        }
        counts = {name: self._blamed[name] for name in BLAMED}
        return MeasuresSummary(
            tuple(map(self._summary, self._measures)), counts, self._idle if checks else None
        )

    def _summary(self, measure: RagMeasure) -> MeasureSummary:
        values, units, reasons = (
            self._values[measure.name],
            self._units[measure.name],
            self._reasons[measure.name],
        )
        return MeasureSummary(
            measure=measure,
            mean=sum(values) / len(values) if values else None,
            rows=len(values),
            missing=reasons.total(),
            reasons=dict(reasons.most_common()),
            interval=interval_of(values, self._sureness.clusters(units)),
            confident=self._sureness.interval(
                values,
                units,
                self._lost[measure.name],
                possible=dict.fromkeys(self._open[measure.name], (0.0, 1.0)),
            ),
            opened=open_scores(values, self._open[measure.name]),
        )


def could_change(record: JudgmentRecord, part: str) -> bool:
    """Return True if lost votes could change a dimension or measure of a row."""
    rag = rag_detail(record)
    return rag is not None and rag.could_change(record, part)


def open_scores(values: Sequence[float], places: Collection[int]) -> OpenScores:
    """Return the values in these places, each of which could be anything from 0 to 1."""
    scores = NONE_OPEN
    for place in places:
        scores = scores.plus(values[place], 0.0, 1.0)
    return scores


def measure_of(record: JudgmentRecord, name: str) -> tuple[float | None, str]:
    """Return a row's value of a measure, and the reason if it has none."""
    measure = _measures(record).get(name)
    return (measure.value, measure.reason or "") if measure else (None, "")


def measure_names(record: JudgmentRecord) -> list[str]:
    """Return the names of a row's measures; dimensions are not among them."""
    return list(_measures(record))


def _measures(record: JudgmentRecord) -> Mapping[str, MeasureRecord]:
    rag = rag_detail(record)
    return (rag.measures if rag else None) or {}


def has_measures(record: JudgmentRecord) -> bool:
    return bool(_measures(record))


def judged_question(record: JudgmentRecord) -> str:
    """Return the rewritten question that relevance was judged by; empty if not rewritten."""
    rag = rag_detail(record)
    question = rag.judged_question if rag else None
    return question.text if question and question.rewritten else ""


def blamed_side(record: JudgmentRecord) -> str:
    rag = rag_detail(record)
    return rag.blamed if rag else "unknown"


def because(record: JudgmentRecord) -> Mapping[str, float]:
    """Return the figures that led to the row's blame; empty without any."""
    rag = rag_detail(record)
    return rag.blame.because if rag and rag.blame else {}


# -- the parts of a row ------------------------------------------------------------


@light_dataclass(frozen=True)
class FragmentSeen:
    """Relevance and use of one fragment."""

    number: int
    relevant: bool | None = None
    cited: bool = False
    used: bool | None = None
    against: tuple[int, ...] = ()
    """Fragments that it contradicts."""

    @property
    def unused(self) -> bool:
        """True if the answer neither cites nor uses it."""
        return self.used is False and not self.cited


def has_idle_fragment(record: JudgmentRecord) -> bool:
    """Return True if the answer leaves a relevant fragment unused."""
    return any(fragment.relevant and fragment.unused for fragment in fragments_seen(record))


def _parts(record: JudgmentRecord, check: str) -> Iterator[PartRecord]:
    rag = rag_detail(record)
    return (part for part in (rag.parts if rag else None) or () if part.check == check)


def fragments_seen(record: JudgmentRecord) -> list[FragmentSeen]:
    """Return the fragments that a model was asked about, in their order."""
    relevant = {part.number: part.yes for part in _parts(record, "fragment_relevance")}
    used = {part.number: part.yes for part in _parts(record, "fragment_used")}
    cited = {place for part in _parts(record, "citation_supports") for place in part.others or ()}
    against: dict[int, list[int]] = {}
    for part in _parts(record, "fragments_disagree"):
        for number, contradicted in (
            (part.number, opposite) for opposite in part.others or () if part.yes
        ):
            against.setdefault(number, []).append(contradicted)
            against.setdefault(contradicted, []).append(number)
    numbers = sorted({*relevant, *used, *cited, *against})
    return [
        FragmentSeen(
            place,
            relevant.get(place),
            place in cited,
            used.get(place),
            tuple(sorted(against.get(place, ()))),
        )
        for place in numbers
    ]


_MISSED = (
    "statement_in_fragments",
    "statement_in_answer",
    "statement_in_reference",
    "citation_supports",
)


def find_missed(record: JudgmentRecord) -> list[tuple[str, str, str]]:
    """Return (check, statement with its marks, reason) for each part that was not found."""
    parts = [part for check in _MISSED for part in _parts(record, check) if part.yes is False]
    return [
        (part.check, f"{part.text} {part.mark or ''}".strip(), part.reason or "") for part in parts
    ]
