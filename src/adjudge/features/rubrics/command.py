"""``adjudge rubric``: judge by rubrics, check rubrics, and have rubrics proposed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import click
from click import UsageError

from adjudge.core.data.dataset import read_instances
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent, RunError, SetupError
from adjudge.features.rubrics.audit import Audit, audit
from adjudge.features.rubrics.comparison import PairedFigure, RubricComparison, compare
from adjudge.features.rubrics.corrected import CorrectedRate, RubricCorrection, correct
from adjudge.features.rubrics.files import FORMATS, read_rubrics
from adjudge.features.rubrics.judge import RubricJudge
from adjudge.features.rubrics.kind import RubricEntry
from adjudge.features.rubrics.labels import read_labels
from adjudge.features.rubrics.layouts import parse_rubric
from adjudge.features.rubrics.lint import RubricFindingShape, RubricProblem, lint_rubric
from adjudge.features.rubrics.probes import PROBE_TITLES, probe_rubrics
from adjudge.features.rubrics.proposal import ProposedRubric, RubricWriter
from adjudge.features.rubrics.review import SUFFIX, ReviewRow, write_reviews
from adjudge.features.rubrics.rubric import Rubric
from adjudge.features.rubrics.run_records import rubric_records
from adjudge.features.rubrics.settings import RUBRIC_FIELDS
from adjudge.features.rubrics.texts import (
    change_title,
    comparison_notes,
    corrected_text,
    correction_notes,
    rate_title,
    unused_labels,
)
from adjudge.messages import Message, join, plural
from adjudge.runs.builder import open_entry
from adjudge.runs.cli.estimates import estimated, show_estimate
from adjudge.runs.cli.execute import (
    RunDisplay,
    data_entry,
    eval_file_from_flags,
    finish,
    judge_all,
    outcome_for,
    prepare_run,
)
from adjudge.runs.cli.inputs import columns_from
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.model_choice import choose_language, model_entries, price_table
from adjudge.runs.cli.options import (
    PATH,
    CommandGroup,
    Flags,
    argument,
    as_json,
    columns,
    judging,
    limit,
    max_calls,
    max_usd,
    models,
    option,
    options,
    output,
    positional,
    run_folder,
    server,
    shared,
)
from adjudge.runs.cli.output import echo
from adjudge.runs.cli.output import language as output_language
from adjudge.runs.cli.settings import Settings, settings, typed_for_judges
from adjudge.runs.exporters.table import check_writable
from adjudge.runs.numbers import figure
from adjudge.runs.project import ServerEntry
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.terminal import Screen

_MOST_SHOWN = 50
_MOST_REASONS = 10


@click.group(cls=CommandGroup)
def rubric() -> None:
    """Judge rows by weighted points, with a rubric per row, and check the points themselves."""


# -- judge -----------------------------------------------------------------------------


@light_dataclass(frozen=True, kw_only=True)
class RubricJudgeOptions:
    """Options of ``adjudge rubric judge``."""

    file: Path = positional("Rows: .csv, .jsonl, .json, .parquet, .xlsx.", type=PATH)
    settings: Settings = shared(settings(RubricEntry, "rubric", "votes", "evidence", "show_points"))
    per: str = option(
        "--per",
        type=click.Choice(["row", "point"]),
        default="row",
        help="Send all points of a row in one request, or one request per point.",
    )
    column: tuple[str, ...] = shared(columns)
    output: Path | None = shared(output)
    as_json: bool = shared(as_json)


@rubric.command("judge")
@options(RubricJudgeOptions)
@judging()
def judge(options: RubricJudgeOptions, flags: Flags) -> int:
    """Judge the answers of a file by rubrics."""
    check_writable(options.output)
    entry = RubricEntry(
        kind="rubric",
        **options.settings,
        per="point" if options.per == "point" else "row",
        **typed_for_judges(flags),
    )
    data = data_entry(flags, options.file, columns_from(options.column))
    outcome = outcome_for(prepare_run(eval_file_from_flags(flags, entry, data), flags), flags)
    if flags.dry_run:
        show_estimate(estimated(outcome), as_json=options.as_json)
        return ExitCode.OK
    quiet = flags.quiet or options.as_json
    outcomes = judge_all(RunDisplay(outcome, quiet=quiet, listeners=flags.listeners, keeps=True))
    return finish(outcome, outcomes, options.output, as_json=options.as_json)


# -- check -----------------------------------------------------------------------------


@rubric.command("check")
@argument("path", "A file of rubrics, rows with a column of rubrics, or a run folder.", type=PATH)
@click.option(
    "--labels",
    type=PATH,
    help="File of human labels of points, with the columns row, point and answer.",
)
@as_json
def check(path: Path, labels: Path | None, as_json: bool) -> int:
    """Check rubrics for likely problems before they cost money; for a run, also how well each point
    works.

    Exit code 1 if a rubric cannot be judged, else 0.
    """
    if path.is_dir():
        return _check_run(path, labels, as_json=as_json)
    if labels is not None:
        raise UsageError(Message("--labels works only with a run folder"))
    findings, count = _lint_all(_rubrics_in(path))
    errors = sum(finding.severity == "error" for finding in findings)
    if as_json:
        print_results(
            "rubric-findings",
            {"rubrics": count, "errors": errors, "warnings": len(findings) - errors},
            (fill(RubricFindingShape, finding) for finding in findings),
            {"file": str(path)},
        )
    else:
        _show_findings(findings, count)
    return ExitCode.COULD_NOT_RUN if errors else ExitCode.OK


def _rubrics_in(path: Path) -> Iterator[tuple[str, Rubric | SetupError]]:
    """Yield (row, rubric), with an error instead of a rubric that cannot be judged."""
    if path.suffix in (".yaml", ".yml"):
        yield from read_rubrics(path)
        return
    try:
        rows = [*_rows_of(path)] if path.suffix not in FORMATS or _has_rubric_column(path) else []
    except SetupError:
        rows = []
    if not rows:
        yield from read_rubrics(path)
        return
    if path.suffix == ".jsonl" and not all(_rubric_value(row) for row in rows):
        # some lines may be single points, which only a file of rubrics has
        with suppress(SetupError):  # else they are rows, some of which have no rubric
            yield from read_rubrics(path)
            return
    for row in rows:
        value = _rubric_value(row)
        name = row.id or ""
        try:
            if value is None:
                raise SetupError("the row has no rubric")
            yield name, parse_rubric(value if isinstance(value, str) else tuple(value))
        except SetupError as error:
            yield name, error


def _rows_of(path: Path) -> Iterator[Instance]:
    return read_instances(path, needed=(), also=RUBRIC_FIELDS)


def _rubric_value(row: Instance) -> str | Sequence[str] | None:
    return next((row.fields[name] for name in RUBRIC_FIELDS if name in row.fields), None)


def _has_rubric_column(path: Path) -> bool:
    first_row = next(iter(_rows_of(path)), None)
    return first_row is not None and any(name in first_row.fields for name in RUBRIC_FIELDS)


def _lint_all(
    rubrics: Iterable[tuple[str, Rubric | SetupError]],
) -> tuple[list[RubricProblem], int]:
    """Lint all rubrics; return the findings, errors first, and the number of rubrics."""
    findings, count = [], 0
    for row, rubric in rubrics:
        count += 1
        if isinstance(rubric, SetupError):
            findings.append(RubricProblem("error", row, "", str(rubric)))
        else:
            findings += lint_rubric(rubric, row)
    return sorted(findings, key=lambda finding: finding.severity), count


def _show_findings(findings: Sequence[RubricProblem], count: int) -> None:
    screen = Screen(output_language())
    for finding in findings[:_MOST_SHOWN]:
        place = ", ".join(filter(None, (finding.row, finding.point)))
        screen.say(
            Message(
                "{severity}: {place}: {message}",
                severity=Message("error") if finding.severity == "error" else Message("warning"),
                place=place or Message("the rubric"),
                message=finding.message,
            )
        )
    _say_more(screen, len(findings))
    errors = sum(finding.severity == "error" for finding in findings)
    screen.say(
        plural(
            "{count} rubric checked: {errors} errors, {warnings} warnings",
            "{count} rubrics checked: {errors} errors, {warnings} warnings",
            count,
            errors=errors,
            warnings=len(findings) - errors,
        )
    )


def _check_run(path: Path, labels: Path | None, *, as_json: bool) -> int:
    figures = audit(rubric_records(path), None if labels is None else read_labels(labels))
    if as_json:
        points = (point.to_dict() for point in figures.points)
        print_results("rubric-audit", figures.to_dict(), points, {"run": str(path)})
    else:
        _show_audit(figures)
    return ExitCode.OK


def _show_audit(figures: Audit) -> None:
    screen = Screen(output_language())
    points = sorted(figures.points, key=lambda point: -point.rows)[:_MOST_SHOWN]
    headings = (
        Message("point"),
        Message("rows"),
        Message("met"),
        Message("undecided"),
        Message("failed"),
        Message("quoted"),
        Message("votes differ"),
        Message("people"),
    )
    screen.show(
        screen.table(
            headings,
            (
                (
                    _with_judge(figures, point.judge, f"{point.id} {point.text[:50]}"),
                    str(point.rows),
                    figure(point.met),
                    str(point.undecided),
                    str(point.failed),
                    str(point.quoted),
                    figure(point.vote_variance),
                    "–"
                    if point.balanced_accuracy is None
                    else _balanced_accuracy(*point.balanced_accuracy),
                )
                for point in points
            ),
        )
    )
    _say_more(screen, len(figures.points))
    for remark in figures.remarks[:_MOST_SHOWN]:
        screen.say(
            Message(
                "point {id} ({text}): {message}",
                id=_with_judge(figures, remark.judge, remark.point),
                text=remark.text[:50],
                message=remark.message,
            )
        )
    _say_more(screen, len(figures.remarks))
    for note in unused_labels(figures.tied, figures.unmatched):
        screen.say(note)
    if figures.single:
        screen.say(
            Message(
                "{count} of {all} points are not assessed, because they are in fewer than 20 rows",
                count=figures.single,
                all=len(figures.points),
            )
        )
    if not figures.remarks:
        screen.say(Message("No point stands out."))


def _say_more(screen: Screen, count: int) -> None:
    """Say how many of ``count`` entries were not shown."""
    if count > _MOST_SHOWN:
        screen.say(Message("and {count} more; --json has all", count=count - _MOST_SHOWN))


def _with_judge(figures: Audit, judge: str, name: str) -> str:
    """Put the judge before a point's name if there are several."""
    return name if len(figures.judges) < 2 else f"{judge}: {name}"


# -- compare -----------------------------------------------------------------------------


@rubric.command("diff")
@argument("before", "A run folder.", type=PATH)
@argument("now", "A later run on the same rows.", type=PATH)
@as_json
def diff(before: Path, now: Path, as_json: bool) -> int:
    """Compare two runs by score, category and point. Rows are joined by their id.

    `adjudge runs diff` gives an interval for the change.
    """
    comparison = compare(before, now, rubric_records(before), rubric_records(now))
    if not comparison.changes:
        raise RunError("no row of {before} is in {now}: give rows an id", before=before, now=now)
    if as_json:
        summary: JsonDict = {
            "figures": len(comparison.changes),
            "judgments_in_one_run_only": comparison.alone,
            "rows_with_other_rubrics": comparison.other_rubrics,
            "settings_that_differ": comparison.settings,
        }
        print_results("rubric-diff", summary, (change.to_dict() for change in comparison.changes))
    else:
        _show_changes(comparison)
    return ExitCode.OK


def _show_changes(comparison: RubricComparison) -> None:
    screen = Screen(output_language())
    headings = (
        Message("figure"),
        Message("rows"),
        Message("before"),
        Message("now"),
        Message("change"),
        Message("better"),
        Message("worse"),
        Message("left out"),
    )
    for judge in comparison.judges:
        if len(comparison.judges) > 1:
            screen.say(judge)
        changes = [change for change in comparison.shown if change.judge == judge]
        screen.show(screen.table(headings, map(_change_cells, changes[:_MOST_SHOWN])))
        _say_more(screen, len(changes))
    for note in comparison_notes(comparison):
        screen.say(note)


def _balanced_accuracy(value: float, lower: float, upper: float) -> Message:
    return Message("{value:.2f} ({lower:.2f}–{upper:.2f})", value=value, lower=lower, upper=upper)


def _change_cells(change: PairedFigure) -> Sequence[object]:
    return (
        change_title(change),
        str(change.rows),
        *(figure(value, 3) for value in (change.before, change.now)),
        "–" if change.change is None else Message("{value:+.3f}", value=change.change),
        str(change.better),
        str(change.worse),
        str(change.left_out),
    )


# -- people's labels -----------------------------------------------------------------------


@rubric.command("calibrate")
@argument("run", "A run folder.", type=PATH)
@click.option(
    "--labels",
    type=PATH,
    required=True,
    help="A CSV or JSONL file with the columns row, point and answer (met or not met), for rows "
    "that were drawn at random.",
)
@as_json
def calibrate(run: Path, labels: Path, as_json: bool) -> int:
    """Correct the share of met points and the mean score, using human labels of some rows.

    Exit code 5 if there are too few labels to correct any of them.
    """
    correction = correct(rubric_records(run), read_labels(labels))
    if as_json:
        summary: JsonDict = {
            "labels": correction.labels,
            "tied_labels": correction.tied,
            "labels_of_other_rows": correction.unmatched,
        }
        print_results("rubric-rates", summary, (rate.to_dict() for rate in correction.rates))
    else:
        _show_rates(correction)
    return ExitCode.OK if correction.is_corrected else ExitCode.GATE_INCONCLUSIVE


def _show_rates(correction: RubricCorrection) -> None:
    screen = Screen(output_language())
    headings = (
        Message("figure"),
        Message("verdicts"),
        Message("failed"),
        Message("labels"),
        Message("judge"),
        Message("corrected"),
    )
    for judge in correction.judges:
        if len(correction.judges) > 1:
            screen.say(judge)
        rates = [rate for rate in correction.rates if rate.judge == judge]
        screen.show(screen.table(headings, map(_rate_cells, rates)))
    for note in correction_notes(correction):
        screen.say(note)


def _rate_cells(rate: CorrectedRate) -> Sequence[object]:
    return (
        rate_title(rate),
        str(rate.rows - rate.without_verdict),
        str(rate.without_verdict),
        str(rate.labels),
        figure(rate.judged, 3),
        corrected_text(rate),
    )


# -- probe -----------------------------------------------------------------------------


@rubric.command("probe")
@argument("file", "Rows with a column of rubrics.", type=PATH)
@click.option(
    "--rows", type=click.IntRange(1), default=20, help="Maximum number of rows, from the first."
)
@models
@server
@max_calls
@max_usd
@run_folder
@click.option("--language", help="Language of prompts: en (default) or ru.")
@as_json
def probe(
    file: Path,
    rows: int,
    model: tuple[str, ...],
    at: ServerEntry,
    max_calls: int | None,
    max_usd: float | None,
    run: Path | None,
    language: str | None,
    as_json: bool,
) -> int:
    """Judge answers that deserve no points: an empty answer, a refusal, the question, and the
    points themselves. A point that any of them meets is weak, or gives the answer away.

    Exit codes: 0 done, 1 could not run, 3 some points have no verdict.
    """
    from itertools import islice

    probed: list[tuple[Instance, Rubric]] = []
    for row in islice(read_instances(file, needed=(), also=("user_input", *RUBRIC_FIELDS)), rows):
        value = next((row.fields[name] for name in RUBRIC_FIELDS if name in row.fields), None)
        if value is None:
            raise SetupError("{file}: {id}: the row has no rubric", file=file, id=row.id or "")
        probed.append((row, parse_rubric(value if isinstance(value, str) else tuple(value))))
    if not probed:
        raise SetupError("{file} contains no rows", file=file)
    entries = model_entries(model, at)
    judge = RubricJudge(
        [open_entry(entry, cache=True, prices=price_table()) for entry in entries],
        per="point",
        language=choose_language(language),
    )
    limits = None if max_calls is None and max_usd is None else Budget(max_usd, max_calls, None)
    report = probe_rubrics(judge, probed, run=run, budget=limits)
    lost = sum(figures.failed for figures in report.counts.values())
    if report.stopped:
        echo(report.stopped, err=True)
    if as_json:
        counts = {name: figures.to_dict() for name, figures in report.counts.items()}
        print_results(
            "rubric-probes",
            {"rows": report.rows, "points": len(report.points), "probes": counts},
            (point.to_dict() for point in report.leaking),
            {"file": str(file)},
        )
        return ExitCode.UNSCORED if lost else ExitCode.OK
    for name, figures in report.counts.items():
        if not (figures.judged or figures.undecided or figures.failed):
            continue
        echo(
            Message(
                "{probe}: {credited} of {count} points met; {undecided} cannot be decided, "
                "{failed} without a verdict",
                probe=PROBE_TITLES[name],
                credited=figures.credited,
                count=figures.judged,
                undecided=figures.undecided,
                failed=figures.failed,
            )
        )
    for point in report.leaking[:_MOST_SHOWN]:
        echo(
            Message(
                "  {row}, {point} {text!r}: met by {probes}",
                row=point.row,
                point=point.point.id,
                text=point.point.text,
                probes=join(", ", [PROBE_TITLES[name] for name in point.credited]),
            )
        )
    if len(report.leaking) > _MOST_SHOWN:
        echo(Message("and {count} more; --json has all", count=len(report.leaking) - _MOST_SHOWN))
    return ExitCode.UNSCORED if lost else ExitCode.OK


# -- propose -----------------------------------------------------------------------------


@rubric.command("propose")
@argument("file", "Rows with a question and, ideally, a reference answer.", type=PATH)
@click.option("-o", "--output", type=PATH, help=f"The new file, by default NAME{SUFFIX}.")
@models
@server
@limit
@max_calls
@max_usd
@run_folder
@click.option("--language", help="Language of prompts and points: en (default) or ru.")
def propose(
    file: Path,
    output: Path | None,
    model: tuple[str, ...],
    at: ServerEntry,
    limit: int | None,
    max_calls: int | None,
    max_usd: float | None,
    run: Path | None,
    language: str | None,
) -> int:
    """Have a model propose a rubric per row. The points are marked as proposals until a person
    accepts them, in the file or on the page Rubrics of `adjudge view`.

    Exit codes: 0 done, 1 could not run, 3 some rows have no proposal.
    """
    target = output or file.with_name(f"{file.stem}{SUFFIX}")
    if target.exists():
        raise RunError("{file} already exists: choose another name with -o", file=target)
    prompt_language = choose_language(language)
    rows = [
        *read_instances(
            file, limit=limit, needed=(), may_be_empty=("user_input",), also=("reference",)
        )
    ]
    ids = Counter(str(row.id) for row in rows)
    if twice := next((id for id, count in ids.items() if count > 1), None):
        raise SetupError(
            "{file}: two rows have the id {id!r}: give each a different one, since rubrics belong "
            "to ids",
            file=file,
            id=twice,
        )
    entries = model_entries(model, at)
    writers = [open_entry(entry, cache=True, prices=price_table()) for entry in entries]
    limits = None if max_calls is None and max_usd is None else Budget(max_usd, max_calls, None)
    writer = RubricWriter(writers, language=prompt_language)
    asked = [row for row in rows if str(row.fields.get("user_input") or "").strip()]
    stopped: Message | None = None
    results: Mapping[int, object]
    try:
        results = dict(enumerate(writer.evaluate(asked, run=run, budget=limits)))
    except BudgetSpent as spent:
        if not spent.results:
            raise
        results, stopped = spent.results, spent.message
    proposals = {
        str(asked[number].id): result
        for number, result in results.items()
        if isinstance(result, ProposedRubric)
    }
    reviews: list[ReviewRow] = []
    reasons: dict[str, str] = {}
    for row in rows:
        name, proposal = str(row.id), proposals.get(str(row.id))
        question = str(row.fields.get("user_input", ""))
        points = proposal.points if proposal else ()
        reviews.append(ReviewRow(name, question, str(row.fields.get("reference", "")), points))
        if not question.strip():
            reasons[name] = Message("it has no question")
        elif not points:
            lost = stopped or Message("no model answered")
            reasons[name] = proposal.reason or lost if proposal else lost
    write_reviews(target, reviews)
    echo(
        plural(
            "{count} rubric proposed, in {file}; rows without one: {missing}",
            "{count} rubrics proposed, in {file}; rows without one: {missing}",
            len(reviews) - len(reasons),
            file=target,
            missing=len(reasons),
        )
    )
    for name, reason in list(reasons.items())[:_MOST_REASONS]:
        echo(Message("row {id} has no rubric: {reason}", id=name, reason=reason), err=True)
    if (more := len(reasons) - _MOST_REASONS) > 0:
        echo(plural("and {count} more row", "and {count} more rows", more), err=True)
    return ExitCode.UNSCORED if reasons else ExitCode.OK
