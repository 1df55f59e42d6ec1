"""Judges of one's own are handed many cases at once, fail one by one, and what
they return is kept.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.record import SystemResult
from adjudge.core.domain.results import (
    DirectInstanceResult,
    PairwiseInstanceResult,
    PositionalBias,
    Status,
)
from adjudge.core.domain.vote import Outcome
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.direct import BaseDirectJudge, DirectJudge
from adjudge.core.judges.pairwise import BasePairwiseJudge, PairwiseJudge
from adjudge.errors import BudgetSpent, ModelError, SetupError

TONE = Criteria(
    "tone",
    "What is the tone?",
    [CriteriaOption("Kind", score=1.0), CriteriaOption("Rude", score=0.0)],
)
TEXTS = [f"text {number}" for number in range(10)]


class Counting(BaseDirectJudge):
    """Says Kind, counts what it is handed, and breaks at a text with "bad" in it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.handed: list[int] = []

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
        self.handed.append(len(instances))
        return [self.one(instance) for instance in instances]

    def one(self, instance: Instance) -> Any:
        if "bad" in str(instance.fields["response"]):
            raise KeyError("bad")
        return "Kind"


class CountingAsync(Counting):
    """The same, async."""

    async def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super()._run(instances, criteria)


KINDS = pytest.mark.parametrize("kind", [Counting, CountingAsync])


# -- batches -----------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("size", "handed"), [(4, [4, 4, 2]), (10, [10]), (100, [10]), (1, [1] * 10)]
)
def test_many_cases_are_handed_over_at_once(
    kind: type[Counting], size: int, handed: list[int]
) -> None:
    judge = kind(batch_size=size)
    assert [result.option for result in judge(TEXTS, TONE)] == ["Kind"] * 10
    assert judge.handed == handed


def test_what_the_base_class_repeats_is_handed_over_together() -> None:
    judge = Counting(self_consistency=2, check_positional_bias=True)
    assert [result.votes_valid for result in judge(TEXTS[:3], TONE)] == [4] * 3
    assert judge.handed == [12]


@KINDS
def test_one_bad_case_in_a_batch_harms_no_other(kind: type[Counting]) -> None:
    judge = kind(batch_size=5)
    results = judge([*TEXTS[:3], "bad", *TEXTS[3:]], TONE)
    assert [result.status for result in results] == [Status.SCORED] * 3 + [Status.FAILED] + [
        Status.SCORED
    ] * 7
    assert "KeyError: 'bad'" in str(results[3].votes[0].reason)
    assert Counter(judge.handed) == {5: 2, 1: 6}


@pytest.mark.parametrize("answer", [["Kind"], ["Kind"] * 7, "Kind", None, {}])
def test_an_answer_that_fits_no_batch_is_asked_for_case_by_case(answer: Any) -> None:
    class Alone(Counting):
        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> Any:
            return ["Kind"] if len(instances) == 1 else answer

    assert [result.option for result in Alone()(TEXTS[:4], TONE)] == ["Kind"] * 4


def test_an_exception_among_the_answers_fails_its_own_case_and_nothing_is_asked_twice() -> None:
    class Returns(Counting):
        def one(self, instance: Instance) -> Any:
            return ModelError("too long") if "3" in str(instance.fields["response"]) else "Kind"

    judge = Returns()
    results = judge(TEXTS, TONE)
    assert [result.status for result in results].count(Status.SCORED) == 9
    assert (results[3].votes[0].outcome, results[3].votes[0].reason) == (
        Outcome.MODEL_ERROR,
        "too long",
    )
    assert judge.handed == [10]


@KINDS
def test_a_judge_that_exits_fails_its_case_and_not_the_program(kind: type[Counting]) -> None:
    class Exits(kind):  # type: ignore[misc, valid-type]
        def one(self, instance: Instance) -> Any:
            return sys.exit(3) if "3" in str(instance.fields["response"]) else "Kind"

    results = Exits()(TEXTS, TONE)
    assert [result.status for result in results].count(Status.SCORED) == 9
    assert "SystemExit: 3" in str(results[3].votes[0].reason)


@KINDS
@pytest.mark.parametrize("error", [KeyboardInterrupt, BaseException])
def test_an_interrupt_inside_a_judge_ends_the_call_and_does_not_hang(
    kind: type[Counting], error: type[BaseException]
) -> None:
    class Interrupted(kind):  # type: ignore[misc, valid-type]
        def one(self, instance: Instance) -> Any:
            raise error("now")

    with pytest.raises(error, match="now"):
        Interrupted()(TEXTS, TONE)
    assert len(kind()(TEXTS, TONE)) == 10, "judges work afterwards"


@KINDS
def test_a_spent_budget_ends_the_run_and_is_no_failed_vote(kind: type[Counting]) -> None:
    class Spends(kind):  # type: ignore[misc, valid-type]
        def one(self, instance: Instance) -> Any:
            raise BudgetSpent("the budget is spent")

    with pytest.raises(BudgetSpent):
        Spends()(TEXTS, TONE)


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_batch_has_a_size(size: Any) -> None:
    with pytest.raises(SetupError, match="batch_size"):
        Counting(batch_size=size)


@given(st.lists(st.sampled_from(["good", "bad", "worse"]), max_size=12), st.integers(1, 13))
def test_the_size_of_a_batch_changes_no_result(texts: list[str], size: int) -> None:
    one_by_one, many = (Counting(batch_size=each)(texts, TONE) for each in (1, size))
    assert [result.to_dict() for result in many] == [result.to_dict() for result in one_by_one]


def test_comparisons_are_handed_over_together_too() -> None:
    handed: list[int] = []

    class First(BasePairwiseJudge):
        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[int]:
            handed.append(len(instances))
            return [0] * len(instances)

    results = First(check_positional_bias=True, contests="pairs")(
        [["a", "b", "c"], ["d", "e", "f"]], "Which?"
    )
    assert ([result.selected_option for result in results], handed) == (["tie", "tie"], [12])


# -- what is returned --------------------------------------------------------------


class Says(BaseDirectJudge):
    """Returns the next of some results, over and over."""

    def __init__(self, *said: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self._said = said

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
        return [self._said[place % len(self._said)] for place in range(len(instances))]


def judged(*said: Any, **options: Any) -> DirectInstanceResult:
    settings = {
        name: options.pop(name)
        for name in ("self_consistency", "check_positional_bias")
        if name in options
    }
    (result,) = Says(*said, **settings).evaluate(["text"], TONE, **options)
    return result


def own(option: str = "Kind", **more: Any) -> DirectInstanceResult:
    return DirectInstanceResult(selected_option=option, **more)


def test_a_result_may_say_selected_option_and_leave_out_what_the_base_class_knows() -> None:
    result = judged(DirectInstanceResult(selected_option="Rude"))
    assert (result.option, result.selected_option, result.score) == ("Rude", "Rude", 0.0)
    assert (result.criteria, result.instance.fields) == (TONE, {"response": "text"})


def test_option_and_selected_option_are_one() -> None:
    instance = Instance({"response": "text"})
    both = DirectInstanceResult(
        instance=instance, criteria=TONE, option="Kind", selected_option="Kind"
    )
    assert both == DirectInstanceResult(instance=instance, criteria=TONE, option="Kind")
    assert repr(both) == "<DirectInstanceResult tone: Kind; 0 of 0 votes>"
    with pytest.raises(SetupError, match="'Kind' and 'Rude'"):
        DirectInstanceResult(option="Kind", selected_option="Rude")
    with pytest.raises(TypeError, match="opinion"):
        DirectInstanceResult(opinion="Kind")  # type: ignore[call-arg]


def test_score_feedback_explanation_and_metadata_are_kept() -> None:
    result = judged(
        own(
            score=0.7,
            feedback="advice",
            explanation="why",
            metadata={"tokens": 12, "by": Path("x")},
        )
    )
    assert (result.option, result.score, result.mean_score) == ("Kind", 0.7, 0.7)
    assert (result.feedback, result.explanation) == ("advice", "why")
    assert result.metadata == {"tokens": 12, "by": Path("x")}


def test_what_was_returned_is_still_there_when_a_run_is_resumed(tmp_path: Path) -> None:
    said = own(
        score=0.7, feedback="advice", explanation="why", metadata={"tokens": 12, "by": Path("x")}
    )
    first, again = judged(said, run=tmp_path), judged(ModelError("asked again"), run=tmp_path)
    assert again.to_dict() == first.to_dict()
    assert (again.score, again.feedback, again.metadata) == (
        0.7,
        "advice",
        {"tokens": 12, "by": "x"},
    )


def test_of_several_votes_the_own_scores_are_averaged() -> None:
    result = judged(own(score=0.7), own(score=0.9), own("Rude", score=0.2), self_consistency=3)
    assert (result.option, result.score) == ("Kind", pytest.approx(0.8))
    assert (result.mean_score, result.agreement) == (pytest.approx(0.6), pytest.approx(2 / 3))
    assert judged(own(score=0.1), self_consistency=3).score == 0.1
    both = judged(own(score=0.7), check_positional_bias=True)
    assert (both.score, both.mean_score, both.votes_valid) == (0.7, 0.7, 2)
    assert both.positional_bias is not None
    assert both.positional_bias.result is not None
    assert both.positional_bias.result.score == 0.7


def test_metadata_is_that_of_a_vote_that_agrees() -> None:
    said = [own("Rude", metadata={"vote": 0}), own(metadata={"vote": 1}), own(metadata={"vote": 2})]
    assert judged(*said, self_consistency=3).metadata == {"vote": 1}


def test_without_a_score_of_its_own_the_options_counts() -> None:
    assert (judged(own()).score, judged("Rude").score) == (1.0, 0.0)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "high"])
def test_a_score_that_is_no_number_is_a_failed_vote(score: Any) -> None:
    result = judged(own(score=score))
    assert (result.status, result.score) == (Status.FAILED, None)


def test_a_stand_in_of_another_judge_is_no_vote() -> None:
    inner = DirectJudge(ScriptedModel([ModelError("down")]), on_failure="random")

    class Asks(BaseDirectJudge):
        def _run(
            self, instances: list[Instance], criteria: list[Criteria]
        ) -> list[DirectInstanceResult]:
            return inner(instances, criteria)

    (result,) = Asks()(["text"], TONE)
    assert (result.status, result.option, result.fallback) == (Status.FAILED, None, None)
    assert "down" in str(result.votes[0].reason)


def test_what_another_judge_asked_for_is_counted() -> None:
    inner = DirectJudge(ScriptedModel())

    class Asks(BaseDirectJudge):
        def _run(
            self, instances: list[Instance], criteria: list[Criteria]
        ) -> list[DirectInstanceResult]:
            return inner(instances, criteria)

    (result,) = Asks(self_consistency=2)(["text"], TONE)
    assert (result.usage.calls, "prompt" in result.metadata) == (2, True)


def test_judges_that_ask_judges_of_ones_own_never_wait_for_a_free_thread() -> None:
    inner = Counting(batch_size=1)

    class Asks(BaseDirectJudge):
        def _run(
            self, instances: list[Instance], criteria: list[Criteria]
        ) -> list[DirectInstanceResult]:
            return inner(instances, criteria)

    results = Asks(batch_size=1)([f"text {number}" for number in range(60)], TONE)
    assert [result.option for result in results] == ["Kind"] * 60


class LikeTheSeed(BaseDirectJudge):
    """As judges of EvalAssist are written: one result for each instance, more said of it than is
    needed.
    """

    def get_name(self) -> str:
        return "dummy"

    def _run(
        self, instances: list[Instance], criteria: list[Criteria]
    ) -> list[DirectInstanceResult]:
        return [
            DirectInstanceResult(
                instance=instances[0],
                criteria=criteria[0],
                selected_option=criteria[0].options[0].name,
                explanation="explanation",
                positional_bias=PositionalBias(detected=False),
            )
            for _ in range(len(instances))
        ]


def test_a_judge_written_for_evalassist_works() -> None:
    results = LikeTheSeed(self_consistency=True)(TEXTS, TONE)
    assert [(result.option, result.explanation) for result in results] == [
        ("Kind", "explanation")
    ] * 10


def system(ranking: int) -> SystemResult:
    empty: dict[str, Any] = dict.fromkeys(
        ["contest_results", "compared_to", "explanations", "positional_bias", "certainty"], ()
    )
    return SystemResult(**empty, winrate=None, ranking=ranking, selections=())


@pytest.mark.parametrize(
    ("selected", "ranks", "ranking"),
    [
        (1, (3, 1, 2), (3, 1, 2)),
        ("1", (), (2, 1, 2)),
        (1, (1,), (2, 1, 2)),
        (1, (1, 2, 3), (2, 1, 2)),
        ("tie", (1, 1, 3), (1, 1, 3)),
    ],
)
def test_the_ranks_that_a_comparison_returns_are_kept_where_they_fit(
    selected: Any, ranks: Any, ranking: Any
) -> None:
    class Ranks(BasePairwiseJudge):
        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
            systems = tuple(map(system, ranks))
            return [
                PairwiseInstanceResult(
                    selected_option=selected,
                    per_system_results=systems,
                    explanation="why",
                    metadata={"own": True},
                )
                for _ in instances
            ]

    (result,) = Ranks()([["a", "b", "c"]], "Which?")
    assert (str(result.selected_option), result.ranking) == (str(selected), ranking)
    assert result.metadata == {"own": True}


def test_a_judge_around_a_pairwise_judge_gives_what_that_one_gives() -> None:
    inner = PairwiseJudge(ScriptedModel(['{"selected_option": "B", "ranking": ["B", "C", "A"]}']))

    class Asks(BasePairwiseJudge):
        async def _run(
            self, instances: list[Instance], criteria: list[Criteria]
        ) -> list[PairwiseInstanceResult]:
            return await inner.aevaluate(instances, criteria)

    given, question = [["a", "b", "c"]], "Which?"
    (outer,), (direct,) = Asks()(given, question), inner(given, question)
    assert (
        (outer.selected_option, outer.ranking)
        == (direct.selected_option, direct.ranking)
        == (1, (3, 1, 2))
    )
