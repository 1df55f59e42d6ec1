"""What the adapters to other tools share: one text asked of one of our judges, and what came of it
in their terms.
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
"""How tools call our fields that no data file of theirs does."""


@dataclass(frozen=True)
class Verdict:
    """A judgment, in the terms of tools that know a score, a label and an error."""

    result: Result

    @property
    def name(self) -> str:
        return self.result.criteria.name

    @property
    def is_scored(self) -> bool:
        """Whether there is a verdict; without one there is no score either."""
        return self.result.status is Status.SCORED

    @property
    def score(self) -> float | None:
        """From 0, the worst option, to 1, the best; None without a verdict, or where options have
        no scores.
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
        """By the verdict, or by a score above the middle of the scale; None
        where nobody can say.
        """
        return passed(self.result.record(), {self.name: self._scale})

    @property
    def error_code(self) -> str:
        """What kind of failure it is."""
        if self.result.status is Status.ABSTAINED:
            return "abstained"
        return next(
            (vote.outcome.value for vote in self.result.votes if vote.verdict is None), "failed"
        )

    @property
    def error_message(self) -> str:
        """Why there is no verdict."""
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
        """What is kept beside a score."""
        found = self.result
        given = {
            "adjudge.status": found.status.value,
            "adjudge.option": self.label,
            "adjudge.agreement": found.agreement,
            "adjudge.votes": f"{found.votes_valid} of {found.votes_requested}",
            "adjudge.models": self.models,
        }
        return {name: str(value) for name, value in given.items() if value is not None}

    def scored_or_raise(self) -> Verdict:
        """This; a RunError where there is no verdict, for tools whose failures are exceptions."""
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
            one.name: one.points for one in self.result.criteria.options if one.points is not None
        }
        points = options.values()
        return Scale(min(points), max(points), options) if options else Scale(0.0, 1.0)


@dataclass(frozen=True)
class Asked:
    """A judge, and by which criteria it is asked."""

    judge: TextJudge
    criteria: str | Criteria | None = None
    """Of a DirectJudge; an AspectCritic has its own."""

    def __post_init__(self) -> None:
        if isinstance(self.judge, AspectCritic) == (self.criteria is not None):
            wanted = (
                Message("has its criteria already")
                if self.criteria is not None
                else Message("needs criteria: a question or a Criteria")
            )
            raise SetupError("{name} {wanted}", name=type(self.judge).__name__, wanted=wanted)

    @property
    def name(self) -> str:
        """Of the criteria; of a question, the question."""
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
    """A row of another tool, whose names for our fields are known; what says
    nothing is left out.
    """
    named = {
        _KNOWN_ELSEWHERE.get(name, name): value
        for name, value in cells.items()
        if value not in (None, "", [], {})
    }
    columns = Columns({}, ("response",), None)
    columns.see(named)
    try:
        return Instance(columns.fields(named), columns.name(named), {"row": dict(cells)})
    except ValueError as error:
        raise SetupError("there is no text to judge: {error}", error=error) from None


def text_of(value: object) -> str | None:
    """What a system put out, as a text."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def id_in(result: Result, given: Sequence[str] | None, place: int, *columns: str) -> str | None:
    """What a row is called elsewhere: as it was given, else as one of its own columns says."""
    if given is not None:
        return given[place]
    row = result.instance.metadata.get("row")
    cells: dict[str, object] = {
        **result.instance.metadata,
        **(row if isinstance(row, Mapping) else {}),
    }
    found = column_in(cells, *columns)
    return None if found is None or cells[found] in (None, "") else str(cells[found])
