"""Eval file → the instances and the judges, ready to run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial, wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from adjudge.core.aio.user_functions import call
from adjudge.core.catalog.aspects import aspect, aspects
from adjudge.core.data.dataset import OddRows, Source, read_comparisons, read_instances
from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import GivenFields, Instance
from adjudge.core.domain.json_types import is_deep
from adjudge.core.domain.light import light_dataclass
from adjudge.core.gateway.headers import key_in
from adjudge.core.gateway.layers.cache import Cache
from adjudge.core.gateway.open import ModelLike, OpenModel, open_model
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.registry import is_known
from adjudge.core.judges.case import CaseJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.reading.objects import ObjectFile
from adjudge.core.reading.types import Record, Schema
from adjudge.core.reading.user_code import beside, is_there, load_code
from adjudge.core.reading.values import Place, WrongValue
from adjudge.errors import KeyMissing, ModelError, NothingToJudge, SetupError, WrongData
from adjudge.messages import Message
from adjudge.plugins import Parts
from adjudge.runs.code_in import code_version
from adjudge.runs.criteria_entry import Aspect, CriteriaEntry, criteria_said
from adjudge.runs.eval_file import (
    FROM_LABELS,
    AgentEntry,
    AspectEntry,
    CascadeEntry,
    CheckEntry,
    DirectEntry,
    EvalFile,
    EvidenceEntry,
    JudgeEntry,
    PairwiseEntry,
    PythonEntry,
    RagEntry,
)
from adjudge.runs.project import ModelEntry
from adjudge.runs.ready_judge import ReadyJudge

if TYPE_CHECKING:
    from adjudge.features.rag.rows import RagFields

INVENTED = "invented"
"""The persona that the model makes up itself."""
_NO_KEY = "none"
_LOG = logging.getLogger("adjudge")
OpenEntry = Callable[[ModelEntry], ModelLike]
Models = Sequence[ModelLike] | None


def instances(
    file: EvalFile,
    tell: Callable[[OddRows], None],
    limit: int | None = None,
    source: Source | None = None,
) -> Iterator[Instance]:
    """The rows of the file's data, or of ``source``.

    ``tell`` is called with odd ones, and with bad ones unless they stop the run.
    """
    if file.rows or source is not None or not _asks_agents(file):
        rows = file.rows or _read(file, tell, limit, source or _source(file, tell))
    else:
        rows = _read_traces(file, tell, limit or file.data.limit)
    return map(partial(_accompanied, file.given), rows) if file.given else iter(rows)


def reads_traces(file: EvalFile) -> bool:
    """Whether its rows are what agents did."""
    return file.data.as_ is not None or _asks_agents(file)


def _asks_agents(file: EvalFile) -> bool:
    return any(isinstance(one, AgentEntry) for one in file.judges)


def _read_traces(
    file: EvalFile, tell: Callable[[OddRows], None], limit: int | None
) -> Iterator[Instance]:
    from adjudge.core.ledger.file import holds_run

    if holds_run(file.local_source):
        from adjudge.features.agents.kept_rows import trajectories_of_run

        yield from islice(trajectories_of_run(file.local_source), limit)
        return
    from adjudge.features.agents.traces.source import trace_instances

    told = tell if file.on_bad_row == "report" else None
    if _compares_systems(file):
        from adjudge.features.agents.systems import by_task

        yield from islice(by_task(_by_system(file, told)), limit)
        return
    found = islice(
        _flat_enough(trace_instances(file.local_source, file.data.as_, (), told), told), limit
    )
    first = next(found, None)
    if first is not None:
        yield first
        yield from found
    else:
        raise NothingToJudge("{path} holds no trajectory that can be read", path=file.local_source)


def _compares_systems(file: EvalFile) -> bool:
    """Whether the runs of a task are put side by side. Then nothing else can be judged."""
    compared = [isinstance(one, AgentEntry) and one.compare is not None for one in file.judges]
    other = next((one for one in file.judges if not isinstance(one, AgentEntry)), None)
    if any(compared) and other is not None:
        raise Place(str(file.path), line=other.line).wrong(
            "where compare: systems puts runs side by side, all judges are of kind agent: use a "
            "file for each"
        )
    return any(compared)


def _by_system(
    file: EvalFile, told: Callable[[OddRows], None] | None
) -> Iterator[tuple[str, Instance]]:
    """Every run, with the system that made it: that of its file or folder, where several lie in
    one folder.
    """
    from adjudge.features.agents.traces.source import trace_instances

    folder = file.local_source
    own = sorted(one for one in folder.iterdir() if one.name[0] != ".") if folder.is_dir() else []
    for path in own or [folder]:
        name = path.name.partition(".")[0] if own and path.is_file() else path.name if own else ""
        rows = trace_instances(path, file.data.as_, (), told)
        yield from ((name, row) for row in _flat_enough(rows, told))


def _flat_enough(
    rows: Iterable[Instance], told: Callable[[OddRows], None] | None
) -> Iterator[Instance]:
    """The rows that can be kept and compared; others are bad ones."""
    from adjudge.features.agents.item import trajectory_in

    for row in rows:
        run = trajectory_in(row)
        held = [step.call.arguments for step in run.steps if step.call is not None]
        if not is_deep([*held, *(tool.schema for tool in run.tools), row.input]):
            yield row
            continue
        bad = BadRow(str(row.metadata.get("place", row.id)), Message("it is nested too deep"))
        if told is None:
            raise WrongData(str(bad))
        told(bad)


def _source(file: EvalFile, tell: Callable[[OddRows], None]) -> Source:
    from adjudge.core.ledger.file import holds_run
    from adjudge.features.agents.traces.source import holds_traces, trace_instances
    from adjudge.runs.rows_again import rows_of_run

    entry = file.data
    if isinstance(file.source, ObjectFile) and entry.as_ is None:
        return file.source
    source = file.local_source
    if holds_run(source):
        return rows_of_run(source)
    if entry.as_ is None and (_compares(file) or entry.format or not holds_traces(source)):
        return source
    told = tell if file.on_bad_row == "report" else None
    return trace_instances(source, entry.as_, needed_fields(file), told)


def _read(
    file: EvalFile, tell: Callable[[OddRows], None], limit: int | None, source: Source
) -> Iterator[Instance]:
    data = file.data
    if _compares(file):
        read = partial(read_comparisons, responses=data.responses)
    else:
        rag = _rag_fields(file)
        may_be_empty = (name for one in rag for name in one.may_be_empty)
        read = partial(
            read_instances,
            needed=needed_fields(file),
            also=_also(file, rag),
            may_be_empty=[name for name in may_be_empty if not _given(file, name)],
            # without its question, an answer would be judged against nothing
            filled=["user_input"] if rag else (),
        )
    return read(
        source,
        columns=dict(data.columns),
        limit=limit or data.limit,
        id=data.id,
        format=data.format if source == file.source else None,
        encoding=data.encoding,
        sheet=data.sheet,
        header_row=data.header_row,
        on_bad_row=tell if file.on_bad_row == "report" else None,
        on_blank_rows=tell,
        on_empty_answers=tell,
        on_other_sheets=tell,
    )


def needed_fields(file: EvalFile) -> list[str]:
    """What the criteria read: every row must have it."""
    read: list[str] = []
    for entry in file.judges:
        if isinstance(entry, PythonEntry) and entry.compares:
            read += ["response"]
        elif isinstance(entry, DirectEntry | PythonEntry):
            asked = criteria_said(entry.criteria, "direct", file.language, file.beside)
            read += [
                name
                for one in asked
                for name in (one.to_evaluate_field, *(one.context_fields or ()))
            ]
        elif isinstance(entry, EvidenceEntry):
            read += [entry.text_field, entry.source_field]
        elif isinstance(entry, AgentEntry):
            continue
        elif isinstance(entry, CheckEntry):
            read += [one.field for one in entry.checks]
        else:
            read += _fields_of(file, entry).needed if isinstance(entry, RagEntry) else ["response"]
    return [name for name in dict.fromkeys(read) if not _given(file, name)]


def _given(file: EvalFile, name: str) -> bool:
    """Whether no row need have a field: one was given for all, or the target answers with it."""
    answered = file.target and name in ("response", "contexts", "tool_call")
    return name in file.given or bool(answered)


def _accompanied(given: GivenFields, instance: Instance) -> Instance:
    """The instance with what was given for all of them; its own fields come first."""
    return replace(instance, fields={**given, **instance.fields})


def with_criteria(file: EvalFile) -> EvalFile:
    """The file with the criteria that its direct judges name: no pass over the rows looks for them
    again.
    """

    def found(entry: JudgeEntry) -> JudgeEntry:
        if not isinstance(entry, DirectEntry):
            return entry
        said = criteria_said(entry.criteria, "direct", file.language, file.beside)
        return replace(entry, criteria=tuple(map(CriteriaEntry, said)))

    return replace(file, judges=tuple(map(found, file.judges)))


def judges(
    file: EvalFile, opened: OpenEntry | None = None, prices: PriceTable | None = None
) -> list[ReadyJudge]:
    """Every judge of the file, with its models opened; equal models are opened once.

    ``opened`` makes a model of an entry, for those who stack something around it. ``prices``: what
    the answers of targets are said to cost.
    """
    _compares(file)
    shared: dict[ModelEntry, ModelLike] = {}

    def model(entry: ModelEntry) -> ModelLike:
        if entry not in shared:
            may_be_code = not file.typed and is_there(entry.model, file.path.parent)
            own = may_be_code and not is_known(entry.model)
            try:
                shared[entry] = _own_model(file, entry) if own else (opened or open_entry)(entry)
            except WrongValue:
                raise
            except SetupError as error:
                if file.typed or entry not in file.models:
                    raise  # with the line of the judge that names it
                where = file.models_from or Place(str(file.path), field="models")
                raise where.wrong("{error}", error=error) from error
        return shared[entry]

    each = [(entry, ready) for entry in file.judges for ready in _ready(file, entry, model)]
    made = [
        _after_checks(file, entry, ready, each) if entry.after else ready for entry, ready in each
    ]
    if file.target:
        made = _after_targets(file, made, model, prices or PriceTable.load())
    for name, count in Counter(ready.name for ready in made).items():
        if count > 1:
            raise SetupError(
                "{path}: {count} judges are called {name!r}: give each a name of its own",
                path=file.path,
                count=count,
                name=name,
            )
    return made


def _after_checks(
    file: EvalFile,
    entry: JudgeEntry,
    ready: ReadyJudge,
    each: Sequence[tuple[JudgeEntry, ReadyJudge]],
) -> ReadyJudge:
    from adjudge.runs.after_checks import after_checks

    try:
        return after_checks(ready, [one for own, one in each if own.after is None])
    except SetupError as error:
        raise Place(str(file.path), line=entry.line).wrong("{error}", error=error) from error


def _after_targets(
    file: EvalFile, made: Sequence[ReadyJudge], model: OpenEntry, prices: PriceTable
) -> list[ReadyJudge]:
    """Judges of answers that a target gives first."""
    from adjudge.runs.targets import SharedAnswers, answered_first
    from adjudge.runs.variants import variants_of

    answers = SharedAnswers()
    try:
        variants = variants_of(file, model)
        return [
            answered_first(ready, variants, answers, prices, first=number == 0)
            for number, ready in enumerate(made)
        ]
    except SetupError as error:
        raise Place(str(file.path), field="target").wrong("{error}", error=error) from error


def _own_model(file: EvalFile, entry: ModelEntry) -> OpenModel:
    """A function of the user's, ``prompt -> text``: once its file was edited, another model."""
    function = load_code(beside(entry.model, file.path.parent))

    @wraps(function)
    async def ask(prompt: str) -> str:
        try:
            return cast(str, await call(function, prompt))
        except SystemExit as error:
            raise ModelError("it called sys.exit({code})", code=repr(error.code)) from error

    model = open_model(ask, **_settings(entry))
    if version := code_version(file, models=(entry,)):
        model.identity = f"{model.name} {version}"
    return model


def open_entry(
    entry: ModelEntry,
    *,
    cache: Cache | bool = False,
    api_key: str | None = None,
    prices: PriceTable | None = None,
    dry_run: bool = False,
) -> OpenModel:
    """The model that an entry describes.

    A key of its own is given beside it: none belongs in a file. ``dry_run``: nobody will be asked,
    so its key may be missing.
    """
    opened = partial(
        open_model,
        entry.model,
        cache=cache,
        headers=dict(entry.headers),
        prices=prices,
        **_settings(entry),
    )
    own = entry.api_key_env if api_key is None else None
    try:
        return opened(api_key=key_in(own) if own else api_key)
    except KeyMissing as error:
        if not dry_run:
            raise
        _LOG.warning(Message("{error}. A dry run does without it.", error=error))
        return opened(api_key=_NO_KEY)


def _settings(entry: ModelEntry) -> dict[str, Any]:
    """What is said of how it is asked."""
    given = {
        one.name: getattr(entry, one.name)
        for one in fields(entry)
        if one.name not in ("model", "api_key_env", "headers")
    }
    return {name: value for name, value in given.items() if value is not None}


def _ready(file: EvalFile, entry: JudgeEntry, model: OpenEntry) -> list[ReadyJudge]:
    try:
        made = (
            _cascades(file, entry, model)
            if isinstance(entry, CascadeEntry) and entry.cascade
            else _made(file, entry, model)
        )
        return [_asked_with(one, entry.asked_with) for one in made] if entry.asked_with else made
    except WrongValue:
        raise
    except SetupError as error:
        if file.typed:
            raise
        raise Place(str(file.path), line=entry.line).wrong(str(error)) from error


def asks_no_model(entry: JudgeEntry) -> bool:
    """Return True if the judge needs no model, so that none has to be named or installed."""
    if isinstance(entry, CheckEntry):
        return True
    if isinstance(entry, AgentEntry):
        from adjudge.features.agents.measures import BETTER, JUDGED

        # without measures, policy: measures the policy
        named = entry.measures or (("policy",) if entry.policy else ())
        return not any(name in (*JUDGED, BETTER) for name in (*named, *dict(entry.only)))
    if isinstance(entry, EvidenceEntry):
        return entry.method == "rules" and not entry.claims
    if not isinstance(entry, RagEntry) or entry.dimensions != ("none",) or entry.claims:
        return False
    from adjudge.features.rag.retrieval import RankMeasure  # not loaded where nothing is retrieved

    return entry.evidence in (None, "rules") and all(
        RankMeasure.of(name) for name in entry.measures
    )


def _made(file: EvalFile, entry: JudgeEntry, model: OpenEntry) -> list[ReadyJudge]:
    models = (
        None
        if asks_no_model(entry)
        else [model(one) for one in entry.models or file.models] or None
    )
    if (
        isinstance(entry, CascadeEntry)
        and entry.calibration
        and not (isinstance(entry, AspectEntry) and entry.weights == FROM_LABELS)
    ):
        raise SetupError("the calibration is used by nothing: add cascade, or weights: from labels")
    part = _KINDS.find(entry.kind)
    if part is None:
        raise SetupError("unknown kind of judge {kind!r}", kind=entry.kind)
    with part.blamed():
        return list(_KINDS[entry.kind].make(file, entry, models))


def _cascades(file: EvalFile, entry: CascadeEntry, model: OpenEntry) -> list[ReadyJudge]:
    """A cascade for each judge that the entry would be with one model: its steps are these, with
    one model each.
    """
    from adjudge.core.judges.cascade import Cascade

    if entry.models:
        raise SetupError("a judge has models or a cascade of them, not both")
    if isinstance(entry, AspectEntry) and entry.weights:
        raise SetupError("weights are of a panel, whose models all count: a cascade has none")
    own = replace(entry, cascade=(), calibration=None)
    each = [
        _made(
            file,
            replace(own, models=(one.asked,), strictness=one.strictness or own.strictness),
            model,
        )
        for one in entry.cascade
    ]
    path = file.beside(entry.calibration) if entry.calibration else None
    made = []
    for steps in zip(*each, strict=True):
        cascade = Cascade([one.judge for one in steps], calibration=path, otherwise=entry.otherwise)
        cascade.check_criteria(steps[0].criteria)
        made.append(replace(steps[0], judge=cascade, first_step=steps[0].judge))
    return made


def _asked_with(ready: ReadyJudge, model: str) -> ReadyJudge:
    return replace(ready, name=f"{ready.name} [{model}]", label=f"{ready.label} [{model}]")


def _common(file: EvalFile, entry: JudgeEntry) -> dict[str, Any]:
    names = ("temperature", "seed", "mode", "on_failure")
    return {"language": file.language, **{name: getattr(entry, name) for name in names}}


def _aspects(file: EvalFile, entry: AspectEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.core.judges.aspect import AspectCritic

    found = [_definition(said, file.language) for said in entry.criteria]
    made = []
    for name, definition in found:
        whole = (
            name
            if entry.name is None
            else entry.name
            if len(found) == 1
            else f"{entry.name}: {name}"
        )
        critic = AspectCritic(
            definition,
            models,
            entry.strictness,
            name=whole,
            early_stop=entry.early_stop,
            min_valid=entry.min_valid,
            weights=_weights(file, entry),
            **_common(file, entry),
        )
        made.append(ready_judge(file, entry, whole, critic))
    return made


def _weights(file: EvalFile, entry: AspectEntry) -> Mapping[str, float] | Path | None:
    if entry.weights != FROM_LABELS:
        return dict(entry.weights) or None
    if entry.calibration is None:
        raise SetupError(
            "weights: from labels needs calibration, the file that 'adjudge calibrate RUN "
            "-o FILE' wrote"
        )
    return file.beside(entry.calibration)


def _definition(said: CriteriaEntry, language: str) -> tuple[str, str]:
    """(name, what must be met) of an aspect."""
    if isinstance(said.what, Aspect):
        return said.what
    if isinstance(said.what, Criteria):
        return said.what.name, said.what.description
    if not isinstance(said.what, str):
        return str(said.what["name"]).strip(), str(said.what["description"]).strip()
    if said.what in aspects(language) or len(said.what.split()) == 1:
        try:
            return said.what, aspect(said.what, language)
        except SetupError as error:
            raise said.place.wrong(str(error)) from error
    return said.what, said.what


def _direct(file: EvalFile, entry: DirectEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.core.judges.direct import DirectJudge

    invented = entry.persona == INVENTED
    own = DirectJudge(
        models,
        generate_feedback=entry.feedback,
        judge_description_prompt=None if invented else entry.persona,
        generate_synthetic_persona=invented,
        early_stop=entry.early_stop,
        **_asked_as(file, entry),
    )
    return _with_criteria(file, entry, own)


def _pairwise(file: EvalFile, entry: PairwiseEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.core.judges.pairwise import PairwiseJudge

    own = PairwiseJudge(
        models, contests=entry.contests, tie_enabled=entry.tie_enabled, **_asked_as(file, entry)
    )
    return _with_criteria(file, entry, own)


def _asked_as(file: EvalFile, entry: DirectEntry | PairwiseEntry) -> dict[str, Any]:
    both = entry.both_orders if isinstance(entry, PairwiseEntry) else entry.check_positional_bias
    votes = {"self_consistency": entry.strictness, "check_positional_bias": both}
    return {**_common(file, entry), **votes}


def _also(file: EvalFile, rag: Iterable[RagFields]) -> list[str]:
    """Fields that are taken where a row has them: ids of documents, for measures that read them."""
    also = [name for one in rag for name in one.also]
    checks = [one for entry in file.judges if isinstance(entry, CheckEntry) for one in entry.checks]
    limits = (one.rows_with for one in checks if one.rows_with)
    return [*also, *(name for one in checks for name in one.check.reads), *limits]


def _rag_fields(file: EvalFile) -> list[RagFields]:
    return [_fields_of(file, entry) for entry in file.judges if isinstance(entry, RagEntry)]


def _fields_of(file: EvalFile, entry: RagEntry) -> RagFields:
    from adjudge.features.rag.rows import fields_by_name

    config = file.beside(entry.config) if entry.config else None
    sources = ("contexts",) if entry.evidence else ()
    return fields_by_name(entry.dimensions, entry.measures, config, file.language, sources)


def _rag(file: EvalFile, entry: RagEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.features.rag.evaluator import RagEvaluator

    judge = RagEvaluator(
        models,
        dimensions=entry.dimensions or None,
        measures=entry.measures,
        rewrite_questions=entry.rewrite_questions,
        checks=entry.checks,
        weights=dict(entry.weights),
        config=file.beside(entry.config) if entry.config else None,
        strictness=entry.strictness,
        early_stop=entry.early_stop,
        evidence=entry.evidence,
        claims=entry.claims,
        **_common(file, entry),
    )
    return [replace(ready_judge(file, entry, entry.name or "rag", judge), columns=judge.columns_of)]


def _evidence(file: EvalFile, entry: EvidenceEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.features.evidence.judge import EvidenceJudge

    judge = EvidenceJudge(
        models,
        method=entry.method,
        split="claims" if entry.claims else "sentences",
        text_field=entry.text_field,
        source_field=entry.source_field,
        strictness=entry.strictness,
        **_common(file, entry),
    )
    return [ready_judge(file, entry, entry.name or "evidence", judge)]


def _agent(file: EvalFile, entry: AgentEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.features.agents.evaluator import AgentEvaluator
    from adjudge.features.agents.measures import BETTER, DEFAULT, measures_with_rules

    if entry.per == "conversation":
        raise SetupError("an agent is judged per trajectory, per turn or per step")
    if entry.compare and BETTER in entry.measures:
        rest = measures_with_rules(
            tuple(name for name in entry.measures if name != BETTER), dict(entry.only), vars(entry)
        )
        contest = _contest(file, entry, models)
        return [*(_agent(file, replace(entry, measures=rest), models) if rest else []), contest]
    judge = AgentEvaluator(
        models,
        measures=entry.measures or DEFAULT,
        policy=file.beside(entry.policy) if entry.policy else None,
        expect=file.beside(entry.expect) if entry.expect else None,
        order=entry.order,
        required=entry.required,
        forbidden=entry.forbidden,
        before=entry.before,
        ignore=entry.ignore,
        types=entry.arguments.types,
        text=entry.arguments.text,
        steps_tokens=entry.steps_tokens,
        steps=entry.steps,
        only=dict(entry.only),
        per="trajectory" if entry.per == "row" else entry.per,
        derive=entry.derive,
        blame=entry.blame,
        kinds=entry.kinds,
        strictness=entry.strictness,
        **_common(file, entry),
    )
    ready = ready_judge(file, entry, entry.name or "agent", judge)
    return [replace(ready, criteria=judge.criteria, each_row=judge.rows, per="row")]


def _contest(file: EvalFile, entry: AgentEntry, models: Models) -> ReadyJudge:
    """Which of two runs of a task is better."""
    from adjudge.features.agents.contest import RunContest
    from adjudge.features.agents.measures import BETTER

    judge = RunContest(
        models,
        steps_tokens=entry.steps_tokens,
        self_consistency=entry.strictness,
        **_common(file, entry),
    )
    name = f"{entry.name}: {BETTER}" if entry.name else BETTER
    ready = ready_judge(file, replace(entry, per="row"), name, judge)
    return replace(ready, criteria=(judge.criterion,), each_row=judge.rows, compares=True)


# nobody is asked
def _checks(file: EvalFile, entry: CheckEntry, models: Models) -> list[ReadyJudge]:  # noqa: ARG001
    from adjudge.core.judges.checks import CheckJudge

    name = entry.name or "checks"
    checks = [one.ready(file.path.parent) for one in entry.checks]
    code = code_version(file, judges=(entry,))
    judge = CheckJudge(checks, name=name, threshold=entry.threshold, code=code)
    return [
        replace(ready_judge(file, entry, name, judge), criteria=judge.criteria, each_row=judge.rows)
    ]


def _python(file: EvalFile, entry: PythonEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.runs.own_judge import own_judge

    common = {**_common(file, entry), "self_consistency": entry.strictness}
    judge = own_judge(file, entry, models, common)
    name = entry.name or entry.judge.rpartition(":")[2]
    if not isinstance(judge, CaseJudge):
        return [ready_judge(file, entry, name, judge)]
    criteria = criteria_said(entry.criteria, judge.kind, file.language, file.beside)
    name = entry.name or ", ".join(one.name for one in criteria)
    return [
        replace(ready_judge(file, entry, name, judge), criteria=criteria, compares=entry.compares)
    ]


@light_dataclass(frozen=True)
class JudgeKind:
    """A kind of judge in eval files: its keys, and how judges are made of them."""

    entry: type[JudgeEntry]
    make: Callable[[EvalFile, Any, Models], Sequence[ReadyJudge]]

    def read(self, value: object, place: Place) -> JudgeEntry:
        return Record(self.entry).read(value, place)

    def schema(self) -> Schema:
        return Record(self.entry).schema()

    def problem_as_plugin(self) -> str:
        """Other entries lack what every judge of an eval file has."""
        fits = isinstance(self.entry, type) and issubclass(self.entry, JudgeEntry)
        return "" if fits else Message("its entry is not a subclass of JudgeEntry")


ASPECT = JudgeKind(AspectEntry, _aspects)
DIRECT = JudgeKind(DirectEntry, _direct)
PAIRWISE = JudgeKind(PairwiseEntry, _pairwise)
RAG = JudgeKind(RagEntry, _rag)
EVIDENCE = JudgeKind(EvidenceEntry, _evidence)
AGENT = JudgeKind(AgentEntry, _agent)
CHECK = JudgeKind(CheckEntry, _checks)
PYTHON = JudgeKind(PythonEntry, _python)
_KINDS: Parts[JudgeKind] = Parts("judges")


def _with_criteria(
    file: EvalFile, entry: DirectEntry | PairwiseEntry, judge: CaseJudge[Any, Any]
) -> list[ReadyJudge]:
    compares = isinstance(entry, PairwiseEntry)
    criteria = criteria_said(
        entry.criteria, "pairwise" if compares else "direct", file.language, file.beside
    )
    ready = ready_judge(file, entry, entry.name or ", ".join(one.name for one in criteria), judge)
    return [replace(ready, criteria=criteria, compares=compares)]


def ready_judge(file: EvalFile, entry: JudgeEntry, name: str, judge: Judge[Any, Any]) -> ReadyJudge:
    """A judge of a command has always been filed under its class, one that has a name of its own
    under that.
    """
    by_class = file.typed and entry.name is None
    if entry.per != "row" and isinstance(entry, PairwiseEntry):
        raise SetupError(
            "a judge that compares responses takes rows, not turns or conversations: leave per out"
        )
    if entry.per == "step" and not isinstance(entry, AgentEntry):
        raise SetupError("per: step is for judges of kind agent")
    if entry.per == "conversation" and (
        isinstance(entry, EvidenceEntry) or (isinstance(entry, RagEntry) and entry.evidence)
    ):
        raise SetupError(
            "sources are to support what the assistant says, not what users say: take per: "
            "turn for evidence"
        )
    label = type(judge).__name__ if by_class else name
    return ReadyJudge(name, judge, label, fail_under=entry.fail_under, per=entry.per)


def _compares(file: EvalFile) -> bool:
    """Whether rows hold several responses each. They cannot do both."""
    compared = [
        isinstance(one, PairwiseEntry) or (isinstance(one, PythonEntry) and one.compares)
        for one in file.judges
    ]
    if file.target:
        return False
    if any(compared) and not all(compared):
        line = file.judges[compared.index(True)].line
        raise Place(str(file.path), line=line).wrong(
            "a pairwise judge compares several responses of a row, and the other judges "
            "read one: use a file for each"
        )
    return any(compared)
