"""One ballot → one vote by log-probability: the offered options are compared, nothing is written, nothing can be unreadable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from adjudge.domain.frozen import FrozenDict, content_hash
from adjudge.domain.light import light_dataclass
from adjudge.domain.message import Prompt, Reply, Request, Usage
from adjudge.domain.question import Comparison
from adjudge.domain.verdict import Chosen, Verdict
from adjudge.domain.vote import Ballot, Outcome, Vote
from adjudge.engine.calls import complete
from adjudge.errors import SetupError
from adjudge.gateway.model import Model
from adjudge.local.priors import keep_prior, kept_prior
from adjudge.pooling.majority import winner
from adjudge.prompts.render import neutral_instances, render_likelihood, shown_fields
from adjudge.verdicts.likelihood import (
    AS_READ,
    Labels,
    distribution,
    label_logprobs,
    labels_for,
    mean_logprobs,
)

_ALTERNATIVES = 20
"""How many tokens servers are asked to report; the most that OpenAI gives."""


@light_dataclass(frozen=True)
class _Read:
    """Log-probability of each option, or None where no label was among the alternatives."""

    logprobs: Mapping[str, float] | None
    usage: Usage
    latency: float
    prompt_hash: str
    """Of the first prompt, where letters are read in both orders."""


async def ask_likelihood(ballot: Ballot, model: Model) -> Vote:
    """The more likely option, with the probability of each; the vote's text keeps what was read before the prior went out.

    Raises SetupError when the model reports no log-probabilities.
    """
    read = await _read(ballot, model)
    if read.logprobs is None:
        reason = "none of the labels was among the likeliest tokens"
        return Vote(ballot=ballot, outcome=Outcome.UNREADABLE, reason=reason, usage=read.usage, latency=read.latency)
    calibration = model.capabilities.calibration.get(_orders(ballot)[0].kind, AS_READ)
    wanted = model.capabilities.exact_logprobs and calibration.prior_weight > 0
    shares = distribution(read.logprobs, await _prior(ballot, model) if wanted else None, calibration)
    return Vote(
        ballot=ballot,
        outcome=Outcome.OK,
        verdict=_verdict(ballot, shares),
        text=json.dumps({"logprobs": {option: round(value, 6) for option, value in read.logprobs.items()}}),
        usage=read.usage,
        latency=read.latency,
        prompt_hash=read.prompt_hash,
        low_confidence=max(shares.values()) < calibration.threshold,
        distribution=FrozenDict({ballot.question.put_back(option).option: share for option, share in shares.items()}),
    )


async def _read(ballot: Ballot, model: Model) -> _Read:
    """The options' log-probabilities; letters are read in both orders and averaged, since small models favour the first."""
    asked = likelihood_requests(ballot)
    replies = await asyncio.gather(*(complete(request, model, ballot) for _, request in asked))
    found = [label_logprobs(_first_token(reply, model), labels) for reply, (labels, _) in zip(replies, asked, strict=True)]
    readings = [reading for reading in found if reading is not None]
    return _Read(
        logprobs=mean_logprobs(readings) if len(readings) == len(asked) else None,
        usage=sum((reply.usage for reply in replies), Usage()),
        latency=sum(reply.latency for reply in replies),
        prompt_hash=asked[0][1].prompt.hash,
    )


def _verdict(ballot: Ballot, shares: Mapping[str, float]) -> Verdict:
    """The likeliest option; of compared responses also their order by likelihood."""
    if isinstance(ballot.question, Comparison):
        return ballot.question.best_first(sorted(shares, key=lambda label: -shares[label]))
    return Chosen(winner(shares, ballot.criteria))


def likelihood_prompt(ballot: Ballot) -> Prompt:
    """What the model is shown."""
    return likelihood_requests(ballot)[0][1].prompt


def likelihood_requests(ballot: Ballot) -> list[tuple[Labels, Request]]:
    """What is asked for a vote, once for each order of the options that is read."""
    return [(labels, _request(ballot, labels)) for labels in _orders(ballot)]


def _orders(ballot: Ballot) -> Sequence[Labels]:
    labels = labels_for(ballot.question)
    if labels.own:
        return [labels]
    return [labels, replace(labels, options=labels.options[::-1])]


def _request(ballot: Ballot, labels: Labels) -> Request:
    prompt = render_likelihood(ballot, labels.kind, list(zip(labels.tokens, labels.options, strict=True)))
    return Request(prompt, temperature=0.0, max_tokens=1, logprobs=_ALTERNATIVES, labels=labels.tokens, sample=ballot.sample)


def _first_token(reply: Reply, model: Model) -> Mapping[str, float]:
    if not reply.logprobs:
        raise SetupError(f"{model.name} gives no log-probabilities: use mode='generate' with it")
    return reply.logprobs[0]


# -- the prior ---------------------------------------------------------------

_priors: WeakKeyDictionary[Model, dict[str, asyncio.Task[Mapping[str, float]]]] = WeakKeyDictionary()


async def _prior(ballot: Ballot, model: Model) -> Mapping[str, float]:
    """What the model says of neutral texts under these criteria: asked once, then the same for every instance."""
    fields = tuple(shown_fields(ballot.criteria, ballot.instance))
    key = content_hash(ballot.criteria, ballot.language, ballot.persona, fields, ballot.question)
    known = _priors.setdefault(model, {})
    if key not in known or _broken(known[key]):
        known[key] = asyncio.create_task(_estimate(ballot, model, fields))
    return await asyncio.shield(known[key])


async def _estimate(ballot: Ballot, model: Model, fields: tuple[str, ...]) -> Mapping[str, float]:
    question, compared = ballot.question, None
    if isinstance(question, Comparison):
        question, compared = question.listed(), (ballot.criteria.to_evaluate_field, len(question.order))
    instances = neutral_instances(ballot.language, fields, compared)
    neutral = [replace(ballot, instance=instance, question=question) for instance in instances]
    key = _kept_under(neutral, model)
    kept = kept_prior(key, _orders(ballot)[0].options) if key else None
    if kept is not None:
        return kept
    reads = await asyncio.gather(*(_read(one, model) for one in neutral))
    prior = mean_logprobs([read.logprobs for read in reads if read.logprobs is not None])
    if key:
        keep_prior(key, prior)
    return prior


def _kept_under(neutral: Sequence[Ballot], model: Model) -> str:
    """Changes with the weights and with everything that is shown; empty where priors are not kept."""
    weights = model.capabilities.priors_kept_as
    return content_hash(weights, [[request.key for _, request in likelihood_requests(one)] for one in neutral]) if weights else ""


def _broken(task: asyncio.Task[Mapping[str, float]]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
