"""Verdicts: a chosen option, compared responses, or a number.

``option`` is every verdict in writing, as reports and ledgers show it; ``details`` is the rest that
a ledger stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Literal, TypedDict

from adjudge.core.domain.light_dataclass import light_dataclass

TIE = "tie"
"""The verdict that no response is the best."""


def letter(place: int) -> str:
    """Return the label of the response at an index: A to Z, then AA, AB, … as in a spreadsheet."""
    prefix, position = divmod(place, len(ascii_uppercase))
    # Minus one, since AA follows Z: there is no digit zero.
    return (letter(prefix - 1) if prefix else "") + ascii_uppercase[position]


Selection = int | Literal["tie"]
"""The index of the best of compared responses, or "tie"."""
Ranking = tuple[tuple[int, ...], ...]
"""Indexes of compared responses, best first; equal ones share a group."""
QuotedBy = Literal["model", "program"]


class KeptQuote(TypedDict):
    """A quote as ledgers and reports have it."""

    fragment: int
    quote: str
    start: int
    by: QuotedBy


@light_dataclass(frozen=True)
class Quote:
    """An exact passage of a fragment. A program located it, even if the model chose it."""

    fragment: int
    text: str
    start: int
    """Its start in the fragment."""
    by: QuotedBy = "model"
    """"program" if a program chose the most similar passage, not the model."""

    def to_dict(self) -> KeptQuote:
        return {"fragment": self.fragment, "quote": self.text, "start": self.start, "by": self.by}

    @classmethod
    def of(cls, kept: KeptQuote) -> Quote:
        return cls(kept["fragment"], kept["quote"], kept["start"], kept["by"])


class KeptSupport(TypedDict):
    """The verdict on one of several sentences, in the form of a ledger."""

    option: str
    explanation: str | None
    evidence: list[KeptQuote]


CitationFound = Literal["proven", "moved", "invented", "void", "absent"]
"""A program's finding on a piece of evidence. proven: the quote is in the named step; moved: in
another one, whose number replaces it; invented: in none; void: the step does not exist; absent:
something is missing, so nothing can be quoted.
"""


class KeptCitation(TypedDict):
    """A piece of evidence in the form of ledgers and reports: a step with a quote, or what is
    absent.
    """

    step: int | None
    quote: str | None
    absent: str | None
    found: CitationFound


class KeptPlace(TypedDict):
    """The step, agent or paragraph of an event, in the form of a ledger."""

    step: int | None
    agent: str | None
    paragraph: int | None


class Details(TypedDict, total=False):
    """Parts of a verdict other than option and explanation; each kind has its own."""

    feedback: str | None
    score: float | None
    ranking: Ranking | None
    number: float | None
    evidence: Sequence[KeptQuote] | None
    each: Sequence[KeptSupport] | None
    cited: Sequence[KeptCitation] | None
    place: KeptPlace | None


@light_dataclass(frozen=True)
class Chosen:
    """One of the offered options, or the text if a text was asked for."""

    option: str
    explanation: str | None = None
    feedback: str | None = None
    score: float | None = None
    """The judge's own score, if it gave one; else the option's counts."""

    @property
    def details(self) -> Details:
        """The parts other than the option and the explanation."""
        return {"feedback": self.feedback, "score": self.score}


@light_dataclass(frozen=True)
class Compared:
    """The best of the compared responses."""

    winner: int | None
    """Its index among the instance's responses; None: a tie."""
    explanation: str | None = None
    feedback: str | None = None
    ranking: Ranking | None = None
    """The order of all responses, if it was asked for."""

    @property
    def option(self) -> str:
        return TIE if self.winner is None else str(self.winner)

    @property
    def details(self) -> Details:
        """The parts other than the option and the explanation."""
        return {"feedback": self.feedback, "ranking": self.ranking}


@light_dataclass(frozen=True)
class Rated:
    """A verdict that is a number."""

    number: float
    """An ``int`` if an integer was asked for, however large."""
    explanation: str | None = None
    feedback: str | None = None

    @property
    def option(self) -> str:
        return str(self.number) if isinstance(self.number, int) else f"{self.number:.15g}"

    @property
    def details(self) -> Details:
        """The parts other than the option and the explanation."""
        return {"feedback": self.feedback, "number": self.number}


Verdict = Chosen | Compared | Rated


def best_of(ranking: Ranking) -> int | None:
    """Return the single best response; None if several share the first rank."""
    return ranking[0][0] if len(ranking[0]) == 1 else None
