"""Shared parts of the adapters to other tools: judge one text, and express the verdict in their
terms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.data.columns import Columns, column_in
from adjudge.core.data.sources.row import Cells
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import Result, Status
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.direct import DirectJudge
from adjudge.errors import RunError, SetupError
from adjudge.messages import Message
from adjudge.runs.pass_scale import Scale, passed

TextJudge = AspectCritic | DirectJudge
_KNOWN_ELSEWHERE = {
    "expected_response": "reference",
    "expected_facts": "reference",
    "retrieved_context": "contexts",
}
"""Names of other tools for adjudge's fields that no data file uses."""


@dataclass(frozen=True)
class Verdict:
    """A judgment as a score, a label and an error, for tools that know these terms."""

    result: Result

    @property
    def name(self) -> str:
        return self.result.criteria.name

    @property
    def is_scored(self) -> bool:
        """True if there is a verdict; without one there is no score either."""
        return self.result.status is Status.SCORED

    @property
    def score(self) -> float | None:
        """The score from 0 (the worst option) to 1 (the best).

        None without a verdict, or if the options have no scores.
        """
        low, high, _ = self._scale
        score = self.result.score if self.is_scored else None
        return None if score is None or low == high else (score - low) / (high - low)

    @property
    def label(self) -> str | None:
        """The option that was chosen."""
        return self.result.verdict if self.is_scored else None

    @property
    def passed(self) -> bool | None:
        """True or False by the verdict, or by a score above the middle of the scale.

        None if neither decides.
        """
        return passed(self.result.record(), {self.name: self._scale})

    @property
    def error_code(self) -> str:
        """``abstained``, or the outcome of the first vote without a verdict."""
        if self.result.status is Status.ABSTAINED:
            return "abstained"
        return next(
            (vote.outcome.value for vote in self.result.votes if vote.verdict is None), "failed"
        )

    @property
    def error_message(self) -> str:
        """The reason why there is no verdict."""
        if self.result.reason:
            return self.result.reason
        return (
            Message("the judgment abstained")
            if self.result.status is Status.ABSTAINED
            else Message("the judgment failed")
        )

    @property
    def models(self) -> str:
        return ", ".join(dict.fromkeys(vote.model for vote in self.result.votes))

    @property
    def facts(self) -> dict[str, str]:
        """Metadata to store with a score."""
        result = self.result
        values = {
            "adjudge.status": result.status.value,
            "adjudge.option": self.label,
            "adjudge.agreement": result.agreement,
            "adjudge.votes": f"{result.votes_valid} of {result.votes_requested}",
            "adjudge.models": self.models,
        }
        return {name: str(value) for name, value in values.items() if value is not None}

    def scored_or_raise(self) -> Verdict:
        """Return this verdict; raise a RunError if there is none.

        This is for tools that expect failures as exceptions.
        """
        if not self.is_scored:
            raise RunError(
                "{name}: no verdict ({error_code}): {error_message}",
                name=self.name,
                error_code=self.error_code,
                error_message=self.error_message,
            )
        return self

    @property
    def _scale(self) -> Scale:
        options = {
            option.name: option.points
            for option in self.result.criteria.options
            if option.points is not None
        }
        if options:
            return Scale(min(options.values()), max(options.values()), options)
        return Scale(*(self.result.detail().rating_range or (0.0, 1.0)))


@dataclass(frozen=True)
class Asked:
    """A judge with the criteria that it applies."""

    judge: TextJudge
    criteria: str | Criteria | None = None
    """The criteria of a DirectJudge; an AspectCritic has its own."""

    def __post_init__(self) -> None:
        if isinstance(self.judge, AspectCritic) == (self.criteria is not None):
            problem = (
                Message("already has criteria")
                if self.criteria is not None
                else Message("needs criteria: a question or a Criteria")
            )
            raise SetupError("{name} {wanted}", name=type(self.judge).__name__, wanted=problem)

    @property
    def name(self) -> str:
        """The name of the criteria, or the question."""
        if isinstance(self.judge, AspectCritic):
            return self.judge.name
        return self.criteria.name if isinstance(self.criteria, Criteria) else str(self.criteria)

    async def averdict(self, cells: Cells) -> Verdict:
        """Judge one text and return its verdict."""
        instance = instance_of(cells)
        if isinstance(self.judge, AspectCritic):
            return Verdict(await self.judge.aevaluate(instance))
        assert self.criteria is not None
        return Verdict((await self.judge.aevaluate([instance], self.criteria))[0])

    verdict = sync_edge(averdict)


def instance_of(cells: Cells) -> Instance:
    """Return a row of another tool as an instance, without empty values."""
    fields = {
        _KNOWN_ELSEWHERE.get(name, name): value
        for name, value in cells.items()
        if value not in (None, "", [], {})
    }
    columns = Columns({}, ("response",), None)
    columns.see(fields)
    try:
        return Instance(columns.fields(fields), columns.name(fields), {"row": dict(cells)})
    except ValueError as error:
        raise SetupError("there is no text to judge: {error}", error=error) from None


def text_of(value: object) -> str | None:
    """Return a system's output as text, other values as JSON; None stays None."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def id_in(result: Result, ids: Sequence[str] | None, place: int, *columns: str) -> str | None:
    """Return the row's id in another tool: from `ids` if given, else from these columns.

    Return None if the row has no such column, or an empty one.
    """
    if ids is not None:
        return ids[place]
    row = result.instance.metadata.get("row")
    cells: dict[str, object] = {
        **result.instance.metadata,
        **(row if isinstance(row, Mapping) else {}),
    }
    column = column_in(cells, *columns)
    return None if column is None or cells[column] in (None, "") else str(cells[column])
