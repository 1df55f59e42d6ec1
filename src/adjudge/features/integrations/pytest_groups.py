"""The nouns of the pytest plugin: what a test gives, and the group it belongs to. Loaded with the
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
    """What ``@pytest.mark.judged`` says of a group."""

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
    """By how much the group may be worse than that run."""

    def __post_init__(self) -> None:
        if not isinstance(self.criteria, str | Criteria):
            raise SetupError(
                "criteria must be a text or a Criteria, not {name}",
                name=type(self.criteria).__name__,
            )
        if isinstance(self.criteria, str) and not self.criteria.strip():
            raise SetupError("the criterion is empty: say in a sentence what is to be judged")
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
                "confidence must lie between 0 and 1, not {confidence!r}",
                confidence=self.confidence,
            )
        if not isinstance(self.votes, int) or isinstance(self.votes, bool) or self.votes < 1:
            raise SetupError(
                "votes must be a whole number from 1 up, not {votes!r}", votes=self.votes
            )
        if self.not_worse_than is not None and not isinstance(self.not_worse_than, str | PathLike):
            raise SetupError(
                "not_worse_than must be the folder of a run, not {not_worse_than!r}",
                not_worse_than=self.not_worse_than,
            )


def group_settings(given: Mapping[str, Any]) -> GroupSettings:
    """What the arguments of a mark say."""
    known = [one.name for one in fields(GroupSettings)]
    for name in given:
        if name not in known:
            raise SetupError(
                "unknown argument {name!r}; {hint}", name=name, hint=nearest(name, known)
            )
    if "criteria" not in given:
        raise SetupError("criteria is missing: say what is to be judged")
    return GroupSettings(**given)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@dataclass(frozen=True)
class GroupCase:
    """One text to judge, as a test gave it."""

    id: str
    fields: GivenFields


@dataclass
class Group:
    """The cases of one test function."""

    name: str
    """The test without its parameters."""
    settings: GroupSettings
    line: int
    cases: dict[str, list[GroupCase]] = field(default_factory=dict)
    """Test → its cases: a test that runs again gives them anew."""
    marked_alike: bool = True
    """Whether all its tests say the same of it: one group is judged by one criteria."""

    def join(self, other: Group) -> Group:
        """Take over the cases of the same group, as another test or another process has it."""
        self.marked_alike = (
            self.marked_alike and other.marked_alike and self.settings == other.settings
        )
        self.cases.update(other.cases)
        return self


T = TypeVar("T")


def briefly(render: Callable[[object], str], ask: Callable[[], T]) -> T:
    """What ``ask`` gives. An error of ours is raised as if here, in the session's language: a
    test's report shows the test.
    """
    __tracebackhide__ = True
    try:
        return ask()
    except AdjudgeError as error:
        error.args = (render(error),)
        raise error.with_traceback(None) from None


class Judging(Protocol):
    def render(self, text: object) -> str:
        """A sentence of ours in the session's language."""
        ...

    def judge(
        self, criteria: object, fields: GivenFields, votes: int, undecided: Callable[[str], None]
    ) -> JudgedText:
        """The text, judged by so many votes. ``undecided`` is told where there is no verdict."""
        ...


class JudgeFixture:
    """What the ``judge`` fixture is."""

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
        """Judge a text now; ``must_pass`` and its like of what comes back are the assertion."""
        __tracebackhide__ = True
        fields = {**texts_beside(user_input, reference, contexts), "response": response}
        return briefly(
            self._session.render,
            lambda: self._session.judge(criteria, fields, votes, self._undecided),
        )


class Collect:
    """What the ``judged`` fixture is."""

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
        """Put a case into the test's group, which is judged after the last test. ``fields``: others
        that the criteria read.

        ``id``: what the case is called, by which it is found again in another session; else it is
        called by its test and number.
        """
        name = id or (f"{self._test} #{len(self._cases) + 1}" if self._cases else self._test)
        beside = {**texts_beside(user_input, reference, contexts), **fields}
        self._cases.append(GroupCase(name, dict(Instance({**beside, "response": response}).fields)))


class XdistWorker(Protocol):
    """A worker, as the process that leads sees it."""

    config: pytest.Config
    workerinput: dict[str, object]
