"""Measures by a model: what is asked about a trajectory, and what the votes come to."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import STEPS, Instance
from adjudge.core.domain.question import Choice
from adjudge.core.domain.results import Status
from adjudge.core.domain.verdict import Chosen, KeptPlace, KeptQuote
from adjudge.core.domain.vote import Ballot, Vote
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
    ChecklistQuestion,
    PlaceName,
    PointsQuestion,
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
Shown = dict[str, str | Sequence[str]]
MakeBallots = Callable[[Criteria, Instance, Choice, str, int], list[Ballot]]
"""Of criteria, instance, question, template and votes per model: a ballot for each vote."""


@dataclass(frozen=True)
class Questioning(ABC):
    """One measure that is asked of a model."""

    name: str
    language: str
    budget: StepsBudget
    votes: int
    ballots: MakeBallots

    def reason_against(self, item: AgentItem) -> Message | None:  # noqa: ARG002 - most have none
        """Why there is nothing to ask; None where there is."""
        return None

    @abstractmethod
    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The ballots to ask next."""

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """All ballots that may be asked."""
        return self.plan(item, ())

    @abstractmethod
    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        """The votes as one result."""

    def beside(self, item: AgentItem) -> Sequence[str]:
        """The texts that are shown beside the steps."""
        run, columns = item.trajectory, map(item.column, ("task", "reference"))
        return [text for text in (run.goal, run.answer, *columns) if text]

    def shown(self, item: AgentItem) -> ShownTrajectory:
        """The steps as they are shown."""
        return item.shown(
            self.budget.of_steps(self.beside(item)),
            self.language,
            tools=self.name == "tool_choice",
            results=self.name not in CONVERSATIONS,
        )

    def _absent(self) -> str:
        return Message("(none)").render(self.language)

    def _asked_and_answered(self, item: AgentItem) -> Shown:
        run = item.trajectory
        return {
            "user_input": run.goal or self._absent(),
            "response": run.answer or self._absent(),
        }


@dataclass(frozen=True)
class CriteriaQuestioning(Questioning):
    """One of the options of criteria, with its evidence."""

    criteria: Criteria
    policy: str | None = None

    def reason_against(self, item: AgentItem) -> Message | None:
        if self.name == "policy" and not self._policy(item):
            return Message("there is no policy: name a file, or give a trace with a system prompt")
        if self.name == "in_role" and not item.trajectory.system:
            return Message("the trace holds no system prompt that says the role")
        return None if item.trajectory.steps else Message("there are no steps")

    def beside(self, item: AgentItem) -> Sequence[str]:
        own = {"policy": self._policy(item), "in_role": item.trajectory.system}
        return [*super().beside(item), own.get(self.name, "")]

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        return [] if votes else self._ballots(item)

    def _ballots(self, item: AgentItem) -> list[Ballot]:
        fields = self._fields(item)
        criteria = replace(self.criteria, context_fields=[name for name in fields if name != STEPS])
        if item.judged_step is not None:
            criteria = replace(criteria, description=self._about_step(item.judged_step))
        asked: tuple[PlaceName, ...] = ("paragraph",) if self.name == "policy" else ()
        question = StepsQuestion(criteria.option_names, criteria.points, asked=asked)
        return self.ballots(criteria, Instance(fields), question, AGENT, self.votes)

    def _about_step(self, number: int) -> str:
        about = Message("Judge step {number} alone, by what led to it.", number=number)
        return f"{self.criteria.description} {about.render(self.language)}"

    def _fields(self, item: AgentItem) -> Shown:
        run, shown = item.trajectory, self.shown(item)
        known: Shown = {
            **self._asked_and_answered(item),
            "policy": self._policy(item),
            "system": run.system,
            "tools": shown.tools or self._absent(),
        }
        fields = {name: known[name] for name in self.criteria.context_fields or ()}
        if self.name in ("goal", "solved"):
            beside = {"task": item.column("task"), "reference": item.column("reference")}
            fields |= {name: text for name, text in beside.items() if text}
        return {**fields, STEPS: shown.steps}

    def _policy(self, item: AgentItem) -> str:
        return "\n\n".join(
            f"§{number} {text}" for number, text in enumerate(self._paragraphs(item), 1)
        )

    def _paragraphs(self, item: AgentItem) -> list[str]:
        text = item.trajectory.system if self.policy is None else self.policy
        parts = text.replace("\r\n", "\n").split("\n\n")
        return [part.strip() for part in parts if part.strip()]

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        said = [vote.verdict.option for vote in votes if vote.verdict]
        won = majority(said, self.criteria)
        option = won.option if won else None
        result = pooled(self, item, votes, option, self.criteria)
        if won is None:
            return result
        place = result.place
        known = len(self._paragraphs(item)) if self.name == "policy" else 0
        if place["paragraph"] is not None and not 1 <= place["paragraph"] <= known:
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
        found = {model: majority(said, self.criteria) for model, said in by_model.items()}
        points = {model: self.criteria.points_of[one.option] for model, one in found.items() if one}
        return FrozenDict({model: one for model, one in points.items() if one is not None})


def pooled(
    asked: Questioning,
    item: AgentItem,
    votes: Sequence[Vote],
    option: str | None,
    criteria: Criteria,
) -> MeasureResult:
    """What every measure by a model has: evidence of the first vote that agrees, what was counted
    of quotes, and how much was not shown.
    """
    agreeing = [vote.verdict for vote in votes if vote.verdict and vote.verdict.option == option]
    first = next((one for one in agreeing if isinstance(one, Cited)), None)
    shown = asked.shown(item)
    return MeasureResult(
        instance=item.instance,
        criteria=criteria,
        status=status_of(votes, option is not None),
        votes=tuple(votes),
        measure=asked.name,
        option=option,
        explanation=agreeing[0].explanation if agreeing else None,
        evidence=first.evidence if first else (),
        place=first.place if first else NOWHERE,
        invented=_counted(votes, INVENTED),
        moved=_counted(votes, MOVED),
        shortened=shown.shortened,
        notes=(shown.note,) if shown.note else (),
    )


def _counted(votes: Sequence[Vote], name: str) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for vote in votes:
        count = vote.metadata.get(name)
        if isinstance(count, int):
            found[vote.model] += count
    return FrozenDict(found)


# -- checklist ---------------------------------------------------------------------


@dataclass(frozen=True)
class ChecklistQuestioning(Questioning):
    """Which points of a list are met: given with the row, or derived once for each task."""

    derive: bool

    def reason_against(self, item: AgentItem) -> Message | None:
        if item.points or self.derive:
            return None
        return Message("the row has no checklist: add the column checklist, or set derive")

    @cached_property
    def criteria(self) -> Criteria:
        return own_criteria(CHECKLIST, self.language)

    def beside(self, item: AgentItem) -> Sequence[str]:
        return [*super().beside(item), *item.points]

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        points = item.points or self._derived(votes)
        if points:
            asked = any(vote.ballot.template == CHECKED for vote in votes)
            return [] if asked else self._ballots(item, points)
        return [] if votes else self._points_ballots(item)

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        if item.points:
            return self._ballots(item, item.points)
        return [*self._points_ballots(item), *self._ballots(item, ["…"])]

    def _points_ballots(self, item: AgentItem) -> list[Ballot]:
        """Of the task alone, so that every run of it is measured by the same list."""
        task = item.column("task") or item.trajectory.goal or self._absent()
        criteria = own_criteria("points", self.language)
        return self.ballots(criteria, Instance({"task": task}), PointsQuestion(()), POINTS, 1)[:1]

    def _ballots(self, item: AgentItem, points: Sequence[str]) -> list[Ballot]:
        criteria = self.criteria
        fields: Shown = {
            **self._asked_and_answered(item),
            "points": list(points),
            STEPS: self.shown(item).steps,
        }
        question = ChecklistQuestion(criteria.option_names, criteria.points, count=len(points))
        return self.ballots(criteria, Instance(fields), question, CHECKED, self.votes)

    def _derived(self, votes: Sequence[Vote]) -> tuple[str, ...]:
        made = [vote.verdict for vote in votes if vote.ballot.template == POINTS and vote.verdict]
        return tuple(json.loads(made[0].option)) if made else ()

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        points = item.points or self._derived(votes)
        checked = [vote for vote in votes if vote.ballot.template == CHECKED]
        said = [split_options(vote.verdict) for vote in checked if isinstance(vote.verdict, Chosen)]
        result = pooled(self, item, votes, None, self.criteria)
        if not said or not points:
            return result
        each = [majority(options, self.criteria) for options in zip(*said, strict=True)]
        found = tuple(
            PointRecord(text=text, met=_MET.get(one.option) if one else None)
            for text, one in zip(points, each, strict=True)
        )
        told = [point.met for point in found if point.met is not None]
        missed = [point.text for point in found if not point.met]
        return replace(
            result,
            status=Status.SCORED if told else Status.ABSTAINED,
            score=sum(told) / len(told) if told else None,
            agreement=sum(one.agreement for one in each if one) / len(each),
            points=found,
            explanation="; ".join(missed) if missed else None,
        )


_MET = {"met": True, "missed": False}


# -- what the answer says -----------------------------------------------------------


@dataclass(frozen=True)
class ReportedQuestioning(Questioning):
    """Whether the answer says what the results say, sentence by sentence."""

    judge: EvidenceJudge
    criteria: Criteria

    def reason_against(self, item: AgentItem) -> Message | None:
        if not item.trajectory.answer:
            return Message("there is no answer")
        return None if self._sources(item) else Message("no step has a result to compare with")

    def _sources(self, item: AgentItem) -> list[tuple[int, str]]:
        """(step, text) of what was not the agent's own saying, as shown."""
        known = {
            step.number
            for step in item.trajectory.steps
            if step.actor == "user" or step.kind == "retrieved" or step.call is not None
        }
        shown = [numbered_text(block) for block in self.shown(item).steps]
        return [
            (numbers[0], text)
            for numbers, text in shown
            if len(numbers) == 1 and numbers[0] in known
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
        found = self.judge.pool(self._instance(item), votes)
        numbers = [number for number, _ in self._sources(item)]
        return replace(
            pooled(self, item, votes, None, self.criteria),
            status=found.status,
            option=found.verdict if found.status is Status.SCORED else None,
            score=found.score if found.status is Status.SCORED else None,
            explanation=found.explanation,
            agreement=found.agreement,
            sentences=_by_step(found.evidence(), numbers),
            invented=found.invented,
        )


def _by_step(record: EvidenceRecord, numbers: Sequence[int]) -> EvidenceRecord:
    """The same, with the numbers of steps in place of those of fragments."""

    def at_step(quote: KeptQuote) -> KeptQuote:
        return {**quote, "fragment": numbers[quote["fragment"] - 1]}

    def moved(one: SentenceRecord) -> SentenceRecord:
        return replace(
            one,
            evidence=tuple(map(at_step, one.evidence)),
            claims=None if one.claims is None else tuple(map(moved, one.claims)),
        )

    return replace(record, sentences=tuple(map(moved, record.sentences)))


# -- who is to blame ----------------------------------------------------------------

_FEWEST_AT_ONCE = 2


@dataclass(frozen=True)
class BlameQuestioning(Questioning):
    """The first step that made a run fail, who made it, and what kind of mistake it was."""

    kinds: Sequence[str]
    method: BlameMethod

    @cached_property
    def criteria(self) -> Criteria:
        return blame_criteria(self.kinds, self.language)

    def reason_against(self, item: AgentItem) -> Message | None:
        return None if item.trajectory.steps else Message("there are no steps")

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """At once, twice, and step by step where the votes differ; or as the method says."""
        if self.method == "halves":
            return self._halve(item, votes)
        at_once = [vote for vote in votes if vote.ballot.criteria.name == BLAME]
        if self.method == "at once":
            if not votes:
                return self._ask(item, self.criteria, ("step", "agent"), self._at_once)
            if len(set(_steps_said(at_once))) < 2:
                return []
        return self._next_step(item, [vote for vote in votes if vote.ballot.criteria.name != BLAME])

    @property
    def _at_once(self) -> int:
        return max(self.votes, _FEWEST_AT_ONCE)

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """As if no two votes agreed."""
        numbers = self._candidates(item)
        if self.method == "halves":
            return self._halve(item, ()) * max(1, len(numbers).bit_length())
        each = [ballot for number in numbers for ballot in self._ask_step(item, number)]
        at_once = self._ask(item, self.criteria, ("step", "agent"), self._at_once)
        return at_once if self.method == "at once" else each

    def _candidates(self, item: AgentItem) -> list[int]:
        """The steps that can be a mistake: not those of the user."""
        shown = {number for block in self.shown(item).steps for number in numbered_text(block)[0]}
        return [
            step.number
            for step in item.trajectory.steps
            if step.actor != "user" and step.number in shown
        ]

    def _fields(self, item: AgentItem, last: int | None = None) -> Shown:
        blocks = [
            block
            for block in self.shown(item).steps
            if last is None or numbered_text(block)[0][0] <= last
        ]
        reference = item.column("reference")
        return {
            **self._asked_and_answered(item),
            **({"reference": reference} if reference else {}),
            STEPS: blocks,
        }

    def _ask(
        self,
        item: AgentItem,
        criteria: Criteria,
        asked: tuple[PlaceName, ...],
        votes: int,
        fields: Shown | None = None,
    ) -> list[Ballot]:
        shown = fields or self._fields(item)
        question = StepsQuestion(criteria.option_names, criteria.points, asked=asked)
        criteria = replace(criteria, context_fields=[name for name in shown if name != STEPS])
        return self.ballots(criteria, Instance(shown), question, AGENT, votes)

    def _ask_step(self, item: AgentItem, number: int) -> list[Ballot]:
        own = own_criteria("blame_step", self.language)
        criteria = replace(own, options=[*own.options, *self.criteria.options])
        return self._ask(item, criteria, (), 1, self._fields(item, number))[:1]

    def _next_step(self, item: AgentItem, votes: Sequence[Vote]) -> list[Ballot]:
        """The next step in their order, until one is the mistake."""
        if _first_mistake(votes) is not None:
            return []
        left = self._candidates(item)[len(votes) :]
        return self._ask_step(item, left[0]) if left else []

    def _halve(self, item: AgentItem, votes: Sequence[Vote]) -> list[Ballot]:
        """Which half it is in, until one step is left; then what kind of mistake it is."""
        numbers = self._halved(item, votes)
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

    def _halved(self, item: AgentItem, votes: Sequence[Vote]) -> list[int] | None:
        """The steps that are left; None where a vote failed."""
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
        found = _first_mistake(by_step)
        if found is None and self.method == "halves":
            found = next((vote for vote in by_step if vote.verdict), None)
        said = _steps_said(at_once)
        if found is not None:
            number = max(
                n for block in found.ballot.instance.fields[STEPS] for n in numbered_text(block)[0]
            )
            kind = found.verdict.option if found.verdict else None
            chosen = [found]
        elif len(set(said)) == 1 or (said and self.method == "at once"):
            number = Counter(said).most_common(1)[0][0]
            chosen = [vote for vote in at_once if _step_of(vote) == number]
            kinds = [vote.verdict.option for vote in chosen if vote.verdict]
            won = majority(kinds, self.criteria)
            kind = won.option if won else None
        else:
            return pooled(self, item, votes, None, self.criteria)
        kind = None if kind == NO_MISTAKE else kind
        result = pooled(self, item, chosen, kind, self.criteria)
        actors = {step.number: step.actor for step in item.trajectory.steps}
        place: KeptPlace = {"step": number, "agent": actors.get(number), "paragraph": None}
        return replace(
            result,
            status=Status.SCORED,
            votes=tuple(votes),
            place=place,
            agreement=said.count(number) / len(said) if said else None,
        )


def _step_of(vote: Vote) -> int | None:
    return vote.verdict.place["step"] if isinstance(vote.verdict, Cited) else None


def _steps_said(votes: Sequence[Vote]) -> list[int]:
    return [step for vote in votes if (step := _step_of(vote)) is not None]


def _first_mistake(votes: Sequence[Vote]) -> Vote | None:
    return next(
        (vote for vote in votes if vote.verdict and vote.verdict.option != NO_MISTAKE), None
    )
