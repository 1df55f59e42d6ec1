"""``adjudge calibrate``: a run's numbers corrected by people's labels, or why they cannot be."""

from __future__ import annotations

from pathlib import Path

import click

from adjudge.cli.json_text import print_results
from adjudge.cli.options import PATH, argument, as_json, cluster, command, confidence_of_intervals
from adjudge.cli.show_calibration import show_calibration
from adjudge.domain.label import DESIGNS, Design, Label
from adjudge.errors import SetupError
from adjudge.reports.exit_code import ExitCode
from adjudge.runs.folder import reading
from adjudge.runs.label_files import LabelDefaults, read_labels, run_rows
from adjudge.stats.agreement import Missing
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.calibration import CalibrationSettings, calibrate_run


@command("calibrate")
@argument("run", "A run folder.", type=PATH)
@click.option("--labels", "file", type=PATH, help="Labels of a .csv or .jsonl file, instead of those in the run folder.")
@click.option(
    "--design", type=click.Choice(DESIGNS), default="chosen", help="How the rows of that file were chosen, where it is not said."
)
@click.option("--annotator", multiple=True, help="Who gave the labels of that file; or which of its columns are annotators.")
@click.option("--criteria", help="Only this criteria.")
@click.option(
    "--target-width", type=click.FloatRange(0, 1, min_open=True), default=0.1, help="How narrow the interval should be."
)
@confidence_of_intervals
@cluster
@click.option("--by", "group", metavar="COLUMN", help="Agreement apart for each value of this column.")
@click.option(
    "--missing",
    type=click.Choice(("drop", "tie", "wrong")),
    default="drop",
    help="What a judgment without a verdict counts as in agreement figures.",
)
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 1),
    default=0.15,
    help="How much worse than a person the judge may be and still replace one: 0.2 for experts, 0.15 skilled, 0.1 crowd.",
)
@click.option("--seed", type=int, default=0, help="Of the draws behind the intervals of kappa, alpha and the like.")
@click.option("--all-estimators", is_flag=True, help="PPI++ and Rogan and Gladen's estimate as well.")
@click.option("--labels-are-model-made", is_flag=True, help="Correct by labels that a model made; the report says so.")
@as_json
def calibrate(
    run: Path,
    file: Path | None,
    design: Design,
    annotator: tuple[str, ...],
    criteria: str | None,
    target_width: float,
    confidence: float,
    cluster: str | None,
    group: str | None,
    missing: Missing,
    epsilon: float,
    seed: int,
    all_estimators: bool,
    labels_are_model_made: bool,
    as_json: bool,
) -> int:
    """Correct a run's numbers by what people said of some of its rows, and say how well judge and people agree.

    Only labels of rows that were drawn at random correct anything. Exit codes: 0 corrected, 1 could not run, 5 refused: the
    labels do not carry a corrected number, and the text says why and what would.
    """
    settings = CalibrationSettings(
        level=confidence,
        target_width=target_width,
        cluster=cluster,
        all_estimators=all_estimators,
        labels_are_model_made=labels_are_model_made,
        agreement=AgreementSettings(missing=missing, group=group, epsilon=epsilon, draws=Draws(seed=seed)),
    )
    with reading(run):  # that there is a run is asked before anything else
        labels = None if file is None else _labels(run, file, LabelDefaults(annotator, criteria, "human", design))
    found = calibrate_run(run, labels, criteria=criteria, settings=settings)
    if not found:
        raise SetupError(f"{run} has no labels{f' of {criteria!r}' if criteria else ''}: label rows with 'adjudge label {run}'")
    if as_json:
        print_results("calibrations", {"calibrations": len(found)}, [one.to_dict() for one in found])
    else:
        for one in found:
            show_calibration(one)
    return ExitCode.GATE_INCONCLUSIVE if any(one.refusal for one in found) else ExitCode.OK


def _labels(run: Path, file: Path, defaults: LabelDefaults) -> list[Label]:
    with run_rows(run) as rows:
        return list(read_labels(file, rows, defaults))
