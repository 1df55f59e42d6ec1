"""One planned question to one model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adjudge.domain.criteria import Criteria
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
    sample: int = 0
    temperature: float = 0.0
    seed: int | None = None

    @property
    def id(self) -> str:
        """Equal for ballots that ask the same of the same model. What the caller calls the instance is left out.

        The order of its fields is not: it is the order in which they are shown.
        """
        how = (self.template, self.language, self.mode, self.model, self.order, self.sample, self.temperature, self.seed)
        return content_hash(self.criteria, list(self.instance.fields.items()), how)
