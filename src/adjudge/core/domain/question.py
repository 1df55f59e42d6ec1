"""What a ballot asks: which option, which of several responses, or which number.

Each kind of question knows what may be answered, in the order it is shown, the schema of an answer,
which answer a value is, and what that answer is in the instance's own order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, SupportsIndex, TypeVar

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.json_types import JsonObject
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
_LONGEST_ORDER = 400
"""Characters of responses in their order, as "B > A"."""
_NUMBER_IN_LEDGERS = CriteriaOption("<number>")
"""Ballots that ask for a number are found in ledgers by criteria with this one option."""


class _Asked:
    """What is so unless a kind of question says otherwise."""

    several: ClassVar[bool] = False
    """Whether one reply answers for several texts."""
    quoted: ClassVar[bool] = False
    """Whether an answer needs quotes from the sources."""
    cites: ClassVar[bool] = False
    """Whether an answer names steps of a trajectory, which are shown with their numbers."""
    repair: ClassVar[str] = "repair"
    """The template that asks again where an answer cannot be read."""

    @property
    def answer_key(self) -> AnswerKey:
        """Under which name the answer stands in an object."""
        return "selected_option"

    @property
    def compared(self) -> frozenset[int]:
        """The responses that are compared, by their index in the instance."""
        return frozenset()

    @property
    def ranked(self) -> bool:
        """Whether the whole order of responses is asked for."""
        return False

    @property
    def at_once(self) -> Sequence[tuple[str, Criteria]]:
        """The questions that are asked in one call, each with the field whose texts it is about;
        none where there is one.
        """
        return ()

    @property
    def places(self) -> tuple[str, ...]:
        """What an answer says beside its option of where something happened."""
        return ()

    @property
    def choices(self) -> str:
        """What a judge of one's own may return, in words."""
        return str(self)

    def shown(self, options: Sequence[T]) -> Sequence[T]:
        """What belongs to the criteria's options, in the order in which these are shown."""
        return options

    def criteria_identity(self, criteria: Criteria) -> str:
        """What a ballot's identity says of its criteria."""
        return criteria.identity

    def check_reading(self, reading: Reading, ballot: Ballot, *, settle: bool) -> Reading:  # noqa: ARG002
        """Return ``reading`` with all else that a reply must hold beside the option, checked; or
        the reason to ask again.

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
        """Read the verdicts on ``several`` texts in the objects of a reply; None if there are
        none.
        """
        return None


@dataclass(frozen=True)
class Choice(_Asked):
    """Which of the offered options it is."""

    options: tuple[str, ...]
    """As the criteria lists them. Empty: a text is asked for, such as a persona."""
    points: tuple[float | None, ...] = ()
    """What each of them scores, where that is known."""
    order: tuple[int, ...] | None = None
    """The order in which they are shown; None: as listed."""

    def shown(self, options: Sequence[T]) -> Sequence[T]:
        """What belongs to the criteria's options, in the order in which these are shown."""
        return tuple(options[place] for place in self.order) if self.order and options else options

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What may be answered, in the order it is shown."""
        return tuple(self.shown(self.options))

    @cached_property
    def numeric(self) -> bool:
        """Whether only numbers may be answered."""
        return are_numbers(self.labels)

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"{self.order}\0()\0None"

    def reversed(self) -> Choice:
        """The same question with its options from the last to the first."""
        return _choice(self.options, self.points, tuple(reversed(range(len(self.options)))))

    def schema(self, *, feedback: bool = False) -> Schema:
        """JSON schema of an answer."""
        return _option_schema(self.labels, feedback)

    def match(self, value: object, *, certain: bool = False) -> Chosen | None:
        """The option that ``value`` names.

        ``certain``: it can be nothing else, so that "2: clear" is the option "2".
        """
        if isinstance(value, str) and self.labels.count(value) == 1:
            return Chosen(value)  # as most replies say it
        option = self._option(value)
        if option is None and certain and self.numeric and isinstance(value, str):
            option = self._option(without_note(value))
        return None if option is None else Chosen(option)

    def put_back(self, label: str) -> Chosen:
        """The verdict that the label stands for: options are named, whatever order they are shown
        in.
        """
        return Chosen(label)

    def chosen(self, value: object) -> Chosen | None:
        """What a judge of one's own returned, as a verdict."""
        return self.match(value)

    def recorded(self, option: str, explanation: str | None, details: Details) -> Chosen:
        """The verdict that a ledger holds."""
        return Chosen(option, explanation, details.get("feedback"), details.get("score"))

    def _option(self, value: object) -> str | None:
        return match_option(value, self.labels, self.shown(self.points))

    def __str__(self) -> str:
        return Message("one of {labels}", labels=", ".join(self.labels))


@dataclass(frozen=True)
class Comparison(_Asked):
    """Which of several responses is the best."""

    order: tuple[int, ...]
    """The responses, by their index in the instance, in the order they are shown."""
    tie: bool = True
    """Whether it may be answered that none is."""

    numeric: ClassVar[bool] = False

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The labels of the responses."""
        return tuple(map(letter, range(len(self.order))))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What may be answered, in the order it is shown."""
        return (*self.letters, TIE) if self.tie else self.letters

    @property
    def compared(self) -> frozenset[int]:
        """The responses that are compared, by their index in the instance."""
        return frozenset(self.order)

    @property
    def ranked(self) -> bool:
        """Whether the whole order of the responses is asked for: where there are more than two."""
        return len(self.order) > 2

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"{self.order}\0{self.labels}\0None"

    def listed(self) -> Comparison:
        """The same question about an instance that holds nothing but so many responses."""
        return Comparison(tuple(range(len(self.order))), self.tie)

    def schema(self, *, feedback: bool = False) -> Schema:
        """JSON schema of an answer."""
        return _option_schema(self.labels, feedback, self.letters if self.ranked else (), self.tie)

    def match(self, value: object, *, certain: bool = False) -> Compared | None:
        """The response that ``value`` names.

        ``certain``: it can be nothing else, so that "Response B" is "B".
        """
        label = self._label(value) if certain else match_option(value, self.labels)
        if (
            label is None
            and certain
            and isinstance(value, str)
            and (ranking := self.ranking(value))
        ):
            return Compared(best_of(ranking), ranking=ranking if self.ranked else None)
        return None if label is None else self.put_back(label)

    def put_back(self, label: str) -> Compared:
        """The verdict that the label stands for, in the instance's own order."""
        return Compared(None if label == TIE else self._index[label])

    def ranking(self, value: object) -> Ranking | None:
        """The order that a list of labels gives, or "B > A = C", equal ones together; None unless
        each is named once, and ties only where there may be some.
        """
        listed = _in_order(value) if isinstance(value, str) else value
        if not isinstance(listed, list):
            return None
        groups = [self._group(item) for item in listed]
        named = [label for group in groups for label in group]
        ties = any(len(group) > 1 for group in groups)
        if not all(groups) or sorted(named) != sorted(self.letters) or (ties and not self.tie):
            return None
        return tuple(tuple(sorted(self._index[label] for label in group)) for group in groups)

    def best_first(self, labels: Sequence[str]) -> Compared:
        """The verdict of labels that stand in an order, a tie among them: all are equal where that
        stands first.
        """
        best = self.put_back(labels[0])
        if not self.ranked:
            return best
        indexes = [self._index[label] for label in labels if label != TIE]
        return replace(
            best,
            ranking=tuple((one,) for one in indexes)
            if labels[0] != TIE
            else (tuple(sorted(indexes)),),
        )

    def chosen(self, value: object) -> Compared | None:
        """What a judge of one's own returned, as a verdict: a place among the shown responses, or a
        tie.
        """
        if value == TIE:
            return Compared(None) if self.tie else None
        if isinstance(value, bool):  # whose place would that be?
            return None
        number = isinstance(value, SupportsIndex) or (isinstance(value, str) and value.isdecimal())
        # checked in the line before
        place = int(value) if number else -1  # type: ignore[call-overload]
        return Compared(self.order[place]) if 0 <= place < len(self.order) else None

    def ranking_of(self, ranks: Sequence[int | None]) -> Ranking | None:
        """The ranks of the shown responses as a ranking; None unless each has one."""
        known = [rank for rank in ranks if rank is not None]
        if len(known) != len(ranks) or len(ranks) != len(self.order):
            return None
        ranked = list(zip(self.order, known, strict=True))
        return tuple(
            tuple(sorted(index for index, rank in ranked if rank == each))
            for each in sorted(set(known))
        )

    @property
    def choices(self) -> str:
        """What a judge of one's own may return, in words."""
        return Message(
            "one of {labels}",
            labels=", ".join([*map(str, range(len(self.order))), *([TIE] if self.tie else [])]),
        )

    def recorded(self, option: str, explanation: str | None, details: Details) -> Compared:
        """The verdict that a ledger holds."""
        groups = details.get("ranking")
        ranking = None if groups is None else tuple(map(tuple, groups))
        return Compared(
            None if option == TIE else int(option), explanation, details.get("feedback"), ranking
        )

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return dict(zip(self.letters, self.order, strict=True))

    def _label(self, value: object, *, tie: bool = True) -> str | None:
        """The label that ``value`` names, alone or as it was shown: "Response B" is "B", «ничья» is
        "tie".
        """
        offered = self.labels if tie else self.letters
        named = match_option(value, offered) or match_option(_without_word(value), self.letters)
        return named or (TIE if TIE in offered and match_option(value, _TIES) else None)

    def _group(self, item: object) -> list[str]:
        several = item if isinstance(item, list) else [item]
        return [self._label(one, tie=False) or "" for one in several]

    def __str__(self) -> str:
        return Message("one of {labels}", labels=", ".join(self.labels))


@dataclass(frozen=True)
class Rating(_Asked):
    """A question that is answered with a number."""

    bounds: tuple[float, float] | None = None
    """The lowest and the highest that may be answered; None: any integer."""

    order: ClassVar[None] = None
    labels: ClassVar[tuple[str, ...]] = ()
    numeric: ClassVar[bool] = True

    @property
    def answer_key(self) -> AnswerKey:
        """Under which name the answer stands in an object."""
        return "score" if self.bounds else "selected_option"

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"None\0()\0{self.bounds}"

    def criteria_identity(self, criteria: Criteria) -> str:
        """What a ballot's identity says of its criteria."""
        return (
            replace(criteria, options=(_NUMBER_IN_LEDGERS,)).identity
            if self.bounds
            else criteria.identity
        )

    def schema(self, *, feedback: bool = False) -> Schema:
        """JSON schema of an answer.

        The bounds are said in words: some providers refuse a schema with bounds.
        """
        if self.bounds is None:
            return _answer({"selected_option": {"type": "integer"}}, feedback)
        low, high = self.bounds
        return _answer(
            {"score": {"type": "number", "description": f"from {low:g} to {high:g}"}}, feedback
        )

    def match(self, value: object, *, certain: bool = False) -> Rated | None:
        """The number that ``value`` is or writes.

        ``certain``: it can be nothing else, so that "2: clear" is 2.
        """
        number = self._number(value)
        if number is None and certain and isinstance(value, str):
            number = self._number(without_note(value))
        return None if number is None else Rated(number)

    def put_back(self, label: str) -> Rated:
        """The verdict that a number in writing stands for."""
        return Rated(float(label) if self.bounds else int(label))

    def chosen(self, value: object) -> Rated | None:
        """What a judge of one's own returned, as a verdict."""
        return self.match(value)

    def recorded(self, option: str, explanation: str | None, details: Details) -> Rated:
        """The verdict that a ledger holds."""
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
    """What criteria with options ask of a text: one of these, as listed, or any integer."""
    return Rating() if criteria.any_integer else _choice(criteria.option_names, criteria.points)


@lru_cache(maxsize=1024)
def _choice(
    options: tuple[str, ...], points: tuple[float | None, ...], order: tuple[int, ...] | None = None
) -> Choice:
    """One for all ballots that ask it, which then share what it works out."""
    return Choice(options, points, order)


def _without_word(item: object) -> object:
    """ "Response A" and «Ответ A» → "A"."""
    return (
        _RESPONSE_WORD.sub("", item, count=1)
        if isinstance(item, str) and _RESPONSE_WORD.match(item)
        else item
    )


def _in_order(text: str) -> list[list[str]]:
    """ "B > A = C" → B, then A and C.

    Only what says which is better is an order: "B, A" may be a list of both.
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
    """Exactly one of ``labels``; before it the ranking of those in ``ranked``, where there are
    some.
    """
    ranking = {"ranking": _ranking(ranked, tie)} if ranked else {}
    return _answer(
        {**ranking, "selected_option": {"type": "string", "enum": list(labels)}}, feedback
    )


def _answer(asked: Schema, feedback: bool) -> Schema:
    """The explanation first, then advice where it is asked for, then what is asked."""
    advice = {"feedback": {"type": "string"}} if feedback else {}
    properties = {"explanation": {"type": "string"}, **advice, **asked}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _ranking(labels: Sequence[str], tie: bool) -> Schema:
    one: Schema = {"type": "string", "enum": list(labels)}
    together: Schema = {"type": "array", "items": one}
    return {"type": "array", "items": {"anyOf": [one, together]} if tie else one}
