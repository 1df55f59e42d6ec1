"""The record of an answer that was scored on every dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.evidence.record import EvidenceRecord, SearchedDetail, evidence_columns
from adjudge.features.rag.dimensions import Dimension, absent
from adjudge.features.rag.rows import show_to_dimension

BLAMED = ("retriever", "generator", "both", "neither", "unknown")
_OF_DIMENSIONS = (
    "composite",
    "scores",
    "normalized",
    "explanations",
    "agreements",
    "lost_votes",
)
_OF_MEASURES = ("measures", "parts", "blame", "votes_on_measures")


@light_dataclass(frozen=True)
class Composite:
    """One number for an answer, between 0 and 1.

    Example: ``Composite(value=None, rule="missing", lower=0.4, upper=0.9, missing=("clarity",))``.
    """

    value: float | None
    """The composite; None if a missing score could change it. No score is made up, and the others
    do not take its weight.
    """
    rule: str
    """The gate that fired ("harmful", "questionable"), else "mean", or "missing" if a missing score
    leaves no value.
    """
    lower: float
    """The least it can be, whatever the missing scores would have been."""
    upper: float
    missing: tuple[str, ...] = ()
    """The dimensions without a score."""


@light_dataclass(frozen=True, kw_only=True)
class MeasureRecord:
    """The value of one measure of a row."""

    value: float | None
    reason: Annotated[str | None, "why it has no value"]


@light_dataclass(frozen=True, kw_only=True)
class PartRecord:
    """The answer about one fragment or sentence."""

    check: str
    number: int
    others: tuple[int, ...] | None = None
    mark: str | None = None
    text: str
    yes: bool | None
    reason: str | None


@light_dataclass(frozen=True, kw_only=True)
class BlameRecord:
    """The side that the figures of a row point at."""

    who: str
    because: Mapping[str, float]


@light_dataclass(frozen=True, kw_only=True)
class QuestionRecord:
    """The question that relevance was judged by."""

    text: str
    rewritten: bool
    reason: str | None


@light_dataclass(frozen=True, kw_only=True)
class LostVotes:
    """The effect that lost votes could have on a row."""

    lower: Annotated[float, "the least that the composite would be with them"]
    upper: float
    dimensions: Annotated[tuple[str, ...], "whose score they could change"] = ()
    measures: tuple[str, ...] = ()


@light_dataclass(frozen=True, kw_only=True)
class RagDetail(SearchedDetail):
    """The scores of one answer on every dimension."""

    kind: ClassVar[str] = "rag"
    sections: ClassVar[tuple[str, ...]] = ("evidence", "rag")

    composite: Composite
    scores: Mapping[str, int | None]
    normalized: Mapping[str, float | None]
    explanations: Mapping[str, str | None]
    agreements: Mapping[str, float | None]
    model_scores: Annotated[Mapping[str, float] | None, "of a panel: each model by itself"] = None
    evidence: EvidenceRecord | None = None
    judged_question: QuestionRecord | None = None
    measures: Mapping[str, MeasureRecord] | None = None
    parts: tuple[PartRecord, ...] | None = None
    blame: BlameRecord | None = None
    votes_on_measures: int | None = None
    lost_votes: LostVotes | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that the composite can have, given the scores."""
        return self.composite.lower, self.composite.upper

    @property
    def has_own_options(self) -> bool:
        return True

    def possible_scores(
        self, record: JudgmentRecord, scale: tuple[float, float]
    ) -> tuple[float, float] | None:
        if self.lost_votes is None:  # none were lost, or they were not kept yet
            return super().possible_scores(record, scale)
        lower, upper = self.lost_votes.lower, self.lost_votes.upper
        return (lower, upper) if record.score is not None and lower < upper else None

    def could_change(self, record: JudgmentRecord, part: str) -> bool:
        """Return True if lost votes could change the dimension or measure called ``part``."""
        if self.lost_votes is None:
            return bool(record.left_out)
        return part in (*self.lost_votes.dimensions, *self.lost_votes.measures)

    @property
    def dimension_scores(self) -> Mapping[str, int | None]:
        return self.scores

    @property
    def blamed(self) -> str:
        """The side that the measures blame."""
        return self.blame.who if self.blame and self.blame.who in BLAMED else "unknown"

    def shown_to(self, criteria: Criteria, instance: Instance, language: str) -> Instance:
        """Return the instance with only the fields that the dimension reads."""
        return show_to_dimension(instance, Dimension(criteria), absent(language))

    def columns(self) -> JsonDict:
        """Return a flat row: columns for each dimension and measure, and for the composite."""
        apart = {*_OF_DIMENSIONS, *(_OF_MEASURES if self.measures else ())}
        cells = {name: value for name, value in self.to_dict().items() if name not in apart}
        for name, score in self.scores.items():
            cells[f"{name}_score"] = score
            cells[f"{name}_normalized"] = self.normalized.get(name)
            cells[f"{name}_explanation"] = self.explanations.get(name) or None
        cells["composite"] = self.composite.value
        cells["composite_lower"] = self.composite.lower
        cells["composite_upper"] = self.composite.upper
        cells["rule"] = self.composite.rule
        for name, measure in (self.measures or {}).items():
            cells[name] = measure.value
            cells[f"{name}_reason"] = measure.reason or None
        cells |= {"blame": self.blamed} if self.measures else {}
        return evidence_columns(cells)


def rag_detail(record: JudgmentRecord) -> RagDetail | None:
    """Return the RAG part of a judgment; None if it is of another kind."""
    return record.detail if isinstance(record.detail, RagDetail) else None
