"""Figures of an earlier run beside those of this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from adjudge.domain.frozen import FrozenDict
from adjudge.reports.judgment import number_of

if TYPE_CHECKING:
    from adjudge.reports.report import Report, Section


class Change(NamedTuple):
    """A figure, before and now."""

    name: str
    before: float
    now: float

    @property
    def change(self) -> float:
        """Above 0 where it is better now."""
        return self.now - self.before

    def to_dict(self) -> dict[str, object]:
        """This as a JSON-ready dict."""
        return {**self._asdict(), "change": self.change}


@dataclass(frozen=True)
class Baseline:
    """What an earlier run came to."""

    run: str = ""
    """Its folder."""
    figures: Mapping[str, float] = FrozenDict()
    """Criteria, dimension or system → its mean or win rate. What several judges of the run have is under "judge: criteria"."""

    @classmethod
    def of(cls, run: str, report: Report) -> Baseline:
        """Of the report of that run."""
        found: dict[str, float] = {}
        for section in report.sections:
            for name, value in _figures(section):
                found[name if name not in found else f"{section.judge}: {name}"] = value
        return cls(run, found)

    @classmethod
    def of_kept(cls, kept: object) -> Baseline:
        """As a run folder keeps it."""
        match kept:
            case {"run": str(run), "figures": dict(figures)}:
                known = {str(name): number_of(value) for name, value in figures.items()}
                return cls(run, {name: value for name, value in known.items() if value is not None})
        return cls()

    def kept(self) -> dict[str, object]:
        """What a run folder keeps of it."""
        return {"run": self.run, "figures": dict(self.figures)}

    def changes(self, section: Section) -> list[Change]:
        """What both have."""
        known = ((name, now, self._before(section.judge, name)) for name, now in _figures(section))
        return [Change(name, before, now) for name, now, before in known if before is not None]

    def _before(self, judge: str, name: str) -> float | None:
        return self.figures.get(f"{judge}: {name}", self.figures.get(name))


def _figures(section: Section) -> Iterator[tuple[str, float]]:
    if section.contests:
        yield from ((one.name, one.winrate) for one in section.contests.systems if one.winrate is not None)
    elif section.summary.mean is not None:
        yield section.criteria or section.judge, section.summary.mean
    for one in section.rag.dimensions if section.rag else ():
        if one.mean is not None:
            yield one.dimension.title, one.mean
