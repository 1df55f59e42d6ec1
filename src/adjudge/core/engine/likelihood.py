"""Vote by log-probability: compare the probabilities of the options.

The model generates no text, so no reply can be unreadable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.frozen_mapping import FrozenDict, content_hash
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import LogprobCalibration, Prompt, Reply, Request, Usage
from adjudge.core.domain.question import Comparison
from adjudge.core.domain.verdict import TIE, Chosen, Verdict
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.gateway.model import Model
from adjudge.core.prompts.renderer import neutral_instances, render_likelihood, shown_fields
from adjudge.core.verdicts.likelihood import (
    AS_READ,
    Labels,
    distribution,
    label_logprobs,
    labels_for,
    mean_logprobs,
)
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.stats.rounding import equal

# Alternatives per token to request: the maximum at OpenAI.
_ALTERNATIVES = 20


@light_dataclass(frozen=True)
class Read:
    """The options' log-probabilities as read from the replies to one question, and the usage for
    reading them.
    """

    logprobs: Mapping[str, float] | None
    usage: Usage
    latency: float
    prompt_hash: str
    """Hash of the first prompt, if letters are read in both orders."""


def combine_readings(
    asked: Sequence[tuple[Labels, Request]], replies: Sequence[Reply], model: Model
) -> Read:
    """Return the options' log-probabilities, averaged over both orders of letters.

    Raise a SetupError if the model reports no log-probabilities.
    """
    label_readings = [
        label_logprobs(_first_token(reply, model), labels)
        for reply, (labels, _) in zip(replies, asked, strict=True)
    ]
    readings = [reading for reading in label_readings if reading is not None]
    return Read(
        # Small models favour the first letter, so both orders are needed.
        logprobs=mean_logprobs(readings) if len(readings) == len(asked) else None,
        usage=sum((reply.usage for reply in replies), Usage()),
        latency=sum(reply.latency for reply in replies),
        prompt_hash=asked[0][1].prompt.hash,
    )


def takes_prior(ballot: Ballot, model: Model) -> bool:
    """Return True if the prior, the model's answer to neutral texts, is to be taken out."""
    return model.capabilities.exact_logprobs and _calibration(ballot, model).prior_weight > 0


def likelihood_vote(
    ballot: Ballot, read: Read, prior: Mapping[str, float] | None, model: Model
) -> Vote:
    """Return a vote for the likeliest option, with the probability of each.

    It is unreadable if no label was among the likeliest tokens, and abstained if equally likely
    options leave no verdict.
    """
    if read.logprobs is None:
        reason = Message("none of the labels was among the most likely tokens")
        return Vote(
            ballot=ballot,
            outcome=Outcome.UNREADABLE,
            reason=reason,
            usage=read.usage,
            latency=read.latency,
        )
    calibration = _calibration(ballot, model)
    shares = distribution(read.logprobs, prior, calibration)
    verdict = likeliest_verdict(ballot, shares)
    tie = Message(
        "several options are equally likely (p = {share:.2f})", share=max(shares.values())
    )
    return Vote(
        ballot=ballot,
        outcome=Outcome.OK if verdict else Outcome.ABSTAINED,
        verdict=verdict,
        reason=None if verdict else tie,
        # The text keeps the values as read, before the prior was taken out.
        text=json.dumps(
            {"logprobs": {option: round(value, 6) for option, value in read.logprobs.items()}}
        ),
        usage=read.usage,
        latency=read.latency,
        prompt_hash=read.prompt_hash,
        low_confidence=verdict is None or max(shares.values()) < calibration.threshold,
        distribution=FrozenDict(
            {ballot.question.put_back(option).option: share for option, share in shares.items()}
        ),
    )


def _calibration(ballot: Ballot, model: Model) -> LogprobCalibration:
    return model.capabilities.calibration.get(_orders(ballot)[0].kind, AS_READ)


def likeliest_verdict(ballot: Ballot, shares: Mapping[str, float]) -> Verdict | None:
    """Return the likeliest option; for compared responses also their order by likelihood.

    Equally likely options are a tie if the question offers one, and no verdict otherwise: the order
    of the options must not decide.
    """
    likeliest = max(shares.values())
    is_tie = sum(equal(share, likeliest) for share in shares.values()) > 1
    order = sorted(shares, key=lambda name: -shares[name])
    if not isinstance(ballot.question, Comparison):
        return None if is_tie else Chosen(order[0])
    if is_tie and not ballot.question.tie:
        return None
    best_first = [TIE, *(label for label in order if label != TIE)] if is_tie else order
    return ballot.question.best_first(best_first)


def likelihood_prompt(ballot: Ballot) -> Prompt:
    """Return the prompt that the model is shown first."""
    return likelihood_requests(ballot)[0][1].prompt


def likelihood_requests(ballot: Ballot) -> list[tuple[Labels, Request]]:
    """Return the requests of a vote, one for each order of the options that is read."""
    return [(labels, _request(ballot, labels)) for labels in _orders(ballot)]


def _orders(ballot: Ballot) -> Sequence[Labels]:
    labels = labels_for(ballot.question)
    if labels.fixes_order:
        return [labels]
    return [labels, replace(labels, options=labels.options[::-1])]


def _request(ballot: Ballot, labels: Labels) -> Request:
    prompt = render_likelihood(
        ballot, labels.kind, list(zip(labels.tokens, labels.options, strict=True))
    )
    return Request(
        prompt,
        temperature=0.0,
        max_tokens=1,
        logprobs=_ALTERNATIVES,
        labels=labels.tokens,
        sample=ballot.sample,
    )


def _first_token(reply: Reply, model: Model) -> Mapping[str, float]:
    if not reply.logprobs:
        raise SetupError(
            "{name} gives no log-probabilities: use mode='generate' with it", name=model.name
        )
    return reply.logprobs[0]


# -- the prior ---------------------------------------------------------------


def prior_key(ballot: Ballot) -> str:
    """Return a key that is equal for ballots with the same prior."""
    return content_hash(
        ballot.criteria, ballot.language, ballot.persona, _fields(ballot), ballot.question
    )


def neutral_ballots(ballot: Ballot) -> list[Ballot]:
    """Return the ballots that ask the question about texts without content."""
    question, compared_field = ballot.question, None
    if isinstance(question, Comparison):
        question, compared_field = (
            question.in_listed_order(),
            (ballot.criteria.to_evaluate_field, len(question.order)),
        )
    instances = neutral_instances(ballot.language, _fields(ballot), compared_field)
    return [replace(ballot, instance=instance, question=question) for instance in instances]


def load_prior(
    ballot: Ballot, neutral: Sequence[Ballot], model: Model
) -> Mapping[str, float] | None:
    """Return the stored prior of an earlier process or of the package, if there is one."""
    priors = model.capabilities.priors
    if priors is None:
        return None
    return priors.read(_prior_store_key(neutral, priors.weights), _orders(ballot)[0].options)


def prior_of(reads: Sequence[Read], neutral: Sequence[Ballot], model: Model) -> Mapping[str, float]:
    """Return the prior from the answers about neutral texts, and store it for the next process."""
    prior = mean_logprobs([read.logprobs for read in reads if read.logprobs is not None])
    if priors := model.capabilities.priors:
        priors.keep(_prior_store_key(neutral, priors.weights), prior)
    return prior


def _prior_store_key(neutral: Sequence[Ballot], weights: str) -> str:
    """Return the key of a stored prior: it changes with the weights and with everything shown."""
    return content_hash(
        weights,
        [
            [request.key for _, request in likelihood_requests(neutral_ballot)]
            for neutral_ballot in neutral
        ],
    )


def _fields(ballot: Ballot) -> tuple[str, ...]:
    return tuple(shown_fields(ballot.criteria, ballot.instance))
