"""A ballot with its verdict or its failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from adjudge.domain.ballot import Ballot
from adjudge.domain.frozen import NOTHING, plain
from adjudge.domain.message import Usage
from adjudge.domain.verdict import Verdict


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
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
    metadata: Mapping[str, object] = NOTHING
    """What a judge of one's own has to say beside its verdict."""
    unfinished: bool = False
    """Whether the run ended before the model could be asked again for a readable reply: no answer yet."""

    @property
    def valid(self) -> bool:
        """Whether this vote counts."""
        return self.verdict is not None

    @property
    def how_sure(self) -> str | None:
        """The probability of the verdict, where one was read, with a mark where it is low."""
        if self.verdict is None or not self.distribution:
            return None
        return f"p = {self.distribution[self.verdict.option]:.2f}{' (low confidence)' if self.low_confidence else ''}"

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

    def to_dict(self) -> dict[str, object]:
        """This vote as a JSON-ready dict."""
        details = self.verdict.details if self.verdict else NOTHING
        return {
            "model": self.model,
            "sample": self.sample,
            "order": list(self.order) if self.order else None,
            "outcome": self.outcome.value,
            "option": self.verdict.option if self.verdict else None,
            "number": details.get("number"),
            "explanation": self.verdict.explanation if self.verdict else None,
            "feedback": details.get("feedback"),
            "ranking": plain(details.get("ranking")),
            "reason": self.reason,
            "text": self.text,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "calls": self.usage.calls,
            "tokens_estimated": self.usage.estimated > 0,
            "latency": round(self.latency, 4),
            "distribution": dict(self.distribution) if self.distribution else None,
            "low_confidence": self.low_confidence,
        }
