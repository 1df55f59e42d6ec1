"""``adjudge drift``: find out whether a judge has changed since its anchors were made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from adjudge.core.aio.files import writing
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.file import holds_run
from adjudge.errors import RunError
from adjudge.features.stress.drift.anchors import anchors_from, read_anchors
from adjudge.features.stress.drift.history import (
    DriftReport,
    drift_report,
    look_folder,
    look_plan,
    looks_of,
    next_look,
)
from adjudge.features.stress.drift_report import drift_document, sentence, summary
from adjudge.messages import Message, plural
from adjudge.runs.cli.estimates import show_estimate
from adjudge.runs.cli.execute import check_resumed, follow_run, with_weights
from adjudge.runs.cli.json_text import echo_json
from adjudge.runs.cli.model_choice import price_table
from adjudge.runs.cli.named_judge import NamedJudge
from adjudge.runs.cli.options import (
    FROM_ONE,
    PATH,
    CommandGroup,
    argument,
    as_json,
    option,
    options,
    pages,
    positional,
    shared,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.cli.stored_options import facts_to_keep
from adjudge.runs.execute import estimate
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.page_files import check_page, envelope, pages_of, write_page
from adjudge.runs.judge_changes import keep_changes
from adjudge.runs.plan import Plan, resolve
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.document import show_document
from adjudge.runs.view.terminal import Screen

_ANCHORS = "The file of anchors that 'adjudge drift init' wrote."
_looks = click.option(
    "--looks", type=PATH, help="Folder for the checks; by default NAME-looks next to the anchors."
)


@click.group("drift", cls=CommandGroup)
def drift() -> None:
    """Find out whether a judge has changed, by judging the same rows again as often as you like."""


@drift.command("init")
@argument("run", "A run folder of the current judge.", type=PATH)
@click.option(
    "-o", "--output", type=PATH, required=True, help="File for the anchors, e.g. anchors.jsonl."
)
@click.option("--count", type=FROM_ONE, default=100, help="Number of anchors; 100 by default.")
@click.option("--seed", type=int, default=0, help="Seed for drawing rows.")
def init(run: Path, output: Path, count: int, seed: int) -> int:
    """Choose anchors from a run: rows of all lengths, with their verdicts.

    Anchors are drawn by a hash, independently of the verdicts. The file contains the rows; keep
    it under version control.
    """
    if output.exists():
        raise RunError("{path} already exists: give another name", path=output)
    anchors = anchors_from(run, count, seed)
    runs_folder = os.path.relpath(run.absolute().parent, output.absolute().parent)
    anchors = replace(anchors, runs=Path(runs_folder).as_posix())
    with writing(output), text_file(output) as file:
        file.writelines(anchors.to_lines())
    echo(
        Message(
            "{path}: anchors: {anchors}, questions: {questions}. Check again with: adjudge drift "
            "check {path} EVAL",
            path=output,
            anchors=len(anchors.anchors),
            questions=len({name for anchor in anchors.anchors for name in anchor.answers}),
        )
    )
    if anchors.reused:
        warning = plural(
            "{count} anchor has a verdict that {run} reused from the cache or an earlier run: it "
            "may be older than a change of the judge. To anchor the judge as it is now, judge the "
            "rows again with adjudge run EVAL --run RUN --no-cache, and make the anchors from that "
            "run.",
            "{count} anchors have verdicts that {run} reused from the cache or an earlier run: "
            "they may be older than a change of the judge. To anchor the judge as it is now, judge "
            "the rows again with adjudge run EVAL --run RUN --no-cache, and make the anchors from "
            "that run.",
            anchors.reused,
            run=run,
        )
        echo(warning, err=True)
    return ExitCode.OK


@light_dataclass(frozen=True, kw_only=True)
class DriftOptions(NamedJudge):
    """Options of ``adjudge drift check``."""

    anchors: Path = positional(_ANCHORS, type=PATH)
    eval_file: Path | None = positional("The eval file with the judge.", type=PATH, required=False)
    looks: Path | None = shared(_looks)
    folder: Path | None = option("--run", type=PATH, hidden=True, help="The look that is resumed.")
    output: tuple[Path, ...] = shared(pages)
    as_json: bool = shared(as_json)


@drift.command("check")
@options(DriftOptions)
def check(options: DriftOptions) -> int:
    """Judge the anchors again, and say whether the judge has changed.

    Every check is a new run in its own folder, without the cache; the same command resumes a
    check that was stopped. Exit codes: 0 no change shown, 1 could not run, 2 usage, 3 some
    anchors have no verdict, 4 the judge changed, 5 cannot tell.
    """
    for path in options.output:
        check_page(path)
    original = read_anchors(options.anchors)
    looks = options.folder.parent if options.folder else options.looks or looks_of(options.anchors)
    number = next_look(looks)
    folder = look_folder(looks, number)
    if options.folder and folder.absolute() != options.folder.absolute():
        raise RunError("{folder} is complete: there is nothing to resume", folder=options.folder)
    check_resumed(folder, resume=options.resume)
    file = options.file(options.eval_file, options.anchors)
    prices = price_table(options.prices)
    plan = with_weights(
        lambda: resolve(
            file,
            # a look must ask the judge as it is now
            cache=False,
            folder=folder,
            prices=prices,
            budget=options.budget(),
            dry_run=options.dry_run,
        )
    )
    look = look_plan(plan, original, number)
    _check_questions(look, {name for anchor in original.anchors for name in anchor.answers})
    if options.dry_run:
        show_estimate(estimate(look), as_json=options.as_json)
        return ExitCode.OK
    look = replace(look, facts={**look.facts, **facts_to_keep("drift check", prices)})
    follow_run(look, quiet=options.quiet or options.as_json)
    report = drift_report(original, looks)
    if original.runs:
        _note_changes(options.anchors, original.runs, report.changes(original))
    return _tell(report, options.anchors, options.output, as_json=options.as_json)


def _note_changes(anchors: Path, runs_path: str, changes: Mapping[str, float]) -> None:
    """Note changes in the folder of runs that the anchors name.

    If that is outside the anchors' folder and the current one, only print a warning.
    """
    runs = (anchors.parent / runs_path).resolve()
    if not changes or not runs.is_dir() or not any(map(holds_run, runs.iterdir())):
        return
    # the file may come from anybody: it may only name folders below its own, or below the current
    # one
    if not any(runs.is_relative_to(folder.resolve()) for folder in (anchors.parent, Path())):
        warning = Message(
            "{anchors} names runs in {runs}, which is neither below its folder nor below the "
            "current one, so the change is not recorded there. Calibrate those runs with --drift "
            "{anchors}",
            anchors=anchors,
            runs=runs,
        )
        echo(warning, err=True)
        return
    with writing(runs):
        keep_changes(runs, changes)


@drift.command("history")
@argument("anchors", _ANCHORS, type=PATH)
@_looks
@pages
@as_json
def history(anchors: Path, looks: Path | None, output: tuple[Path, ...], as_json: bool) -> int:
    """Show all checks of the anchors without asking the judge. Exit codes as for 'drift check'."""
    for path in output:
        check_page(path)
    report = drift_report(read_anchors(anchors), looks or looks_of(anchors))
    return _tell(report, anchors, output, as_json=as_json)


def _check_questions(look: Plan, names: set[str]) -> None:
    """Raise a RunError, before anything is paid for, if the judge asks none of the anchors'
    questions.
    """
    questions = {criterion.name for ready in look.judges for criterion in ready.criteria}
    if not questions or len(questions) < len(look.judges):
        return  # some judges name their questions themselves
    if not any(name in questions or name.partition(": ")[2] in questions for name in names):
        raise RunError(
            "the anchors are for {known}, but the judge asks {asked}: use the judge of the run "
            "that they come from",
            known=", ".join(map(repr, sorted(names))),
            asked=", ".join(map(repr, sorted(questions))),
        )


def _tell(report: DriftReport, anchors: Path, output: tuple[Path, ...], *, as_json: bool) -> int:
    output_language = language()
    document = drift_document(report, anchors.name, output_language)
    report_data = _json(report)
    for path in output:
        write_page(path, pages_of(document, output_language, report_data))
    if as_json:
        echo_json(report_data)
    else:
        show_document(document, Screen(output_language))
        for path in output:
            echo(path)
    if report.changed:
        return ExitCode.GATE_FAILED
    if report.cannot_tell:
        return ExitCode.GATE_INCONCLUSIVE
    return ExitCode.UNSCORED if report.unscored else ExitCode.OK


def _json(report: DriftReport) -> JsonObject:
    looks = len(report.looks) - 1
    counts = {
        "anchors": report.anchors,
        "looks": looks,
        "edited": len(report.edited),
        "unscored": report.unscored,
    }
    more: JsonObject = {
        "notes": list(map(str, summary(report))),
        "edited": list(report.edited),
        "looks": [
            {"number": look.number, "at": look.at, "models": dict(look.models)}
            for look in report.looks
        ],
        "renamed": [
            {"model": model, "before": model_then, "now": now}
            for model, model_then, now in report.renamed
        ],
    }
    results = [
        {**question.to_dict(), "sentence": str(sentence(question, looks))}
        for question in report.questions
    ]
    return envelope("drift", counts, results, more)
