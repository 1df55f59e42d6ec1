"""Options that several commands share, and the help of commands with arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, field, fields
from functools import wraps
from inspect import cleandoc, get_annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click
from click.core import ParameterSource

from adjudge.core.domain.instance import texts_beside
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.reading.objects import location_of
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import Parts
from adjudge.runs.cli.declared_options import ONE_COLUMN, F, declared_option, typed_value
from adjudge.runs.cli.help import Argument, Helpful, HelpfulGroup
from adjudge.runs.cli.model_choice import choose_language
from adjudge.runs.cli.overwrite_guard import refuse_overwriting
from adjudge.runs.cli.shell_names import criteria_names, model_names
from adjudge.runs.cli.typed_values import bar, header_line, known_encoding, variable, writable
from adjudge.runs.project import ServerEntry
from adjudge.runs.trusted_folders import trusting

if TYPE_CHECKING:
    from adjudge.runs.eval_file import FailUnder

PATH = click.Path(path_type=Path)


class _Location(click.Path):
    def convert(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002
        return location_of(value, Path()) if isinstance(value, str) else value


LOCATION = _Location()
"""A path, or the address of a file in an object store."""
LANGUAGE = click.Choice(("en", "ru"))
FROM_ZERO = click.IntRange(min=0)
FROM_ONE = click.IntRange(min=1)
_MAKES = "adjudge.option"
"""The metadata key of the function that makes a field's option."""
Decorator = Callable[[F], F]


_LANGUAGE_OPTION = click.Option(
    ["--language"],
    type=LANGUAGE,
    expose_value=False,
    help="Output language: en or ru. Default: the project's, else that of LANG.",
)


class _WithLanguage(Helpful):
    """A command with ``--language``, its own or the common one."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Add the language before ``--help``."""
        params = super().get_params(ctx)
        return (
            params
            if any("--language" in param.opts for param in params)
            else [*params[:-1], _LANGUAGE_OPTION, *params[-1:]]
        )


class Command(_WithLanguage):
    """A command whose help lists its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse --output more than once if the command writes one file: only the last would be
        written.
        """
        if sum(arg in ("-o", "--output") or arg.startswith("--output=") for arg in args) > 1:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for param in self.params:
                is_single = "--output" in param.opts and not (
                    isinstance(param, click.Option) and param.multiple
                )
                if is_single and order.count(param) > 1:
                    raise click.UsageError(
                        Message(
                            "this command writes one file, but --output was given {count} times. "
                            "Name one, and write others with adjudge export RUN -o FILE",
                            count=order.count(param),
                        ),
                        ctx,
                    )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse to overwrite a file that the command reads."""
        output_names = {str(param.name) for param in self.params if "--output" in param.opts}
        if outputs := _paths(ctx.params[name] for name in output_names):
            inputs = {name: value for name, value in ctx.params.items() if name not in output_names}
            try:
                refuse_overwriting(
                    outputs, [*_paths(inputs.values()), *map(Path, inputs.get("named", ()))]
                )
            except SetupError as error:
                raise click.UsageError(str(error)) from error
        return super().invoke(ctx)


def _paths(values: Iterable[object]) -> list[Path]:
    """Return the paths among the typed values."""
    value_groups = (value if isinstance(value, tuple) else (value,) for value in values)
    return [part for group in value_groups for part in group if isinstance(part, Path)]


class CommandGroup(_WithLanguage, HelpfulGroup):
    """A group of commands."""

    command_class = Command


class PartChoice(click.Choice[str]):
    """A choice of built-in names, listed in the help, that also accepts names from plugins."""

    def __init__(self, parts: Parts[Any], names: Sequence[str]) -> None:
        super().__init__(names)
        self._parts = parts

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Accept the name of a plugin's part, too."""
        if value in self.choices or value not in self._parts:
            return super().convert(value, param, ctx)
        return value


def argument(
    name: str,
    help: str,
    *,
    required: bool | None = None,
    nargs: int | None = None,
    type: click.ParamType[object] | None = None,
    default: object = None,
) -> Callable[[F], F]:
    """Return a decorator that adds an argument with a line of help."""
    return click.argument(
        name, cls=Argument, help=help, required=required, nargs=nargs, type=type, default=default
    )


def command(name: str | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a command whose help lists its arguments."""
    return click.command(name, cls=Command)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Combine several options into one decorator, in this order."""

    def decorate(function: F) -> F:
        # the option that is applied last is listed first
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def option(*names: str, **settings: Any) -> Any:
    """Return a field of an options class, filled by an option. Takes the arguments of
    ``click.option``.
    """
    return _field(lambda name: click.option(*names, name, **settings))


def positional(help: str, **settings: Any) -> Any:
    """Return a field of an options class, filled by an argument of the same name."""
    return _field(lambda name: argument(name, help, **settings))


def shared(decorator: Decorator[Any]) -> Any:
    """Return a field of an options class, filled by an option that several commands have."""
    return _field(lambda _name: decorator)


def _field(make: Callable[[str], Decorator[Any]]) -> Any:
    return field(metadata={_MAKES: make})


def options(
    kind: type,
    name: str = "options",
    make: Callable[..., object] | None = None,
    other: Mapping[str, Decorator[Any]] | None = None,
    *,
    if_typed: bool = False,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that adds an option for each field of ``kind``, inherited fields last.

    The command gets them as one value, ``name``. Fields are made with ``option``, ``positional`` or
    ``shared``, or are settings made with ``key``. ``make``: called instead of ``kind``. ``other``:
    see ``judging``. ``if_typed``: pass None if the user typed none of the options.
    """
    names = [field.name for field in fields(kind) if _is_option(field)]
    settings = {field.name: field for field in fields(kind) if "type" in field.metadata}

    def collect(**typed: Any) -> object:
        declared = {field: typed_value(settings[field], typed[field]) for field in settings}
        return (make or kind)(**{**typed, **declared})

    return given_as(name, collect, names, *_options_of(kind, other), if_typed=if_typed)


def _is_option(field: Field[Any]) -> bool:
    return _MAKES in field.metadata or "type" in field.metadata


def _options_of(kind: type, other: Mapping[str, Decorator[Any]] | None) -> Iterator[Decorator[Any]]:
    """Yield the options of all fields. ``other``: field → option to use instead."""
    fields_by_name = {setting.name: setting for setting in fields(kind)}
    names = dict.fromkeys(name for cls in kind.__mro__ for name in get_annotations(cls))
    for name in names:
        if name in fields_by_name and _is_option(fields_by_name[name]):
            make_option = fields_by_name[name].metadata.get(_MAKES)
            own_option = make_option(name) if make_option else declared_option(fields_by_name[name])
            yield (other or {}).get(name) or own_option


def given_as(
    name: str,
    make: Callable[..., object],
    taken: Sequence[str],
    *options: Decorator[Any],
    if_typed: bool = False,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that passes several options as one value, ``name``, made by ``make``.

    ``if_typed``: pass None if the user typed none of them.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def call(**typed: Any) -> int:
            values = {option_name: typed.pop(option_name) for option_name in taken}
            value = make(**values) if not if_typed or _is_any_typed(taken) else None
            return function(**{name: value}, **typed)

        decorated: Callable[..., int] = together(*options)(call)
        return decorated

    return decorate


def _is_any_typed(names: Sequence[str]) -> bool:
    """Return True if the user typed any of the options."""
    source = click.get_current_context().get_parameter_source
    return any(source(name) is not ParameterSource.DEFAULT for name in names)


def _beside(
    user_input: str | None, reference: str | None, context: Sequence[str] | None
) -> dict[str, str | Sequence[str]]:
    """Return the fields given by --user-input, --reference and --context."""
    return texts_beside(user_input, reference, context or None)


def use_trust(context: click.Context, _parameter: click.Parameter, is_typed: bool) -> bool:
    """Trust every file until the command ends."""
    if is_typed:
        context.with_resource(trusting())
    return is_typed


trust = click.option(
    "--trust",
    is_flag=True,
    expose_value=False,
    callback=use_trust,
    help="Trust the folder's files for this one command, as in CI; see 'adjudge trust'.",
)
yes = click.option("--yes", is_flag=True, callback=use_trust, help="Alias for --trust.")
"""The older name of ``--trust`` on commands that take eval files."""


def _server(
    base_url: str | None, api_key_env: str | None, header: tuple[tuple[str, str], ...]
) -> ServerEntry:
    return ServerEntry(base_url=base_url, api_key_env=api_key_env, headers=header)


models = click.option(
    "-m",
    "--model",
    multiple=True,
    shell_complete=model_names,
    help="Model to ask; repeat for a panel.",
)


base_url = click.option(
    "--base-url",
    help="Base URL for the models, such as a company's gateway: https://host/v1.",
)
api_key_env = click.option(
    "--api-key-env",
    type=variable,
    metavar="NAME",
    help="Environment variable with the key.",
)
header = click.option(
    "--header",
    multiple=True,
    type=header_line,
    metavar="'NAME: VALUE'",
    help="Also send this header; $VARIABLE in its value is replaced by that environment "
    "variable. Repeatable.",
)
server = given_as(
    "at", _server, ("base_url", "api_key_env", "header"), base_url, api_key_env, header, trust
)
"""Gives the command ``at``: the server of its models."""
rows = click.option(
    "-f",
    "--file",
    "--data",
    "file",
    type=PATH,
    help="Rows (.csv, .tsv, .jsonl, .json, .parquet, .xlsx; - reads them), or one text.",
)
columns = click.option(
    "--column",
    multiple=True,
    help=(
        "Column to judge, or FIELD=COLUMN; a path such as input.query or messages[-1].content "
        "reaches into a column. Repeatable."
    ),
)
row_names = click.option(
    "--id",
    "id",
    metavar="COLUMN",
    **ONE_COLUMN,
    help="Column with a stable row id, used to match rows across runs.",
)
questions = click.option("--criterion", multiple=True, help="A yes-or-no question; repeatable.")


class _YesOrNo(click.Choice[str]):
    """Yes or no, also in Russian."""

    _IN_RUSSIAN: ClassVar[Mapping[str, str]] = {"да": "yes", "нет": "no"}

    def __init__(self) -> None:
        super().__init__(("yes", "no"), case_sensitive=False)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        return super().convert(self._IN_RUSSIAN.get(str(value).casefold(), value), param, ctx)


good = click.option(
    "--good",
    type=_YesOrNo(),
    help="Which answer to --criterion is the good one; by default yes.",
)
named = click.option(
    "-c",
    "--criteria",
    "named",
    multiple=True,
    shell_complete=criteria_names,
    help="Ready-made criteria ('adjudge criteria' lists them), or a YAML or JSON file; repeatable.",
)
user_input = click.option("--user-input", help="The question that is answered.")
reference = click.option("--reference", help="A reference answer to compare with.")
contexts = click.option(
    "--context", multiple=True, help="A source that should support the answer; repeatable."
)
accompanying = given_as(
    "given", _beside, ("user_input", "reference", "context"), user_input, reference, contexts
)
"""Gives the command ``given``: field → what was typed for it."""
language = click.option(
    "--language",
    type=LANGUAGE,
    help="Language of prompts, explanations, ready-made criteria and reports: en (default) or ru.",
)
both_orders = click.option(
    "--check-positional-bias", is_flag=True, hidden=True, help="The same as --order both."
)


output = click.option(
    "-o",
    "--output",
    type=PATH,
    callback=writable,
    help="Also write the results: .csv or .jsonl, one row per judgment, or a page: .md or .html.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
limit = click.option("--limit", type=FROM_ONE, help="Judge only the first rows.")
temperature = click.option(
    "--temperature", type=float, help="Temperature. Default: 0 for one vote, 1 for several."
)
seed = click.option("--seed", type=int, help="Seed; sample i uses seed + i.")
at_once = click.option(
    "-j",
    "--max-concurrency",
    type=FROM_ONE,
    help="Maximum concurrent requests per model; 32 by default.",
)


def _bars(
    _context: click.Context,
    _parameter: click.Parameter,
    given: Sequence[tuple[str, float]],
) -> FailUnder | None:
    """Return a single bar without a name as a number, other bars as pairs, and None if there are
    none. Two different bars of a name are refused.
    """
    named: dict[str, float] = {}
    for name, number in given:
        if named.setdefault(name, number) != number:
            raise click.UsageError(
                Message(
                    "--fail-under is given twice for {name}, with {one} and {two}: leave one out",
                    name=name or Message("every criterion"),
                    one=named[name],
                    two=number,
                )
            )
    return given[0][1] if len(given) == 1 and not given[0][0] else tuple(given) or None


def gate(help: str) -> Decorator[Any]:
    """Return ``--fail-under`` with a command's own help."""
    return click.option(
        "--fail-under", multiple=True, type=bar, callback=_bars, metavar="[NAME=]NUMBER", help=help
    )


fail_under = gate(
    "Exit with 4 if a criterion's mean score is below this; NAME: only that criterion or "
    "system. Repeatable."
)
baseline = click.option("--baseline", type=PATH, help="A run folder to compare with.")
confidence = click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    help=(
        "Confidence that a gate needs, such as 0.95; otherwise it is undecided (exit 5). Without "
        "this option, the mean is compared with the bar."
    ),
)
gate_sequential = click.option(
    "--sequential",
    is_flag=True,
    help=(
        "With --confidence: use limits that stay valid however often the gates are checked while "
        "rows are added. They are wider."
    ),
)
not_worse_than = click.option(
    "--not-worse-than",
    metavar="RUN",
    help="Exit with 4 if a criterion is worse than in this run, compared row by row.",
)
margin = click.option(
    "--margin", type=click.FloatRange(min=0), help="How much worse than that run it may be."
)
run_folder = click.option(
    "--run",
    type=PATH,
    help="Store every answer in this folder; answers already in it are reused.",
)
resume = click.option("--resume", is_flag=True, help="Fail if the run does not exist yet.")
max_usd = click.option(
    "--max-usd", type=click.FloatRange(min=0), help="Stop before more dollars than this are spent."
)
max_calls = click.option(
    "--max-calls", type=FROM_ZERO, help="Stop before more requests than this are sent."
)
max_tokens = click.option(
    "--max-tokens", type=FROM_ZERO, help="Stop before more tokens than this are used."
)
prices = click.option(
    "--prices", type=PATH, help="A file with your own prices, in dollars per million tokens."
)
no_cache = click.option(
    "--no-cache", is_flag=True, help="Neither read nor keep replies in the user's cache."
)


encoding = click.option(
    "--encoding",
    type=known_encoding,
    metavar="TEXT",
    help="Encoding of the input file, if not UTF-8, e.g. cp1252, or cp1251 for Cyrillic.",
)
sheet = click.option(
    "--sheet", metavar="NAME", help="Sheet of an Excel workbook; by default the first visible one."
)
header_row = click.option(
    "--header-row",
    type=FROM_ONE,
    metavar="N",
    help="The row of the sheet that names the columns; by default the first with a text.",
)
bad_rows = click.option(
    "--stop-at-bad-row/--skip-bad-rows",
    help=("What to do if a row cannot be judged: stop, or skip it, report it and exit with 3."),
)
LEVEL = click.FloatRange(0.5, 1, min_open=True, max_open=True)
confidence_of_intervals = click.option(
    "--confidence", type=LEVEL, default=0.95, help="Confidence level of all intervals."
)
pages = click.option(
    "-o",
    "--output",
    type=PATH,
    multiple=True,
    help="Also write the report: .md, .html or .json; repeatable.",
)
cluster = click.option(
    "--cluster",
    **ONE_COLUMN,
    metavar="COLUMN",
    help="Treat rows with the same value in this column as one unit, e.g. one conversation.",
)
slices = click.option(
    "--by",
    **ONE_COLUMN,
    metavar="COLUMN",
    help="Also report each value of this column separately (simultaneous intervals).",
)
gate_cluster = click.option(
    "--cluster",
    **ONE_COLUMN,
    metavar="COLUMN",
    help=(
        "For gates with --confidence or --not-worse-than: treat rows with the same value in this "
        "column as one unit, e.g. one conversation."
    ),
)
otel = click.option(
    "--otel",
    is_flag=True,
    help=(
        "Send an event for each judgment and a span for each call to an OpenTelemetry collector "
        "(OTLP)."
    ),
)
listener = click.option(
    "--listener",
    multiple=True,
    metavar="NAME",
    help="Also send every event to this listener from a plugin. Repeatable.",
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
dry_run = click.option(
    "--dry-run", is_flag=True, help="Estimate calls, tokens and cost, then exit."
)


@light_dataclass(frozen=True, kw_only=True)
class SpendingOptions:
    """The options of all commands that ask models."""

    resume: bool = shared(resume)
    max_usd: float | None = shared(max_usd)
    max_calls: int | None = shared(max_calls)
    max_tokens: int | None = shared(max_tokens)
    prices: Path | None = shared(prices)
    no_cache: bool = shared(no_cache)
    dry_run: bool = shared(dry_run)

    def budget(self) -> Budget | None:
        """Return the limits that were set; None if there are none."""
        limits = (self.max_usd, self.max_calls, self.max_tokens)
        return None if limits == (None, None, None) else Budget(*limits)


@light_dataclass(frozen=True, kw_only=True)
class RunFlags(SpendingOptions):
    """The options of commands that ask models but judge no rows."""

    run: Path | None = shared(run_folder)


@light_dataclass(frozen=True, kw_only=True)
class RowFlags(SpendingOptions):
    """The options of all commands that judge rows, with an eval file or without."""

    model: tuple[str, ...] = shared(models)
    at: ServerEntry = shared(server)
    max_concurrency: int | None = shared(at_once)
    limit: int | None = shared(limit)
    id: str | None = shared(row_names)
    fail_under: FailUnder | None = shared(fail_under)
    baseline: Path | None = shared(baseline)
    confidence: float | None = shared(confidence)
    sequential: bool = shared(gate_sequential)
    not_worse_than: str | None = shared(not_worse_than)
    margin: float | None = shared(margin)
    cluster: str | None = shared(gate_cluster)
    encoding: str | None = shared(encoding)
    sheet: str | None = shared(sheet)
    header_row: int | None = shared(header_row)
    otel: bool = shared(otel)
    listener: tuple[str, ...] = shared(listener)
    quiet: bool = shared(quiet)

    @property
    def listeners(self) -> tuple[str, ...]:
        """The names of the listeners to the run's events."""
        return (*self.listener, "otel") if self.otel else self.listener


@light_dataclass(frozen=True, kw_only=True)
class Flags(RowFlags):
    """The options of all commands that judge without an eval file."""

    model: tuple[str, ...] = shared(models)
    at: ServerEntry = shared(server)
    temperature: float | None = shared(temperature)
    seed: int | None = shared(seed)
    language: str = shared(language)
    run: Path | None = shared(run_folder)
    stop_at_bad_row: bool = shared(bad_rows)


_EXIT_CODES = """Exit codes: 0 all have a result (and the gate holds), 1 could not run, 2 usage,
3 some have no result, 4 gate failed, 5 gate inconclusive or no row judged."""


def judging(
    other: Mapping[str, Decorator[Any]] | None = None,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that adds all options of ``Flags``, passed to the command as ``flags``.

    ``other``: field → option to use instead. The exit codes are explained at the end of the
    command's help.
    """
    decorate = options(Flags, "flags", _in_language, other)

    def explained(function: Callable[..., int]) -> Callable[..., int]:
        function.__doc__ = f"{cleandoc(function.__doc__ or '')}\n\n{_EXIT_CODES}"
        return decorate(function)

    return explained


def _in_language(**typed: Any) -> Flags:
    """Return the flags, with the project's language if the user typed none."""
    return Flags(**{**typed, "language": choose_language(typed["language"])})
