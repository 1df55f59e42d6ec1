"""``adjudge learn``: train a local judge of one criterion on the labels of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from adjudge.core.aio.files import writing
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.features.local.libraries import import_numpy
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import (
    PATH,
    as_json,
    cluster,
    command,
    option,
    options,
    positional,
    shared,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.terminal import Screen

if TYPE_CHECKING:
    from adjudge.features.learning.examples import Source


@light_dataclass(frozen=True, kw_only=True)
class LearnOptions:
    """Options of ``adjudge learn``."""

    run: Path = positional("A run folder with labels or votes.", type=PATH)
    criterion: str | None = option(
        "--criterion", help="Criterion to label, if the run has several."
    )
    source: str = option(
        "--from",
        metavar="SOURCE",
        default="labels",
        help=(
            "What to learn from: labels, votes:MODEL, or both:MODEL (labels, and votes for rows "
            "without one)."
        ),
    )
    cluster: str | None = shared(cluster)
    words_only: bool = option(
        "--words-only", is_flag=True, help="Learn from words alone, without the embedded model."
    )
    states: Path | None = option(
        "--states",
        type=PATH,
        help="File to keep the embedded model's states in (5 kB per row), so that the next call "
        "reads only those of new rows.",
    )
    cascade: bool = option(
        "--cascade",
        is_flag=True,
        help=("Also set a cascade threshold: train on half of the rows, set it on the other half."),
    )
    cross: bool = option(
        "--cross",
        is_flag=True,
        help="With --cascade: use all rows both for learning and for the threshold, which then "
        "guarantees nothing.",
    )
    risk: float = option(
        "--risk",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.02,
        help="How many more errors per row a cascade may make than its last step alone.",
    )
    delta: float = option(
        "--delta",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        help="Probability that the promise fails.",
    )
    output: Path = option(
        "-o",
        "--output",
        type=PATH,
        default=Path("judge.json"),
        help="File for the judge; judge.json by default.",
    )
    as_json: bool = shared(as_json)


@command("learn")
@options(LearnOptions)
def learn(options: LearnOptions) -> int:
    """Teach a local judge one criterion from the labels of a run, and measure how good it is.

    The judge is a small file, used as -m learned/FILE, in eval files and in cascades. It needs 30
    labels, 5 of them with the rarer answer. Exit codes: 0 learned, 1 could not run, 5 learned,
    but no better than the free alternatives.
    """
    import_numpy()
    from adjudge.features.learning.examples import examples_of
    from adjudge.features.learning.learner import LearnedJudge, LearnSettings
    from adjudge.features.learning.report import learned_data, next_lines, show_learned

    if options.cross and not options.cascade:
        raise SetupError("--cross affects only the threshold of a cascade: add --cascade")
    if options.states and options.words_only:
        raise SetupError("--states keeps what the embedded model reads: leave out --words-only")
    source, _, model = options.source.partition(":")
    if source not in ("labels", "votes", "both") or (source != "labels") != bool(model):
        raise SetupError(
            "--from must be labels, votes:MODEL or both:MODEL, not {source!r}",
            source=options.source,
        )
    examples = examples_of(
        options.run,
        criterion=options.criterion,
        source=cast("Source", source),
        model=model or None,
        cluster=options.cluster,
    )
    learned = LearnedJudge.from_examples(
        examples,
        LearnSettings(
            words_only=options.words_only,
            cascade=options.cascade,
            cross=options.cross,
            risk=options.risk,
            delta=options.delta,
            states=options.states,
        ),
    )
    with writing(options.output):
        learned.save(options.output)
    if options.as_json:
        print_results("learned", {"judges": 1}, [learned_data(learned)])
    else:
        show_learned(learned, Screen(language(), soft_wrap=True))
    for line in next_lines(options.output):
        echo(line, err=True)
    return ExitCode.OK if learned.figures.is_worth_it else ExitCode.GATE_INCONCLUSIVE
