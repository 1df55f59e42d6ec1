"""What is set of judges, and what may be: the models, the fields that several kinds share, the
checks of their values, and what a run stores of them.
"""

import json
import math
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict, plain
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.numbers import MOST_WEIGHT
from adjudge.core.domain.vote import Ballot, Mode
from adjudge.core.engine.ask import requests_for
from adjudge.core.gateway.inference_engine import (
    EngineLike,
    EngineModel,
    InferenceEngine,
    is_engine,
)
from adjudge.core.gateway.model import Learned, Model
from adjudge.core.gateway.opener import ModelLike, OpenModel, open_model, open_panel
from adjudge.core.pooling import VERSION as POOLING
from adjudge.core.prompts.renderer import wordings
from adjudge.core.verdicts import VERSION as READER
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import package_of
from adjudge.version import __version__

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
_ROOM_FOR_A_PANEL = 2048
"""Items that may wait for one model of a panel while the others go on."""


class ModelPanel(FrozenDict[OpenModel]):
    """Models by the names on the ballots, as they were when the judge was made."""

    @classmethod
    def of(cls, models: EngineLike | Sequence[EngineLike] | None) -> "ModelPanel":
        """What a caller named, ready to be asked; None is the embedded model."""
        return cls(open_panel(_with_engines(models)))

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
        """What each model is, wherever it is served."""
        return {name: model.identity for name, model in self.items()}

    def has_reply(self, ballot: Ballot) -> bool:
        """Whether a cache would answer the ballot."""
        model = self.get(ballot.model)
        return (
            model is not None
            and model.keeps_replies
            and all(map(model.has_reply, requests_for(ballot)))
        )


def _with_engines(
    models: EngineLike | Sequence[EngineLike] | None,
) -> ModelLike | Sequence[ModelLike] | None:
    """The same models, those that are inference engines as models of ours.

    They are asked one thing at a time.
    """
    if isinstance(models, list | tuple):
        return [_opened(one) if is_engine(one) else one for one in models]
    # narrowed by what its class has
    return _opened(models) if is_engine(models) else models  # type: ignore[return-value]


def _opened(engine: InferenceEngine) -> OpenModel:
    return open_model(EngineModel(engine), max_concurrency=1)


NO_MODELS = ModelPanel()
"""That of a judge that asks nobody."""


class Alias:
    """Another name of a setting: accepted when a judge is made, and read back afterwards."""

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
            setattr(judge, self.setting, _translated(self._name, value))
        else:
            judge.__dict__[self._name] = value


def alias(setting: str) -> Any:
    """A field that is another name of ``setting``."""
    return field(default=Alias(setting), kw_only=True, repr=False, compare=False)


@cache
def aliases_of(judge: type["DataclassInstance"]) -> dict[str, str]:
    """Map each other name to the name of its setting."""
    defaults = {entry.name: entry.default for entry in fields(judge)}
    return {name: kind.setting for name, kind in defaults.items() if isinstance(kind, Alias)}


def take_aliases(judge: "DataclassInstance") -> None:
    """Set what was given by another name; raise a SetupError if the two names disagree."""
    for other, name in aliases_of(type(judge)).items():
        value = judge.__dict__.pop(other, None)
        if value is None or isinstance(value, Alias):
            continue
        value = _translated(other, value)
        if getattr(judge, name) not in (judge.__dataclass_fields__[name].default, value):
            raise SetupError(
                "{name} and {other} are two names of one setting: give one", name=name, other=other
            )
        object.__setattr__(judge, name, value)
    hide_aliases(judge)


def hide_aliases(judge: "DataclassInstance") -> None:
    """Leave the aliases out of ``fields(judge)``.

    ``dataclasses.replace`` passes every field that it finds there: the old value by one name would
    contradict a new one by the other.
    """
    judge.__dict__[FIELDS] = _settings_of(type(judge))


@cache
def _settings_of(judge: type["DataclassInstance"]) -> dict[str, Field[Any]]:
    aliases = aliases_of(judge)
    return {
        name: entry for name, entry in judge.__dataclass_fields__.items() if name not in aliases
    }


def _translated(name: str, value: object) -> object:
    """EvalAssist's ``self_consistency`` may be a yes or no: three votes or one."""
    if name == "self_consistency" and isinstance(value, bool):
        return SELF_CONSISTENCY if value else 1
    return value


OnFailure = Literal["abstain", "raise", "random"]
OnTooFew = Literal["fallback", "raise"]
"""The same for sampled criteria, whose callers need a bool or a number."""
Otherwise = Literal["abstain", "last"]
OTHERWISE: tuple[Otherwise, ...] = ("abstain", "last")
"""What becomes of an item that no step of a cascade is sure enough of."""
Contests = Literal["joint", "pairs"]
_MOST_VOTES = 10_000
FIELDS = "__dataclass_fields__"
SELF_CONSISTENCY = 3
"""Votes that ``self_consistency=True`` stands for."""


@dataclass(kw_only=True, eq=False)
class OwnSettings:
    """Of judges of one's own, which may be changed and added to."""

    votes: int = 1
    self_consistency: bool | int | None = alias("votes")
    check_positional_bias: bool = False
    language: str = "en"
    seed: int | None = None
    max_repairs: int = 3
    on_failure: OnFailure = "abstain"
    batch_size: int = 32


class AskOptions(TypedDict):
    """How a judge that asks others has them ask."""

    language: str
    temperature: float | None
    seed: int | None
    mode: Mode | None
    max_repairs: int


@light_dataclass(frozen=True, kw_only=True)
class AskSettings:
    """Of judges that ask a panel of models."""

    panel: ModelPanel = field(init=False, repr=False, compare=False)
    language: str = "en"
    temperature: float | None = None
    seed: int | None = None
    max_repairs: int = 3


@light_dataclass(frozen=True, kw_only=True)
class VoteSettings(AskSettings):
    """Of judges that ask a panel of models for votes.

    Parameters:
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
    """

    votes: int = 1
    self_consistency: bool | int | None = alias("votes")
    check_positional_bias: bool = False
    on_failure: OnFailure = "abstain"
    batch_size: int = 32


@light_dataclass(frozen=True, kw_only=True)
class ModelSettings(VoteSettings):
    """The same with the models that are asked.

    Parameters:
        models: one model or a panel: ids, model objects, functions ``prompt -> text`` or engines of
            unitxt's; None is the embedded model.
        inference_engine: EvalAssist's name of ``models``.
    """

    models: EngineLike | Sequence[EngineLike] | None = field(
        default=None, kw_only=False, hash=False
    )
    inference_engine: EngineLike | Sequence[EngineLike] | None = alias("models")

    def open_models(self) -> ModelPanel:
        """The models, ready to be asked."""
        return ModelPanel.of(self.models)


def at_least(name: str, value: int, least: int) -> None:
    """Say so when ``value`` is not a whole number from ``least`` up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SetupError(
            "{name} must be a whole number from {least} up, not {value!r}",
            name=name,
            least=least,
            value=value,
        )


def check_votes(name: str, value: int) -> None:
    """Say so when ``value`` is not a number of votes: all of them are planned at once, so there is
    a most.
    """
    at_least(name, value, 1)
    if value > _MOST_VOTES:
        raise SetupError(
            "{name} must be at most {most:,}, not {value:,}",
            name=name,
            most=_MOST_VOTES,
            value=value,
        )


def check_temperature(value: float | None) -> None:
    """Say so when ``value`` is not a temperature that a model can be asked at."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise SetupError("temperature must be a number from 0 up, not {value!r}", value=value)


def one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Say so when ``value`` is none of ``allowed``."""
    if value not in allowed:
        raise SetupError(
            "{name} must be one of {allowed}, not {value!r}",
            name=name,
            allowed=", ".join(allowed),
            value=value,
        )


def check_mode(mode: str | None, panel: Mapping[str, OpenModel]) -> None:
    """Say so when ``mode`` is not a mode, or one that a model documents it cannot do."""
    if mode is not None:
        one_of("mode", mode, ("generate", "likelihood"))
    for name, model in panel.items():
        if mode == "generate" and model.capabilities.decisions:
            raise SetupError(
                "{name} is a decision model, which writes nothing: leave mode out", name=name
            )
        able = model.capabilities.logprobs or model.capabilities.decisions
        if mode == "likelihood" and not able:
            raise SetupError(
                "{name} gives no log-probabilities: mode='likelihood' cannot be used with it",
                name=name,
            )


def check_written(panel: ModelPanel, **wanted: object) -> None:
    """Raise a SetupError if a decision model is to write, or to be told who it is."""
    for setting, value in wanted.items():
        if value and panel.deciding:
            raise SetupError(
                "{model} is a decision model: it writes no explanation or feedback and has no "
                "persona. Leave {setting} out, or name a model that writes",
                model=panel.deciding[0],
                setting=setting,
            )


def check_picklable(judge: str, models: object) -> None:
    """Say so when a judge holds a live model: its connections, locks and keys belong to this
    process.
    """
    for one in models if isinstance(models, list | tuple) else (models,):
        try:
            pickle.dumps(one)
        except (TypeError, AttributeError, pickle.PicklingError):
            named = (
                f"{type(one).__name__} {one.name}" if isinstance(one, Model) else type(one).__name__
            )
            raise TypeError(
                Message(
                    "{judge} holds a live model ({named}), whose connections and keys stay in "
                    "this process: to pickle the judge, give it the model's id, such as "
                    "'openai/gpt-4o-mini', or a function of a module",
                    judge=judge,
                    named=named,
                )
            ) from None


def check_samples(panel: Mapping[str, OpenModel], samples: int) -> None:
    """Say so when several votes of a model would be copies of one."""
    for name, model in panel.items():
        if samples > 1 and not model.capabilities.fresh_samples:
            raise SetupError(
                "{name} keeps its replies, so that {samples} votes would be one: make it "
                "with use_cache=False",
                name=name,
                samples=samples,
            )


def temperature_for(model: OpenModel, wanted: float | None, samples: int) -> float:
    """The judge's temperature, else the model's, else 0 for one sample and 1 for several."""
    for chosen in (wanted, model.temperature):
        if chosen is not None:
            return chosen
    return 0.0 if samples == 1 else 1.0


def checked_weights(weights: Mapping[str, float], models: Sequence[str]) -> dict[str, float]:
    """A weight for each model; a SetupError says what is wrong with them."""
    named = ", ".join(models)
    for name, weight in weights.items():
        if name not in models:
            raise SetupError(
                "weights: no model of the panel is called {name!r}; it has {named}",
                name=name,
                named=named,
            )
        if (
            isinstance(weight, bool)
            or not isinstance(weight, int | float)
            or not math.isfinite(weight)
            or weight < 0
        ):
            raise SetupError(
                "weights: the weight of {name!r} must be a number from 0, not {weight!r}",
                name=name,
                weight=weight,
            )
        if weight > MOST_WEIGHT:
            raise SetupError(
                "weights: the weight of {name!r} is too large: {weight!r}; only their ratio "
                "counts, 1 and 0.4 say it",
                name=name,
                weight=weight,
            )
    if missing := [name for name in models if name not in weights]:
        raise SetupError(
            "weights: {missing!r} has none: give every model of the panel one ({named})",
            missing=missing[0],
            named=named,
        )
    if not any(weights.values()):
        raise SetupError("weights: all of them are 0: nobody would count")
    return {name: float(weights[name]) for name in models}


def provenance(
    judge: str,
    settings: Mapping[str, object],
    models: Mapping[str, OpenModel],
    criteria: Iterable[Criteria],
    language: str,
) -> JsonDict:
    """Everything that decides what is asked and what is made of the answers."""
    return {
        "judge": judge,
        "settings": plain_settings(settings),
        "models": {name: _model(model) for name, model in models.items()},
        "criteria": [plain(one) for one in criteria],
        "templates": wordings(language),
        "versions": {**_installed(), "reader": READER, "pooling": POOLING},
    }


@cache
def _installed() -> dict[str, str]:
    import platform

    return {"adjudge": __version__, "python": platform.python_version()}


def plain_settings(settings: Mapping[str, object]) -> JsonObject:
    """Settings as JSON-ready data; of anything else, the name of its type."""
    text = json.dumps(plain(settings), default=lambda thing: type(thing).__name__)
    found: JsonObject = json.loads(text)
    return found


def _model(model: OpenModel) -> JsonDict:
    plugin = package_of(type(model.provider))
    learned = model.provider.learned_rows if isinstance(model.provider, Learned) else ()
    return {
        "identity": model.identity,
        "temperature": model.temperature,
        "seed": model.seed,
        **({"plugin": plugin} if plugin else {}),
        **({"learned_rows": list(learned)} if learned else {}),
    }
