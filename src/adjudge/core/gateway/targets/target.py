"""Base of applications under test: a name, and a reply made of an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from time import perf_counter

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.prices import TARGET
from adjudge.core.gateway.targets.answer import AnswerPaths


class Target(ABC):
    """An application that is asked like a model. Its own cost is unknown."""

    capabilities = Capabilities(seed=True)
    version = ""
    """Digest of its source files: edited code is another application."""

    def __init__(self, name: str, paths: AnswerPaths) -> None:
        self.name = f"{TARGET}{name}"
        self.paths = paths

    @property
    @abstractmethod
    def identity(self) -> str:
        """Address, command or code of the application, whatever its name."""

    @property
    @abstractmethod
    def fields(self) -> tuple[str, ...]:
        """Columns that the application requires; none if it takes the whole row."""

    @abstractmethod
    async def complete(self, request: Request) -> Reply:
        """Answer, or raise a ModelError."""

    def reply(self, said: JsonValue, started: float) -> Reply:
        answer = self.paths.read(said, self.name)
        return Reply(answer.to_json(), Usage(calls=1), perf_counter() - started)
