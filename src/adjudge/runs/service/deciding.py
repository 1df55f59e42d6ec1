"""Typed questions about one state, answered with probabilities: by log-probability, or by judges
whose certainty was learned from labels.

Each question is read alone, so that neither its name nor its neighbours change its answer. With
``text_first`` the text is before the questions in the prompt, and they share it.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import fmean

from adjudge.core.aio import event_loop
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.decision import (
    DecisionAnswer,
    DecisionOption,
    DecisionQuestion,
    DecisionReply,
    DecisionRequest,
)
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.message import Usage
from adjudge.core.domain.options import yes_and_no
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import read_labels
from adjudge.core.engine.likelihood import likelihood_vote
from adjudge.core.gateway.decisions.format import InvalidRequest, likeliest
from adjudge.core.gateway.layers.budget import OpenBudget, calling
from adjudge.core.gateway.model import check_form
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.prompts.renderer import TEXT_FIRST
from adjudge.core.verdicts.likelihood import MOST_LETTERS
from adjudge.errors import SetupError
from adjudge.runs.service.known_questions import KnownQuestions

MOST_READINGS = 600
"""Readings that one request may take: one for a predicate or a score, two for a list of options."""
LONGEST = 200_000
"""Characters of a request's texts together."""
_GROUP = 16
"""Options that are compared at once if there are more than letters: 255 take 16 groups."""
_FIELD = "response"
_YES, _NO = "Yes", "No"
_SIDES = (CriteriaOption(_YES), CriteriaOption(_NO))
_WHICH = "Which option fits the text?"
_HOW_MUCH = "Which level fits the text?"


class TooManyQuestions(SetupError):
    """The request is too large to be answered in a reasonable time."""


@dataclass(frozen=True)
class Decided:
    """A reply, plus notes on each answer that the wire formats cannot express."""

    reply: DecisionReply
    notes: tuple[Mapping[str, JsonValue], ...]


@dataclass(frozen=True)
class _Answered:
    answer: DecisionAnswer
    usage: Usage
    is_low: bool = False
    """True if the likeliest option is less likely than the model's calibration asks for."""


@dataclass(frozen=True)
class DecisionService:
    """Answers questions with probabilities from ``models``, averaged if there are several."""

    models: Sequence[OpenModel]
    budget: OpenBudget
    language: str = "en"
    text_first: bool = False
    """True if the text is before the question in the prompt, so that all questions share it."""
    known: KnownQuestions = field(default_factory=KnownQuestions)
    """Questions that calibrated judges answer. If there are any, other questions are answered, but
    not accepted.
    """

    @property
    def name(self) -> str:
        """The name given as the source of the answers."""
        return " + ".join(self.known.names or [model.name for model in self.models])

    def decide(self, request: DecisionRequest) -> Decided:
        """Answer all questions. Raises an error if the request is invalid, too large, or the models
        lack log-probabilities.
        """
        _check(request)
        if not self.known:
            self._check_models()
        return event_loop.run(self._decide(request))

    def _check_models(self) -> None:
        for model in self.models:
            if not (model.capabilities.logprobs or model.capabilities.exact_logprobs):
                raise SetupError(
                    "{name} gives no log-probabilities, so typed questions cannot be answered: "
                    "start the server with another model",
                    name=model.name,
                )
            check_form(model, text_first=self.text_first)

    async def _decide(self, request: DecisionRequest) -> Decided:
        fields = fields_of(request.state)
        with calling(self.budget):
            answers = await asyncio.gather(
                *(self._answer(question, fields) for question in request.questions)
            )
        usage = sum((answered.usage for answered in answers), Usage())
        read = replace(
            usage, prompt_tokens=max(0, usage.prompt_tokens - usage.cached_tokens), cached_tokens=0
        )
        return Decided(
            DecisionReply(tuple(answered.answer for answered in answers), self.name, read),
            tuple({"low_confidence": True} if answered.is_low else {} for answered in answers),
        )

    async def _answer(self, question: DecisionQuestion, fields: Mapping[str, str]) -> _Answered:
        if judge := self.known.judge_of(question):
            answer, usage = await self.known.ask(judge, question, fields)
            return _Answered(answer, usage)
        read = await asyncio.gather(*(self._read(question, fields, model) for model in self.models))
        usage = sum((reading.usage for reading in read), Usage())
        shares = [reading.answer.probabilities for reading in read]
        if failed := [reading for reading in read if reading.answer.probabilities is None]:
            return replace(failed[0], usage=usage)
        mean = tuple(
            fmean(column) for column in zip(*(reading or () for reading in shares), strict=True)
        )
        answer = DecisionAnswer(mean, accepted=not self.known)
        return _Answered(answer, usage, any(reading.is_low for reading in read))

    # -- one question, one model --------------------------------------------------

    async def _read(
        self, question: DecisionQuestion, fields: Mapping[str, str], model: OpenModel
    ) -> _Answered:
        if question.kind == "predicate" or _is_yes_no(question):
            return await self._yes_or_no(question, fields, model)
        if question.kind == "choice" and len(question.options) > MOST_LETTERS:
            return await self._in_groups(question, fields, model)
        return await self._list(question, fields, model)

    async def _list(
        self, question: DecisionQuestion, fields: Mapping[str, str], model: OpenModel
    ) -> _Answered:
        """Read the probabilities of levels by number, and of options by letter."""
        names = (
            [str(level) for level in range(len(question.options))]
            if question.kind == "score"
            else [option.value for option in question.options]
        )
        vote = await self._vote(_criteria_of_list(question, names), fields, model)
        return _answer_of_vote(vote, [(vote.distribution or {}).get(name) for name in names])

    async def _yes_or_no(
        self, question: DecisionQuestion, fields: Mapping[str, str], model: OpenModel
    ) -> _Answered:
        vote = await self._vote(
            Criteria("question", _state_question(question), _SIDES), fields, model
        )
        shares = vote.distribution or {}
        both = {_yes_place(question): shares.get(_YES), 1 - _yes_place(question): shares.get(_NO)}
        return _answer_of_vote(vote, [both[0], both[1]])

    async def _in_groups(
        self, question: DecisionQuestion, fields: Mapping[str, str], model: OpenModel
    ) -> _Answered:
        """Answer a question with more options than letters, by comparing the likeliest option of
        each group.

        Within a group, options keep their ratio to the likeliest one.
        """
        groups = _groups(question.options)
        answers_by_group = await asyncio.gather(
            *(self._list(replace(question, options=group), fields, model) for group in groups)
        )
        if failed := [
            answered for answered in answers_by_group if answered.answer.probabilities is None
        ]:
            return replace(
                failed[0], usage=sum((answered.usage for answered in answers_by_group), Usage())
            )
        within = [answered.answer.probabilities or () for answered in answers_by_group]
        best = [group[likeliest(shares)] for group, shares in zip(groups, within, strict=True)]
        final = await self._list(replace(question, options=tuple(best)), fields, model)
        usage = sum((answered.usage for answered in answers_by_group), final.usage)
        between = final.answer.probabilities
        if between is None:
            return replace(final, usage=usage)
        weights = [
            weight * share / max(group_shares)
            for weight, group_shares in zip(between, within, strict=True)
            for share in group_shares
        ]
        total = math.fsum(weights)
        answer = DecisionAnswer(tuple(weight / total for weight in weights))
        return _Answered(answer, usage, is_low=True)

    async def _vote(self, criteria: Criteria, fields: Mapping[str, str], model: OpenModel) -> Vote:
        judged_field = _FIELD if _FIELD in fields else list(fields)[-1]
        criteria = replace(criteria, to_evaluate_field=judged_field)
        ballot = Ballot(
            criteria,
            Instance(fields),
            question_of(criteria),
            TEXT_FIRST if self.text_first else "direct",
            model.name,
            self.language,
            "likelihood",
        )
        return likelihood_vote(ballot, await read_labels(ballot, model), None, model)


def fields_of(state: JsonValue) -> dict[str, str]:
    """Return a state as texts: an object's values by name, anything else as a single text."""
    if isinstance(state, Mapping) and state and all(name.strip() for name in state):
        return {name: _text(value) for name, value in state.items()}
    return {_FIELD: _text(state)}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _check(request: DecisionRequest) -> None:
    """Raise InvalidRequest or TooManyQuestions if the questions cannot be asked."""
    length = len(json.dumps(request.to_dict(), ensure_ascii=False))
    if length > LONGEST:
        raise TooManyQuestions(
            "the texts have {length} characters together; at most {longest} are accepted",
            length=length,
            longest=LONGEST,
        )
    readings = 0
    for question in request.questions:
        place = ("questions", question.name)
        if question.kind == "predicate" and not _has_words(question):
            raise InvalidRequest(place, "A predicate needs instructions or criteria", "missing")
        if question.kind != "predicate" and any(
            not option.value.strip() and not option.description for option in question.options
        ):
            raise InvalidRequest(place, "An option needs a name or a description", "missing")
        readings += _readings(question)
    if readings > MOST_READINGS:
        raise TooManyQuestions(
            "the questions take {readings} readings, but a request may take {most}: split them "
            "into several requests",
            readings=readings,
            most=MOST_READINGS,
        )


def _groups(options: Sequence[DecisionOption]) -> list[tuple[DecisionOption, ...]]:
    """Split the options into groups of about equal size."""
    count = -(-len(options) // _GROUP)
    ends = [len(options) * place // count for place in range(count + 1)]
    return [tuple(options[start:end]) for start, end in pairwise(ends)]


def _readings(question: DecisionQuestion) -> int:
    """Return how many model calls an answer takes. Options are read in both orders."""
    count = len(question.options)
    if question.kind != "choice" or _is_yes_no(question):
        return 1
    return 2 if count <= MOST_LETTERS else 2 * (-(-count // _GROUP) + 1)


def _has_words(question: DecisionQuestion) -> bool:
    texts = [question.instructions, *(option.description for option in question.options)]
    return any(bool(text.strip() if isinstance(text, str) else text) for text in texts)


def _is_yes_no(question: DecisionQuestion) -> bool:
    return question.kind == "choice" and yes_and_no(question.values) is not None


def _yes_place(question: DecisionQuestion) -> int:
    """Return the position of the option that means yes."""
    both = None if question.kind == "predicate" else yes_and_no(question.values)
    return question.values.index(both[0]) if both else 0


def _state_question(question: DecisionQuestion) -> str:
    """Return a predicate's question with the meanings of Yes and No."""
    yes = _yes_place(question)
    sides = [
        f"{name}: {_text(question.options[place].description)}"
        for name, place in ((_YES, yes), (_NO, 1 - yes))
        if question.options[place].description is not None
    ]
    instructions = "" if question.instructions is None else _text(question.instructions).strip()
    return "\n".join([*([instructions] if instructions else []), *sides])


def _criteria_of_list(question: DecisionQuestion, names: Sequence[str]) -> Criteria:
    is_score = question.kind == "score"
    instructions = "" if question.instructions is None else _text(question.instructions).strip()
    options = [
        CriteriaOption(name, _level_line(option) if is_score else _about(option.description))
        for name, option in zip(names, question.options, strict=True)
    ]
    return Criteria("question", instructions or (_HOW_MUCH if is_score else _WHICH), tuple(options))


def _about(description: JsonValue) -> str:
    return "" if description is None else _text(description)


def _level_line(option: DecisionOption) -> str:
    """Return a level with its description on one line."""
    return ": ".join(part for part in (option.value, _about(option.description)) if part)


def _answer_of_vote(vote: Vote, shares: Sequence[float | None]) -> _Answered:
    known_shares = [share for share in shares if share is not None]
    if len(known_shares) < len(shares):
        return _Answered(DecisionAnswer(reason=vote.reason or ""), vote.usage)
    total = math.fsum(known_shares)
    probabilities = tuple(share / total for share in known_shares)
    return _Answered(DecisionAnswer(probabilities), vote.usage, vote.low_confidence)
