"""What a judge is made of: its settings, the models it opens, and how both are recorded."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import cached_property
from typing import Any, ClassVar, Self

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.question import Question
from adjudge.core.domain.vote import Ballot, Mode
from adjudge.core.judges.settings import (
    FIELDS,
    NO_MODELS,
    ModelPanel,
    OnFailure,
    OnTooFew,
    at_least,
    check_picklable,
    check_samples,
    check_temperature,
    hide_aliases,
    one_of,
    provenance,
    take_aliases,
    temperature_for,
)
from adjudge.core.ledger.key import key_of
from adjudge.core.prompts.renderer import check_language
from adjudge.errors import SetupError
from adjudge.plugins import package_of

_HEADING = "\n\nParameters:\n"
_BEFORE_AN_ENTRY = re.compile(r"^(?= {4}\w+: )", re.MULTILINE)


def explain_parameters(judge: type) -> None:
    """Add to a judge's docstring the parameters that its base classes explain; its own words come
    first.
    """
    doc = inspect.cleandoc(judge.__dict__.get("__doc__") or "")
    if not doc:
        return
    known: dict[str, str] = {}
    for one in judge.__mro__:
        known = {**_entries(one), **known}
    if known:
        judge.__doc__ = doc.partition(_HEADING)[0] + _HEADING + "\n".join(known.values())


def _entries(kind: type) -> dict[str, str]:
    """Name → its lines in the docstring, under the heading."""
    listed = inspect.cleandoc(kind.__dict__.get("__doc__") or "").partition(_HEADING)[2]
    return {
        entry.split(":")[0].strip(): entry.rstrip()
        for entry in _BEFORE_AN_ENTRY.split(listed)
        if entry
    }


NAMES_OF_MODELS = ("models", "inference_engine", "model", "llm")
_NO_SETTINGS = (*NAMES_OF_MODELS, "panel", "batch_size")


class ConfiguredJudge(ABC):
    """A frozen dataclass whose fields are the whole configuration of a judge.

    This class is none itself, so that judges of one's own may be anything: ``BaseDirectJudge``,
    ``BasePairwiseJudge``.
    """

    panel: ModelPanel = NO_MODELS
    """The models by the names on the ballots."""
    language: str = "en"
    max_repairs: int = 3
    seed: int | None = None
    temperature: float | None = None
    early_stop: bool = False
    stored_names: ClassVar[Mapping[str, str]] = {"votes": "strictness"}
    """Names of settings in run folders, if they differ: 1.x wrote them, and reads them."""
    endings: ClassVar[tuple[str, ...]] = ("abstain", "raise", "random")
    """What ``on_failure`` may be."""

    def __init_subclass__(cls) -> None:
        """Have ``help()`` explain the parameters from base classes too."""
        super().__init_subclass__()
        explain_parameters(cls)
        if "__repr__" not in cls.__dict__:  # else a dataclass writes one that shows every field
            cls.__repr__ = ConfiguredJudge.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """A dataclass comes here when its fields are set."""
        take_aliases(self)  # type: ignore[arg-type]
        self.check_settings()
        object.__setattr__(self, "panel", self.open_models())
        check_samples(self.panel, self.samples)

    def __getstate__(self) -> JsonDict:
        """For pickle: what was set. The models are opened anew where it is unpickled, with the keys
        that are there.
        """
        if not self.panel:
            return {name: value for name, value in self.__dict__.items() if name != FIELDS}
        computed = {
            name
            for cls in type(self).__mro__
            for name, value in vars(cls).items()
            if isinstance(value, cached_property)
        }
        state = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("panel", FIELDS) and name not in computed
        }
        for name in NAMES_OF_MODELS:
            check_picklable(type(self).__name__, state.get(name))
        return state

    def __copy__(self) -> Self:
        """The same models, also where they could not be pickled."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __setstate__(self, state: JsonObject) -> None:
        """As ``__getstate__`` gave it."""
        self.__dict__.update(state)
        hide_aliases(self)  # type: ignore[arg-type]
        if "panel" not in state:
            object.__setattr__(self, "panel", self.open_models())

    def check_settings(self) -> None:
        """Raise a SetupError when the fields cannot be."""
        at_least("max_repairs", self.max_repairs, 0)
        one_of("on_failure", self.on_failure, self.endings)
        check_temperature(self.temperature)
        check_language(self.language)

    def open_models(self) -> ModelPanel:
        """The models, ready to be asked; a judge that asks nobody has none."""
        return NO_MODELS

    @property
    def on_failure(self) -> OnFailure | OnTooFew:
        """What becomes of an item without a verdict; a field where there is a choice."""
        return "abstain"

    @property
    @abstractmethod
    def samples(self) -> int:
        """Votes per model and question."""

    @property
    def max_in_flight(self) -> int:
        """Items under way at once."""
        return self.panel.max_in_flight

    @cached_property
    def temperatures(self) -> Mapping[str, float]:
        """What each model is asked at."""
        return {
            name: temperature_for(model, self.temperature, self.samples)
            for name, model in self.panel.items()
        }

    def ballot_for(
        self,
        criteria: Criteria,
        instance: Instance,
        question: Question,
        template: str,
        model: str,
        sample: int,
        mode: Mode | None = None,
    ) -> Ballot:
        """One question to one model, in the judge's language.

        What is not one of a few labels has to be written.
        """
        asked = self.panel[model]
        if asked.capabilities.decisions and (mode == "generate" or not question.labels):
            raise SetupError(
                "{model} is a decision model, which writes nothing: {name!r} needs a model that "
                "writes",
                model=model,
                name=criteria.name,
            )
        asked_mode = asked.mode if asked.capabilities.decisions else mode or asked.mode
        return Ballot(
            criteria,
            instance,
            question,
            template,
            model,
            self.language,
            mode=asked_mode if question.labels else "generate",
            sample=sample,
            temperature=self.temperatures[model],
            seed=asked.seed_for(sample, self.seed),
        )

    def vote_key(self, ballot: Ballot, wordings: Mapping[str, str] | None = None) -> bytes:
        """What a ballot's vote is found by in a ledger; ``wordings``: of the prompts when that run
        began.
        """
        identity = self.panel.identities.get(ballot.model)
        if identity is None:  # a judge of one's own, who may look at all of it
            return key_of(ballot, ballot.model, wordings or {})
        if ballot.mode == "decide":  # scores decide which kind of question it is
            return key_of(ballot, identity, wordings or {})
        return key_of(ballot, identity, wordings or {}, asked=ballot.request_id)

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        """``vote_key``, the same for as long as one evaluation takes."""
        return self.vote_key

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Everything that decides what is asked and how it is pooled: the provenance of a run."""
        name, plugin = type(self).__name__, package_of(type(self))
        made = provenance(name, self.recorded_settings(), self.panel, criteria, self.language)
        return {**made, "plugin": plugin} if plugin else made

    def recorded_settings(self) -> dict[str, object]:
        """What is set, but for the models, which are recorded by themselves."""
        names = [entry.name for entry in fields(self)]  # type: ignore[arg-type]
        return {
            self.stored_names.get(name, name): getattr(self, name)
            for name in names
            if name[0] != "_" and name not in _NO_SETTINGS
        }

    def __repr__(self) -> str:
        """Show what was set, and leave out what has its default."""
        shown = (
            f"{entry.name}={value!r}"
            for entry in fields(self)  # type: ignore[arg-type]
            if entry.repr and not _is_default(entry, value := getattr(self, entry.name))
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_default(entry: Field[Any], value: object) -> bool:
    default = entry.default if entry.default_factory is MISSING else entry.default_factory()
    return bool(value is default or (type(value) is type(default) and value == default))
