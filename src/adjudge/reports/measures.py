"""What the measures of RAG answers come to, and whom they blame: the retriever or the generator."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from adjudge.domain.light import light_dataclass
from adjudge.domain.message import Usage
from adjudge.reports.judgment import Judgment, number_of, part_of
from adjudge.reports.summary import UNSURE, Summary, Sureness, interval_dict, interval_of, kind_of

if TYPE_CHECKING:
    from adjudge.rag.measures import Measure
    from adjudge.stats.intervals import Interval

BLAMED = ("retriever", "generator", "both", "neither", "unknown")


@light_dataclass(frozen=True)
class MeasureSummary:
    """One measure over all rows."""

    measure: Measure
    mean: float | None
    rows: int
    """With a number."""
    missing: int
    """Without one."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why, the most frequent reason first."""
    interval: Interval | None = None
    confident: Interval | None = None
    """Of the mean, at the confidence that gates ask for."""

    def as_summary(self) -> Summary:
        """Its values, for a gate of its own."""
        total, rows = (self.mean or 0.0) * self.rows, self.rows + self.missing
        lower, upper = (total / rows, (total + self.missing) / rows) if rows else (0.0, 1.0)
        return Summary(rows, self.rows, 0, self.missing, self.mean, lower, upper, Usage(), confident=self.confident)

    def to_dict(self) -> dict[str, object]:
        """This as a JSON-ready dict."""
        found = {"mean": self.mean, "interval": interval_dict(self.interval), "rows": self.rows, "missing": self.missing}
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

    def to_dict(self) -> dict[str, object]:
        """This as a JSON-ready dict."""
        return {"measures": {one.measure.name: one.to_dict() for one in self.each}, "blame": dict(self.blamed)}


class MeasureTally:
    """Adds up rows as they come."""

    def __init__(self, measures: Sequence[Measure], sureness: Sureness = UNSURE) -> None:
        self._measures = tuple(measures)
        self._sureness = sureness
        self._values = {one.name: array("d") for one in measures}
        self._groups: dict[str, list[Hashable]] = {one.name: [] for one in measures}
        self._reasons: dict[str, Counter[str]] = {one.name: Counter() for one in measures}
        self._blamed: Counter[str] = Counter()
        self._idle = 0

    def add(self, one: Judgment) -> None:
        """One more row."""
        self._blamed[blamed(one)] += 1
        self._idle += has_idle_fragment(one)
        for name, values in self._values.items():
            value, reason = measured(one, name)
            if value is None:
                self._reasons[name][kind_of(reason)] += 1
            else:
                values.append(value)
                self._groups[name] += self._sureness.group(one)

    def summary(self) -> MeasuresSummary:
        """What they come to so far."""
        asked = {name for one in self._measures for name in one.checks} >= {"fragment_relevance", "fragment_used"}
        counts = {name: self._blamed[name] for name in BLAMED}
        return MeasuresSummary(tuple(map(self._summary, self._measures)), counts, self._idle if asked else None)

    def _summary(self, measure: Measure) -> MeasureSummary:
        values, groups, reasons = self._values[measure.name], self._groups[measure.name], self._reasons[measure.name]
        return MeasureSummary(
            measure=measure,
            mean=sum(values) / len(values) if values else None,
            rows=len(values),
            missing=reasons.total(),
            reasons=dict(reasons.most_common()),
            interval=interval_of(values, groups),
            confident=self._sureness.interval(values, groups),
        )


def measured(one: Judgment, name: str) -> tuple[float | None, str]:
    """(a measure's value, or why there is none) of a row."""
    found = part_of(one, "measures").get(name)
    given: Mapping[str, object] = found if isinstance(found, Mapping) else {}
    return number_of(given.get("value")), str(given.get("reason") or "")


def measure_names(one: Judgment) -> list[str]:
    """What was measured of a row beside its dimensions."""
    return list(part_of(one, "measures"))


def has_measures(one: Judgment) -> bool:
    """Whether anything was."""
    return bool(measure_names(one))


def judged_question(one: Judgment) -> str:
    """The question that relevance was judged by, where it is another than the row's."""
    given = part_of(one, "judged_question")
    return str(given.get("text") or "") if given.get("rewritten") else ""


def blamed(one: Judgment) -> str:
    """Whom a row blames."""
    who = part_of(one, "blame").get("who")
    return str(who) if who in BLAMED else "unknown"


def because(one: Judgment) -> dict[str, float]:
    """The figures that say so."""
    given = part_of(one, "blame").get("because")
    known = {str(name): number_of(value) for name, value in given.items()} if isinstance(given, Mapping) else {}
    return {name: value for name, value in known.items() if value is not None}


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


def has_idle_fragment(one: Judgment) -> bool:
    """Whether the answer leaves a relevant fragment unused."""
    return any(seen.relevant and seen.unused for seen in fragments_seen(one)) if has_measures(one) else False


def _parts(one: Judgment, check: str) -> Iterator[Mapping[str, object]]:
    parts = one.result.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and part.get("check") == check:
            yield part


def _said(part: Mapping[str, object]) -> bool | None:
    yes = part.get("yes")
    return yes if isinstance(yes, bool) else None


def _number(part: Mapping[str, object]) -> int:
    return int(number_of(part.get("number")) or 0)


def _others(part: Mapping[str, object]) -> list[int]:
    others = part.get("others")
    return [one for one in others if isinstance(one, int)] if isinstance(others, list) else []


def fragments_seen(one: Judgment) -> list[FragmentSeen]:
    """The fragments that something was asked about, in their order."""
    relevant = {_number(part): _said(part) for part in _parts(one, "fragment_relevance")}
    used = {_number(part): _said(part) for part in _parts(one, "fragment_used")}
    cited = {place for part in _parts(one, "citation_supports") for place in _others(part)}
    against: dict[int, list[int]] = {}
    for part in _parts(one, "fragments_disagree"):
        for first, second in ((_number(part), other) for other in _others(part) if _said(part)):
            against.setdefault(first, []).append(second)
            against.setdefault(second, []).append(first)
    numbers = sorted({*relevant, *used, *cited, *against})
    return [
        FragmentSeen(place, relevant.get(place), place in cited, used.get(place), tuple(sorted(against.get(place, ()))))
        for place in numbers
    ]


_MISSED = ("statement_in_fragments", "statement_in_answer", "statement_in_reference", "citation_supports")


def missed(one: Judgment) -> list[tuple[str, str, str]]:
    """(check, statement with its marks, why) of what was looked for and is not there."""
    parts = [part for check in _MISSED for part in _parts(one, check) if _said(part) is False]
    return [
        (str(part["check"]), f"{part.get('text')} {part.get('mark') or ''}".strip(), str(part.get("reason") or ""))
        for part in parts
    ]
