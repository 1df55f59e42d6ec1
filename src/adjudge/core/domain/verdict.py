"""What a reply says: an option that was chosen, responses that were compared, or a number.

``option`` is every verdict in writing, as reports and ledgers have it; ``details`` is what a ledger
keeps beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Literal, TypedDict

from adjudge.core.domain.light_dataclass import light_dataclass

TIE = "tie"
"""How it is written that no response is the best."""


def letter(place: int) -> str:
    """What the response at a place, from 0, is called: A to Z, then AA, AB, …
    as in a spreadsheet.
    """
    before, own = divmod(place, len(ascii_uppercase))
    return (letter(before - 1) if before else "") + ascii_uppercase[own]


Selection = int | Literal["tie"]
"""The index of the best of compared responses, or that none is."""
Ranking = tuple[tuple[int, ...], ...]
"""Indexes of compared responses best first, those that are equal together."""
QuotedBy = Literal["model", "program"]


class KeptQuote(TypedDict):
    """A quote as ledgers and reports have it."""

    fragment: int
    quote: str
    start: int
    by: QuotedBy


@light_dataclass(frozen=True)
class Quote:
    """A passage of a fragment, exactly as it stands there: found by a program, whoever named it."""

    fragment: int
    text: str
    start: int
    """Where it begins in the fragment."""
    by: QuotedBy = "model"
    """Whether the model quoted it, or a program chose the passage that is most alike."""

    def to_dict(self) -> KeptQuote:
        return {"fragment": self.fragment, "quote": self.text, "start": self.start, "by": self.by}

    @classmethod
    def of(cls, kept: KeptQuote) -> Quote:
        return cls(kept["fragment"], kept["quote"], kept["start"], kept["by"])


class KeptSupport(TypedDict):
    """What was said of one of several sentences, as a ledger has it."""

    option: str
    explanation: str | None
    evidence: list[KeptQuote]


CitationFound = Literal["proven", "moved", "invented", "void", "absent"]
"""What a program found of a piece of evidence: the quote stands in the step that is named; in
another one, whose number is put in its place; in none; the step does not exist; nothing can be
quoted, since something is missing.
"""


class KeptCitation(TypedDict):
    """A piece of evidence as ledgers and reports have it: a step with a quote, or what is
    absent.
    """

    step: int | None
    quote: str | None
    absent: str | None
    found: CitationFound


class KeptPlace(TypedDict):
    """Where something happened, as a ledger has it."""

    step: int | None
    agent: str | None
    paragraph: int | None


class Details(TypedDict, total=False):
    """What a verdict has beside its option and its explanation, each kind its own."""

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
    """One of the offered options; where a text was asked for, that text."""

    option: str
    explanation: str | None = None
    feedback: str | None = None
    score: float | None = None
    """The judge's own score, where it gave one; without it the option's counts."""

    @property
    def details(self) -> Details:
        """What there is beside the option and the explanation."""
        return {"feedback": self.feedback, "score": self.score}


@light_dataclass(frozen=True)
class Compared:
    """The best of the compared responses."""

    winner: int | None
    """Its index among the instance's responses; None: a tie."""
    explanation: str | None = None
    feedback: str | None = None
    ranking: Ranking | None = None
    """All of them, where that was asked for."""

    @property
    def option(self) -> str:
        return TIE if self.winner is None else str(self.winner)

    @property
    def details(self) -> Details:
        """What there is beside the option and the explanation."""
        return {"feedback": self.feedback, "ranking": self.ranking}


@light_dataclass(frozen=True)
class Rated:
    """A verdict that is a number."""

    number: float
    """An ``int`` where an integer was asked for, however large."""
    explanation: str | None = None
    feedback: str | None = None

    @property
    def option(self) -> str:
        return str(self.number) if isinstance(self.number, int) else f"{self.number:.15g}"

    @property
    def details(self) -> Details:
        """What there is beside the option and the explanation."""
        return {"feedback": self.feedback, "number": self.number}


Verdict = Chosen | Compared | Rated


def best_of(ranking: Ranking) -> int | None:
    """The one that stands first; None where several share that place."""
    return ranking[0][0] if len(ranking[0]) == 1 else None
