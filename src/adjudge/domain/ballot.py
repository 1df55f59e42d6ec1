"""One planned question to one model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from adjudge.domain.criteria import TIE, Criteria
from adjudge.domain.instance import Instance

Mode = Literal["generate", "likelihood"]


@dataclass(frozen=True)
class Ballot:
    """Everything that decides what is asked; its identity is what it asks."""

    criteria: Criteria
    instance: Instance
    template: str
    model: str
    language: str = "en"
    mode: Mode = "generate"
    """Whether the model writes an answer, or the offered options are compared by their log-probability."""
    order: tuple[int, ...] | None = None
    """The order in which options or responses are shown; None: as listed."""
    offered: tuple[str, ...] = ()
    """What may be answered where that is not the criteria's options: the labels of compared responses."""
    range: tuple[float, float] | None = None
    """The lowest and the highest number that may be answered, where a number is asked for."""
    feedback: bool = False
    """Whether advice is asked for along with the verdict."""
    persona: str | None = None
    """Who the judge is told to be."""
    sample: int = 0
    temperature: float = 0.0
    seed: int | None = None

    @cached_property
    def id(self) -> str:
        """Equal for ballots that ask the same of the same model. What the caller calls the instance is left out."""
        how = f"{self.template}\0{self.model}\0{self.language}\0{self.mode}\0{self.feedback}\0{self.persona}"
        which = f"{self.order}\0{self.offered}\0{self.range}\0{self.sample}\0{float(self.temperature)}\0{self.seed}"
        asked = f"{self.criteria.identity}{self.instance.identity}{which}\0{how}"
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def options(self) -> tuple[str, ...]:
        """What may be answered, in the order it is shown."""
        names = self.criteria.option_names
        return self.offered or (tuple(names[place] for place in self.order) if self.order else names)

    @property
    def points(self) -> tuple[float | None, ...]:
        """What each of ``options`` scores; compared responses have no scores."""
        return () if self.offered else tuple(map(self.criteria.option_points.__getitem__, self.options))

    @property
    def ranked(self) -> bool:
        """Whether the whole order of the responses is asked for: where there are more than two."""
        return len([label for label in self.offered if label != TIE]) > 2
