"""The whole judgment, as metadata for files of tools that keep one word or one number of it.

Without this, a re-import would count No as bad even if it is the good answer, and a panel's share
of votes as a whole verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from adjudge.core.domain.criteria import ANY_INTEGER
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.judge_configuration import OptionScores
from adjudge.core.domain.numbers import number_of
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import PART_OF, REPEAT, ROW, TASK, TRIAL, TURN
from adjudge.runs.folder import run_facts
from adjudge.runs.results.repeats import SYSTEM

JUDGE, CRITERION, MODELS = "judge", "criteria", "models"
OPTION_SCORES, SCALE, LESS_IS_BETTER = "option_scores", "scale", "less_is_better"
VERDICT, SCORE, FAILURE = "verdict", "score", "failure"
ROW_ID = "id"
RELATED = (SYSTEM, ROW, REPEAT, TASK, TRIAL, TURN, PART_OF)
"""Columns that say which rows belong together."""
VALID = ("ok", "repaired")
"""Outcomes of votes that have a verdict."""
PASS_OR_FAIL: Mapping[str, float] = {"PASS": 1.0, "FAIL": 0.0}
"""Every tool knows which of these is good."""


@dataclass(frozen=True)
class Outcome:
    """A judgment's verdict and score as they were before a tool's form of them."""

    verdict: str | None = None
    score: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    option_scores: Mapping[str, float | None] = NOTHING

    @classmethod
    def of(cls, metadata: JsonObject) -> Outcome | None:
        """Return the outcome that an export wrote; None if there is none."""
        verdict, score = metadata.get(VERDICT), number_of(metadata.get(SCORE))
        if not isinstance(verdict, str) and score is None:
            return None
        scores = metadata.get(OPTION_SCORES)
        return cls(
            verdict if isinstance(verdict, str) else None,
            score,
            scale_in(metadata),
            {name: number_of(value) for name, value in scores.items()}
            if isinstance(scores, Mapping)
            else NOTHING,
        )

    @property
    def verdict_score(self) -> float | None:
        """The score that the verdict alone stands for; None if it stands for none."""
        return (self.option_scores or PASS_OR_FAIL).get(self.verdict or "")

    @property
    def share(self) -> float | None:
        """The score as a share of its scale, from 0 to 1; None if it is outside of it."""
        low, high = self.scale
        if self.score is None or not low <= self.score <= high or low == high:
            return None
        return (self.score - low) / (high - low)


def scale_in(metadata: JsonObject) -> tuple[float, float]:
    """Return the scale of a score that an export wrote, by default 0 to 1."""
    ends = metadata.get(SCALE)
    low, high = map(number_of, ends) if isinstance(ends, list) and len(ends) == 2 else (None, None)
    return (0.0, 1.0) if low is None or high is None else (low, high)


Metadata = Callable[[JudgmentRecord], JsonDict]


def question_metadata(run: Path) -> Metadata:
    """Return a function from a judgment to its question, judge and related rows as metadata."""
    judges = run_facts(run).judge_configurations

    @cache
    def question(judge: str, criterion: str) -> JsonDict:
        if judge not in judges:
            return {}
        scores = judges[judge].option_scores(criterion)
        is_listed = bool(scores) and ANY_INTEGER not in scores
        scale = judges[judge].score_range(criterion)
        asked = (each for each in judges[judge].questions if each.get("name") == criterion)
        is_less = any(each.get("higher_is_better") is False for each in asked)
        return {
            **({OPTION_SCORES: dict(scores)} if is_listed and not _are_known(scores) else {}),
            **({} if is_listed and scale == (0.0, 1.0) else {SCALE: list(scale)}),
            **({LESS_IS_BETTER: True} if is_less else {}),
        }

    return lambda row: {
        JUDGE: row.judge,
        CRITERION: row.criterion,
        MODELS: list(row.used),
        **related_rows(row),
        # the options of a compared criterion are no verdicts on its responses
        **({} if row.detail.is_comparison else question(row.judge, row.criterion)),
    }


def _are_known(scores: OptionScores) -> bool:
    return scores.keys() <= PASS_OR_FAIL.keys()


def outcome_metadata(row: JudgmentRecord) -> JsonDict:
    """Return the outcome of a judgment as metadata: verdict and score, or how a vote failed."""
    if not row.scored:
        failures = (vote.outcome for vote in row.votes or () if vote.outcome not in VALID)
        return {FAILURE: row.status if row.status == "abstained" else next(failures, row.status)}
    outcome = {VERDICT: row.verdict, SCORE: row.score}
    return {name: value for name, value in outcome.items() if value is not None}


def related_rows(row: JudgmentRecord) -> JsonDict:
    """Return the columns that relate a row to others, such as the system that answered it."""
    if not row.answered_by and row.input.keys().isdisjoint({TRIAL, PART_OF}):
        return {}
    return {name: row.input[name] for name in RELATED if name in row.input}
