"""A reply without what its model thought before it answered, in whatever marks it thinks."""

from __future__ import annotations

import re

from adjudge.verdicts.lenient import decoded, read_object

_NAMES = (
    r"(?:think|thinking|thoughts?|antthinking|seed:think|scratchpad|inner_monologue|reasoning"
    r"|reflection|analysis|reason)"
)
_CLOSING = re.compile(
    rf"""<\s*+/\s*+{_NAMES}\s*+>|[◁⊲]/\s*+think(?:ing)?\s*+[▷⊳]|\[/THINK(?:ING)?\]
    |<\|\s*+(?:/|end_(?:of_)?)think(?:ing)?\s*+\|>|<\|\s*+(?:/|end_(?:of_)?)thought\s*+\|>
    |<unused95>""",
    re.VERBOSE | re.IGNORECASE,
)
_OPENING = re.compile(
    rf"""(?<!["'`“«(])(?:<\s*+{_NAMES}\s*+>|[◁⊲]\s*+think(?:ing)?\s*+[▷⊳]|\[THINK(?:ING)?\]
    |<\|\s*+(?:start_|begin_of_)?think(?:ing)?\s*+\|>|<\|\s*+begin_of_thought\s*+\|>|<unused94>)""",
    re.VERBOSE | re.IGNORECASE,
)
_ASIDE = re.compile(
    r"<(reasoning|analysis|reason)>(?:(?!</?(?:reasoning|analysis|reason)>).)*+</\1>(?=\s*\S)",
    re.DOTALL | re.IGNORECASE,
)
"""A reason in tags before the answer; after it, the text may take the answer back."""
_REASON_TAGS = re.compile(
    r"<(reasoning|reflection|analysis|reason)>((?:(?!</?\1>).)*+)</\1>", re.DOTALL | re.IGNORECASE
)
_FIRST_THOUGHT = re.compile(
    rf"\s*(?:[^\n:<]{{0,60}}?[.!])?\s*(?:{_OPENING.pattern})", _OPENING.flags
)
"""A thought at the beginning; a short sentence may stand before it."""
_CHANNEL = re.compile(r"<\|channel\|>\s*+(\w+)(?:(?!<\|message\|>)[^\n]){0,200}+<\|message\|>")
_BARE_CHANNELS = re.compile(r"\A\s*+analysis(?=[A-Z])(?:(?!assistantfinal).)*+", re.DOTALL)
_CONTROL = re.compile(
    r"<[|｜][^|｜<>\n]{1,40}[|｜]>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>(?:model\b)?"
)
_ANY_MARK = re.compile(r"[<◁⊲]|\[/?(?:THINK|INST)|\A\s*+analysis", re.IGNORECASE)
_OBJECT = re.compile(r"""\{\s*+["'“]""")
_SET_ASIDE = re.compile(r"\ue000(\d+)\ue000")
_MOST_BROKEN = 8
"""Objects that cannot be read; looking for more would only take time."""


def without_thoughts(text: str) -> str:
    """What ``text`` says behind its last thought. A thought that has no end leaves nothing: there
    is no answer yet.

    Marks within an object are part of what it says.
    """
    if not _ANY_MARK.search(text):
        return text
    if "{" not in text:
        return _behind_thoughts(text)
    text, objects = _set_aside(text.replace("\ue000", " "))
    return _SET_ASIDE.sub(lambda found: objects[int(found[1])], _behind_thoughts(text))


def _set_aside(text: str) -> tuple[str, list[str]]:
    """``text`` with a number in place of each whole object, and the objects."""
    kept: list[str] = []
    objects: list[str] = []
    at = broken = 0
    for opening in _OBJECT.finditer(text):
        start = opening.start()
        read = decoded(text, start) or read_object(text, start) if start >= at else None
        if read:
            kept.append(f"{text[at:start]}\ue000{len(objects)}\ue000")
            at = read[1]
            objects.append(text[start:at])
        elif start >= at:
            broken += 1
        if broken > _MOST_BROKEN:
            break
    return "".join(kept) + text[at:], objects


def _behind_thoughts(text: str) -> str:
    """Return what follows the thoughts at the beginning; nothing if other marks are left.

    A mark inside the answer may be quoted from the text that is judged, so it is never cut at.
    """
    said = _last_channel(text)
    while opening := _FIRST_THOUGHT.match(said):
        closing = _CLOSING.search(said, opening.end())
        if closing is None:
            return ""
        said = said[closing.end() :]
    closings = list(_CLOSING.finditer(said))
    if closings and not _OPENING.search(said) and _is_alone(closings[-1], said):
        said = said[closings[-1].end() :]
        closings = []
    said = _REASON_TAGS.sub(r"\n\2\n", _ASIDE.sub("\n", said))
    is_left = _CLOSING.search(said) or _OPENING.search(said)
    return "" if is_left else _CONTROL.sub("\n", said)


def _is_alone(mark: re.Match[str], text: str) -> bool:
    """Return True if a closing mark begins its line: the opening one was part of the prompt."""
    return not text[: mark.start()].rsplit("\n", 1)[-1].strip()


def _last_channel(text: str) -> str:
    """What stands in the last of several channels, unless it is for thoughts."""
    last = None
    for mark in _CHANNEL.finditer(text):
        last = mark
    if last is not None:
        return "" if last[1] == "analysis" else text[last.end() :]
    bare = _BARE_CHANNELS.match(text)
    return (
        text[bare.end() :].removeprefix("assistantfinal")
        if bare and "assistantfinal" in text
        else text
    )
