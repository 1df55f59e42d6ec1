"""A text that a model was asked to write, such as a persona, without the decoration around it."""

from __future__ import annotations

import re

from adjudge.core.domain.message import Reply
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.lenient import find_objects
from adjudge.core.verdicts.phrases import phrase
from adjudge.core.verdicts.refusal import declines
from adjudge.core.verdicts.thoughts import without_thoughts
from adjudge.messages import Message

_MARKS = re.compile(r"\A<data-\w+[^>\n]*>\n?(.*?)\n?</data-\w+>\Z", re.DOTALL)
# A fence around everything except a line before it and a remark after it.
_FENCE = re.compile(
    r"\A(?:[^\n`~]{1,200}:[*_]*\s*\n\s*)?"
    r"(?P<mark>```|~~~)[\w+-]*[ \t]*\n(?P<text>.*?)(?:\n?[ \t]*(?P=mark)[^`~]{0,500}|)\Z",
    re.DOTALL,
)
# A line that announces the text and names it. "Here is what you need:" may be the text itself.
_PREAMBLE = phrase("preamble")
_WILL_NOT_WRITE = phrase("will_not_write")
_LAYERS = 3


def read_text(reply: Reply, original: str = "") -> Reading:
    """Read the text that a model was asked to write; the reading has none if it refused or was cut
    off.

    ``original``: the text to replace. Decoration that it already has is kept.
    """
    answer = (
        reply.text if without_thoughts(original) != original else without_thoughts(reply.text)
    ).strip()
    if reply.finish == "refusal" or (_refuses(answer) and not _refuses(original)):
        return Reading(
            Outcome.REFUSED, reason=Message("the model refused: {said!r}", said=answer[:120])
        )
    if reply.finish == "length":
        return Reading(Outcome.UNREADABLE, reason=Message("the reply was cut off"))
    text = unwrap(answer, original)
    if not text:
        return Reading(Outcome.UNREADABLE, reason=Message("the reply contains no text"))
    return Reading(Outcome.OK, Chosen(text.encode(errors="replace").decode()))


def read_persona(reply: Reply) -> Reading:
    """Read the persona of a judge: a text, or the texts of an object such as ``{"persona_name": …,
    "persona_description": …}``.
    """
    reading = read_text(reply)
    if reading.verdict is None or "{" not in reading.verdict.option:
        return reading
    objects = [
        reply_object.data
        for reply_object in find_objects(reading.verdict.option)
        if reply_object.data
    ]
    if not objects:
        return reading
    parts = [
        value.strip() for value in objects[-1].values() if isinstance(value, str) and value.strip()
    ]
    if not parts:
        return Reading(Outcome.UNREADABLE, reason=Message("the reply describes no persona"))
    return Reading(reading.outcome, Chosen("\n".join(parts)))


def unwrap(text: str, original: str = "") -> str:
    """Return ``text`` without marks, fences and an announcing line, unless ``original`` has them
    itself.
    """
    fenced, announced = "```" in original or "~~~" in original, _PREAMBLE.match(original)
    for _ in range(_LAYERS):
        text = _MARKS.sub(r"\1", text.strip())
        fence = None if fenced else _FENCE.match(text)
        if fence and fence["mark"] not in fence["text"]:
            text = fence["text"]
        if not announced:
            text = _PREAMBLE.sub("", text, count=1)
    return text.strip()


def _refuses(text: str) -> bool:
    return declines(text, ()) or _WILL_NOT_WRITE.match(text) is not None
