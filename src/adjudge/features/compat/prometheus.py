"""The formats that Prometheus models were trained on: absolute grading (1 to 5) and relative (A or
B), for any model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Generic

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import Metadata
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Prompt, Reply
from adjudge.core.domain.multi_results import (
    MultiCriteriaDirectInstanceResult,
    MultiCriteriaPairwiseInstanceResult,
)
from adjudge.core.domain.question import Choice, Comparison, Question, Rating
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult
from adjudge.core.domain.verdict import Chosen, Verdict
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.ask import ask_with
from adjudge.core.judges.case import Case, CaseJudge, M, PromptOf, R
from adjudge.core.judges.direct import BaseDirectJudge, Direct
from adjudge.core.judges.pairwise import BasePairwiseJudge, ContestSettings, Pairwise
from adjudge.core.judges.settings import Contests, ModelSettings
from adjudge.core.prompts.fence import neutral, unfenced
from adjudge.core.prompts.renderer import load, shown_fields
from adjudge.core.verdicts.reader import read
from adjudge.core.verdicts.thoughts import without_thoughts
from adjudge.errors import SetupError
from adjudge.messages import Message

_ABSOLUTE, _RELATIVE = "prometheus_absolute", "prometheus_relative"
_GRADES = 5
_RESULT = re.compile(r"\[RESULT\]", re.IGNORECASE)
# What the absolute format asks for.
_RUBRIC = Choice(tuple(str(grade) for grade in range(1, _GRADES + 1)))
_CLOSING = " \n.\"'”»`"
_INSTRUCTION_FIELDS = ("instruction", "user_input", "question", "input", "prompt")
_REFERENCE_FIELDS = ("reference", "reference_answer")


def _absolute(ballot: Ballot) -> Prompt:
    """Return the prompt for grading one text."""
    rubric = _rubric(ballot)
    best = _worst_first(ballot.criteria)[-1]
    values = {
        "definition": ballot.criteria.definition,
        "rubric": [option.description or option.name for option in rubric],
        "best": 1 + rubric.index(best),
        **_prompt_fields(ballot),
    }
    return Prompt(load(_ABSOLUTE, "en").messages(values))


def _relative(ballot: Ballot) -> Prompt:
    """Return the prompt for comparing two responses."""
    responses = ballot.instance.fields[ballot.criteria.to_evaluate_field]
    response_a, response_b = (
        neutral(responses[place]) for place in ballot.question.order or (0, 1)
    )
    values = {
        "definition": ballot.criteria.definition,
        "first": response_a,
        "second": response_b,
        **_prompt_fields(ballot),
    }
    return Prompt(load(_RELATIVE, "en").messages(values))


def _worst_first(criteria: Criteria) -> list[CriteriaOption]:
    """Return the options from lowest to highest score; without scores, in their given order."""
    points = {option.name: option.points for option in criteria.options}
    first_points, last_points = points[criteria.option_names[0]], points[criteria.option_names[-1]]
    listed = list(criteria.options)
    if first_points is None or last_points is None:
        return listed
    return sorted(
        listed if first_points <= last_points else listed[::-1],
        key=lambda option: points[option.name] or 0.0,
    )


def _rubric(ballot: Ballot) -> list[CriteriaOption]:
    """Return the options for the grades 1 to 5, in the ballot's order."""
    options = _worst_first(ballot.criteria)
    return options if ballot.question.order is None else options[::-1]


def _option_of_grade(ballot: Ballot, grade: Verdict) -> Verdict:
    """Convert a grade to the option it stands for."""
    option = _rubric(ballot)[int(grade.option) - 1]
    place = 1.0 + _worst_first(ballot.criteria).index(option)
    return Chosen(option.name, score=place if option.points is None else None)


def _read(reply: Reply, question: Question, verdict_of: Callable[[Verdict], Verdict]) -> Reading:
    """Read the verdict after ``[RESULT]``, with the text before it as the explanation.

    If the last mark's verdict differs from the one read from the whole reply, the reply is
    unreadable.
    """
    reading = read(reply, question)
    feedback_text, *verdict_texts = _RESULT.split(without_thoughts(reply.text))
    last_verdict = (
        read(Reply(f"[RESULT]{verdict_texts[-1].rstrip(_CLOSING)}"), question).verdict
        if verdict_texts
        else None
    )
    if reading.verdict is None and (verdict_texts or reading.outcome is not Outcome.UNREADABLE):
        return reading
    if (
        reading.verdict is None
        or last_verdict is None
        or last_verdict.option != reading.verdict.option
    ):
        return Reading(
            Outcome.UNREADABLE, reason=Message("the reply has no [RESULT] that the format allows")
        )
    feedback = re.sub(r"^\W*Feedback\W*:\W*", "", feedback_text).strip(" \n*_#")
    return Reading(Outcome.OK, replace(verdict_of(reading.verdict), explanation=feedback or None))


def _prompt_fields(ballot: Ballot) -> JsonDict:
    """Return the fields for the prompt: instruction, reference if there is one, context and
    response.
    """
    fields = shown_fields(ballot.criteria, ballot.instance)
    judged_field = list(fields)[-1]
    texts = dict(zip(fields, unfenced(fields), strict=True))
    instruction = next(
        (name for name in _INSTRUCTION_FIELDS if name in fields and name != judged_field), None
    )
    reference = next(
        (name for name in _REFERENCE_FIELDS if name in fields and name != judged_field), None
    )
    return {
        "instruction": texts[instruction][1] if instruction else "",
        "reference": texts[reference][1] if reference else None,
        "context": [
            text
            for name, text in texts.items()
            if name not in (instruction, reference, judged_field)
        ],
        "response": texts[judged_field][1],
    }


@dataclass(frozen=True)
class Form:
    """A prompt format: its template, and functions for the prompt, the question and the verdict."""

    template: str
    prompt: Callable[[Ballot], Prompt]
    question: Callable[[Ballot], Question]
    verdict: Callable[[Ballot, Verdict], Verdict]


class _Prometheus(CaseJudge[R, M], Generic[R, M]):
    """Asks in its own prompt format instead of the shared templates."""

    form: ClassVar[Form]

    def vote_key(self, ballot: Ballot, wordings: Mapping[str, str] | None = None) -> bytes:
        """Return the vote's key, which includes the format's wording."""
        return super().vote_key(replace(ballot, template=self.form.template), wordings)

    async def ask(self, ballot: Ballot) -> Vote:
        """Request one grade or comparison."""
        form = self.form
        return await ask_with(
            ballot,
            self.panel[ballot.model],
            form.prompt(ballot),
            lambda reply: _read(reply, form.question(ballot), partial(form.verdict, ballot)),
        )

    def prompt_of(self, votes: Sequence[Vote]) -> Metadata:
        """Return the prompt of the first vote."""
        return PromptOf(votes[0].ballot, self.form.prompt) if votes else NOTHING


_Grades = _Prometheus[DirectInstanceResult, MultiCriteriaDirectInstanceResult]
_Compares = _Prometheus[PairwiseInstanceResult, MultiCriteriaPairwiseInstanceResult]


@BaseDirectJudge.register
@dataclass(frozen=True, kw_only=True)
class MPrometheusDirectJudge(ModelSettings, _Grades, Direct):
    """Grades from 1 to 5. The criteria must have five options, whose descriptions are the
    rubric; grade 1 is the lowest score.

    Options without scores are taken worst first, and their grade is the score.

    Parameters:
        language: of notes on the result; the format is English.
        max_repairs: has no effect: the format leaves no room for asking again.
    """

    form = Form(_ABSOLUTE, _absolute, lambda _: _RUBRIC, _option_of_grade)

    def check(self, item: Case) -> None:
        """Require five options, all with scores or all without, and the judged field."""
        super().check(item)
        name, points = item.criteria.name, [option.points for option in item.criteria.options]
        if len(points) != _GRADES:
            raise SetupError(
                "criterion {name!r} has {count} options, but Prometheus needs five: give it "
                "five, such as the grades 1 to 5, or use DirectJudge",
                name=name,
                count=len(points),
            )
        if 0 < points.count(None) < _GRADES:
            raise SetupError(
                "only some options of criterion {name!r} have a score: give all five a score, or "
                "none",
                name=name,
            )

    def ballot(self, case: Case, model: str, question: Choice | Rating, sample: int) -> Ballot:
        """Return a ballot for one model."""
        return self.ballot_for(
            case.criteria, case.instance, question, "direct", model, sample, "generate"
        )


@BasePairwiseJudge.register
@dataclass(frozen=True, kw_only=True)
class MPrometheusPairwiseJudge(ContestSettings, ModelSettings, _Compares, Pairwise):
    """Says which of two responses is better. More than two are compared in pairs; there is no tie
    in this format.

    Parameters:
        tie_enabled: False, since the format has none.
        contests: "pairs", since two responses are compared at a time.
        language: of notes on the result; the format is English.
        max_repairs: has no effect: the format leaves no room for asking again.
    """

    form = Form(_RELATIVE, _relative, lambda ballot: ballot.question, lambda _, letter: letter)
    tie_enabled: bool = False
    contests: Contests = "pairs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tie_enabled:
            raise SetupError("Prometheus does not support ties: remove tie_enabled=True")
        if self.contests != "pairs":
            raise SetupError(
                "Prometheus compares two responses at a time: contests='joint' is not supported; "
                "leave it out"
            )

    def ballot(self, case: Case, model: str, question: Comparison, sample: int) -> Ballot:
        """Return a ballot for one model."""
        return self.ballot_for(
            case.criteria, case.instance, question, "pairwise", model, sample, "generate"
        )
