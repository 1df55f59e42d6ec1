"""Verdicts from log-probabilities: one label token per option, with the prior taken out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase, digits
from typing import Literal

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import LogprobCalibration
from adjudge.core.domain.options import yes_and_no
from adjudge.core.domain.question import Comparison, Question, Rating
from adjudge.errors import SetupError

AS_READ = LogprobCalibration()
MOST_LETTERS = len(ascii_uppercase)
"""Most options that can have a letter each."""
LabelKind = Literal["yes_no", "number", "letter", "pair"]


@light_dataclass(frozen=True)
class Labels:
    """The token for each option, in the order of the options."""

    kind: LabelKind
    options: tuple[str, ...]
    tokens: tuple[str, ...]

    @property
    def fixes_order(self) -> bool:
        """True if the options are their own labels, so a different order would be a different
        question.
        """
        return self.kind in ("yes_no", "pair") or self.options == self.tokens


def labels_for(question: Question) -> Labels:
    """Return the labels of a question: Yes and No, the options' own digits or letters, else letters
    in turn.

    Compared responses have letters; a tie has the next one. Raise a SetupError if there are not
    enough letters, or if a number is asked for.
    """
    if isinstance(question, Comparison):
        if len(question.labels) > len(ascii_uppercase):
            raise SetupError(
                "{count} responses in one call are more than there are letters to label them: "
                "use contests='pairs' or mode='generate'",
                count=len(question.letters),
            )
        return Labels("pair", question.labels, tuple(ascii_uppercase[: len(question.labels)]))
    if isinstance(question, Rating):
        raise SetupError("a number cannot be chosen by token probabilities: use mode='generate'")
    names = question.options
    both = yes_and_no(names)
    if both:
        return Labels("yes_no", both, ("Yes", "No"))
    if set(names) <= set(digits):
        return Labels("number", names, names)
    if set(names) <= set(ascii_uppercase):
        return Labels("letter", names, names)
    if len(names) > len(ascii_uppercase):
        raise SetupError(
            "there are {count} options, but only 26 letters to label them: use mode='generate'",
            count=len(names),
        )
    return Labels("letter", question.labels, tuple(ascii_uppercase[: len(names)]))


def label_logprobs(alternatives: Mapping[str, float], labels: Labels) -> dict[str, float] | None:
    """Return the log-probability of each option, normalised; None if no label is among the
    alternatives.

    A label missing among the most likely tokens gets the value of the least likely one: it cannot
    have more.
    """
    mass = dict.fromkeys(labels.tokens, 0.0)
    for token, logprob in alternatives.items():
        # Models have several tokens for a label, such as "A" and " A".
        if token.strip() in mass:
            mass[token.strip()] += math.exp(logprob)
    if not any(mass.values()):
        return None
    least = math.exp(min(alternatives.values()))
    return _normalise(
        {
            option: math.log(mass[token] or least)
            for option, token in zip(labels.options, labels.tokens, strict=True)
        }
    )


def mean_logprobs(readings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average several readings of the same options."""
    return {
        option: sum(reading[option] for reading in readings) / len(readings)
        for option in readings[0]
    }


def distribution(
    reading: Mapping[str, float],
    prior: Mapping[str, float] | None = None,
    calibration: LogprobCalibration = AS_READ,
) -> dict[str, float]:
    """Return the probability of each option, with the prior taken out, calibrated."""
    weight, temperature = calibration.prior_weight, calibration.temperature
    free = {
        option: (value - weight * (prior[option] if prior else 0.0)) / temperature
        for option, value in reading.items()
    }
    return {option: math.exp(value) for option, value in _normalise(free).items()}


def _normalise(logs: Mapping[str, float]) -> dict[str, float]:
    # The largest is taken out first, so that exp() does not underflow.
    top = max(logs.values())
    total = top + math.log(sum(math.exp(value - top) for value in logs.values()))
    return {option: value - total for option, value in logs.items()}
