"""Texts that models write, such as candidates or answers of a model as a tool. A run keeps them
like votes.
"""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.aio import event_loop
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Request
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import write
from adjudge.core.engine.run import Asker, vote_source
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.ledger.key import key_of

_ANY_TEXT = Choice(())
_TEXT = Criteria("text", "What is to be written?")
_TEMPLATE = "custom"


async def written(model: OpenModel, request: Request) -> Vote:
    """Return the text as a vote, with a reason if it was cut off or refused; raise the ModelError
    if the model fails.
    """
    asker = Asker(
        label=type(model).__name__,
        ask=lambda ballot: write(ballot, model, request),
        key=lambda ballot, wordings: writing_key(model, ballot, wordings),
        at_once={},
    )
    return await event_loop.visit(_answer(asker, writing_ballot(model, request)))


def writing_ballot(model: OpenModel, request: Request) -> Ballot:
    """Return the ballot for a text, which holds the whole conversation and the sampling
    settings.
    """
    turns = {
        f"{number} {turn.role}": turn.content
        for number, turn in enumerate(request.prompt.messages, 1)
    }
    return Ballot(
        criteria=_TEXT,
        instance=Instance(turns),
        question=_ANY_TEXT,
        template=_TEMPLATE,
        model=model.name,
        sample=request.sample,
        temperature=request.temperature or 0.0,
        seed=request.seed,
    )


def writing_key(model: OpenModel, ballot: Ballot, wordings: Mapping[str, str]) -> bytes:
    """Return the key of the text in a ledger."""
    return key_of(ballot, model.identity, wordings)


async def _answer(asker: Asker, ballot: Ballot) -> Vote:
    async with vote_source(asker, None, None) as answers:
        (stored,) = answers.recall([ballot])
        return stored or await answers.answer(ballot)
