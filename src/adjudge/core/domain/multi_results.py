"""Results of several criteria judged together: one result each, and their weighted sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.core.domain.results import PairwiseInstanceResult, Result, Status
from adjudge.core.domain.verdict import Selection
from adjudge.core.domain.vote import Vote


@dataclass(frozen=True, slots=True)
class MultiCriteriaItemResult:
    """One criterion's part in an aggregate."""

    item: MultiCriteriaItem
    result: Result
    score: float | None
    """Its contribution before its weight; None without a verdict."""
    weighted_score: float | None


class _CombinedResult:
    """Base of results that combine several criteria."""

    @property
    def by_criterion(self) -> tuple[Result, ...]:
        """One result for each criterion."""
        raise NotImplementedError

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The votes of all criteria."""
        return tuple(vote for result in self.by_criterion for vote in result.votes)

    @property
    def votes_requested(self) -> int:
        """The number of votes that were asked for."""
        return sum(result.votes_requested for result in self.by_criterion)

    @property
    def votes_valid(self) -> int:
        """The number of votes with a verdict."""
        return sum(result.votes_valid for result in self.by_criterion)

    @property
    def agreement(self) -> float | None:
        """Share of the valid votes that agree with the outcome of their criterion; None if one has
        no verdict.
        """
        shares = [(result.agreement, result.votes_valid) for result in self.by_criterion]
        agreeing = [share * valid for share, valid in shares if share is not None]
        return sum(agreeing) / self.votes_valid if len(agreeing) == len(shares) else None

    @property
    def verdict(self) -> str | None:
        """The best response by all criteria; None for a single text, which has a score."""
        return None

    @property
    def score(self) -> float | None:
        """The weighted score over all criteria; None if one of them has none."""
        return None

    @property
    def explanation(self) -> str | None:
        """The explanations per criterion, one per line; None if there are none."""
        explained = [result for result in self.by_criterion if result.explanation]
        lines = [f"{result.criteria.name}: {result.explanation}" for result in explained]
        return "\n".join(lines) or None

    @property
    def fallback(self) -> str | None:
        """The stand-in for a missing verdict by one of the criteria, if one was used."""
        return next((result.fallback for result in self.by_criterion if result.fallback), None)

    def _status(self, *, complete: bool) -> Status:
        if complete:
            return Status.SCORED
        missing = {result.status for result in self.by_criterion} - {Status.SCORED}
        return Status.ABSTAINED if missing == {Status.ABSTAINED} else Status.FAILED


class CombinedShape(TypedDict):
    """One row by several criteria, without the judgments."""

    id: str | None
    status: Literal["scored", "abstained", "failed", "skipped"]
    aggregated_score: float | None
    lower_bound: float
    upper_bound: float
    per_criterion_score: Mapping[str, float | None]
    per_criterion_contribution: Mapping[str, float | None]


class AggregateShape(CombinedShape):
    """One row by several criteria."""

    row: Annotated[int, "its place among the rows that were read, from 1"]
    judgments: Annotated[Sequence[int], "the row of each of its judgments in results"]


@dataclass(frozen=True, repr=False)
class MultiCriteriaDirectInstanceResult(_CombinedResult, HtmlRepr):
    """One text judged by several criteria.

    Example: ``result.aggregated_score``, ``result.per_criterion_score["clear"]``
    """

    instance: Instance
    multi_criteria: MultiCriteria
    item_results: tuple[MultiCriteriaItemResult, ...]
    aggregated_score: float | None
    """None if an item has no verdict; then it would lie between the bounds."""
    lower_bound: float
    upper_bound: float

    @property
    def status(self) -> Status:
        """Scored if every item is."""
        return self._status(complete=self.aggregated_score is not None)

    @property
    def score(self) -> float | None:
        return self.aggregated_score

    @property
    def by_criterion(self) -> tuple[Result, ...]:
        """One result for each item."""
        return tuple(entry.result for entry in self.item_results)

    @property
    def tie(self) -> bool:
        """Return True if a tie was broken by one of the criteria."""
        return any(result.tie for result in self.by_criterion)

    def __str__(self) -> str:
        """Return a line for the aggregate, and one for each criterion."""
        score = "–" if self.aggregated_score is None else f"{self.aggregated_score:.3g}"
        name = f"{self.instance.id}: " if self.instance.id else ""
        return "\n".join(
            [
                f"{name}{self.status.value}, aggregated score {score}",
                *(f"  {entry.result}" for entry in self.item_results),
            ]
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self).partition(chr(10))[0]}>"

    def cells(self) -> JsonDict:
        """Return the cells of this result in a table."""
        score = {"status": self.status.value, "aggregated_score": self.aggregated_score}
        return {**score, **self.per_criterion_score}

    @property
    def per_criterion_score(self) -> dict[str, float | None]:
        """Each criterion's own score before its weight, normalised if the MultiCriteria says so."""
        return {entry.item.criterion.name: entry.score for entry in self.item_results}

    @property
    def per_criterion_contribution(self) -> dict[str, float | None]:
        """Each criterion's contribution to the aggregate, its score times its weight; None without
        a verdict.
        """
        return {entry.item.criterion.name: entry.weighted_score for entry in self.item_results}

    def to_dict(self) -> JsonDict:
        """Return this result as a JSON-ready dict."""
        return {
            **self.aggregate(),
            "items": [entry.result.to_dict() for entry in self.item_results],
        }

    def aggregate(self) -> JsonDict:
        """Return the result as a JSON-ready dict without the results of each criterion."""
        return fill(CombinedShape, self, id=self.instance.id)


@dataclass(frozen=True, repr=False)
class MultiCriteriaPairwiseInstanceResult(_CombinedResult):
    """Responses compared by several criteria."""

    instance: Instance
    multi_criteria: MultiCriteria
    results: tuple[PairwiseInstanceResult, ...]
    winrates: tuple[float | None, ...]
    """The weighted win rate of each response; None if a criterion has no verdict."""
    selected_option: Selection | None
    tie: bool = False
    """True if several responses share the highest win rate, even if the first was selected."""

    @property
    def status(self) -> Status:
        """Scored if all criteria have a verdict."""
        return self._status(complete=self.selected_option is not None)

    @property
    def verdict(self) -> str | None:
        if not isinstance(self.selected_option, int):
            return self.selected_option
        return self.results[0].systems[self.selected_option]

    @property
    def by_criterion(self) -> tuple[Result, ...]:
        """The results, one for each criterion."""
        return self.results

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.cells()}>"

    def cells(self) -> JsonDict:
        """Return the cells of this result in a table."""
        return {
            "selected_option": self.selected_option,
            **{result.criteria.name: result.verdict for result in self.results},
        }
