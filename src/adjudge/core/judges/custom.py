"""Base of custom judges: each answer of ``_run`` is a vote.

Only offered options count, and an exception is one failed vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Generic

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict, content_hash, json_copy
from adjudge.core.domain.instance import Instance, Metadata
from adjudge.core.domain.question import Comparison, Question
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result, Status
from adjudge.core.domain.verdict import Chosen, Compared, Verdict, best_of
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.session import OpenedSession, session
from adjudge.core.judges.attributes import attributes_at_start
from adjudge.core.judges.batches import CaseBatches, open_batches, run_cases
from adjudge.core.judges.case import Case, CaseJudge, M, R
from adjudge.core.judges.configuration import NAMES_OF_MODELS
from adjudge.core.judges.judge import StreamWanted
from adjudge.core.judges.settings import OwnSettings, plain_settings
from adjudge.core.ledger.changes import ATTRIBUTES
from adjudge.core.ledger.key import key_of
from adjudge.errors import HALTS, ModelError, Refused
from adjudge.messages import Message

_BATCHES_AT_ONCE = 8
_NO_VERDICT = Message("the judge gave no verdict")


class OwnJudge(CaseJudge[R, M], Generic[R, M]):
    """Asks no models: the answers of ``_run`` are the votes."""

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> object:
        """Judge each instance by the criterion at the same position; sync or async."""
        raise NotImplementedError(
            Message("{name} must define _run(instances, criteria)", name=type(self).__name__)
        )

    @property
    def max_in_flight(self) -> int:
        """Maximum number of concurrent cases."""
        return _BATCHES_AT_ONCE * self.batch_size

    # as in the base class
    def prompt_of(self, votes: Sequence[Vote]) -> Metadata:  # noqa: ARG002
        """Return nothing, since no model was asked."""
        return NOTHING

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings, including model names and other attributes."""
        model_names = {name: getattr(self, name, None) for name in NAMES_OF_MODELS}
        return {
            **super().recorded_settings(),
            **{name: value for name, value in model_names.items() if isinstance(value, str)},
            ATTRIBUTES: attributes_at_start(self),
        }

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        """Return the key function; custom settings, if there are any, are part of its keys."""
        # These do not change a single vote. A seed does, and the ballots do not contain it.
        common = [
            ATTRIBUTES,
            *(
                entry.name
                for entry in fields(OwnSettings)
                if entry.name != "seed" or self.seed is None
            ),
        ]
        # A judge with other settings is another judge: a fork must not reuse its votes.
        custom_settings = plain_settings(
            {name: value for name, value in self.recorded_settings().items() if name not in common}
        )
        if not custom_settings:
            return super().vote_keys()
        identity = content_hash(type(self).__name__, custom_settings)
        return lambda ballot, wordings: key_of(ballot, identity, wordings)

    async def ask(self, ballot: Ballot) -> Vote:
        """Return ``_run``'s vote on one case, shown in the ballot's order; an exception becomes a
        failed vote.
        """
        instance, criteria = self.arrange(ballot)
        now = session()
        try:
            if now.judge is self and isinstance(now.work, CaseBatches):
                answer = await now.work.answer(instance, criteria)
            else:
                (answer,) = await run_cases(self._run, [instance], [criteria])
            return _own_vote(ballot, answer)
        except HALTS:
            raise
        except ModelError as error:
            outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.MODEL_ERROR
            return Vote(ballot=ballot, outcome=outcome, reason=str(error))
        # A user's code may raise anything; that is one failed vote.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return Vote(
                ballot=ballot,
                outcome=Outcome.MODEL_ERROR,
                reason=f"{type(error).__name__}: {error}",
            )

    async def _stream(self, items: Iterable[Case], wanted: StreamWanted[R]) -> None:
        """Hand the cases to ``_run`` in batches."""
        attributes_at_start(self)
        async with open_batches(self._run, self.batch_size) as batches:
            with OpenedSession(replace(session(), judge=self, work=batches)):
                await super()._stream(items, wanted)


def _own_vote(ballot: Ballot, answer: object) -> Vote:
    """Turn ``_run``'s answer for one case into a vote, unreadable if it names an option that was
    not offered.
    """
    if not isinstance(answer, DirectInstanceResult | PairwiseInstanceResult):
        return _option_vote(ballot, answer)
    # A stand-in of another judge (its fallback) is not a verdict.
    option = (
        answer.selected_option if answer.status is Status.SCORED and not answer.fallback else None
    )
    vote = _no_verdict(ballot, answer) if option is None else _option_vote(ballot, option)
    _refuse_unstorable(answer)
    verdict = vote.verdict and _with_details(
        replace(vote.verdict, explanation=answer.explanation), answer, ballot.question
    )
    return replace(vote, verdict=verdict, metadata=FrozenDict(answer.metadata), usage=answer.usage)


def _refuse_unstorable(result: DirectInstanceResult | PairwiseInstanceResult) -> None:
    """Raise an error if a ledger could not store the result, so only this vote fails."""
    texts = {"explanation": result.explanation, "feedback": getattr(result, "feedback", None)}
    for name, text in texts.items():
        if not isinstance(text, str | None):
            raise TypeError(
                Message(
                    "{name} is of type {type}, not a string", name=name, type=type(text).__name__
                )
            )
    try:
        json_copy(result.metadata)
    except Exception as error:
        raise ValueError(
            Message("metadata cannot be written as JSON: {error}", error=error)
        ) from error


def _with_details(verdict: Verdict, result: Result, question: Question) -> Verdict:
    """Add a result's feedback and score to a chosen option, or its ranking to a comparison.

    Raise a ValueError if the score is not finite. A ranking that contradicts the winner is dropped.
    """
    if isinstance(verdict, Chosen) and isinstance(result, DirectInstanceResult):
        if result.score is not None and not math.isfinite(result.score):
            raise ValueError(Message("the score {score} is not a number", score=result.score))
        score = None if result.score is None else float(result.score)
        return replace(verdict, feedback=result.feedback, score=score)
    if (
        isinstance(verdict, Compared)
        and isinstance(result, PairwiseInstanceResult)
        and isinstance(question, Comparison)
    ):
        # A ranking that does not start with the winner contradicts the verdict.
        ranking = question.ranking_of(result.ranking)
        return replace(
            verdict, ranking=ranking if ranking and best_of(ranking) == verdict.winner else None
        )
    return verdict


def _no_verdict(ballot: Ballot, result: Result) -> Vote:
    outcome = Outcome.ABSTAINED if result.status is Status.ABSTAINED else Outcome.UNREADABLE
    reasons = [result.explanation, *(vote.reason for vote in result.votes)]
    return Vote(ballot=ballot, outcome=outcome, reason=next(filter(None, reasons), _NO_VERDICT))


def _option_vote(ballot: Ballot, option: object) -> Vote:
    """Return a vote for the option: abstained if it is None, unreadable if it was not offered."""
    if option is None:
        return Vote(ballot=ballot, outcome=Outcome.ABSTAINED, reason=_NO_VERDICT)
    verdict = ballot.question.match_returned(option)
    if verdict is None:
        return Vote(
            ballot=ballot,
            outcome=Outcome.UNREADABLE,
            reason=Message(
                "{option!r} is not {choices}", option=option, choices=ballot.question.choices
            ),
        )
    return Vote(ballot=ballot, outcome=Outcome.OK, verdict=verdict)
