"""The families of attacks, read from their data files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.values import plain_yaml
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
    """The publication of the idea."""
    texts: Mapping[str, tuple[str, ...]]
    """Language → templates. A row's text replaces {text}; in a template without it, the text is
    left out.
    """
    changes: tuple[str, ...] = ()
    """Changes by rule, instead of texts."""
    instructs: bool = False
    """True if its texts tell the judge what to answer."""
    control: bool = False
    """True if it changes nothing of substance, so it must not move a judge."""
    is_for_context: bool = False
    """True if it goes into the context fields instead of the judged one."""

    def count(self, language: str) -> int:
        """Return the number of its attacks."""
        return len(self.changes) or len(self.texts[language])

    def apply(self, number: int, text: str, best: str, language: str) -> str:
        """Return ``text`` under the attack ``number``; ``best`` is the verdict that it asks for."""
        if self.changes:
            changed = CHANGES[self.changes[number]](text)
            # a text without quotes, say, would stay as it is; an attack must change something
            return changed if changed != text else CHANGES["trailing_space"](text)
        template = self.texts[language][number].replace(_BEST, best)
        return template.replace(_TEXT, text)

    def describe(self, number: int, language: str) -> str:
        """Return the attack without a row's text."""
        if self.changes:
            return self.changes[number].replace("_", " ")
        return self.texts[language][number]


class FamilyTitle(Message):
    """A family's title in English, with the translations in its file."""

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
"""Changes that leave the content of a text as it is."""


@cache
def families() -> Mapping[str, Family]:
    """Map names to families, in the order of reports."""
    folder = Path(__file__).parent / "data"
    # by name, so that the order does not depend on the file system
    files = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".yaml")),
        key=lambda path: path.name,
    )
    return {data["name"]: _family(data) for data in map(plain_yaml, files)}


def title_of(name: str) -> str:
    """Return the title of a family, or its name if this version does not know it."""
    family = families().get(name)
    return family.title if family else name


def _family(data: dict[str, Any]) -> Family:
    return Family(
        name=data["name"],
        title=FamilyTitle(data["title"]),
        about=data["about"],
        source=data["source"],
        texts={language: tuple(templates) for language, templates in data.get("texts", {}).items()},
        changes=tuple(data.get("changes", ())),
        instructs=data.get("instructs", False),
        control=data.get("control", False),
        is_for_context=data.get("fields") == "beside",
    )


def chosen_families(names: Sequence[str]) -> list[Family]:
    """Return the named families, or all if none is named; always with the controls."""
    available = families()
    for name in names:
        if name not in available:
            raise SetupError(
                "unknown family of attacks {name!r}; known: {known}",
                name=name,
                known=", ".join(available),
            )
    return [
        family
        for family in available.values()
        if not names or family.name in names or family.control
    ]
