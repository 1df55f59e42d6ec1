"""A reward in a Rubric of verifiers before 0.4, which makes 0.0 of every Exception."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from adjudge import AspectCritic
from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.features.rewards.names import NoReward, Reward, verifiers_function

vf = pytest.importorskip("verifiers")


def script(request: Request) -> str:
    text = request.prompt.text
    if "lost" in text:
        return "unreadable"
    return json.dumps({"explanation": "e", "verdict": "FAIL" if "bad" in text else "PASS"})


def states(*completions: str) -> list[dict[str, Any]]:
    return [
        {
            "prompt": [{"role": "user", "content": "2 + 2?"}],
            "completion": [{"role": "assistant", "content": text}],
            "answer": "four",
            "info": {},
            "task": "default",
            "trajectory": [],
        }
        for text in completions
    ]


def rubric() -> Any:
    critic = AspectCritic("Answers.", ScriptedModel(script), name="answers", max_repairs=0)
    return vf.Rubric(funcs=[verifiers_function(Reward(critic, name="judged"), retries=1)])


def test_a_group_is_scored() -> None:
    group = states("good", "bad")
    asyncio.run(rubric().score_group(group))
    assert [one["reward"] for one in group] == [1.0, 0.0]
    assert [one["advantage"] for one in group] == [0.5, -0.5]
    assert group[0]["metrics"] == {"judged": 1.0}


def test_a_failed_vote_is_not_0() -> None:
    with pytest.raises(NoReward, match="no reward"):
        asyncio.run(rubric().score_group(states("good", "lost")))
