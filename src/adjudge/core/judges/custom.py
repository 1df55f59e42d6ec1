"""Judges of one's own: what ``_run`` says of a case is a vote. Only what was offered counts; what
it raises is one failed vote.
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
from adjudge.core.judges.batches import CaseBatches, answers_of, gathered
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
    """Asks no models: what ``_run`` says are the votes."""

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> object:
        """Judge each instance by the criteria at the same place; sync or async."""
        raise NotImplementedError(
            Message("{name} has to write _run(instances, criteria)", name=type(self).__name__)
        )

    @property
    def max_in_flight(self) -> int:
        """Cases under way at once."""
        return _BATCHES_AT_ONCE * self.batch_size

    # as in the base class
    def prompt_of(self, votes: Sequence[Vote]) -> Metadata:  # noqa: ARG002
        """Nothing, since no model was asked."""
        return NOTHING

    def recorded_settings(self) -> dict[str, object]:
        """The models that it names are settings like any other."""
        named = {name: getattr(self, name, None) for name in NAMES_OF_MODELS}
        return {
            **super().recorded_settings(),
            **{name: value for name, value in named.items() if isinstance(value, str)},
            ATTRIBUTES: attributes_at_start(self),
        }

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        """With other settings it is another judge: a fork must not take the one's word for the
        other's.
        """
        common = [
            ATTRIBUTES,
            *(
                entry.name
                for entry in fields(OwnSettings)
                if entry.name != "seed" or self.seed is None
            ),
        ]
        own = plain_settings(
            {name: value for name, value in self.recorded_settings().items() if name not in common}
        )
        if not own:
            return super().vote_keys()
        identity = content_hash(type(self).__name__, own)
        return lambda ballot, wordings: key_of(ballot, identity, wordings)

    async def ask(self, ballot: Ballot) -> Vote:
        """What ``_run`` says of one case, as it is shown."""
        shown, criteria = self.shown(ballot)
        now = session()
        try:
            if now.judge is self and isinstance(now.work, CaseBatches):
                said = await now.work.answer(shown, criteria)
            else:
                (said,) = await answers_of(self._run, [shown], [criteria])
            return _own_vote(ballot, said)
        except HALTS:
            raise
        except ModelError as error:
            outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.MODEL_ERROR
            return Vote(ballot=ballot, outcome=outcome, reason=str(error))
        # a judge of somebody's own: its failure is one failed vote
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return Vote(
                ballot=ballot,
                outcome=Outcome.MODEL_ERROR,
                reason=f"{type(error).__name__}: {error}",
            )

    async def _stream(self, items: Iterable[Case], wanted: StreamWanted[R]) -> None:
        """Its cases are handed to ``_run`` many at once."""
        attributes_at_start(self)
        async with gathered(self._run, self.batch_size) as batches:
            with OpenedSession(replace(session(), judge=self, work=batches)):
                await super()._stream(items, wanted)


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
