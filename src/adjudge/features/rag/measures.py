"""What is measured of a row beside its dimensions: each by name, none unless it is asked for."""

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
    """What models are asked for it; none: it is reckoned from ids."""
    higher_is_better: bool = True
    weight: float = 0.0
    """In the composite; 0: it has no part in it."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise SetupError(
                "the weight of the measure {name!r} must not be below 0: {weight}",
                name=self.name,
                weight=self.weight,
            )

    @property
    def rank(self) -> RankMeasure | None:
        """What it is of a ranking of ids, where it is that."""
        return None if self.checks else RankMeasure.of(self.name)

    def goodness(self, value: float) -> float:
        """``value`` turned so that 1 is the good end."""
        return value if self.higher_is_better else 1 - value


def known_measures(language: str = "en") -> Mapping[str, RagMeasure]:
    """All there are, by name; those of rankings without a cut-off."""
    return _read(language)[0]


def check_criteria(language: str = "en") -> Mapping[str, Criteria]:
    """What models are asked, by name."""
    return _read(language)[1]


def chosen_measures(
    names: Sequence[str], weights: Mapping[str, float], language: str = "en"
) -> tuple[RagMeasure, ...]:
    """Those that are asked for, each once, with their weights.

    A SetupError names one that there is not.
    """
    found = {one.name: one for one in (_named(name, known_measures(language)) for name in names)}
    given = {
        name if (rank := RankMeasure.of(name)) is None else str(rank): weight
        for name, weight in weights.items()
    }
    return tuple(
        replace(one, weight=float(given.get(one.name, one.weight))) for one in found.values()
    )


def weighed_measures(
    names: Sequence[str], weights: Mapping[str, float], language: str, *, alone: bool
) -> tuple[tuple[RagMeasure, ...], dict[str, float]]:
    """The measures with their weights, and the weights that are not theirs. ``alone``: nothing else
    is in the composite, so that all measures are where none has a weight.
    """
    own = {name for one in names if (name := measure_name(one))}
    given = {name: weight for name, weight in weights.items() if measure_name(name) in own}
    default = dict.fromkeys(own, 1.0) if alone and not given else {}
    others = {name: weight for name, weight in weights.items() if name not in given}
    return chosen_measures(names, default | given, language), others


def kept_measures(kept: object) -> tuple[RagMeasure, ...]:
    """The measures as a run folder keeps them; none where what is kept are none."""
    try:
        place = Place(Message("the run"))
        return tuple(_kept(mapping(one, place), place) for one in mapping(kept, place).values())
    except SetupError:
        return ()


def _kept(given: JsonObject, place: Place) -> RagMeasure:
    return replace(_measure(given, place), weight=number(given.get("weight", 0.0), place))


def measure_name(name: str) -> str | None:
    """What a measure is called that somebody named, such as ``ndcg@5`` for ``nDCG@5``; None where
    it is none.
    """
    rank = RankMeasure.of(name)
    return str(rank) if rank else name if name in known_measures() else None


def _named(name: str, known: Mapping[str, RagMeasure]) -> RagMeasure:
    rank = RankMeasure.of(name)
    if rank:
        cut = "" if rank.k is None else f"@{rank.k}"
        return replace(known[rank.name], name=str(rank), title=known[rank.name].title + cut)
    if name not in known:
        ranked = ", ".join(f"{one}@k" for one in NAMES)
        others = ", ".join(one for one in known if one not in NAMES)
        raise SetupError(
            "unknown measure {name!r}; {hint} (of ids: {ranked}; by models: {others})",
            name=name,
            hint=nearest(name, list(known)),
            ranked=ranked,
            others=others,
        )
    return known[name]


@cache
def _read(language: str) -> tuple[Mapping[str, RagMeasure], Mapping[str, Criteria]]:
    check_language(language)
    given, place = our_yaml(__file__, f"measures.{language}.yaml")
    asked = [
        parse_entry(one, at, language).criteria
        for at, one in list_of(given["checks"], place.at("checks"))
    ]
    found = [
        _measure(mapping(one, at), at)
        for at, one in list_of(given["measures"], place.at("measures"))
    ]
    return {one.name: one for one in found}, {one.name: one for one in asked}


def _measure(given: JsonObject, place: Place) -> RagMeasure:
    side = one_of(given.get("of"), SIDES, place.at("of"))
    return RagMeasure(
        name=phrase(given.get("name"), place.at("name")),
        title=phrase(given.get("title"), place.at("title")),
        description=phrase(given.get("description"), place.at("description")),
        of="retriever" if side == "retriever" else "generator",
        reads=tuple(texts(given.get("reads"), place.at("reads"))),
        checks=tuple(texts(given.get("checks") or [], place.at("checks"))),
        higher_is_better=flag(given.get("higher_is_better", True), place.at("higher_is_better")),
    )
