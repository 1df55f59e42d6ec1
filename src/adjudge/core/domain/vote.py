"""Ballots and votes: one question to one model, with its verdict or its failure."""

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
"""Metadata key of votes by a decision model, which writes no explanation."""
PAID_WITH = "paid_with_another"
"""Metadata key of votes whose request also brought another vote, which has the usage."""
Mode = Literal["generate", "likelihood", "decide"]
_DIRECT, _ASPECT = "direct", "aspect"


@light_dataclass(frozen=True)
class Ballot:
    """One question to one model: everything that decides what is asked."""

    criteria: Criteria
    instance: Instance
    question: Question
    """The possible answers, in the order shown."""
    template: str
    model: str
    language: str = "en"
    mode: Mode = "generate"
    """The way to answer: the model writes, the options are compared by log-probability, or a
    decision model returns the probability of each.
    """
    feedback: bool = False
    """True if advice is asked for along with the verdict."""
    persona: str | None = None
    """The role that the judge is given."""
    sample: int = 0
    temperature: float = 0.0
    seed: int | None = None

    @cached_property
    def id(self) -> str:
        """A hash that is equal for ballots that ask one model the same, whatever the id of the
        instance.
        """
        return self._identity(self.criteria)

    @cached_property
    def request_id(self) -> str:
        """A hash that is equal for ballots with the same prompt."""
        # Only the templates of this package are known not to show the scores of options, nor the
        # name of an aspect.
        if self.template not in (_DIRECT, _ASPECT):
            return self.id
        criteria = self.criteria
        return self._identity(
            criteria.without_name if self.template == _ASPECT else criteria.without_scores
        )

    def _identity(self, criteria: Criteria) -> str:
        how = (
            f"{self.template}\0{self.model}\0{self.language}\0{self.mode}\0"
            f"{self.feedback}\0{self.persona}"
        )
        which = f"{self.question.identity}\0{self.sample}\0{float(self.temperature)}\0{self.seed}"
        content = (
            f"{self.question.criteria_identity(criteria)}{self.instance.identity}{which}\0{how}"
        )
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


class Outcome(StrEnum):
    """The way a vote ended. Only the first two carry a verdict."""

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
    """One ballot that was asked, with its verdict or the reason why there is none.

    Example: ``[vote.verdict.option for vote in result.votes if vote.valid]``
    """

    ballot: Ballot
    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None
    """The reason why there is no verdict."""
    text: str | None = None
    """The last reply as the model wrote it."""
    usage: Usage = Usage()
    latency: float = 0.0
    repairs: int = 0
    """Further calls it took to get a readable reply."""
    distribution: Mapping[str, float] | None = None
    """Probability of each option, if log-probabilities were read."""
    prompt_hash: str | None = None
    """The SHA-256 of the prompt that was last sent."""
    low_confidence: bool = False
    """True if the likeliest option is less likely than the model's calibration asks for."""
    metadata: Metadata = NOTHING
    """Data that a custom judge adds to its verdict."""
    answered_by: str = ""
    """The model that answered, as the last reply names it; empty if it does not, or if the reply
    was cached.
    """
    answered_before: str = ""
    """The model that earlier replies of the same model named, if it differs."""
    fingerprint: str = ""
    """The provider's fingerprint of its system; empty if ``answered_by`` is."""
    unfinished: bool = False
    """True if the run ended before the model could be asked again for a readable reply: not an
    answer yet.
    """

    @property
    def valid(self) -> bool:
        """Return True if this vote counts."""
        return self.verdict is not None

    @property
    def how_sure(self) -> str | None:
        """The probability of the verdict, if one was read, with a mark if it is low."""
        if self.verdict is None or not self.distribution:
            return None
        probability = self.distribution[self.verdict.option]
        if self.low_confidence:
            return Message("p = {probability:.2f} (low confidence)", probability=probability)
        return Message("p = {probability:.2f}", probability=probability)

    def __repr__(self) -> str:
        """Show model, sample and verdict, or why there is none, on one line."""
        text = self.verdict.option if self.verdict else " ".join(str(self.failure).split())
        line = text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
        return f"<Vote {self.model} #{self.ballot.sample}: {line}>"

    @property
    def failure(self) -> Message:
        """The outcome of a vote without a verdict, and its reason."""
        return join(": ", (_FAILURES[self.outcome], self.reason or ""))

    @property
    def model(self) -> str:
        """The model that was asked."""
        return self.ballot.model

    @property
    def sample(self) -> int:
        """The number of this repetition, from 0."""
        return self.ballot.sample

    @property
    def order(self) -> tuple[int, ...] | None:
        """The order in which options or responses were shown; None for options as listed, and for
        numbers.
        """
        return self.ballot.question.order

    def to_dict(self) -> JsonDict:
        """Return this vote as a JSON-ready dict."""
        return self.record().to_dict()

    def record(self) -> VoteRecord:
        """Return the vote as a part of a judgment's record."""
        ballot, verdict = self.ballot, self.verdict
        details = verdict.details if verdict else NOTHING
        return VoteRecord(
            model=ballot.model,
            sample=ballot.sample,
            order=ballot.question.order,
            outcome=self.outcome.value,
            option=verdict.option if verdict else None,
            number=details.get("number"),
            explanation=verdict.explanation if verdict else None,
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
        """Return the vote on ``ballot`` that a ledger holds."""
        verdict = None
        if kept.option is not None:
            verdict = ballot.question.restore(kept.option, kept.explanation, kept.details)
        return cls(
            ballot=ballot if kept.persona is None else replace(ballot, persona=kept.persona),
            outcome=Outcome(kept.outcome),
            verdict=verdict,
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


def usage_by_model(votes: Iterable[Vote | VoteRecord]) -> dict[str, Usage]:
    """Sum up the usage of votes per model."""
    usages: dict[str, Usage] = {}
    for vote in votes:
        model, usage = vote.model, vote.usage
        usages[model] = usages[model] + usage if model in usages else usage
    return usages


def count_answering_models(votes: Iterable[Vote | VoteRecord]) -> dict[tuple[str, str], int]:
    """Count votes per pair of the model that was asked and the model that its reply names."""
    counts: dict[tuple[str, str], int] = {}
    for vote in votes:
        if vote.answered_by:
            key = (vote.model, vote.answered_by)
            counts[key] = counts.get(key, 0) + 1
    return counts
