"""What was read in a reply."""

from __future__ import annotations

from adjudge.domain.frozen import NOTHING
from adjudge.domain.json_types import JsonObject
from adjudge.domain.light import light_dataclass
from adjudge.domain.question import Question
from adjudge.domain.verdict import Verdict
from adjudge.domain.vote import Outcome
from adjudge.messages import Message
from adjudge.verdicts.refusal import declines


@light_dataclass(frozen=True)
class Reading:
    """A verdict with how it was got, or the reason there is none."""

    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None
    data: JsonObject | None = None
    """The object the verdict stands in, where it stands in one."""
    beside: JsonObject = NOTHING
    """What else the vote keeps."""


def declined(text: str, question: Question) -> bool:
    """Whether ``text`` says in plain words that there will be no answer."""
    return declines(text, question.labels, numeric=question.numeric)


def refusal(text: str) -> Reading:
    return Reading(Outcome.REFUSED, reason=Message("the model refused: {said}", said=shorten(text)))


def unmatched(said: object, question: Question) -> Reading:
    if isinstance(said, str) and declined(said, question):
        return refusal(said)
    return Reading(
        Outcome.UNREADABLE,
        reason=Message("{said} is not {wanted}", said=shorten(said), wanted=str(question)),
    )


def clean(text: str) -> str:
    """Without half characters (a cut emoji), which no file or terminal takes."""
    text = text.strip()
    return text if text.isascii() else text.encode(errors="replace").decode()


def shorten(value: object) -> str:
    text = (
        f"a {type(value).__name__}"
        if isinstance(value, dict | list)
        else " ".join(str(value).split())
    )
    return repr(text if len(text) <= 120 else text[:117] + "…")
