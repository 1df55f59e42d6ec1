"""One planned question to one model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from adjudge.domain.criteria import TIE, Criteria
from adjudge.domain.frozen import content_hash
from adjudge.domain.instance import Instance

Mode = Literal["generate", "likelihood"]


@dataclass(frozen=True, slots=True)
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

    @property
    def id(self) -> str:
        """Equal for ballots that ask the same of the same model. What the caller calls the instance is left out.

        The order of its fields is not: it is the order in which they are shown.
        """
        asked = [(field.name, getattr(self, field.name)) for field in fields(self) if field.name != "instance"]
        return content_hash(asked, list(self.instance.fields.items()))

    @property
    def options(self) -> tuple[str, ...]:
        """What may be answered, in the order it is shown."""
        names = self.criteria.option_names
        return self.offered or (tuple(names[place] for place in self.order) if self.order else names)

    @property
    def ranked(self) -> bool:
        """Whether the whole order of the responses is asked for: where there are more than two."""
        return len([label for label in self.offered if label != TIE]) > 2
