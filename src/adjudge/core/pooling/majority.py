"""Pool votes for options into the majority of one model and of a panel, with notes for readers."""

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
    """Return the option with the most votes in ``said``; None without votes.

    A tie goes to the option with the lowest score, then to the one listed first.
    """
    if not said:
        return None
    # The common case of equal votes needs no counting.
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
    """Return how many of the ``remaining`` samples must be asked before the outcome could be
    settled; 0 if it is.

    The outcome is settled if no further samples can change the winner, or whether there are
    ``min_valid`` votes. If there cannot be enough, it must also be settled whether a model
    ``abstained`` or all failed. Fewer samples than returned cannot settle anything, so none is
    wasted.
    """
    counts = Counter(said)
    for count in range(remaining):
        one_option = [(Counter({name: count}), abstained) for name in criteria.option_names]
        # The samples that settle most quickly: all abstain, or all name one option.
        ways = [(Counter[str](), abstained or count > 0), *one_option]
        if any(
            _is_settled(counts + way, remaining - count, criteria, min_valid, declined)
            for way, declined in ways
        ):
            return count
    return remaining


def _is_settled(
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
    """The verdicts of the models, and the models that could not be counted."""

    counted: tuple[ModelVerdict, ...]
    excluded: dict[str, str]

    @property
    def score(self) -> float | None:
        """The mean over the counted models; None if there are none."""
        if not self.counted:
            return None
        return sum(entry.score for entry in self.counted) / len(self.counted)

    def weighted_score(self, weights: Mapping[str, float]) -> float | None:
        """Return the weighted mean; None if no counted model has a weight above 0."""
        total = math.fsum(weights[entry.model] for entry in self.counted)
        if total <= 0:
            return None
        mean = math.fsum(weights[entry.model] * entry.score for entry in self.counted) / total
        # Sums of weights may miss one half in the last digit, which would break a tie.
        return 0.5 if equal(mean, 0.5) else mean


def panel(
    votes: Sequence[Vote], models: Sequence[str], criteria: Criteria, min_valid: int = 1
) -> Panel:
    """Pool every model's own votes.

    A model with fewer than ``min_valid`` valid votes, or whose option has no score, is excluded,
    with the reason.
    """
    counted: list[ModelVerdict] = []
    excluded: dict[str, str] = {}
    for model in models:
        model_votes = [vote for vote in votes if vote.ballot.model == model]
        entry = _model_verdict(model, model_votes, criteria, min_valid)
        if entry:
            counted.append(entry)
        else:
            excluded[model] = explain_exclusion(model_votes, min_valid)
    return Panel(tuple(counted), excluded)


def status_of(votes: Sequence[Vote], scored: bool) -> Status:
    """Return scored, else abstained if a model declined to decide, else failed."""
    if scored:
        return Status.SCORED
    return Status.ABSTAINED if any_abstained(votes) else Status.FAILED


def any_abstained(votes: Sequence[Vote]) -> bool:
    """Return True if a model declined to decide."""
    return any(vote.outcome is Outcome.ABSTAINED for vote in votes)


def explain_exclusion(votes: Sequence[Vote], min_valid: int) -> str:
    """Return why a model is excluded: its option has no score, or too few votes are valid and why
    most failed.
    """
    valid = sum(vote.valid for vote in votes)
    if valid >= min_valid:
        return Message("the chosen option has no score")
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
    options = [vote.verdict.option for vote in votes if vote.verdict]
    winner_vote = majority(options, criteria)
    if winner_vote is None or len(options) < min_valid:
        return None
    score = criteria.options[criteria.option_names.index(winner_vote.option)].score
    if score is None:
        return None
    return ModelVerdict(
        model,
        winner_vote.option,
        score,
        winner_vote.agreement,
        winner_vote.tie,
        len(options),
        len(votes),
    )


ONE_ORDER = Message(
    "asked in one order only, so a better response cannot be told from a better position"
)
"""The note on a comparison whose responses were shown in one order."""


def replacement_notes(replaced: Mapping[str, str]) -> Iterator[Message]:
    """Yield a note on each member of a panel that was replaced."""
    for model, replacement in replaced.items():
        yield Message(
            "{model} gave no verdict, so {replacement} was asked instead",
            model=model,
            replacement=replacement,
        )


NO_EXPLANATION = Message("no explanation, because decision models generate no text")


def notes_on(
    votes: Sequence[Vote], temperatures: Mapping[str, float], *, persona: bool = False
) -> tuple[Message, ...]:
    """Return notes for readers of these votes.

    ``temperatures``: the temperature of each model; ``persona``: True if the models were to invent
    a persona.
    """
    likely = {vote.model for vote in votes if vote.ballot.mode != "generate"}
    renamed_votes = [vote for vote in votes if vote.answered_before]
    if len(votes) < 2 and not likely and not renamed_votes:
        return ()  # no votes are repeated and no setting was ignored
    notes = []
    if ignored := [*_ignored_settings(votes, persona)]:
        notes.append(
            Message(
                "judged by token probabilities; not used: {what} (mode='generate' uses that)",
                what=join(", ", ignored),
            )
        )
    decided = [vote.ballot for vote in votes if vote.ballot.mode == "decide"]
    if decided:
        notes.append(NO_EXPLANATION)
    if any(ballot.criteria.examples for ballot in decided):
        notes.append(Message("a decision model is not shown the examples of the criterion"))
    notes += dict.fromkeys(
        Message(
            "{model}: this reply names the model {now}; earlier replies named {before}",
            model=renamed.model,
            now=renamed.answered_by,
            before=renamed.answered_before,
        )
        for renamed in renamed_votes
    )
    if len(votes) < 2:
        return tuple(notes)  # nothing is repeated
    cold = {model for model, temperature in temperatures.items() if temperature == 0} - likely
    repeated = {
        model: count for model in temperatures if (count := _count_samples(model, votes)) > 1
    }
    if affected := [model for model in repeated if model in likely]:
        notes.append(
            Message(
                "{models}: votes by token probability are identical, so agreement says nothing "
                "about confidence",
                models=", ".join(affected),
            )
        )
    if affected := [model for model in repeated if model in cold]:
        notes.append(
            Message(
                "{models}: {count} votes at temperature 0 repeat the same answer, so agreement "
                "says nothing about confidence",
                models=", ".join(affected),
                count=repeated[affected[0]],
            )
        )
    return tuple(notes)


def _ignored_settings(votes: Sequence[Vote], persona: bool) -> Iterator[str]:
    """Yield the settings that voting by log-probability does not use."""
    ballots = [vote.ballot for vote in votes if vote.ballot.mode == "likelihood"]
    if any(ballot.criteria.examples for ballot in ballots):
        yield Message("the examples of the criterion")
    if any(ballot.feedback for ballot in ballots):
        yield Message("the request for feedback")
    if ballots and persona:
        yield Message("the synthetic persona")


def _count_samples(model: str, votes: Sequence[Vote]) -> int:
    """Return the number of different samples that the model was asked for."""
    return len({vote.sample for vote in votes if vote.model == model})
