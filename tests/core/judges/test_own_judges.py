"""Judges that users write: ``_run`` and nothing else; the base class repeats, turns round, pools
and isolates.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import DirectInstance, Instance
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult, Status
from adjudge.core.domain.vote import Outcome
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.direct import BaseDirectJudge, DirectJudge
from adjudge.core.judges.judge import InstanceLike
from adjudge.core.judges.pairwise import BasePairwiseJudge
from adjudge.core.ledger.changes import differences
from adjudge.errors import ModelError, Refused, RunError
from adjudge.features.compat.dummy_judges import DummyDirectJudge, DummyPairwiseJudge
from adjudge.runs.exporters.export import export
from adjudge.runs.folder import run_info

TONE = Criteria(
    "tone",
    "What is the tone?",
    [CriteriaOption("Kind", score=1.0), CriteriaOption("Rude", score=0.0)],
)
QUESTION = "Which is longer?"


class Lexicon(BaseDirectJudge):
    """Rude is what has a rude word in it; sets its own attributes in ``__init__``."""

    def __init__(self, *words: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.words = words
        self.seen: list[tuple[str, ...]] = []

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
        self.seen += [one.option_names for one in criteria]
        return [
            self.one(str(instance.fields[one.to_evaluate_field]))
            for instance, one in zip(instances, criteria, strict=True)
        ]

    def one(self, text: str) -> Any:
        return "Rude" if any(word in text for word in self.words) else "Kind"


class AsyncLexicon(Lexicon):
    """The same, async."""

    async def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super()._run(instances, criteria)


class WithoutSuper(BaseDirectJudge):
    """Forgets to call the base class's ``__init__``."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        return [self.answer]


@dataclass(kw_only=True, eq=False)
class Configured(BaseDirectJudge):
    """Has a setting of its own."""

    answer: str = "Kind"

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        return [self.answer for _ in instances]


def saying(*answers: Any) -> BaseDirectJudge:
    """A judge whose ``_run`` returns or raises the next of ``answers``."""

    class Says(BaseDirectJudge):
        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> Any:
            answer = answers[len(said) % len(answers)]
            said.append(answer)
            if isinstance(answer, Exception):
                raise answer
            return answer(instances[0], criteria[0]) if callable(answer) else answer

    said: list[Any] = []
    return Says()


def judged(answer: Any) -> DirectInstanceResult:
    (result,) = saying(answer)(["text"], TONE)
    return result


# -- direct ------------------------------------------------------------------------


@pytest.mark.parametrize("judge", [Lexicon("fool"), AsyncLexicon("fool")], ids=["sync", "async"])
def test_a_judge_of_ones_own_is_called_like_any_other(judge: Lexicon) -> None:
    texts: list[InstanceLike] = [
        "You fool.",
        DirectInstance(response="Thank you."),
        {"answer": "What a fool."},
    ]
    results = judge(texts, TONE)
    assert [(result.option, result.score) for result in results] == [
        ("Rude", 0.0),
        ("Kind", 1.0),
        ("Rude", 0.0),
    ]
    assert results[0].status is Status.SCORED
    assert results[0].votes[0].model == type(judge).__name__
    assert results[0].metadata == {}


@pytest.mark.parametrize("kind", [Lexicon, AsyncLexicon])
def test_the_base_class_repeats_and_turns_the_options_round(kind: type[Lexicon]) -> None:
    judge = kind("fool", self_consistency=2, check_positional_bias=True)
    (result,) = judge(["You fool."], TONE)
    assert sorted(judge.seen) == [("Kind", "Rude")] * 2 + [("Rude", "Kind")] * 2
    assert (result.option, result.votes_requested, result.agreement) == ("Rude", 4, 1.0)
    assert result.positional_bias is not None
    assert (
        result.positional_bias.detected,
        result.positional_bias.flip_rate,
        result.positional_bias.noise_rate,
    ) == (
        False,
        0.0,
        0.0,
    )


def test_a_judge_that_takes_the_first_option_is_found_out() -> None:
    class First(BaseDirectJudge):
        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
            return [criteria[0].options[0].name]

    (result,) = First(check_positional_bias=True)(["text"], TONE)
    assert result.option == "Kind"
    assert result.positional_bias is not None
    assert result.positional_bias.detected


def test_settings_of_ones_own_and_a_forgotten_super_do_no_harm() -> None:
    assert Configured(answer="Rude", self_consistency=True)(["text"], TONE)[0].votes_requested == 3
    assert Configured()(["text"], TONE)[0].option == "Kind"
    assert WithoutSuper("Rude")(["text"], TONE)[0].option == "Rude"


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        (["Rude"], "Rude"),
        (("kind",), "Kind"),
        (["'Kind.'"], "Kind"),
        ([None], None),
        (
            lambda instance, criteria: [
                DirectInstanceResult(instance=instance, criteria=criteria, option="Rude")
            ],
            "Rude",
        ),
    ],
)
def test_an_option_or_a_result_may_be_returned(answer: Any, option: str | None) -> None:
    assert judged(answer).option == option


def test_what_a_result_explains_and_advises_is_kept() -> None:
    def answer(instance: Instance, criteria: Criteria) -> list[DirectInstanceResult]:
        return [
            DirectInstanceResult(
                instance=instance,
                criteria=criteria,
                option="Rude",
                explanation="why",
                feedback="advice",
            )
        ]

    result = judged(answer)
    assert (result.explanation, result.feedback, result.score) == ("why", "advice", 0.0)


class _Wordless:
    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error or RuntimeError("no words")

    def __str__(self) -> str:
        raise self._error


def _kind(**parts: Any) -> DirectInstanceResult:
    return DirectInstanceResult(option="Kind", **parts)


_CIRCLE: list[Any] = []
_CIRCLE.append(_CIRCLE)
FAILURES: list[tuple[Any, Outcome, str]] = [
    (["Lukewarm"], Outcome.UNREADABLE, "'Lukewarm' is not one of Kind, Rude"),
    ([7], Outcome.UNREADABLE, "7 is not one of"),
    ([["Kind"]], Outcome.UNREADABLE, "is not one of"),
    ([None], Outcome.ABSTAINED, "gave no verdict"),
    ([], Outcome.MODEL_ERROR, "ValueError"),
    (["Kind", "Kind"], Outcome.MODEL_ERROR, "ValueError"),
    (None, Outcome.MODEL_ERROR, "TypeError"),
    (KeyError("words"), Outcome.MODEL_ERROR, "KeyError: 'words'"),
    (ModelError("no such model"), Outcome.MODEL_ERROR, "no such model"),
    (Refused("content filter"), Outcome.REFUSED, "content filter"),
    *(
        ([said], Outcome.MODEL_ERROR, reason)
        for said, reason in (
            (_kind(explanation=7), "explanation is of type int, not a string"),
            (_kind(feedback=object()), "feedback is of type object, not a string"),
            (_kind(metadata={"circle": _CIRCLE}), "metadata cannot be written as JSON: max"),
            (_kind(metadata={"said": _Wordless()}), "metadata cannot be written as JSON: no words"),
            (_kind(metadata={"said": _Wordless(SystemExit())}), "SystemExit"),
        )
    ),
]


@pytest.mark.parametrize(("answer", "outcome", "reason"), FAILURES)
def test_nonsense_and_exceptions_are_failed_votes_with_a_reason(
    answer: Any, outcome: Outcome, reason: str
) -> None:
    result = judged(answer)
    (vote,) = result.votes
    assert (vote.outcome, vote.verdict, result.option, result.score) == (outcome, None, None, None)
    assert reason in str(vote.reason)
    assert result.status is (Status.ABSTAINED if outcome is Outcome.ABSTAINED else Status.FAILED)


def test_a_result_without_an_option_is_no_verdict() -> None:
    def answer(instance: Instance, criteria: Criteria) -> list[DirectInstanceResult]:
        return [
            DirectInstanceResult(
                instance=instance, criteria=criteria, status=Status.FAILED, explanation="too hard"
            )
        ]

    assert (judged(answer).status, judged(answer).votes[0].reason) == (Status.FAILED, "too hard")


def test_one_failure_harms_no_other_case() -> None:
    class Fragile(Lexicon):
        def one(self, text: str) -> Any:
            return {"a": "Kind", "b": "Rude"}[text]

    results = Fragile()(["a", "?", "b"], TONE)
    assert [result.option for result in results] == ["Kind", None, "Rude"]
    with pytest.raises(RunError, match="KeyError"):
        Fragile(on_failure="raise")(["a", "?"], TONE)


def test_several_criteria_work_as_well() -> None:
    (result,) = Lexicon("fool").evaluate_multi_criteria(
        ["You fool."], [TONE, replace(TONE, name="manners")]
    )
    assert result.aggregated_score == 0.0


def test_a_judge_may_ask_other_judges() -> None:
    inner = DirectJudge(ScriptedModel())

    class Asks(BaseDirectJudge):
        def _run(
            self, instances: list[Instance], criteria: list[Criteria]
        ) -> list[DirectInstanceResult]:
            return inner(instances, criteria)

    class Awaits(BaseDirectJudge):
        async def _run(
            self, instances: list[Instance], criteria: list[Criteria]
        ) -> list[DirectInstanceResult]:
            return await inner.aevaluate(instances, criteria)

    assert [judge(["text"], TONE)[0].option for judge in (Asks(), Awaits())] == ["Kind", "Kind"]


def test_a_judge_without_run_says_what_is_missing() -> None:
    (result,) = BaseDirectJudge()(["text"], TONE)
    assert "must define _run" in str(result.votes[0].reason)


# -- pairwise ----------------------------------------------------------------------


class Longest(BasePairwiseJudge):
    """The place of the longest response; sets its own attributes in ``__init__``."""

    def __init__(self, form: Any = int, **settings: Any) -> None:
        super().__init__(**settings)
        self.form = form
        self.seen: list[tuple[str, ...]] = []

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
        shown = [
            tuple(instance.fields[one.to_evaluate_field])
            for instance, one in zip(instances, criteria, strict=True)
        ]
        self.seen += shown
        return [
            self.form(max(range(len(texts)), key=lambda place: len(texts[place])))
            for texts in shown
        ]


class AsyncLongest(Longest):
    """The same, async."""

    async def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:  # type: ignore[override]
        return super()._run(instances, criteria)


class Place:
    """A number of another library's."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __index__(self) -> int:
        return self.place


@pytest.mark.parametrize("kind", [Longest, AsyncLongest])
@pytest.mark.parametrize("form", [int, str, Place])
def test_the_place_among_those_shown_becomes_the_own_index(kind: type[Longest], form: Any) -> None:
    judge = kind(form, check_positional_bias=True)
    (result,) = judge([["a", "bbb"]], QUESTION)
    assert sorted(judge.seen) == [("a", "bbb"), ("bbb", "a")]
    assert (result.selected_option, result.certainty, result.ranking) == (1, 1.0, (2, 1))
    assert result.positional_bias is not None
    assert not result.positional_bias.detected


@pytest.mark.parametrize(("contests", "ranking"), [("joint", (2, 1, 2)), ("pairs", (2, 1, 3))])
def test_of_three_the_best_wins_and_the_others_are_equal_unless_compared(
    contests: Any, ranking: Any
) -> None:
    (result,) = Longest(contests=contests)([["bb", "ccc", "a"]], QUESTION)
    assert (result.selected_option, result.ranking) == (1, ranking)


def test_the_best_of_three_wins_wherever_it_stands() -> None:
    for responses in (["ccc", "a", "a"], ["a", "ccc", "a"], ["a", "a", "ccc"]):
        (result,) = Longest(check_positional_bias=True, rotations=True)([responses], QUESTION)
        assert result.selected_option == responses.index("ccc")


def comparing(answer: Any, **settings: Any) -> PairwiseInstanceResult:
    class Says(BasePairwiseJudge):
        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
            return [answer(instances[0], criteria[0]) if callable(answer) else answer]

    (result,) = Says(**settings)([["x", "y"]], QUESTION)
    return result


def test_a_tie_or_a_result_may_be_returned() -> None:
    def answer(instance: Instance, criteria: Criteria) -> PairwiseInstanceResult:
        return PairwiseInstanceResult(
            instance=instance, criteria=criteria, selected_option=1, explanation="why"
        )

    assert comparing("tie").selected_option == "tie"
    assert (comparing(answer).selected_option, comparing(answer).explanation) == (1, "why")


@pytest.mark.parametrize("answer", [2, -1, "A", "B", True, False, 0.0, "first", [0], "tie!"])
def test_what_is_no_place_is_a_failed_vote(answer: Any) -> None:
    result = comparing(answer)
    assert (result.selected_option, result.votes[0].outcome, result.status) == (
        None,
        Outcome.UNREADABLE,
        Status.FAILED,
    )
    assert str(result.votes[0].reason) == f"{answer!r} is not one of 0, 1, tie"


def test_with_ties_off_a_tie_is_a_failed_vote() -> None:
    result = comparing("tie", tie_enabled=False)
    assert (result.selected_option, result.votes[0].reason) == (None, "'tie' is not one of 0, 1")


def test_an_exception_is_a_failed_vote_of_its_own_case() -> None:
    class Fragile(Longest):
        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
            if any("?" in instance.fields["response"] for instance in instances):
                raise KeyError("?")
            return super()._run(instances, criteria)

    results = Fragile()([["a", "bb"], ["?", "b"], ["aa", "b"]], QUESTION)
    assert [result.selected_option for result in results] == [1, None, 0]


# -- the guides --------------------------------------------------------------------


def test_the_dummy_chooses_by_chance_the_same_for_the_same_seed() -> None:
    texts = [f"text {number}" for number in range(30)]
    one, again, other = (
        [result.option for result in DummyDirectJudge(seed=seed)(texts, TONE)] for seed in (1, 1, 2)
    )
    assert set(one) == {"Kind", "Rude"}
    assert one == again != other


def test_the_pairwise_dummy_prefers_the_longer_response() -> None:
    results = DummyPairwiseJudge()([["a", "bb"], ["aaa", "bb"], ["a", "b"]], QUESTION)
    assert [result.selected_option for result in results] == [1, 0, 0]


@dataclass
class Fixed(BaseDirectJudge):
    """Always says the same, and counts."""

    says: str = "Yes"
    model: str = "one"
    _asked: int = 0

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        self._asked += len(instances)
        return [self.says for _ in criteria]


def test_a_fork_takes_no_answer_of_the_same_judge_with_other_settings(tmp_path: Path) -> None:
    Fixed(says="Yes").evaluate(["x"], "Is it?", run=tmp_path / "one")
    forked = RunSettings(tmp_path / "two", fork_of=tmp_path / "one")
    assert Fixed(says="No").evaluate(["x"], "Is it?", run=forked)[0].option == "No"
    several = Fixed(says="Yes", self_consistency=3)
    assert (
        several.evaluate(
            ["x"], "Is it?", run=RunSettings(tmp_path / "three", fork_of=tmp_path / "one")
        )[0].votes_valid
        == 3
    )
    assert several._asked == 2, "what holds still is not asked again"
    other = DummyDirectJudge(seed=2)
    texts = [f"text {number}" for number in range(9)]
    DummyDirectJudge(seed=1).evaluate(texts, "Is it?", run=tmp_path / "dummy")
    again = other.evaluate(
        texts, "Is it?", run=RunSettings(tmp_path / "dummy two", fork_of=tmp_path / "dummy")
    )
    assert [one.option for one in again] == [one.option for one in other.evaluate(texts, "Is it?")]


def test_a_run_of_a_judge_of_ones_own_is_not_resumed_with_another_model(tmp_path: Path) -> None:
    Fixed(model="one").evaluate(["x"], "Is it?", run=tmp_path / "run")
    with pytest.raises(RunError, match=r"settings\.model: one → two"):
        Fixed(model="two").evaluate(["x"], "Is it?", run=tmp_path / "run")


def test_a_setting_that_changes_while_it_works_does_not_lose_the_votes(tmp_path: Path) -> None:
    @dataclass
    class Counting(BaseDirectJudge):
        count: int = 0

        def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
            self.count += 1
            return ["Yes" for _ in instances]

    Counting(batch_size=1).evaluate(["x", "y", "z"], "Is it?", run=tmp_path / "run")
    again = Counting(batch_size=1)
    assert [
        one.option for one in again.evaluate(["x", "y", "z"], "Is it?", run=tmp_path / "run")
    ] == ["Yes"] * 3
    assert again.count == 0


def test_metadata_that_json_does_not_know_leaves_the_run_readable(tmp_path: Path) -> None:
    class Odd(BaseDirectJudge):
        def _run(
            self, instances: list[Instance], criteria: list[Criteria]
        ) -> list[DirectInstanceResult]:
            return [
                DirectInstanceResult(
                    selected_option="Yes", metadata={"p": [math.nan, math.inf, 0.5]}
                )
                for _ in instances
            ]

    Odd().evaluate(["x"], "Is it?", run=tmp_path / "run")
    assert run_info(tmp_path / "run").rows == 1
    assert Odd().evaluate(["x"], "Is it?", run=tmp_path / "run")[0].metadata["p"] == [
        "nan",
        "inf",
        0.5,
    ]
    export(tmp_path / "run", tmp_path / "run.jsonl")
    assert "NaN" not in (tmp_path / "run.jsonl").read_text()


# -- attributes -----------------------------------------------------------------------------------


@dataclass
class WordList(BaseDirectJudge):
    """A judge with a field of its own."""

    words: tuple[str, ...] = ()

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        return [
            "Rude" if any(word in str(one.fields["response"]) for word in self.words) else "Kind"
            for one in instances
        ]


def test_a_judge_may_be_a_dataclass() -> None:
    judge = WordList(words=("bad",), self_consistency=2)
    assert [one.option for one in judge.evaluate(["so bad", "good"], TONE)] == ["Rude", "Kind"]
    assert judge.samples == 2


class Threshold(BaseDirectJudge):
    """Has an attribute of its class and one that counts."""

    longest = 5

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.calls: list[int] = []

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        self.calls.append(len(instances))
        return [
            "Kind" if len(str(one.fields["response"])) <= self.longest else "Rude"
            for one in instances
        ]


def test_a_run_is_not_resumed_by_a_judge_with_other_attributes(tmp_path: Path) -> None:
    Lexicon("bad").evaluate(["bad"], TONE, run=tmp_path / "run")
    Lexicon("bad").evaluate(["bad", "worse"], TONE, run=tmp_path / "run")
    with pytest.raises(RunError, match=r"settings\.attributes\.words"):
        Lexicon("worse").evaluate(["bad", "worse"], TONE, run=tmp_path / "run")


def test_an_attribute_of_the_class_counts_and_one_that_only_remembers_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Threshold()
    for texts in (["a"], ["a", "b"]):
        judge.evaluate(texts, TONE, run=tmp_path / "run")
    Threshold().evaluate(["a", "b", "c"], TONE, run=tmp_path / "run")
    monkeypatch.setattr(Threshold, "longest", 6)
    with pytest.raises(RunError, match=r"settings\.attributes\.longest: 5 → 6"):
        Threshold().evaluate(["a"], TONE, run=tmp_path / "run")


def test_a_fork_does_not_take_the_word_of_a_judge_with_other_attributes(tmp_path: Path) -> None:
    Lexicon("bad").evaluate(["bad"], TONE, run=tmp_path / "run")
    with pytest.raises(RunError, match="do not apply, because the judge changed"):
        Lexicon("worse").evaluate(
            ["bad"], TONE, run=RunSettings(tmp_path / "other", fork_of=tmp_path / "run")
        )
    assert not (tmp_path / "other").exists()
    Lexicon("bad").evaluate(
        ["bad"], TONE, run=RunSettings(tmp_path / "other", fork_of=tmp_path / "run")
    )


def test_a_run_of_an_older_version_which_kept_no_attributes_is_resumed() -> None:
    now = {"judges": {"j": {"settings": {"seed": None, "attributes": {"words": ["bad"]}}}}}
    assert differences({"judges": {"j": {"settings": {"seed": None}}}}, now) == []
    assert [
        str(one)
        for one in differences(
            {"judges": {"j": {"settings": {"seed": None, "attributes": {}}}}}, now
        )
    ]


class Scoring(BaseDirectJudge):
    """Says Kind and how kind."""

    score: float = 0.25

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[Any]:
        return [DirectInstanceResult(option="Kind", score=self.score) for _ in instances]


@pytest.mark.parametrize(
    ("own", "aggregated", "bounds"),
    [(0.25, 0.25, (0.25, 0.25)), (7.0, None, (0.0, 1.0))],  # 7 is no score that the options allow
)
def test_a_score_of_ones_own_is_the_one_that_is_weighted(
    own: float, aggregated: float | None, bounds: tuple[float, float]
) -> None:
    judge = Scoring()
    judge.score = own
    (found,) = judge.evaluate_multi_criteria(["Thank you."], [TONE, replace(TONE, name="other")])
    assert found.aggregated_score == aggregated
    assert set(found.per_criterion_score.values()) == {aggregated}
    assert (found.lower_bound, found.upper_bound) == bounds
