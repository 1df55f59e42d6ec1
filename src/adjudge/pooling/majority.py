"""The majority of options, its tie rule, and when it can no longer change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.domain.criteria import Criteria


@dataclass(frozen=True, slots=True)
class Majority:
    """The winning option and how clearly it won."""

    option: str
    agreement: float
    tie: bool


def majority(said: Sequence[str], criteria: Criteria) -> Majority | None:
    """The option most of ``said`` name. Tied: the one with the lowest score, else the one listed first."""
    if not said:
        return None
    if said[0] in criteria.option_names and said.count(said[0]) == len(said):
        return Majority(said[0], 1.0, tie=False)
    counts = Counter(said)
    option = winner(counts, criteria)
    top = counts[option]
    tie = sum(count == top for count in counts.values()) > 1
    return Majority(option, top / len(said), tie)


def winner(counts: Mapping[str, float], criteria: Criteria) -> str:
    """The option with most votes, by the tie rule."""
    return min(criteria.option_names, key=lambda name: (-counts.get(name, 0), *_tie_rank(name, criteria)))


def samples_still_needed(said: Sequence[str], remaining: int, criteria: Criteria, min_valid: int = 1) -> int:
    """How many of the ``remaining`` samples must be asked before the verdict could be settled; 0 when it is.

    Settled means: whatever the remaining samples say, or fail to say, the winner stays, and so does whether there are
    ``min_valid`` votes. Fewer samples than the number returned can settle nothing, so none of them is wasted.
    """
    counts = Counter(said)
    for asked in range(remaining):
        ways = [Counter[str](), *(Counter({name: asked}) for name in criteria.option_names)]  # all fail, or all say one thing
        if any(_settled(counts + way, remaining - asked, criteria, min_valid) for way in ways):
            return asked
    return remaining


def _settled(counts: Counter[str], remaining: int, criteria: Criteria, min_valid: int) -> bool:
    valid = counts.total()
    if valid + remaining < min_valid:
        return True
    if valid < min_valid:
        return remaining == 0
    now = winner(counts, criteria)
    return all(winner(counts + Counter({rival: remaining}), criteria) == now for rival in criteria.option_names)


def _tie_rank(name: str, criteria: Criteria) -> tuple[float, int]:
    score = criteria.option(name).points
    return (score if score is not None else float("inf"), criteria.option_names.index(name))
