"""Readings without a verdict, and the texts in them."""

from __future__ import annotations

from adjudge.core.domain.question import Question
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.refusal import declines
from adjudge.messages import Message


def says_no_answer(text: str, question: Question) -> bool:
    """Return True if ``text`` says in plain words that there will be no answer."""
    return declines(text, question.labels, numeric=question.numeric)


def refusal(text: str) -> Reading:
    """Return the reading of a refusal."""
    return Reading(Outcome.REFUSED, reason=Message("the model refused: {said}", said=shorten(text)))


def not_an_option(said: object, question: Question) -> Reading:
    """Return the reading of a value that is not an option: a refusal if it declines, else
    unreadable.
    """
    if isinstance(said, str) and says_no_answer(said, question):
        return refusal(said)
    return Reading(
        Outcome.UNREADABLE,
        reason=Message("{said} is not {wanted}", said=shorten(said), wanted=str(question)),
    )


def clean(text: str) -> str:
    """Strip a text, and replace lone surrogates (a cut emoji), which no file or terminal
    accepts.
    """
    text = text.strip()
    return text if text.isascii() else text.encode(errors="replace").decode()


def shorten(value: object) -> str:
    text = (
        f"a {type(value).__name__}"
        if isinstance(value, dict | list)
        else " ".join(str(value).split())
    )
    return repr(text if len(text) <= 120 else text[:117] + "…")
