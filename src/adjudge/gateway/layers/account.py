"""What a run has spent, in a form that outlives the process: no request is sent that the account does not know of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from adjudge.domain.message import Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """What something cost."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is not known; ``usd`` is without them."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd, self.unpriced + other.unpriced)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd, self.unpriced - other.unpriced)

    def __mul__(self, times: int) -> Spent:
        return Spent(self.calls * times, self.tokens * times, self.usd * times, self.unpriced * times)


@dataclass
class Account:
    """Requests by what came of them. ``leased`` is on the disk before they are sent, so that a kill loses none of them."""

    used: dict[str, Usage] = field(default_factory=dict)
    """Model → what its replies took."""
    failed: int = 0
    """Requests that brought no reply."""
    lost: Spent = Spent()
    """Requests that may have been under way when the process was killed; what they took is estimated."""
    leased: int = 0
    """Requests that may have been sent, as the disk knows or is about to know."""
    each: Spent = Spent()
    """What one of those is expected to take, at the dearest."""

    @property
    def settled(self) -> int:
        """Requests of which it is known what came of them, or that nobody will ever know."""
        return sum(usage.calls for usage in self.used.values()) + self.failed + self.lost.calls

    def add(self, model: str, usage: Usage) -> None:
        """A reply came."""
        self.used[model] = self.used.get(model, Usage()) + usage

    def lease(self, calls: int, each: Spent) -> None:
        """So many requests may be sent; of what each takes, the most so far counts."""
        self.leased = max(self.leased, calls)
        self.each = Spent(1, max(self.each.tokens, each.tokens), max(self.each.usd, each.usd), each.unpriced)

    def write_off(self) -> None:
        """After a kill: whatever was leased and never settled counts as sent."""
        self.lost += self.each * max(0, self.leased - self.settled)
        self.leased = self.settled

    def to_dict(self) -> dict[str, Any]:
        """The account as a JSON-ready dict."""
        return {
            "used": {model: astuple(usage) for model, usage in self.used.items()},
            "failed": self.failed,
            "lost": astuple(self.lost),
            "leased": self.leased,
            "each": astuple(self.each),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Account:
        """As ``to_dict`` wrote it."""
        used = {model: Usage(*numbers) for model, numbers in data["used"].items()}
        return cls(used, data["failed"], Spent(*data["lost"]), data["leased"], Spent(*data["each"]))
