"""Weigh one candidate: verify it and compute its cost."""

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

# Number of the first fresh sample: far behind every number that a choice can have used.
_FRESH = 1_000_000


class _NoNumber(ValueError):
    """A cost function did not return a finite number."""


class _NoCost(Exception):
    """A judge that was asked for the cost returned no verdict."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The verdicts on a candidate, and its cost."""

    reasons: tuple[str, ...] = ()
    no_verdict: tuple[str, ...] = ()
    """Verifiers that could not give a verdict, with their errors."""
    cost: float | None = None
    no_cost: str | None = None
    """The reason why its cost is unknown, if a judge gave none."""
    results: tuple[SampledResult, ...] = ()
    """Every criterion's result."""


@dataclass(frozen=True, slots=True)
class _Said:
    """The answer of one verifier or cost function, or its failure."""

    value: object
    results: tuple[SampledResult, ...]
    error: str | None = None
    unanswered: bool = False
    """True if the error is that of a model that was asked."""

    @property
    def fallbacks(self) -> list[SampledResult]:
        """The results with too few valid samples, which are not verdicts."""
        return [result for result in self.results if result.fallback]


async def weigh(strategy: Strategy, code: str, agent: object, first: int = 0) -> Weighed:
    """Ask all verifiers at once, then compute the cost if the candidate passes them all."""
    answers = await _all(list(map(_verify, strategy.verifiers)), code, agent, first)
    named_answers = list(zip(answers, map(_name, strategy.verifiers), strict=True))
    unjudged = tuple(
        (
            Message("{name}: no verdict: {error}", name=name, error=answer.error)
            if answer.error
            else join("; ", map(_too_few, answer.fallbacks))
        )
        for answer, name in named_answers
        if _is_unjudged(answer)
    )
    reasons = tuple(
        reason
        for answer, name in named_answers
        if not _is_unjudged(answer) and (reason := _against(answer, name)) is not None
    )
    results = tuple(result for answer in answers for result in answer.results)
    if reasons or unjudged or not strategy.costings:
        return Weighed(reasons, unjudged, results=results)
    costed = await cost_of(strategy, code, agent, first)
    return replace(costed, results=results + costed.results)


async def cost_of(
    strategy: Strategy, code: str, agent: object, first: int = 0, count: int | None = None
) -> Weighed:
    """Return the sum of all costs; with ``first`` and ``count``, from other samples.

    A cost that is not a number counts against the candidate; without a judge's verdict the cost is
    unknown.
    """
    answers = await _all(list(map(_compute, strategy.costings)), code, agent, first, count)
    results = tuple(result for answer in answers for result in answer.results)
    try:
        parts = [
            _number(answer, _name(part))
            for answer, part in zip(answers, strategy.costings, strict=True)
        ]
    except _NoNumber as error:
        return Weighed((str(error),), results=results)
    except _NoCost as error:
        return Weighed(no_cost=str(error), results=results)
    return Weighed(cost=math.fsum(parts), results=results)


async def fresh_cost(strategy: Strategy, code: str, agent: object) -> FreshCost | None:
    """Measure the winner's cost again, from samples that were not used to choose it.

    Return None unless ``fresh_samples`` is set.
    """
    if not strategy.fresh_samples:
        return None
    weighed = await cost_of(strategy, code, agent, first=_FRESH, count=strategy.fresh_samples)
    return FreshCost(
        cost=weighed.cost,
        results=weighed.results,
        reason=weighed.no_cost or join("; ", weighed.reasons) or None,
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
    """Call a function; return its answer or failure, and the results of the criteria it
    evaluated.
    """
    heard: list[SampledResult] = []
    try:
        with sampling(first, count, heard.append):
            value = await call_contained(
                (
                    function
                    if inspect.iscoroutinefunction(function)
                    else partial(copy_context().run, function)
                ),
                code,
                agent,
            )
    except SetupError:
        raise
    except (RunError, ModelError) as error:
        raise_if_halted()  # the end of the whole run is not this candidate's
        return _Said(None, tuple(heard), str(error), unanswered=True)
    # a function of somebody's own: its failure is one candidate's failure
    # An exception is its answer: the code cannot pass.
    except Exception as error:  # noqa: BLE001
        return _Said(
            None,
            tuple(heard),
            Message("it raised {kind}: {error}", kind=type(error).__name__, error=error),
        )
    return _Said(value, tuple(heard))


def _verify(part: Verifier) -> Callable[..., object]:
    """Return the ``verify`` method of a criterion; a function is returned unchanged."""
    return part.verify if isinstance(part, Verifies) else part


def _compute(part: Costing) -> Callable[..., object]:
    return part.compute if isinstance(part, Computes) else part


def _is_unjudged(answer: _Said) -> bool:
    """Return True if the answer depends on a judge that gave no verdict.

    That is a failed request, a pass that needs the missing verdict, or a failure without another
    reason.
    """
    if answer.error or not answer.fallbacks:
        return answer.unanswered
    passed, reason = _read_verdict(answer.value)
    return passed is True or (passed is False and not (reason or _failed_results(answer.results)))


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


def _against(answer: _Said, name: str) -> str | None:
    """Return why the candidate fails, or None if it passes."""
    if answer.error:
        return join(": ", (name, answer.error))
    passed, reason = _read_verdict(answer.value)
    if passed is None:
        raise SetupError(
            "verify must return a bool or (bool, reason); {name} returned {value!r:.80}",
            name=name,
            value=answer.value,
        )
    if passed:
        return None
    return (
        str(reason)
        if reason
        else _why(_failed_results(answer.results)) or Message("{name} did not pass it", name=name)
    )


def _read_verdict(value: object) -> tuple[bool | None, object]:
    """Return a verifier's answer and reason; (None, reason) if the answer is not a bool."""
    reason: object = None
    if isinstance(value, tuple) and len(value) == 2:
        value, reason = value
    return (
        # numpy's bools are not of type bool.
        bool(value) if type(value).__name__ in ("bool", "bool_") else None
    ), reason  # the second is numpy's


def _failed_results(results: Sequence[SampledResult]) -> list[QualitativeResult]:
    return [
        result
        for result in results
        if isinstance(result, QualitativeResult) and not (result.passed or result.fallback)
    ]


def _why(failed: Sequence[QualitativeResult]) -> str:
    return join(
        "; ",
        (
            join(
                " – ", (result.criteria.description, result.explanation or _no_explanation(result))
            )
            for result in failed
        ),
    )


def _no_explanation(result: QualitativeResult) -> str:
    return Message(
        "{passes} of {valid} samples passed it, {needed} are needed",
        passes=result.passes,
        valid=result.votes_valid,
        needed=result.min_pass,
    )


def _number(answer: _Said, name: str) -> float:
    if answer.error is not None:
        kind = _NoCost if answer.unanswered else _NoNumber
        raise kind(Message("its cost is unknown: {name}: {error}", name=name, error=answer.error))
    if answer.fallbacks:
        raise _NoCost(
            Message(
                "its cost is unknown: {reasons}",
                reasons=join("; ", map(_too_few, answer.fallbacks)),
            )
        )
    value = answer.value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SetupError(
            "cost must return a number; {name} returned {value!r:.80}", name=name, value=value
        )
    if not math.isfinite(value):
        raise _NoNumber(
            Message("its cost is unknown: {name} returned {value}", name=name, value=value)
        )
    return float(value)


def _name(part: object) -> str:
    return (
        getattr(part, "expression", None) or getattr(part, "__name__", None) or type(part).__name__
    )
