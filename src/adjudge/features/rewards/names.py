"""The names that training scripts import, as ``adjudge.rewards``."""

from __future__ import annotations

from adjudge.features.rewards.parts import Part
from adjudge.features.rewards.ranking import GroupRanking
from adjudge.features.rewards.reward import Reward, StepSummary
from adjudge.features.rewards.trainers import (
    NoReward,
    TraceReward,
    check_trl,
    openrlhf_reward,
    trl_reward,
    verifiers_function,
    verifiers_reward,
)
from adjudge.features.rewards.values import RewardValue
from adjudge.features.rewards.watch import RewardAlarm, Watch, WatchReport

__all__ = [
    "GroupRanking",
    "NoReward",
    "Part",
    "Reward",
    "RewardAlarm",
    "RewardValue",
    "StepSummary",
    "TraceReward",
    "Watch",
    "WatchReport",
    "check_trl",
    "openrlhf_reward",
    "trl_reward",
    "verifiers_function",
    "verifiers_reward",
]
