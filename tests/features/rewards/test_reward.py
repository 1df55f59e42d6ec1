"""A reward is a number or None with a reason: what makes it None, and what it costs."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import UserList
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from adjudge import AspectCritic, Budget, Criteria, CriteriaOption, DirectJudge, RubricJudge
from adjudge.core.checks.numbers import Length
from adjudge.core.domain.message import Reply, Request, Usage
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.errors import ModelError, SetupError
from adjudge.features.rewards.parts import Part
from adjudge.features.rewards.reward import Reward
from features.rubrics.test_judge import entry, labels_in, reply

PROMPTS = ["2 + 2?"] * 4
ANSWERS = ["good 1", "bad 2", "lost 3", "good 4"]


def verdict(request: Request) -> str:
    """PASS for a good answer, FAIL for a bad one, and nothing readable for a lost one."""
    text = request.prompt.text
    if "lost" in text:
        return "cannot be read"
    return json.dumps({"explanation": "e", "verdict": "PASS" if "good" in text else "FAIL"})


def critic(
    script: Callable[[Request], str | Reply | Exception] = verdict, name: str = "answers"
) -> tuple[AspectCritic, ScriptedModel]:
    model = ScriptedModel(script)
    return AspectCritic("Answers the question.", model, name=name, max_repairs=0), model


def test_a_failed_vote_is_none_with_a_reason_and_never_a_number() -> None:
    judge, _ = critic()
    values = Reward(judge).score(PROMPTS, ANSWERS)
    assert [one.value for one in values] == [1.0, 0.0, None, 1.0]
    assert values[2].reason
    assert (values[2].lower, values[2].upper) == (0.0, 1.0)
    assert values[0].reason is None


def test_conversations_and_completions_without_text() -> None:
    judge, model = critic()
    prompt = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
    answers = [
        [{"role": "assistant", "content": "good"}],
        [{"role": "assistant", "content": None, "tool_calls": []}],
        [{"role": "assistant", "content": [{"type": "text", "text": "bad"}]}],
        [],
    ]
    values = Reward(judge).score([prompt] * 4, answers)
    assert [one.value for one in values] == [1.0, None, 0.0, None]
    assert values[1].reason == "the completion has no text"
    assert len(model.requests) == 2
    assert "Be brief." in model.requests[0].prompt.text


def test_equal_completions_are_judged_once_and_failures_again() -> None:
    judge, model = critic()
    reward = Reward(judge)
    reward.score(PROMPTS, ["good"] * 4)
    assert len(model.requests) == 1
    reward.score(PROMPTS, ["good", "good", "lost", "lost"])
    assert len(model.requests) == 2
    again = reward.score(PROMPTS[:1], ["lost"])
    assert len(model.requests) == 3
    assert again[0].value is None


def test_a_run_folder_answers_a_repeated_step(tmp_path: Path) -> None:
    judge, model = critic()
    first = Reward(judge, run=tmp_path / "run", budget=Budget(max_calls=3)).score(
        PROMPTS[:3], ANSWERS[:3]
    )
    reward = Reward(judge, run=tmp_path / "run", budget=Budget(max_calls=3))
    assert [one.value for one in reward.score(PROMPTS[:3], ANSWERS[:3])] == [
        one.value for one in first
    ]
    assert len(model.requests) == 3
    # the budget is one step's, though the ledger counts all of them
    more = reward.score(PROMPTS[:3], ["good 5", "good 6", "good 7"])
    assert [one.value for one in more] == [1.0, 1.0, 1.0]


def test_what_a_budget_does_not_reach_has_no_reward() -> None:
    judge, _ = critic()
    reward = Reward(judge, budget=Budget(max_calls=2))
    values = reward.score(PROMPTS, ["good 1", "good 2", "good 3", "good 4"])
    assert [one.value for one in values].count(1.0) == 2
    assert [one.value for one in values].count(None) == 2
    assert all("budget" in str(one.reason) for one in values if one.value is None)
    assert reward.last_step is not None
    assert (reward.last_step.completions, reward.last_step.missing) == (4, 2)
    assert [one.value for one in reward.score(PROMPTS[:1], ["good 5"])] == [1.0]  # the next step


class Hanging:
    """A model that answers everything but one text at once."""

    name = "hanging"
    capabilities = ScriptedModel.capabilities

    async def complete(self, request: Request) -> Reply:
        if "hang" in request.prompt.text:
            await asyncio.Event().wait()
        return Reply(text=verdict(request), usage=Usage(1, 1, 1))


def test_what_takes_too_long_has_no_reward_and_the_rest_is_kept() -> None:
    judge = AspectCritic("Answers the question.", Hanging(), name="answers")
    reward = Reward(judge, time_limit=3.0)
    values = reward.score(PROMPTS[:2], ["good", "hang"])
    assert [one.value for one in values] == [1.0, None]
    assert values[1].reason == "not judged within 3 seconds"


def test_a_model_that_is_down_gives_none() -> None:
    class Down(ModelError):
        retryable = False

    judge, _ = critic(lambda _: Down("down"))
    assert [one.value for one in Reward(judge).score(PROMPTS[:1], ANSWERS[:1])] == [None]


def test_parts_are_a_weighted_mean_and_a_missing_one_leaves_bounds() -> None:
    judge, _ = critic()

    def half(prompts: Sequence[object], completions: Sequence[object], **_: object) -> list[float]:
        return [0.5 for _ in completions]

    reward = Reward(
        Part(judge, weight=3), Part(half, weight=1, limits=(0, 1)), Part(Length(most=1), weight=0)
    )
    values = reward.score(PROMPTS, ANSWERS)
    assert [one.value for one in values] == [0.875, 0.125, None, 0.875]
    assert (values[2].lower, values[2].upper) == (0.125, 0.875)
    assert str(values[2].reason).startswith("answers: ")
    assert list(values[0].parts.values()) == [1.0, 0.5, 0.0]


def test_numbers_that_are_none_are_no_rewards() -> None:
    async def odd(**_: object) -> list[float | None]:
        return [math.nan, math.inf, None, 0.25]

    values = Reward(odd).score(PROMPTS, ANSWERS)
    assert [one.value for one in values] == [None, None, None, 0.25]
    assert values[0].lower is None


def test_a_number_outside_the_limits_of_its_part_is_refused() -> None:
    for number, is_refused in ((5.0, True), (1.0000001, False)):
        part = Part(lambda number=number, **_: [number] * 4, limits=(0, 1), name="style")
        if is_refused:
            with pytest.raises(SetupError, match="style returned 5, which is outside its limits"):
                Reward(part).score(PROMPTS, ANSWERS)
        else:
            assert Reward(part).score(PROMPTS, ANSWERS)[0].value == number


def test_a_function_that_raises_or_returns_too_few_is_not_hidden() -> None:
    def wrong(**_: object) -> list[float]:
        raise KeyError("bug")

    judge, _ = critic()
    with pytest.raises(KeyError):
        Reward(judge, Part(wrong)).score(PROMPTS, ANSWERS)
    with pytest.raises(SetupError, match="returned 1 rewards for 4"):
        Reward(lambda **_: [1.0]).score(PROMPTS, ANSWERS)


def choose(option: str) -> ScriptedModel:
    return ScriptedModel([json.dumps({"explanation": "e", "selected_option": option})])


def test_options_are_put_on_a_scale_from_the_worst_to_the_best() -> None:
    scale = Criteria("tone", "Is it friendly?", [CriteriaOption(str(n)) for n in range(1, 6)])
    judge = DirectJudge(choose("4"))
    assert Reward(judge, criteria=scale).score(["q"], ["a"])[0].value == 0.75
    good_no = Criteria(
        "rude", "Is it rude?", [CriteriaOption("Yes", score=0.0), CriteriaOption("No", score=1.0)]
    )
    assert Reward(DirectJudge(choose("No")), criteria=good_no).score(["q"], ["a"])[0].value == 1.0


def test_the_good_end_of_a_risk_is_no_risk() -> None:
    for option, value in (("Peaceful", 1.0), ("Violent", 0.0)):
        judge = DirectJudge(choose(option))
        assert Reward(judge, criteria="violence").score(["q"], ["a"])[0].value == value


@pytest.mark.parametrize(
    "make",
    [
        Reward,
        lambda: Reward(Part(critic()[0], weight=0)),
        lambda: Reward(Part(critic()[0], weight=-1)),
        lambda: Reward(Part(critic()[0], weight=math.nan)),
        lambda: Reward(critic()[0], critic()[0]),
        lambda: Reward(critic()[0], criteria="conciseness"),
        lambda: Reward(DirectJudge(choose("a"))),
        lambda: Reward(AspectCritic("Is brief.", choose("a"), on_failure="random")),
        lambda: Reward(critic()[0], time_limit=0),
        lambda: Reward(3),  # type: ignore[arg-type]
        # completions have no row ids: the first would get the rubric of row "0"
        lambda: Reward(RubricJudge(choose("met"), {"rows": {"0": ["a"]}, "others": ["b"]})),
        lambda: Reward(
            DirectJudge(choose("a")),
            criteria=Criteria("c", "?", [CriteriaOption("a"), CriteriaOption("b")]),
        ),
        lambda: Reward(
            DirectJudge(choose("Yes")),
            criteria=Criteria(
                "harm",
                "?",
                [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)],
                higher_is_better=False,
            ),
        ),
    ],
)
def test_what_cannot_be_a_reward_is_refused_before_any_call(make: Callable[[], Reward]) -> None:
    with pytest.raises(SetupError):
        make()


def test_rubrics_come_from_a_column_and_keep_their_scale() -> None:
    def model(prompt: str) -> str:
        labels = labels_in(prompt)
        verdicts = {"all": "met", "none": "not met"}
        word = re.search(r"answer (\w+)", prompt)
        assert word
        answers = ["cannot tell", "met"] if word[1] == "unsure" else [verdicts[word[1]]] * 2
        return reply(*(entry(one, said) for one, said in zip(labels, answers, strict=True)))

    rubric = [{"text": "Says when.", "points": 4}, {"text": "Insults.", "points": -8}]
    values = Reward(RubricJudge(model)).score(
        ["q"] * 4,
        ["answer all", "answer none", "answer unsure", "answer all"],
        {"rubric": [rubric, rubric, rubric, None], "trainer_state": object()},
    )
    assert [one.value for one in values] == [-1.0, 0.0, None, None]
    assert (values[2].lower, values[2].upper) == (-2.0, -1.0)
    column = UserList([rubric])  # a column of a data set is no list
    assert (
        Reward(RubricJudge(model)).score(["q"], ["answer all"], {"rubric": column})[0].value == -1
    )
    assert "no rubric" in str(values[3].reason)
    with pytest.raises(SetupError, match="no rubric"):
        Reward(RubricJudge(model)).score(["q"], ["answer all"])


def test_lengths_must_agree_and_nothing_is_nothing() -> None:
    judge, _ = critic()
    assert Reward(judge).score([], []) == []
    with pytest.raises(SetupError, match="1 prompts and 2 completions"):
        Reward(judge).score(["q"], ["a", "b"])
    with pytest.raises(SetupError):
        Reward(judge).score("q", "a")


def test_columns_can_be_renamed() -> None:
    judge, model = critic()
    Reward(judge, columns={"gold": "reference"}).score(["q"], ["good"], {"gold": ["four"]})
    assert "four" in model.requests[0].prompt.text
