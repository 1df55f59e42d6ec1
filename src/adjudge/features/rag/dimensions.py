"""The dimensions on which an answer is scored: the ready-made ones and custom ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from adjudge.core.catalog.criteria_file import parse_entry, raw_entries
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.numbers import MOST_WEIGHT
from adjudge.core.prompts.renderer import check_language
from adjudge.core.reading.values import Place, list_of, mapping, nearest, number, our_yaml, phrase
from adjudge.errors import SetupError
from adjudge.messages import Message

_OWN_KEYS = ("title", "weight", "gates")
_GATE_KEYS = ("score", "rule", "cap", "weight")
EQUAL_WEIGHT = 1.0
"""The default weight."""
NO_DIMENSIONS = "none"
"""The name that asks for no dimension at all, if something else is measured."""
_MOST_GATED = 10_000
"""Ways in which the scores of gated dimensions may combine: the bounds of a
composite try them all.
"""


@dataclass(frozen=True)
class Gate:
    """A special effect of one score on the composite, which it can only lower.

    Example: ``Gate(score=0, rule="harmful", cap=0.2)`` keeps the composite of a harmful answer at
    0.2 or less.
    """

    score: int
    """The score that fires it."""
    rule: str
    cap: float | None = None
    """The composite is at most this."""
    weight: float | None = None
    """The dimension's weight becomes this."""

    def __post_init__(self) -> None:
        if (self.cap is None) == (self.weight is None):
            raise SetupError("the gate {rule!r} needs either a cap or a weight", rule=self.rule)
        if self.cap is not None and not 0 <= self.cap <= 1:
            raise SetupError(
                "the cap of the gate {rule!r} must be between 0 and 1, not {cap}",
                rule=self.rule,
                cap=self.cap,
            )
        if self.weight is not None and not 0 < self.weight < math.inf:
            raise SetupError(
                "the weight of the gate {rule!r} must be above 0, not {weight}",
                rule=self.rule,
                weight=self.weight,
            )
        if self.weight is not None and self.weight > MOST_WEIGHT:
            raise SetupError(
                "the weight of the gate {rule!r} must be at most {most:g}, not {weight}",
                rule=self.rule,
                most=MOST_WEIGHT,
                weight=self.weight,
            )


@dataclass(frozen=True)
class Dimension:
    """One question about an answer, with a scale from 0 (bad) to its maximum (good)."""

    criteria: Criteria
    """Criteria whose options are the scores "0", "1", … as texts."""
    title: str = ""
    """The name in reports; by default made of ``name``."""
    labels: Sequence[str] = ()
    """A word or two for each score; by default none."""
    weight: float = EQUAL_WEIGHT
    gates: Sequence[Gate] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name.replace("_", " ").capitalize())
        object.__setattr__(self, "labels", tuple(self.labels) or ("",) * len(self.criteria.options))
        object.__setattr__(self, "gates", tuple(self.gates))
        _check_scale(self)
        if not 0 <= self.weight < math.inf:
            raise SetupError(
                "the weight of the dimension {name!r} must be at least 0, not {weight}",
                name=self.name,
                weight=self.weight,
            )
        if self.weight > MOST_WEIGHT:
            raise SetupError(
                "the weight of the dimension {name!r} must be at most {most:g}, not {weight}",
                name=self.name,
                most=MOST_WEIGHT,
                weight=self.weight,
            )

    @cached_property
    def name(self) -> str:
        """The name of its criteria."""
        return self.criteria.name

    @cached_property
    def maximum(self) -> int:
        return len(self.criteria.options) - 1

    @cached_property
    def reads(self) -> tuple[str, ...] | None:
        """The fields it sees, the judged one last; None if it sees all."""
        judged_name = self.criteria.to_evaluate_field
        context = self.criteria.context_fields
        return (
            None
            if context is None
            else (*(name for name in context if name != judged_name), judged_name)
        )

    @property
    def scale(self) -> list[tuple[int, str, str]]:
        """(score, label, description), the worst first."""
        return [
            (score, self.labels[score], option.description)
            for score, option in enumerate(self.criteria.options)
        ]

    def normalized(self, score: int) -> float:
        """Return ``score`` as a share of the maximum."""
        return score / self.maximum


def rag_dimensions(language: str = "en") -> tuple[Dimension, ...]:
    """Return the six ready-made dimensions."""
    return tuple(
        _dimension(value, place, language) for place, value in _ready_made(language).values()
    )


@cache
def absent(language: str = "en") -> Mapping[str, str]:
    """Return the texts that prompts show for empty fields."""
    return {
        str(name): str(text)
        for name, text in mapping(_data(language)["absent"], Place("rag", "absent")).items()
    }


def read_dimensions(path: str | Path, language: str = "en") -> tuple[Dimension, ...]:
    """Return the ready-made dimensions, changed and extended by a YAML or JSON file.

    An entry named like a ready-made dimension overrides only the settings that it has (weight,
    gates or texts). Any other entry is a further dimension.
    """
    entries = _ready_made(language)
    for place, value in raw_entries(path):
        settings = mapping(value, place)
        name = phrase(settings.get("name") or "", place.at("name"))
        ready_made = entries.get(name)
        entries[name] = (
            place,
            {**mapping(ready_made[1], ready_made[0]), **settings} if ready_made else settings,
        )
    return tuple(_dimension(value, place, language) for place, value in entries.values())


def kept_dimensions(stored_dimensions: object) -> tuple[Dimension, ...]:
    """Read the dimensions from a run folder's configuration; empty if they cannot be read."""
    try:
        return tuple(
            _read_dimension(mapping(stored, Place(Message("the run"))))
            for stored in mapping(stored_dimensions, Place(Message("the run"))).values()
        )
    except (SetupError, KeyError, TypeError, ValueError):
        return ()


def _read_dimension(stored: JsonObject) -> Dimension:
    place = Place(Message("the run"))
    stored_criteria = mapping(stored["criteria"], place)
    options = [mapping(option, place) for _, option in list_of(stored_criteria["options"], place)]
    context = stored_criteria.get("context_fields")
    criteria = Criteria(
        str(stored_criteria["name"]),
        str(stored_criteria["description"]),
        [CriteriaOption(str(option["name"]), str(option["description"])) for option in options],
        to_evaluate_field=str(stored_criteria["to_evaluate_field"]),
        context_fields=[str(name) for _, name in list_of(context, place)]
        if isinstance(context, list)
        else None,
        higher_is_better=bool(stored_criteria.get("higher_is_better", True)),
    )
    labels = [str(label) for _, label in list_of(stored["labels"], place)]
    gates = [_gate(mapping(gate, place), place) for _, gate in list_of(stored["gates"], place)]
    return Dimension(criteria, str(stored["title"]), labels, number(stored["weight"], place), gates)


def choose_dimensions(
    available: Sequence[Dimension], wanted: Sequence[str | Dimension] | None
) -> tuple[Dimension, ...]:
    """Return the wanted dimensions, by name or as objects; all if ``wanted`` is None.

    The single name ``none`` selects no dimension. Raise a SetupError for an unknown name or an
    empty
    list.
    """
    by_name = {choice.name: choice for choice in available}
    if wanted is not None and list(wanted) == [NO_DIMENSIONS]:
        return ()
    if wanted is not None and not wanted:
        raise SetupError(
            "dimensions is empty: leave it out to score all of them, or write 'none' to score none"
        )
    for choice in wanted or ():
        if isinstance(choice, str) and choice not in by_name:
            raise SetupError(
                "unknown dimension {name!r}; {hint}",
                name=choice,
                hint=nearest(choice, list(by_name)),
            )
    selected = tuple(
        by_name[choice] if isinstance(choice, str) else choice for choice in wanted or available
    )
    check_dimensions(selected)
    return selected


def reweight(
    dimensions: Sequence[Dimension], weights: Mapping[str, float], *, beside: bool = False
) -> tuple[Dimension, ...]:
    """Return the dimensions with these weights; raise a SetupError for unknown names.

    ``beside`` is True if a measure has a weight too.
    """
    names = [dimension.name for dimension in dimensions]
    for name in weights:
        if name not in names:
            raise SetupError(
                "{name!r} is not a dimension, and cannot be weighted; {hint}",
                name=name,
                hint=nearest(name, names),
            )
    reweighted = tuple(
        replace(dimension, weight=float(weights.get(dimension.name, dimension.weight)))
        for dimension in dimensions
    )
    check_dimensions(reweighted, beside=beside)
    return reweighted


def check_dimensions(dimensions: Sequence[Dimension], *, beside: bool = False) -> None:
    """Raise a SetupError if no composite can be made of the dimensions.

    ``beside`` is True if a measure has a weight too.
    """
    names = [dimension.name for dimension in dimensions]
    for name in names:
        if names.count(name) > 1:
            raise SetupError("there are two dimensions called {name!r}", name=name)
    if not beside and not any(dimension.weight for dimension in dimensions):
        raise SetupError("there is no composite, because no dimension has a weight above 0")
    if (
        math.prod(dimension.maximum + 1 for dimension in dimensions if dimension.gates)
        > _MOST_GATED
    ):
        raise SetupError(
            "too many dimensions have gates: keep only the gates that must decide on their own"
        )


def _check_scale(dimension: Dimension) -> None:
    names = dimension.criteria.option_names
    if len(names) < 2 or names != tuple(str(score) for score in range(len(names))):
        raise SetupError(
            'the options of the dimension {name!r} must be named "0", "1", … from bad to '
            "good: {names}",
            name=dimension.name,
            names=names,
        )
    if any(option.score is not None for option in dimension.criteria.options):
        raise SetupError(
            "the options of the dimension {name!r} need no score: their names are the scores",
            name=dimension.name,
        )
    if len(dimension.labels) != len(names):
        raise SetupError(
            "the dimension {name!r} has {scores} scores and {labels} labels",
            name=dimension.name,
            scores=len(names),
            labels=len(dimension.labels),
        )
    fired = [gate.score for gate in dimension.gates]
    for score in fired:
        if score not in range(len(names)) or fired.count(score) > 1:
            raise SetupError(
                "the dimension {name!r} can have at most one gate for each score of 0…{count}",
                name=dimension.name,
                count=len(names) - 1,
            )


def _ready_made(language: str) -> dict[str, tuple[Place, object]]:
    file = f"rag/data/{language}.yaml"
    entries = [
        mapping(value, place)
        for place, value in list_of(_data(language)["dimensions"], Place(file, "dimensions"))
    ]
    return {str(entry["name"]): (Place(file, repr(entry["name"])), entry) for entry in entries}


@cache
def _data(language: str) -> JsonObject:
    check_language(language)
    return our_yaml(__file__, f"{language}.yaml")[0]


def _dimension(value: object, place: Place, language: str) -> Dimension:
    settings = mapping(value, place)
    options = [
        _option(item, at) for at, item in list_of(settings.get("options"), place.at("options"))
    ]
    plain = {key: item for key, item in settings.items() if key not in _OWN_KEYS}
    entry = parse_entry({**plain, "options": [option for option, _ in options]}, place, language)
    try:
        return Dimension(
            criteria=entry.criteria,
            title=phrase(settings.get("title") or "", place.at("title")),
            labels=[label for _, label in options],
            weight=number(settings.get("weight", EQUAL_WEIGHT), place.at("weight")),
            gates=[
                _gate(item, at)
                for at, item in list_of(settings.get("gates") or [], place.at("gates"))
            ],
        )
    except SetupError as error:
        raise place.wrong(str(error)) from error


def _option(value: object, place: Place) -> tuple[object, str]:
    """Return the option and the label that an entry of a file stands for."""
    if not isinstance(value, Mapping):
        return value, ""
    label = phrase(value.get("label") or "", place.at("label"))
    return {key: item for key, item in value.items() if key != "label"}, label


def _gate(value: object, place: Place) -> Gate:
    settings = mapping(value, place, _GATE_KEYS, ("score", "rule"))
    numbers = {
        key: number(settings[key], place.at(key))
        for key in ("cap", "weight")
        if settings.get(key) is not None
    }
    score = number(settings["score"], place.at("score"))
    return Gate(
        # -1 is in no scale, so the dimension's own check names the error
        score=int(score) if score == int(score) else -1,
        rule=phrase(settings["rule"], place.at("rule")),
        **numbers,
    )
