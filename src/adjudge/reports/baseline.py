"""Figures of an earlier run beside those of this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adjudge.domain.frozen import FrozenDict
from adjudge.reports.judgment import number_of


class Figure(NamedTuple):
    """A mean or a win rate: what it is kept by in any language, what people call it, and its value."""

    key: str
    name: str
    value: float


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
    def of(cls, run: str, figures: Iterable[tuple[str, Figure]]) -> Baseline:
        """Of the figures of that run, each with its judge."""
        found: dict[str, float] = {}
        for judge, one in figures:
            found[one.key if one.key not in found else f"{judge}: {one.key}"] = one.value
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

    def changes(self, judge: str, figures: Iterable[Figure]) -> list[Change]:
        """What both have."""
        known = ((one, self._before(judge, one.key)) for one in figures)
        return [Change(one.name, before, one.value) for one, before in known if before is not None]

    def _before(self, judge: str, name: str) -> float | None:
        return self.figures.get(f"{judge}: {name}", self.figures.get(name))
