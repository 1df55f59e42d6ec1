"""The scores of a criterion's options, for files of tools that keep only the chosen word. Without
them, a re-import would count No as bad even if it is the good answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.runs.folder import run_facts

OPTION_SCORES = "option_scores"
"""The key of a score's metadata."""
_PASS_OR_FAIL = {"PASS", "FAIL"}
"""Every tool knows which of these is good."""


def exported_options(run: Path) -> Callable[[JudgmentRecord], JsonDict]:
    """Return a function from a judgment to its option scores as metadata.

    The metadata is empty for PASS and FAIL, and if an option or the criterion has no scores.
    """
    judges = run_facts(run).judge_configurations

    @cache
    def scores_of(judge: str, criterion: str) -> JsonDict:
        option_scores = judges[judge].option_scores(criterion) if judge in judges else {}
        scores = {name: score for name, score in option_scores.items() if score is not None}
        is_plain = not scores or len(scores) < len(option_scores) or scores.keys() <= _PASS_OR_FAIL
        return {} if is_plain else {OPTION_SCORES: scores}

    return lambda row: scores_of(row.judge, row.criterion)
