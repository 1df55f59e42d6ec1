"""Ask a decision model: all questions about a row go into one request, and each answer is a vote.

The first ballot of a row sends the request. The other ballots find their votes in memory while they
are asked at the same time, and in the ledger afterwards.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypedDict
from weakref import WeakKeyDictionary

from adjudge.core.domain.decision import (
    DecisionAnswer,
    DecisionQuestion,
    DecisionRequest,
    answers_in,
)
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import DecisionLimits, Reply, Request, Usage
from adjudge.core.domain.vote import DECIDED, PAID_WITH, Ballot, Outcome, Vote
from adjudge.core.engine.likelihood import likeliest_verdict
from adjudge.core.engine.session import session
from adjudge.core.gateway.model import Model
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.prompts.decisions import (
    chunks,
    decision_prompt,
    has_order,
    labels_of,
    question_of_ballot,
    shares_state,
    state_of,
    state_text,
)
from adjudge.errors import HALTS, ModelError, Refused, SetupError
from adjudge.messages import Message


class _VoteFields(TypedDict, total=False):
    """Fields of a vote."""

    text: str
    prompt_hash: str
    latency: float
    usage: Usage
    metadata: FrozenDict[JsonValue]
    answered_by: str
    answered_before: str
    distribution: FrozenDict[float]


Member = tuple[Ballot, DecisionQuestion]
Complete = Callable[[Request, Model, Ballot], Awaitable[Reply]]


@light_dataclass(frozen=True)
class _Group:
    """The questions of one request."""

    asker: Ballot
    """The ballot whose vote has the usage."""
    ballots: tuple[Ballot, ...]
    questions: tuple[DecisionQuestion, ...]
    request: Request
    state: str
    """The state as JSON."""


# Model → ballot id → the task that asks it. A task stays until each of its ballots was asked for,
# unless a ledger has their votes.
_under_way: WeakKeyDictionary[Model, dict[str, asyncio.Task[dict[str, Vote]]]] = WeakKeyDictionary()


async def decide(ballot: Ballot, model: Model, complete: Complete) -> Vote:
    """Return the vote on a ballot, asked together with the other questions about its row."""
    tasks = _under_way.setdefault(model, {})
    task = tasks.get(ballot.id)
    has_failed = task and task.done() and (task.cancelled() or task.exception() is not None)
    if task is None or has_failed:
        group = _group_for(ballot, model, tasks)
        task = asyncio.create_task(_collect_votes(group, model, complete))
        tasks |= dict.fromkeys((member.id for member in group.ballots), task)
    try:
        vote = (await asyncio.shield(task))[ballot.id]
    finally:
        if task.done() and tasks.get(ballot.id) is task:
            del tasks[ballot.id]
    # A run has stored this vote already, together with the others of the request.
    if partial := session().partial:
        partial.is_kept = True
        for ballot_id in [id for id, member_task in tasks.items() if member_task is task]:
            del tasks[ballot_id]  # the ledger has their votes
    return vote


def decision_request(members: Sequence[Member]) -> Request:
    """Return the request that asks these questions about one row together."""
    return _make_group(members, members[0][0]).request


def member_of(ballot: Ballot) -> Member:
    """Return the ballot with its question; raise a SetupError if it has none."""
    return ballot, question_of_ballot(ballot)


def _group_for(
    ballot: Ballot, model: Model, tasks: Mapping[str, asyncio.Task[dict[str, Vote]]]
) -> _Group:
    """Return the group of the ballot and the other unanswered questions about its row that fit into
    its request.
    """
    now = session()

    def without_vote(ballots: Sequence[Ballot]) -> list[Ballot]:
        open_ballots = [candidate for candidate in ballots if candidate.id not in tasks]
        stored_votes = now.votes.recall(open_ballots) if now.votes else [None] * len(open_ballots)
        pairs = zip(open_ballots, stored_votes, strict=True)
        return [candidate for candidate, vote in pairs if vote is None]

    limits = model.capabilities.decisions or DecisionLimits()
    return _make_group(asked_together(ballot, now.siblings, limits, without_vote), ballot)


def asked_together(
    ballot: Ballot,
    siblings: Sequence[Ballot],
    limits: DecisionLimits,
    without_vote: Callable[[Sequence[Ballot]], Sequence[Ballot]],
) -> Sequence[Member]:
    """Return the questions that are asked in one request with ``ballot``, which is one of them.

    ``siblings``: the ballots of the same item. ``without_vote`` selects those that are not asked
    yet.
    """
    state = state_of(ballot)
    companions = (companion(ballot) for companion in session().companions)
    candidates = (
        *siblings,
        *(companion_ballot for companion_ballot in companions if companion_ballot is not None),
    )
    others_by_id = {
        candidate.id: candidate for candidate in candidates if _belongs(candidate, ballot, state)
    }
    others_by_id.pop(ballot.id, None)
    new = without_vote(list(others_by_id.values()))
    asker = member_of(ballot)
    parts = chunks([asker, *map(member_of, new)], state, limits)
    return next(part for part in parts if any(member is ballot for member, _ in part))


def _belongs(other: Ballot, ballot: Ballot, state: JsonDict) -> bool:
    """Return True if both can be asked in one request."""
    return (
        other.mode == "decide"
        and (other.model, other.sample, other.language)
        == (ballot.model, ballot.sample, ballot.language)
        and shares_state(other, ballot, state)
    )


def _make_group(members: Sequence[Member], asker: Ballot) -> _Group:
    ballots, questions = zip(*members, strict=True)
    distinct = {question.name: question for question in questions}
    decision = DecisionRequest(state_of(ballots[0]), tuple(distinct.values()))
    state = state_text(decision.state)
    prompt = decision_prompt(state, decision.questions)
    request = Request(prompt, sample=ballots[0].sample, decision=decision)
    return _Group(asker, ballots, questions, request, state)


async def _collect_votes(group: _Group, model: Model, complete: Complete) -> dict[str, Vote]:
    """Ask, and store all votes in one commit if a run keeps them."""
    votes = await _cast(group, model, complete)
    if (source := session().votes) and session().partial:
        await source.keep_group(votes)
    return {vote.ballot.id: vote for vote in votes}


async def _cast(group: _Group, model: Model, complete: Complete) -> list[Vote]:
    try:
        reply = await complete(group.request, model, group.ballots[0])
    except HALTS:
        raise
    except ModelError as error:
        if error.is_too_large and len(group.ballots) > 1:
            return await _ask_in_halves(group, model, complete)
        return [_failure_vote(ballot, error) for ballot in group.ballots]
    return _read_votes(group, reply, model)


async def _ask_in_halves(group: _Group, model: Model, complete: Complete) -> list[Vote]:
    """Ask again in two requests, since the server accepts less per request than was assumed."""
    members = [*zip(group.ballots, group.questions, strict=True)]
    middle = len(members) // 2
    votes: list[Vote] = []
    for part in (members[:middle], members[middle:]):
        ballots = [ballot for ballot, _ in part]
        half = _make_group(part, group.asker if group.asker in ballots else ballots[0])
        try:
            votes += _read_votes(half, await complete(half.request, model, half.ballots[0]), model)
        except HALTS:
            raise
        except ModelError as error:
            votes += [_failure_vote(ballot, error) for ballot in half.ballots]
    return votes


def _failure_vote(ballot: Ballot, error: ModelError) -> Vote:
    outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.MODEL_ERROR
    return Vote(ballot=ballot, outcome=outcome, reason=str(error))


def _read_votes(group: _Group, reply: Reply, model: Model) -> list[Vote]:
    """Return one vote per ballot; the asker's vote has the usage of the request."""
    decision = group.request.decision
    if decision is None:
        raise ValueError("a group without a decision request")
    answers = _answers(reply, len(decision.questions))
    by_name = {
        question.name: answer for question, answer in zip(decision.questions, answers, strict=True)
    }
    size = len(group.ballots)
    metadata: JsonDict = {DECIDED: True}
    if size > 1:
        metadata |= {"questions": size, "request": group.request.key[:16]}
    paid = {PAID_WITH: True} if size > 1 and reply.usage.calls else {}
    common: _VoteFields = {
        "latency": reply.latency,
        "metadata": FrozenDict({**metadata, **paid}),
        "answered_by": reply.details.get("model", ""),
        "answered_before": model.earlier_name(reply) if isinstance(model, OpenModel) else "",
    }
    asker_fields: _VoteFields = {
        **common,
        "metadata": FrozenDict(metadata),
        "usage": reply.usage,
    }
    votes = [
        _vote(
            ballot,
            by_name[question.name],
            {
                **(asker_fields if ballot is group.asker else common),
                "prompt_hash": decision_prompt(group.state, [question]).hash,
            },
        )
        for ballot, question in zip(group.ballots, group.questions, strict=True)
    ]
    if isinstance(model, OpenModel) and not all(vote.valid for vote in votes):
        model.forget(group.request)
    return votes


def _answers(reply: Reply, count: int) -> Sequence[DecisionAnswer]:
    try:
        answers = answers_in(reply.text)
    except (ValueError, TypeError, KeyError):
        answers = ()
    if len(answers) == count:
        return answers
    return [DecisionAnswer(reason=Message("the reply does not answer these questions"))] * count


def _vote(ballot: Ballot, answer: DecisionAnswer, fields: _VoteFields) -> Vote:
    fields = {**fields, "text": json.dumps(answer.to_dict(), ensure_ascii=False)}
    if answer.probabilities is None:
        outcome = Outcome.REFUSED if answer.refused else Outcome.UNREADABLE
        return Vote(ballot=ballot, outcome=outcome, reason=answer.reason, **fields)
    labels = labels_of(ballot)
    if len(labels) != len(answer.probabilities):
        reason = Message("the number of options in the reply differs from the question")
        return Vote(ballot=ballot, outcome=Outcome.UNREADABLE, reason=reason, **fields)
    shares = dict(zip(labels, answer.probabilities, strict=True))
    fields["distribution"] = FrozenDict(
        {ballot.question.put_back(label).option: share for label, share in shares.items()}
    )
    if not answer.accepted:
        reason = Message("the server gave probabilities, but marked its own answer as not accepted")
        return Vote(ballot=ballot, outcome=Outcome.ABSTAINED, reason=reason, **fields)
    verdict = likeliest_verdict(ballot, shares)
    if verdict is None:
        share = max(shares.values())
        reason = Message("several options are equally likely (p = {share:.2f})", share=share)
        return Vote(
            ballot=ballot, outcome=Outcome.ABSTAINED, reason=reason, low_confidence=True, **fields
        )
    return Vote(ballot=ballot, outcome=Outcome.OK, verdict=verdict, **fields)


def check_decides(ballots: Sequence[Ballot], *, turned: bool = False) -> None:
    """Raise a SetupError if a decision model cannot be asked one of the ballots.

    ``turned``: the options are to be asked about in another order, too.
    """
    for ballot in ballots:
        if ballot.mode != "decide":
            raise SetupError(
                "{model} is a decision model, which generates no text, so it cannot answer "
                "{name!r}",
                model=ballot.model,
                name=ballot.criteria.name,
            )
        question_of_ballot(ballot)
        if turned and not has_order(ballot):
            raise SetupError(
                "{model} asks {name!r} as a yes-or-no question or a scale, whose options cannot "
                "be reordered: leave out check_positional_bias (both_orders)",
                name=ballot.criteria.name,
                model=ballot.model,
            )
