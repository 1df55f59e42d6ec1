"""Base of applications under test: a name, and a reply made of an answer."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict
from time import perf_counter

from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.prices import TARGET
from adjudge.core.gateway.targets.answer import AnswerPaths


class Target(ABC):
    """An application that is asked like a model. Its own cost is unknown."""

    capabilities = Capabilities(seed=True)
    code = ""
    """Digest of its source files: edited code is another application."""

    def __init__(self, name: str, paths: AnswerPaths) -> None:
        self.name = f"{TARGET}{name}"
        self.paths = paths

    @property
    @abstractmethod
    def address(self) -> str:
        """What is called: an address, a command or a function."""

    @property
    def request_settings(self) -> JsonDict:
        """The other settings that change what the application is asked; None: not set."""
        return {}

    @property
    def identity(self) -> str:
        """Everything that decides what is asked and what is read from the answer, whatever the
        name.

        Stored answers are looked up by it. Earlier versions stored less, see ``is_incomplete``.
        """
        settings = {**self.request_settings, **asdict(self.paths), "code": self.code or None}
        is_set = {name: value for name, value in settings.items() if value is not None}
        return f"{self.address} {json.dumps(is_set, sort_keys=True, ensure_ascii=False)}"

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


def is_incomplete(identity: str) -> bool:
    """Return True for an identity that an earlier version stored, without body, headers and paths.

    Such an answer may be one to another request, so it is not used again.
    """
    return not identity.endswith("}")
