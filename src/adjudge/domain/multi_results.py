"""Several criteria judged together: a result each, and what their weights make of them."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge.domain.html_repr import HtmlRepr
from adjudge.domain.instance import Instance
from adjudge.domain.json_types import JsonDict
from adjudge.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.domain.results import PairwiseInstanceResult, Result, Status
from adjudge.domain.verdict import Selection


@dataclass(frozen=True, slots=True)
class MultiCriteriaItemResult:
    """One criterion's part in an aggregate."""

    item: MultiCriteriaItem
    result: Result
    score: float | None
    """What it contributes before its weight; None without a verdict."""
    weighted_score: float | None


@dataclass(frozen=True, repr=False)
class MultiCriteriaDirectInstanceResult(HtmlRepr):
    """One text judged by several criteria."""

    instance: Instance
    multi_criteria: MultiCriteria
    item_results: tuple[MultiCriteriaItemResult, ...]
    aggregated_score: float | None
    """None when an item has no verdict; the bounds then say between what it would lie."""
    lower_bound: float
    upper_bound: float

    @property
    def status(self) -> Status:
        """Scored when every item is."""
        if self.aggregated_score is not None:
            return Status.SCORED
        missing = [entry.result.status for entry in self.item_results if entry.score is None]
        return (
            Status.ABSTAINED
            if all(status is Status.ABSTAINED for status in missing)
            else Status.FAILED
        )

    def __str__(self) -> str:
        """A line for the aggregate, and one for each criteria."""
        score = "–" if self.aggregated_score is None else f"{self.aggregated_score:.3g}"
        name = f"{self.instance.id}: " if self.instance.id else ""
        return "\n".join(
            [
                f"{name}{self.status.value}, aggregated score {score}",
                *(f"  {one.result}" for one in self.item_results),
            ]
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self).partition(chr(10))[0]}>"

    def cells(self) -> JsonDict:
        """What a table of results shows of this one."""
        score = {"status": self.status.value, "aggregated_score": self.aggregated_score}
        return {**score, **self.per_criterion_score}

    @property
    def per_criterion_score(self) -> dict[str, float | None]:
        """Each criterion's own score, normalised where the MultiCriteria says
        so, before its weight.
        """
        return {entry.item.criterion.name: entry.score for entry in self.item_results}

    @property
    def per_criterion_contribution(self) -> dict[str, float | None]:
        """What each criterion adds to the aggregate: its score times its weight."""
        return {entry.item.criterion.name: entry.weighted_score for entry in self.item_results}

    def to_dict(self) -> JsonDict:
        """This result as a JSON-ready dict."""
        return {
            **self.aggregate(),
            "items": [entry.result.to_dict() for entry in self.item_results],
        }

    def aggregate(self) -> JsonDict:
        """The same without the results by each criteria."""
        return {
            "id": self.instance.id,
            "status": self.status.value,
            "aggregated_score": self.aggregated_score,
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            "per_criterion_score": self.per_criterion_score,
            "per_criterion_contribution": self.per_criterion_contribution,
        }


@dataclass(frozen=True, repr=False)
class MultiCriteriaPairwiseInstanceResult:
    """Responses compared by several criteria."""

    instance: Instance
    multi_criteria: MultiCriteria
    results: tuple[PairwiseInstanceResult, ...]
    winrates: tuple[float | None, ...]
    """Of each response: its win rates, weighted; None when a criterion has no verdict."""
    selected_option: Selection | None
    tie: bool = False
    """Whether several responses have the highest win rate, also where the first of them was
    selected.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.cells()}>"

    def cells(self) -> JsonDict:
        """What a table of results shows of this one."""
        return {
            "selected_option": self.selected_option,
            **{one.criteria.name: one.verdict_name for one in self.results},
        }
