"""What an eval file would run on this machine: commands and code of whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.gateway.registry import is_known
from adjudge.reading.user_code import is_there
from adjudge.runs.eval_file import CascadeEntry, CheckEntry, EvalFile, PythonEntry


def code_in(file: EvalFile) -> list[str]:
    """Each once, as the file says it; nothing is run to find out."""
    return list(dict.fromkeys((*_of_targets(file), *_of_judges(file), *_of_models(file))))


def _of_targets(file: EvalFile) -> Iterator[str]:
    for one in file.target:
        if one.command:
            yield " ".join(one.command)
        elif one.function:
            yield one.function


def _of_judges(file: EvalFile) -> Iterator[str]:
    for one in file.judges:
        if isinstance(one, PythonEntry):
            yield one.judge
        if isinstance(one, CheckEntry):
            yield from (each.check.runs for each in one.checks if each.check.runs)


def _of_models(file: EvalFile) -> Iterator[str]:
    cascades = [one for one in file.judges if isinstance(one, CascadeEntry)]
    entries = (
        *file.models,
        *(model for judge in file.judges for model in judge.models),
        *(step for one in cascades for step in one.cascade),
    )
    for entry in entries:
        if not is_known(entry.model) and is_there(entry.model, file.path.parent):
            yield entry.model
