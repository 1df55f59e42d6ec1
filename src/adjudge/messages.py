"""Sentences as values: a message is its English text, and remembers what it was made of.

``Message("criterion {name!r} offers no options", name=name)`` is an ordinary string. At the edges
(terminal, page, report) ``render`` looks its *template* up in the catalogue of a language and puts
the values in again: a value of the user's is never looked up, a clause of ours is a message inside
a message, numbers and plurals follow the language.

A catalogue is a file, ``locales/LANGUAGE/LC_MESSAGES/adjudge.po``, kept with ``make messages``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, Self

Values = Mapping[str, object]
_DEEPEST = 16
"""Messages inside a message that is read back."""
_OF_ONE_ROW = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|\b(?=\w*\d)[0-9a-fA-F-]{8,}\b|\b\d{5,}\b")
"""Parts that differ from row to row in the same reason: quotations, ids and large numbers."""
_LONGEST_ABRIDGED = 200
_PUNCTUATION = re.compile(r"(?:[^{}A-Za-z]|\{\w+(?:!r)?(?::[+]?\.?\d?[%,defg]?)?\})*")
"""A template that no language translates: values, and what stands between them."""


class Message(str):
    """A translatable sentence. Without values, its text is used as is, including braces."""

    __slots__ = ("context", "plural", "template", "values")

    template: str
    plural: str
    """The template for all numbers but one; ``values["count"]`` decides."""
    context: str
    """Tells apart what is one word in English and two elsewhere."""
    values: Values

    def __new__(
        cls, template: str, plural: str = "", context: str = "", /, **values: object
    ) -> Self:
        values = {
            name: _error_text(value) if isinstance(value, BaseException) else value
            for name, value in values.items()
        }
        chosen_template = plural if plural and values["count"] != 1 else template
        message = super().__new__(
            cls, chosen_template.format_map(values) if values else chosen_template
        )
        message.template, message.plural, message.context = template, plural, context
        message.values = values
        return message

    def render(self, language: str) -> str:
        return render(self, language)

    def localize(self, language: str) -> str:
        """Return the message in ``language``, which is not English."""
        catalogue = read_catalogue(language)
        values = {name: _localize(value, language) for name, value in self.values.items()}
        translation = catalogue.look_up(self.template, self.context, values.get("count"))
        localized_template = translation or self._pick()
        return localized_template.format_map(values) if values else localized_template

    def _pick(self) -> str:
        return self.plural if self.plural and self.values["count"] != 1 else self.template

    def __str__(self) -> str:
        """Itself, so that ``str(error)`` is still a message."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        templates = self.template, self.plural, self.context
        return (partial(Message, *templates, **self.values), ())


def plural(one: str, many: str, /, count: int, **values: object) -> Message:
    """Return a message whose wording depends on ``count``, e.g. ``plural("{count} row", "{count}
    rows", 3)``.
    """
    return Message(one, many, count=count, **values)


def term(context: str, text: str, /, **values: object) -> Message:
    """Return a message that other languages translate differently in ``context``."""
    return Message(text, "", context, **values)


class Joined(Message):
    """Several messages and texts joined together, each rendered separately."""

    __slots__ = ("parts", "separator")

    parts: tuple[str, ...]
    separator: str

    def localize(self, language: str) -> str:
        separator = render(self.separator, language)
        return separator.join(render(part, language) for part in self.parts)

    def __reduce__(self) -> tuple[object, ...]:
        return (join, (self.separator, self.parts))


class Capitalized(Message):
    """A text whose first letter is capitalized in every language."""

    __slots__ = ("text",)

    text: str

    def localize(self, language: str) -> str:
        return _upper_first(render(self.text, language))

    def __reduce__(self) -> tuple[object, ...]:
        return (capitalize, (self.text,))


class Abridged(Message):
    """A text without quotations, ids and large numbers, which differ from row to row."""

    __slots__ = ("text",)

    text: str

    def localize(self, language: str) -> str:
        return _abridge(render(self.text, language))

    def __reduce__(self) -> tuple[object, ...]:
        return (abridge, (self.text,))


class StoredMessage(Message):
    """A message read back from a file, such as a reason in a ledger: its English text, and the
    parts that ``pack`` stored.

    The file may come from anybody, so the parts are checked before they are translated. If a
    template is unknown or the parts do not make exactly the text, the text is shown as it is.
    """

    __slots__ = ("packed",)

    packed: object

    def __new__(cls, text: str, packed: object, /) -> Self:
        stored = super().__new__(cls, text)
        stored.packed = packed
        return stored

    def localize(self, language: str) -> str:
        text = str.__str__(self)
        try:
            message: object = _unpack(self.packed, read_catalogue(language))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return text
        is_ours = isinstance(message, Message) and message == text
        return render(message, language) if is_ours else text

    def __reduce__(self) -> tuple[object, ...]:
        return (StoredMessage, (str.__str__(self), self.packed))


def pack(value: object) -> object:
    """Convert a message, or a value inside one, to JSON that ``StoredMessage`` can read."""
    match value:
        case StoredMessage():
            return value.packed
        case Joined():
            return {"join": pack(value.separator), "parts": [pack(part) for part in value.parts]}
        case Capitalized():
            return {"capitalize": pack(value.text)}
        case Abridged():
            return {"abridge": pack(value.text)}
        case Message():
            values = {name: pack(inner) for name, inner in value.values.items()}
            packed: dict[str, object] = {"template": value.template}
            packed |= {"values": values} if values else {}
            return {**packed, "context": value.context} if value.context else packed
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _unpack(packed: object, catalogue: Translations, depth: int = _DEEPEST) -> Any:
    if not isinstance(packed, dict):
        return packed
    # a file of a stranger must not exhaust the stack
    if not depth:
        raise ValueError("messages are nested too deep")
    inner = partial(_unpack, catalogue=catalogue, depth=depth - 1)
    match packed:
        case {"join": separator, "parts": [*parts]}:
            return join(inner(separator), [inner(part) for part in parts])
        case {"capitalize": text}:
            return capitalize(inner(text))
        case {"abridge": text}:
            return abridge(inner(text))
    template, context = str(packed["template"]), str(packed.get("context", ""))
    values = {str(name): inner(value) for name, value in packed.get("values", {}).items()}
    plural = catalogue.plural_of(template, context)
    if plural is None and not _PUNCTUATION.fullmatch(template):
        raise ValueError("not a template of ours")
    return Message(template, plural or "", context, **values)


def capitalize(text: str) -> Message:
    """Return ``text`` with a capital first letter, in every language."""
    capitalized = Capitalized(_upper_first(text))
    capitalized.text = text
    return capitalized


def abridge(text: str) -> str:
    """Remove quotations, ids and large numbers, so that equal reasons are counted together."""
    if not isinstance(text, Message):
        return _abridge(text)
    abridged = Abridged(_abridge(text))
    abridged.text = text
    return abridged


def _abridge(text: str) -> str:
    line = _OF_ONE_ROW.sub("…", " ".join(text.split()))
    return line if len(line) <= _LONGEST_ABRIDGED else line[: _LONGEST_ABRIDGED - 1] + "…"


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def join(separator: str, parts: Iterable[str]) -> Message:
    """Like ``separator.join(parts)``, but remembers which parts are messages."""
    parts = tuple(parts)
    joined = Joined(separator.join(parts))
    joined.separator, joined.parts = separator, parts
    return joined


def render(text: object, language: str) -> str:
    """Return ``text`` in ``language``. Only messages and errors that carry one are translated."""
    if isinstance(text, Message):
        return str.__str__(text) if language == "en" else text.localize(language)
    return text if isinstance(text, str) else str(_localize(text, language))


def reason_of(error: OSError) -> Message:
    """Return the operating system's reason for an error."""
    return Message(error.strerror) if error.strerror else Message("{reason}", reason=str(error))


class Translations(NamedTuple):
    """The translations of one language."""

    texts: Mapping[tuple[str, str], tuple[str, ...]]
    """(Context, template) → the translation, or one per plural form."""
    plurals: Mapping[tuple[str, str], str]
    """(Context, template) → the English template for all numbers but one; empty without a
    plural.
    """
    plural_form: Callable[[int], int]

    def plural_of(self, template: str, context: str = "") -> str | None:
        """Return the template for any number but one, or an empty text. None for an unknown
        template.
        """
        return self.plurals.get((context, template))

    def look_up(self, template: str, context: str = "", count: object = None) -> str | None:
        forms = self.texts.get((context, template))
        if forms is None:
            return None
        return (
            forms[self.plural_form(count)]
            if len(forms) > 1 and isinstance(count, int)
            else forms[0]
        )


@cache
def read_catalogue(language: str) -> Translations:
    """Read the catalogue of ``language``; empty if there is no such file."""
    from pathlib import Path

    path = Path(__file__).parent / "locales" / language / "LC_MESSAGES" / "adjudge.po"
    return (
        parse_po(path.read_text(encoding="utf-8"))
        if path.is_file()
        else Translations({}, {}, lambda _: 0)
    )


def parse_po(text: str) -> Translations:
    """Parse a gettext file, ignoring fuzzy and obsolete entries."""
    from gettext import c2py
    from json import loads  # the escapes of a catalogue are those of JSON

    texts: dict[tuple[str, str], tuple[str, ...]] = {}
    plurals: dict[tuple[str, str], str] = {}
    form = "0"
    for block in text.split("\n\n"):
        entry: dict[str, str] = {}
        keyword = ""
        lines = block.splitlines()
        if any(line.startswith("#,") and "fuzzy" in line for line in lines):
            continue
        for line in lines:
            if not line.startswith(("msg", '"')):
                continue
            start = line.index('"')
            keyword = line[:start].strip() or keyword
            entry[keyword] = entry.get(keyword, "") + loads(line[start:])
        if entry.get("msgid") == "":
            form = entry["msgstr"].partition("plural=")[2].partition(";")[0] or form
        forms = tuple(entry[key] for key in sorted(entry) if key.startswith("msgstr"))
        if entry.get("msgid") and all(forms):
            key = entry.get("msgctxt", ""), entry["msgid"]
            texts[key], plurals[key] = forms, entry.get("msgid_plural", "")
    return Translations(texts, plurals, c2py(form))


_MARKS = str.maketrans({",": "\N{NO-BREAK SPACE}", ".": ",", "%": "\N{NO-BREAK SPACE}%"})


class _CommaNumber(float):
    """A number formatted with a decimal comma and spaces between thousands."""

    def __format__(self, spec: str) -> str:
        return format(float(self), spec).translate(_MARKS)

    def __str__(self) -> str:
        return super().__repr__().replace(".", ",")

    __repr__ = __str__


class _SpacedNumber(int):
    """A whole number formatted with spaces between thousands."""

    def __format__(self, spec: str) -> str:
        return super().__format__(spec).translate(_MARKS)


_DECIMAL_COMMA = frozenset({"ru"})


def _error_text(error: BaseException) -> str:
    try:
        # only the text is kept: an error object would keep its traceback, and all its frames, alive
        return getattr(error, "full_message", None) or getattr(error, "message", None) or str(error)
    except BaseException:  # noqa: BLE001 - an error of somebody's own
        return type(error).__name__


def _localize(value: object, language: str) -> object:
    if language in _DECIMAL_COMMA:
        if isinstance(value, float):
            return _CommaNumber(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return _SpacedNumber(value)
    localize = getattr(value, "render", None)
    return localize(language) if localize is not None else value
