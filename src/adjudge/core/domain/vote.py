"""A ballot with its verdict or its failure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import Literal, TypeVar, cast

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict
from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.instance import Instance, Metadata
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.domain.question import Question
from adjudge.core.domain.record import VoteRecord
from adjudge.core.domain.verdict import Verdict
from adjudge.messages import Message, join

T = TypeVar("T")
DECIDED = "decided"
"""In a vote's metadata: it is of a decision model, which writes no explanation."""
PAID_WITH = "paid_with_another"
"""In a vote's metadata: its request also brought another vote, which has the usage."""
Mode = Literal["generate", "likelihood", "decide"]
_DIRECT, _ASPECT = "direct", "aspect"


@light_dataclass(frozen=True)
class Ballot:
    """Everything that decides what is asked; its identity is what it asks."""

    criteria: Criteria
    instance: Instance
    question: Question
    """What may be answered, and in which order it is shown."""
    template: str
    model: str
    language: str = "en"
    mode: Mode = "generate"
    """Whether the model writes an answer, the offered options are compared by their
    log-probability, or a decision model returns the probability of each.
    """
    feedback: bool = False
    """Whether advice is asked for along with the verdict."""
    persona: str | None = None
    """Who the judge is told to be."""
    sample: int = 0
    temperature: float = 0.0
    seed: int | None = None

    @cached_property
    def id(self) -> str:
        """Equal for ballots that ask the same of the same model.

        What the caller calls the instance is left out.
        """
        return self._identity(self.criteria)

    @cached_property
    def request_id(self) -> str:
        """Equal for ballots whose prompts are the same, where the templates of this package write
        them: none of them shows what an option scores, nor that of aspects what it is called.
        """
        if self.template not in (_DIRECT, _ASPECT):
            return self.id
        criteria = self.criteria
        return self._identity(criteria.unnamed if self.template == _ASPECT else criteria.unscored)

    def _identity(self, criteria: Criteria) -> str:
        how = (
            f"{self.template}\0{self.model}\0{self.language}\0{self.mode}\0"
            f"{self.feedback}\0{self.persona}"
        )
        which = f"{self.question.identity}\0{self.sample}\0{float(self.temperature)}\0{self.seed}"
        asked = f"{self.question.criteria_identity(criteria)}{self.instance.identity}{which}\0{how}"
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()


class Outcome(StrEnum):
    """How a vote ended. Only the first two carry a verdict."""

    OK = "ok"
    REPAIRED = "repaired"
    """Read after mending the text or asking again."""
    ABSTAINED = "abstained"
    """The model answered that it does not decide."""
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    MODEL_ERROR = "model_error"


_FAILURES = {
    Outcome.OK: Message("ok"),
    Outcome.REPAIRED: Message("repaired"),
    Outcome.ABSTAINED: Message("abstained"),
    Outcome.UNREADABLE: Message("unreadable"),
    Outcome.REFUSED: Message("refused"),
    Outcome.MODEL_ERROR: Message("model_error"),
}


_LONGEST_SHOWN = 60


@light_dataclass(frozen=True, kw_only=True)
class Vote(HtmlRepr):
    """One asked ballot, whatever came of it."""

    ballot: Ballot
    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None
    """Why there is no verdict."""
    text: str | None = None
    """The last reply as the model wrote it."""
    usage: Usage = Usage()
    latency: float = 0.0
    repairs: int = 0
    """Further calls it took to get a readable reply."""
    distribution: Mapping[str, float] | None = None
    """Probability of each option, where log-probabilities were read."""
    prompt_hash: str | None = None
    """The SHA-256 of the prompt that was last sent."""
    low_confidence: bool = False
    """Whether the likeliest option is less likely than the model's calibration asks for."""
    metadata: Metadata = NOTHING
    """What a judge of one's own has to say beside its verdict."""
    answered_by: str = ""
    """The model that answered, as the last reply names it; empty where it does not say, and of
    replies that were kept.
    """
    answered_before: str = ""
    """What earlier replies of the same model named, where that is another."""
    fingerprint: str = ""
    """What the provider says its system is at that time; empty as ``answered_by`` is."""
    unfinished: bool = False
    """Whether the run ended before the model could be asked again for a readable reply: no answer
    yet.
    """

    @property
    def valid(self) -> bool:
        """Whether this vote counts."""
        return self.verdict is not None

    @property
    def how_sure(self) -> str | None:
        """The probability of the verdict, where one was read, with a mark where it is low."""
        if self.verdict is None or not self.distribution:
            return None
        probability = self.distribution[self.verdict.option]
        if self.low_confidence:
            return Message("p = {probability:.2f} (low confidence)", probability=probability)
        return Message("p = {probability:.2f}", probability=probability)

    def __repr__(self) -> str:
        """Show model, sample and verdict, or why there is none, on one line."""
        said = self.verdict.option if self.verdict else " ".join(str(self.failure).split())
        shown = said if len(said) <= _LONGEST_SHOWN else f"{said[: _LONGEST_SHOWN - 1]}…"
        return f"<Vote {self.model} #{self.ballot.sample}: {shown}>"

    @property
    def failure(self) -> Message:
        """How it ended without a verdict, and why."""
        return join(": ", (_FAILURES[self.outcome], self.reason or ""))

    @property
    def model(self) -> str:
        """The model that was asked."""
        return self.ballot.model

    @property
    def sample(self) -> int:
        """Which repetition this was."""
        return self.ballot.sample

    @property
    def order(self) -> tuple[int, ...] | None:
        """The order in which options or responses were shown."""
        return self.ballot.question.order

    def to_dict(self) -> JsonDict:
        """This vote as a JSON-ready dict."""
        return self.record().to_dict()

    def record(self) -> VoteRecord:
        """As a record of the judgment has it."""
        ballot, said = self.ballot, self.verdict
        details = said.details if said else NOTHING
        return VoteRecord(
            model=ballot.model,
            sample=ballot.sample,
            order=ballot.question.order,
            outcome=self.outcome.value,
            option=said.option if said else None,
            number=details.get("number"),
            explanation=said.explanation if said else None,
            feedback=details.get("feedback"),
            ranking=details.get("ranking"),
            reason=self.reason,
            text=self.text,
            usage=self.usage,
            latency=self.latency,
            distribution=self.distribution,
            low_confidence=self.low_confidence,
            evidence=_tuple(details.get("evidence")),
            each=_tuple(details.get("each")),
            cited=_tuple(details.get("cited")),
            place=details.get("place"),
            score=details.get("score"),
            answered_by=self.answered_by or None,
            answered_before=self.answered_before or None,
            fingerprint=self.fingerprint or None,
            persona=ballot.persona,
            repairs=self.repairs,
            metadata=cast(JsonObject, self.metadata),
            prompt=self.prompt_hash,
            unfinished=self.unfinished,
        )

    @classmethod
    def of(cls, ballot: Ballot, kept: VoteRecord) -> Vote:
        """The vote on ``ballot`` that a ledger holds."""
        said = None
        if kept.option is not None:
            said = ballot.question.recorded(kept.option, kept.explanation, kept.details)
        return cls(
            ballot=ballot if kept.persona is None else replace(ballot, persona=kept.persona),
            outcome=Outcome(kept.outcome),
            verdict=said,
            reason=kept.reason,
            text=kept.text,
            usage=kept.usage,
            latency=kept.latency,
            repairs=kept.repairs,
            distribution=FrozenDict(kept.distribution) if kept.distribution else None,
            prompt_hash=kept.prompt,
            low_confidence=kept.low_confidence,
            metadata=FrozenDict(kept.metadata),
            answered_by=kept.answered_by or "",
            answered_before=kept.answered_before or "",
            fingerprint=kept.fingerprint or "",
            unfinished=kept.unfinished,
        )


def _tuple(values: Iterable[T] | None) -> tuple[T, ...] | None:
    return None if values is None else tuple(values)


def used_by(votes: Iterable[Vote | VoteRecord]) -> dict[str, Usage]:
    """Model → what its votes took."""
    found: dict[str, Usage] = {}
    for vote in votes:
        model, usage = vote.model, vote.usage
        found[model] = found[model] + usage if model in found else usage
    return found


def named_by(votes: Iterable[Vote | VoteRecord]) -> dict[tuple[str, str], int]:
    """The model that was asked, and the one that its reply names → how many votes."""
    found: dict[tuple[str, str], int] = {}
    for vote in votes:
        if vote.answered_by:
            key = (vote.model, vote.answered_by)
            found[key] = found.get(key, 0) + 1
    return found
