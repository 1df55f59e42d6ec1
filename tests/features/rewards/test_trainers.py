"""Each trainer's own call, as its source has it, and what a failed vote becomes there."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import subprocess
import sys
from types import SimpleNamespace

import pytest

from adjudge import AspectCritic
from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.errors import RunError, SetupError
from adjudge.features.rewards.reward import Reward
from adjudge.features.rewards.trainers import (
    NoReward,
    check_trl,
    openrlhf_reward,
    trl_reward,
    verifiers_function,
    verifiers_reward,
)


class Judge:
    """Says PASS to "good", FAIL to "bad", nothing readable to "lost", and to "late" at first."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        critic = AspectCritic("Answers.", ScriptedModel(self._reply), name="answers", max_repairs=0)
        self.reward = Reward(critic, name="judged")

    def _reply(self, request: Request) -> str:
        text = request.prompt.text
        self.seen.append(text)
        is_first = sum("late" in one for one in self.seen) == 1
        if "lost" in text or ("late" in text and is_first):
            return "unreadable"
        return json.dumps({"explanation": "e", "verdict": "FAIL" if "bad" in text else "PASS"})


def test_nothing_of_the_trainers_is_imported() -> None:
    code = (
        "import sys, adjudge.features.rewards.trainers;"
        "print({'trl', 'verifiers', 'openrlhf', 'torch'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_trl_calls_an_async_function_with_columns_and_loggers() -> None:
    judge, metrics, extra = Judge(), {}, {}
    function = trl_reward(judge.reward)
    assert inspect.iscoroutinefunction(function)
    assert function.__name__ == "judged"
    rewards = asyncio.run(
        function(
            prompts=["q"] * 3,
            completions=["good", "lost", "bad"],
            completion_ids=[[1], [2], [3]],
            reference=["four"] * 3,
            trainer_state=SimpleNamespace(global_step=1),
            log_extra=lambda name, entries: extra.update({name: entries}),
            log_metric=lambda name, number: metrics.update({name: number}),
        )
    )
    assert rewards == [1.0, None, 0.0]
    assert metrics == {"judged/missing": 1.0}
    assert extra["judged/reason"][1]
    assert extra["judged/reason"][0] == ""
    assert "four" in judge.seen[0]


def test_trl_with_several_functions_is_refused() -> None:
    check_trl(SimpleNamespace(reward_funcs=[print]))
    with pytest.raises(SetupError, match="2 reward functions"):
        check_trl(SimpleNamespace(reward_funcs=[print, print]))
    with pytest.raises(SetupError):
        check_trl(object())


class Task:
    prompt_text = "2 + 2?"

    def model_dump(self) -> dict[str, object]:
        return {"prompt": "2 + 2?", "reference": "four", "idx": 3, "none": None}


def test_verifiers_gets_a_number_or_an_exception() -> None:
    judge = Judge()
    judged = verifiers_reward(judge.reward)
    good, lost = (SimpleNamespace(last_reply=text, transcript="t") for text in ("good", "lost"))
    assert asyncio.run(judged(Task(), good)) == 1.0
    assert asyncio.run(judged.score(Task(), good)) == 1.0
    assert judged.reward_name == "judged"
    assert "four" in judge.seen[0]
    assert "2 + 2?" in judge.seen[0]
    with pytest.raises(RunError, match="judged: no reward"):
        asyncio.run(judged(Task(), lost))


def test_the_old_form_of_verifiers_is_asked_again_and_never_gets_0() -> None:
    judge = Judge()
    function = verifiers_function(judge.reward)
    assert {"prompts", "completions"} <= set(inspect.signature(function).parameters)
    states = {"prompts": ["q", "q"], "answers": ["four", ""], "infos": [{"user": "u"}, {}]}
    assert asyncio.run(function(completions=["late", "bad"], **states)) == [1.0, 0.0]
    assert len(judge.seen) == 3
    with pytest.raises(NoReward):
        asyncio.run(function(completions=["lost", "bad"], **states))
    assert not issubclass(NoReward, Exception)
    with pytest.raises(NoReward):  # and no other mistake either
        asyncio.run(function(completions=["good"], **states))


def test_openrlhf_cuts_the_answer_off_the_query() -> None:
    judge = Judge()
    reward_func = openrlhf_reward(judge.reward)
    answer = reward_func(["<q>good", "<q>late"], ["<q>", "<q>"], ["7", "8"])
    assert answer == {
        "rewards": [1.0, 1.0],
        "scores": [1.0, 1.0],
        "extra_logs": {"missing": [0.0, 0.0]},
    }
    with pytest.raises(RunError, match="no reward"):
        reward_func(["<q>lost"], ["<q>"], [""])
    dropped = openrlhf_reward(judge.reward, retries=0, on_missing="drop")(
        ["<q>lost"], ["<q>"], [""]
    )
    assert math.isnan(dropped["rewards"][0])
    assert dropped["extra_logs"] == {"missing": [1.0]}
    with pytest.raises(SetupError, match="does not begin"):
        reward_func(["good"], ["<q>"], [""])
    with pytest.raises(SetupError):
        openrlhf_reward(judge.reward, on_missing="zero")  # type: ignore[arg-type]
