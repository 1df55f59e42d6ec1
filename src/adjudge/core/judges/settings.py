"""Settings of judges: the models, the fields that several kinds share, the checks of their values,
and their record in a run.
"""

import json
import math
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, cast

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict, plain
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.numbers import MOST_WEIGHT
from adjudge.core.domain.vote import Ballot, Mode, Vote
from adjudge.core.engine.ask import requests_for
from adjudge.core.gateway.inference_engine import (
    EngineLike,
    EngineModel,
    InferenceEngine,
    is_engine,
)
from adjudge.core.gateway.model import Model, TrainedModel
from adjudge.core.gateway.opener import ModelLike, OpenModel, open_model, open_panel
from adjudge.core.pooling import VERSION as POOLING
from adjudge.core.pooling.majority import any_abstained
from adjudge.core.prompts.renderer import wordings
from adjudge.core.verdicts import VERSION as READER
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import package_of
from adjudge.version import __version__

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
# Items that may wait for one model of a panel while the others go on.
_ROOM_FOR_A_PANEL = 2048


class ModelPanel(FrozenDict[OpenModel]):
    """Models by their names on the ballots, as they were when the judge was created."""

    replacement: str | None = None
    """The model that takes the place of a member without a verdict, if there is one."""

    @classmethod
    def of(
        cls,
        models: EngineLike | Sequence[EngineLike] | None,
        replacement: EngineLike | None = None,
    ) -> "ModelPanel":
        """Open the caller's models; None is the embedded model, and no replacement."""
        members = open_panel(_with_engines(models))
        if replacement is None:
            return cls(members)
        if isinstance(replacement, list | tuple):
            raise SetupError("replacement must be one model, not a list")
        ((name, model),) = open_panel(_with_engines([replacement])).items()
        if any(model.identity == member.identity for member in members.values()):
            raise SetupError(
                "replacement: {name} is already in the panel and would fail along with it: use "
                "another model",
                name=name,
            )
        if name in members:  # the same name at another server
            raise SetupError(
                "replacement: the panel already has a model named {name}, so their votes would "
                "be indistinguishable: use another model",
                name=name,
            )
        panel = cls({**members, name: model})
        panel.replacement = name
        return panel

    @cached_property
    def members(self) -> tuple[str, ...]:
        """The models that are asked about everything: all but the replacement."""
        return tuple(name for name in self if name != self.replacement)

    def failed_members(self, votes: Sequence[Vote], min_valid: int = 1) -> tuple[str, ...]:
        """Return the members whose place the replacement takes, given all their votes.

        They have fewer than ``min_valid`` verdicts. What the others said makes no difference, and
        a member that declined to decide is not replaced: that is an answer.
        """
        if self.replacement is None:
            return ()
        failed = []
        for name in self.members:
            own = [vote for vote in votes if vote.model == name]
            too_few = sum(vote.valid for vote in own) < min_valid
            if own and too_few and not any_abstained(own):
                failed.append(name)
        return tuple(failed)

    @cached_property
    def max_in_flight(self) -> int:
        """Items under way at once: enough to keep every model busy while others wait for a repair
        or a retry.
        """
        busy = 2 * sum(self.at_once.values())
        return busy if len(self) < 2 else max(busy, _ROOM_FOR_A_PANEL)

    @cached_property
    def at_once(self) -> Mapping[str, int]:
        """Ballots that each model may have under way at once."""
        return {name: model.max_concurrency for name, model in self.items()}

    @cached_property
    def deciding(self) -> tuple[str, ...]:
        """The decision models: they choose among options and write nothing."""
        return tuple(name for name, model in self.items() if model.capabilities.decisions)

    @cached_property
    def identities(self) -> Mapping[str, str]:
        """Map each model to its identity, which does not depend on where it is served."""
        return {name: model.identity for name, model in self.items()}

    def has_reply(self, ballot: Ballot) -> bool:
        """Return True if a cache would answer the ballot."""
        model = self.get(ballot.model)
        return (
            model is not None
            and model.keeps_replies
            and all(map(model.has_reply, requests_for(ballot)))
        )


def _with_engines(
    models: EngineLike | Sequence[EngineLike] | None,
) -> ModelLike | Sequence[ModelLike] | None:
    """Wrap inference engines as models, each with one request at a time."""
    if isinstance(models, list | tuple):
        return [_open_engine(model) if is_engine(model) else model for model in models]
    # mypy does not narrow the remaining types by is_engine.
    # narrowed by what its class has
    return _open_engine(models) if is_engine(models) else models  # type: ignore[return-value]


def _open_engine(engine: InferenceEngine) -> OpenModel:
    return open_model(EngineModel(engine), max_concurrency=1)


NO_MODELS = ModelPanel()
"""The panel of a judge that asks no model."""


class Alias:
    """A second name for a setting: accepted when a judge is made; afterwards it reads and sets the
    setting.
    """

    def __init__(self, setting: str) -> None:
        self.setting, self._name = setting, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return "None"  # help() shows it as the default

    def __get__(self, judge: object, owner: type | None = None) -> Any:
        return self if judge is None else getattr(judge, self.setting)

    def __set__(self, judge: object, value: object) -> None:
        if FIELDS in judge.__dict__:
            setattr(judge, self.setting, _translate(self._name, value))
        else:
            judge.__dict__[self._name] = value


def alias(setting: str) -> Any:
    """Declare a field that is a second name of ``setting``."""
    return field(default=Alias(setting), kw_only=True, repr=False, compare=False)


@cache
def aliases_of(judge: type["DataclassInstance"]) -> dict[str, str]:
    """Map each alias to the name of its setting."""
    defaults = {entry.name: entry.default for entry in fields(judge)}
    return {name: kind.setting for name, kind in defaults.items() if isinstance(kind, Alias)}


def take_aliases(judge: "DataclassInstance") -> None:
    """Move values given under an alias to their settings; raise a SetupError if the two names
    disagree.
    """
    for alias_name, name in aliases_of(type(judge)).items():
        value = judge.__dict__.pop(alias_name, None)
        if value is None or isinstance(value, Alias):
            continue
        value = _translate(alias_name, value)
        if getattr(judge, name) not in (judge.__dataclass_fields__[name].default, value):
            raise SetupError(
                "{name} and {other} are two names of the same setting: give only one",
                name=name,
                other=alias_name,
            )
        object.__setattr__(judge, name, value)
    hide_aliases(judge)


def hide_aliases(judge: "DataclassInstance") -> None:
    """Leave the aliases out of ``fields(judge)``."""
    # ``dataclasses.replace`` passes every field it finds there: the old value under one name would
    # contradict a new one under the other.
    judge.__dict__[FIELDS] = _settings_of(type(judge))


@cache
def _settings_of(judge: type["DataclassInstance"]) -> dict[str, Field[Any]]:
    aliases = aliases_of(judge)
    return {
        name: entry for name, entry in judge.__dataclass_fields__.items() if name not in aliases
    }


def _translate(name: str, value: object) -> object:
    """Turn EvalAssist's boolean ``self_consistency`` into a number of votes; keep all other
    values.
    """
    if name == "self_consistency" and isinstance(value, bool):
        return SELF_CONSISTENCY if value else 1
    return value


OnFailure = Literal["abstain", "raise", "random"]
OnTooFew = Literal["fallback", "raise"]
"""Like OnFailure, but for sampled criteria, whose callers need a bool or a number."""
Otherwise = Literal["abstain", "last"]
OTHERWISE: tuple[Otherwise, ...] = ("abstain", "last")
"""The fate of an item if no step of a cascade is sure enough of it."""
Contests = Literal["joint", "pairs"]
_MOST_VOTES = 10_000
FIELDS = "__dataclass_fields__"
SELF_CONSISTENCY = 3
"""Number of votes for ``self_consistency=True``."""


@dataclass(kw_only=True, eq=False)
class OwnSettings:
    """Settings of custom judges, which may be changed and extended."""

    votes: int = 1
    self_consistency: bool | int | None = alias("votes")
    check_positional_bias: bool = False
    language: str = "en"
    seed: int | None = None
    max_repairs: int = 3
    on_failure: OnFailure = "abstain"
    batch_size: int = 32


class AskOptions(TypedDict):
    """Options that a judge passes on to the judges it uses."""

    language: str
    temperature: float | None
    seed: int | None
    mode: Mode | None
    max_repairs: int


@light_dataclass(frozen=True, kw_only=True)
class AskSettings:
    """Settings of judges that ask a panel of models."""

    panel: ModelPanel = field(init=False, repr=False, compare=False)
    language: str = "en"
    temperature: float | None = None
    seed: int | None = None
    max_repairs: int = 3


@light_dataclass(frozen=True, kw_only=True)
class VoteSettings(AskSettings):
    """Settings of judges that ask a panel of models for votes.

    Parameters:
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
    """

    votes: int = 1
    self_consistency: bool | int | None = alias("votes")
    check_positional_bias: bool = False
    on_failure: OnFailure = "abstain"
    batch_size: int = 32


@light_dataclass(frozen=True, kw_only=True)
class ReplacementSettings:
    """The setting of judges that can replace a member of their panel.

    Parameters:
        replacement: the model to ask about a row if a member of the panel gives no verdict on it.
            It takes the place of one member, under its own name.
    """

    replacement: EngineLike | None = field(default=None, hash=False)

    def open_models(self) -> ModelPanel:
        """Return the models, ready to be asked, and their replacement."""
        return ModelPanel.of(cast("ModelSettings", self).models, self.replacement)


@light_dataclass(frozen=True, kw_only=True)
class ModelSettings(VoteSettings):
    """Like VoteSettings, with the models to ask.

    Parameters:
        models: one model or a panel, as ids, model objects, functions ``prompt -> text`` or unitxt
            engines; None is the embedded model.
        inference_engine: EvalAssist's name for ``models``.
    """

    models: EngineLike | Sequence[EngineLike] | None = field(
        default=None, kw_only=False, hash=False
    )
    inference_engine: EngineLike | Sequence[EngineLike] | None = alias("models")

    def open_models(self) -> ModelPanel:
        """Return the models, ready to be asked."""
        return ModelPanel.of(self.models)


def at_least(name: str, value: int, least: int) -> None:
    """Raise a SetupError unless ``value`` is a whole number from ``least`` up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SetupError(
            "{name} must be a whole number of at least {least}, not {value!r}",
            name=name,
            least=least,
            value=value,
        )


def check_votes(name: str, value: int) -> None:
    """Raise a SetupError unless ``value`` is a number of votes."""
    at_least(name, value, 1)
    # All votes are planned at once, so their number is limited.
    if value > _MOST_VOTES:
        raise SetupError(
            "{name} must be at most {most:,}, not {value:,}",
            name=name,
            most=_MOST_VOTES,
            value=value,
        )


def check_temperature(value: float | None) -> None:
    """Raise a SetupError unless ``value`` is a temperature that a model accepts."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise SetupError("temperature must be a number of at least 0, not {value!r}", value=value)


def one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise a SetupError unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise SetupError(
            "{name} must be one of {allowed}, not {value!r}",
            name=name,
            allowed=", ".join(allowed),
            value=value,
        )


def check_mode(mode: str | None, panel: Mapping[str, OpenModel]) -> None:
    """Raise a SetupError if ``mode`` is unknown, or one that a model does not support."""
    if mode is not None:
        one_of("mode", mode, ("generate", "likelihood"))
    for name, model in panel.items():
        if mode == "generate" and model.capabilities.decisions:
            raise SetupError(
                "{name} is a decision model, which generates no text: leave mode out", name=name
            )
        able = model.capabilities.logprobs or model.capabilities.decisions
        if mode == "likelihood" and not able:
            raise SetupError(
                "{name} gives no log-probabilities: mode='likelihood' cannot be used with it",
                name=name,
            )


def check_written(panel: ModelPanel, **wanted: object) -> None:
    """Raise a SetupError if a decision model would have to write, or to take a persona."""
    for setting, value in wanted.items():
        if value and panel.deciding:
            raise SetupError(
                "{model} is a decision model: it writes no explanation or feedback and has no "
                "persona. Leave {setting} out, or name a model that writes",
                model=panel.deciding[0],
                setting=setting,
            )


def check_picklable(judge: str, models: object) -> None:
    """Raise a TypeError for a live model: its connections, locks and keys belong to this
    process.
    """
    for model in models if isinstance(models, list | tuple) else (models,):
        try:
            pickle.dumps(model)
        except (TypeError, AttributeError, pickle.PicklingError):
            model_name = (
                f"{type(model).__name__} {model.name}"
                if isinstance(model, Model)
                else type(model).__name__
            )
            raise TypeError(
                Message(
                    "{judge} contains a live model ({named}), whose connections and keys cannot "
                    "leave this process. To pickle the judge, give it a model id, such as "
                    "'openai/gpt-4o-mini', or a module-level function",
                    judge=judge,
                    named=model_name,
                )
            ) from None


def check_samples(panel: Mapping[str, OpenModel], samples: int) -> None:
    """Raise a SetupError if several votes of a model would be copies of one."""
    for name, model in panel.items():
        if samples > 1 and not model.capabilities.fresh_samples:
            raise SetupError(
                "{name} caches its replies, so all {samples} votes would be the same: create it "
                "with use_cache=False",
                name=name,
                samples=samples,
            )


def temperature_for(model: OpenModel, wanted: float | None, samples: int) -> float:
    """Return the judge's temperature, else the model's, else 0 for one sample and 1 for several."""
    for temperature in (wanted, model.temperature):
        if temperature is not None:
            return temperature
    return 0.0 if samples == 1 else 1.0


def checked_weights(weights: Mapping[str, float], models: Sequence[str]) -> dict[str, float]:
    """Return a weight for each model; raise a SetupError if one is missing, unknown or out of
    range.
    """
    model_names = ", ".join(models)
    for name, weight in weights.items():
        if name not in models:
            raise SetupError(
                "weights: the panel has no model named {name!r}; it has {named}",
                name=name,
                named=model_names,
            )
        if (
            isinstance(weight, bool)
            or not isinstance(weight, int | float)
            or not math.isfinite(weight)
            or weight < 0
        ):
            raise SetupError(
                "weights: the weight of {name!r} must be a number of at least 0, not {weight!r}",
                name=name,
                weight=weight,
            )
        if weight > MOST_WEIGHT:
            raise SetupError(
                "weights: the weight of {name!r} is too large: {weight!r}; only the ratio "
                "matters, so write numbers such as 1 and 0.4",
                name=name,
                weight=weight,
            )
    if missing := [name for name in models if name not in weights]:
        raise SetupError(
            "weights: {missing!r} has no weight: give one to every model of the panel ({named})",
            missing=missing[0],
            named=model_names,
        )
    if not any(weights.values()):
        raise SetupError("weights: all of them are 0, so no vote would count")
    return {name: float(weights[name]) for name in models}


def provenance(
    judge: str,
    settings: Mapping[str, object],
    models: Mapping[str, OpenModel],
    criteria: Iterable[Criteria],
    language: str,
) -> JsonDict:
    """Return everything that decides what is asked and how the answers are pooled."""
    return {
        "judge": judge,
        "settings": plain_settings(settings),
        "models": {name: _model(model) for name, model in models.items()},
        "criteria": [plain(criterion) for criterion in criteria],
        "templates": wordings(language),
        "versions": {**_software_versions(), "reader": READER, "pooling": POOLING},
    }


@cache
def _software_versions() -> dict[str, str]:
    import platform

    return {"adjudge": __version__, "python": platform.python_version()}


def plain_settings(settings: Mapping[str, object]) -> JsonObject:
    """Return settings as JSON-ready data; other objects become the name of their type."""
    text = json.dumps(plain(settings), default=lambda thing: type(thing).__name__)
    settings_as_json: JsonObject = json.loads(text)
    return settings_as_json


def _model(model: OpenModel) -> JsonDict:
    plugin = package_of(type(model.provider))
    trained = model.provider if isinstance(model.provider, TrainedModel) else None
    learned: JsonDict = {}
    if trained is not None and trained.learned_rows:
        learned = {
            "learned_rows": list(trained.learned_rows),
            "learned_from": dict(trained.learned_from),
        }
    return {
        "identity": model.identity,
        "temperature": model.temperature,
        "seed": model.seed,
        **({"plugin": plugin} if plugin else {}),
        **learned,
    }
