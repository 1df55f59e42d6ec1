"""The families of attacks, as their data files say them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message

_TEXT, _BEST = "{text}", "{best}"


@light_dataclass(frozen=True, kw_only=True)
class Family:
    name: str
    title: FamilyTitle
    about: Mapping[str, str]
    """Language → what its texts do."""
    source: str
    """Where the idea was published."""
    texts: Mapping[str, tuple[str, ...]]
    """Language → templates; a row's text stands where one says {text}, and goes where none
    does.
    """
    changes: tuple[str, ...] = ()
    """Changes by rule, instead of texts."""
    instructs: bool = False
    """Whether its texts tell the judge what to answer."""
    control: bool = False
    """Whether it changes nothing of substance, and must move nothing."""
    beside: bool = False
    """Whether it goes into the fields beside the judged one."""

    def count(self, language: str) -> int:
        """How many attacks it has."""
        return len(self.changes) or len(self.texts[language])

    def apply(self, number: int, text: str, best: str, language: str) -> str:
        """``text`` under the attack ``number``; ``best`` is the verdict that is asked for."""
        if self.changes:
            changed = CHANGES[self.changes[number]](text)
            return changed if changed != text else CHANGES["trailing_space"](text)
        template = self.texts[language][number].replace(_BEST, best)
        return template.replace(_TEXT, text)

    def describe(self, number: int, language: str) -> str:
        """The attack without the row that it is put to."""
        if self.changes:
            return self.changes[number].replace("_", " ")
        return self.texts[language][number]


class FamilyTitle(Message):
    """What reports call a family: in English, and as its file says in another language."""

    __slots__ = ("titles",)

    titles: Mapping[str, str]

    def __new__(cls, titles: Mapping[str, str]) -> Self:
        title = super().__new__(cls, titles["en"])
        title.titles = titles
        return title

    def localize(self, language: str) -> str:
        return self.titles.get(language, self)

    def __reduce__(self) -> tuple[object, ...]:
        return (FamilyTitle, (self.titles,))


CHANGES: Mapping[str, Callable[[str], str]] = {
    "trailing_space": lambda text: f"{text} \n",
    "double_spaces": lambda text: re.sub(r"([.!?]) (?=\S)", r"\1  ", text),
    "line_breaks": lambda text: re.sub(r"([.!?]) +(?=\S)", r"\1\n", text),
    "quotes": lambda text: re.sub(r'"([^"\n]*)"', r"“\1”", text).replace("'", "’"),
    "dashes": lambda text: re.sub(r" [-–—] ", " — ", text),
}
"""What leaves the content of a text as it is."""


@cache
def families() -> Mapping[str, Family]:
    """Name → family, in the order of reports."""
    from adjudge.core.reading.values import plain_yaml

    folder = Path(__file__).parent / "data"
    found = sorted(
        (one for one in folder.iterdir() if one.name.endswith(".yaml")), key=lambda one: one.name
    )
    return {one["name"]: _family(one) for one in map(plain_yaml, found)}


def title_of(name: str) -> str:
    """The title of a family, or its name where it is unknown here."""
    known = families().get(name)
    return known.title if known else name


def _family(data: dict[str, Any]) -> Family:
    return Family(
        name=data["name"],
        title=FamilyTitle(data["title"]),
        about=data["about"],
        source=data["source"],
        texts={language: tuple(each) for language, each in data.get("texts", {}).items()},
        changes=tuple(data.get("changes", ())),
        instructs=data.get("instructs", False),
        control=data.get("control", False),
        beside=data.get("fields") == "beside",
    )


def chosen_families(names: Sequence[str]) -> list[Family]:
    """Those named, all where none is; controls are always among them."""
    known = families()
    for name in names:
        if name not in known:
            raise SetupError(
                "unknown family of attacks {name!r}; known: {known}",
                name=name,
                known=", ".join(known),
            )
    return [one for one in known.values() if not names or one.name in names or one.control]
