"""The judges of an eval file, ready to run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial, wraps
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from adjudge.core.aio.user_functions import call
from adjudge.core.catalog.aspects import aspect, aspects
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.headers import key_in
from adjudge.core.gateway.layers.cache import Cache
from adjudge.core.gateway.opener import ModelLike, OpenModel, default_model, open_model
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.judges.case import CaseJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.core.reading.types import FilePath, Record, Schema, keys_of
from adjudge.core.reading.user_code import load_code, locate_code
from adjudge.core.reading.values import Place, WrongValue
from adjudge.errors import KeyMissing, ModelError, SetupError
from adjudge.messages import Message
from adjudge.plugins import Parts
from adjudge.runs.criteria_entry import Aspect, CriteriaEntry, criteria_said
from adjudge.runs.eval_file import (
    FROM_LABELS,
    AspectEntry,
    CascadeEntry,
    CheckEntry,
    DirectEntry,
    EvalFile,
    JudgeEntry,
    PairwiseEntry,
    PythonEntry,
)
from adjudge.runs.polarity import opposed_criteria
from adjudge.runs.project import ExplainEntry, ModelEntry
from adjudge.runs.ready_judge import ReadyJudge

if TYPE_CHECKING:
    from adjudge.runs.second_opinions import Explaining

INVENTED = "invented"
"""The persona that the model makes up itself."""
_NO_KEY = "none"
_LOG = logging.getLogger("adjudge")
OpenEntry = Callable[[ModelEntry], ModelLike]
Models = Sequence[ModelLike] | None


class PanelModels(list[ModelLike]):
    """The models of a panel, and the model that replaces one that fails."""

    replacement: ModelLike | None = None


def look_up_criteria(file: EvalFile) -> EvalFile:
    """Look up the criteria of direct judges once, so that the judges and every pass over the rows
    share them.
    """
    return replace(file, judges=tuple(entry.look_up_criteria(file) for entry in file.judges))


def make_judges(file: EvalFile, opened: OpenEntry, prices: PriceTable) -> list[ReadyJudge]:
    """Return every judge of the file with its models opened. Equal models are opened once.

    ``opened``: opens the model of an entry. ``prices``: used to price the targets' answers.
    """
    shared: dict[ModelEntry, ModelLike] = {}

    def model(entry: ModelEntry) -> ModelLike:
        if entry not in shared:
            try:
                shared[entry] = (
                    _own_model(file, entry) if file.code.is_model(entry) else opened(entry)
                )
            except WrongValue:
                raise
            except SetupError as error:
                if file.typed or entry not in file.models:
                    raise  # with the line of the judge that names it
                where = file.models_from or Place(str(file.path), field="models")
                raise where.wrong("{error}", error=error) from error
        return shared[entry]

    judges_by_entry = [
        (entry, ready) for entry in file.judges for ready in _ready(file, entry, model)
    ]
    judges = [
        _limited(file, entry, ready, judges_by_entry) if entry.after or entry.rows_with else ready
        for entry, ready in judges_by_entry
    ]
    talking = next((entry for entry in file.judges if entry.talks_to_target), None)
    if talking is not None:
        judges = talking.after_targets(file, judges, model, prices)
    elif file.target:
        judges = _after_targets(file, judges, model, prices)
    # the events of a run tell its judges apart by their names
    for name, count in Counter(ready.name for ready in judges).items():
        if count > 1:
            raise SetupError(
                "{path}: {count} judges are named {name!r}: give each a different name",
                path=file.path,
                count=count,
                name=name,
            )
    _refuse_opposed_criteria(judges)
    return judges


def _refuse_opposed_criteria(judges: Sequence[ReadyJudge]) -> None:
    """Raise a SetupError if two criteria of one name disagree about the better option: labels go by
    the name of a criterion, and would count for both.
    """
    asked = [(ready.name, criterion) for ready in judges for criterion in ready.criteria]
    for (judge, criterion), (judge2, criterion2) in combinations(asked, 2):
        if criterion.name == criterion2.name and criterion.is_opposed_to(criterion2):
            raise opposed_criteria(criterion.name, judge, judge2)


def make_explaining(file: EvalFile, opened: OpenEntry, judges: Sequence[ReadyJudge]) -> Explaining:
    """Create the object that asks for the second opinions of a file with ``explain``, with its
    model opened and all settings checked.
    """
    from adjudge.runs.second_opinions import Explaining  # loaded only if a file asks for it

    entry = cast(ExplainEntry, file.explain)
    try:
        model = _own_model(file, entry.asked) if file.code.is_model(entry) else opened(entry.asked)
        explaining = Explaining(
            model if isinstance(model, OpenModel) else open_model(model),
            file.language,
            entry.below_,
            Learnt.read(file.beside(entry.calibration)) if entry.calibration else None,
        )
        explaining.check(judges)
    except WrongValue:
        raise
    except SetupError as error:
        raise Place(str(file.path), field="explain").wrong("{error}", error=error) from error
    return explaining


def _limited(
    file: EvalFile,
    entry: JudgeEntry,
    ready: ReadyJudge,
    judges_by_entry: Sequence[tuple[JudgeEntry, ReadyJudge]],
) -> ReadyJudge:
    """Restrict a judge to the rows that its entry allows."""
    from adjudge.runs.check_filter import limited

    checks = [judge for other_entry, judge in judges_by_entry if other_entry.after is None]
    try:
        return limited(ready, checks if entry.after else None, entry.rows_with or "")
    except SetupError as error:
        raise Place(str(file.path), line=entry.line).wrong("{error}", error=error) from error


def _after_targets(
    file: EvalFile, judges: Sequence[ReadyJudge], model: OpenEntry, prices: PriceTable
) -> list[ReadyJudge]:
    """Wrap the judges so that the file's targets answer each row before it is judged."""
    from adjudge.runs.targets import SharedAnswers, answered_first
    from adjudge.runs.variants import variants_of

    answers = SharedAnswers()
    try:
        variants = variants_of(file, model)
        return [
            answered_first(ready, variants, answers, prices, first=number == 0)
            for number, ready in enumerate(judges)
        ]
    except SetupError as error:
        raise Place(str(file.path), field="target").wrong("{error}", error=error) from error


def _own_model(file: EvalFile, entry: ModelEntry) -> OpenModel:
    """Wrap a user-defined function, ``prompt -> text``, as a model. The model's identity changes
    whenever the function's files do.
    """
    function = load_code(locate_code(entry.model, file.path.parent))

    @wraps(function)
    async def ask(prompt: str) -> str:
        try:
            return cast(str, await call(function, prompt))
        except SystemExit as error:
            raise ModelError("it called sys.exit({code})", code=repr(error.code)) from error

    model = open_model(ask, **_settings(entry))
    if version := file.code.of_model(entry):
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
    """Open the model of an entry.

    ``api_key``: used instead of the entry's environment variable. ``dry_run``: the model will not
    be called, so a missing key causes only a warning.
    """
    opened = partial(
        open_model,
        entry.model,
        cache=cache,
        headers=dict(entry.headers),
        prices=prices,
        **_settings(entry),
    )
    key_variable = entry.api_key_env if api_key is None else None
    try:
        return opened(api_key=key_in(key_variable) if key_variable else api_key)
    except KeyMissing as error:
        if not dry_run:
            raise
        _LOG.warning(Message("{error}. A dry run works without it.", error=error))
        return opened(api_key=_NO_KEY)


def _settings(entry: ModelEntry) -> dict[str, Any]:
    """Return those of the entry's settings that are set, as arguments for ``open_model``."""
    values = {
        setting.name: getattr(entry, setting.name)
        for setting in fields(entry)
        if setting.name not in ("model", "api_key_env", "headers")
    }
    values["parameters"] = entry.parameters or None
    return {name: value for name, value in values.items() if value is not None}


def _ready(file: EvalFile, entry: JudgeEntry, model: OpenEntry) -> list[ReadyJudge]:
    try:
        judges = (
            _cascades(file, entry, model)
            if isinstance(entry, CascadeEntry) and entry.cascade
            else _make_judges(file, entry, model)
        )
        if not entry.asked_with:
            return judges
        mark = f"[{entry.asked_with}]"
        return [
            replace(judge, name=f"{judge.name} {mark}", label=f"{judge.label} {mark}")
            for judge in judges
        ]
    except WrongValue:
        raise
    except SetupError as error:
        if file.typed:
            raise
        raise Place(str(file.path), line=entry.line).wrong(str(error)) from error


def _make_judges(file: EvalFile, entry: JudgeEntry, model: OpenEntry) -> list[ReadyJudge]:
    models = (
        None
        if entry.asks_no_model
        else [model(model_entry) for model_entry in entry.models or file.models] or None
    )
    for replacement in entry.replacements:
        models = PanelModels(models or [default_model()])
        models.replacement = model(replacement)
    entry.check_calibration()
    part = _KINDS.find(entry.kind)
    if part is None:
        raise SetupError("unknown kind of judge {kind!r}", kind=entry.kind)
    with part.blame_package():
        return list(_KINDS[entry.kind].make(file, entry, models))


def _cascades(file: EvalFile, entry: CascadeEntry, model: OpenEntry) -> list[ReadyJudge]:
    """Build one cascade for each judge that the entry would otherwise make. Each step is that judge
    with a single model.
    """
    from adjudge.core.judges.cascade import Cascade

    entry.check_calibration()
    plain_entry = replace(entry, cascade=(), calibration=None)
    judges_by_step = [
        _make_judges(
            file,
            replace(plain_entry, models=(step.asked,), votes=step.votes or plain_entry.votes),
            model,
        )
        for step in entry.cascade
    ]
    path = file.beside(entry.calibration) if entry.calibration else None
    cascades = []
    for steps in zip(*judges_by_step, strict=True):
        cascade = Cascade(
            [step.judge for step in steps], calibration=path, otherwise=entry.otherwise
        )
        cascade.check_criteria(steps[0].criteria)
        cascades.append(replace(steps[0], judge=cascade, first_step=steps[0].judge))
    return cascades


def common_settings(file: EvalFile, entry: JudgeEntry) -> dict[str, Any]:
    """Return the settings that all judges share, by parameter name."""
    names = ("temperature", "seed", "mode", "on_failure")
    return {"language": file.language, **{name: getattr(entry, name) for name in names}}


def kind_settings(file: EvalFile, entry: JudgeEntry, but: Collection[str] = ()) -> dict[str, Any]:
    """Return constructor arguments for a judge whose parameters are named like its entry's
    settings.

    These are ``common_settings``, the votes, and the settings that the entry's kind declares,
    except those in ``but``. Relative paths are resolved against the eval file's folder.
    """
    kind, shared = cast(type, type(entry)), keys_of(JudgeEntry)
    values = {
        setting.name: getattr(entry, setting.name)
        for name, setting in keys_of(kind).items()
        if name not in shared and name not in but
    }
    for name, setting in keys_of(kind).items():
        if isinstance(setting.metadata["type"], FilePath) and values.get(name):
            values[name] = file.beside(values[name])
    return {**common_settings(file, entry), "votes": entry.votes, **values}


def _aspects(file: EvalFile, entry: AspectEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.core.judges.aspect import AspectCritic

    definitions = [_definition(criterion, file.language) for criterion in entry.criteria]
    judges = []
    for name, definition in definitions:
        judge_name = (
            name
            if entry.name is None
            else entry.name
            if len(definitions) == 1
            else f"{entry.name}: {name}"
        )
        critic = AspectCritic(
            definition,
            models,
            entry.votes,
            name=judge_name,
            early_stop=entry.early_stop,
            min_valid=entry.min_valid,
            weights=_weights(file, entry),
            replacement=_replacement(models),
            **common_settings(file, entry),
        )
        judges.append(ready_judge(file, entry, judge_name, critic))
    return [_per_topic(file, entry, models, judge) for judge in judges]


def _weights(file: EvalFile, entry: AspectEntry) -> Mapping[str, float] | Path | None:
    if entry.weights != FROM_LABELS:
        return dict(entry.weights) or None
    if entry.calibration is None:
        raise SetupError(
            "weights: from labels needs calibration, the file that 'adjudge calibrate RUN "
            "-o FILE' wrote"
        )
    return file.beside(entry.calibration)


def _definition(criterion: CriteriaEntry, language: str) -> tuple[str, str]:
    """Return the name and the requirement of an aspect."""
    if isinstance(criterion.what, Aspect):
        return criterion.what
    if isinstance(criterion.what, Criteria):
        return criterion.what.name, criterion.what.description
    if not isinstance(criterion.what, str):
        return str(criterion.what["name"]).strip(), str(criterion.what["description"]).strip()
    if criterion.what in aspects(language) or len(criterion.what.split()) == 1:
        try:
            return criterion.what, aspect(criterion.what, language)
        except SetupError as error:
            raise criterion.place.wrong(str(error)) from error
    return criterion.what, criterion.what


def _direct(file: EvalFile, entry: DirectEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.core.judges.direct import DirectJudge

    invented = entry.persona == INVENTED
    judge = DirectJudge(
        models,
        generate_feedback=entry.feedback,
        judge_description_prompt=None if invented else entry.persona,
        generate_synthetic_persona=invented,
        early_stop=entry.early_stop,
        replacement=_replacement(models),
        **_asked_as(file, entry),
    )
    return [_per_topic(file, entry, models, ready) for ready in _with_criteria(file, entry, judge)]


def _per_topic(
    file: EvalFile, entry: AspectEntry | DirectEntry, models: Models, ready: ReadyJudge
) -> ReadyJudge:
    """Return the judge as it is, or around it one that first finds the topics of conversations."""
    if entry.per != "topic":
        return ready
    from adjudge.core.judges.direct import DirectJudge
    from adjudge.runs.topics import per_topic

    segmenter = DirectJudge(models, votes=entry.votes, **common_settings(file, entry))
    return per_topic(ready, segmenter, file.language)


def _pairwise(file: EvalFile, entry: PairwiseEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.core.judges.pairwise import PairwiseJudge

    judge = PairwiseJudge(
        models,
        contests=entry.contests,
        tie_enabled=entry.tie_enabled,
        replacement=_replacement(models),
        **_asked_as(file, entry),
    )
    return _with_criteria(file, entry, judge)


def _replacement(models: Models) -> ModelLike | None:
    return models.replacement if isinstance(models, PanelModels) else None


def _asked_as(file: EvalFile, entry: DirectEntry | PairwiseEntry) -> dict[str, Any]:
    votes = {"votes": entry.votes, "check_positional_bias": entry.both_orders}
    return {**common_settings(file, entry), **votes}


# nobody is asked
def _checks(file: EvalFile, entry: CheckEntry, models: Models) -> list[ReadyJudge]:  # noqa: ARG001
    from adjudge.core.judges.checks import CheckJudge

    name = entry.name or "checks"
    checks = [expectation.ready(file.path.parent) for expectation in entry.checks]
    code = file.code.of_judge(entry)
    judge = CheckJudge(checks, name=name, threshold=entry.threshold, code=code)
    return [
        replace(ready_judge(file, entry, name, judge), criteria=judge.criteria, each_row=judge.rows)
    ]


def _python(file: EvalFile, entry: PythonEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.runs.custom_judge import own_judge

    common = {**common_settings(file, entry), "votes": entry.votes}
    judge = own_judge(file, entry, models, common)
    name = entry.name or entry.judge.rpartition(":")[2]
    if not isinstance(judge, CaseJudge):
        return [ready_judge(file, entry, name, judge)]
    criteria = criteria_said(entry.criteria, judge.kind, file.language, file.beside)
    name = entry.name or ", ".join(criterion.name for criterion in criteria)
    return [
        replace(ready_judge(file, entry, name, judge), criteria=criteria, compares=entry.compares)
    ]


@light_dataclass(frozen=True)
class JudgeKind:
    """A kind of judge in eval files: its keys, and a function that makes its judges."""

    entry: type[JudgeEntry]
    make: Callable[[EvalFile, Any, Models], Sequence[ReadyJudge]]

    def read(self, value: object, place: Place) -> JudgeEntry:
        return Record(self.entry).read(value, place)

    def schema(self) -> Schema:
        return Record(self.entry).schema()

    def problem_as_plugin(self) -> str:
        """Return what is wrong if a plugin's entry is not a subclass of ``JudgeEntry``; empty if it
        is one.
        """
        fits = isinstance(self.entry, type) and issubclass(self.entry, JudgeEntry)
        return "" if fits else Message("its entry is not a subclass of JudgeEntry")


ASPECT = JudgeKind(AspectEntry, _aspects)
DIRECT = JudgeKind(DirectEntry, _direct)
PAIRWISE = JudgeKind(PairwiseEntry, _pairwise)
CHECK = JudgeKind(CheckEntry, _checks)
PYTHON = JudgeKind(PythonEntry, _python)
_KINDS: Parts[JudgeKind] = Parts("judges")


def _with_criteria(
    file: EvalFile, entry: DirectEntry | PairwiseEntry, judge: CaseJudge[Any, Any]
) -> list[ReadyJudge]:
    compares = entry.compares_responses
    criteria = criteria_said(
        entry.criteria, "pairwise" if compares else "direct", file.language, file.beside
    )
    ready = ready_judge(
        file, entry, entry.name or ", ".join(criterion.name for criterion in criteria), judge
    )
    return [replace(ready, criteria=criteria, compares=compares)]


def ready_judge(file: EvalFile, entry: JudgeEntry, name: str, judge: Judge[Any, Any]) -> ReadyJudge:
    """Wrap a judge with its name and label.

    A judge given on the command line without a name has always been labelled with its class name.
    """
    entry.check_per()
    by_class = file.typed and entry.name is None
    label = type(judge).__name__ if by_class else name
    return ReadyJudge(name, judge, label, fail_under=entry.fail_under, per=entry.per)
