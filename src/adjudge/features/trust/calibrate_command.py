"""``adjudge calibrate``: correct a run's rates using human labels, or say why that is
impossible.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path

from adjudge.core.aio.files import writing
from adjudge.core.domain.label import Label
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.errors import SetupError
from adjudge.features.stress.drift.anchors import read_anchors
from adjudge.features.stress.drift.history import drift_report, looks_of
from adjudge.features.trust.terminal import show_calibration, show_cascades
from adjudge.messages import Message
from adjudge.runs.cli.inputs import check_criteria
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import (
    PATH,
    as_json,
    command,
    encoding,
    option,
    options,
    positional,
    shared,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.cli.settings import Settings, settings
from adjudge.runs.cli.stored_options import FACT
from adjudge.runs.folder import reading, run_info
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.gate import check_gate
from adjudge.runs.view.ending import show_next
from adjudge.runs.view.terminal import Screen
from adjudge.stats.bootstrap import Draws
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from adjudge.trust.cascades import CascadeReport, CascadeSettings, calibrate_cascades
from adjudge.trust.labels.files import LabelDefaults, read_labels, run_rows
from adjudge.trust.labels.scales import (
    label_command,
    label_scale,
    label_scales,
    refuse_opposed,
)
from adjudge.trust.learnt_weights import learnt_weights
from adjudge.trust.probabilities import ProbabilityReport, calibrate_probabilities


@light_dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """Options of ``adjudge calibrate``."""

    run: Path = positional("A run folder.", type=PATH)
    file: Path | None = option(
        "--labels",
        type=PATH,
        help="Read labels from this .csv or .jsonl file instead of the run folder.",
    )
    labels: Settings = shared(
        settings(LabelDefaults, "design", "annotators", "criteria", into="labels")
    )
    judge: str | None = option(
        "--judge", help="Only this judge, if several judges of the run use the same criteria."
    )
    calibration: Settings = shared(
        settings(
            CalibrationSettings,
            *("target_width", "level", "cluster", "by", "agreement.missing", "agreement.epsilon"),
            *("all_estimators", "sequential", "these_rows"),
            *("labels_before_change", "labels_are_model_made"),
            into="calibration",
        )
    )
    seed: int = option(
        "--seed",
        type=int,
        default=0,
        help="Seed for the bootstrap intervals of kappa, alpha and similar figures.",
    )
    drift: Path | None = option(
        "--drift",
        type=PATH,
        help="Anchors of the judge; labels older than a change that 'adjudge drift' found are "
        "not counted.",
    )
    cascade: bool = option(
        "--cascade",
        is_flag=True,
        help=(
            "Find the confidence from which each step of a cascade may be accepted, instead of a "
            "corrected number."
        ),
    )
    probabilities: bool = option(
        "--probabilities",
        is_flag=True,
        help=(
            "Measure how far a model's probabilities can be trusted, instead of a corrected "
            "number: a temperature per criterion, and the confidence from which its verdicts are "
            "accepted."
        ),
    )
    risks: Settings = shared(settings(CascadeSettings, "risk", "delta", into="risks"))
    output: Path | None = option(
        "-o",
        "--output",
        type=PATH,
        help=(
            "Write the calibration to this file, for 'calibration' in an eval file: thresholds "
            "with --cascade and --probabilities, otherwise panel weights."
        ),
    )
    encoding: str | None = shared(encoding)
    as_json: bool = shared(as_json)


@command("calibrate")
@options(CalibrateOptions)
def calibrate(options: CalibrateOptions) -> int:
    """Correct a run's numbers using human labels of some rows, and measure how well judge and
    people agree.

    Only labels of randomly drawn rows are used for corrections. With --cascade: find the
    confidence from which a step of a cascade may decide, using a run that asked every step about
    every row. Exit codes: 0 corrected, 1 could not run, 5 refused: there are too few labels for a
    corrected number or for any step; the output says why and how many would be enough.
    """
    run, file, criteria = options.run, options.file, options.labels["criteria"]
    with reading(run):  # that there is a run is asked before anything else
        labels = None if file is None else _labels(options, file)
    if options.cascade and options.probabilities:
        raise SetupError("--cascade and --probabilities cannot be combined: give one")
    if options.cascade or options.probabilities:
        return _calibrate_thresholds(options, labels)
    calibrations = calibrate_run(
        run, labels, criteria=criteria, judge=options.judge, settings=_settings(options)
    )
    if not calibrations:
        raise _no_labels(run, file, criteria)
    if options.output:
        _write(
            options.output,
            Learnt(weights=tuple(learnt_weights(run, calibrations))),
            Message("{run} has no panel of models that could be weighted", run=run),
        )
    if options.as_json:
        print_results(
            "calibrations",
            {"calibrations": len(calibrations)},
            [calibration.to_dict() for calibration in calibrations],
        )
    else:
        # the judge is named only if another one answers the same question
        shared = Counter((calibration.criteria, calibration.system) for calibration in calibrations)
        screen = Screen(language(), soft_wrap=True)
        for calibration in calibrations:
            show_calibration(
                calibration, screen, name_judge=shared[calibration.criteria, calibration.system] > 1
            )
            for warning in calibration.panel.warnings if calibration.panel else ():
                echo(warning, fg="yellow", err=True)
        useful = next(
            (calibration.criteria for calibration in calibrations if not calibration.refusal), None
        )
        if useful is not None and (command := _next_command(run, useful)):
            show_next(command, screen)
    return (
        ExitCode.GATE_INCONCLUSIVE
        if any(calibration.refusal for calibration in calibrations)
        else ExitCode.OK
    )


def _next_command(run: Path, criteria: str) -> str | None:
    """Return a command to continue with: ``resume`` with a gate, or ``rank`` for comparisons.

    Return None if the run cannot be resumed, or has no scores from 0 to 1.
    """
    scale = label_scale(run, criteria).scale
    if scale.compares:
        return f"adjudge rank {shlex.quote(str(run))}"
    info = run_info(run)
    if FACT not in info.facts:
        return None
    is_dimension = any(
        criteria in (configuration.dimensions or ())
        for configuration in info.judge_configurations.values()
    )
    if not is_dimension:
        try:
            # raises unless the scores are from 0 to 1
            check_gate("", [scale.criteria])
        except SetupError:
            return None
    name = shlex.quote(f"{criteria}=0.8")
    return f"adjudge resume {shlex.quote(str(run))} -- --fail-under {name} --confidence 0.95"


def _settings(options: CalibrateOptions) -> CalibrationSettings:
    agreement = replace(options.calibration["agreement"], draws=Draws(seed=options.seed))
    return CalibrationSettings(
        **{**options.calibration, "agreement": agreement}, changes=_changes(options)
    )


def _calibrate_thresholds(options: CalibrateOptions, labels: list[Label] | None) -> int:
    """Find the confidence from which to accept cascade steps or model probabilities."""
    of_labels = ("cluster", "labels_are_model_made", "labels_before_change")
    settings = CascadeSettings(
        **options.risks,
        **{name: options.calibration[name] for name in of_labels},
        changes=_changes(options),
    )
    run, criteria = options.run, options.labels["criteria"]
    if options.probabilities:
        probabilities = calibrate_probabilities(run, labels, criteria=criteria, settings=settings)
        return _probabilities(run, probabilities, options.output, as_json=options.as_json)
    cascades = calibrate_cascades(run, labels, criteria=criteria, settings=settings)
    return _cascades(run, cascades, options.output, as_json=options.as_json)


def _changes(options: CalibrateOptions) -> dict[str, float]:
    """Return when judges changed, according to the anchors in ``--drift``.

    Raise a SetupError if the anchors belong to another judge.
    """
    if options.drift is None:
        return {}
    anchors = read_anchors(options.drift)
    if not {*run_info(options.run).identities.values()} & {*anchors.identities.values()}:
        raise SetupError(
            "{anchors} are anchors of a different judge than those of {run}",
            anchors=options.drift,
            run=options.run,
        )
    return drift_report(anchors, looks_of(options.drift)).changes(anchors)


def _no_labels(run: Path, file: Path | None, criteria: str | None) -> SetupError:
    clause = Message(" for {criteria!r}", criteria=criteria) if criteria else ""
    if file is not None:
        return SetupError(
            "{file} contains no labels{clause} for what {run} judged",
            file=file,
            clause=clause,
            run=run,
        )
    check_criteria(run, criteria)
    refuse_opposed(label_scales(run), criteria)  # raises if there is nothing to label
    return SetupError(
        "{run} has no labels{clause}: label rows with '{command}'",
        run=run,
        clause=clause,
        command=label_command(run, criteria) or "",
    )


def _cascades(
    run: Path, reports: list[CascadeReport], output: Path | None, *, as_json: bool
) -> int:
    if not reports:
        raise SetupError(
            "{run} has no labelled cascade: run an eval file with 'cascade', then 'adjudge label "
            "{run}'",
            run=run,
        )
    refused = any(report.refusal for report in reports)
    thresholds = tuple(report.thresholds for report in reports if not report.refusal)
    if output and thresholds:
        _write(output, Learnt(thresholds), "")
    if as_json:
        print_results(
            "cascades", {"cascades": len(reports)}, [report.to_dict() for report in reports]
        )
    else:
        show_cascades(reports, Screen(language(), soft_wrap=True))
    return ExitCode.GATE_INCONCLUSIVE if refused else ExitCode.OK


def _probabilities(
    run: Path, reports: list[ProbabilityReport], output: Path | None, *, as_json: bool
) -> int:
    if not reports:
        raise SetupError(
            "{run} has no labelled judge with a single model: label rows with 'adjudge label "
            "{run}'",
            run=run,
        )
    if as_json:
        documents = [report.to_dict() for report in reports]
        print_results("probabilities", {"probabilities": len(reports)}, documents)
    else:
        show_cascades(reports, Screen(language(), soft_wrap=True))
    if output:
        _write_probabilities(run, reports, output)
    refused = any(report.refusal for report in reports)
    return ExitCode.GATE_INCONCLUSIVE if refused else ExitCode.OK


def _write_probabilities(run: Path, reports: list[ProbabilityReport], path: Path) -> None:
    thresholds = tuple(report.thresholds for report in reports if not report.refusal)
    temperatures = tuple(
        fitted for report in reports if (fitted := report.learnt_temperature) is not None
    )
    learnt = Learnt(thresholds, temperatures=temperatures)
    if learnt == Learnt():
        echo(
            Message(
                "the labels of {run} support neither a threshold nor a temperature: {path} is not "
                "written",
                run=run,
                path=path,
            ),
            err=True,
        )
        return
    _write(path, learnt, "")
    if without := [report.criteria for report in reports if report.refusal]:
        echo(
            Message(
                "no threshold for {names}: a cascade cannot use {path} for it",
                names=", ".join(map(repr, without)),
                path=path,
            ),
            err=True,
        )


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


def _labels(options: CalibrateOptions, file: Path) -> list[Label]:
    defaults = LabelDefaults(**options.labels)
    with run_rows(options.run) as rows:
        labels = read_labels(file, rows, defaults, encoding=options.encoding)
        return list(labels)
