"""What a person says of a row, and what may be said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from string import ascii_uppercase
from typing import Literal, get_args

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.verdict import TIE
from adjudge.errors import SetupError
from adjudge.messages import Message

Winner = int | Literal["tie"]
State = Literal["given", "unsure", "skipped", "withdrawn"]
Kind = Literal["human", "expert", "model"]
Design = Literal["random", "random_within_verdict", "random_weighted", "chosen"]
DESIGNS: tuple[Design, ...] = get_args(Design)
"""How a row came to be labelled, the strongest first.

Labels of chosen rows never enter a corrected number.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, kw_only=True)
class Label:
    """What one annotator says of one row under one criteria.

    It is about the row, so it survives a new judge.
    """

    row: str
    """The row's ``Instance.identity``."""
    criteria: str
    """The criteria's name; with ``row`` it says what the label is about."""
    annotator: str
    option: str | None = None
    """The option that was chosen, where the criteria has options."""
    score: float | None = None
    """The number that was given, where the criteria asks for one."""
    winner: Winner | None = None
    """The index of the better response as the row lists them, from 0, or "tie"."""
    state: State = "given"
    """Whether an answer was given; "withdrawn" takes the annotator's earlier label back."""
    criteria_identity: str | None = None
    """The very wording of the criteria (``Criteria.identity``), where it is known."""
    kind: Kind = "human"
    design: Design = "chosen"
    """How the row was chosen.

    Only what was drawn at random says something of the rows that nobody looked at.
    """
    judge_visible: bool = False
    """Whether the annotator saw the judge's verdict."""
    note: str = ""
    at: float = 0.0
    """When, in seconds since 1970."""
    seed: int | None = None
    """Of the permutation that the row was drawn by."""
    drawn_at: float | None = None
    drawn_under: str | None = None
    """Of a row that was drawn within a verdict: the identity of the judge whose verdict it was. For
    another judge's verdicts the row is not a random one.
    """
    id: str | None = None
    """What the run calls the row, which tells copies of one text apart; its place, from 1, if rows
    have no ids. None if the label is about all copies of the text.
    """
    drawn_by: str | None = None
    """Of a row that was drawn with a chance of its own: what the chances follow, as
    ``random-uncertain:0.2``.
    """
    chance: float | None = None
    """The share of the rows of its kind that the queue takes: how likely it was to be drawn."""
    step: int | None = None
    """Of what an agent did: the step where it went wrong."""
    drawn_of: int | None = None
    """How many rows the run had when this one was drawn: rows that were added later could not be
    drawn. None if that is not known.
    """

    def __post_init__(self) -> None:
        for name, value in (
            ("row", self.row),
            ("criteria", self.criteria),
            ("annotator", self.annotator),
        ):
            if not isinstance(value, str) or not value.strip():
                raise SetupError("a label needs {name}: it is {value!r}", name=name, value=value)
        _check_choice("state", self.state, STATES)
        _check_choice("kind", self.kind, KINDS)
        _check_choice("design", self.design, DESIGNS)
        answers = [value for value in (self.option, self.score, self.winner) if value is not None]
        if len(answers) != (self.state == "given"):
            wanted = (
                Message("exactly one of option, score and winner")
                if self.state == "given"
                else Message("no answer")
            )
            raise SetupError(
                "a label that is {state} has {wanted}, not {count}",
                state=self.state,
                wanted=wanted,
                count=len(answers),
            )
        self._check_chance()
        if self.step is not None and (type(self.step) is not int or self.step < 1):
            raise SetupError(
                "the step of a label must be a number from 1, not {step!r}", step=self.step
            )
        if self.drawn_of is not None and (type(self.drawn_of) is not int or self.drawn_of < 1):
            raise SetupError(
                "drawn_of of a label must be a number of rows from 1, not {drawn_of!r}",
                drawn_of=self.drawn_of,
            )
        if self.score is not None and not math.isfinite(self.score):
            raise SetupError(
                "the score of a label must be a finite number, not {score}", score=self.score
            )

    def _check_chance(self) -> None:
        if self.chance is not None and not 0 < self.chance <= 1:
            raise SetupError(
                "the chance of a label must be above 0 and at most 1, not {chance}",
                chance=self.chance,
            )
        if self.design == "random_weighted" and (self.chance is None or not self.drawn_by):
            raise SetupError(
                "a label of design random_weighted needs drawn_by and chance: without them nobody "
                "knows how likely its row was to be drawn. Take them from an export, or say design "
                "chosen"
            )

    @property
    def answer(self) -> str | float | Winner | None:
        """The option, the score or the winner; None where no answer was given."""
        return next(
            (value for value in (self.option, self.score, self.winner) if value is not None), None
        )

    @property
    def is_by_person(self) -> bool:
        """Whether a person gave an answer."""
        return self.state == "given" and self.kind != "model"

    @property
    def is_random(self) -> bool:
        """Whether the row was drawn at random, with a chance that is known."""
        return self.design != "chosen"

    @property
    def is_of_text(self) -> bool:
        """Return True if the label counts for all copies of its text: it names no row, or the queue
        drew it (it has the seed), which draws each text once.

        Other labels come from files and count for their own row. Their rows were drawn, so a text
        was drawn the more often the more copies it has; if it counted with all of them, too, the
        number would lean towards such texts.
        """
        return self.id is None or self.seed is not None

    @property
    def about(self) -> tuple[str, str | None]:
        """The identity of the text that the label counts for, and the id if for one row alone."""
        return self.row, None if self.is_of_text else self.id

    @property
    def is_done(self) -> bool:
        """Whether its annotator is done with the row."""
        return self.state in ("given", "unsure")

    def to_dict(self) -> JsonDict:
        """This label as a JSON-ready dict."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


@dataclass(frozen=True)
class Answer:
    """One of the three things that may be said of a row."""

    option: str | None = None
    score: float | None = None
    winner: Winner | None = None


@dataclass(frozen=True)
class LabelScale:
    """What may be said of rows under one criteria: one of its options, a number, or which response
    is better.
    """

    criteria: Criteria
    range: tuple[float, float] | None = None
    """The lowest and the highest number, where a number is asked for."""
    compares: bool = False
    """Whether responses are compared."""
    ties: bool = True
    """Whether compared responses may be equally good."""
    by_parts: bool = False
    """Whether the votes of a judgment are about its sentences, or about other criteria as well:
    none is a verdict of its own.
    """

    @property
    def name(self) -> str:
        """What the criteria is called."""
        return self.criteria.name

    def choices(self, responses: int = 2) -> tuple[str, ...]:
        """What can be chosen from, of ``responses`` where they are compared; nothing where a number
        is asked for.
        """
        if self.range:
            return ()
        return (
            (*labels(responses), *((TIE,) if self.ties else ()))
            if self.compares
            else self.criteria.option_names
        )

    def read(self, text: str, responses: int | None = None, systems: Sequence[str] = ()) -> Answer:
        """What ``text`` says. A ValueError says why it says nothing. ``responses``: how many are
        compared, where known; ``systems``: what they are called, in their order.
        """
        if self.range:
            return Answer(score=_number(text, *self.range))
        if self.compares:
            return Answer(winner=self._winner(text.strip(), responses, systems))
        return Answer(option=self._option(text))

    def _option(self, text: str) -> str:
        found = [name for name in self.criteria.option_names if _same(name, text)]
        if text in found or len(found) == 1:
            return text if text in found else found[0]
        raise ValueError(
            Message(
                "{text!r} is not an option of criterion {name!r}: {options}",
                text=text,
                name=self.name,
                options=", ".join(self.criteria.option_names),
            )
        )

    def _winner(self, text: str, responses: int | None, systems: Sequence[str]) -> Winner:
        """A letter, the index that exports show, or the name of the system."""
        named = [place for place, name in enumerate(systems) if _same(name, text)]
        if text.casefold() == TIE and self.ties and not named:
            return "tie"
        most = len(ascii_uppercase) if responses is None else responses
        index = (
            ascii_uppercase.find(text.upper())
            if len(text) == 1 and not text.isdecimal()
            else _index(text)
        )
        if not 0 <= index < most:
            index = -1
        if len(named) == 1 and index in (-1, named[0]):
            return named[0]
        if named:
            raise ValueError(
                Message(
                    "{text!r} may be the system of that name or a place: write the letter of the "
                    "place, or rename the system",
                    text=text,
                )
                if len(named) == 1
                else Message("several systems are called {text!r}: write a letter", text=text)
            )
        if index >= 0:
            return index
        known = ", ".join(
            [
                *labels(responses or 2),
                *(["…"] if responses is None else []),
                *systems,
                *([TIE] if self.ties else []),
            ]
        )
        raise ValueError(
            Message(
                "{text!r} is not a response of criterion {name!r}: {known}, or an index from 0",
                text=text,
                name=self.name,
                known=known,
            )
        )


def labels(count: int) -> tuple[str, ...]:
    """How compared responses are called: A, B, …; beyond Z by their numbers."""
    return tuple(
        ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1)
        for place in range(count)
    )


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SetupError(
            "the {name} of a label must be one of {allowed}, not {value!r}",
            name=name,
            allowed=", ".join(allowed),
            value=value,
        )


def _same(name: str, text: str) -> bool:
    """Whether a person who wrote ``text`` meant the option ``name``; a spreadsheet writes the
    option 4 as 4.0.
    """
    if name.strip().casefold() == text.strip().casefold():
        return True
    try:
        return float(name) == float(text)
    except ValueError:
        return False


def _number(text: str, lowest: float, highest: float) -> float:
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = math.nan
    if lowest <= value <= highest:
        return value
    raise ValueError(
        Message(
            "{text!r} is not a number from {lowest:g} to {highest:g}",
            text=text,
            lowest=lowest,
            highest=highest,
        )
    )


def _index(text: str) -> int:
    """-1 where the text is none. A spreadsheet writes 1 as 1.0."""
    try:
        value = float(text)
    except ValueError:
        return -1
    return int(value) if value.is_integer() else -1
