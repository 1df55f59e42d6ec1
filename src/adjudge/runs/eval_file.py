"""The format of ``eval.yaml``: rows, judges, models and limits.

The dataclasses are the format: the reader and the schema both follow their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from adjudge.core.data.conversations import PER, Per
from adjudge.core.data.dataset import FORMATS, STDIN
from adjudge.core.data.sources.opener import ROW_FILES
from adjudge.core.domain.instance import GivenFields, Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.vote import Mode
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.reading.objects import ObjectFile, location_of
from adjudge.core.reading.types import (
    ColumnNames,
    FilePath,
    Flag,
    JsonNames,
    Kinds,
    LazyType,
    Many,
    Number,
    NumberOrNamed,
    Numbers,
    Record,
    Schema,
    Text,
    Type,
    WholeNumber,
    Word,
    key,
    keys_of,
)
from adjudge.core.reading.values import Place, load_yaml, text_in, unfolded_size
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import Parts
from adjudge.runs.code_files import CodeFiles
from adjudge.runs.criteria_entry import (
    CRITERIA_FILES,
    CriteriaEntry,
    CriteriaType,
    criteria_said,
    fields_of_criteria,
)
from adjudge.runs.polarity import aspect_polarity_notes, question_polarity_notes
from adjudge.runs.project import ExplainEntry, ModelEntry, Project, StepEntry
from adjudge.runs.row_source import FormatType
from adjudge.runs.variables import with_variables

if TYPE_CHECKING:
    from adjudge.core.checks.check import Expectation
    from adjudge.core.data.dataset import OddRows
    from adjudge.core.gateway.opener import ModelLike
    from adjudge.core.gateway.prices import PriceTable
    from adjudge.runs.ready_judge import ReadyJudge
    from adjudge.runs.target_entry import TargetEntry

OUTPUTS = (".csv", ".jsonl", ".parquet", ".md", ".html")
_MOST_VALUES = 100_000
WITHOUT_VARIABLES = ("headers",)
"""Keys whose variables are filled in when they are sent, and not before."""
_OF_TOPICS = ("history", "user_input")
_COUNT = WholeNumber(least=1)
_ABOVE_ZERO = Number(above=0)
_SHARE = Number(least=0, most=1)
_BARS = NumberOrNamed(_SHARE)
WEIGHTS = Numbers(Number(least=0))
FromLabels = Literal["from labels"]
FROM_LABELS: FromLabels = "from labels"
Weights = tuple[tuple[str, float], ...] | FromLabels
"""(model, weight) of each; or what the calibration says."""
FailUnder = float | tuple[tuple[str, float], ...]
"""The bar of every criterion, or (name, number) of some criteria or compared systems."""


@light_dataclass(frozen=True, kw_only=True)
class DataEntry:
    path: str = key(
        Text(),
        "A CSV, JSONL, JSON, Parquet or Excel file, a run folder, or a file or folder of agent "
        "traces, relative to this file; - is standard input. Addresses work, too: s3://…, "
        "gs://…, az://… or file://….",
    )
    as_: str | None = key(
        FormatType(),
        "The format of agent traces, if it cannot be detected.",
        None,
    )
    format: str | None = key(
        Word(FORMATS), "The format of the file, if its name does not show it.", None
    )
    columns: tuple[tuple[str, str], ...] = key(
        ColumnNames(),
        "Field: column, or a path into one (input.query, messages[-1].content). Usual names are "
        "found automatically. An empty name leaves the field out: {reference: ''}.",
        (),
    )
    responses: tuple[str, ...] = key(
        Many(Text()), "For pairwise judges: the columns with the responses.", ()
    )
    id: str | None = key(Text(), "The column with row ids.", None)
    limit: int | None = key(_COUNT, "Judge only the first rows.", None)
    encoding: str | None = key(
        Text(),
        "Encoding of files that are not UTF-8, such as cp1252, or cp1251 for Cyrillic.",
        None,
    )
    sheet: str | None = key(
        Text(), "Sheet of an Excel workbook; by default the first visible one.", None
    )
    header_row: int | None = key(
        _COUNT,
        "The row of the sheet that names the columns; by default the first with a text.",
        None,
    )

    @property
    def name_column(self) -> str | None:
        """The column with the rows' names, if ``id`` or ``columns`` names one."""
        return self.id or dict(self.columns).get("id")

    def named_by(self, column: str) -> DataEntry:
        """Return the entry with row names taken from ``column``."""
        return replace(
            self, id=column, columns=tuple(pair for pair in self.columns if pair[0] != "id")
        )


MODELS = Many(Record(ModelEntry, short="model"))
M = TypeVar("M", bound=ModelEntry)


@light_dataclass(frozen=True)
class WeightsType:
    """Numbers by model, or the words that take them from a calibration."""

    def read(self, value: object, place: Place) -> Weights:
        if isinstance(value, Mapping):
            return WEIGHTS.read(value, place)
        return Word[FromLabels]((FROM_LABELS,)).read(value, place)

    def schema(self) -> Schema:
        return {"anyOf": [{"const": FROM_LABELS}, WEIGHTS.schema()]}


Order = Literal["both", "one"]
ORDERS: tuple[Order, ...] = get_args(Order)
"""In which orders compared responses are shown."""


class FieldsRead(NamedTuple):
    """The fields of a row that a judge reads."""

    needed: tuple[str, ...] = ()
    """Every row must have them."""
    also: tuple[str, ...] = ()
    """They are taken if a row has them."""
    may_be_empty: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    """Needed ones that must hold a text: without its question, an answer would be judged against
    nothing.
    """


@light_dataclass(frozen=True, kw_only=True)
class JudgeEntry:
    """The settings of every kind of judge.

    A kind declares its own settings in a subclass. The properties and methods below describe a
    judge before it is made; a kind overrides those that differ.
    """

    kind: str = key(
        Text(),
        "aspect: pass or fail; direct: options; pairwise: comparisons; rag: six dimensions; "
        "evidence: sentence by sentence; rubric: points of each row; sql: queries that are run; "
        "agent: an agent's actions; conversation: simulated users; check: without a model; "
        "python: your own class.",
    )
    name: str | None = key(Text(), "Name in reports; by default the name of its criteria.", None)
    models: tuple[ModelEntry, ...] = key(
        MODELS, "Models for this judge, instead of the file's.", ()
    )
    votes: int = key(
        _COUNT,
        "Votes per model and, with a positional-bias check, per order.",
        1,
        aliases=("strictness",),
    )
    temperature: float | None = key(
        Number(least=0), "Temperature; by default 0 for one vote and 1 for several.", None
    )
    seed: int | None = key(WholeNumber(), "Seed; sample i uses seed + i.", None)
    mode: Mode | None = key(
        Word[Mode](("generate", "likelihood")),
        "How models answer: as text, or by token probabilities.",
        None,
    )
    on_failure: Literal["abstain", "raise", "random"] = key(
        Word(("abstain", "raise", "random")), "What to do if there is no verdict.", "abstain"
    )
    per: Per = key(
        Word[Per](PER),
        "The unit to judge: the row, or each turn or topic of its conversation, or the "
        "conversation; for agents, the trajectory or selected steps; for rubrics, each point in "
        "a separate request.",
        "row",
    )
    after: Literal["checks"] | None = key(
        Word[Literal["checks"]](("checks",)),
        "checks: ask only about rows whose required checks pass (all checks, if none is required).",
        None,
    )
    rows_with: str | None = key(
        Text(), "Judge only rows that have this field; the others are skipped and counted.", None
    )
    fail_under: FailUnder | None = key(
        _BARS,
        "The gate of this judge: its mean score by each criterion; or by name, also of a "
        "compared system.",
        None,
    )
    line: int = 1
    """Its line in the file."""
    asked_with: str = ""
    """The model in its name, if the same judge is asked with several models."""

    @property
    def own_models(self) -> tuple[ModelEntry, ...]:
        """The models that the judge itself names, including a cascade's steps."""
        return self.models

    @property
    def replacements(self) -> tuple[ModelEntry, ...]:
        """The model that replaces a member of the panel, if there is one."""
        return ()

    @property
    def cascade_steps(self) -> tuple[StepEntry, ...]:
        """The steps of a cascade; empty if the judge is not one."""
        return ()

    def with_steps(self, steps: tuple[StepEntry, ...]) -> JudgeEntry:
        """Return the judge as a cascade of these steps, or as a plain judge if there are none."""
        raise NotImplementedError

    def check_calibration(self) -> None:
        """Raise if a calibration is unused, or if a cascade has settings that it cannot have."""

    @property
    def is_check(self) -> bool:
        """True if a program judges, possibly using columns that no model may see."""
        return False

    @property
    def asks_no_model(self) -> bool:
        """True if no model needs to be named or installed."""
        return False

    @property
    def compares_responses(self) -> bool:
        """True if rows hold several responses to compare."""
        return False

    @property
    def reads_traces(self) -> bool:
        """True if rows are agents' traces."""
        return False

    def read_traces(
        self, file: EvalFile, tell: Callable[[OddRows], None], limit: int | None
    ) -> Iterator[Instance]:
        """Yield the rows, for a kind with ``reads_traces``."""
        raise NotImplementedError

    @property
    def talks_to_target(self) -> bool:
        """True if the judge has its own way to get answers from targets. All judges of the file
        then use it.
        """
        return False

    def after_targets(
        self,
        file: EvalFile,  # noqa: ARG002
        made: Sequence[ReadyJudge],
        opened: Callable[[ModelEntry], ModelLike],  # noqa: ARG002
        prices: PriceTable,  # noqa: ARG002
    ) -> list[ReadyJudge]:
        """Return the judges of a file with targets, for a kind with ``talks_to_target``."""
        return list(made)

    def fields_read(self, file: EvalFile) -> FieldsRead:  # noqa: ARG002
        """Return the fields that this judge needs in the rows of ``file``."""
        return FieldsRead(needed=("response",))

    def shows_whole_rows(self, file: EvalFile) -> bool:  # noqa: ARG002
        """Return True if a model sees every field of a row instead of named ones."""
        return False

    def fields_of_rows(self, file: EvalFile) -> FieldsRead:
        """Return the fields to read. With ``rows_with``, only the response is required.

        The history and the question of a topic are made from its conversation.
        """
        read = self.fields_read(file)
        if not self.rows_with and self.per != "topic":
            return read
        optional = read.needed if self.rows_with else _OF_TOPICS
        needed = tuple(name for name in read.needed if name == "response" or name not in optional)
        columns = (self.rows_with,) if self.rows_with else ()
        also = (*(name for name in read.needed if name not in needed), *read.also, *columns)
        return FieldsRead(needed=needed, also=also, may_be_empty=read.may_be_empty)

    def named_models(self) -> Iterator[tuple[str, Sequence[ModelEntry]]]:
        """Yield each setting that names models, with these. ``--model`` overrides ``models`` and
        ``cascade``.
        """
        yield "models", self.models

    def named_files(self) -> Iterator[tuple[str, str]]:
        """Yield setting and path of each file that the judge reads, relative to the eval file.

        These are all settings of type ``FilePath``, and criteria files.
        """
        kind: type = type(self)
        for name, setting in keys_of(kind).items():
            path = getattr(self, setting.name)
            if isinstance(setting.metadata["type"], FilePath) and path:
                yield name, path
        criteria: tuple[CriteriaEntry, ...] = getattr(self, "criteria", ())
        for number, entry in enumerate(criteria, 1):
            if isinstance(entry.what, str) and Path(entry.what).suffix.lower() in CRITERIA_FILES:
                yield f"criteria[{number}]", entry.what

    def named_code(self) -> Iterator[tuple[str, str]]:
        """Yield each setting with code that the judge runs, as a reference or as text."""
        return iter(())

    def look_up_criteria(self, file: EvalFile) -> JudgeEntry:  # noqa: ARG002
        """Return the entry with its criteria looked up, for kinds that read them more than once.

        ``file``: its language and folder determine which criteria a name means.
        """
        return self

    def polarity_notes(self, *, typed: bool) -> Iterator[Message]:  # noqa: ARG002
        """Yield a note for each plain question whose good answer is yes although yes sounds bad."""
        return iter(())

    def check_per(self) -> None:
        """Raise if this kind cannot judge the given part of a row."""
        if self.per == "step":
            raise SetupError("per: step works only with judges of kind agent")
        if self.per == "point":
            raise SetupError("per: point works only with judges of kind rubric")
        if self.per == "topic" and not self.judges_topics:
            raise SetupError("per: topic works only with judges of kind direct and aspect")

    @property
    def judges_topics(self) -> bool:
        """True if it can judge the topics of a conversation one by one."""
        return False


@light_dataclass(frozen=True, kw_only=True)
class PanelEntry(JudgeEntry):
    """The settings of judges that can replace a member of their panel."""

    replacement: ModelEntry | None = key(
        Record(ModelEntry, short="model"),
        "The model to ask about a row if a model of the panel gives no verdict on it.",
        None,
        metavar="MODEL",
    )

    @property
    def replacements(self) -> tuple[ModelEntry, ...]:
        return () if self.replacement is None else (self.replacement,)

    def named_models(self) -> Iterator[tuple[str, Sequence[ModelEntry]]]:
        yield from super().named_models()
        yield "replacement", self.replacements


@light_dataclass(frozen=True, kw_only=True)
class CascadeEntry(PanelEntry):
    """The settings of judges that may be a cascade."""

    cascade: tuple[StepEntry, ...] = key(
        Many(Record(StepEntry, short="model")),
        "Instead of models: models to ask one after another, cheapest first, until one is "
        "confident enough.",
        (),
    )
    calibration: str | None = key(
        FilePath((".json",)),
        "The output file of 'adjudge calibrate RUN -o FILE', with thresholds of a cascade or "
        "weights; relative to this file.",
        None,
    )
    otherwise: Literal["abstain", "last"] = key(
        Word(("abstain", "last")),
        "If no step of a cascade is confident enough: abstain, or let the last step decide.",
        "abstain",
    )

    @property
    def own_models(self) -> tuple[ModelEntry, ...]:
        return (*self.models, *self.cascade)

    @property
    def cascade_steps(self) -> tuple[StepEntry, ...]:
        return self.cascade

    def named_models(self) -> Iterator[tuple[str, Sequence[ModelEntry]]]:
        yield from super().named_models()
        yield "cascade", self.cascade

    def with_steps(self, steps: tuple[StepEntry, ...]) -> JudgeEntry:
        return replace(
            self, models=(), cascade=steps, calibration=self.calibration if steps else None
        )

    def check_calibration(self) -> None:
        if self.cascade and self.models:
            raise SetupError("a judge has models or a cascade of them, not both")
        if self.cascade and self.replacement:
            raise SetupError(
                "replacement works only with a panel; in a cascade, the next step is asked "
                "instead: leave it out"
            )
        if self.calibration and not self.cascade:
            raise SetupError("nothing uses the calibration: add cascade, or weights: from labels")


@light_dataclass(frozen=True, kw_only=True)
class AspectEntry(CascadeEntry):
    """Pass or fail on one aspect."""

    criteria: tuple[CriteriaEntry, ...] = key(
        Many(CriteriaType("aspect")), "What a response must meet, or a ready-made aspect."
    )
    early_stop: bool = key(
        Flag(),
        "Stop as soon as further votes cannot change the verdict.",
        False,
        option="--early-stop/--no-early-stop",
    )
    min_valid: int = key(
        _COUNT, "Minimum number of valid votes; a model with fewer is excluded.", 1
    )
    votes: int = key(_COUNT, "Votes per model.", 1, aliases=("strictness",))
    weights: Weights = key(
        WeightsType(),
        "Weight of each model of the panel: numbers by model, or 'from labels' to use the "
        "calibration.",
        (),
    )

    def shows_whole_rows(self, file: EvalFile) -> bool:  # noqa: ARG002
        return True

    def check_calibration(self) -> None:
        if self.weights != FROM_LABELS or self.cascade:
            super().check_calibration()
        if self.cascade and self.weights:
            raise SetupError("weights work only with a panel: leave them out for a cascade")

    def polarity_notes(self, *, typed: bool) -> Iterator[Message]:
        return aspect_polarity_notes(self.criteria, typed=typed)

    @property
    def judges_topics(self) -> bool:
        return True


@light_dataclass(frozen=True, kw_only=True)
class DirectEntry(CascadeEntry):
    """One of the criteria's options; several criteria are judged one by one."""

    criteria: tuple[CriteriaEntry, ...] = key(
        Many(CriteriaType("direct")),
        "A question, the name of ready-made criteria, a file, or the criteria written out.",
    )
    early_stop: bool = key(Flag(), "Stop as soon as further votes cannot change the option.", False)
    check_positional_bias: bool = key(Flag(), "Ask again in reversed order.", False)
    feedback: bool = key(Flag(), "Ask the judge for feedback on how to improve the text.", False)
    persona: str | None = key(
        Text(),
        "Persona of the judge; 'invented': the model invents one per criterion.",
        None,
    )
    votes: int = key(
        _COUNT, "Votes per model and order.", 1, aliases=("strictness", "self_consistency")
    )

    @property
    def both_orders(self) -> bool:
        """True if everything is asked again with the options reversed."""
        return self.check_positional_bias

    def fields_read(self, file: EvalFile) -> FieldsRead:
        criteria = criteria_said(self.criteria, "direct", file.language, file.beside)
        return FieldsRead(needed=fields_of_criteria(criteria))

    def look_up_criteria(self, file: EvalFile) -> DirectEntry:
        criteria = criteria_said(self.criteria, "direct", file.language, file.beside)
        return replace(self, criteria=tuple(map(CriteriaEntry, criteria)))

    def polarity_notes(self, *, typed: bool) -> Iterator[Message]:
        return question_polarity_notes(self.criteria, typed=typed)

    def shows_whole_rows(self, file: EvalFile) -> bool:
        criteria = criteria_said(self.criteria, "direct", file.language, file.beside)
        return any(criterion.context_fields is None for criterion in criteria)

    @property
    def judges_topics(self) -> bool:
        return True


@light_dataclass(frozen=True, kw_only=True)
class PairwiseEntry(PanelEntry):
    """A judge that says which of several responses is better."""

    criteria: tuple[CriteriaEntry, ...] = key(
        Many(CriteriaType("pairwise")),
        "A question, the name of ready-made criteria, a file, or the criteria written out.",
    )
    order: Order = key(
        Word[Order](ORDERS),
        "both: ask again with the responses reversed; one: ask only in the given order.",
        "both",
    )
    check_positional_bias: bool | None = key(
        Flag(), "Alias for order: true means both, false means one.", None
    )
    contests: Literal["joint", "pairs"] = key(
        Word(("joint", "pairs")),
        "joint: one call ranks all responses; pairs: each pair is a contest.",
        "joint",
    )
    tie_enabled: bool = key(Flag(), "Allow ties.", True, option="--tie/--no-tie")
    votes: int = key(
        _COUNT, "Votes per model and order.", 1, aliases=("strictness", "self_consistency")
    )

    @property
    def compares_responses(self) -> bool:
        return True

    def check_per(self) -> None:
        if self.per != "row":
            raise SetupError(
                "a judge that compares responses takes rows, not turns or conversations: leave per "
                "out"
            )

    @property
    def both_orders(self) -> bool:
        """True if comparisons are asked in both orders. Raises a SetupError if settings contradict
        each other.
        """
        if self.check_positional_bias and self.order == "one":
            raise SetupError(
                "order: one and check_positional_bias: true contradict each other: leave "
                "one of them out"
            )
        return (
            self.order == "both"
            if self.check_positional_bias is None
            else self.check_positional_bias
        )


@light_dataclass(frozen=True, kw_only=True)
class CheckEntry(JudgeEntry):
    """Checks by a program, without a model."""

    checks: tuple[Expectation, ...] = key(
        LazyType("adjudge.core.checks.kinds", "EXPECTATIONS"),
        "Checks for each row: contains, regex, json, similarity and others.",
    )
    threshold: float = key(_SHARE, "Weighted share of the checks needed to pass.", 1.0)

    @property
    def is_check(self) -> bool:
        return True

    @property
    def asks_no_model(self) -> bool:
        return True

    def fields_read(self, file: EvalFile) -> FieldsRead:  # noqa: ARG002
        also = [name for expectation in self.checks for name in expectation.check.reads]
        also += [expectation.rows_with for expectation in self.checks if expectation.rows_with]
        return FieldsRead(
            needed=tuple(expectation.field for expectation in self.checks), also=tuple(also)
        )

    def named_files(self) -> Iterator[tuple[str, str]]:
        from adjudge.core.checks.structure import IsJson  # not loaded if nothing is checked

        for number, expectation in enumerate(self.checks, 1):
            if isinstance(expectation.check, IsJson) and expectation.check.schema:
                yield f"checks[{number}].schema", expectation.check.schema

    def named_code(self) -> Iterator[tuple[str, str]]:
        for number, expectation in enumerate(self.checks, 1):
            if expectation.check.runs:
                yield f"checks[{number}]", expectation.check.runs


@light_dataclass(frozen=True, kw_only=True)
class PythonEntry(JudgeEntry):
    """A judge whose class the user wrote."""

    judge: str = key(Text(), "The class: file.py:Class next to this file, or module:Class.")
    options: tuple[tuple[str, JsonValue], ...] = key(
        JsonNames(), "Keyword arguments for the class.", ()
    )
    criteria: tuple[CriteriaEntry, ...] = key(
        Many(CriteriaType("direct")), "The criteria, if its base class takes criteria.", ()
    )
    compares: bool = key(Flag(), "True if it compares the responses of a row.", False)

    @property
    def compares_responses(self) -> bool:
        return self.compares

    def fields_read(self, file: EvalFile) -> FieldsRead:
        if self.compares:
            return FieldsRead(needed=("response",))
        criteria = criteria_said(self.criteria, "direct", file.language, file.beside)
        return FieldsRead(needed=fields_of_criteria(criteria))

    def named_code(self) -> Iterator[tuple[str, str]]:
        yield "judge", self.judge


@light_dataclass(frozen=True, kw_only=True)
class BudgetEntry:
    """The limits of a run. A stopped run can be resumed."""

    max_usd: float | None = key(_ABOVE_ZERO, "Maximum cost in US dollars.", None)
    max_calls: int | None = key(_COUNT, "Maximum number of requests to models.", None)
    max_tokens: int | None = key(_COUNT, "Maximum number of input and output tokens.", None)


@light_dataclass(frozen=True, kw_only=True)
class Gates:
    """The numbers that a run must reach. Otherwise the exit code is not 0."""

    fail_under: FailUnder | None = key(
        _BARS,
        "The minimum for every criterion of judges without their own gate, or minimums by name.",
        None,
    )
    max: tuple[tuple[str, float], ...] = key(
        Numbers(Number(least=0)),
        "Count: the maximum of its mean, such as unrecovered: 0.",
        (),
    )
    max_failed: float | None = key(_SHARE, "Maximum share of judgments without a score.", None)
    confidence: float | None = key(
        Number(above=0.5, most=0.9999),
        "Confidence that a gate needs, such as 0.95. Without it, the mean is compared with the "
        "bar.",
        None,
    )
    sequential: bool = key(
        Flag(),
        "Use wider limits that stay valid if the gates are checked repeatedly while rows are "
        "added.",
        False,
    )
    not_worse_than: str | None = key(
        Text(),
        "A run folder to compare with, row by row; no criterion may be worse. Relative to this "
        "file.",
        None,
    )
    margin: float = key(Number(least=0), "How much worse than that run it may be.", 0.0)
    cluster: str | None = key(
        Text(),
        "A column that groups dependent rows, such as conversation.",
        None,
    )


JUDGE_KINDS: Parts[Type[JudgeEntry]] = Parts("judges")


@light_dataclass(frozen=True, kw_only=True)
class EvalFile:
    """An eval file, read and checked."""

    data: DataEntry = key(
        Record(DataEntry, short="path"), "The rows to judge: a path, or a mapping of data settings."
    )
    judges: tuple[JudgeEntry, ...] = key(
        Many(Kinds("kind", JUDGE_KINDS)), "One or several judges; none if checks are enough.", ()
    )
    language: str = key(
        Word(LANGUAGES), "Language of prompts, explanations, ready-made criteria and reports.", "en"
    )
    models: tuple[ModelEntry, ...] = key(
        MODELS,
        "Models that judge: ids, or mappings of model settings. Default: the embedded model.",
        (),
    )
    explain: ExplainEntry | None = key(
        Record(ExplainEntry, short="model"),
        "A text-generating model that gives a second opinion, with reasons, on rows that failed "
        "or are uncertain, after all verdicts. It changes no verdict.",
        None,
    )
    budget: BudgetEntry = key(Record(BudgetEntry), "Limits at which the run stops.", BudgetEntry())
    run: str | None = key(
        Text(), "The run's folder; by default runs/ and the name of this file.", None
    )
    outputs: tuple[str, ...] = key(Many(Text(OUTPUTS)), "Output files, as paths or addresses.", ())
    gates: Gates = key(Record(Gates), "Gates that the run must pass.", Gates())
    checks: tuple[Expectation, ...] = key(
        LazyType("adjudge.core.checks.kinds", "EXPECTATIONS"),
        "Checks of each row that need no model; like a judge of kind: check.",
        (),
    )
    target: tuple[TargetEntry, ...] = key(
        LazyType("adjudge.runs.target_entry", "TARGETS"),
        "The source of answers for rows without one: a model, a command, an endpoint or a "
        "function.",
        (),
    )
    prompts: tuple[str, ...] = key(
        Many(Text()), "Prompts for targets that are models: files with {column}.", ()
    )
    repeat: int = key(_COUNT, "Number of answers per row.", 1)
    on_bad_row: Literal["report", "stop"] = key(
        Word(("report", "stop")), "What to do if a row cannot be read.", "report"
    )
    path: Path = field(default=Path("eval.yaml"))
    """The file itself; its paths are relative to it."""
    typed: bool = False
    """True for a file made of a command's options. Its run is only kept if ``run`` names a
    folder.
    """
    rows: tuple[Instance, ...] = ()
    """The rows, if they were typed. With a path, the rows that were read from it already."""
    given: GivenFields = field(default_factory=dict)
    """Fields for every row that lacks its own."""
    models_from: Place | None = None
    """The place that names the models, if the file itself does not."""
    has_default_limit: bool = False
    """True if the budget is the default of a folder that is not trusted."""

    @cached_property
    def code(self) -> CodeFiles:
        """The code that the file runs on this machine."""
        return CodeFiles(self)

    @property
    def all_models(self) -> tuple[ModelEntry, ...]:
        """The models of the file, of its judges and of ``explain``, without those of targets."""
        entries = (
            entry for judge in self.judges for entry in (*judge.own_models, *judge.replacements)
        )
        return (*self.models, *entries, *([self.explain] if self.explain else ()))

    @cached_property
    def source(self) -> Path | ObjectFile:
        """Where the rows are; ``-`` is standard input."""
        path = self.data.path
        return Path(STDIN) if path == STDIN else location_of(path, self.path.parent)

    @property
    def local_source(self) -> Path:
        """Like ``source``, but raises a SetupError for addresses, for readers of local files."""
        source = self.source
        if isinstance(source, ObjectFile):
            raise SetupError(
                "agent traces must be on this machine: download {source} first",
                source=source,
            )
        return source

    @property
    def run_folder(self) -> Path | None:
        """The run folder; None if the run is not kept."""
        if self.typed and self.run is None:
            return None
        return self.beside(self.run or f"runs/{self.path.stem}")

    @property
    def output_paths(self) -> tuple[Path | ObjectFile, ...]:
        """The files that are written at the end."""
        return tuple(location_of(output, self.path.parent) for output in self.outputs)

    def beside(self, path: str) -> Path:
        """Return the path of a file named relative to the eval file."""
        return self.path.parent / path


class ReadEval(NamedTuple):
    """An eval file before a project's defaults are applied."""

    file: EvalFile
    names_language: bool

    def completed(self, project: Project) -> EvalFile:
        """Return the file with the project's defaults. File-level checks become its first judge.

        Raises an error if there are neither judges nor checks.
        """
        file = self.file
        if not file.judges and not file.checks:
            raise Place(str(file.path), line=1).wrong("the key {name!r} is missing", name="judges")
        if file.checks:
            checks = CheckEntry(kind="check", checks=file.checks, line=file.checks[0].place.line)
            # judges with ``after: checks`` need them before themselves
            file = replace(file, judges=(checks, *file.judges), checks=())
        models = file.models
        if not models and project.model:
            models = (ModelEntry(model=project.model),)
            file = replace(file, models_from=Place(str(project.path), field="model"))
        language = file.language if self.names_language else project.language or file.language
        return replace(
            file,
            models=tuple(map(project.with_defaults, models)),
            judges=tuple(with_models(judge, project.with_defaults) for judge in file.judges),
            explain=file.explain and project.with_defaults(file.explain),
            language=language,
        )


def load_eval(
    path: str | Path, project: Project | None = None, data: Path | ObjectFile | None = None
) -> EvalFile:
    """Read the eval file at ``path``. A SetupError names the wrong line and suggests a correction.

    This only reads the file. To run one that may come from others, use
    ``runs.trusted_folders.open_eval``, which asks the user first. ``project``: its defaults fill in
    missing keys. ``data``: the rows to judge if the file names none.
    """
    return parse_eval(eval_text(path), path, project, data)


def eval_text(path: str | Path) -> str:
    """Return the text of the eval file at ``path``. Raises a SetupError if it is missing or a data
    file.
    """
    path = Path(path)
    if not path.exists():
        raise SetupError(
            "{path} does not exist: create an eval file with 'adjudge init'", path=path
        )
    if path.is_file() and path.suffix.lower() in ROW_FILES and path.suffix.lower() != ".json":
        raise _holds_rows(Place(str(path)))
    return text_in(path)


def parse_eval(
    content: str,
    path: str | Path = "eval.yaml",
    project: Project | None = None,
    data: Path | ObjectFile | None = None,
    environ: Mapping[str, str] | None = None,
) -> EvalFile:
    """Parse the eval file ``content``.

    ``path``: used in errors, and as the base of relative paths. ``data``: the rows if the file
    names none. ``environ``: values of variables, by default those of this process.
    """
    return read_eval_text(content, path, data, environ).completed(project or Project())


def read_eval_text(
    content: str,
    path: str | Path,
    data: Path | ObjectFile | None = None,
    environ: Mapping[str, str] | None = None,
) -> ReadEval:
    """Like ``parse_eval``, but without the defaults of a project."""
    try:
        place = load_yaml(content, Place(str(path)))
        if place.value is None:
            raise place.wrong("the file is empty: it needs data and judges")
        if isinstance(place.value, list) and Path(path).suffix.lower() == ".json":
            raise _holds_rows(Place(str(path)))
        _refuse_promptfoo(place)
        if (
            "&" in content and unfolded_size(place.value) > _MOST_VALUES
        ):  # without anchors nothing unfolds
            raise place.wrong("its aliases expand to more than {most:,} values", most=_MOST_VALUES)
        if "$" in content:
            filled = with_variables(place.value, place, WITHOUT_VARIABLES, environ)
            place = replace(place, value=filled)
        content_value: object = place.value
        if data and isinstance(content_value, Mapping):
            content_value = {
                "data": str(data.absolute()),
                **content_value,
            }  # unless the file has it
        file: EvalFile = Record(EvalFile).read(content_value, place)
    except RecursionError as error:
        raise SetupError("{path}: is nested too deeply", path=path) from error
    names_language = isinstance(place.value, Mapping) and "language" in place.value
    return ReadEval(replace(file, path=Path(path)), names_language)


def _holds_rows(place: Place) -> SetupError:
    return place.wrong(
        "it contains rows, so it is not an eval file. Judge the rows directly: adjudge check "
        "--data FILE --criterion 'The answer …', or adjudge rag --csv FILE if sources were "
        "retrieved. Import another tool's verdicts: adjudge import FILE --run RUN. Or create an "
        "eval file with adjudge init and name the rows there as data"
    )


def _refuse_promptfoo(place: Place) -> None:
    value = place.value
    if (
        isinstance(value, Mapping)
        and "judges" not in value
        and {"prompts", "providers"} <= {*value}
    ):
        raise place.wrong(
            "this is a promptfoo configuration (prompts, providers, tests), not an eval file. "
            "Convert it: adjudge init --from {name}. Or import its results: promptfoo eval -o "
            "results.json, then adjudge import results.json --run RUN",
            name=Path(place.file).name,
        )


class ChangeModel(Protocol):
    """A function that changes a model entry, or a step."""

    def __call__(self, entry: M, /) -> M: ...


def with_models(judge: JudgeEntry, change: ChangeModel) -> JudgeEntry:
    """Return ``judge`` with ``change`` applied to each of its models and steps."""
    changed: dict[str, Any] = (
        {"cascade": tuple(map(change, judge.cascade_steps))} if judge.cascade_steps else {}
    )
    if isinstance(judge, PanelEntry) and judge.replacement:
        changed["replacement"] = change(judge.replacement)
    return replace(judge, models=tuple(map(change, judge.models)), **changed)


def schema() -> Schema:
    """Return the format as JSON schema, for editors."""
    header = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "adjudge eval file",
        "anyOf": [{"required": ["judges"]}, {"required": ["checks"]}],
    }
    return {**header, **Record(EvalFile).schema()}
