"""Several criteria judged together: a result each, and what their weights make of them."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.instance import Instance
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
    """What it contributes before its weight; None without a verdict."""
    weighted_score: float | None


class _Together:
    """What every result has, of the results by each criterion."""

    @property
    def by_criterion(self) -> tuple[Result, ...]:
        """One result for each criterion."""
        raise NotImplementedError

    @property
    def votes(self) -> tuple[Vote, ...]:
        """Those of all criteria."""
        return tuple(vote for one in self.by_criterion for vote in one.votes)

    @property
    def votes_requested(self) -> int:
        """How many votes were asked for."""
        return sum(one.votes_requested for one in self.by_criterion)

    @property
    def votes_valid(self) -> int:
        """How many of them carry a verdict."""
        return sum(one.votes_valid for one in self.by_criterion)

    @property
    def agreement(self) -> float | None:
        """Share of the valid votes that agree with what their criterion came to; None while one has
        no verdict.
        """
        shares = [(one.agreement, one.votes_valid) for one in self.by_criterion]
        agreeing = [share * valid for share, valid in shares if share is not None]
        return sum(agreeing) / self.votes_valid if len(agreeing) == len(shares) else None

    @property
    def verdict(self) -> str | None:
        """The response that is best by all criteria; None for a single text, which has a score."""
        return None

    @property
    def score(self) -> float | None:
        """The weighted score over all criteria; None while one of them has none."""
        return None

    @property
    def explanation(self) -> str | None:
        """The explanation per criterion, one on each line."""
        explained = [one for one in self.by_criterion if one.explanation]
        lines = [f"{one.criteria.name}: {one.explanation}" for one in explained]
        return "\n".join(lines) or None

    @property
    def fallback(self) -> str | None:
        """The stand-in for a missing verdict by one of the criteria, where one was used."""
        return next((one.fallback for one in self.by_criterion if one.fallback), None)

    def _status(self, *, complete: bool) -> Status:
        if complete:
            return Status.SCORED
        missing = {one.status for one in self.by_criterion} - {Status.SCORED}
        return Status.ABSTAINED if missing == {Status.ABSTAINED} else Status.FAILED


@dataclass(frozen=True, repr=False)
class MultiCriteriaDirectInstanceResult(_Together, HtmlRepr):
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
        """Whether a tie was broken by one of the criteria."""
        return any(one.tie for one in self.by_criterion)

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
class MultiCriteriaPairwiseInstanceResult(_Together):
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

    @property
    def status(self) -> Status:
        """Scored when all criteria have a verdict."""
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
        """What a table of results shows of this one."""
        return {
            "selected_option": self.selected_option,
            **{one.criteria.name: one.verdict for one in self.results},
        }
