"""``adjudge calibrate``: a run's numbers corrected by people's labels, or why they cannot be."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import get_args

import click

from adjudge.core.aio.files import writing
from adjudge.core.domain.label import DESIGNS, Design, Label
from adjudge.core.domain.light import light_dataclass
from adjudge.core.judges.learnt import Learnt
from adjudge.errors import SetupError
from adjudge.features.stress.drift.anchors import read_anchors
from adjudge.features.stress.drift.history import drift_report, looks_of
from adjudge.features.trust.terminal import show_calibration, show_cascades
from adjudge.messages import Message
from adjudge.runs.cli.inputs import check_criteria
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.kept import FACT
from adjudge.runs.cli.options import (
    PATH,
    as_json,
    cluster,
    command,
    confidence_of_intervals,
    option,
    options,
    positional,
    shared,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.folder import reading, run_info
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.gate import check_gate
from adjudge.runs.view.ending import show_next
from adjudge.runs.view.terminal import Screen
from adjudge.stats.agreement import Missing
from adjudge.stats.alt_test import EPSILON
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from adjudge.trust.cascades import CascadeReport, CascadeSettings, calibrate_cascades
from adjudge.trust.labels.files import LabelDefaults, read_labels, run_rows
from adjudge.trust.labels.scales import label_command, label_scale, label_scales
from adjudge.trust.labels.store import counting_labels
from adjudge.trust.learnt_weights import learnt_weights


@light_dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """What ``adjudge calibrate`` can be told."""

    run: Path = positional("A run folder.", type=PATH)
    file: Path | None = option(
        "--labels",
        type=PATH,
        help="Labels of a .csv or .jsonl file, instead of those in the run folder.",
    )
    design: Design = option(
        "--design",
        type=click.Choice(DESIGNS),
        default="chosen",
        help="How the rows of that file were chosen, where it is not said.",
    )
    annotator: tuple[str, ...] = option(
        "--annotator",
        multiple=True,
        help="Who gave the labels of that file; or which of its columns are annotators.",
    )
    criteria: str | None = option("--criteria", help="Only this criteria.")
    judge: str | None = option(
        "--judge", help="Only this judge, where several of the run judge by the same criteria."
    )
    target_width: float = option(
        "--target-width",
        type=click.FloatRange(0, 1, min_open=True),
        default=0.1,
        help="How narrow the interval should be.",
    )
    confidence: float = shared(confidence_of_intervals)
    cluster: str | None = shared(cluster)
    by: str | None = option(
        "--by",
        metavar="COLUMN",
        help=(
            "The corrected number, and agreement, apart for each value of this column; the "
            "intervals of all of them hold together."
        ),
    )
    missing: Missing = option(
        "--missing",
        type=click.Choice(get_args(Missing)),
        default="drop",
        help="What a judgment without a verdict counts as in agreement figures.",
    )
    epsilon: float = option(
        "--epsilon",
        type=click.FloatRange(0, 1),
        default=EPSILON,
        help=(
            "How much worse than a person the judge may be and still replace one: 0.2 for experts, "
            "0.15 skilled, 0.1 crowd."
        ),
    )
    seed: int = option(
        "--seed",
        type=int,
        default=0,
        help="Of the draws behind the intervals of kappa, alpha and the like.",
    )
    all_estimators: bool = option(
        "--all-estimators",
        is_flag=True,
        help="PPI++ and Rogan and Gladen's estimate as well; of a panel Dawid and Skene's model.",
    )
    sequential: bool = option(
        "--sequential",
        is_flag=True,
        help=(
            "Limits that hold however often you look while labelling, so that you may stop at any "
            "time; they are wider."
        ),
    )
    these_rows: bool = option(
        "--these-rows",
        is_flag=True,
        help=(
            "Intervals of exactly these rows, not of rows like them: narrower, since only rows "
            "without a label are uncertain."
        ),
    )
    drift: Path | None = option(
        "--drift",
        type=PATH,
        help="Anchors of the judge: labels older than a change that 'drift' found do not count.",
    )
    labels_before_change: bool = option(
        "--labels-before-change",
        is_flag=True,
        help="Let them count: the numbers are then those of the judge as it was.",
    )
    labels_are_model_made: bool = option(
        "--labels-are-model-made",
        is_flag=True,
        help="Correct by labels that a model made; the report says so.",
    )
    cascade: bool = option(
        "--cascade",
        is_flag=True,
        help=(
            "From which confidence on each step of a cascade may be accepted, instead of a "
            "corrected number."
        ),
    )
    risk: float = option(
        "--risk",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.1,
        help="Of a cascade: the greatest share of errors among accepted verdicts.",
    )
    delta: float = option(
        "--delta",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        help="Of a cascade: how often that promise may fail.",
    )
    output: Path | None = option(
        "-o",
        "--output",
        type=PATH,
        help=(
            "Write what was learnt here, for 'calibration' of an eval file: thresholds with "
            "--cascade, else weights of panels."
        ),
    )
    as_json: bool = shared(as_json)


@command("calibrate")
@options(CalibrateOptions)
def calibrate(options: CalibrateOptions) -> int:
    """Correct a run's numbers by what people said of some of its rows, and say how well judge and
    people agree.

    Only labels of rows that were drawn at random correct anything. With --cascade: when a step of a
    cascade is sure enough, by a run that asked every step about every row. Exit codes: 0 corrected,
    1 could not run, 5 refused: the labels do not carry a corrected number, or speak for no step,
    and the text says why and what would.
    """
    run, file, criteria = options.run, options.file, options.criteria
    with reading(run):  # that there is a run is asked before anything else
        labels = (
            None
            if file is None
            else _labels(
                run,
                file,
                LabelDefaults(options.annotator, criteria, "human", options.design),
            )
        )
    if options.cascade:
        wanted = CascadeSettings(
            risk=options.risk,
            delta=options.delta,
            cluster=options.cluster,
            labels_are_model_made=options.labels_are_model_made,
            labels_before_change=options.labels_before_change,
            changes=_changes(options),
        )
        return _cascades(
            run,
            calibrate_cascades(run, labels, criteria=criteria, settings=wanted),
            options.output,
            as_json=options.as_json,
        )
    found = calibrate_run(
        run, labels, criteria=criteria, judge=options.judge, settings=_settings(options)
    )
    if not found:
        raise _no_labels(run, file, criteria)
    if options.output:
        _write(
            options.output,
            Learnt(weights=tuple(learnt_weights(run, found))),
            Message("{run} has no panel of models that takes weights", run=run),
        )
    if options.as_json:
        print_results(
            "calibrations", {"calibrations": len(found)}, [one.to_dict() for one in found]
        )
    else:
        shared = Counter((one.criteria, one.system) for one in found)
        screen = Screen(language(), soft_wrap=True)
        for one in found:
            show_calibration(one, screen, name_judge=shared[one.criteria, one.system] > 1)
            for warning in one.panel.warnings if one.panel else ():
                echo(warning, fg="yellow", err=True)
        useful = next((one.criteria for one in found if not one.refusal), None)
        if useful is not None and (command := _next_command(run, useful)):
            show_next(command, screen)
    return ExitCode.GATE_INCONCLUSIVE if any(one.refusal for one in found) else ExitCode.OK


def _next_command(run: Path, criteria: str) -> str | None:
    """The same run with a gate, or the ranking of what it compares; None if the run cannot be
    resumed, or has no scores from 0 to 1.
    """
    scale = label_scale(run, criteria).scale
    if scale.compares:
        return f"adjudge rank {shlex.quote(str(run))}"
    info = run_info(run)
    if FACT not in info.facts:
        return None
    is_dimension = any(
        criteria in (one.dimensions or ()) for one in info.judge_configurations.values()
    )
    if not is_dimension:
        try:
            check_gate("", [scale.criteria])
        except SetupError:
            return None
    name = shlex.quote(f"{criteria}=0.8")
    return f"adjudge resume {shlex.quote(str(run))} -- --fail-under {name} --confidence 0.95"


def _settings(options: CalibrateOptions) -> CalibrationSettings:
    return CalibrationSettings(
        level=options.confidence,
        sequential=options.sequential,
        these_rows=options.these_rows,
        target_width=options.target_width,
        cluster=options.cluster,
        by=options.by,
        all_estimators=options.all_estimators,
        labels_are_model_made=options.labels_are_model_made,
        labels_before_change=options.labels_before_change,
        changes=_changes(options),
        agreement=AgreementSettings(
            missing=options.missing,
            epsilon=options.epsilon,
            draws=Draws(seed=options.seed),
        ),
    )


def _changes(options: CalibrateOptions) -> dict[str, float]:
    """When judges were found changed, by the anchors that are named."""
    if options.drift is None:
        return {}
    anchors = read_anchors(options.drift)
    if not {*run_info(options.run).identities.values()} & {*anchors.identities.values()}:
        raise SetupError(
            "{anchors} are anchors of another judge than those of {run}",
            anchors=options.drift,
            run=options.run,
        )
    return drift_report(anchors, looks_of(options.drift)).changes(anchors)


def _no_labels(run: Path, file: Path | None, criteria: str | None) -> SetupError:
    clause = Message(" of {criteria!r}", criteria=criteria) if criteria else ""
    if file is not None:
        return SetupError(
            "{file} holds no labels{clause} that {run} was judged by",
            file=file,
            clause=clause,
            run=run,
        )
    check_criteria(run, criteria)
    label_scales(run)  # raises if there is nothing to label
    return SetupError(
        "{run} has no labels{clause}: label rows with '{command}'",
        run=run,
        clause=clause,
        command=label_command(run, criteria) or "",
    )


def _cascades(run: Path, found: list[CascadeReport], output: Path | None, *, as_json: bool) -> int:
    if not found:
        raise SetupError(
            "{run} has no cascade with labels: run an eval file with 'cascade', then "
            "'adjudge label {run}'",
            run=run,
        )
    refused = any(one.refusal for one in found)
    kept = tuple(one.thresholds for one in found if not one.refusal)
    if output and kept:
        _write(output, Learnt(kept), "")
    if as_json:
        print_results("cascades", {"cascades": len(found)}, [one.to_dict() for one in found])
    else:
        show_cascades(found, Screen(language(), soft_wrap=True))
    return ExitCode.GATE_INCONCLUSIVE if refused else ExitCode.OK


def _write(path: Path, learnt: Learnt, nothing: str) -> None:
    if learnt == Learnt():
        raise SetupError(
            "{nothing}: there is nothing to write to {path}", nothing=nothing, path=path
        )
    with writing(path):
        learnt.write(path)
    echo(
        Message("written to {path}: name it under 'calibration' in the eval file", path=path),
        err=True,
    )


def _labels(run: Path, file: Path, defaults: LabelDefaults) -> list[Label]:
    with run_rows(run) as rows:
        return list(counting_labels(read_labels(file, rows, defaults)))
