"""A check: what it wants of a text, and what it found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import field as dataclass_field
from dataclasses import replace
from itertools import islice
from pathlib import Path

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.span import Span
from adjudge.core.reading.values import Place
from adjudge.errors import SetupError
from adjudge.messages import Message, join

_MOST_SPANS = 20
"""Places that are kept of a text that matches everywhere."""


@light_dataclass(frozen=True)
class Observation:
    """What a check found in one text."""

    passed: bool | None
    """None where it cannot be told."""
    reason: str
    """What was found, or why it cannot be told."""
    spans: tuple[Span, ...] = ()
    """Where in the text it was found."""
    value: float | None = None
    """What was measured, where something was."""


class Check(ABC):
    """Something that a program can tell of a text: a frozen dataclass whose fields are its keys in
    an eval file.
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """What it wants, in a few words."""

    @abstractmethod
    def look(self, text: str, row: Instance) -> Observation:
        """Whether ``text``, a field of ``row``, is as it should be."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The other fields of a row that it looks at, where they are there."""
        return ()

    @property
    def runs(self) -> str:
        """The code of the user's that it runs; most run none."""
        return ""

    def beside(self, folder: Path) -> Check:  # noqa: ARG002 - few name files
        """The same check, its files looked for in ``folder``, where the eval file lies."""
        return self

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Raise a SetupError where it cannot be: called before the first row."""


@light_dataclass(frozen=True, kw_only=True)
class Expectation:
    """A check with its place among others."""

    check: Check
    name: str = ""
    negated: bool = False
    weight: float = 1.0
    required: bool = False
    field: str = "response"
    """The field that is looked at."""
    rows_with: str = ""
    """If given, rows whose field of this name is missing or empty are not checked."""
    place: Place = dataclass_field(default=Place(""), compare=False)
    """Where in the file; nowhere of one that was typed."""

    def ready(self, folder: Path) -> Expectation:
        """The same, checked and its code loaded; ``folder``: where its files are looked for."""
        made = self.check.beside(folder)
        try:
            made.prepare()
        except SetupError as error:
            if not self.place.file:
                raise
            raise self.place.wrong("{error}", error=error) from error
        return replace(self, check=made)

    @property
    def title(self) -> str:
        """The name of the check in reports."""
        if self.name:
            return self.name
        return Message("not: {title}", title=self.check.title) if self.negated else self.check.title

    def applies_to(self, row: Instance) -> bool:
        """Return True if the row has the field that the check is limited to."""
        return not self.rows_with or bool(texts_in(row, self.rows_with))

    def look(self, row: Instance) -> Observation:
        """What is found in a row; without the field, nothing can be told."""
        value = row.fields.get(self.field)
        if value is None:
            return lacks(row, self.field)
        found = self.check.look(value if isinstance(value, str) else "\n".join(value), row)
        if found.passed is None or not self.negated:
            return found
        return replace(found, passed=not found.passed)


def texts_in(row: Instance, name: str) -> tuple[str, ...]:
    """Another field of the row, such as what is expected; nothing where it is not there, or
    empty.
    """
    value = row.fields.get(name, ())
    texts = (value,) if isinstance(value, str) else tuple(value)
    return tuple(one for one in texts if one.strip())


def lacks(row: Instance, name: str) -> Observation:
    """What is to be compared with is not there: nothing can be told."""
    if name in row.fields:
        return Observation(
            None,
            Message(
                "the field {field} is empty (rows_with: {field} leaves out such rows)", field=name
            ),
        )
    names = ", ".join(sorted(row.fields))
    return Observation(
        None, Message("the row has no {field!r}; it has: {names}", field=name, names=names)
    )


def first_spans(found: Iterable[Span]) -> tuple[Span, ...]:
    """The first of them, as many as are kept."""
    return tuple(islice(found, _MOST_SPANS))


def quoted(texts: Iterable[str]) -> str:
    """The texts in quotation marks, with commas between them."""
    return join(", ", (Message("{text!r}", text=text) for text in texts))


def check_limits(what: str, least: float | None, most: float | None) -> None:
    """At least one of the limits has to be there, and something has to lie between two."""
    if least is None and most is None:
        raise SetupError("{what} needs a limit: least, most, or both", what=what)
    if least is not None and most is not None and least > most:
        raise SetupError(
            "{what}: least ({least:g}) is more than most ({most:g}), which nothing can be",
            what=what,
            least=float(least),
            most=float(most),
        )


def within(value: float, least: float | None, most: float | None) -> bool:
    """Whether a number is between its limits."""
    return (least is None or value >= least) and (most is None or value <= most)


def limits_text(least: float | None, most: float | None) -> str:
    """What a number has to be, in words."""
    if least is None:
        return Message("at most {most:g}", most=float(most or 0))
    if most is None:
        return Message("at least {least:g}", least=float(least))
    return Message("{least:g} to {most:g}", least=float(least), most=float(most))
