"""What the options of a criterion score, for files of tools that keep only the chosen word: without
it, No counts as bad when the file is imported, also where it is the good end.
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
    """Return a function that gives the metadata for a judgment of the run: empty if its criterion
    has no options, or one of them has no score.
    """
    judges = run_facts(run).judge_configurations

    @cache
    def scores_of(judge: str, criterion: str) -> JsonDict:
        known = judges[judge].option_scores(criterion) if judge in judges else {}
        scores = {name: score for name, score in known.items() if score is not None}
        is_plain = not scores or len(scores) < len(known) or scores.keys() <= _PASS_OR_FAIL
        return {} if is_plain else {OPTION_SCORES: scores}

    return lambda row: scores_of(row.judge, row.criterion)
