"""The configuration of a judge: its settings, the models it opens, and how both are recorded."""

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
    """Append the parameters that base classes document to a judge's docstring, if it has one."""
    doc = inspect.cleandoc(judge.__dict__.get("__doc__") or "")
    if not doc:
        return
    parameters: dict[str, str] = {}
    for base in judge.__mro__:
        parameters = {**_entries(base), **parameters}
    if parameters:
        judge.__doc__ = doc.partition(_HEADING)[0] + _HEADING + "\n".join(parameters.values())


def _entries(kind: type) -> dict[str, str]:
    """Map each name under "Parameters:" in a class's docstring to its lines."""
    parameters = inspect.cleandoc(kind.__dict__.get("__doc__") or "").partition(_HEADING)[2]
    return {
        entry.split(":")[0].strip(): entry.rstrip()
        for entry in _BEFORE_AN_ENTRY.split(parameters)
        if entry
    }


NAMES_OF_MODELS = ("models", "inference_engine", "model", "llm")
_NO_SETTINGS = (*NAMES_OF_MODELS, "replacement", "panel", "batch_size")


class ConfiguredJudge(ABC):
    """A judge whose dataclass fields are its whole configuration.

    Not a dataclass itself, so user-defined judges can be any class: ``BaseDirectJudge``,
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
    """The values that ``on_failure`` may have."""

    def __init_subclass__(cls) -> None:
        """Make ``help()`` explain the parameters from base classes too."""
        super().__init_subclass__()
        explain_parameters(cls)
        if "__repr__" not in cls.__dict__:  # else a dataclass writes one that shows every field
            cls.__repr__ = ConfiguredJudge.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Check the settings and open the models."""
        take_aliases(self)  # type: ignore[arg-type]
        self.check_settings()
        object.__setattr__(self, "panel", self.open_models())
        check_samples(self.panel, self.samples)

    def __getstate__(self) -> JsonDict:
        """Return the settings for pickle. Unpickling opens the models again, with the keys found
        there.

        Raise a TypeError if a model cannot be pickled.
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
        for name in (*NAMES_OF_MODELS, "replacement"):
            check_picklable(type(self).__name__, state.get(name))
        return state

    def __copy__(self) -> Self:
        """Copy the judge with the same open models, even if they cannot be pickled."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __setstate__(self, state: JsonObject) -> None:
        """Restore the settings, and open the models if they were left out."""
        self.__dict__.update(state)
        hide_aliases(self)  # type: ignore[arg-type]
        if "panel" not in state:
            object.__setattr__(self, "panel", self.open_models())

    def check_settings(self) -> None:
        """Raise a SetupError if a field has a value that is not allowed."""
        at_least("max_repairs", self.max_repairs, 0)
        one_of("on_failure", self.on_failure, self.endings)
        check_temperature(self.temperature)
        check_language(self.language)

    def open_models(self) -> ModelPanel:
        """Return the models, ready to be asked; none for a judge that asks no model."""
        return NO_MODELS

    @property
    def on_failure(self) -> OnFailure | OnTooFew:
        """The action for an item without a verdict; judges that offer a choice make it a field."""
        return "abstain"

    @property
    @abstractmethod
    def samples(self) -> int:
        """Votes per model and question."""

    @property
    def max_in_flight(self) -> int:
        """Maximum number of concurrent items."""
        return self.panel.max_in_flight

    @cached_property
    def temperatures(self) -> Mapping[str, float]:
        """Map each model to the temperature it is asked at."""
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
        """Return the ballot for one question to one model, in the judge's language.

        Raise a SetupError if a decision model would have to write.
        """
        opened = self.panel[model]
        if opened.capabilities.decisions and (mode == "generate" or not question.labels):
            raise SetupError(
                "{model} is a decision model, which generates no text; {name!r} needs a model "
                "that does",
                model=model,
                name=criteria.name,
            )
        model_mode = opened.mode if opened.capabilities.decisions else mode or opened.mode
        return Ballot(
            criteria,
            instance,
            question,
            template,
            model,
            self.language,
            # Without labels to choose from, the answer has to be written.
            mode=model_mode if question.labels else "generate",
            sample=sample,
            temperature=self.temperatures[model],
            seed=opened.seed_for(sample, self.seed),
        )

    def vote_key(self, ballot: Ballot, wordings: Mapping[str, str] | None = None) -> bytes:
        """Return the key of a ballot's vote in a ledger.

        ``wordings``: the prompt wordings at the start of that run.
        """
        identity = self.panel.identities.get(ballot.model)
        if identity is None:  # a custom judge, whose verdict may depend on the whole ballot
            return key_of(ballot, ballot.model, wordings or {})
        if ballot.mode == "decide":  # scores decide which kind of question it is
            return key_of(ballot, identity, wordings or {})
        return key_of(ballot, identity, wordings or {}, asked=ballot.request_id)

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        """Return the key function for one evaluation."""
        return self.vote_key

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the provenance of a run: everything that decides what is asked and how it is
        pooled.
        """
        name, plugin = type(self).__name__, package_of(type(self))
        record = provenance(name, self.recorded_settings(), self.panel, criteria, self.language)
        return {**record, "plugin": plugin} if plugin else record

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings without the models, which are recorded separately."""
        names = [entry.name for entry in fields(self)]  # type: ignore[arg-type]
        replacement = self.panel.replacement
        return {
            self.stored_names.get(name, name): getattr(self, name)
            for name in names
            if name[0] != "_" and name not in _NO_SETTINGS
        } | ({} if replacement is None else {"replacement": replacement})

    def __repr__(self) -> str:
        """Show the settings that differ from their defaults."""
        settings = (
            f"{entry.name}={value!r}"
            for entry in fields(self)  # type: ignore[arg-type]
            if entry.repr and not _has_default(entry, value := getattr(self, entry.name))
        )
        return f"{type(self).__name__}({', '.join(settings)})"


def _has_default(entry: Field[Any], value: object) -> bool:
    default = entry.default if entry.default_factory is MISSING else entry.default_factory()
    return bool(value is default or (type(value) is type(default) and value == default))
