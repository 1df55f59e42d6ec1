"""What many results come to: how many were attempted, scored and failed, and the mean with its bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adjudge.domain.message import Usage
from adjudge.domain.results import Result, Status


@dataclass(frozen=True)
class Summary:
    """Counts and the mean score of what was scored."""

    attempted: int
    scored: int
    abstained: int
    failed: int
    mean: float | None
    """Over the scored results that have a number; None when there are none."""
    lower: float
    """The mean if every result that was not scored were the least it can be: 0, unless the result knows better."""
    upper: float
    """The mean if every one of them were the most it can be: 1, unless the result knows better."""
    usage: Usage
    without_number: int = 0
    """Scored, but no number: a comparison, or an option without points. They are in no mean, and in neither bound."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Of a panel: each model that did not count somewhere, and on how many rows."""

    @property
    def lost(self) -> list[str]:
        """The models of a panel that counted nowhere: what was asked for is not what was judged."""
        return [model for model, rows in self.excluded.items() if rows == self.attempted]

    def to_dict(self) -> dict[str, object]:
        """This summary as a JSON-ready dict."""
        return {
            "attempted": self.attempted,
            "scored": self.scored,
            "abstained": self.abstained,
            "failed": self.failed,
            "without_number": self.without_number,
            "mean": self.mean,
            "calls": self.usage.calls,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "calls_with_estimated_tokens": self.usage.estimated,
            "excluded_models": dict(self.excluded),
        }


class Tally:
    """Adds up results whose scores lie between 0 and 1, as they come."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(Status, 0)
        self._total, self._without_number, self._usage = 0.0, 0, Usage()
        self._least, self._most = 0.0, 0.0
        self._excluded: Counter[str] = Counter()

    def add(self, result: Result) -> None:
        """One more."""
        self._counts[result.status] += 1
        self._usage += result.usage
        self._excluded.update(list(result.left_out))
        if result.status is Status.SCORED:
            self._total += result.score or 0.0
            self._without_number += result.score is None
        else:
            least, most = result.bounds
            self._least += least
            self._most += most

    def summary(self) -> Summary:
        """What they come to so far."""
        attempted, scored, total = sum(self._counts.values()), self._counts[Status.SCORED], self._total
        numbers, possible = scored - self._without_number, attempted - self._without_number
        return Summary(
            attempted=attempted,
            scored=scored,
            abstained=self._counts[Status.ABSTAINED],
            failed=self._counts[Status.FAILED],
            mean=total / numbers if numbers else None,
            lower=(total + self._least) / possible if possible else 0.0,
            upper=(total + self._most) / possible if possible else 1.0,
            usage=self._usage,
            without_number=self._without_number,
            excluded=dict(self._excluded),
        )


def tally_of(results: Iterable[Result]) -> Tally:
    """``results``, added up."""
    tally = Tally()
    for result in results:
        tally.add(result)
    return tally


def summarise(results: Iterable[Result]) -> Summary:
    """What ``results`` come to."""
    return tally_of(results).summary()
