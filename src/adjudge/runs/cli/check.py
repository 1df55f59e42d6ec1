"""``adjudge check``: pass or fail on one criterion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from click import Context, Parameter, UsageError

from adjudge.core.catalog.aspects import aspect, aspects
from adjudge.core.domain.check_result import FAIL
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.file import holds_run
from adjudge.core.reading.toml_text import with_lines
from adjudge.core.reading.values import Place, load_yaml
from adjudge.messages import Message, plural
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
from adjudge.runs.cli.inputs import as_usage_error, columns_from, rows_in, texts_in
from adjudge.runs.cli.options import (
    Flags,
    accompanying,
    as_json,
    columns,
    command,
    good,
    judging,
    option,
    options,
    output,
    positional,
    rows,
    shared,
)
from adjudge.runs.cli.output import echo
from adjudge.runs.cli.settings import Settings, settings, typed_for_judges
from adjudge.runs.criteria_entry import Aspect, CriteriaEntry
from adjudge.runs.eval_file import AspectEntry, CheckEntry, DirectEntry, JudgeEntry
from adjudge.runs.exporters.table import check_writable
from adjudge.runs.folder import settings_in
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.gate import worst
from adjudge.runs.results.outcome import RunOutcome

if TYPE_CHECKING:
    from adjudge.core.checks.check import Expectation
    from adjudge.runs.execute import JudgmentDone


def _take_one(_: Context, parameter: Parameter, values: Sequence[str]) -> str | None:
    if len(values) > 1:
        raise UsageError(
            Message(
                "{option} is given {count} times, but check takes one criterion: judge several "
                "with 'adjudge judge', or list them in an eval file",
                option=parameter.opts[0],
                count=len(values),
            )
        )
    return values[0] if values else None


@light_dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of ``adjudge check``."""

    text: str | None = positional(
        "The text to judge; - reads it from standard input.", required=False
    )
    criterion: str | None = option(
        "--criterion",
        multiple=True,
        callback=_take_one,
        help="What the text must meet to pass, in a sentence.",
    )
    good: str | None = shared(good)
    aspect_name: str | None = option(
        "--aspect",
        multiple=True,
        callback=_take_one,
        help=f"A ready-made criterion: {', '.join(aspects('en'))}.",
    )
    contains: tuple[str, ...] = option(
        "--contains", multiple=True, help="Without a model: the text must contain this; repeatable."
    )
    regex: tuple[str, ...] = option(
        "--regex",
        multiple=True,
        help="Without a model: this regular expression must match somewhere; repeatable.",
    )
    equals: str | None = option("--equals", help="Without a model: the text must equal this.")
    checks: tuple[str, ...] = option(
        "--check",
        multiple=True,
        help=(
            "Without a model: any check, as in eval files, such as 'words: {most: 50}', json, or "
            "'not: {contains: sorry}'; repeatable."
        ),
    )
    settings: Settings = shared(settings(AspectEntry, "votes", "early_stop", "replacement"))
    file: Path | None = shared(rows)
    column: tuple[str, ...] = shared(columns)
    given: Mapping[str, str | Sequence[str]] = shared(accompanying)
    output: Path | None = shared(output)
    as_json: bool = shared(as_json)


@command()
@options(CheckOptions)
@judging()
def check(options: CheckOptions, flags: Flags) -> int:
    """Judge a text, a file or every row of a data set against one criterion; or check it without a
    model (--contains, --regex, --equals, --check). A failed check without a model exits with 4; a
    model's FAIL does so only with --fail-under.
    """
    check_writable(options.output)
    expectations = _expectations(options)
    if options.good and not options.criterion:
        raise UsageError(Message("--good needs --criterion: it says which answer is the good one"))
    if expectations:
        judge: JudgeEntry = _program(options, expectations)
    elif options.good == "no":
        judge = _question(options, flags)
    else:
        judge = _critic(options, flags)
    data = data_entry(flags, rows_in(options.text, options.file), columns_from(options.column))
    plan = prepare_run(
        eval_file_from_flags(
            flags,
            judge,
            data,
            texts_in(options.text, options.file, encoding=flags.encoding),
            options.given,
        ),
        flags,
    )
    outcome = outcome_for(plan, flags, is_good_known=options.good is not None)
    if flags.dry_run:
        show_estimate(estimated(outcome), as_json=options.as_json)
        return ExitCode.OK
    judgments = judge_all(
        RunDisplay(
            outcome, quiet=flags.quiet or options.as_json, listeners=flags.listeners, keeps=True
        )
    )
    code = finish(outcome, judgments, options.output, as_json=options.as_json)
    if not expectations or code not in (ExitCode.OK, ExitCode.UNSCORED):
        return code
    return worst([ExitCode(code), _failed_checks(outcome, judgments)])


def _failed_checks(outcome: RunOutcome, judgments: Iterable[JudgmentDone]) -> ExitCode:
    """Return 4 if a row fails a check, like test runners do. With gates, return 0: they decide how
    many may fail.
    """
    report = outcome.report()
    if report.gates:
        return ExitCode.OK
    failed = any(section.summary.options.get(FAIL) for section in report.sections)
    if failed and report.total > 1:
        rows = sum(
            any(judged.result.record(judged.judge, 0).choice == FAIL for judged in of_row)
            for _, of_row in groupby(judgments, attrgetter("row"))
        )
        line = plural(
            "{count} row fails a check, so the exit code is 4; --fail-under NUMBER allows some "
            "failures",
            "{count} rows fail a check, so the exit code is 4; --fail-under NUMBER allows some "
            "failures",
            rows,
        )
        echo(line, err=True)
    return ExitCode.GATE_FAILED if failed else ExitCode.OK


def _critic(options: CheckOptions, flags: Flags) -> AspectEntry:
    """Return the entry for a criterion that a model decides."""
    definition = _definition(options.criterion, options.aspect_name, flags.language)
    name = options.aspect_name or _criterion_name(options.criterion or "", flags)
    return AspectEntry(
        kind="aspect",
        criteria=(CriteriaEntry(Aspect(name, definition)),),
        **options.settings,
        **typed_for_judges(flags),
    )


def _question(options: CheckOptions, flags: Flags) -> DirectEntry:
    """Return the entry for a criterion whose good answer is no; it is phrased as a question."""
    criteria = yes_no_criteria(
        _definition(options.criterion, options.aspect_name, flags.language), is_yes_good=False
    )
    return DirectEntry(
        kind="direct",
        criteria=(CriteriaEntry(criteria),),
        **options.settings,
        **typed_for_judges(flags),
    )


def _program(options: CheckOptions, expected: tuple[Expectation, ...]) -> CheckEntry:
    """Return the entry for checks without a model. Raises a UsageError if a criterion was typed,
    too.
    """
    if options.criterion or options.aspect_name:
        raise UsageError(
            Message(
                "give either a criterion (judged by a model) or a check (which needs no model), "
                "or put both into an eval file ('adjudge init')"
            )
        )
    return CheckEntry(kind="check", checks=expected)


def _expectations(options: CheckOptions) -> tuple[Expectation, ...]:
    """Return the checks given on the command line."""
    definitions: list[object] = [{"contains": text} for text in options.contains]
    definitions += [{"regex": pattern} for pattern in options.regex]
    definitions += [{"equals": options.equals}] if options.equals is not None else []
    if not definitions and not options.checks:
        return ()
    from adjudge.core.checks.kinds import CheckType

    place = Place("--check")
    expectations = [CheckType().read(with_lines(definition), place) for definition in definitions]
    expectations += [
        CheckType().read(place_of_check.value, place_of_check)
        for place_of_check in (load_yaml(text, place) for text in options.checks)
    ]
    return tuple(expectations)


def _criterion_name(criterion: str, flags: Flags) -> str:
    """Return the criterion's text, or the name that it already has in the run to resume or to
    compare with.
    """
    folders = (flags.run, flags.not_worse_than, flags.baseline)
    for folder in (Path(path) for path in folders if path is not None and holds_run(Path(path))):
        for stored_settings in settings_in(folder):
            if str(stored_settings.get("definition")).strip() == criterion.strip():
                return str(stored_settings.get("name"))
    return criterion


def _definition(criterion: str | None, aspect_name: str | None, language: str) -> str:
    if (criterion is None) == (aspect_name is None):
        raise UsageError(
            Message(
                'nothing to check was given: use --criterion "…" or --aspect NAME or, without a '
                "model, --contains TEXT"
            )
        )
    with as_usage_error():
        return criterion if criterion is not None else aspect(aspect_name or "", language)
