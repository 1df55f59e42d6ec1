"""Have a model propose rubrics for a person to review."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.question import Schema
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.inputs import as_instance, items_of
from adjudge.core.judges.judge import InstanceLike
from adjudge.core.judges.proposal import ProposalJudge
from adjudge.core.prompts.renderer import ABOUT_POINTS
from adjudge.errors import SetupError
from adjudge.features.evidence.grouped_questions import OfEach, object_schema
from adjudge.features.evidence.judge import with_wording
from adjudge.features.evidence.reply_lists import lists_differ, lists_under
from adjudge.features.rubrics.layouts import parse_rubric, rubric_data
from adjudge.features.rubrics.wording import proposal_criteria

MOST_PROPOSED = 20
_KEYS = ("text", "points", "category")
READS = ("user_input", "reference")


@dataclass(frozen=True)
class ProposalQuestion(OfEach):
    """The request for points to judge answers to one question by."""

    about: ClassVar[str] = "rubric proposal"
    repair: ClassVar[str] = "repair_proposal"

    # there is no advice on a proposal
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        point = {
            "text": {"type": "string"},
            "points": {"type": "number"},
            "category": {"type": "string"},
        }
        return object_schema({"rubric": {"type": "array", "items": object_schema(point)}})

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        """Read a valid rubric, or return the reason to ask again."""
        listed = lists_under(objects).get("rubric")
        if not listed:
            return None
        if len(listed) > 1:
            return lists_differ("rubric")
        points = [
            {name: part[name] for name in _KEYS if part.get(name) not in (None, "")}
            for part in listed[0][:MOST_PROPOSED]
            if isinstance(part, Mapping)
        ]
        try:
            rubric = parse_rubric(points)
        except SetupError as error:
            return Reading(Outcome.UNREADABLE, reason=str(error))
        return Reading(Outcome.OK, Chosen(json.dumps(rubric_data(rubric), ensure_ascii=False)))


@dataclass(frozen=True, kw_only=True, repr=False)
class ProposedRubric(Result):
    """A rubric that a model proposed. It judges nothing until a person accepts it."""

    points: tuple[JsonDict, ...] = ()

    @property
    def verdict(self) -> str | None:
        return f"{len(self.points)} points" if self.points else None


@dataclass(frozen=True)
class RubricWriter(ProposalJudge[ProposedRubric]):
    """Has a model propose a rubric per row, from the question and a reference answer.

    Parameters:
        models: the model that is asked; of several the first that answers counts.
        model: another name of ``models``.
        language: of the prompt and the points: "en" or "ru".
        temperature: by default the model's own setting, else 0.
        seed: of the request.
        max_repairs: how often it is asked again after a reply that cannot be read.
    """

    @property
    def criteria(self) -> Criteria:
        """The request for a rubric."""
        return proposal_criteria(self.language)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the configuration with the wording of the request."""
        settings = super().configuration(criteria)
        return with_wording(
            settings, self.language, sentences=False, further_templates=ABOUT_POINTS
        )

    def check(self, item: Instance) -> None:
        """Raise a SetupError for a row without a question."""
        if not item.fields.get(READS[0]):
            raise SetupError(
                "proposing a rubric takes a question: the row needs the field {name!r}; it has: "
                "{found}",
                name=READS[0],
                found=", ".join(item.fields),
            )

    def ballot_of(self, item: Instance, model: str) -> Ballot:
        """Return the request for a rubric; the model sees only the question and the reference."""
        shown_row = Instance({name: item.fields[name] for name in READS if item.fields.get(name)})
        return self.ballot_for(
            self.criteria, shown_row, ProposalQuestion(()), "rubric_proposal", model, 0, "generate"
        )

    def pool(self, item: Instance, votes: Sequence[Vote]) -> ProposedRubric:
        """Return the first valid proposal, or a failed result."""
        verdict = next((vote.verdict for vote in votes if vote.verdict), None)
        points = json.loads(verdict.option)["points"] if verdict else ()
        return ProposedRubric(
            instance=item,
            criteria=self.criteria,
            votes=tuple(votes),
            status=Status.SCORED if verdict else Status.FAILED,
            points=tuple({**point, "proposed": True} for point in points),
        )

    async def aevaluate(
        self,
        instances: Sequence[InstanceLike],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
    ) -> list[ProposedRubric]:
        """Propose a rubric per row. Rows are mappings or Instances with ``user_input`` and
        optionally ``reference``.
        """
        rows = [as_instance(item, READS[0]) for item in items_of(instances)]
        return await self.judge_items(rows, run=run, budget=budget)

    evaluate = sync_edge(aevaluate)
