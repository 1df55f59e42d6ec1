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
    r"<(reasoning|reflection|analysis|reason)>(?:(?!</?(?:reasoning|reflection|analysis"
    r"|reason)>).)*+</\1>",
    re.DOTALL | re.IGNORECASE,
)
"""What may also stand behind an answer, as its reason."""
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
    said = _ASIDE.sub("\n", _last_channel(text))
    end = 0
    for mark in _CLOSING.finditer(said):
        end = mark.end()
    said = said[end:]
    return "" if _OPENING.search(said) else _CONTROL.sub("\n", said)


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
