"""Parts of a reward: a judge, a rubric, a check or a function, each with its weight."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.core.checks.check import Check, Expectation
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result, Status
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.case import CaseJudge
from adjudge.core.judges.inputs import CriteriaLike, as_criteria, as_instance
from adjudge.core.judges.judge import Judge
from adjudge.errors import SetupError
from adjudge.features.rewards.ranking import GroupRanking
from adjudge.features.rewards.rollouts import COMPLETION, Rollouts
from adjudge.features.rewards.values import RewardValue
from adjudge.features.rubrics.files import RubricBook
from adjudge.features.rubrics.judge import RubricJudge
from adjudge.messages import Message

RewardFunction = Callable[..., Sequence[float | None] | Awaitable[Sequence[float | None]]]
"""A function in the form of trainers: ``function(prompts=…, completions=…, **columns)`` → a number
or None per completion.
"""
_ROUNDING = 1e-6
Source = Judge[Any, Any] | Check | Expectation | GroupRanking | RewardFunction


@dataclass(frozen=True)
class Part:
    """One part of a reward.

    Parameters:
        source: an AspectCritic, DirectJudge or RubricJudge, a GroupRanking, a check, or a function
            with the signature of TRL's reward functions.
        criteria: for a DirectJudge: a question, a Criteria, or the name of a ready-made one.
        weight: 0 for a part that is only recorded.
        name: by default the criterion, the check or the function.
        limits: the lowest and the highest value of a function, if you know them: then rewards
            with a missing part have bounds.
    """

    source: Source
    criteria: CriteriaLike | None = None
    weight: float = 1.0
    name: str = ""
    limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.weight, int | float) and 0 <= self.weight < math.inf):
            raise SetupError(
                "the weight of a part must be a number of at least 0, not {weight!r}",
                weight=self.weight,
            )
        source = self.source
        if isinstance(source, CaseJudge):
            object.__setattr__(self, "criteria", _scored_criteria(source, self.criteria))
        elif isinstance(source, Judge):
            if not isinstance(source, AspectCritic | RubricJudge):
                raise SetupError(
                    "{name} cannot give rewards: use AspectCritic, DirectJudge, RubricJudge, a "
                    "check or a function",
                    name=type(source).__name__,
                )
        elif not isinstance(source, Check | Expectation | GroupRanking) and not callable(source):
            raise SetupError(
                "a reward must consist of judges, checks and functions, not {name}",
                name=type(source).__name__,
            )
        if self.criteria is not None and not isinstance(source, CaseJudge):
            raise SetupError("{name} already has criteria", name=type(source).__name__)
        if isinstance(source, Judge) and getattr(source, "on_failure", "abstain") != "abstain":
            raise SetupError(
                "on_failure={value!r} would replace failed verdicts: rewards need 'abstain'",
                value=getattr(source, "on_failure", None),
            )
        if isinstance(source, RubricJudge):
            book = source.rubric
            if isinstance(book, RubricBook) and book.by_row:
                raise SetupError(
                    "a file with a rubric per row gives no rewards, because completions have no "
                    "row ids: put the rubrics into a column of the training data"
                )
        if isinstance(source, Check):
            source.prepare()
        object.__setattr__(self, "name", self.name or self._own_name())

    def _own_name(self) -> str:
        source = self.source
        if isinstance(source, Check | Expectation):
            return str(source.title)
        if isinstance(source, AspectCritic | GroupRanking):
            return source.name
        if isinstance(self.criteria, Criteria):
            return self.criteria.name
        return str(getattr(source, "__name__", type(source).__name__))

    @property
    def is_bounded(self) -> bool:
        """Return True if its values are between 0 and 1; those of rubrics may be below 0."""
        return not isinstance(self.source, RubricJudge)

    # -- judges ----------------------------------------------------------------

    def item(self, row: JsonDict) -> Any:
        """Return a row as an item for the judge; raise a SetupError if it lacks a field."""
        judge: Any = self.source
        if isinstance(judge, RubricJudge):
            judge_item = as_instance(row, judge.text_field)
        elif isinstance(judge, AspectCritic):
            judge_item = judge.prepare(row)
        else:
            judge_item = judge.case(judge.instance_of(row), self.criteria)
        judge.check(judge_item)
        return judge_item

    def value_of(self, result: Result) -> RewardValue:
        """Return a judge's result as a reward: from 0, the worst option, to 1, the best.

        Rubrics keep their own scale, which may go below 0.
        """
        if isinstance(self.source, RubricJudge):
            if result.status is Status.SCORED and result.score is not None:
                return RewardValue.known(result.score)
            return RewardValue.missing(_reason(result), *result.bounds)
        low, high = self._scale(result)
        if result.status is not Status.SCORED or result.fallback or result.score is None:
            return RewardValue.missing(_reason(result), 0.0, 1.0)
        if not low <= result.score <= high or low == high:
            return RewardValue.missing(
                Message(
                    "the score {score:g} is outside the scale from {low:g} to {high:g}",
                    score=result.score,
                    low=low,
                    high=high,
                ),
                0.0,
                1.0,
            )
        return RewardValue.known((result.score - low) / (high - low))

    def _scale(self, result: Result) -> tuple[float, float]:
        if result.rating_range:
            return result.rating_range
        criteria = self.criteria if isinstance(self.criteria, Criteria) else None
        points = (
            [option_points for option_points in criteria.points if option_points is not None]
            if criteria
            else []
        )
        return (min(points), max(points)) if points else (0.0, 1.0)

    # -- checks and functions ----------------------------------------------------

    def look(self, row: JsonDict) -> RewardValue:
        """Return 1 if the check passes and 0 if it does not; missing if it cannot tell."""
        check = self.source
        if isinstance(check, Check):
            check = Expectation(check=check, field=COMPLETION)
        assert isinstance(check, Expectation)
        try:
            instance: Instance = as_instance(row, COMPLETION)
        except SetupError as error:
            return RewardValue.missing(str(error), 0.0, 1.0)
        outcome = check.look(instance)
        if outcome.passed is None:
            return RewardValue.missing(outcome.reason, 0.0, 1.0)
        return RewardValue.known(float(outcome.passed))

    async def call(self, rollouts: Rollouts) -> list[RewardValue]:
        """Call the function and return its values.

        Raise a SetupError unless there is one per completion.
        """
        function: Any = self.source
        returned = function(
            prompts=rollouts.prompts, completions=rollouts.completions, **rollouts.columns
        )
        numbers = list(await returned if inspect.isawaitable(returned) else returned)
        if len(numbers) != len(rollouts):
            raise SetupError(
                "{name} returned {count} rewards for {wanted} completions",
                name=self.name,
                count=len(numbers),
                wanted=len(rollouts),
            )
        return [self._number(number) for number in numbers]

    def _number(self, number: object) -> RewardValue:
        low, high = self.limits or (None, None)
        if number is None:
            return RewardValue.missing(Message("the function returned None"), low, high)
        value = float(number)  # type: ignore[arg-type]  # numbers of numpy and torch, too
        if not math.isfinite(value):
            return RewardValue.missing(
                Message("the function returned {value}", value=value), low, high
            )
        # Bounds of rewards with a missing part rely on the limits. Numbers of torch are rounded.
        low, high = self.limits or (value, value)
        if not low - _ROUNDING <= value <= high + _ROUNDING:
            raise SetupError(
                "{name} returned {value:g}, which is outside its limits {low:g} to {high:g}",
                name=self.name,
                value=value,
                low=low,
                high=high,
            )
        return RewardValue.known(value)


def _scored_criteria(judge: CaseJudge[Any, Any], given: CriteriaLike | None) -> Criteria:
    """Return the criteria; raise a SetupError if it is unknown which option is the best."""
    if judge.kind != "direct":
        raise SetupError("a judge that compares answers gives rewards in a GroupRanking")
    if given is None:
        raise SetupError(
            "{name} needs criteria: a question or a Criteria", name=type(judge).__name__
        )
    criteria = as_criteria(given, judge.kind, judge.language)
    if not criteria.any_integer and (None in criteria.points or not criteria.best_options):
        raise SetupError(
            "the best option of {name!r} is unknown: give its options scores, 1 for the best",
            name=criteria.name,
        )
    return criteria


def _reason(result: Result) -> str:
    return result.reason or Message("no verdict")
