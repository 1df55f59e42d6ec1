"""A strategy in a run folder: its settings and its candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import cast

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.domain.results import Result, Status
from adjudge.core.engine.session import OpenRun
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.judges.settings import provenance
from adjudge.features.generate.agent import Agent, Tool
from adjudge.features.generate.candidate import Candidate, Selection, State
from adjudge.features.generate.judge import SampledCriteria
from adjudge.features.generate.llm import LLM
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.generate.quantitative import QuantitativeCriteria
from adjudge.features.generate.record import CandidateDetail
from adjudge.features.generate.shape import describe

LABEL = "generate"
"""The label of candidates in a run."""
_CANDIDATE = Criteria("candidate", "Which candidate is taken?")
_PARTS = ("verify", "cost", "generate")


@dataclass(frozen=True, kw_only=True)
class CandidateResult(Result):
    """A candidate as a row of a run.

    Its cost is not stored as a score, because a lower cost is usually better.
    """

    verdict: State = "failed"
    cost: float | None = None
    tries: int = 0

    def detail(self) -> CandidateDetail:
        """Return the fields that are specific to candidates."""
        return CandidateDetail(verdict=self.verdict, cost=self.cost, tries=self.tries)


def configuration(
    agent: Agent, writers: Sequence[OpenModel], settings: Mapping[str, object]
) -> dict[str, JsonDict]:
    """Return the configuration for a run of this strategy: its label → all settings that affect
    requests.
    """
    strategy = agent.strategy
    strategy_settings = {
        strategy_field.name: getattr(strategy, strategy_field.name)
        for strategy_field in fields(strategy)
        if strategy_field.name not in _PARTS
    }
    agent_settings = {
        "task": agent.task,
        "writes": agent.writes,
        "output": describe(agent.output_schema),
    }
    part_settings = {
        name: [_part(part) for part in getattr(strategy, name)]
        for name in ("verifiers", "costings")
    }
    models = _models(
        writers,
        [
            part
            for part in (*strategy.verifiers, *strategy.costings)
            if isinstance(part, SampledCriteria)
        ],
        agent.toolbox.values(),
    )
    language = str(settings.get("language", "en"))
    return {
        LABEL: provenance(
            "Strategy",
            {**agent_settings, **strategy_settings, **part_settings, **settings},
            models,
            (),
            language,
        )
    }


async def keep_candidates(
    run: OpenRun, selection: Selection, asked: Sequence[Sequence[bytes]]
) -> None:
    """Store one row per candidate, with the votes of all its tries, from both writers and
    judges.
    """
    for place, (candidate, keys) in enumerate(zip(selection.candidates, asked, strict=True)):
        await run.ledger.keep_judgment(
            LABEL, place, _result(selection.task, candidate), list(dict.fromkeys(keys))
        )
    await run.ledger.finish(LABEL, len(selection.candidates))


def _result(task: str, candidate: Candidate) -> CandidateResult:
    has_text = any(attempt.text for attempt in candidate.tries)
    return CandidateResult(
        instance=Instance(
            {"task": task, "response": candidate.code}, id=f"candidate {candidate.number}"
        ),
        criteria=_CANDIDATE,
        status=Status.SCORED if has_text else Status.FAILED,
        explanation=candidate.why,
        votes=tuple(
            vote
            for attempt in candidate.tries
            for result in attempt.results
            for vote in result.votes
        ),
        verdict=candidate.state,
        cost=candidate.cost,
        tries=len(candidate.tries),
    )


def _part(part: object) -> JsonValue:
    """Return a criterion's settings, or a function's name."""
    if isinstance(part, SampledCriteria):
        return {
            "kind": type(part).__name__,
            **cast(JsonObject, part.configuration()["settings"]),
        }
    return getattr(part, "__name__", type(part).__name__)


def _models(
    writers: Sequence[OpenModel],
    criteria: Sequence[QualitativeCriteria | QuantitativeCriteria],
    tools: Iterable[Tool],
) -> dict[str, OpenModel]:
    judges = [model for criterion in criteria for model in criterion.panel.values()]
    llm_tools = [tool for tool in tools if isinstance(tool, LLM)]
    return {model.name: model for model in (*writers, *judges, *llm_tools)}
