"""What a strategy would take, before anything is asked: from one text a candidate to every try with
all its samples.
"""

from __future__ import annotations

from dataclasses import replace

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Request, Usage
from adjudge.core.engine.estimate import CostEstimate, Known, tokens_of
from adjudge.core.engine.written import writing_ballot, writing_key
from adjudge.core.gateway.open import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.features.generate.agent import Agent
from adjudge.features.generate.judge import SampledCriteria
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.generate.quantitative import QuantitativeCriteria
from adjudge.features.generate.writer import Conversations

_LONGEST_TEXT = 1000
"""Tokens that a candidate is likely to have at most, and with the reasons against it once more."""
_PLACEHOLDER = "x = 1\n" * 500
_NOTHING = CostEstimate(0, 0, (0, 0), (0, 0), (0.0, 0.0))


def forecast(
    agent: Agent,
    writer: Conversations | None,
    known: Known | None = None,
    prices: PriceTable | None = None,
) -> CostEstimate:
    """Functions of the caller's own, and models that are called as tools, are not in it."""
    strategy, table = agent.strategy, prices or PriceTable.load()
    candidates = range(strategy.num_candidates)
    found = replace(_NOTHING, rows=len(candidates))
    for model, request in map(writer.request, candidates) if writer else ():
        found += _written(model, request, strategy.max_iterations, known or Known(), table)
    weighings = strategy.max_iterations * len(candidates)
    for part in (*strategy.verifiers, *strategy.costings):
        if isinstance(part, SampledCriteria):
            fresh = strategy.fresh_samples / part.num_samples if part in strategy.costings else 0.0
            found += _judged(part, agent, weighings + fresh, table)
    return found


def _written(
    model: OpenModel, request: Request, tries: int, known: Known, prices: PriceTable
) -> CostEstimate:
    """One candidate. A try that failed is in the conversation of the next."""
    ballot = writing_ballot(model, request)
    answered = known.recall([ballot], [writing_key(model, ballot, known.wordings)])[0] is not None
    there = answered or model.has_reply(request)
    low, high = tokens_of(request.prompt.text)
    fewest = Usage() if there else Usage(1, low, 1)
    left = tries - there
    earlier = sum(2 * _LONGEST_TEXT * number for number in range(tries))
    most = Usage(left, left * high + earlier, left * _LONGEST_TEXT)
    spent = [prices.cost(model.name, usage) for usage in (fewest, most)]
    return CostEstimate(
        0,
        int(answered),
        (fewest.calls, most.calls),
        (fewest.tokens, most.tokens),
        (spent[0] or 0.0, spent[1] or 0.0),
        (model.name,) if None in spent else (),
    )


def _judged(
    part: QualitativeCriteria | QuantitativeCriteria, agent: Agent, times: float, prices: PriceTable
) -> CostEstimate:
    """By one criterion; none of it has to be, since no candidate may come so far."""
    judged = {"text" if agent.writes == "text" else "code": _PLACEHOLDER}
    once = part.estimate(
        [Instance({"task": agent.task, **judged} if agent.task else judged)], prices=prices
    )
    calls, tokens, usd = (end[1] * times for end in (once.calls, once.tokens, once.usd))
    return CostEstimate(0, 0, (0, round(calls)), (0, round(tokens)), (0.0, usd), once.unpriced)
