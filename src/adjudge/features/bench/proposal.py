"""What a model proposes for criteria: other words, or examples; read from its reply, and nothing
that was not asked for.
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
    """Criteria as a model would have them."""

    criteria: Criteria
    explanation: str

    def changes(self, before: Criteria) -> Iterator[tuple[str, str, str]]:
        """(what, before, after) of everything that is different."""
        after = self.criteria
        if after.description != before.description:
            yield "description", before.description, after.description
        for old, new in zip(before.options, after.options, strict=True):
            if old.description != new.description:
                yield f"option {old.name}", old.description, new.description
        for one in after.examples[len(before.examples) :]:
            yield "example", "", f"{_line(one)} → {one.option}"


def _line(example: CriteriaExample) -> str:
    *_, judged = example.fields.values()
    return " ".join((judged if isinstance(judged, str) else " | ".join(judged)).split())


@dataclass(frozen=True)
class Writer:
    """Who is asked for a proposal, and for what."""

    model: OpenModel
    change: Change
    language: str
    compares: bool

    @property
    def examples(self) -> int:
        """How many are asked for at most; comparisons get none."""
        return 0 if self.change == "wording" or self.compares else MOST_EXAMPLES

    @property
    def wording(self) -> bool:
        """Whether other words are asked for."""
        return self.change != "examples" or self.compares

    def prompt(self, criteria: Criteria, cases: Sequence[DisputedRow]) -> Prompt:
        """What the writer is shown."""
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
        """Ask, and ask again where the reply cannot be read; the replies are kept in ``run``, where
        there is one.
        """
        prompt, reason = self.prompt(criteria, cases), ""
        about: dict[str, JsonObject] = {
            "writer": {
                "judge": "writer",
                "models": {self.model.name: {"identity": self.model.identity}},
            }
        }
        async with everything_in(run, about, budget, prices):
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
        """The proposal that ``text`` says. A ValueError says why it says none."""
        said = next((one.data for one in reversed(find_objects(text)) if one.data), None)
        if said is None:
            raise WrongData("the reply holds no JSON object")
        made = criteria
        if self.wording:
            made = replace(made, description=_text(said.get("description")) or made.description)
            made = replace(made, options=_options(made.options, said.get("options")))
        if self.examples:
            made = replace(
                made,
                examples=(
                    *made.examples,
                    *_examples(criteria, cases, said.get("examples"))[: self.examples],
                ),
            )
        if made == criteria:
            raise WrongData("the reply changes nothing")
        return Proposal(made, _text(said.get("explanation")))


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _options(options: Sequence[CriteriaOption], said: object) -> tuple[CriteriaOption, ...]:
    given = (
        {str(name): _text(value) for name, value in said.items()}
        if isinstance(said, Mapping)
        else {}
    )
    unknown = [name for name in given if name not in {one.name for one in options}]
    if unknown:
        raise WrongData(
            "the reply names the option {option!r}, which the criterion does not have",
            option=unknown[0],
        )
    return tuple(
        replace(one, description=given.get(one.name) or one.description) for one in options
    )


def _examples(
    criteria: Criteria, cases: Sequence[DisputedRow], said: object
) -> list[CriteriaExample]:
    """Only rows that the writer was shown, with what people say of them."""
    numbers = [one for one in said if isinstance(one, int)] if isinstance(said, list) else []
    chosen = [cases[one - 1] for one in dict.fromkeys(numbers) if 1 <= one <= len(cases)]
    return [CriteriaExample(shown_fields(criteria, one.instance), one.truth) for one in chosen]
