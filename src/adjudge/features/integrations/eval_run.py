"""Eval files run from Python: ``adjudge.run("eval.yaml")``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from adjudge.core.gateway.layers.budget import Budget
from adjudge.runs.eval_file import EvalFile, parse_eval
from adjudge.runs.execute import execute
from adjudge.runs.plan import resolve
from adjudge.runs.project import find_project
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.results.report import Report
from adjudge.runs.trusted_folders import open_eval, trusted_project

EvalLike = str | Path | Mapping[str, object]


def run(
    source: EvalLike,
    *,
    folder: str | Path | None = None,
    limit: int | None = None,
    budget: Budget | None = None,
    cache: bool = True,
) -> Report:
    """Run an eval file, or a mapping with the same keys, and return its report.

    ``folder`` replaces the file's ``run`` as the place for answers; answers already in it are
    reused. ``limit`` judges only the first rows. ``budget`` replaces the file's budget; at its
    limit BudgetSpent is raised, and the answers so far stay in the folder.

    In an untrusted folder, a file that does more than an ordinary one is refused; ``adjudge trust``
    shows what it does and asks whether to trust it.

    >>> report = run("eval.yaml", limit=20)  # doctest: +SKIP
    >>> [(one.name, one.summary.mean) for one in report.sections]  # doctest: +SKIP
    [('polite', 0.75)]
    """
    plan = resolve(
        _open(source, folder, is_limited=budget is not None),
        folder=Path(folder) if folder else None,
        limit=limit,
        budget=budget,
        cache=cache,
    )
    outcome = RunOutcome(plan)
    outcome.gates.check()
    with execute(plan, kept=outcome.facts) as events:
        for event in events:
            outcome.see(event)
    return outcome.report()


async def arun(
    source: EvalLike,
    *,
    folder: str | Path | None = None,
    limit: int | None = None,
    budget: Budget | None = None,
    cache: bool = True,
) -> Report:
    """Like ``run``, for async code."""
    return await asyncio.to_thread(
        run, source, folder=folder, limit=limit, budget=budget, cache=cache
    )


def _open(source: EvalLike, folder: str | Path | None, *, is_limited: bool) -> EvalFile:
    given_keys = ("run",) if folder else ()
    if isinstance(source, Mapping):
        project = trusted_project(find_project(Path()))
        file = parse_eval(json.dumps(source, default=str), "eval.json", project)
    else:
        project = find_project(Path(source).parent)
        file = open_eval(source, project, typed=given_keys, is_limited=is_limited)
    return replace(file, run=str(Path(folder).absolute())) if folder else file
