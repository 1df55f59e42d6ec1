"""One question and the answers it accepts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from adjudge.domain.frozen import content_hash
from adjudge.domain.instance import Instance
from adjudge.errors import SetupError

ANY_INTEGER = "<integer>"
"""The one option of criteria that accept any integer."""
ANY_NUMBER = "<number>"
"""The one option of criteria that ask for a number; the ballot says between which bounds."""
TIE = "tie"
"""What a comparison may end with besides a label."""


@dataclass(frozen=True)
class CriteriaOption:
    """One answer a judge may give."""

    name: str
    description: str = ""
    score: float | None = None

    @property
    def points(self) -> float | None:
        """The score; without one, the number that the option's name is."""
        if self.score is not None:
            return self.score
        try:
            value = float(self.name)
        except ValueError:
            return None
        return value if math.isfinite(value) else None


@dataclass(frozen=True)
class CriteriaExample:
    """A text that was judged, and how: shown to the judge before the one it is asked about."""

    fields: Mapping[str, str | Sequence[str]]
    option: str
    """The option it got; of compared responses, the label of the better one (A, B, …) or "tie"."""
    explanation: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", Instance(self.fields).fields)


@dataclass(frozen=True)
class Criteria:
    """One question, its options, the field it judges and the fields it may read."""

    name: str
    description: str
    options: Sequence[CriteriaOption] = ()
    """Left out where responses are compared: their labels are chosen from."""
    to_evaluate_field: str = "response"
    context_fields: Sequence[str] | None = None
    """None: every other field of the instance is context; empty: none is."""
    examples: Sequence[CriteriaExample] = ()
    higher_is_better: bool = True
    """Whether more of what the criteria is named after is better. Scores do not depend on it: 1.0 is the good end."""

    def __post_init__(self) -> None:
        if self.options != ():  # left out altogether, or all that there is to choose from
            object.__setattr__(self, "options", tuple(self.options or ()))
            _check_options(self.name, [getattr(option, "name", None) for option in self.options])
        if isinstance(self.context_fields, str):
            raise SetupError(f"context_fields of criteria {self.name!r} must be a list of field names, not a text")
        if self.context_fields is not None:
            object.__setattr__(self, "context_fields", tuple(self.context_fields))
        object.__setattr__(self, "examples", tuple(self.examples or ()))
        if self.options:  # without them the labels of responses are the options: judges know how many there are
            _check_examples(self.name, self.examples, self.option_names)

    @cached_property
    def identity(self) -> str:
        """Equal for criteria that say the same."""
        return content_hash(self)

    @property
    def option_names(self) -> tuple[str, ...]:
        """The offered answers in the order the criteria lists them."""
        return tuple(option.name for option in self.options)

    def option(self, name: str) -> CriteriaOption:
        """The option called ``name``."""
        return next(option for option in self.options if option.name == name)


def yes_no_criteria(question: str) -> Criteria:
    """The criteria that a plain question means: Yes is 1.0, No is 0.0."""
    if not question.strip():
        raise SetupError("the criterion is empty: say in a sentence what is to be judged")
    return Criteria(question, question, [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)])


def _check_options(criteria: str, names: list[str | None]) -> None:
    if not names:
        raise SetupError(f"criteria {criteria!r} offers no options: give it at least two")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise SetupError(f"criteria {criteria!r} has an option without a name: write CriteriaOption('Good')")
        if names.count(name) > 1:
            raise SetupError(f"criteria {criteria!r} offers the option {name!r} twice")


def _check_examples(criteria: str, examples: Sequence[CriteriaExample], names: Sequence[str]) -> None:
    """Compared responses may be a tie, which is no option of its own."""
    for example in examples:
        if example.option not in (*names, TIE):
            offered = ", ".join(names)
            raise SetupError(f"an example of criteria {criteria!r} has the option {example.option!r}; there are {offered}")
