"""Figures of the completions of a step: evidence to look at, never an alarm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.features.rewards.rollouts import Rollouts
from adjudge.features.rewards.texts import text_of
from adjudge.features.rewards.values import RewardValue
from adjudge.stats.correlation import pearson

_OPENING = 8
"""Words of an opening."""
_GRAM = 3
"""Words of a sequence that counts as repeated."""
_GRADER = re.compile(
    r"\b(?:grader|judge|evaluator|reviewer|rubric|full (?:score|marks|credit)|"
    r"(?:highest|maximum|perfect) (?:score|rating|grade))\b"
    r"|(?:провер\w+|оценщик\w*|судь[яеию]\w*|рубрик\w*|высш\w+ (?:балл|оценк)\w*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StepStatistics:
    """Length, repetition and similarity of the completions of a step."""

    completions: int
    missing: int
    """Completions without a reward."""
    mean_reward: float | None
    mean_words: float | None
    length_correlation: float | None
    """Correlation of words and reward; None if one of them does not vary."""
    repetition: float | None
    """Mean share of three-word sequences that a completion has said before."""
    same_openings: float | None
    """Share of completions that begin like one of another prompt."""
    grader_addressed: float | None
    """Share of completions with words about grading; some tasks need them."""


def step_statistics(rollouts: Rollouts, values: Sequence[RewardValue]) -> StepStatistics:
    """Return the figures of a step."""
    texts = [text_of(completion) for completion in rollouts.completions]
    present_texts = [text for text in texts if text is not None]
    lengths = [len(text.split()) for text in present_texts]
    scored = [
        (float(len(text.split())), reward_value.value)
        for text, reward_value in zip(texts, values, strict=True)
        if text is not None and reward_value.value is not None
    ]
    return StepStatistics(
        completions=len(values),
        missing=sum(reward_value.value is None for reward_value in values),
        mean_reward=_mean([value for _, value in scored]),
        mean_words=_mean(lengths),
        length_correlation=pearson([length for length, _ in scored], [v for _, v in scored])
        if len(scored) > 1
        else None,
        repetition=_mean([_repetition(text) for text in present_texts]),
        same_openings=_same_openings(rollouts, texts),
        grader_addressed=_mean([float(bool(_GRADER.search(text))) for text in present_texts]),
    )


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _repetition(text: str) -> float:
    words = text.casefold().split()
    grams = Counter(tuple(words[place : place + _GRAM]) for place in range(len(words) - _GRAM + 1))
    return 1 - len(grams) / grams.total() if grams else 0.0


def _same_openings(rollouts: Rollouts, texts: Sequence[str | None]) -> float | None:
    """Return the share of completions that begin like a completion of another prompt."""
    prompts: dict[tuple[str, ...], set[int]] = {}
    openings: list[tuple[str, ...]] = []
    # Answers to the same prompt often begin alike, which is no evidence.
    for number, group in enumerate(rollouts.groups()):
        for place in group:
            text = texts[place]
            if text is not None:
                opening = tuple(text.casefold().split()[:_OPENING])
                openings.append(opening)
                prompts.setdefault(opening, set()).add(number)
    return _mean([float(len(prompts[opening_words]) > 1) for opening_words in openings])
