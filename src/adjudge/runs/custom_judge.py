"""``kind: python`` in eval files: a judge whose class the user wrote."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.attributes import mark_code
from adjudge.core.judges.case import CaseJudge
from adjudge.core.judges.custom import OwnJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.reading.user_code import is_reference, load_code, locate_code
from adjudge.errors import SetupError
from adjudge.runs.eval_file import EvalFile, PythonEntry


def own_judge(
    file: EvalFile,
    entry: PythonEntry,
    models: Sequence[ModelLike] | None,
    common: Mapping[str, object],
) -> Judge[Any, Any]:
    """Instantiate the user's judge with its options and those settings of ``common`` that it
    accepts.
    """
    if not is_reference(entry.judge):
        raise SetupError(
            "name a judge as file.py:Class or module:Class, not {judge!r}", judge=entry.judge
        )
    judge_class = load_code(locate_code(entry.judge, file.path.parent))
    if not (isinstance(judge_class, type) and issubclass(judge_class, Judge)):
        raise SetupError(
            "{judge} is not a judge: write a subclass of adjudge.BaseDirectJudge or "
            "adjudge.BasePairwiseJudge",
            judge=entry.judge,
        )
    takes = inspect.signature(judge_class).parameters
    also = {"models": models} if models and "models" in takes else {}
    common_settings = {
        name: value for name, value in common.items() if name in takes and value is not None
    }
    try:
        judge: Judge[Any, Any] = judge_class(**{**common_settings, **also, **dict(entry.options)})
    except TypeError as error:
        raise SetupError(
            "{judge} cannot be created with these options: {error}",
            judge=entry.judge,
            error=str(error),
        ) from error
    _check_kind(entry, judge)
    mark_code(judge, file.code.of_judge(entry))
    return judge


def _check_kind(entry: PythonEntry, judge: Judge[Any, Any]) -> None:
    """Raise if the class and the file disagree on criteria or comparisons."""
    takes_criteria = isinstance(judge, CaseJudge)
    if isinstance(judge, OwnJudge) and not judge.panel and type(judge)._run is OwnJudge._run:
        raise SetupError("{name} must define _run(instances, criteria)", name=entry.judge)
    if takes_criteria and not entry.criteria:
        raise SetupError("{judge} judges by criteria: add criteria", judge=entry.judge)
    if entry.criteria and not takes_criteria:
        raise SetupError("{judge} takes no criteria: leave criteria out", judge=entry.judge)
    compares = isinstance(judge, CaseJudge) and judge.kind == "pairwise"
    if compares and not entry.compares:
        raise SetupError("{judge} compares responses: add compares: true", judge=entry.judge)
    if entry.compares and not compares:
        raise SetupError(
            "{judge} judges responses one by one: leave compares out", judge=entry.judge
        )
