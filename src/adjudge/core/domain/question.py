"""The question of a ballot: which option, which of several responses, or which number.

Each kind of question knows its possible answers in the order shown, the schema of an answer, how to
match a value to an answer, and how to map an answer back to the instance's own order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, SupportsIndex, TypeVar

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.numbers import match_number, without_note
from adjudge.core.domain.options import are_numbers, match_integer, match_option
from adjudge.core.domain.verdict import (
    TIE,
    Chosen,
    Compared,
    Details,
    Ranking,
    Rated,
    best_of,
    letter,
)
from adjudge.messages import Message

if TYPE_CHECKING:
    from adjudge.core.domain.reading import Reading
    from adjudge.core.domain.vote import Ballot

T = TypeVar("T")
Schema = JsonObject
AnswerKey = Literal["selected_option", "score"]
_TIES = ("ничья", "draw", "a tie", "a draw", "it's a tie", "equal")
_RESPONSE_WORD = re.compile(
    r"\W{0,10}(?:response|assistant|answer|model|output|candidate|option|ответ|вариант"
    r"|модель)[\s:_]+",
    re.IGNORECASE,
)
_BETTER = re.compile(r"\s*(>{1,3}|<{1,3}|[=≈])\s*")
# Characters of responses in their order, as "B > A".
_LONGEST_ORDER = 400
# Ballots that ask for a number are found in ledgers by criteria with this one option.
_NUMBER_IN_LEDGERS = CriteriaOption("<number>")


class _QuestionBase:
    """Defaults of all kinds of questions."""

    several: ClassVar[bool] = False
    """True if one reply answers for several texts."""
    quoted: ClassVar[bool] = False
    """True if an answer needs quotes from the sources."""
    cites: ClassVar[bool] = False
    """True if an answer names steps of a trajectory, which are shown with their numbers."""
    repair: ClassVar[str] = "repair"
    """The template that asks again if an answer cannot be read."""

    @property
    def answer_key(self) -> AnswerKey:
        """The key of the answer in a reply's object."""
        return "selected_option"

    @property
    def compared_responses(self) -> frozenset[int]:
        """The responses that are compared, by their index in the instance."""
        return frozenset()

    @property
    def asks_for_ranking(self) -> bool:
        """Return True if the question asks for the whole order of the responses."""
        return False

    @property
    def at_once(self) -> Sequence[tuple[str, Criteria]]:
        """The questions asked in one call, each with the field of its texts; empty for a single
        question.
        """
        return ()

    @property
    def places(self) -> tuple[str, ...]:
        """The keys of an answer that locate a step."""
        return ()

    @property
    def choices(self) -> str:
        """The values that a custom judge may return, in words."""
        return str(self)

    def arrange(self, options: Sequence[T]) -> Sequence[T]:
        """Return values that belong to the criterion's options in the order in which the options
        are shown.
        """
        return options

    def criteria_identity(self, criteria: Criteria) -> str:
        """Return the criterion's part of a ballot's identity."""
        return criteria.identity

    def check_reading(self, reading: Reading, ballot: Ballot, *, settle: bool) -> Reading:  # noqa: ARG002
        """Check everything that a reply must hold besides the option; return ``reading``, or a
        reading with the reason to ask again.

        ``settle``: the model will not be asked again.
        """
        return reading

    def read_objects(
        self,
        objects: Sequence[JsonObject],  # noqa: ARG002
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        """Read the verdicts on ``several`` texts from the objects of a reply; None if there are
        none.
        """
        return None


@dataclass(frozen=True)
class Choice(_QuestionBase):
    """A question that asks for one of the offered options.

    Example: ``Choice(("Yes", "No")).match("yes.")`` is ``Chosen("Yes")``.
    """

    options: tuple[str, ...]
    """In the order of the criterion. Empty: a text is asked for, such as a persona."""
    points: tuple[float | None, ...] = ()
    """The score of each option, if known."""
    order: tuple[int, ...] | None = None
    """The order in which they are shown; None: as listed."""

    def arrange(self, options: Sequence[T]) -> Sequence[T]:
        """Return values that belong to the criterion's options in the order in which the options
        are shown.
        """
        return tuple(options[place] for place in self.order) if self.order and options else options

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The possible answers, in the order shown."""
        return tuple(self.arrange(self.options))

    @cached_property
    def numeric(self) -> bool:
        """Return True if all possible answers are numbers."""
        return are_numbers(self.labels)

    @property
    def identity(self) -> str:
        """The question's part of a ballot's identity."""
        return f"{self.order}\0()\0None"

    def reverse(self) -> Choice:
        """Return the question with its options from the last to the first."""
        return _choice(self.options, self.points, tuple(reversed(range(len(self.options)))))

    def schema(self, *, feedback: bool = False) -> Schema:
        """Return the JSON schema of an answer."""
        return _option_schema(self.labels, feedback)

    def match(self, value: object, *, certain: bool = False) -> Chosen | None:
        """Return the option that ``value`` names, or None.

        ``certain``: it can be nothing else, so that "2: clear" is the option "2".
        """
        if isinstance(value, str) and self.labels.count(value) == 1:
            return Chosen(value)  # the common case, without normalising
        option = self._option(value)
        if option is None and certain and self.numeric and isinstance(value, str):
            option = self._option(without_note(value))
        return None if option is None else Chosen(option)

    def put_back(self, label: str) -> Chosen:
        """Return the verdict for a label. Options are named, so their order does not matter."""
        return Chosen(label)

    def match_returned(self, value: object) -> Chosen | None:
        """Return a custom judge's return value as a verdict; None if it is not an option."""
        return self.match(value)

    def restore(self, option: str, explanation: str | None, details: Details) -> Chosen:
        """Rebuild a verdict from its parts in a ledger."""
        return Chosen(option, explanation, details.get("feedback"), details.get("score"))

    def _option(self, value: object) -> str | None:
        return match_option(value, self.labels, self.arrange(self.points))

    def __str__(self) -> str:
        return Message("one of {labels}", labels=", ".join(self.labels))


@dataclass(frozen=True)
class Comparison(_QuestionBase):
    """A question that asks for the best of several responses.

    Example: with the order ``(1, 0)`` the label "A" stands for the response 1.
    """

    order: tuple[int, ...]
    """The responses, by their index in the instance, in the order they are shown."""
    tie: bool = True
    """True if a tie may be answered."""

    numeric: ClassVar[bool] = False

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The labels of the responses."""
        return tuple(map(letter, range(len(self.order))))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The possible answers, in the order shown."""
        return (*self.letters, TIE) if self.tie else self.letters

    @property
    def compared_responses(self) -> frozenset[int]:
        """The responses that are compared, by their index in the instance."""
        return frozenset(self.order)

    @property
    def asks_for_ranking(self) -> bool:
        """Return True if the question asks for the whole order: with more than two responses."""
        return len(self.order) > 2

    @property
    def identity(self) -> str:
        """The question's part of a ballot's identity."""
        return f"{self.order}\0{self.labels}\0None"

    def in_listed_order(self) -> Comparison:
        """Return the question about an instance that has only these responses, in the listed
        order.
        """
        return Comparison(tuple(range(len(self.order))), self.tie)

    def schema(self, *, feedback: bool = False) -> Schema:
        """Return the JSON schema of an answer."""
        return _option_schema(
            self.labels, feedback, self.letters if self.asks_for_ranking else (), self.tie
        )

    def match(self, value: object, *, certain: bool = False) -> Compared | None:
        """Return the response that ``value`` names.

        ``certain``: it can be nothing else, so "Response B" is "B", and an order such as "B > A"
        names the best.
        """
        label = self._label(value) if certain else match_option(value, self.labels)
        if (
            label is None
            and certain
            and isinstance(value, str)
            and (ranking := self.ranking(value))
        ):
            return Compared(best_of(ranking), ranking=ranking if self.asks_for_ranking else None)
        return None if label is None else self.put_back(label)

    def put_back(self, label: str) -> Compared:
        """Return the verdict for a label, in the instance's own order."""
        return Compared(None if label == TIE else self._index[label])

    def ranking(self, value: object) -> Ranking | None:
        """Return the order given by a list of labels, or by "B > A = C", with equal ones together.

        Return None unless each label is named once, and has ties only if ties are allowed.
        """
        items = _in_order(value) if isinstance(value, str) else value
        if not isinstance(items, list):
            return None
        groups = [self._group(item) for item in items]
        ranked_labels = [label for group in groups for label in group]
        ties = any(len(group) > 1 for group in groups)
        if (
            not all(groups)
            or sorted(ranked_labels) != sorted(self.letters)
            or (ties and not self.tie)
        ):
            return None
        return tuple(tuple(sorted(self._index[label] for label in group)) for group in groups)

    def best_first(self, labels: Sequence[str]) -> Compared:
        """Return the verdict for labels sorted best first; "tie" in front means that all are
        equal.
        """
        best = self.put_back(labels[0])
        if not self.asks_for_ranking:
            return best
        indexes = [self._index[label] for label in labels if label != TIE]
        return replace(
            best,
            ranking=tuple((index,) for index in indexes)
            if labels[0] != TIE
            else (tuple(sorted(indexes)),),
        )

    def match_returned(self, value: object) -> Compared | None:
        """Return a custom judge's return value as a verdict: a position among the shown responses,
        or a tie.

        Return None if it is neither.
        """
        if value == TIE:
            return Compared(None) if self.tie else None
        if isinstance(value, bool):  # True is an int, but not an index
            return None
        number = isinstance(value, SupportsIndex) or (isinstance(value, str) and value.isdecimal())
        # checked in the line before
        place = int(value) if number else -1  # type: ignore[call-overload]
        return Compared(self.order[place]) if 0 <= place < len(self.order) else None

    def ranking_of(self, ranks: Sequence[int | None]) -> Ranking | None:
        """Return the ranks of the shown responses as a ranking; None unless each has one."""
        given_ranks = [rank for rank in ranks if rank is not None]
        if len(given_ranks) != len(ranks) or len(ranks) != len(self.order):
            return None
        ranked = list(zip(self.order, given_ranks, strict=True))
        return tuple(
            tuple(sorted(index for index, rank in ranked if rank == shared_rank))
            for shared_rank in sorted(set(given_ranks))
        )

    @property
    def choices(self) -> str:
        """The values that a custom judge may return, in words."""
        return Message(
            "one of {labels}",
            labels=", ".join([*map(str, range(len(self.order))), *([TIE] if self.tie else [])]),
        )

    def restore(self, option: str, explanation: str | None, details: Details) -> Compared:
        """Rebuild a verdict from its parts in a ledger."""
        groups = details.get("ranking")
        ranking = None if groups is None else tuple(map(tuple, groups))
        return Compared(
            None if option == TIE else int(option), explanation, details.get("feedback"), ranking
        )

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return dict(zip(self.letters, self.order, strict=True))

    def _label(self, value: object, *, tie: bool = True) -> str | None:
        """Return the label that ``value`` names, bare or in words, or None: "Response B" is "B",
        «ничья» is "tie".
        """
        offered = self.labels if tie else self.letters
        label = match_option(value, offered) or match_option(_without_word(value), self.letters)
        return label or (TIE if TIE in offered and match_option(value, _TIES) else None)

    def _group(self, item: object) -> list[str]:
        several = item if isinstance(item, list) else [item]
        return [self._label(member, tie=False) or "" for member in several]

    def __str__(self) -> str:
        return Message("one of {labels}", labels=", ".join(self.labels))


@dataclass(frozen=True)
class Rating(_QuestionBase):
    """A question that is answered with a number."""

    bounds: tuple[float, float] | None = None
    """The lowest and the highest that may be answered; None: any integer."""

    order: ClassVar[None] = None
    labels: ClassVar[tuple[str, ...]] = ()
    numeric: ClassVar[bool] = True

    @property
    def answer_key(self) -> AnswerKey:
        """The key of the answer in a reply's object."""
        return "score" if self.bounds else "selected_option"

    @property
    def identity(self) -> str:
        """The question's part of a ballot's identity."""
        return f"None\0()\0{self.bounds}"

    def criteria_identity(self, criteria: Criteria) -> str:
        """Return the criterion's part of a ballot's identity."""
        return (
            replace(criteria, options=(_NUMBER_IN_LEDGERS,)).identity
            if self.bounds
            else criteria.identity
        )

    def schema(self, *, feedback: bool = False) -> Schema:
        """Return the JSON schema of an answer."""
        if self.bounds is None:
            return _answer({"selected_option": {"type": "integer"}}, feedback)
        # The bounds stand in the description: some providers refuse a schema with bounds.
        low, high = self.bounds
        return _answer(
            {"score": {"type": "number", "description": f"from {low:g} to {high:g}"}}, feedback
        )

    def match(self, value: object, *, certain: bool = False) -> Rated | None:
        """Return the number that ``value`` is or writes; None if it is not an allowed one.

        ``certain``: it can be nothing else, so that "2: clear" is 2.
        """
        number = self._number(value)
        if number is None and certain and isinstance(value, str):
            number = self._number(without_note(value))
        return None if number is None else Rated(number)

    def put_back(self, label: str) -> Rated:
        """Return the verdict for a number written as text."""
        return Rated(float(label) if self.bounds else int(label))

    def match_returned(self, value: object) -> Rated | None:
        """Return a custom judge's return value as a verdict; None if it is not an allowed
        number.
        """
        return self.match(value)

    def restore(self, option: str, explanation: str | None, details: Details) -> Rated:
        """Rebuild a verdict from its parts in a ledger."""
        number = details.get("number")
        return Rated(
            self.put_back(option).number if number is None else number,
            explanation,
            details.get("feedback"),
        )

    def _number(self, value: object) -> float | None:
        return match_integer(value) if self.bounds is None else match_number(value, *self.bounds)

    def __str__(self) -> str:
        return (
            Message("an integer")
            if self.bounds is None
            else Message(
                "a number from {lowest:g} to {highest:g}",
                lowest=self.bounds[0],
                highest=self.bounds[1],
            )
        )


Question = Choice | Comparison | Rating


def question_of(criteria: Criteria) -> Choice | Rating:
    """Return the question that a criterion asks about one text: a choice of its options, or any
    integer.
    """
    return Rating() if criteria.any_integer else _choice(criteria.option_names, criteria.points)


@lru_cache(maxsize=1024)
def _choice(
    options: tuple[str, ...], points: tuple[float | None, ...], order: tuple[int, ...] | None = None
) -> Choice:
    """Return one shared Choice per question: its cached properties then serve all ballots."""
    return Choice(options, points, order)


def _without_word(item: object) -> object:
    """Strip the first word of "Response A" or «Ответ A»; return other values unchanged."""
    return (
        _RESPONSE_WORD.sub("", item, count=1)
        if isinstance(item, str) and _RESPONSE_WORD.match(item)
        else item
    )


def _in_order(text: str) -> list[list[str]]:
    """Split "B > A = C" into B, then A and C; return an empty list for other texts.

    Only signs that say which is better make an order: "B, A" may be a list of both.
    """
    if len(text) > _LONGEST_ORDER or "!" in text:
        return []
    names = _BETTER.split(text.strip().strip("[]*`\"'. "))
    if "<" in text:
        names = [mark.replace("<", ">") for mark in reversed(names)] if ">" not in text else []
    groups = [names[:1]]
    for mark, name in zip(names[1::2], names[2::2], strict=True):
        if mark.startswith(">"):
            groups.append([name])
        else:
            groups[-1].append(name)
    return groups if len(names) > 1 else []


# -- schemas -----------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _option_schema(
    labels: tuple[str, ...], feedback: bool, ranked: tuple[str, ...] = (), tie: bool = False
) -> Schema:
    """Return the schema of an answer with exactly one of ``labels``, after a ranking of ``ranked``
    if there are any.
    """
    label: Schema = {"type": "string", "enum": list(ranked)}
    group: Schema = {"type": "array", "items": label}
    items: Schema = {"anyOf": [label, group]} if tie else label
    ranking: JsonDict = {"ranking": {"type": "array", "items": items}} if ranked else {}
    return _answer(
        {**ranking, "selected_option": {"type": "string", "enum": list(labels)}}, feedback
    )


def _answer(answer: Schema, feedback: bool) -> Schema:
    """Return the schema of an answer: the explanation first, then advice if it is asked for, then
    the answer.
    """
    advice = {"feedback": {"type": "string"}} if feedback else {}
    # The order makes the model explain before it decides.
    properties = {"explanation": {"type": "string"}, **advice, **answer}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
