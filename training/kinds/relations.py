"""Yes/no kinds over graded texts: how an answer stands to its question, context or reference, and
how it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from training.kinds import crafts, graded, manners, scenes
from training.kinds.base import Draw, Kind, Made, Phrases, yes_no
from training.texts import bank

_ANSWER = {"en": ("answer", "response", "reply"), "ru": ("ответ",)}


@dataclass(frozen=True)
class Relation:
    """The texts that a phrase is about, and whether it holds for the good or for the bad ones."""

    texts: graded.Graded
    good: bool = True
    strict: bool = False
    """Whether middling texts count as bad ones."""

    def __call__(self, draw: Draw, holds: bool) -> Made | None:
        level = 2 if holds == self.good else 1 if self.strict and draw.rng.random() < 0.35 else 0
        return self.texts(draw, level)


def kinds() -> Iterator[Kind]:
    """All of the bank."""
    for name, entry in bank("relations").items():
        subjects = (
            {"en": entry["subjects"][:1], "ru": entry["subjects"][1:]}
            if "subjects" in entry
            else _ANSWER
        )
        relation = Relation(_texts(entry), entry.get("good", True), entry.get("strict", False))
        phrases = Phrases(entry["en"], entry["ru"], subjects)
        languages = tuple(entry.get("languages", ("en", "ru")))
        yield yes_no(name, phrases, relation, weight=entry.get("weight", 2.0), languages=languages)


def _texts(entry: Mapping[str, Any]) -> graded.Graded:
    if "harms" in entry:
        return manners.of_harm(*entry["harms"])
    if "tags" in entry:
        return manners.by_tags(*entry["tags"])
    home = next(
        module for module in (graded, manners, crafts, scenes) if hasattr(module, entry["texts"])
    )
    found: graded.Graded = getattr(home, entry["texts"])
    return found
