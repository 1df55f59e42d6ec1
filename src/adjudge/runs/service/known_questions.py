"""Questions that the judges of an eval file answer, calibrated cascades among them. A judge that is
not sure enough says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.decision import DecisionAnswer, DecisionQuestion
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.message import Usage
from adjudge.core.domain.options import yes_and_no
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Vote
from adjudge.core.engine.identity import step_identities
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.cascade import Cascade
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.builder import OpenEntry, look_up_criteria, make_judges
from adjudge.runs.eval_file import EvalFile
from adjudge.stats.temperature import at_temperature

_FIELD = "response"
_UNSURE = Message("the judges are not confident enough")


@dataclass(frozen=True)
class KnownQuestion:
    """A criterion, and the judge that answers it."""

    criteria: Criteria
    judge: Judge[Any, Any]

    @cached_property
    def temperatures(self) -> Mapping[str, float]:
        """Step of a cascade → temperature that its calibration has for it, and for no other
        judge.
        """
        judge = self.judge
        if not isinstance(judge, Cascade) or not isinstance(judge.calibration, Learnt):
            return {}
        configuration = JudgeConfiguration.of(judge.configuration([self.criteria]))
        identities = step_identities(configuration, self.criteria.name)
        return judge.calibration.step_temperatures(self.criteria.name, identities)

    def places(self, question: DecisionQuestion) -> list[str] | None:
        """Return the criterion's options in the question's order; None if the question is a
        different one.
        """
        instructions = question.instructions
        if not isinstance(instructions, str) or instructions.strip() != self.criteria.definition:
            return None
        names = list(self.criteria.option_names)
        if question.kind == "predicate":
            both = yes_and_no(names)
            is_bare = all(side.description is None for side in question.options)
            return list(both) if both and is_bare else None
        if question.kind == "choice":
            return list(question.values) if set(question.values) == set(names) else None
        points = {option.name: option.points for option in self.criteria.options}
        if None in points.values() or len(set(points.values())) < len(points):
            return None
        rising = sorted(names, key=lambda name: points[name] or 0.0)
        return rising if list(question.values) == rising else None


@dataclass(frozen=True)
class KnownQuestions:
    """All questions that an eval file's judges answer."""

    questions: tuple[KnownQuestion, ...] = ()
    names: tuple[str, ...] = ()
    """The names of the judges."""

    def __bool__(self) -> bool:
        return bool(self.questions)

    def judge_of(self, question: DecisionQuestion) -> KnownQuestion | None:
        """Return the first entry that matches the question exactly; None if there is none."""
        return next(
            (
                known_question
                for known_question in self.questions
                if known_question.places(question)
            ),
            None,
        )

    async def ask(
        self, known: KnownQuestion, question: DecisionQuestion, fields: Mapping[str, str]
    ) -> tuple[DecisionAnswer, Usage]:
        """Return the judge's answer and its usage. The answer is accepted only if the judge gives a
        verdict.
        """
        judged_field = known.criteria.to_evaluate_field
        is_text = list(fields) == [_FIELD]
        row = Instance({judged_field: fields[_FIELD]} if is_text else fields)
        judge: Any = known.judge
        first_step = judge.steps[0] if isinstance(judge, Cascade) else judge
        # an aspect critic has its criterion already
        criteria = () if isinstance(first_step, AspectCritic) else (known.criteria,)
        (result,) = await judge.aevaluate([row], *criteria)
        options = known.places(question) or []
        usage = sum((vote.usage for vote in result.votes), Usage())
        return _answer(result, options, known.temperatures), usage


def known_questions(file: EvalFile, opened: OpenEntry, prices: PriceTable) -> KnownQuestions:
    """Return the questions that an eval file's judges answer. Raises a SetupError for unsuitable
    kinds of judges.
    """
    questions, names = [], []
    for ready in make_judges(look_up_criteria(file), opened, prices):
        if not isinstance(ready.judge, Cascade | DirectJudge | AspectCritic):
            raise SetupError(
                "the judge {name!r} of {path} answers no typed questions: cascades, direct judges "
                "and aspects do",
                name=ready.name,
                path=file.path,
            )
        names.append(ready.name)
        all_criteria = ready.criteria or tuple(ready.judge.criteria_of(()))
        questions += [
            KnownQuestion(criteria, ready.judge) for criteria in all_criteria if criteria.options
        ]
    return KnownQuestions(tuple(questions), tuple(names))


def _answer(
    result: Result, options: Sequence[str], temperatures: Mapping[str, float]
) -> DecisionAnswer:
    """Return the answer with the probabilities from the step that was asked last, calibrated if a
    temperature was learned for it.

    The verdict and its acceptance were decided before, on the scale of the threshold.
    """
    steps = getattr(result, "steps", ())
    last_votes = [vote for vote in result.votes if not steps or vote.model == steps[-1].step]
    temperature = temperatures.get(steps[-1].step) if steps else None
    shares = _shares([vote for vote in last_votes if vote.valid], options, temperature)
    accepted = result.status is Status.SCORED
    if shares is None:
        reasons = [vote.reason for vote in last_votes if vote.reason]
        return DecisionAnswer(accepted=False, reason=reasons[0] if reasons else _UNSURE)
    answer = DecisionAnswer(shares)
    return answer if accepted else replace(answer, accepted=False, reason=_UNSURE)


def _shares(
    votes: Sequence[Vote], options: Sequence[str], temperature: float | None
) -> tuple[float, ...] | None:
    if not votes:
        return None
    if all(vote.distribution for vote in votes):
        means = {
            name: fmean((vote.distribution or {}).get(name, 0.0) for vote in votes)
            for name in options
        }
        calibrated = means if temperature is None else at_temperature(means, temperature)
        counts = [calibrated[name] for name in options]
    else:
        choices = [vote.verdict.option for vote in votes if vote.verdict]
        counts = [float(choices.count(name)) for name in options]
    total = sum(counts)
    return tuple(count / total for count in counts) if total else None
