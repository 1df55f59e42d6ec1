"""Have a model propose scenarios from documents or a criterion, for a person to review."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject, objects_in
from adjudge.core.domain.question import Schema
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.proposal import ProposalJudge
from adjudge.core.prompts.renderer import ABOUT_SCENARIOS
from adjudge.errors import SetupError
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.evidence.grouped_questions import OfEach, object_schema
from adjudge.features.evidence.judge import with_wording
from adjudge.features.evidence.reply_lists import lists_differ, lists_under

MATERIAL = "material"
MOST_PROPOSED = 20
_TEXTS = ("id", "goal", "persona", "stop")
_WORDS: Mapping[str, str] = {
    "en": 'Propose {count} scenarios from the field "material".',
    "ru": "Предложите сценарии по полю «material», всего {count}.",
}
_CRITERION: Mapping[str, str] = {
    "en": ' The conversations must show whether the application meets this criterion: "{text}".',
    "ru": " Разговоры должны показать, выполняет ли приложение этот критерий: «{text}».",
}


@dataclass(frozen=True)
class ScenarioQuestion(OfEach):
    """A request for scenarios."""

    language: str = "en"
    about: ClassVar[str] = "scenario proposal"
    repair: ClassVar[str] = "repair_scenarios"

    # there is no advice on a proposal
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        fact = object_schema({"name": {"type": "string"}, "value": {"type": "string"}})
        facts: JsonDict = {"type": "array", "items": fact}
        scenario: JsonDict = {
            **{name: {"type": "string"} for name in _TEXTS},
            "facts": facts,
            "withheld": facts,
            "unknown": {"type": "array", "items": {"type": "string"}},
        }
        return object_schema({"scenarios": {"type": "array", "items": object_schema(scenario)}})

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        """Read the proposed scenarios.

        Return None if there are none, or an unreadable Reading with the reason if one is invalid.
        """
        listed = lists_under(objects).get("scenarios")
        if not listed:
            return None
        if len(listed) > 1:
            return lists_differ("scenarios")
        rows = [
            _row(entry, number, self.language)
            for number, entry in enumerate(_mappings(listed[0]), 1)
        ]
        try:
            scenarios = [Scenario.of(row, str(row["id"])) for row in rows[:MOST_PROPOSED]]
        except SetupError as error:
            return Reading(Outcome.UNREADABLE, reason=str(error))
        if not scenarios:
            return None
        dumped = [scenario.to_dict() for scenario in scenarios]
        return Reading(Outcome.OK, Chosen(json.dumps(dumped, ensure_ascii=False)))


def _mappings(entries: Sequence[object]) -> Iterator[JsonObject]:
    for entry in entries:
        if isinstance(entry, Mapping):
            yield entry


def _row(entry: JsonObject, number: int, language: str) -> JsonDict:
    """Convert a proposed scenario to a row of a scenario file, marked as proposed."""
    row: JsonDict = {"id": f"scenario-{number}", "language": language, "proposed": True}
    for name in _TEXTS:
        value = entry.get(name)
        if isinstance(value, str) and value.strip():
            row[name] = value.strip()
    for name in ("facts", "withheld"):
        facts = {
            str(fact["name"]): str(fact["value"])
            for fact in objects_in(entry.get(name))
            if fact.get("name") and fact.get("value")
        }
        if facts:
            row[name] = dict(facts)
    unknown = entry.get("unknown")
    if isinstance(unknown, list) and (names := [str(name) for name in unknown if name]):
        row["unknown"] = list(names)
    return row


@dataclass(frozen=True, kw_only=True, repr=False)
class ProposedScenarios(Result):
    """Scenarios proposed by a model. They are not run until a person accepts them."""

    scenarios: tuple[JsonDict, ...] = ()

    @property
    def verdict(self) -> str | None:
        return f"{len(self.scenarios)} scenarios" if self.scenarios else None


@dataclass(frozen=True)
class ScenarioWriter(ProposalJudge[ProposedScenarios]):
    """Has a model propose scenarios from a text.

    Parameters:
        models: the model that is asked; of several the first that answers counts.
        model: another name of ``models``.
        count: how many scenarios per text.
        criterion: what the conversations should show; None: whatever the text is about.
        language: of the prompt and the scenarios: "en" or "ru".
        temperature: by default the model's own setting, else 0.
        seed: of the request.
        max_repairs: how often it is asked again after a reply that cannot be read.
    """

    _: KW_ONLY
    count: int = 5
    criterion: str | None = None

    @property
    def criteria(self) -> Criteria:
        """The request for scenarios."""
        words = _WORDS[self.language].format(count=self.count)
        if self.criterion:
            words += _CRITERION[self.language].format(text=self.criterion)
        return Criteria("scenario proposal", words, to_evaluate_field=MATERIAL)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the configuration, including the wording of the request."""
        settings = super().configuration(criteria)
        return with_wording(
            settings, self.language, sentences=False, further_templates=ABOUT_SCENARIOS
        )

    def check(self, item: Instance) -> None:
        """Raise a SetupError if the text is empty."""
        if not str(item.fields.get(MATERIAL, "")).strip():
            raise SetupError("{id} is empty, so no scenario can be proposed from it", id=item.id)

    def ballot_of(self, item: Instance, model: str) -> Ballot:
        """Return the request for scenarios."""
        question = ScenarioQuestion((), language=self.language)
        return self.ballot_for(
            self.criteria, item, question, "scenario_proposal", model, 0, "generate"
        )

    def pool(self, item: Instance, votes: Sequence[Vote]) -> ProposedScenarios:
        """Return the first valid proposal, or a failed result if there is none."""
        verdict = next((vote.verdict for vote in votes if vote.verdict), None)
        return ProposedScenarios(
            instance=item,
            criteria=self.criteria,
            votes=tuple(votes),
            status=Status.SCORED if verdict else Status.FAILED,
            scenarios=tuple(json.loads(verdict.option)) if verdict else (),
        )

    async def aevaluate(
        self,
        texts: Mapping[str, str],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
    ) -> list[ProposedScenarios]:
        """Propose scenarios from each text. ``texts``: name → text."""
        rows = [Instance({MATERIAL: text}, name) for name, text in texts.items()]
        return await self.judge_items(rows, run=run, budget=budget)

    evaluate = sync_edge(aevaluate)
