"""Turn one ballot into one vote: render, complete, read, repair. A failure is a vote, never an
exception.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict
from adjudge.core.domain.instance import Metadata
from adjudge.core.domain.message import Prompt, Reply, Request
from adjudge.core.domain.question import Schema
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.decide import decide, decision_request, member_of
from adjudge.core.engine.likelihood import (
    Read,
    combine_readings,
    likelihood_prompt,
    likelihood_requests,
    likelihood_vote,
    load_prior,
    neutral_ballots,
    prior_key,
    prior_of,
    takes_prior,
)
from adjudge.core.engine.session import Call, OnCall, session
from adjudge.core.gateway.model import Model, Replying, check_form
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.prompts.renderer import TEXT_FIRST, render, render_repair
from adjudge.core.prompts.target import asks_target, render_target
from adjudge.core.verdicts.reader import read_ballot, read_written
from adjudge.errors import HALTS, ModelError, Refused


def ask(ballot: Ballot, model: Model, max_repairs: int) -> Coroutine[object, object, Vote]:
    """Ask the model for a vote in the ballot's mode: as a decision, by log-probability or in
    writing.
    """
    if ballot.mode == "decide":
        return decide(ballot, model, _complete)
    if ballot.mode == "likelihood":
        return _ask_by_likelihood(ballot, model)
    return _ask_in_writing(ballot, model, max_repairs)


async def ask_with(
    ballot: Ballot, model: Model, prompt: Prompt, read: Callable[[Reply], Reading]
) -> Vote:
    """Ask one question with a custom prompt and reader. An unreadable reply is not asked for
    again.
    """
    return await _cast(ballot, model, _request(ballot, prompt, None), read)


async def write(ballot: Ballot, model: Model, request: Request) -> Vote:
    """Return a text as the model writes it; raise its error if it fails, since there are no other
    votes to pool.
    """
    reply = await _complete(request, model, ballot)
    return _vote(ballot, model, request, reply, read_written(reply))


def prompt_for(ballot: Ballot, wordings: Mapping[str, str] = NOTHING) -> Prompt:
    """Return the prompt of a ballot; the first one if its vote takes two requests.

    ``wordings``: the prompt wordings that its run began with.
    """
    if asks_target(ballot):
        return render_target(ballot)
    if ballot.mode == "decide":
        return decision_request([member_of(ballot)]).prompt
    return likelihood_prompt(ballot) if ballot.mode == "likelihood" else render(ballot, wordings)


def requests_for(ballot: Ballot) -> list[Request]:
    """Return the requests for a vote if nothing has to be repaired."""
    if ballot.mode == "decide":
        return [decision_request([member_of(ballot)])]
    if ballot.mode == "likelihood":
        return [request for _, request in likelihood_requests(ballot)]
    if asks_target(ballot):
        return [_request(ballot, render_target(ballot), None)]
    return [_request(ballot, render(ballot), ballot.question.schema(feedback=ballot.feedback))]


async def _ask_in_writing(ballot: Ballot, model: Model, max_repairs: int) -> Vote:
    """Ask in writing; ask again with the reason up to ``max_repairs`` times if the reply is
    unreadable.
    """
    read = partial(read_ballot, ballot=ballot)
    progress = session().partial
    wordings = progress.run.ledger.wordings if progress and progress.run else NOTHING
    prompt, schema = render(ballot, wordings), ballot.question.schema(feedback=ballot.feedback)
    vote = progress.vote if progress else None
    if vote is None:
        vote = await _cast(ballot, model, _request(ballot, prompt, schema), read)
    while vote.outcome is Outcome.UNREADABLE and vote.repairs < max_repairs:
        again = render_repair(ballot, prompt, vote.text or "", vote.reason or "")
        # The run keeps this vote if the repair is interrupted, and resumes from it.
        if progress:
            progress.vote = vote
        repaired = await _cast(ballot, model, _request(ballot, again, schema), read)
        if progress and repaired.outcome is not Outcome.MODEL_ERROR:
            progress.vote = None
        vote = _add_earlier_effort(vote, repaired)
    if vote.outcome is Outcome.UNREADABLE and ballot.question.quoted:
        return _drop_wrong_quotes(vote)
    return vote


def _drop_wrong_quotes(vote: Vote) -> Vote:
    """Return the last reply's verdict without its invented quotes, if it has one."""
    reading = read_ballot(Reply(vote.text or ""), vote.ballot, settle=True)
    return (
        replace(vote, outcome=Outcome.REPAIRED, verdict=reading.verdict, reason=None)
        if reading.verdict
        else vote
    )


async def _cast(
    ballot: Ballot, model: Model, request: Request, read: Callable[[Reply], Reading]
) -> Vote:
    """Return the vote, or the failure as a vote; an error that ends the run is raised."""
    try:
        reply = await _complete(request, model, ballot)
    except HALTS:
        raise  # the run ends here: no model was asked, so there is no failed vote
    except ModelError as error:
        return _failure_vote(ballot, error)
    return _vote(ballot, model, request, reply, read(reply))


def _vote(ballot: Ballot, model: Model, request: Request, reply: Reply, reading: Reading) -> Vote:
    if reading.outcome in (Outcome.UNREADABLE, Outcome.REFUSED) and isinstance(model, OpenModel):
        model.forget(request)
    return Vote(
        ballot=ballot,
        outcome=reading.outcome,
        verdict=reading.verdict,
        reason=reading.reason,
        text=reply.text,
        usage=reply.usage,
        latency=reply.latency,
        prompt_hash=request.prompt.hash,
        metadata=reading.beside,
        answered_by=reply.details.get("model", ""),
        fingerprint=reply.details.get("system_fingerprint", ""),
        answered_before=model.earlier_name(reply) if isinstance(model, OpenModel) else "",
    )


def _failure_vote(ballot: Ballot, error: ModelError) -> Vote:
    outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.MODEL_ERROR
    return Vote(ballot=ballot, outcome=outcome, reason=str(error))


def _request(ballot: Ballot, prompt: Prompt, schema: Schema | None) -> Request:
    return Request(
        prompt,
        schema=schema,
        temperature=ballot.temperature,
        seed=ballot.seed,
        sample=ballot.sample,
    )


def _add_earlier_effort(earlier: Vote, vote: Vote) -> Vote:
    """Return ``vote`` with the usage, time and repairs of the earlier replies added."""
    return replace(
        vote,
        outcome=Outcome.REPAIRED if vote.valid else vote.outcome,
        usage=earlier.usage + vote.usage,
        latency=earlier.latency + vote.latency,
        repairs=earlier.repairs + 1,
        metadata=_merge_metadata(earlier.metadata, vote.metadata),
    )


def _merge_metadata(earlier: Metadata, later: Metadata) -> Metadata:
    """Merge vote metadata, adding integer counters from earlier replies."""
    earlier_counts = {name: value for name, value in earlier.items() if isinstance(value, int)}
    new_counts = {name: value for name, value in later.items() if isinstance(value, int)}
    return (
        FrozenDict(
            {
                **later,
                **{
                    name: earlier_counts.get(name, 0) + new_counts.get(name, 0)
                    for name in {*earlier_counts, *new_counts}
                },
            }
        )
        if earlier_counts
        else later
    )


# -- by log-probability --------------------------------------------------------

_priors: WeakKeyDictionary[Model, dict[str, asyncio.Task[Mapping[str, float]]]] = (
    WeakKeyDictionary()
)


async def _ask_by_likelihood(ballot: Ballot, model: Model) -> Vote:
    try:
        read = await read_labels(ballot, model)
        takes = read.logprobs and takes_prior(ballot, model)
        prior = await _read_prior(ballot, model) if takes else None
    except HALTS:
        raise
    except ModelError as error:
        return _failure_vote(ballot, error)
    return likelihood_vote(ballot, read, prior, model)


async def read_labels(ballot: Ballot, model: Model) -> Read:
    """Return the options' log-probabilities; raise a ModelError if the model does not answer."""
    check_form(model, text_first=ballot.template == TEXT_FIRST)
    requests = likelihood_requests(ballot)
    replies = await asyncio.gather(*(_complete(request, model, ballot) for _, request in requests))
    return combine_readings(requests, replies, model)


async def _read_prior(ballot: Ballot, model: Model) -> Mapping[str, float]:
    """Return the model's answers to neutral texts under these criteria, asked once for all
    instances.
    """
    key, tasks = prior_key(ballot), _priors.setdefault(model, {})
    task = tasks.get(key)
    is_broken = task and task.done() and (task.cancelled() or task.exception() is not None)
    if task is None or is_broken:
        task = tasks[key] = asyncio.create_task(_estimate_prior(ballot, model))
    return await asyncio.shield(task)  # one caller's cancellation must not cancel the others


async def _estimate_prior(ballot: Ballot, model: Model) -> Mapping[str, float]:
    neutral = neutral_ballots(ballot)
    if (stored := load_prior(ballot, neutral, model)) is not None:
        return stored
    return prior_of(
        await asyncio.gather(*(read_labels(neutral_ballot, model) for neutral_ballot in neutral)),
        neutral,
        model,
    )


# -- the single place that calls a model, with its observer -------------------


def _complete(request: Request, model: Model, ballot: Ballot | None = None) -> Replying:
    """Send the request to the backend, if there is one, else to the model; report the call to the
    observer.
    """
    now = session()
    complete = partial(now.backend.complete, model=model) if now.backend else model.complete
    if now.on_call is None:
        return complete(request)
    return _tell(now.on_call, complete, request, model, ballot)


async def _tell(
    on_call: OnCall,
    complete: Callable[[Request], Replying],
    request: Request,
    model: Model,
    ballot: Ballot | None,
) -> Reply:
    started = time.time_ns()

    def tell(reply: Reply | None, error: ModelError | None = None) -> None:
        on_call(
            Call(
                model=model.name,
                request=request,
                ballot=ballot,
                started=started,
                ended=time.time_ns(),
                reply=reply,
                error=error,
            )
        )

    try:
        reply = await complete(request)
    except HALTS:
        raise  # no model was asked
    except ModelError as error:
        tell(None, error)
        raise
    if reply.usage.calls:
        tell(reply)
    return reply
