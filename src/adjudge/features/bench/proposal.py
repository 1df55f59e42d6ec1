"""Proposals of a model for criteria: new wording or examples, read from its reply.

Anything that was not requested is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Prompt, Request
from adjudge.core.engine.run import RunSettings, everything_in
from adjudge.core.engine.written_text import written
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.prompts.criteria_writing import DisputedRow, render_criteria_improvement
from adjudge.core.prompts.renderer import shown_fields
from adjudge.core.verdicts.lenient import find_objects
from adjudge.errors import RunError, WrongData

Change = Literal["wording", "examples", "order", "all"]
CHANGES: tuple[Change, ...] = get_args(Change)
MOST_EXAMPLES = 3
SPARE_REQUESTS = 2
"""How many replies of the writer may be useless before it is asked no more."""


@dataclass(frozen=True)
class Proposal:
    """Criteria proposed by a model."""

    criteria: Criteria
    explanation: str

    def changes(self, before: Criteria) -> Iterator[tuple[str, str, str]]:
        """Yield (what, before, after) for each difference."""
        proposed = self.criteria
        descriptions = {option.name: option.description for option in proposed.options}
        if proposed.description != before.description:
            yield "description", before.description, proposed.description
        for old in before.options:
            if old.description != descriptions[old.name]:
                yield f"option {old.name}", old.description, descriptions[old.name]
        if before.option_names != proposed.option_names:
            yield "options", ", ".join(before.option_names), ", ".join(proposed.option_names)
        for example in proposed.examples:
            if example not in before.examples:
                yield "example", "", _as_line(example)
        kept = [example for example in proposed.examples if example in before.examples]
        if kept != list(before.examples):
            yield (
                "examples",
                "; ".join(map(_as_line, before.examples)),
                "; ".join(map(_as_line, kept)),
            )


@dataclass(frozen=True)
class Writer:
    """A model that proposes changes to criteria."""

    model: OpenModel
    change: Change
    language: str
    compares: bool

    @property
    def examples(self) -> int:
        """The maximum number of examples to request; 0 for comparisons, or if only wording is
        requested.
        """
        return MOST_EXAMPLES if self.change in ("examples", "all") and not self.compares else 0

    @property
    def wording(self) -> bool:
        """True if new wording is requested, as always for comparisons."""
        return self.change in ("wording", "all") or self.compares

    def prompt(self, criteria: Criteria, cases: Sequence[DisputedRow]) -> Prompt:
        """Return the prompt for the writer."""
        return render_criteria_improvement(
            criteria,
            cases,
            self.language,
            wording=self.wording,
            examples=self.examples,
            compares=self.compares,
        )

    async def apropose(
        self,
        criteria: Criteria,
        cases: Sequence[DisputedRow],
        count: int,
        run: RunSettings | None,
        budget: Budget | None,
        prices: PriceTable | None = None,
    ) -> list[Proposal]:
        """Request ``count`` different proposals, and a few more if replies cannot be used.

        Replies are stored in ``run``, if it is given. Raise a RunError if no reply can be used.
        """
        prompt, reason = self.prompt(criteria, cases), ""
        about: dict[str, JsonObject] = {
            "writer": {
                "judge": "writer",
                "models": {self.model.name: {"identity": self.model.identity}},
            }
        }
        proposals: list[Proposal] = []
        async with everything_in(run, about, budget, prices):
            # the first request is deterministic; later ones vary, so that proposals differ
            for sample in range(count + SPARE_REQUESTS):
                if len(proposals) == count:
                    break
                vote = await written(
                    self.model,
                    Request(prompt, temperature=0.0 if sample == 0 else 1.0, sample=sample),
                )
                if vote.reason:
                    reason = vote.reason
                    continue
                try:
                    proposal = self.read(vote.text or "", criteria, cases)
                except ValueError as error:
                    reason = str(error)
                    continue
                if all(proposal.criteria != known.criteria for known in proposals):
                    proposals.append(proposal)
        if not proposals:
            raise RunError(
                "{name} made no usable proposal in {tries} attempts: {reason}",
                name=self.model.name,
                tries=count + SPARE_REQUESTS,
                reason=reason,
            )
        return proposals

    propose = sync_edge(apropose)

    def read(self, text: str, criteria: Criteria, cases: Sequence[DisputedRow]) -> Proposal:
        """Parse the proposal in ``text``; raise a ValueError if there is no usable one."""
        reply = next((match.data for match in reversed(find_objects(text)) if match.data), None)
        if reply is None:
            raise WrongData("the reply contains no JSON object")
        criteria_new = criteria
        if self.wording:
            criteria_new = replace(
                criteria_new,
                description=_text(reply.get("description")) or criteria_new.description,
            )
            criteria_new = replace(
                criteria_new, options=_options(criteria_new.options, reply.get("options"))
            )
        if self.examples:
            criteria_new = replace(
                criteria_new,
                examples=(
                    *criteria_new.examples,
                    *_examples(criteria, cases, reply.get("examples"))[: self.examples],
                ),
            )
        if criteria_new == criteria:
            raise WrongData("the reply changes nothing")
        return Proposal(criteria_new, _text(reply.get("explanation")))


def _as_line(example: CriteriaExample) -> str:
    *_, judged_text = example.fields.values()
    text = judged_text if isinstance(judged_text, str) else " | ".join(judged_text)
    return f"{' '.join(text.split())} → {example.option}"


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _options(options: Sequence[CriteriaOption], reply: object) -> tuple[CriteriaOption, ...]:
    descriptions = (
        {str(name): _text(value) for name, value in reply.items()}
        if isinstance(reply, Mapping)
        else {}
    )
    unknown = [name for name in descriptions if name not in {known.name for known in options}]
    if unknown:
        raise WrongData(
            "the reply names the option {option!r}, which the criterion does not have",
            option=unknown[0],
        )
    return tuple(
        replace(option, description=descriptions.get(option.name) or option.description)
        for option in options
    )


def _examples(
    criteria: Criteria, cases: Sequence[DisputedRow], reply: object
) -> list[CriteriaExample]:
    """Return the rows chosen by the writer as examples, with people's answers.

    Numbers of rows that it was not shown are ignored.
    """
    numbers = [item for item in reply if isinstance(item, int)] if isinstance(reply, list) else []
    rows = [cases[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(cases)]
    return [CriteriaExample(shown_fields(criteria, row.instance), row.truth) for row in rows]
