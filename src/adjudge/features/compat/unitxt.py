"""The judges of the ``unitxt`` package (extra ``adjudge[unitxt]``): its prompts and steps, with our
models, votes and pooling.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import Metadata
from adjudge.core.domain.message import ChatMessage, Prompt, Reply, Usage
from adjudge.core.domain.question import Choice, Question
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen, Compared, Verdict
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.ask import ask_with
from adjudge.core.gateway.inference_engine import EngineLike, in_thread, message_of
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.judges.direct import BaseDirectJudge, Direct
from adjudge.core.judges.pairwise import BasePairwiseJudge, ContestSettings, Pairwise
from adjudge.core.judges.settings import Contests, ModelPanel, VoteSettings, alias
from adjudge.core.prompts.renderer import shown_fields
from adjudge.core.verdicts.reader import read
from adjudge.errors import HALTS, ModelError, SetupError
from adjudge.features.compat.unitxt_criteria import from_unitxt, to_unitxt
from adjudge.features.compat.unitxt_engine import GATE, unitxt_package
from adjudge.messages import Message

__all__ = ["UnitxtDirectJudge", "UnitxtPairwiseJudge", "UnitxtVote", "from_unitxt", "to_unitxt"]
# How unitxt has compared responses named.
_BOTH = Choice(("Response 1", "Response 2", "1", "2"))
# What makes unitxt take a judged text for a picture.
_IMAGE = re.compile(r"<(?=unitxt-img)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitxtVote(Vote):
    """A vote with the prompt that unitxt sent."""

    prompt: str | None = None


@dataclass(frozen=True, kw_only=True)
class _UnitxtSettings(VoteSettings):
    """Settings of a unitxt judge.

    Parameters:
        models: one model or a panel, each an engine of unitxt or any other model; None is the
            embedded model.
        inference_engine: EvalAssist's name of ``models``.
        language: of notes on the result; unitxt's prompts are English.
        max_repairs: has no effect: unitxt asks once.
    """

    models: EngineLike | Sequence[EngineLike] | None = field(
        default=None, kw_only=False, hash=False
    )
    inference_engine: EngineLike | Sequence[EngineLike] | None = alias("models")

    def prompt_of(self, votes: Sequence[Vote]) -> Metadata:
        """Return the prompt of the first vote that has one."""
        prompts = (vote.prompt for vote in votes if isinstance(vote, UnitxtVote) and vote.prompt)
        return FrozenDict({"prompt": text} if (text := next(prompts, None)) else {})


@BaseDirectJudge.register
@dataclass(frozen=True, kw_only=True)
class UnitxtDirectJudge(_UnitxtSettings, Direct):
    """unitxt's ``LLMJudgeDirect``: the model assesses the text, then chooses an option based on
    its assessment.
    """

    def open_models(self) -> ModelPanel:
        """Open the models."""
        return _open(self.models)

    async def ask(self, ballot: Ballot) -> Vote:
        """Request one judgment, which takes two model calls."""
        *context, judged_field = shown_fields(ballot.criteria, ballot.instance)
        criteria_in_order = replace(
            ballot.criteria, options=ballot.question.arrange(ballot.criteria.options)
        )
        text = _text(ballot.instance.fields[judged_field])
        case = _UnitxtCase(
            "LLMJudgeDirect",
            _unitxt_criteria(criteria_in_order, context, False),
            text,
            _values(ballot, context),
        )
        return await _judge(ballot, self.panel[ballot.model], self, case, ballot.question)


@BasePairwiseJudge.register
@dataclass(frozen=True, kw_only=True)
class UnitxtPairwiseJudge(ContestSettings, _UnitxtSettings, Pairwise):
    """unitxt's ``LLMJudgePairwise``: each pair of responses is a contest that offers no tie.

    Responses are equal if their contests are.

    Parameters:
        tie_enabled: whether the result is then a tie.
        contests: "pairs", since two responses are compared at a time.
    """

    contests: Contests = "pairs"

    def check_settings(self) -> None:
        """Raise a SetupError if the settings do not fit."""
        if self.contests == "joint":
            raise SetupError(
                "unitxt compares two responses at a time: contests='joint' is not supported; "
                "leave it out"
            )
        super().check_settings()

    def open_models(self) -> ModelPanel:
        """Open the models."""
        return _open(self.models)

    @property
    def offers_tie(self) -> bool:
        """Always False, because unitxt does not offer a tie."""
        return False

    async def ask(self, ballot: Ballot) -> Vote:
        """Request one contest, which takes two model calls."""
        name, order = ballot.criteria.to_evaluate_field, ballot.question.order or (0, 1)
        context = [
            field_name
            for field_name in shown_fields(ballot.criteria, ballot.instance)
            if field_name != name
        ]
        texts = [_text(ballot.instance.fields[name][place]) for place in order]
        case = _UnitxtCase(
            "LLMJudgePairwise",
            _unitxt_criteria(ballot.criteria, context, True),
            texts,
            _values(ballot, context),
        )
        vote = await _judge(ballot, self.panel[ballot.model], self, case, _BOTH)
        if vote.verdict is None:
            return vote
        better = order[int(vote.verdict.option[-1]) - 1]
        return replace(vote, verdict=Compared(better, vote.verdict.explanation))


def _open(engines: EngineLike | Sequence[EngineLike] | None) -> ModelPanel:
    unitxt_package()  # fail early if it is not installed
    return ModelPanel.of(engines)


def _unitxt_criteria(criteria: Criteria, context: Sequence[str], pairwise: bool) -> Any:
    """Convert the criteria for unitxt, without scores.

    Fields get neutral keys, because unitxt reads a name with a slash as a path.
    """
    kinds, fields = (
        unitxt_package().constants,
        {_text(name): f"field_{place}" for place, name in enumerate(context)},
    )
    described = _text(
        criteria.definition if pairwise else criteria.titled_definition
    )  # the name of compared criteria is shown beside it
    shared = {"description": described, "context_fields": fields}
    if pairwise:
        return kinds.Criteria(name=_text(criteria.name), **shared)
    options = [
        kinds.CriteriaOption(name=option.name, description=_text(option.description))
        for option in criteria.options
    ]
    criteria_name = (
        "judged"  # unitxt shows it to no model, but makes the names of its results of it
    )
    return kinds.CriteriaWithOptions(name=criteria_name, options=options, **shared)


def _values(ballot: Ballot, context: Sequence[str]) -> dict[str, str]:
    return {
        f"field_{place}": _text(ballot.instance.fields[name]) for place, name in enumerate(context)
    }


def _text(value: str | Sequence[str]) -> str:
    return _IMAGE.sub("< ", value if isinstance(value, str) else "\n".join(value))


# -- one ballot ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _UnitxtCase:
    """The arguments for one of unitxt's judges."""

    judge: str
    criteria: object
    prediction: str | list[str]
    context: Mapping[str, str]

    def run(self, call: _Call) -> _UnitxtResult:
        """Run unitxt's judge in this thread.

        Its check for positional bias is off, because our ballots do that.
        """
        package = unitxt_package()
        with GATE.inside(), package.settings.context(use_only_local_catalogs=True):
            call.check()
            engine = package.own_engine(use_cache=False)
            # the engine asks the model through the ballot's call
            engine.call = call
            kind = getattr(package.judges, self.judge)
            judge = kind(
                inference_engine=engine,
                criteria=self.criteria,
                check_positional_bias=False,
                context_fields=[],
            )
            (result,) = judge.compute(
                references=[[]], predictions=[self.prediction], task_data=[dict(self.context)]
            )
            return _read_result(result, judge.main_score, self.judge == "LLMJudgePairwise")


@dataclass(frozen=True, slots=True)
class _UnitxtResult:
    """The parts of unitxt's result that we use."""

    assessment: str
    completion: str
    selected: str
    """The option nearest to the completion, which is what unitxt goes by."""


def _read_result(result: Mapping[str, Any], name: str, pairwise: bool) -> _UnitxtResult:
    if pairwise:
        assessment, completion = result["1_assessments"][0], result["1_option_selection_outputs"][0]
        return _UnitxtResult(assessment, completion, result["1_selections"][0])
    completion = result[f"{name}_option_selection_completion"]
    return _UnitxtResult(
        result[f"{name}_assessment"], completion, result[f"{name}_selected_option"]
    )


@dataclass(slots=True)
class _Call:
    """The model calls for one ballot."""

    model: OpenModel
    ballot: Ballot
    """With the temperature and the seed to ask at."""
    loop: asyncio.AbstractEventLoop
    votes: list[Vote] = field(default_factory=list)
    prompt: Prompt | None = None
    failure: Exception | None = None
    """The error that ended it, unless that is a failed vote."""
    stopped: bool = False
    pending: Future[Vote] | None = None

    def answer(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the model's answer. unitxt's thread blocks until it arrives."""
        prompt = Prompt(
            tuple(ChatMessage(message["role"], message["content"]) for message in messages)
        )
        self.prompt = self.prompt or prompt
        try:
            self.check()
            self.pending = asyncio.run_coroutine_threadsafe(
                ask_with(self.ballot, self.model, prompt, _read_plainly), self.loop
            )
            self.votes.append(self.pending.result())
        # kept as it is, since unitxt rewrites the one it is passed
        except Exception as error:  # noqa: BLE001
            self.failure = error
            raise RuntimeError(Message("no answer: {error}", error=error)) from None
        if not self.votes[-1].valid:
            raise RuntimeError(Message("no answer: {reason}", reason=self.votes[-1].reason))
        return self.votes[-1].text or ""

    def check(self) -> None:
        """Raise a ModelError if the answer is no longer needed."""
        if self.stopped:
            raise ModelError("the result is no longer needed")

    def stop(self) -> None:
        """Cancel the call, because its answer is no longer needed."""
        self.stopped = True
        if self.pending is not None:
            self.pending.cancel()

    def vote(
        self,
        ballot: Ballot,
        outcome: Outcome,
        reason: str | None = None,
        verdict: Verdict | None = None,
    ) -> UnitxtVote:
        """Return a vote with the total cost of the calls."""
        return UnitxtVote(
            ballot=ballot,
            outcome=outcome,
            text=self.votes[-1].text if self.votes else None,
            usage=sum((vote.usage for vote in self.votes), Usage()),
            latency=sum(vote.latency for vote in self.votes),
            prompt=self.prompt.text if self.prompt else None,
            reason=reason,
            verdict=verdict,
        )


def _read_plainly(reply: Reply) -> Reading:
    """Return the model's text as it is, because unitxt interprets it."""
    if reply.finish == "refusal":
        return Reading(
            Outcome.REFUSED, reason=Message("the model refused: {text}", text=reply.text)
        )
    return Reading(Outcome.OK, Chosen(reply.text))


async def _judge(
    ballot: Ballot,
    model: OpenModel,
    judge: UnitxtDirectJudge | UnitxtPairwiseJudge,
    case: _UnitxtCase,
    question: Question,
) -> UnitxtVote:
    seed = model.seed_for(ballot.sample, judge.seed)
    ballot_with_settings = replace(ballot, temperature=judge.temperatures[ballot.model], seed=seed)
    call = _Call(model, ballot_with_settings, asyncio.get_running_loop())
    try:
        result = await in_thread(lambda: case.run(call))
    except asyncio.CancelledError:
        call.stop()
        raise
    # third-party code: its failure is one failed vote
    except Exception as error:  # noqa: BLE001
        return _failed_vote(ballot, call, error)
    return _read(ballot, call, result, question)


def _read(ballot: Ballot, call: _Call, result: _UnitxtResult, question: Question) -> UnitxtVote:
    """Read the option from the completion.

    unitxt takes the option nearest to the model's text. Here the model must have named one.
    """
    reading = read(Reply(result.completion), question)
    if reading.verdict is None:
        reason = Message(
            "{reason} (unitxt chooses the closest option: {selected})",
            reason=reading.reason,
            selected=result.selected,
        )
        return call.vote(ballot, reading.outcome, reason=reason)
    return call.vote(
        ballot,
        reading.outcome,
        verdict=replace(reading.verdict, explanation=result.assessment.strip() or None),
    )


def _failed_vote(ballot: Ballot, call: _Call, error: Exception) -> UnitxtVote:
    """Return a failed vote for an error of the model or of unitxt; raise errors that end the
    run.
    """
    if isinstance(call.failure, HALTS):
        raise call.failure
    if call.votes and not call.votes[-1].valid:
        return call.vote(ballot, call.votes[-1].outcome, reason=call.votes[-1].reason)
    cause = call.failure or error
    return call.vote(
        ballot, Outcome.MODEL_ERROR, reason=f"{type(cause).__name__}: {message_of(cause)}"
    )
