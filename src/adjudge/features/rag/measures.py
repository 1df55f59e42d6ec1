"""Measures of a row besides its dimensions; only those asked for by name are taken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from adjudge.core.catalog.criteria_file import parse_entry
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.prompts.renderer import check_language
from adjudge.core.reading.values import (
    Place,
    flag,
    list_of,
    mapping,
    nearest,
    number,
    one_of,
    our_yaml,
    phrase,
    texts,
)
from adjudge.errors import SetupError
from adjudge.features.rag.retrieval import NAMES, RankMeasure
from adjudge.messages import Message

Side = Literal["retriever", "generator"]
SIDES: tuple[Side, ...] = ("retriever", "generator")


@dataclass(frozen=True)
class RagMeasure:
    """One number of a row, from 0 to 1."""

    name: str
    title: str
    description: str
    of: Side
    reads: tuple[str, ...]
    """The fields that it is made of."""
    checks: tuple[str, ...] = ()
    """Names of the questions to models; empty if it is computed from ids."""
    higher_is_better: bool = True
    weight: float = 0.0
    """Weight in the composite; 0: not part of it."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise SetupError(
                "the weight of the measure {name!r} must be at least 0, not {weight}",
                name=self.name,
                weight=self.weight,
            )

    @property
    def rank(self) -> RankMeasure | None:
        """The measure as one of a ranking of ids; None if it is not one."""
        return None if self.checks else RankMeasure.of(self.name)

    def goodness(self, value: float) -> float:
        """Return ``value``, reversed if less is better, so that 1 is the good end."""
        return value if self.higher_is_better else 1 - value


def known_measures(language: str = "en") -> Mapping[str, RagMeasure]:
    """Return all measures by name; ranking measures have no cut-off."""
    return _read(language)[0]


def check_criteria(language: str = "en") -> Mapping[str, Criteria]:
    """Return the questions to models, by name."""
    return _read(language)[1]


def chosen_measures(
    names: Sequence[str], weights: Mapping[str, float], language: str = "en"
) -> tuple[RagMeasure, ...]:
    """Return the named measures, each once, with their weights.

    Raises a SetupError for an unknown name.
    """
    measures = {
        measure.name: measure
        for measure in (_find_measure(name, known_measures(language)) for name in names)
    }
    weight_by_name = {
        name if (rank := RankMeasure.of(name)) is None else str(rank): weight
        for name, weight in weights.items()
    }
    return tuple(
        replace(measure, weight=float(weight_by_name.get(measure.name, measure.weight)))
        for measure in measures.values()
    )


def weighed_measures(
    names: Sequence[str], weights: Mapping[str, float], language: str, *, alone: bool
) -> tuple[tuple[RagMeasure, ...], dict[str, float]]:
    """Return the measures with their weights, and the weights of other things.

    ``alone``: nothing else is in the composite, so if no measure has a weight, each gets the weight
    1.
    """
    names_asked = {name for text in names if (name := measure_name(text))}
    measure_weights = {
        name: weight for name, weight in weights.items() if measure_name(name) in names_asked
    }
    default = dict.fromkeys(names_asked, 1.0) if alone and not measure_weights else {}
    other_weights = {
        name: weight for name, weight in weights.items() if name not in measure_weights
    }
    return chosen_measures(names, default | measure_weights, language), other_weights


def kept_measures(stored_measures: object) -> tuple[RagMeasure, ...]:
    """Read the measures from a run folder's configuration; empty if they cannot be read."""
    try:
        place = Place(Message("the run"))
        return tuple(
            _read_measure(mapping(stored, place), place)
            for stored in mapping(stored_measures, place).values()
        )
    except SetupError:
        return ()


def _read_measure(stored: JsonObject, place: Place) -> RagMeasure:
    return replace(_measure(stored, place), weight=number(stored.get("weight", 0.0), place))


def measure_name(name: str) -> str | None:
    """Return the usual name of a measure, such as ``ndcg@5`` for ``nDCG@5``.

    Return None if there is no such measure.
    """
    rank = RankMeasure.of(name)
    return str(rank) if rank else name if name in known_measures() else None


def _find_measure(name: str, available: Mapping[str, RagMeasure]) -> RagMeasure:
    rank = RankMeasure.of(name)
    if rank:
        cut = "" if rank.k is None else f"@{rank.k}"
        return replace(available[rank.name], name=str(rank), title=available[rank.name].title + cut)
    if name not in available:
        ranked = ", ".join(f"{known_name}@k" for known_name in NAMES)
        model_measures = ", ".join(
            known_name for known_name in available if known_name not in NAMES
        )
        raise SetupError(
            "unknown measure {name!r}; {hint} (computed from ids: {ranked}; by models: {others})",
            name=name,
            hint=nearest(name, list(available)),
            ranked=ranked,
            others=model_measures,
        )
    return available[name]


@cache
def _read(language: str) -> tuple[Mapping[str, RagMeasure], Mapping[str, Criteria]]:
    check_language(language)
    content, place = our_yaml(__file__, f"measures.{language}.yaml")
    criteria = [
        parse_entry(raw, at, language).criteria
        for at, raw in list_of(content["checks"], place.at("checks"))
    ]
    measures = [
        _measure(mapping(raw, at), at)
        for at, raw in list_of(content["measures"], place.at("measures"))
    ]
    return {raw.name: raw for raw in measures}, {raw.name: raw for raw in criteria}


def _measure(content: JsonObject, place: Place) -> RagMeasure:
    side = one_of(content.get("of"), SIDES, place.at("of"))
    return RagMeasure(
        name=phrase(content.get("name"), place.at("name")),
        title=phrase(content.get("title"), place.at("title")),
        description=phrase(content.get("description"), place.at("description")),
        of="retriever" if side == "retriever" else "generator",
        reads=tuple(texts(content.get("reads"), place.at("reads"))),
        checks=tuple(texts(content.get("checks") or [], place.at("checks"))),
        higher_is_better=flag(content.get("higher_is_better", True), place.at("higher_is_better")),
    )
