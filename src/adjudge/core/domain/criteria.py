"""One question and the answers it accepts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Protocol, runtime_checkable

from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.instance import GivenFields, Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.verdict import TIE, letter
from adjudge.errors import SetupError

ANY_INTEGER = "<integer>"
"""The single option of criteria that accept any integer."""
_YES = ("yes", "true", "да")
_NO = ("no", "false", "нет")
_SENTENCE_ENDS = (".", "?", "!", "…", "。", "？", "！")
_WORDS_OF_A_SENTENCE = 3


@light_dataclass(frozen=True)
class CriteriaOption:
    """One answer that a judge may give.

    Example: ``CriteriaOption("Yes", 1.0)``, or with a description before the score:
    ``CriteriaOption("Yes", "It is polite.", 1.0)``.
    """

    name: str
    description: str = ""
    score: float | None = None

    def __init__(
        self, name: str, description: str | float = "", score: float | None = None
    ) -> None:
        if isinstance(description, int | float) and not isinstance(description, bool):
            if score is not None:
                raise SetupError(
                    "option {name!r} has two scores, {first} and {second}: the description must "
                    "be a string",
                    name=name,
                    first=description,
                    second=score,
                )
            score, description = description, ""
        if not isinstance(description, str | None):
            raise SetupError(
                "the description of option {name!r} must be a string, not {kind}",
                name=name,
                kind=type(description).__name__,
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "description", description or "")
        object.__setattr__(self, "score", score)

    @property
    def points(self) -> float | None:
        """The score, else the number that the option's name is; None if it is not a finite
        number.
        """
        if self.score is not None:
            return self.score
        try:
            value = float(self.name)
        except ValueError:
            return None
        return value if math.isfinite(value) else None


@light_dataclass(frozen=True)
class CriteriaExample:
    """A judged text with its verdict, shown to the judge before the text to judge.

    Example: ``CriteriaExample({"response": "Paris."}, "Yes", "It is one word.")``
    """

    fields: GivenFields
    option: str
    """The option it got; of compared responses, the label of the better one (A, B, …) or "tie"."""
    explanation: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", Instance(self.fields).fields)


@runtime_checkable
class HasVerdict(Protocol):
    """A result of an earlier judgment, which may be given as an example."""

    @property
    def instance(self) -> Instance: ...

    @property
    def selected_option(self) -> str | int | None:
        """The option it got, or the index of the better response; None if there is neither."""
        ...

    @property
    def explanation(self) -> str | None: ...


@dataclass(frozen=True)
class Criteria:
    """One question with its options, the field it judges and the fields it may read.

    Example: ``Criteria("short", "Is it short?", [CriteriaOption("Yes", 1.0), CriteriaOption("No",
    0.0)])``
    """

    name: str
    description: str
    options: Sequence[CriteriaOption] = ()
    """Empty if responses are compared, since their labels are the options, or if a number is asked
    for.
    """
    to_evaluate_field: str = "response"
    context_fields: Sequence[str] | None = None
    """None: every other field of the instance is context; empty: none is."""
    examples: Sequence[CriteriaExample] = ()
    """Results of earlier judgments may be given as well; they become examples."""
    higher_is_better: bool = True
    """True if more of what the criterion is named after is better.

    Scores do not depend on it: 1.0 is the good end.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options or ()))
        if self.options:
            _check_options(
                self.name,
                [
                    option.name if isinstance(option, CriteriaOption) else None
                    for option in self.options
                ],
            )
        if isinstance(self.context_fields, str):
            raise SetupError(
                "context_fields of criterion {name!r} must be a list of field names, not a string",
                name=self.name,
            )
        if self.context_fields is not None:
            object.__setattr__(self, "context_fields", tuple(self.context_fields))
        object.__setattr__(
            self,
            "examples",
            tuple(_as_example(self.name, example) for example in self.examples or ()),
        )
        if not (self.description or "").strip() and not is_sentence(self.name or ""):
            raise SetupError(
                "criterion {criteria!r} has no description: describe in a sentence what to judge",
                criteria=self.name,
            )
        # Without options, the labels of responses are the options, and only judges know how many.
        if self.options:
            _check_examples(self.name, self.examples, self.option_names)

    @cached_property
    def identity(self) -> str:
        """A hash that is equal for criteria with the same content."""
        return content_hash(self)

    @cached_property
    def without_scores(self) -> Criteria:
        """The criterion without the scores of its options."""
        if all(option.score is None for option in self.options):
            return self
        return replace(
            self,
            options=tuple(replace(scored_option, score=None) for scored_option in self.options),
        )

    @cached_property
    def without_name(self) -> Criteria:
        """The criterion without scores, and without its name if a description says everything."""
        return (
            replace(self.without_scores, name="criterion")
            if self.description
            else self.without_scores
        )

    @property
    def definition(self) -> str:
        """The question: the description, else the name, which is then a sentence."""
        return self.description if (self.description or "").strip() else self.name

    @property
    def title(self) -> str:
        """The name if it adds to the definition, else an empty string."""
        return "" if (self.name or "").strip() == self.definition.strip() else self.name

    @property
    def titled_definition(self) -> str:
        """The title, if there is one, and the definition in one line."""
        return f"{self.title}: {self.definition}" if self.title else self.definition

    @property
    def best_options(self) -> tuple[str, ...]:
        """The options with the highest score.

        It is empty if that would be a guess: all options score the same, or less is better but Yes
        scores highest.
        """
        scores = {
            option.name: option.points for option in self.options if option.points is not None
        }
        best = tuple(name for name, score in scores.items() if score == max(scores.values()))
        contrary = not self.higher_is_better and any(
            name.strip().casefold() in _YES for name in best
        )
        return () if contrary or len(best) == len(self.options) else best

    @property
    def good_answer(self) -> str | None:
        """The better one of two options by score; None if there are not two, or if their scores do
        not differ.
        """
        if len(self.options) != 2:
            return None
        option_a, option_b = self.options
        if option_a.points is None or option_b.points is None or option_a.points == option_b.points:
            return None
        return option_a.name if option_a.points > option_b.points else option_b.name

    @property
    def is_yes_good(self) -> bool:
        """Return True if yes is the better of the options yes and no."""
        good = (self.good_answer or "").strip().casefold()
        return is_yes_or_no(self.option_names) and good in _YES

    @cached_property
    def option_names(self) -> tuple[str, ...]:
        """The offered answers, in the order listed."""
        return tuple(option.name for option in self.options)

    @cached_property
    def points(self) -> tuple[float | None, ...]:
        """The score of each option; None for an option without one."""
        return tuple(option.points for option in self.options)

    @cached_property
    def any_integer(self) -> bool:
        """Return True if any integer may be answered."""
        return self.option_names == (ANY_INTEGER,)

    def option(self, name: str) -> CriteriaOption:
        """Return the option called ``name``."""
        return next(option for option in self.options if option.name == name)

    @cached_property
    def points_of(self) -> Mapping[str, float | None]:
        """Map each option to its score, or to None if it has none."""
        return dict(zip(self.option_names, self.points, strict=True))

    def is_opposed_to(self, other: Criteria) -> bool:
        """Return True if one of two options is better here and worse in ``other``."""
        points = [
            (mine, theirs)
            for name, mine in self.points_of.items()
            if mine is not None and (theirs := other.points_of.get(name)) is not None
        ]
        return any(
            (mine - mine2) * (theirs - theirs2) < 0
            for (mine, theirs), (mine2, theirs2) in combinations(points, 2)
        )


def winner(counts: Mapping[str, float], criteria: Criteria) -> str:
    """Return the option with the most votes.

    A tie goes to the option with the lowest score, then to the one listed first.
    """

    def rank(name: str) -> tuple[float, float, int]:
        score = criteria.points_of[name]
        tie_rank = math.inf if score is None else score
        return -counts.get(name, 0), tie_rank, criteria.option_names.index(name)

    return min(criteria.option_names, key=rank)


def is_yes_or_no(names: Iterable[str]) -> bool:
    """Return True if all options are called yes or no."""
    return all(name.strip().casefold() in (*_YES, *_NO) for name in names)


def yes_no_criteria(question: str, *, is_yes_good: bool = True) -> Criteria:
    """Return the criterion of a plain question: the good answer scores 1.0, the other 0.0."""
    if not question.strip():
        raise SetupError("the criterion is empty: describe in a sentence what to judge")
    yes, no = (1.0, 0.0) if is_yes_good else (0.0, 1.0)
    options = [CriteriaOption("Yes", score=yes), CriteriaOption("No", score=no)]
    return Criteria(question, question, options, higher_is_better=is_yes_good)


def with_good_option(criteria: Criteria, good: str) -> Criteria:
    """Return the criterion with the option ``good`` (in any case) scored 1.0 and the others 0.0.

    Raise a SetupError if there is no such option, or if an option already has a score.
    """
    name = next(
        (
            candidate
            for candidate in criteria.option_names
            if candidate.casefold() == good.casefold()
        ),
        None,
    )
    if name is None:
        raise SetupError(
            "good is {good!r}, which is not one of {options}",
            good=good,
            options=", ".join(map(repr, criteria.option_names)),
        )
    if any(option.score is not None for option in criteria.options):
        raise SetupError("good replaces the scores of the options: give one or the other")
    options = [
        replace(candidate, score=float(candidate.name == name)) for candidate in criteria.options
    ]
    is_no = name.casefold() in _NO
    return replace(
        criteria, options=options, higher_is_better=criteria.higher_is_better and not is_no
    )


def is_sentence(text: str) -> bool:
    """Return True if a text can stand alone as a question or a demand; a bare name such as "tone"
    cannot.
    """
    return len(text.split()) >= _WORDS_OF_A_SENTENCE or text.rstrip().endswith(_SENTENCE_ENDS)


def _check_options(criteria: str, names: list[str | None]) -> None:
    checked_names: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise SetupError(
                "criterion {criteria!r} has an option without a name: write CriteriaOption('Good')",
                criteria=criteria,
            )
        if name in checked_names:
            raise SetupError(
                "criterion {criteria!r} has the option {name!r} twice",
                criteria=criteria,
                name=name,
            )
        checked_names.add(name)


def _as_example(criteria: str, example: object) -> CriteriaExample:
    """Return an example as it is, and turn a result into one; an index becomes the label of its
    response.

    Raise a SetupError for anything else, or if a result lacks a part.
    """
    if isinstance(example, CriteriaExample):
        return example
    if not isinstance(example, HasVerdict):
        raise SetupError(
            "an example of criterion {criteria!r} must be a CriteriaExample or the result of a "
            "judgment, not {name}",
            criteria=criteria,
            name=type(example).__name__,
        )
    option = example.selected_option
    if not isinstance(example.instance, Instance) or option is None:
        missing = "instance" if option is not None else "selected_option"
        raise SetupError(
            "an example of criterion {criteria!r} has no {missing}: an example needs a text and "
            "its option",
            criteria=criteria,
            missing=missing,
        )
    label = letter(option) if isinstance(option, int) else option
    return CriteriaExample(example.instance.fields, label, example.explanation or "")


def _check_examples(
    criteria: str, examples: Sequence[CriteriaExample], names: Sequence[str]
) -> None:
    """Raise a SetupError if an example has an unknown option."""
    # Compared responses may be a tie, which is not among their options.
    allowed = {*names, TIE}
    for example in examples:
        if example.option not in allowed:
            offered = ", ".join(names)
            raise SetupError(
                "an example of criterion {criteria!r} has the option {option!r}, which is not "
                "one of {offered}",
                criteria=criteria,
                option=example.option,
                offered=offered,
            )
