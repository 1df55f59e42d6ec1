"""Data of the pytest plugin: the cases of a test, and the group they belong to. Loaded with the
first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import GivenFields, Instance, texts_beside
from adjudge.core.reading.values import nearest
from adjudge.errors import AdjudgeError, SetupError

if TYPE_CHECKING:
    from adjudge.features.integrations.pytest_text import JudgedText


@dataclass(frozen=True, kw_only=True)
class GroupSettings:
    """The arguments of ``@pytest.mark.judged``."""

    criteria: object
    """What must be met, a ready-made aspect or criteria, a file of criteria, or a Criteria."""
    at_least: float | None = None
    """The mean score, from 0 to 1, that the cases must reach."""
    confidence: float = 0.95
    votes: int = 1
    """Votes per case and model."""
    not_worse_than: str | PathLike[str] | None = None
    """A run folder of earlier answers to the same cases."""
    margin: float = 0.0
    """Largest allowed loss against that run."""

    def __post_init__(self) -> None:
        if not isinstance(self.criteria, str | Criteria):
            raise SetupError(
                "criteria must be a string or a Criteria, not {name}",
                name=type(self.criteria).__name__,
            )
        if isinstance(self.criteria, str) and not self.criteria.strip():
            raise SetupError("the criterion is empty: describe in a sentence what to judge")
        for name, value in (
            ("at_least", 0.0 if self.at_least is None else self.at_least),
            ("margin", self.margin),
        ):
            if not _number(value) or not 0 <= value <= 1:
                raise SetupError(
                    "{name} must be a number from 0 to 1, not {value!r}", name=name, value=value
                )
        if not _number(self.confidence) or not 0 < self.confidence < 1:
            raise SetupError(
                "confidence must be between 0 and 1, not {confidence!r}",
                confidence=self.confidence,
            )
        if not isinstance(self.votes, int) or isinstance(self.votes, bool) or self.votes < 1:
            raise SetupError(
                "votes must be a whole number of at least 1, not {votes!r}", votes=self.votes
            )
        if self.not_worse_than is not None and not isinstance(self.not_worse_than, str | PathLike):
            raise SetupError(
                "not_worse_than must be the folder of a run, not {not_worse_than!r}",
                not_worse_than=self.not_worse_than,
            )


def group_settings(given: Mapping[str, Any]) -> GroupSettings:
    """Read the arguments of a mark.

    Raise a SetupError for an unknown argument, or without criteria.
    """
    names = [argument.name for argument in fields(GroupSettings)]
    for name in given:
        if name not in names:
            raise SetupError(
                "unknown argument {name!r}; {hint}", name=name, hint=nearest(name, names)
            )
    if "criteria" not in given:
        raise SetupError("criteria is missing: say what to judge")
    return GroupSettings(**given)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@dataclass(frozen=True)
class GroupCase:
    """One text to judge, given by a test."""

    id: str
    fields: GivenFields


@dataclass
class CaseGroup:
    """The cases of one test function."""

    name: str
    """The test without its parameters."""
    settings: GroupSettings
    line: int
    cases: dict[str, list[GroupCase]] = field(default_factory=dict)
    """Test → its cases: a test that runs again gives them anew."""
    marked_alike: bool = True
    """True if all its tests have the same mark: one group is judged by one criterion."""

    def join(self, other: CaseGroup) -> CaseGroup:
        """Add the cases of the same group from another test or process."""
        self.marked_alike = (
            self.marked_alike and other.marked_alike and self.settings == other.settings
        )
        self.cases.update(other.cases)
        return self


T = TypeVar("T")


def briefly(render: Callable[[object], str], ask: Callable[[], T]) -> T:
    """Return the result of `ask`, and shorten adjudge's errors.

    They are raised in the session's language and without traceback, so that a report shows the
    test, not adjudge's code.
    """
    __tracebackhide__ = True
    try:
        return ask()
    except AdjudgeError as error:
        error.args = (render(error),)
        raise error.with_traceback(None) from None


class Judging(Protocol):
    def render(self, text: object) -> str:
        """Return a message in the session's language."""
        ...

    def judge(
        self, criteria: object, fields: GivenFields, votes: int, undecided: Callable[[str], None]
    ) -> JudgedText:
        """Judge a text with this many votes; call `undecided` if there is no verdict."""
        ...


class JudgeFixture:
    """The ``judge`` fixture."""

    def __init__(self, session: Judging, undecided: Callable[[str], None]) -> None:
        self._session, self._undecided = session, undecided

    def __call__(
        self,
        criteria: object,
        response: str,
        *,
        votes: int = 3,
        user_input: str | None = None,
        reference: str | None = None,
        contexts: Sequence[str] | None = None,
    ) -> JudgedText:
        """Judge a text now. Assert with ``must_pass`` and similar methods of the result."""
        __tracebackhide__ = True
        fields = {**texts_beside(user_input, reference, contexts), "response": response}
        return briefly(
            self._session.render,
            lambda: self._session.judge(criteria, fields, votes, self._undecided),
        )


class Collect:
    """The ``judged`` fixture."""

    def __init__(self, cases: list[GroupCase], test: str) -> None:
        self._cases, self._test = cases, test

    def __call__(
        self,
        response: str,
        *,
        user_input: str | None = None,
        reference: str | None = None,
        contexts: Sequence[str] | None = None,
        fields: GivenFields = NOTHING,
        id: str | None = None,
    ) -> None:
        """Add a case to the test's group, which is judged after the last test.

        ``fields`` are further fields that the criteria read. ``id`` identifies the case in other
        sessions; by default it is the test's name and a number.
        """
        name = id or (f"{self._test} #{len(self._cases) + 1}" if self._cases else self._test)
        texts = {**texts_beside(user_input, reference, contexts), **fields}
        self._cases.append(GroupCase(name, dict(Instance({**texts, "response": response}).fields)))


class XdistWorker(Protocol):
    """A worker of pytest-xdist, seen from the main process."""

    config: pytest.Config
    workerinput: dict[str, object]
