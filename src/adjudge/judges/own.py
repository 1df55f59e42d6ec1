"""What a judge of one's own says of a case, as a vote: only what was offered counts; what it raises
is one failed vote.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from adjudge.domain.criteria import Criteria
from adjudge.domain.frozen import FrozenDict, json_copy
from adjudge.domain.instance import Instance, Metadata
from adjudge.domain.question import Comparison, Question
from adjudge.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result, Status
from adjudge.domain.verdict import Chosen, Compared, Verdict, best_of
from adjudge.domain.vote import Ballot, Outcome, Vote
from adjudge.engine.session import OpenedSession, session
from adjudge.errors import HALTS, ModelError, Refused
from adjudge.judges.batches import CaseBatches, Run, answers_of, gathered
from adjudge.messages import Message

_NO_VERDICT = Message("the judge gave no verdict")


@asynccontextmanager
async def in_batches(judge: object, run: Run, size: int) -> AsyncIterator[None]:
    """Hand the judge's cases to ``run`` many at once for as long as this holds."""
    async with gathered(run, size) as batches:
        with OpenedSession(replace(session(), judge=judge, work=batches)):
            yield


async def run_own_judge(
    judge: object, run: Run, ballot: Ballot, shown: Instance, criteria: Criteria
) -> Vote:
    """What ``run`` says of one case, as it is shown."""
    now = session()
    try:
        if now.judge is judge and isinstance(now.work, CaseBatches):
            said = await now.work.answer(shown, criteria)
        else:
            (said,) = await answers_of(run, [shown], [criteria])
        return _own_vote(ballot, said)
    except HALTS:
        raise
    except ModelError as error:
        outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.MODEL_ERROR
        return Vote(ballot=ballot, outcome=outcome, reason=str(error))
    # a judge of somebody's own: its failure is one failed vote
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return Vote(
            ballot=ballot, outcome=Outcome.MODEL_ERROR, reason=f"{type(error).__name__}: {error}"
        )


def _own_vote(ballot: Ballot, said: object) -> Vote:
    """What ``_run`` returned for one case, as a vote; only what was offered counts, and no stand-in
    of another judge.
    """
    if not isinstance(said, DirectInstanceResult | PairwiseInstanceResult):
        return _option_vote(ballot, said)
    chosen = said.selected_option if said.status is Status.SCORED and not said.fallback else None
    vote = _no_verdict(ballot, said) if chosen is None else _option_vote(ballot, chosen)
    _refuse_unstorable(said)
    verdict = vote.verdict and _with_details(
        replace(vote.verdict, explanation=said.explanation), said, ballot.question
    )
    return replace(vote, verdict=verdict, metadata=FrozenDict(said.metadata), usage=said.usage)


def _refuse_unstorable(said: DirectInstanceResult | PairwiseInstanceResult) -> None:
    """What no ledger could keep fails here, where it is one vote."""
    texts = {"explanation": said.explanation, "feedback": getattr(said, "feedback", None)}
    for name, text in texts.items():
        if not isinstance(text, str | None):
            raise TypeError(
                Message("{name} is {type}, not a text", name=name, type=type(text).__name__)
            )
    try:
        json_copy(said.metadata)
    except Exception as error:
        raise ValueError(
            Message("metadata cannot be written as JSON: {error}", error=error)
        ) from error


def _with_details(verdict: Verdict, said: Result, question: Question) -> Verdict:
    """What the judge said beside its verdict; a ranking only where it fits."""
    if isinstance(verdict, Chosen) and isinstance(said, DirectInstanceResult):
        return replace(verdict, feedback=said.feedback, score=_own_score(said.score))
    if (
        isinstance(verdict, Compared)
        and isinstance(said, PairwiseInstanceResult)
        and isinstance(question, Comparison)
    ):
        ranking = question.ranking_of(said.ranking)
        return replace(
            verdict, ranking=ranking if ranking and best_of(ranking) == verdict.winner else None
        )
    return verdict


def _no_verdict(ballot: Ballot, said: Result) -> Vote:
    outcome = Outcome.ABSTAINED if said.status is Status.ABSTAINED else Outcome.UNREADABLE
    reasons = [said.explanation, *(vote.reason for vote in said.votes)]
    return Vote(ballot=ballot, outcome=outcome, reason=next(filter(None, reasons), _NO_VERDICT))


def _option_vote(ballot: Ballot, option: object) -> Vote:
    """A vote for what was chosen, if it was offered."""
    if option is None:
        return Vote(ballot=ballot, outcome=Outcome.ABSTAINED, reason=_NO_VERDICT)
    verdict = ballot.question.chosen(option)
    if verdict is None:
        return Vote(
            ballot=ballot,
            outcome=Outcome.UNREADABLE,
            reason=Message(
                "{option!r} is not {choices}", option=option, choices=ballot.question.choices
            ),
        )
    return Vote(ballot=ballot, outcome=Outcome.OK, verdict=verdict)


def _own_score(score: float | None) -> float | None:
    if score is not None and not math.isfinite(score):
        raise ValueError(Message("the score {score} is not a number", score=score))
    return score if score is None else float(score)


def with_own_metadata(made: Metadata, votes: Sequence[Vote], option: object) -> Metadata:
    """The metadata ``made`` of a result, and what a judge of one's own returned along with
    ``option``.
    """
    own = [vote for vote in votes if vote.metadata]
    agreeing = [vote for vote in own if vote.verdict and vote.verdict.option == str(option)]
    return FrozenDict({**made, **(agreeing or own)[0].metadata}) if own else made
