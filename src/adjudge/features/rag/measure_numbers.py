"""What the measures of RAG answers come to, and whom they blame: the retriever or the generator."""

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
from adjudge.features.rag.record import BLAMED, MeasureRecord, PartRecord
from adjudge.features.rag.report_row import rag_detail
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
    """Why, the most frequent reason first."""
    interval: Interval | None = None
    confident: Interval | None = None
    """Limits of the mean, at the confidence that gates ask for. They hold whatever the rows
    without a value are.
    """
    opened: OpenScores = NONE_OPEN
    """Values that lost votes of a panel could change."""

    def as_summary(self) -> Summary:
        """Its values, for a gate of its own."""
        return Summary.of_scores(self.mean, self.rows, self.missing, self.confident, self.opened)

    def to_dict(self) -> JsonDict:
        found = {
            "mean": self.mean,
            "interval": interval_dict(self.interval),
            "rows": self.rows,
            "missing": self.missing,
        }
        return {**found, "of": self.measure.of, "reasons": dict(self.reasons)}


@light_dataclass(frozen=True)
class MeasuresSummary:
    """All measures over all rows."""

    each: tuple[MeasureSummary, ...]
    blamed: Mapping[str, int]
    """Whom the rows blame → how many."""
    idle: int | None = None
    """Rows in which the answer leaves a relevant fragment unused; None where that was not asked."""

    def named(self, name: str) -> MeasureSummary | None:
        """The measure of that name."""
        return next((one for one in self.each if one.measure.name == name), None)

    def to_dict(self) -> JsonDict:
        return {
            "measures": {one.measure.name: one.to_dict() for one in self.each},
            "blame": dict(self.blamed),
        }


class MeasureTally:
    """Adds up rows as they come."""

    def __init__(self, measures: Sequence[RagMeasure], sureness: GateConfidence = UNSURE) -> None:
        self._measures = tuple(measures)
        self._sureness = sureness
        self._values = {one.name: array("d") for one in measures}
        self._units: dict[str, list[Unit]] = {one.name: [] for one in measures}
        self._lost = {one.name: LostRows() for one in measures}
        self._open: dict[str, set[int]] = {one.name: set() for one in measures}
        """Places among the values of those that lost votes of a panel could change."""
        self._reasons: dict[str, Counter[str]] = {one.name: Counter() for one in measures}
        self._blamed: Counter[str] = Counter()
        self._idle = 0

    def add(self, one: JudgmentRecord) -> None:
        self._blamed[blamed(one)] += 1
        self._idle += has_idle_fragment(one)
        for name, values in self._values.items():
            value, reason = measured(one, name)
            if value is None:
                self._reasons[name][abridge(reason)] += 1
                self._lost[name].add(self._sureness.unit(one))
            else:
                if could_change(one, name):
                    self._open[name].add(len(values))
                values.append(value)
                self._units[name].append(self._sureness.unit(one))

    def summary(self) -> MeasuresSummary:
        """What they come to so far."""
        asked = {name for one in self._measures for name in one.checks} >= {
            "fragment_relevance",
            "fragment_used",
        }
        counts = {name: self._blamed[name] for name in BLAMED}
        return MeasuresSummary(
            tuple(map(self._summary, self._measures)), counts, self._idle if asked else None
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


def could_change(one: JudgmentRecord, part: str) -> bool:
    """Return True if lost votes of a panel could change a dimension or measure of a row."""
    rag = rag_detail(one)
    return rag is not None and rag.could_change(one, part)


def open_scores(values: Sequence[float], places: Collection[int]) -> OpenScores:
    """Return the values in these places, each of which could be anything from 0 to 1."""
    found = NONE_OPEN
    for place in places:
        found = found.plus(values[place], 0.0, 1.0)
    return found


def measured(one: JudgmentRecord, name: str) -> tuple[float | None, str]:
    """(a measure's value, or why there is none) of a row."""
    found = _measures(one).get(name)
    return (found.value, found.reason or "") if found else (None, "")


def measure_names(one: JudgmentRecord) -> list[str]:
    """What was measured of a row beside its dimensions."""
    return list(_measures(one))


def _measures(one: JudgmentRecord) -> Mapping[str, MeasureRecord]:
    rag = rag_detail(one)
    return (rag.measures if rag else None) or {}


def has_measures(one: JudgmentRecord) -> bool:
    return bool(_measures(one))


def judged_question(one: JudgmentRecord) -> str:
    """The question that relevance was judged by, where it is another than the row's."""
    rag = rag_detail(one)
    given = rag.judged_question if rag else None
    return given.text if given and given.rewritten else ""


def blamed(one: JudgmentRecord) -> str:
    rag = rag_detail(one)
    return rag.blamed if rag else "unknown"


def because(one: JudgmentRecord) -> Mapping[str, float]:
    """The figures that say so."""
    rag = rag_detail(one)
    return rag.blame.because if rag and rag.blame else {}


# -- the parts of a row ------------------------------------------------------------


@light_dataclass(frozen=True)
class FragmentSeen:
    """What became of one fragment."""

    number: int
    relevant: bool | None = None
    cited: bool = False
    used: bool | None = None
    against: tuple[int, ...] = ()
    """Fragments that it contradicts."""

    @property
    def unused(self) -> bool:
        """Whether the answer neither cites nor uses it."""
        return self.used is False and not self.cited


def has_idle_fragment(one: JudgmentRecord) -> bool:
    """Whether the answer leaves a relevant fragment unused."""
    return any(seen.relevant and seen.unused for seen in fragments_seen(one))


def _parts(one: JudgmentRecord, check: str) -> Iterator[PartRecord]:
    rag = rag_detail(one)
    return (part for part in (rag.parts if rag else None) or () if part.check == check)


def fragments_seen(one: JudgmentRecord) -> list[FragmentSeen]:
    """The fragments that something was asked about, in their order."""
    relevant = {part.number: part.yes for part in _parts(one, "fragment_relevance")}
    used = {part.number: part.yes for part in _parts(one, "fragment_used")}
    cited = {place for part in _parts(one, "citation_supports") for place in part.others or ()}
    against: dict[int, list[int]] = {}
    for part in _parts(one, "fragments_disagree"):
        for first, second in ((part.number, other) for other in part.others or () if part.yes):
            against.setdefault(first, []).append(second)
            against.setdefault(second, []).append(first)
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


def missed(one: JudgmentRecord) -> list[tuple[str, str, str]]:
    """(check, statement with its marks, why) of what was looked for and is not there."""
    parts = [part for check in _MISSED for part in _parts(one, check) if part.yes is False]
    return [
        (part.check, f"{part.text} {part.mark or ''}".strip(), part.reason or "") for part in parts
    ]
