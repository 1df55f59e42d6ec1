"""The base of checks, and their observations."""

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

# Places kept per text, in case it matches everywhere.
_MOST_SPANS = 20


@light_dataclass(frozen=True)
class Observation:
    """Result of a check on one text."""

    passed: bool | None
    """None if the result is open."""
    reason: str
    """The finding, or why the result is open."""
    spans: tuple[Span, ...] = ()
    """Places of the finding in the text."""
    value: float | None = None
    """The measured value, if there is one."""


class Check(ABC):
    """A requirement that a program can check: a frozen dataclass whose fields are its keys in an
    eval file.

    Example:
        @light_dataclass(frozen=True, kw_only=True)
        class Polite(Check):
            title = "is polite"

            def look(self, text: str, row: Instance) -> Observation:
                return Observation("please" in text, "it says please")
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """Requirement in a few words."""

    @abstractmethod
    def look(self, text: str, row: Instance) -> Observation:
        """Check ``text``, a field of ``row``."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of other fields of the row that it reads, if they exist."""
        return ()

    @property
    def runs(self) -> str:
        """The user's code that it runs; empty for most."""
        return ""

    def beside(self, folder: Path) -> Check:  # noqa: ARG002 - few name files
        """Return the check with its files looked up in ``folder``, the folder of the eval file."""
        return self

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Raise SetupError for invalid settings. Called before the first row."""


@light_dataclass(frozen=True, kw_only=True)
class Expectation:
    """A check with its settings in a list of checks."""

    check: Check
    name: str = ""
    negated: bool = False
    weight: float = 1.0
    required: bool = False
    field: str = "response"
    """The checked field."""
    rows_with: str = ""
    """If given, rows whose field of this name is missing or empty are not checked."""
    place: Place = dataclass_field(default=Place(""), compare=False)
    """Place in the file; empty for a typed check."""

    def ready(self, folder: Path) -> Expectation:
        """Return a copy with validated settings and loaded code; raise a SetupError if they are
        wrong.

        Files are looked up in ``folder``.
        """
        check = self.check.beside(folder)
        try:
            check.prepare()
        except SetupError as error:
            if not self.place.file:
                raise
            raise self.place.wrong("{error}", error=error) from error
        return replace(self, check=check)

    @property
    def title(self) -> str:
        """Name of the check in reports."""
        if self.name:
            return self.name
        return Message("not: {title}", title=self.check.title) if self.negated else self.check.title

    def applies_to(self, row: Instance) -> bool:
        """Return True if the row has the field that the check is limited to."""
        return not self.rows_with or bool(texts_in(row, self.rows_with))

    def look(self, row: Instance) -> Observation:
        """Check a row; the result is reversed if ``negated``, and open if the row lacks the
        field.
        """
        value = row.fields.get(self.field)
        if value is None:
            return lacks(row, self.field)
        observation = self.check.look(value if isinstance(value, str) else "\n".join(value), row)
        if observation.passed is None or not self.negated:
            return observation
        return replace(observation, passed=not observation.passed)


def texts_in(row: Instance, name: str) -> tuple[str, ...]:
    """Return the non-blank texts of another field, such as the expected answer; empty if it is
    missing.
    """
    value = row.fields.get(name, ())
    texts = (value,) if isinstance(value, str) else tuple(value)
    return tuple(text for text in texts if text.strip())


def lacks(row: Instance, name: str) -> Observation:
    """Return an open result for a row whose field ``name`` is missing or empty."""
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
    """Return the first spans, up to the limit."""
    return tuple(islice(found, _MOST_SPANS))


def quote(texts: Iterable[str]) -> str:
    """Return the texts in quotation marks, separated by commas."""
    return join(", ", (Message("{text!r}", text=text) for text in texts))


def check_limits(what: str, least: float | None, most: float | None) -> None:
    """Raise SetupError unless there is a limit, and a value can lie between both."""
    if least is None and most is None:
        raise SetupError("{what} needs a limit: least, most, or both", what=what)
    if least is not None and most is not None and least > most:
        raise SetupError(
            "{what}: least ({least:g}) is greater than most ({most:g}), so no value could pass",
            what=what,
            least=float(least),
            most=float(most),
        )


def within(value: float, least: float | None, most: float | None) -> bool:
    """Return True if a number is between its limits."""
    return (least is None or value >= least) and (most is None or value <= most)


def limits_text(least: float | None, most: float | None) -> str:
    """Describe the limits in words."""
    if least is None:
        return Message("at most {most:g}", most=float(most or 0))
    if most is None:
        return Message("at least {least:g}", least=float(least))
    return Message("{least:g} to {most:g}", least=float(least), most=float(most))
