"""Votes for options → the majority, of one model and of a panel, and what a
reader of it must know.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from adjudge.core.domain.criteria import Criteria, winner
from adjudge.core.domain.results import ModelVerdict, Status
from adjudge.core.domain.vote import Outcome, Vote
from adjudge.messages import Message, join
from adjudge.stats.rounding import equal


class Majority(NamedTuple):
    """The winning option and how clearly it won."""

    option: str
    agreement: float
    tie: bool


def majority(said: Sequence[str], criteria: Criteria) -> Majority | None:
    """The option most of ``said`` name.

    Tied: the one with the lowest score, else the one listed first.
    """
    if not said:
        return None
    if said[0] in criteria.option_names and said.count(said[0]) == len(said):
        return Majority(said[0], 1.0, tie=False)
    counts = Counter(said)
    option = winner(counts, criteria)
    top = counts[option]
    tie = sum(count == top for count in counts.values()) > 1
    return Majority(option, top / len(said), tie)


def samples_still_needed(
    said: Sequence[str],
    remaining: int,
    criteria: Criteria,
    min_valid: int = 1,
    *,
    abstained: bool = False,
) -> int:
    """How many of the ``remaining`` samples must be asked before the outcome could be settled; 0
    when it is.

    Settled means: whatever the remaining samples say, or fail to say, the winner stays, and so does
    whether there are ``min_valid`` votes; where there cannot be, whether a model ``abstained`` or
    all of them failed stays as well. Fewer samples than the number returned can settle nothing, so
    none of them is wasted.
    """
    counts = Counter(said)
    for asked in range(remaining):
        one_option = [(Counter({name: asked}), abstained) for name in criteria.option_names]
        ways = [
            (Counter[str](), abstained or asked > 0),
            *one_option,
        ]  # all abstain, or all say one thing
        if any(
            _settled(counts + way, remaining - asked, criteria, min_valid, declined)
            for way, declined in ways
        ):
            return asked
    return remaining


def _settled(
    counts: Counter[str], remaining: int, criteria: Criteria, min_valid: int, abstained: bool
) -> bool:
    valid = counts.total()
    if valid + remaining < min_valid:
        return abstained
    if valid < min_valid:
        return False
    now = winner(counts, criteria)
    return all(
        winner(counts + Counter({rival: remaining}), criteria) == now
        for rival in criteria.option_names
    )


class Panel(NamedTuple):
    """What the models say, and which of them could not be counted."""

    counted: tuple[ModelVerdict, ...]
    excluded: dict[str, str]

    @property
    def score(self) -> float | None:
        """The mean over the counted models; None when there is none."""
        if not self.counted:
            return None
        return sum(entry.score for entry in self.counted) / len(self.counted)

    def weighted(self, weights: Mapping[str, float]) -> float | None:
        """The mean with each model's weight, one half where both sides weigh the same; None where
        no counted model has a weight above 0.
        """
        total = math.fsum(weights[entry.model] for entry in self.counted)
        if total <= 0:
            return None
        mean = math.fsum(weights[entry.model] * entry.score for entry in self.counted) / total
        return 0.5 if equal(mean, 0.5) else mean


def panel(
    votes: Sequence[Vote], models: Sequence[str], criteria: Criteria, min_valid: int = 1
) -> Panel:
    """Every model by its own votes.

    One with fewer than ``min_valid`` valid ones is excluded, with the reason.
    """
    counted: list[ModelVerdict] = []
    excluded: dict[str, str] = {}
    for model in models:
        own = [vote for vote in votes if vote.ballot.model == model]
        entry = _model_verdict(model, own, criteria, min_valid)
        if entry:
            counted.append(entry)
        else:
            excluded[model] = why_excluded(own, min_valid)
    return Panel(tuple(counted), excluded)


def status_of(votes: Sequence[Vote], scored: bool) -> Status:
    """Scored; else abstained where a model declined to decide; else failed."""
    if scored:
        return Status.SCORED
    return Status.ABSTAINED if any_abstained(votes) else Status.FAILED


def any_abstained(votes: Sequence[Vote]) -> bool:
    """Whether a model declined to decide."""
    return any(vote.outcome is Outcome.ABSTAINED for vote in votes)


def why_excluded(votes: Sequence[Vote], min_valid: int) -> str:
    """The commonest reason among the votes that carry no verdict."""
    valid = sum(vote.valid for vote in votes)
    if valid >= min_valid:
        return Message("the option it chose has no score")
    reasons = Counter(vote.failure for vote in votes if not vote.valid)
    why = reasons.most_common(1)[0][0] if reasons else Message("no votes")
    if not valid:
        return why
    short = Message(
        "{valid} of {requested} votes valid, {needed} needed",
        valid=valid,
        requested=len(votes),
        needed=min_valid,
    )
    return join("; ", (short, why))


def _model_verdict(
    model: str, votes: Sequence[Vote], criteria: Criteria, min_valid: int
) -> ModelVerdict | None:
    said = [vote.verdict.option for vote in votes if vote.verdict]
    won = majority(said, criteria)
    if won is None or len(said) < min_valid:
        return None
    score = criteria.options[criteria.option_names.index(won.option)].score
    if score is None:
        return None
    return ModelVerdict(model, won.option, score, won.agreement, won.tie, len(said), len(votes))


ONE_ORDER = Message("asked in one order: a better response cannot be told from a better place")
"""What a reader must know of a comparison whose responses were shown in one order."""


NO_EXPLANATION = Message("no explanation: a decision model writes none")


def notes_on(
    votes: Sequence[Vote], temperatures: Mapping[str, float], *, persona: bool = False
) -> tuple[Message, ...]:
    """What a reader of these votes must know. ``temperatures``: what each model was asked at;
    ``persona``: whether the models were to invent who they are.
    """
    likely = {vote.model for vote in votes if vote.ballot.mode != "generate"}
    changed = [vote for vote in votes if vote.answered_before]
    if len(votes) < 2 and not likely and not changed:
        return ()  # nothing is repeated, and nothing was left out
    what = join(", ", _ignored(votes, persona))
    found = []
    if what:
        found.append(
            Message(
                "judged by token probabilities; not used: {what} (mode='generate' uses that)",
                what=what,
            )
        )
    if any(vote.ballot.mode == "decide" for vote in votes):
        found.append(NO_EXPLANATION)
    if any(vote.ballot.mode == "decide" and vote.ballot.criteria.examples for vote in votes):
        found.append(Message("a decision model is not shown the examples of the criterion"))
    found += dict.fromkeys(
        Message(
            "{model}: the reply names {now}, and earlier ones named {before}",
            model=one.model,
            now=one.answered_by,
            before=one.answered_before,
        )
        for one in changed
    )
    cold = {model for model, temperature in temperatures.items() if temperature == 0} - likely
    repeated = {model: count for model in temperatures if (count := _asked(model, votes)) > 1}
    if chosen := [model for model in repeated if model in likely]:
        found.append(
            Message(
                "{models}: votes by token probability are identical, so agreement says nothing "
                "about confidence",
                models=", ".join(chosen),
            )
        )
    if chosen := [model for model in repeated if model in cold]:
        found.append(
            Message(
                "{models}: {count} votes at temperature 0 repeat one answer, so agreement says "
                "nothing about confidence",
                models=", ".join(chosen),
                count=repeated[chosen[0]],
            )
        )
    return tuple(found)


def _ignored(votes: Sequence[Vote], persona: bool) -> Iterator[str]:
    """What judging by log-probability makes no use of."""
    ballots = [vote.ballot for vote in votes if vote.ballot.mode == "likelihood"]
    if any(ballot.criteria.examples for ballot in ballots):
        yield Message("the examples of the criterion")
    if any(ballot.feedback for ballot in ballots):
        yield Message("the request for feedback")
    if ballots and persona:
        yield Message("the synthetic persona")


def _asked(model: str, votes: Sequence[Vote]) -> int:
    """How often the model was asked the same."""
    return len({vote.sample for vote in votes if vote.model == model})
