"""Eval file → its judges, ready to run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, cast

from adjudge.core.aio.user_functions import call
from adjudge.core.catalog.aspects import aspect, aspects
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.headers import key_in
from adjudge.core.gateway.layers.cache import Cache
from adjudge.core.gateway.opener import ModelLike, OpenModel, open_model
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.judges.case import CaseJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.reading.types import FilePath, Record, Schema, keys_of
from adjudge.core.reading.user_code import beside, load_code
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
from adjudge.runs.project import ModelEntry
from adjudge.runs.ready_judge import ReadyJudge

INVENTED = "invented"
"""The persona that the model makes up itself."""
_NO_KEY = "none"
_LOG = logging.getLogger("adjudge")
OpenEntry = Callable[[ModelEntry], ModelLike]
Models = Sequence[ModelLike] | None


def look_up_criteria(file: EvalFile) -> EvalFile:
    """Return the file with the criteria that its direct judges name: neither the judges nor a pass
    over the rows look for them again.
    """
    return replace(
        file,
        judges=tuple(
            replace(
                entry,
                criteria=tuple(
                    map(
                        CriteriaEntry,
                        criteria_said(entry.criteria, "direct", file.language, file.beside),
                    )
                ),
            )
            if isinstance(entry, DirectEntry)
            else entry
            for entry in file.judges
        ),
    )


def make_judges(file: EvalFile, opened: OpenEntry, prices: PriceTable) -> list[ReadyJudge]:
    """Return every judge of the file, with its models opened; equal models are opened once.

    ``opened`` makes a model of an entry. ``prices``: what the answers of targets cost.
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

    each = [(entry, ready) for entry in file.judges for ready in _ready(file, entry, model)]
    made = [
        _after_checks(file, entry, ready, each) if entry.after else ready for entry, ready in each
    ]
    talking = next((entry for entry in file.judges if entry.talks_to_target), None)
    if talking is not None:
        made = talking.after_targets(file, made, model, prices)
    elif file.target:
        made = _after_targets(file, made, model, prices)
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
    from adjudge.runs.check_filter import after_checks

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


def _made(file: EvalFile, entry: JudgeEntry, model: OpenEntry) -> list[ReadyJudge]:
    models = (
        None if entry.asks_no_model else [model(one) for one in entry.models or file.models] or None
    )
    entry.check_calibration()
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

    entry.check_calibration()
    own = replace(entry, cascade=(), calibration=None)
    each = [
        _made(
            file,
            replace(own, models=(one.asked,), votes=one.votes or own.votes),
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


def common_settings(file: EvalFile, entry: JudgeEntry) -> dict[str, Any]:
    """Return the settings that every judge is made with, by the names of its parameters."""
    names = ("temperature", "seed", "mode", "on_failure")
    return {"language": file.language, **{name: getattr(entry, name) for name in names}}


def kind_settings(file: EvalFile, entry: JudgeEntry, but: Collection[str] = ()) -> dict[str, Any]:
    """Return ``common_settings``, the votes, and the settings that the entry's own kind declares:
    for a judge whose parameters have the same names. Paths are seen from here.

    ``but``: settings that the judge is not made with.
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
            entry.votes,
            name=whole,
            early_stop=entry.early_stop,
            min_valid=entry.min_valid,
            weights=_weights(file, entry),
            **common_settings(file, entry),
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
    votes = {"votes": entry.votes, "check_positional_bias": entry.both_orders}
    return {**common_settings(file, entry), **votes}


# nobody is asked
def _checks(file: EvalFile, entry: CheckEntry, models: Models) -> list[ReadyJudge]:  # noqa: ARG001
    from adjudge.core.judges.checks import CheckJudge

    name = entry.name or "checks"
    checks = [one.ready(file.path.parent) for one in entry.checks]
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
    ready = ready_judge(file, entry, entry.name or ", ".join(one.name for one in criteria), judge)
    return [replace(ready, criteria=criteria, compares=compares)]


def ready_judge(file: EvalFile, entry: JudgeEntry, name: str, judge: Judge[Any, Any]) -> ReadyJudge:
    """A judge of a command has always been filed under its class, one that has a name of its own
    under that.
    """
    entry.check_per()
    by_class = file.typed and entry.name is None
    label = type(judge).__name__ if by_class else name
    return ReadyJudge(name, judge, label, fail_under=entry.fail_under, per=entry.per)
