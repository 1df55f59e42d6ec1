"""Every judge of ours keeps the promises that every judge makes, and the checks notice one that
does not.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Request
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult, Status
from adjudge.core.domain.verdict import Compared
from adjudge.core.domain.vote import Vote
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.case import Case
from adjudge.core.judges.direct import BaseDirectJudge, Direct, DirectJudge
from adjudge.core.judges.pairwise import BasePairwiseJudge, Pairwise, PairwiseJudge
from adjudge.features.compat.dummy_judges import DummyDirectJudge, DummyPairwiseJudge
from adjudge.features.compat.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge
from adjudge.testing import (
    CRITERIA,
    DIRECT_PROMISES,
    PAIRWISE_PROMISES,
    check_direct_judge,
    check_pairwise_judge,
)


def digest(request: Request) -> int:
    return int(hashlib.sha256(f"{request.prompt.text} {request.seed}".encode()).hexdigest(), 16)


def answers(request: Request) -> str:
    """One of what is offered, the same for the same question, with a ranking
    where one is wanted.
    """
    properties: Any = (request.schema or {})["properties"]
    offered = properties["selected_option"]["enum"]
    chosen = offered[digest(request) % len(offered)]
    labels = [label for label in offered if label != "tie"]
    ranking = [labels] if chosen == "tie" else sorted(labels, key=lambda label: label != chosen)
    said = {"explanation": "by digest", "selected_option": chosen}
    return json.dumps(said | ({"ranking": ranking} if "ranking" in properties else {}))


def grades(request: Request) -> str:
    return f"Feedback: so so. [RESULT] {1 + digest(request) % 5}"


def letters(request: Request) -> str:
    return f"Feedback: so so. [RESULT] {'AB'[digest(request) % 2]}"


def panel(script: Callable[[Request], str]) -> list[ScriptedModel]:
    return [ScriptedModel(script, "one"), ScriptedModel(script, "two")]


DIRECT: dict[str, Callable[..., Direct]] = {
    "DirectJudge": lambda **s: DirectJudge(ScriptedModel(answers), **s),
    "DirectJudge, first offered": lambda **s: DirectJudge(ScriptedModel(), **s),
    "DirectJudge, panel": lambda **s: DirectJudge(panel(answers), **s),
    "DirectJudge, feedback": lambda **s: DirectJudge(
        ScriptedModel(answers), generate_feedback=True, **s
    ),
    "DirectJudge, Russian": lambda **s: DirectJudge(ScriptedModel(answers), language="ru", **s),
    "DummyDirectJudge": DummyDirectJudge,
    "MPrometheusDirectJudge": lambda **s: MPrometheusDirectJudge(ScriptedModel(grades), **s),
}
PAIRWISE: dict[str, Callable[..., Pairwise]] = {
    "PairwiseJudge": lambda **s: PairwiseJudge(ScriptedModel(answers), **s),
    "PairwiseJudge, pairs": lambda **s: PairwiseJudge(
        ScriptedModel(answers), contests="pairs", **s
    ),
    "PairwiseJudge, no ties": lambda **s: PairwiseJudge(
        ScriptedModel(answers), tie_enabled=False, **s
    ),
    "PairwiseJudge, panel": lambda **s: PairwiseJudge(panel(answers), **s),
    "DummyPairwiseJudge": DummyPairwiseJudge,
    "DummyPairwiseJudge, pairs": lambda **s: DummyPairwiseJudge(contests="pairs", **s),
    "MPrometheusPairwiseJudge": lambda **s: MPrometheusPairwiseJudge(ScriptedModel(letters), **s),
}
by_name: Any = {"ids": lambda value: getattr(value, "__name__", value)}


IN_WORDS = replace(
    CRITERIA,
    options=[CriteriaOption(name) for name in ("useless", "poor", "fair", "good", "excellent")],
)
"""Without scores: by these Prometheus would find the worst option, wherever it is listed."""


@pytest.mark.parametrize("promise", DIRECT_PROMISES, **by_name)
@pytest.mark.parametrize("name", DIRECT)
def test_direct_judges_keep_their_promises(name: str, promise: Any) -> None:
    promise(DIRECT[name], IN_WORDS if name == "MPrometheusDirectJudge" else CRITERIA)


@pytest.mark.parametrize("promise", PAIRWISE_PROMISES, **by_name)
@pytest.mark.parametrize("name", PAIRWISE)
def test_pairwise_judges_keep_their_promises(name: str, promise: Any) -> None:
    promise(PAIRWISE[name])


def test_all_promises_can_be_checked_at_once() -> None:
    check_direct_judge(DummyDirectJudge)
    check_pairwise_judge(DummyPairwiseJudge)


# -- judges that break a promise --------------------------------------------------------


class FirstOption(BaseDirectJudge):
    """A judge of one's own that keeps all of them."""

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        return [one.option_names[0] for one in criteria]


class AsyncFirst(BasePairwiseJudge):
    """Another."""

    async def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[int]:
        return [0 for _ in instances]


class Confident(FirstOption):
    """Has a verdict whatever happens."""

    def pool(self, item: Case, votes: Any) -> DirectInstanceResult:
        return replace(super().pool(item, votes), option="3", score=3.0, status=Status.SCORED)


class Contagious(FirstOption):
    """Is impressed for good by what it could not judge."""

    def pool(self, item: Case, votes: Any) -> DirectInstanceResult:
        self.shaken = getattr(self, "shaken", False) or not all(vote.valid for vote in votes)
        return replace(super().pool(item, votes), feedback="ouch" if self.shaken else None)

    @property
    def width(self) -> int:
        return 1

    async def judge_items(self, items: Any, **options: Any) -> Any:
        return (await super().judge_items(items[::-1], **options))[::-1]


class ByPlace(FirstOption):
    """Names what stands where its choice stood in the listed order."""

    async def ask(self, ballot: Any) -> Vote:
        vote = await super().ask(ballot)
        place = ballot.question.labels.index(vote.verdict.option) if vote.verdict else 0
        name = ballot.criteria.option_names[place]
        return replace(vote, verdict=vote.verdict and replace(vote.verdict, option=name))


class Stingy(FirstOption):
    """Asks once whatever it is told."""

    @property
    def samples(self) -> int:
        return 1


class Greedy(FirstOption):
    """Takes what it is given for its own."""

    def instances_of(self, instances: Any) -> list[Instance]:
        found = super().instances_of(instances)
        if isinstance(instances, list):
            instances.append("one more")
        return found


class Moody(BaseDirectJudge):
    """Does not heed its seed."""

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        return [random.choice(one.option_names) for one in criteria]


@dataclass(kw_only=True, eq=False)
class WithoutUndoing(BasePairwiseJudge):
    """Forgets that the responses were turned round."""

    async def ask(self, ballot: Any) -> Vote:
        vote = await super().ask(ballot)
        verdict = vote.verdict
        if not isinstance(verdict, Compared) or verdict.winner is None:
            return vote
        return replace(
            vote, verdict=replace(verdict, winner=ballot.question.order.index(verdict.winner))
        )

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[int]:
        return [0 for _ in instances]


class SureOfFailures(AsyncFirst):
    """Has a winner whatever happens."""

    def pool(self, item: Case, votes: Any) -> PairwiseInstanceResult:
        return replace(super().pool(item, votes), selected_option=0)


def broken_promises(promises: Any, make_judge: Any) -> set[str]:
    """The names of the promises that are not kept."""
    broken = set()
    for promise in promises:
        try:
            promise(make_judge)
        except AssertionError:
            broken.add(re.sub("^(direct|pairwise)_", "", promise.__name__))
    return broken


@pytest.mark.parametrize(
    ("judge", "broken"),
    [
        (FirstOption, set()),
        (Confident, {"failures_stay_alone", "order_is_undone"}),
        (Contagious, {"failures_stay_alone"}),
        (ByPlace, {"order_is_undone"}),
        (Stingy, {"votes_are_counted"}),
        (Greedy, {"input_is_left_alone"}),
        (Moody, {"same_seed_same_result", "failures_stay_alone", "order_is_undone"}),
    ],
)
def test_a_direct_judge_that_breaks_a_promise_is_found_out(judge: Any, broken: set[str]) -> None:
    random.seed(5)
    assert broken_promises(DIRECT_PROMISES, judge) == broken


@pytest.mark.parametrize(
    ("judge", "broken"),
    [
        (AsyncFirst, set()),
        (WithoutUndoing, {"order_is_undone"}),
        (SureOfFailures, {"failures_stay_alone"}),
    ],
)
def test_a_pairwise_judge_that_breaks_a_promise_is_found_out(judge: Any, broken: set[str]) -> None:
    assert broken_promises(PAIRWISE_PROMISES, judge) == broken
