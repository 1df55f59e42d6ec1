"""``adjudge judge`` and ``adjudge compare``: judge texts by criteria with options, and compare
responses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from click import UsageError

from adjudge.core.catalog.criteria import criteria_of, read_criteria, ready_made
from adjudge.core.catalog.entry import Kind
from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.multi_criteria import MultiCriteria
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.pooling.composite import composite
from adjudge.messages import Message
from adjudge.runs.cli.estimates import estimated, show_estimate
from adjudge.runs.cli.execute import (
    JudgmentSpool,
    RunDisplay,
    data_entry,
    eval_file_from_flags,
    finish,
    judge_all,
    outcome_for,
    prepare_run,
)
from adjudge.runs.cli.inputs import (
    as_usage_error,
    check_given,
    columns_from,
    is_rows,
    refuse_files,
    rows_in,
    texts_in,
)
from adjudge.runs.cli.options import (
    PATH,
    Flags,
    accompanying,
    as_json,
    both_orders,
    columns,
    command,
    gate,
    good,
    judging,
    named,
    option,
    options,
    output,
    positional,
    questions,
    shared,
)
from adjudge.runs.cli.settings import Settings, settings, typed_for_judges
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import DataEntry, DirectEntry, EvalFile, PairwiseEntry
from adjudge.runs.execute import JudgmentDone
from adjudge.runs.exporters.table import check_writable
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.outcome import RunOutcome


@light_dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The options that both commands have."""

    given: Mapping[str, str | Sequence[str]] = shared(accompanying)
    output: Path | None = shared(output)
    as_json: bool = shared(as_json)


@light_dataclass(frozen=True, kw_only=True)
class JudgeOptions(TextOptions):
    """The options of ``adjudge judge``."""

    text: str | None = positional(
        "The text to judge; - reads it from standard input.", required=False
    )
    criterion: tuple[str, ...] = shared(questions)
    good: str | None = shared(good)
    named: tuple[str, ...] = shared(named)
    file: Path | None = option(
        "-f",
        "--file",
        "--data",
        type=PATH,
        help="A text, or a file of rows: .csv, .jsonl, .json, …; - reads rows from standard input.",
    )
    column: tuple[str, ...] = shared(columns)
    settings: Settings = shared(
        settings(DirectEntry, "votes", "check_positional_bias", "feedback", "replacement")
    )


@light_dataclass(frozen=True, kw_only=True)
class CompareOptions(TextOptions):
    """The options of ``adjudge compare``."""

    responses: tuple[str, ...] = positional("Two or more responses to compare.", nargs=-1)
    criterion: tuple[str, ...] = shared(questions)
    named: tuple[str, ...] = shared(named)
    file: Path | None = option(
        "-f", "--file", "--data", type=PATH, help="Rows: .csv, .jsonl, .json, …; - reads them."
    )
    column: tuple[str, ...] = option(
        "--column", multiple=True, help="A response's column (repeat), or FIELD=COLUMN."
    )
    settings: Settings = shared(
        settings(PairwiseEntry, "votes", "contests", "tie_enabled", "order", "replacement")
    )
    check_positional_bias: bool = shared(both_orders)


@command()
@options(JudgeOptions)
@judging()
def judge(options: JudgeOptions, flags: Flags) -> int:
    """Judge texts by one criterion, or by several with equal weights."""
    if options.good and not options.criterion:
        raise UsageError(Message("--good needs --criterion: it says which answer is the good one"))
    criteria = _criteria(options.criterion, options.named, "direct", flags.language)
    if options.good == "no":
        criteria = [
            yes_no_criteria(criterion.name, is_yes_good=False)
            if _is_plain_question(criterion)
            else criterion
            for criterion in criteria
        ]
    check_writable(options.output)
    field = _judged_field(criteria, options.given)
    entry = DirectEntry(
        kind="direct",
        criteria=tuple(map(CriteriaEntry, criteria)),
        **options.settings,
        **typed_for_judges(flags),
    )
    data = data_entry(
        flags, rows_in(options.text, options.file), columns_from(options.column, field)
    )
    texts = texts_in(options.text, options.file, field, flags.encoding)
    outcome, judgments = _execute(
        eval_file_from_flags(
            flags, entry, data, _complete(texts, options.given, criteria), options.given
        ),
        flags,
        as_json=options.as_json,
        is_good_known=options.good is not None,
    )
    if judgments is None:
        return ExitCode.OK
    multi = MultiCriteria.of(criteria)
    has_scores = all(None not in criterion.points for criterion in criteria)
    aggregates = (
        (
            {
                "row": row + 1,
                "judgments": numbers,
                **composite(results[0].instance, multi, results).aggregate(),
            }
            for row, numbers, results in _by_row(judgments, len(criteria))
        )
        if len(criteria) > 1 and has_scores
        else None
    )
    return finish(
        outcome, judgments, options.output, as_json=options.as_json, aggregates=aggregates
    )


@command()
@options(CompareOptions)
@judging(
    {
        "fail_under": gate(
            "Exit with 4 if the win rate of the column NAME is below NUMBER; repeatable."
        )
    }
)
def compare(options: CompareOptions, flags: Flags) -> int:
    """Say which of two or more responses is better, and over several rows which system wins."""
    criteria = _criteria(options.criterion, options.named, "pairwise", flags.language)
    if len(criteria) > 1:
        raise UsageError(Message("compare takes one criterion at a time on the command line"))
    if options.check_positional_bias and options.settings["order"] == "one":
        raise UsageError(
            Message(
                "--check-positional-bias asks in both orders, but --order one in only one: leave "
                "one of them out"
            )
        )
    check_writable(options.output)
    entry = PairwiseEntry(
        kind="pairwise",
        criteria=tuple(map(CriteriaEntry, criteria)),
        **options.settings,
        **typed_for_judges(flags),
    )
    data, texts = _comparisons(
        options.responses, options.file, options.column, criteria[0].to_evaluate_field, flags
    )
    outcome, judgments = _execute(
        eval_file_from_flags(
            flags, entry, data, _complete(texts, options.given, criteria), options.given
        ),
        flags,
        as_json=options.as_json,
    )
    if judgments is None:
        return ExitCode.OK
    return finish(outcome, judgments, options.output, as_json=options.as_json)


def _execute(
    file: EvalFile, flags: Flags, *, as_json: bool, is_good_known: bool = False
) -> tuple[RunOutcome, JudgmentSpool | None]:
    """Execute the run. With ``--dry-run``, print only the cost and return no judgments."""
    outcome = outcome_for(prepare_run(file, flags), flags, is_good_known=is_good_known)
    if flags.dry_run:
        show_estimate(estimated(outcome), as_json=as_json)
        return outcome, None
    return outcome, judge_all(
        RunDisplay(outcome, quiet=flags.quiet or as_json, listeners=flags.listeners, keeps=True)
    )


def _criteria(
    questions: Sequence[str], named: Sequence[str], kind: Kind, language: str
) -> list[Criteria]:
    criteria = [criteria_of(question, kind, language) for question in questions]
    for name in named:
        if len(name.split()) > 1 and not Path(name).exists():
            raise UsageError(
                Message(
                    "-c takes the name of ready-made criteria or a file, not {name!r}: pass your "
                    "own question with --criterion",
                    name=name,
                )
            )
        criteria += (
            read_criteria(name, kind) if Path(name).suffix else [_ready_made(name, kind, language)]
        )
    if not criteria:
        raise UsageError(
            Message(
                "no criteria were given: use --criterion \"…\" or -c NAME ('adjudge criteria' "
                "lists the ready-made ones)"
            )
        )
    return criteria


def _is_plain_question(criteria: Criteria) -> bool:
    """Return True if the criterion was typed as a question; by default its good answer is yes."""
    return criteria.is_yes_good and not criteria.title


def _ready_made(name: str, kind: Kind, language: str) -> Criteria:
    with as_usage_error():
        return ready_made(name, kind, language)


def _judged_field(criteria: Sequence[Criteria], given: Collection[str]) -> str:
    """Return the field that the first criterion judges. Raises a UsageError if an option already
    provides it.
    """
    field = criteria[0].to_evaluate_field
    if field in given:
        raise UsageError(
            Message(
                "criteria {name!r} judges {judged!r}: pass it as the text itself",
                name=criteria[0].name,
                judged=field,
            )
        )
    return field


def _complete(
    texts: list[Instance], given: Collection[str], criteria: Sequence[Criteria]
) -> list[Instance]:
    """Return the texts. Raises an error that names the option to use if a criterion reads a field
    that they lack.
    """
    for instance in texts:
        for criterion in criteria:
            check_given(criterion, {*instance.fields, *given})
    return texts


def _by_row(
    judged: Iterable[JudgmentDone], criteria: int
) -> Iterator[tuple[int, list[int], list[DirectInstanceResult]]]:
    """Yield each row with results for all criteria: its position, its judgments' numbers from 1,
    and its results.
    """
    for place, row in groupby(judged, lambda judgment: judgment.row):
        numbered_results = [(judgment.number + 1, judgment.result) for judgment in row]
        results = [
            result for _, result in numbered_results if isinstance(result, DirectInstanceResult)
        ]
        if len(results) == criteria:
            yield place, [number for number, _ in numbered_results], results


def _comparisons(
    responses: Sequence[str], file: Path | None, column: Sequence[str], field: str, flags: Flags
) -> tuple[DataEntry, list[Instance]]:
    if bool(responses) == (file is not None):
        raise UsageError(
            Message("nothing to compare was given: pass at least two responses, or --file ROWS")
        )
    if file is not None and not is_rows(file):
        raise UsageError(
            Message(
                "comparisons are read from rows, but {file} is neither CSV nor JSONL, JSON, "
                "Parquet or Excel",
                file=file,
            )
        )
    refuse_files(responses)
    if len(responses) == 1:
        raise UsageError(
            Message("a comparison needs at least two responses, but only one was given")
        )
    response_columns = tuple(name for name in column if "=" not in name)
    if repeated := next(
        (name for place, name in enumerate(response_columns) if name in response_columns[:place]),
        None,
    ):
        raise UsageError(
            Message(
                "--column {twice} is given twice: a comparison needs two different columns",
                twice=repeated,
            )
        )
    field_columns = columns_from([name for name in column if "=" in name])
    texts: list[Instance] = [] if file else [PairwiseInstance({field: list(responses)})]
    return data_entry(flags, file, field_columns, responses=response_columns), texts
