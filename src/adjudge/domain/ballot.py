"""One planned question to one model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance
from adjudge.domain.question import Question

Mode = Literal["generate", "likelihood"]


@dataclass(frozen=True)
class Ballot:
    """Everything that decides what is asked; its identity is what it asks."""

    criteria: Criteria
    instance: Instance
    question: Question
    """What may be answered, and in which order it is shown."""
    template: str
    model: str
    language: str = "en"
    mode: Mode = "generate"
    """Whether the model writes an answer, or the offered options are compared by their log-probability."""
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
        which = f"{self.question.identity}\0{self.sample}\0{float(self.temperature)}\0{self.seed}"
        asked = f"{self.question.criteria_identity(self.criteria)}{self.instance.identity}{which}\0{how}"
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()
