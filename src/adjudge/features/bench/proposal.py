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

Change = Literal["wording", "examples", "both"]
CHANGES: tuple[Change, ...] = get_args(Change)
MOST_EXAMPLES = 3
TRIES = 3
"""How often the writer is asked until its reply can be read."""


@dataclass(frozen=True)
class Proposal:
    """Criteria proposed by a model."""

    criteria: Criteria
    explanation: str

    def changes(self, before: Criteria) -> Iterator[tuple[str, str, str]]:
        """Yield (what, before, after) for each difference."""
        proposed = self.criteria
        if proposed.description != before.description:
            yield "description", before.description, proposed.description
        for old, new in zip(before.options, proposed.options, strict=True):
            if old.description != new.description:
                yield f"option {old.name}", old.description, new.description
        for example in proposed.examples[len(before.examples) :]:
            *_, judged_text = example.fields.values()
            text = judged_text if isinstance(judged_text, str) else " | ".join(judged_text)
            yield "example", "", f"{' '.join(text.split())} → {example.option}"


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
        return 0 if self.change == "wording" or self.compares else MOST_EXAMPLES

    @property
    def wording(self) -> bool:
        """True if new wording is requested, as always for comparisons."""
        return self.change != "examples" or self.compares

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
        run: RunSettings | None,
        budget: Budget | None,
        prices: PriceTable | None = None,
    ) -> Proposal:
        """Request a proposal, again if the reply cannot be used.

        Replies are stored in ``run``, if it is given. Raise a RunError if no reply can be used.
        """
        prompt, reason = self.prompt(criteria, cases), ""
        about: dict[str, JsonObject] = {
            "writer": {
                "judge": "writer",
                "models": {self.model.name: {"identity": self.model.identity}},
            }
        }
        async with everything_in(run, about, budget, prices):
            # the first try is deterministic; later ones vary, since the first could not be used
            for sample in range(TRIES):
                vote = await written(
                    self.model,
                    Request(prompt, temperature=0.0 if sample == 0 else 1.0, sample=sample),
                )
                if vote.reason:
                    reason = vote.reason
                    continue
                try:
                    return self.read(vote.text or "", criteria, cases)
                except ValueError as error:
                    reason = str(error)
        raise RunError(
            "{name} proposed nothing that can be used in {tries} tries: {reason}",
            name=self.model.name,
            tries=TRIES,
            reason=reason,
        )

    propose = sync_edge(apropose)

    def read(self, text: str, criteria: Criteria, cases: Sequence[DisputedRow]) -> Proposal:
        """Parse the proposal in ``text``; raise a ValueError if there is no usable one."""
        reply = next((match.data for match in reversed(find_objects(text)) if match.data), None)
        if reply is None:
            raise WrongData("the reply holds no JSON object")
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
