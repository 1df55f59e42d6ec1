"""Labels: the answers of annotators about rows, and the answers that are possible."""

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
"""The ways to choose a row for labelling, the strongest first.

Labels of chosen rows never enter a corrected number.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, kw_only=True)
class Label:
    """The answer of one annotator about one row by one criterion.

    It is about the row, so it stays valid with a new judge.
    """

    row: str
    """The row's ``Instance.identity``."""
    criteria: str
    """The criteria's name; with ``row`` it says what the label is about."""
    annotator: str
    option: str | None = None
    """The chosen option, if the criterion has options."""
    score: float | None = None
    """The given number, if the criterion asks for one."""
    winner: Winner | None = None
    """The index of the better response as the row lists them, from 0, or "tie"."""
    state: State = "given"
    """The state of the answer; "withdrawn" takes the annotator's earlier label back."""
    criteria_identity: str | None = None
    """The exact wording of the criterion (``Criteria.identity``), if known."""
    kind: Kind = "human"
    design: Design = "chosen"
    """The way the row was chosen.

    Only rows drawn at random say something about the rows without labels.
    """
    judge_visible: bool = False
    """True if the annotator saw the judge's verdict."""
    note: str = ""
    at: float = 0.0
    """The time of the label, in seconds since 1970."""
    seed: int | None = None
    """The seed of the permutation by which the row was drawn."""
    drawn_at: float | None = None
    drawn_under: str | None = None
    """The identity of the judge within whose verdict the row was drawn. For other judges' verdicts
    the row is not a random one.
    """
    id: str | None = None
    """The run's id of the row, which distinguishes copies of one text; its position, from 1, if
    rows have no ids. None if the label is about all copies of the text.
    """
    drawn_by: str | None = None
    """The rule for the chance of a row drawn with its own chance: ``random-uncertain:0.2``."""
    chance: float | None = None
    """The chance that the row was drawn: the share of the rows of its kind that the queue takes."""
    step: int | None = None
    """The step at which an agent's work went wrong."""
    drawn_of: int | None = None
    """The number of rows of the run at that time: later rows could not be drawn. None if
    unknown.
    """

    def __post_init__(self) -> None:
        for name, value in (
            ("row", self.row),
            ("criteria", self.criteria),
            ("annotator", self.annotator),
        ):
            if not isinstance(value, str) or not value.strip():
                raise SetupError(
                    "the {name} of a label must be a string, not {value!r}", name=name, value=value
                )
        _check_choice("state", self.state, STATES)
        _check_choice("kind", self.kind, KINDS)
        _check_choice("design", self.design, DESIGNS)
        answers = [value for value in (self.option, self.score, self.winner) if value is not None]
        if len(answers) != (self.state == "given"):
            required = (
                Message("exactly one of option, score and winner")
                if self.state == "given"
                else Message("no answer")
            )
            raise SetupError(
                "a label that is {state} needs {wanted}, not {count}",
                state=self.state,
                wanted=required,
                count=len(answers),
            )
        self._check_chance()
        if self.step is not None and (type(self.step) is not int or self.step < 1):
            raise SetupError(
                "the step of a label must be a whole number of at least 1, not {step!r}",
                step=self.step,
            )
        if self.drawn_of is not None and (type(self.drawn_of) is not int or self.drawn_of < 1):
            raise SetupError(
                "drawn_of of a label must be a whole number of at least 1, not {drawn_of!r}",
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
                "a label of design random_weighted needs drawn_by and chance, from which the "
                "probability of drawing its row is known. Take them from an export, or use "
                "design chosen"
            )

    @property
    def answer(self) -> str | float | Winner | None:
        """The option, the score or the winner; None if no answer was given."""
        return next(
            (value for value in (self.option, self.score, self.winner) if value is not None), None
        )

    @property
    def is_by_person(self) -> bool:
        """Return True if a person gave an answer."""
        return self.state == "given" and self.kind != "model"

    @property
    def is_random(self) -> bool:
        """Return True if the row was drawn at random, with a known chance."""
        return self.design != "chosen"

    @property
    def is_of_text(self) -> bool:
        """Return True if the label counts for all copies of its text: it names no row, or has the
        seed of the queue.
        """
        # The queue draws each text once. Labels from files count for their own row: rows were drawn
        # there, so a text with more copies was drawn more often. If such a label also counted for
        # all copies, the number would lean towards these texts.
        return self.id is None or self.seed is not None

    @property
    def about(self) -> tuple[str, str | None]:
        """The identity of the labelled text, and the id if the label counts only for one row."""
        return self.row, None if self.is_of_text else self.id

    @property
    def is_done(self) -> bool:
        """Return True if its annotator has finished the row."""
        return self.state in ("given", "unsure")

    def to_dict(self) -> JsonDict:
        """Return this label as a JSON-ready dict."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


@dataclass(frozen=True)
class Answer:
    """An option, a number or a winner: one of the three possible answers about a row."""

    option: str | None = None
    score: float | None = None
    winner: Winner | None = None


@dataclass(frozen=True)
class LabelScale:
    """The possible answers about rows by one criterion: an option, a number, or the better
    response.
    """

    criteria: Criteria
    range: tuple[float, float] | None = None
    """The lowest and the highest number, if a number is asked for."""
    compares: bool = False
    """True if responses are compared."""
    ties: bool = True
    """True if compared responses may be equally good."""
    by_parts: bool = False
    """True if the votes of a judgment are about its sentences, or about other criteria too: then no
    vote is a verdict on the row.
    """

    @property
    def name(self) -> str:
        """The name of the criterion."""
        return self.criteria.name

    def choices(self, responses: int = 2) -> tuple[str, ...]:
        """Return the possible choices, among ``responses`` if they are compared; empty if a number
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
        """Read an answer from text; raise a ValueError that explains why there is none.

        ``responses``: the number of compared responses, if known; ``systems``: their names, in
        order.
        """
        if self.range:
            return Answer(score=_number(text, *self.range))
        if self.compares:
            return Answer(winner=self._winner(text.strip(), responses, systems))
        return Answer(option=self._option(text))

    def _option(self, text: str) -> str:
        matches = [name for name in self.criteria.option_names if _same(name, text)]
        if text in matches or len(matches) == 1:
            return text if text in matches else matches[0]
        raise ValueError(
            Message(
                "{text!r} is not an option of criterion {name!r}: {options}",
                text=text,
                name=self.name,
                options=", ".join(self.criteria.option_names),
            )
        )

    def _winner(self, text: str, responses: int | None, systems: Sequence[str]) -> Winner:
        """Read a winner from a letter, an index from 0 (as exports show it), or the name of a
        system.

        Raise a ValueError if the text is none of these, or ambiguous.
        """
        matches = [place for place, name in enumerate(systems) if _same(name, text)]
        if text.casefold() == TIE and self.ties and not matches:
            return "tie"
        most = len(ascii_uppercase) if responses is None else responses
        index = (
            ascii_uppercase.find(text.upper())
            if len(text) == 1 and not text.isdecimal()
            else _index(text)
        )
        if not 0 <= index < most:
            index = -1
        if len(matches) == 1 and index in (-1, matches[0]):
            return matches[0]
        if matches:
            raise ValueError(
                Message(
                    "{text!r} could be the system of that name or a position: write the letter "
                    "of the position, or rename the system",
                    text=text,
                )
                if len(matches) == 1
                else Message(
                    "several systems are named {text!r}: write the letter instead", text=text
                )
            )
        if index >= 0:
            return index
        choices = ", ".join(
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
                known=choices,
            )
        )


def labels(count: int) -> tuple[str, ...]:
    """Return the labels of compared responses: A, B, …, and their numbers after Z."""
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
    """Return True if an annotator who wrote ``text`` meant the option ``name``."""
    if name.strip().casefold() == text.strip().casefold():
        return True
    # A spreadsheet writes the option 4 as 4.0.
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
    """Return the index that a text writes, else -1."""
    try:
        value = float(text)
    except ValueError:
        return -1
    # A spreadsheet writes 1 as 1.0.
    return int(value) if value.is_integer() else -1
