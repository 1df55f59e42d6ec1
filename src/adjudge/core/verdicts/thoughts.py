"""Removal of a model's thoughts before its answer, in any marks."""

from __future__ import annotations

import re

from adjudge.core.verdicts.lenient import find_objects
from adjudge.core.verdicts.phrases import phrase

_CLOSING, _OPENING = phrase("thought_closing"), phrase("thought_opening")
# A thought at the beginning; a short sentence may stand before it.
_FIRST_THOUGHT = phrase("first_thought")
# A reason in tags before the answer; after it, the text may take the answer back.
_ASIDE = phrase("aside", re.DOTALL | re.IGNORECASE)
_REASON_TAGS = phrase("reason_tags", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*+(\w+)(?:(?!<\|message\|>)[^\n]){0,200}+<\|message\|>")
_BARE_CHANNELS = re.compile(r"\A\s*+analysis(?=[A-Z])(?:(?!assistantfinal).)*+", re.DOTALL)
_CONTROL = phrase("control_marks")
_ANY_MARK = re.compile(r"[<◁⊲]|\[/?(?:THINK|INST)|\A\s*+analysis", re.IGNORECASE)
_SET_ASIDE = re.compile(r"\ue000(\d+)\ue000")


def without_thoughts(text: str) -> str:
    """Return the part of ``text`` after its last thought; an empty text if that thought has no end.

    Marks within an object belong to the answer.
    """
    if not _ANY_MARK.search(text):
        return text
    # A character for private use marks objects that are set aside.
    text = text.replace("\ue000", " ")
    objects = [reply_object for reply_object in find_objects(text) if reply_object.data is not None]
    marked, at = "", 0
    for number, reply_object in enumerate(objects):
        marked += f"{text[at : reply_object.start]}\ue000{number}\ue000"
        at = reply_object.end
    answer = _text_after_thoughts(marked + text[at:])
    return _SET_ASIDE.sub(
        lambda mark: text[objects[int(mark[1])].start : objects[int(mark[1])].end], answer
    )


def _text_after_thoughts(text: str) -> str:
    """Return the text after the thoughts at the beginning; an empty text if other marks are left.

    A mark inside the answer may be quoted from the text that is judged, so it is never cut at.
    """
    answer = _last_channel(text)
    start = 0  # of what is left: to cut the text at every thought takes time squared
    while opening := _FIRST_THOUGHT.match(answer, start):
        closing = _CLOSING.search(answer, opening.end())
        if closing is None:
            return ""
        start = closing.end()
    answer = answer[start:]
    closings = list(_CLOSING.finditer(answer))
    if closings and not _OPENING.search(answer) and _is_alone(closings[-1], answer):
        answer = answer[closings[-1].end() :]
    answer = _REASON_TAGS.sub(r"\n\2\n", _ASIDE.sub("\n", answer))
    is_left = _CLOSING.search(answer) or _OPENING.search(answer)
    return "" if is_left else _CONTROL.sub("\n", answer)


def _is_alone(mark: re.Match[str], text: str) -> bool:
    """Return True if a closing mark begins its line: the opening one was part of the prompt."""
    return not text[: mark.start()].rsplit("\n", 1)[-1].strip()


def _last_channel(text: str) -> str:
    """Return the last of several channels, unless it is for thoughts."""
    *_, last = [None, *_CHANNEL.finditer(text)]
    if last is not None:
        return "" if last[1] == "analysis" else text[last.end() :]
    bare = _BARE_CHANNELS.match(text)
    is_bare = bare is not None and "assistantfinal" in text
    return text[bare.end() :].removeprefix("assistantfinal") if bare and is_bare else text
