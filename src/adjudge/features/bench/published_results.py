"""Agreement of judges with people on public sets, by the verdicts published with the sets.

``tools/published_results.py`` writes the file with ``adjudge bench``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from adjudge.core.reading.typed_json import read_as


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A share of rows with its 95% interval, and the number of rows."""

    value: float | None
    lower: float | None
    upper: float | None
    n: int


@dataclass(frozen=True, slots=True)
class PublishedJudge:
    """Result of one judge on one set."""

    judge: str
    figure: str
    """The measure of agreement: "accuracy", or "Spearman" if people gave finer numbers."""
    rows: int
    failed: int
    agreement: PublishedFigure
    kappa: PublishedFigure
    order_effect: PublishedFigure
    embedded: bool = False
    """True if the embedded model judged the set for this table; the others' verdicts were recorded.
    """


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A public set of labelled rows, and the judges on one question about it."""

    name: str
    question: str
    source: str
    licence: str
    recorded: str
    """When the set and its recorded verdicts were published."""
    labels: int
    people: int
    """Number of people who labelled the same rows; 0 if there is one truth."""
    ceiling: float | None
    """How often two people agree."""
    majority: float | None
    """The agreement of a judge that always gives the commonest answer."""
    note: str
    judges: tuple[PublishedJudge, ...]


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """All published sets, and how they were computed."""

    made_with: str
    sets: tuple[PublishedSet, ...]


@cache
def published_results() -> PublishedResults:
    """Return the results that come with adjudge."""
    text = (Path(__file__).parent / "data" / "published.json").read_text(encoding="utf-8")
    return read_as(PublishedResults, json.loads(text))
