"""One candidate before its strategy: what speaks against it, and what it costs."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real

from adjudge.core.aio.user_functions import call_contained
from adjudge.core.domain.sampled import QualitativeResult, SampledResult
from adjudge.core.gateway.layers.budget import raise_if_halted
from adjudge.errors import HALTS, ModelError, RunError, SetupError
from adjudge.features.generate.candidate import FreshCost
from adjudge.features.generate.judge import sampling
from adjudge.features.generate.strategy import Computes, Costing, Strategy, Verifier, Verifies
from adjudge.messages import Message, join

_FRESH = 1_000_000
"""Number of the first fresh sample: far behind every number that a choice can have used."""


class _NoNumber(ValueError):
    """What a cost function gave is not a number."""


class _NoCost(Exception):
    """A judge that was asked for the cost gave no verdict."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was said of a candidate."""

    reasons: tuple[str, ...] = ()
    no_verdict: tuple[str, ...] = ()
    """What speaks for nothing: who should have judged it and could not."""
    cost: float | None = None
    no_cost: str | None = None
    """Why its cost is not known, where a judge gave none."""
    results: tuple[SampledResult, ...] = ()
    """Every criterion's result."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one verifier or costing gave, or how it failed."""

    value: object
    results: tuple[SampledResult, ...]
    error: str | None = None
    unanswered: bool = False
    """Whether the error is that of a model that was asked."""

    @property
    def fallbacks(self) -> list[SampledResult]:
        """The criteria that had too few valid samples: what rests on them is not a verdict."""
        return [result for result in self.results if result.fallback]


async def weigh(strategy: Strategy, code: str, agent: object, first: int = 0) -> Weighed:
    """Every verifier at once; what passes them all is costed."""
    said = await _all(list(map(_verify, strategy.verifiers)), code, agent, first)
    named = list(zip(said, map(_name, strategy.verifiers), strict=True))
    unjudged = tuple(_no_verdict(one, name) for one, name in named if _is_unjudged(one))
    reasons = tuple(
        reason
        for one, name in named
        if not _is_unjudged(one) and (reason := _against(one, name)) is not None
    )
    results = tuple(result for one in said for result in one.results)
    if reasons or unjudged or not strategy.costings:
        return Weighed(reasons, unjudged, results=results)
    costed = await cost_of(strategy, code, agent, first)
    return replace(costed, results=results + costed.results)


async def cost_of(
    strategy: Strategy, code: str, agent: object, first: int = 0, count: int | None = None
) -> Weighed:
    """The sum of all costings, from samples with other numbers where the caller says so."""
    said = await _all(list(map(_compute, strategy.costings)), code, agent, first, count)
    results = tuple(result for one in said for result in one.results)
    try:
        parts = [
            _number(one, _name(part)) for one, part in zip(said, strategy.costings, strict=True)
        ]
    except _NoNumber as error:
        return Weighed((str(error),), results=results)
    except _NoCost as error:
        return Weighed(no_cost=str(error), results=results)
    return Weighed(cost=math.fsum(parts), results=results)


async def fresh_cost(strategy: Strategy, code: str, agent: object) -> FreshCost | None:
    """The winner's cost once more, from samples that had no part in the choice; None where that was
    not asked for.
    """
    if not strategy.fresh_samples:
        return None
    said = await cost_of(strategy, code, agent, first=_FRESH, count=strategy.fresh_samples)
    return FreshCost(
        cost=said.cost,
        results=said.results,
        reason=said.no_cost or join("; ", said.reasons) or None,
    )


async def _all(
    functions: Sequence[Callable[..., object]],
    code: str,
    agent: object,
    first: int = 0,
    count: int | None = None,
) -> list[_Said]:
    asking = [
        asyncio.ensure_future(_ask(function, code, agent, first, count)) for function in functions
    ]
    try:
        return await asyncio.gather(*asking)
    except HALTS:
        # what was sent is paid for: it is waited for, and kept
        await asyncio.gather(*asking, return_exceptions=True)
        raise


async def _ask(
    function: Callable[..., object], code: str, agent: object, first: int, count: int | None
) -> _Said:
    """What it says, and what the criteria inside it said.

    What a function raises is its answer: it cannot pass the code.
    """
    heard: list[SampledResult] = []
    try:
        with sampling(first, count, heard.append):
            value = await call_contained(_in_our_context(function), code, agent)
    except SetupError:
        raise
    except (RunError, ModelError) as error:
        raise_if_halted()  # the end of the whole run is not this candidate's
        return _Said(None, tuple(heard), str(error), unanswered=True)
    # a function of somebody's own: its failure is one candidate's failure
    except Exception as error:  # noqa: BLE001
        return _Said(
            None,
            tuple(heard),
            Message("it raised {kind}: {error}", kind=type(error).__name__, error=error),
        )
    return _Said(value, tuple(heard))


def _verify(part: Verifier) -> Callable[..., object]:
    """What a criterion is asked by; a function is asked itself."""
    return part.verify if isinstance(part, Verifies) else part


def _compute(part: Costing) -> Callable[..., object]:
    return part.compute if isinstance(part, Computes) else part


def _in_our_context(function: Callable[..., object]) -> Callable[..., object]:
    """Criteria that a sync function asks from its thread are sampled and heard as well."""
    return (
        function if inspect.iscoroutinefunction(function) else partial(copy_context().run, function)
    )


def _is_unjudged(said: _Said) -> bool:
    """Whether what was said rests on a judge that gave no verdict: a pass that does, or a failure
    without another reason.
    """
    if said.error or not said.fallbacks:
        return said.unanswered
    passed, reason = _passed(said.value)
    return passed is True or (passed is False and not (reason or _failed(said.results)))


def _no_verdict(said: _Said, name: str) -> str:
    if said.error:
        return Message("{name}: no verdict: {error}", name=name, error=said.error)
    return join("; ", map(_too_few, said.fallbacks))


def _too_few(result: SampledResult) -> str:
    why = join("; ", dict.fromkeys(vote.failure for vote in result.votes if not vote.valid))
    counts = Message(
        "{valid} of {requested} samples valid",
        valid=result.votes_valid,
        requested=result.votes_requested,
    )
    return Message(
        "{description} – no verdict, {counts} ({why})",
        description=result.criteria.description,
        counts=counts,
        why=why,
    )


def _against(said: _Said, name: str) -> str | None:
    """Why the candidate does not pass; None when it does."""
    if said.error:
        return join(": ", (name, said.error))
    passed, reason = _passed(said.value)
    if passed is None:
        raise SetupError(
            "verify must give a bool or (bool, reason); {name} gave {value!r:.80}",
            name=name,
            value=said.value,
        )
    if passed:
        return None
    return (
        str(reason)
        if reason
        else _why(_failed(said.results)) or Message("{name} did not pass it", name=name)
    )


def _passed(value: object) -> tuple[bool | None, object]:
    """What a verifier gave and its reason; None for what is not a bool."""
    reason: object = None
    if isinstance(value, tuple) and len(value) == 2:
        value, reason = value
    return (
        bool(value) if type(value).__name__ in ("bool", "bool_") else None
    ), reason  # the second is numpy's


def _failed(results: Sequence[SampledResult]) -> list[QualitativeResult]:
    return [
        one
        for one in results
        if isinstance(one, QualitativeResult) and not (one.passed or one.fallback)
    ]


def _why(failed: Sequence[QualitativeResult]) -> str:
    return join(
        "; ",
        (
            join(" – ", (one.criteria.description, one.explanation or _no_explanation(one)))
            for one in failed
        ),
    )


def _no_explanation(result: QualitativeResult) -> str:
    return Message(
        "{passes} of {valid} samples passed it, {needed} are needed",
        passes=result.passes,
        valid=result.votes_valid,
        needed=result.min_pass,
    )


def _number(said: _Said, name: str) -> float:
    if said.error is not None:
        kind = _NoCost if said.unanswered else _NoNumber
        raise kind(Message("its cost is not known: {name}: {error}", name=name, error=said.error))
    if said.fallbacks:
        raise _NoCost(
            Message(
                "its cost is not known: {reasons}",
                reasons=join("; ", map(_too_few, said.fallbacks)),
            )
        )
    value = said.value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SetupError(
            "cost must give a number; {name} gave {value!r:.80}", name=name, value=value
        )
    if not math.isfinite(value):
        raise _NoNumber(
            Message("its cost is not known: {name} gave {value}", name=name, value=value)
        )
    return float(value)


def _name(part: object) -> str:
    return (
        getattr(part, "expression", None) or getattr(part, "__name__", None) or type(part).__name__
    )
