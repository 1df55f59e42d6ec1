"""Measures by a model: the questions about a trajectory, and the pooling of votes."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import STEPS, Instance
from adjudge.core.domain.question import Choice
from adjudge.core.domain.results import Status
from adjudge.core.domain.verdict import Chosen, KeptPlace, KeptQuote
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.pooling.majority import majority, status_of
from adjudge.features.agents.item import AgentItem
from adjudge.features.agents.measures import (
    BLAME,
    CHECKLIST,
    CONVERSATIONS,
    NO_MISTAKE,
    BlameMethod,
    blame_criteria,
    own_criteria,
)
from adjudge.features.agents.record import PointRecord
from adjudge.features.agents.result import MeasureResult
from adjudge.features.agents.step_prompts import ShownTrajectory
from adjudge.features.agents.step_questions import (
    ChecklistPointQuestion,
    ChecklistQuestion,
    GoalPointsQuestion,
    PlaceName,
    StepsQuestion,
)
from adjudge.features.agents.steps import MOVED, NOWHERE, Cited, numbered_text
from adjudge.features.agents.window import StepsBudget
from adjudge.features.evidence.grouped_questions import split_options
from adjudge.features.evidence.judge import EvidenceJudge
from adjudge.features.evidence.record import EvidenceRecord, SentenceRecord
from adjudge.features.evidence.support import INVENTED
from adjudge.messages import Message

AGENT, CHECKED, POINTS = "agent", "agent_checklist", "agent_points"
POINT = "point"
Shown = dict[str, str | Sequence[str]]


class MakeBallots(Protocol):
    """Returns a ballot for each vote."""

    def __call__(
        self,
        criteria: Criteria,
        instance: Instance,
        question: Choice,
        template: str,
        votes: int,
        *,
        deciding: bool | None = None,
    ) -> list[Ballot]:
        """Return ``votes`` ballots per model. ``deciding``: only for decision models, or only for
        the others.
        """
        ...


@dataclass(frozen=True)
class Questioning(ABC):
    """A measure that needs a model."""

    name: str
    language: str
    budget: StepsBudget
    votes: int
    ballots: MakeBallots

    def reason_against(self, item: AgentItem) -> Message | None:  # noqa: ARG002 - most have none
        """Return why the measure cannot be judged for this item; None if it can."""
        return None

    @abstractmethod
    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots to cast next."""

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """Return all ballots that may be cast."""
        return self.plan(item, ())

    @abstractmethod
    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        """Pool the votes into one result."""

    def other_texts(self, item: AgentItem) -> Sequence[str]:
        """Return the texts that are shown in addition to the steps."""
        run, columns = item.trajectory, map(item.column, ("task", "reference"))
        return [text for text in (run.goal, run.answer, *columns) if text]

    def shown(self, item: AgentItem) -> ShownTrajectory:
        """Return the steps as shown to the models."""
        return item.shown(
            self.budget.of_steps(self.other_texts(item)),
            self.language,
            tools=self.name == "tool_choice",
            results=self.name not in CONVERSATIONS,
        )

    def _absent(self) -> str:
        return Message("(none)").render(self.language)

    def _goal_and_answer(self, item: AgentItem) -> Shown:
        run = item.trajectory
        return {
            "user_input": run.goal or self._absent(),
            "response": run.answer or self._absent(),
        }


@dataclass(frozen=True)
class CriteriaQuestioning(Questioning):
    """Asks for one of a criterion's options, with evidence."""

    criteria: Criteria
    policy: str | None = None

    def reason_against(self, item: AgentItem) -> Message | None:
        if self.name == "policy" and not self._policy(item):
            return Message("there is no policy: name a file, or give a trace with a system prompt")
        if self.name == "in_role" and not item.trajectory.system:
            return Message("the trace contains no system prompt that describes the role")
        return None if item.trajectory.steps else Message("there are no steps")

    def other_texts(self, item: AgentItem) -> Sequence[str]:
        text_by_measure = {"policy": self._policy(item), "in_role": item.trajectory.system}
        return [*super().other_texts(item), text_by_measure.get(self.name, "")]

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        return [] if votes else self._ballots(item)

    def _ballots(self, item: AgentItem) -> list[Ballot]:
        fields = self._fields(item)
        criteria = replace(self.criteria, context_fields=[name for name in fields if name != STEPS])
        if item.judged_step is not None:
            criteria = replace(criteria, description=self._about_step(item.judged_step))
        places: tuple[PlaceName, ...] = ("paragraph",) if self.name == "policy" else ()
        question = StepsQuestion(criteria.option_names, criteria.points, asked=places)
        return self.ballots(criteria, Instance(fields), question, AGENT, self.votes)

    def _about_step(self, number: int) -> str:
        about = Message("Judge only step {number}, given what led to it.", number=number)
        return f"{self.criteria.description} {about.render(self.language)}"

    def _fields(self, item: AgentItem) -> Shown:
        run, steps = item.trajectory, self.shown(item)
        texts: Shown = {
            **self._goal_and_answer(item),
            "policy": self._policy(item),
            "system": run.system,
            "tools": steps.tools or self._absent(),
        }
        fields = {name: texts[name] for name in self.criteria.context_fields or ()}
        if self.name in ("goal", "solved"):
            optional_texts = {"task": item.column("task"), "reference": item.column("reference")}
            fields |= {name: text for name, text in optional_texts.items() if text}
        return {**fields, STEPS: steps.steps}

    def _policy(self, item: AgentItem) -> str:
        return "\n\n".join(
            f"§{number} {text}" for number, text in enumerate(self._paragraphs(item), 1)
        )

    def _paragraphs(self, item: AgentItem) -> list[str]:
        text = item.trajectory.system if self.policy is None else self.policy
        parts = text.replace("\r\n", "\n").split("\n\n")
        return [part.strip() for part in parts if part.strip()]

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        options = [vote.verdict.option for vote in votes if vote.verdict]
        won = majority(options, self.criteria)
        option = won.option if won else None
        result = base_result(self, item, votes, option, self.criteria)
        if won is None:
            return result
        place = result.place
        # a model may cite a paragraph that does not exist
        count_paragraphs = len(self._paragraphs(item)) if self.name == "policy" else 0
        if place["paragraph"] is not None and not 1 <= place["paragraph"] <= count_paragraphs:
            place = NOWHERE
        return replace(
            result,
            score=self.criteria.points_of[won.option],
            agreement=won.agreement,
            tie=won.tie,
            place=place,
            own_scores=self._own_scores(votes),
        )

    def _own_scores(self, votes: Sequence[Vote]) -> Mapping[str, float]:
        by_model: dict[str, list[str]] = {}
        for vote in votes:
            if vote.verdict:
                by_model.setdefault(vote.model, []).append(vote.verdict.option)
        majorities = {
            model: majority(options_of_model, self.criteria)
            for model, options_of_model in by_model.items()
        }
        points = {
            model: self.criteria.points_of[won.option] for model, won in majorities.items() if won
        }
        return FrozenDict({model: score for model, score in points.items() if score is not None})


def base_result(
    question: Questioning,
    item: AgentItem,
    votes: Sequence[Vote],
    option: str | None,
    criteria: Criteria,
) -> MeasureResult:
    """Return the fields of a result that all model measures share.

    The evidence comes from the first agreeing vote that cites steps. Invented and moved quotes are
    counted over all votes.
    """
    agreeing = [vote.verdict for vote in votes if vote.verdict and vote.verdict.option == option]
    cited = next((verdict for verdict in agreeing if isinstance(verdict, Cited)), None)
    trajectory = question.shown(item)
    return MeasureResult(
        instance=item.instance,
        criteria=criteria,
        status=status_of(votes, option is not None),
        votes=tuple(votes),
        measure=question.name,
        option=option,
        explanation=agreeing[0].explanation if agreeing else None,
        evidence=cited.evidence if cited else (),
        place=cited.place if cited else NOWHERE,
        invented=_count_by_model(votes, INVENTED),
        moved=_count_by_model(votes, MOVED),
        shortened=trajectory.shortened,
        notes=(trajectory.note,) if trajectory.note else (),
    )


def _count_by_model(votes: Sequence[Vote], name: str) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for vote in votes:
        count = vote.metadata.get(name)
        if isinstance(count, int):
            counts[vote.model] += count
    return FrozenDict(counts)


# -- checklist ---------------------------------------------------------------------


@dataclass(frozen=True)
class ChecklistQuestioning(Questioning):
    """Asks which points of a checklist are met. The row has the checklist, or a model derives
    it once per task.
    """

    derive: bool

    def reason_against(self, item: AgentItem) -> Message | None:
        if item.points or self.derive:
            return None
        return Message("the row has no checklist: add the column checklist, or set derive")

    @cached_property
    def criteria(self) -> Criteria:
        return own_criteria(CHECKLIST, self.language)

    def other_texts(self, item: AgentItem) -> Sequence[str]:
        return [*super().other_texts(item), *item.points]

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        points = item.points or self._derived_points(votes)
        if points:
            is_asked = any(vote.ballot.template == CHECKED for vote in votes)
            return [] if is_asked else self._ballots(item, points)
        return [] if votes else self._points_ballots(item)

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        if item.points:
            return self._ballots(item, item.points)
        return [*self._points_ballots(item), *self._ballots(item, ["…"])]

    def _points_ballots(self, item: AgentItem) -> list[Ballot]:
        """Return a ballot that asks for the points from the task alone, so all runs of a task
        get the same list.
        """
        task = item.column("task") or item.trajectory.goal or self._absent()
        criteria = own_criteria("points", self.language)
        asked = (criteria, Instance({"task": task}), GoalPointsQuestion(()), POINTS, 1)
        return (self.ballots(*asked, deciding=False) or self.ballots(*asked))[:1]

    def _ballots(self, item: AgentItem, points: Sequence[str]) -> list[Ballot]:
        criteria, steps = self.criteria, self.shown(item).steps
        fields: Shown = {**self._goal_and_answer(item), "points": list(points), STEPS: steps}
        question = ChecklistQuestion(criteria.option_names, criteria.points, count=len(points))
        joint = self.ballots(
            criteria, Instance(fields), question, CHECKED, self.votes, deciding=False
        )
        return [*joint, *self._point_ballots(item, points)]

    def _point_ballots(self, item: AgentItem, points: Sequence[str]) -> list[Ballot]:
        """Return a ballot per point, vote and decision model; one request asks all of a run."""
        context: Shown = {**self._goal_and_answer(item), STEPS: self.shown(item).steps}
        about_one = Message(
            "Was this point met at the end of the run? What counts is what the steps show, not "
            "what the agent says of itself."
        )
        criteria = replace(
            self.criteria,
            description=about_one.render(self.language),
            to_evaluate_field=POINT,
            context_fields=list(context),
        )
        question = ChecklistPointQuestion(criteria.option_names, criteria.points)
        return [
            ballot
            for point in dict.fromkeys(points)
            for ballot in self.ballots(
                criteria,
                Instance({**context, POINT: point}),
                question,
                CHECKED,
                self.votes,
                deciding=True,
            )
        ]

    def _derived_points(self, votes: Sequence[Vote]) -> tuple[str, ...]:
        verdicts = [
            vote.verdict for vote in votes if vote.ballot.template == POINTS and vote.verdict
        ]
        return tuple(json.loads(verdicts[0].option)) if verdicts else ()

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        points = item.points or self._derived_points(votes)
        checked = [vote for vote in votes if vote.ballot.template == CHECKED]
        result = base_result(self, item, votes, None, self.criteria)
        if not points or all(vote.verdict is None for vote in checked):
            return result
        options_of_points = [
            _options_of(checked, number, point) for number, point in enumerate(points)
        ]
        majorities = [majority(options, self.criteria) for options in options_of_points]
        records = tuple(
            PointRecord(text=text, met=_MET.get(won.option) if won else None)
            for text, won in zip(points, majorities, strict=True)
        )
        # A point whose call failed might be met or not: the share of the others is no score.
        if any(
            not options and _has_failed(checked, point)
            for options, point in zip(options_of_points, points, strict=True)
        ):
            return replace(result, status=Status.FAILED, points=records)
        decided = [point.met for point in records if point.met is not None]
        missing_points = [point.text for point in records if not point.met]
        return replace(
            result,
            status=Status.SCORED if decided else Status.ABSTAINED,
            score=sum(decided) / len(decided) if decided else None,
            agreement=sum(won.agreement for won in majorities if won) / len(majorities),
            points=records,
            explanation="; ".join(missing_points) if missing_points else None,
        )


_MET = {"met": True, "missed": False}


def _options_of(votes: Sequence[Vote], number: int, point: str) -> list[str]:
    """Return the answers to one point, from votes on all points and votes on this one."""
    options = []
    for vote in votes:
        if not isinstance(vote.verdict, Chosen):
            continue
        if not isinstance(vote.ballot.question, ChecklistPointQuestion):
            options.append(split_options(vote.verdict)[number])
        elif vote.ballot.instance.fields[POINT] == point:
            options.append(vote.verdict.option)
    return options


def _has_failed(votes: Sequence[Vote], point: str) -> bool:
    """Return True if no model answered a question about this point alone."""
    return any(
        vote.outcome is not Outcome.ABSTAINED
        for vote in votes
        if vote.verdict is None and vote.ballot.instance.fields.get(POINT) == point
    )


# -- what the answer says -----------------------------------------------------------


@dataclass(frozen=True)
class ReportedQuestioning(Questioning):
    """Asks whether the answer agrees with the results, sentence by sentence."""

    judge: EvidenceJudge
    criteria: Criteria

    def reason_against(self, item: AgentItem) -> Message | None:
        if not item.trajectory.answer:
            return Message("there is no answer")
        return (
            None
            if self._sources(item)
            else Message("no step has a result to compare the answer with")
        )

    def _sources(self, item: AgentItem) -> list[tuple[int, str]]:
        """Return (step, text) of the shown steps that are sources: user messages, retrieved
        texts, calls.
        """
        source_steps = {
            step.number
            for step in item.trajectory.steps
            if step.actor == "user" or step.kind == "retrieved" or step.call is not None
        }
        blocks = [numbered_text(block) for block in self.shown(item).steps]
        return [
            (numbers[0], text)
            for numbers, text in blocks
            if len(numbers) == 1 and numbers[0] in source_steps
        ]

    def _instance(self, item: AgentItem) -> Instance:
        run = item.trajectory
        return Instance(
            {
                "user_input": run.goal or self._absent(),
                "response": run.answer or "",
                "contexts": [text for _, text in self._sources(item)],
            }
        )

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        return self.judge.plan(self._instance(item), votes)

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        return self.judge.plan_all(self._instance(item))

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        evidence_result = self.judge.pool(self._instance(item), votes)
        numbers = [number for number, _ in self._sources(item)]
        return replace(
            base_result(self, item, votes, None, self.criteria),
            status=evidence_result.status,
            option=evidence_result.verdict if evidence_result.status is Status.SCORED else None,
            score=evidence_result.score if evidence_result.status is Status.SCORED else None,
            explanation=evidence_result.explanation,
            agreement=evidence_result.agreement,
            sentences=_by_step(evidence_result.evidence(), numbers),
            invented=evidence_result.invented,
        )


def _by_step(record: EvidenceRecord, numbers: Sequence[int]) -> EvidenceRecord:
    """Replace fragment numbers with step numbers."""

    def at_step(quote: KeptQuote) -> KeptQuote:
        return {**quote, "fragment": numbers[quote["fragment"] - 1]}

    def renumber(sentence: SentenceRecord) -> SentenceRecord:
        return replace(
            sentence,
            evidence=tuple(map(at_step, sentence.evidence)),
            claims=None if sentence.claims is None else tuple(map(renumber, sentence.claims)),
        )

    return replace(record, sentences=tuple(map(renumber, record.sentences)))


# -- who is to blame ----------------------------------------------------------------

_FEWEST_AT_ONCE = 2


@dataclass(frozen=True)
class BlameQuestioning(Questioning):
    """Asks for the first step that made a run fail, the agent that took it, and the kind of
    mistake.
    """

    kinds: Sequence[str]
    method: BlameMethod

    @cached_property
    def criteria(self) -> Criteria:
        return blame_criteria(self.kinds, self.language)

    def reason_against(self, item: AgentItem) -> Message | None:
        return None if item.trajectory.steps else Message("there are no steps")

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the next ballots for the method.

        ``halves`` narrows the steps down, and ``step by step`` asks about each step in turn. ``at
        once`` asks about the whole run at least twice, then goes step by step if the votes differ.
        Decision models cannot name a step, so they go step by step at once.
        """
        if self.method == "halves":
            return self._halve(item, votes)
        at_once = [vote for vote in votes if vote.ballot.criteria.name == BLAME]
        if self.method == "at once":
            if not votes and (ballots := self._ask_at_once(item)):
                return ballots
            # the votes agree, or none could be read
            if at_once and len(set(_steps_named(at_once))) < 2:
                return []
        return self._next_step(item, [vote for vote in votes if vote.ballot.criteria.name != BLAME])

    def _ask_at_once(self, item: AgentItem) -> list[Ballot]:
        votes = max(self.votes, _FEWEST_AT_ONCE)
        return self._ask(item, self.criteria, ("step", "agent"), votes, deciding=False)

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """Return the ballots for an estimate: only the first ones for ``at once``, otherwise
        all that may be needed.
        """
        numbers = self._candidates(item)
        if self.method == "halves":
            return self._halve(item, ()) * max(1, len(numbers).bit_length())
        step_ballots = [ballot for number in numbers for ballot in self._ask_step(item, number)]
        if self.method == "at once" and (at_once := self._ask_at_once(item)):
            return at_once
        return step_ballots

    def _candidates(self, item: AgentItem) -> list[int]:
        """Return the numbers of the shown steps that are not the user's: any of them can be the
        mistake.
        """
        visible = {number for block in self.shown(item).steps for number in numbered_text(block)[0]}
        return [
            step.number
            for step in item.trajectory.steps
            if step.actor != "user" and step.number in visible
        ]

    def _fields(self, item: AgentItem, last: int | None = None) -> Shown:
        blocks = [
            block
            for block in self.shown(item).steps
            if last is None or numbered_text(block)[0][0] <= last
        ]
        reference = item.column("reference")
        return {
            **self._goal_and_answer(item),
            **({"reference": reference} if reference else {}),
            STEPS: blocks,
        }

    def _ask(
        self,
        item: AgentItem,
        criteria: Criteria,
        places: tuple[PlaceName, ...],
        votes: int,
        fields: Shown | None = None,
        *,
        deciding: bool | None = None,
    ) -> list[Ballot]:
        shown_fields = fields or self._fields(item)
        question = StepsQuestion(criteria.option_names, criteria.points, asked=places)
        criteria = replace(
            criteria, context_fields=[name for name in shown_fields if name != STEPS]
        )
        instance = Instance(shown_fields)
        return self.ballots(criteria, instance, question, AGENT, votes, deciding=deciding)

    def _ask_step(self, item: AgentItem, number: int) -> list[Ballot]:
        step_criteria = own_criteria("blame_step", self.language)
        criteria = replace(step_criteria, options=[*step_criteria.options, *self.criteria.options])
        return self._ask(item, criteria, (), 1, self._fields(item, number))[:1]

    def _next_step(self, item: AgentItem, votes: Sequence[Vote]) -> list[Ballot]:
        """Return the ballot for the next step in order; none once a step is the mistake."""
        if _first_mistake(votes) is not None:
            return []
        remaining = self._candidates(item)[len(votes) :]
        return self._ask_step(item, remaining[0]) if remaining else []

    def _halve(self, item: AgentItem, votes: Sequence[Vote]) -> list[Ballot]:
        """Return the next ballot: which half has the mistake, until one step is left, then its
        kind.
        """
        numbers = self._remaining_steps(item, votes)
        if numbers is None or any(vote.ballot.criteria.name == "blame_step" for vote in votes):
            return []
        if len(numbers) == 1:
            return self._ask_step(item, numbers[0])
        middle = (len(numbers) + 1) // 2
        parts = {
            "first part": f"{numbers[0]}–{numbers[middle - 1]}",
            "second part": f"{numbers[middle]}–{numbers[-1]}",
        }
        criteria = own_criteria("blame_half", self.language)
        return self._ask(item, criteria, (), 1, {**parts, **self._fields(item)})[:1]

    def _remaining_steps(self, item: AgentItem, votes: Sequence[Vote]) -> list[int] | None:
        """Return the steps that can still be the mistake; None if there are none or a vote
        failed.
        """
        numbers = self._candidates(item)
        for vote in votes:
            if vote.ballot.criteria.name != "blame_half":
                continue
            if vote.verdict is None:
                return None
            middle = (len(numbers) + 1) // 2
            numbers = numbers[:middle] if vote.verdict.option == "first part" else numbers[middle:]
        return numbers or None

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        at_once = [vote for vote in votes if vote.ballot.criteria.name == BLAME]
        by_step = [vote for vote in votes if vote.ballot.criteria.name == "blame_step"]
        mistake = _first_mistake(by_step)
        if mistake is None and self.method == "halves":
            mistake = next((vote for vote in by_step if vote.verdict), None)
        steps_named = _steps_named(at_once)
        if mistake is not None:
            number = max(
                n
                for block in mistake.ballot.instance.fields[STEPS]
                for n in numbered_text(block)[0]
            )
            kind = mistake.verdict.option if mistake.verdict else None
            deciding_votes = [mistake]
        elif len(set(steps_named)) == 1 or (steps_named and self.method == "at once"):
            number = Counter(steps_named).most_common(1)[0][0]
            deciding_votes = [vote for vote in at_once if _step_of(vote) == number]
            kinds = [vote.verdict.option for vote in deciding_votes if vote.verdict]
            won = majority(kinds, self.criteria)
            kind = won.option if won else None
        else:
            return base_result(self, item, votes, None, self.criteria)
        kind = None if kind == NO_MISTAKE else kind
        result = base_result(self, item, deciding_votes, kind, self.criteria)
        actors = {step.number: step.actor for step in item.trajectory.steps}
        place: KeptPlace = {"step": number, "agent": actors.get(number), "paragraph": None}
        return replace(
            result,
            status=Status.SCORED,
            votes=tuple(votes),
            place=place,
            agreement=steps_named.count(number) / len(steps_named) if steps_named else None,
        )


def _step_of(vote: Vote) -> int | None:
    return vote.verdict.place["step"] if isinstance(vote.verdict, Cited) else None


def _steps_named(votes: Sequence[Vote]) -> list[int]:
    return [step for vote in votes if (step := _step_of(vote)) is not None]


def _first_mistake(votes: Sequence[Vote]) -> Vote | None:
    return next(
        (vote for vote in votes if vote.verdict and vote.verdict.option != NO_MISTAKE), None
    )
