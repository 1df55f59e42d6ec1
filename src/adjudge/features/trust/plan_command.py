"""``adjudge plan``: estimate the rows, labels and dollars for a desired precision or power."""

from __future__ import annotations

from pathlib import Path

import click

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.runs.cli.inputs import as_usage_error
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import (
    PATH,
    as_json,
    command,
    option,
    options,
    shared,
)
from adjudge.runs.cli.output import language
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.terminal import Screen
from adjudge.stats.planning import JudgeQuality
from adjudge.trust.planning import PlannedJudge, PlanSettings, plan, planned_judge

_SHARE = click.FloatRange(0, 1)
_ROWS = 2000
"""Judged rows of a judge that is described by its shares alone."""


@light_dataclass(frozen=True, kw_only=True)
class PlanOptions(PlanSettings):
    """Options of ``adjudge plan``."""

    run: Path | None = option(
        "--judge", type=PATH, help="A labelled run; its judge and its cost per row are used."
    )
    sensitivity: float | None = option(
        "--sensitivity",
        type=_SHARE,
        help="For a judge without a run: the share of good answers that it passes.",
    )
    specificity: float | None = option(
        "--specificity",
        type=_SHARE,
        help="For a judge without a run: the share of bad answers that it fails.",
    )
    as_json: bool = shared(as_json)


@command("plan")
@options(PlanOptions)
def plan_sample(options: PlanOptions) -> int:
    """Estimate how many rows, labels and dollars a desired precision or power takes.

    The plan comes from simulated samples with their intervals and gates; the last line says how
    certain the answer is. Exit codes: 0 planned, 1 could not run, 2 usage, 5 out of reach.
    """
    judge = _judge(options)
    with as_usage_error():
        sample_plan = plan(options, judge)
    if options.as_json:
        print_results("plans", {"plans": 1}, [sample_plan.to_dict()])
    else:
        screen = Screen(language(), soft_wrap=True)
        for sentence in sample_plan.sentences():
            screen.say(sentence)
    return ExitCode.GATE_INCONCLUSIVE if sample_plan.size.count is None else ExitCode.OK


def _judge(options: PlanOptions) -> PlannedJudge | None:
    described = options.sensitivity, options.specificity
    if options.run is not None:
        if described != (None, None):
            raise SetupError("use only one of --judge and --sensitivity with --specificity")
        return planned_judge(options.run)
    if options.sensitivity is None or options.specificity is None:
        if described != (None, None):
            raise SetupError("--sensitivity and --specificity go together: give both")
        return None
    return PlannedJudge(
        quality=JudgeQuality(options.sensitivity, options.specificity), rows=options.rows or _ROWS
    )
