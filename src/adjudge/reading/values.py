"""Values of a file as what they should be, or an error that says where they are not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from difflib import get_close_matches
from pathlib import Path

from adjudge.errors import SetupError


def text_in(path: Path) -> str:
    """The text of a file, which must be UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8 and try again") from error


class Scalar(str):
    """A text as it is written in a YAML file, which may mean something else there."""

    meant: object
    """What YAML takes it for; None where that is not a text, a number, true or false."""

    def __new__(cls, written: str, meant: object = None) -> Scalar:
        made = super().__new__(cls, written)
        made.meant = meant
        return made


class Keys(dict[str, object]):
    """Keys with values that know their lines."""

    def __init__(self, *given: Iterable[tuple[str, object]]) -> None:
        super().__init__(*given)
        self.lines: dict[str, int] = {}
        self.key_lines: dict[str, int] = {}


class Items(list[object]):
    """A list whose items know their lines."""

    lines: Sequence[int] = ()


@dataclass(frozen=True)
class Place:
    """Where a value stands."""

    file: str
    entry: str = ""
    field: str = ""
    line: int = 0
    """Counted from one; 0 where it is not known."""
    value: object = dataclass_field(default=None, compare=False, repr=False)
    """What stands there: those below it have their lines from it."""

    def at(self, field: str) -> Place:
        """A field below this one."""
        whole = f"{self.field}.{field}" if self.field else field
        if not isinstance(self.value, Keys):
            return Place(self.file, self.entry, whole, self.line)
        return Place(self.file, self.entry, whole, self.value.lines.get(field, self.line), self.value.get(field))

    def at_key(self, key: str) -> Place:
        """The same as ``at``, on the line of the key itself."""
        lines = self.value.key_lines if isinstance(self.value, Keys) else {}
        return replace(self.at(key), line=lines.get(key, self.line))

    def item(self, number: int) -> Place:
        """An item of this list, counted from one."""
        whole = f"{self.field}[{number}]"
        if isinstance(self.value, Items) and number <= len(self.value.lines):
            return replace(self, field=whole, line=self.value.lines[number - 1], value=self.value[number - 1])
        return replace(self, field=whole, value=None)

    def wrong(self, message: str) -> WrongValue:
        """What to raise when the value is not what it should be."""
        return WrongValue(self, message)


class WrongValue(SetupError):
    """A value of a file is not what it should be."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(place, message)
        self.place = place
        self.message = message

    def __str__(self) -> str:
        line = f"line {self.place.line}" if self.place.line else ""
        where = ", ".join(filter(None, (self.place.file, line, self.place.entry, self.place.field)))
        return f"{where}: {self.message}" if where else self.message


def mapping(
    value: object, place: Place, valid: Sequence[str] | None = None, required: Iterable[str] = ()
) -> Mapping[str, object]:
    """Keys with values; a key that is not ``valid`` is refused with the nearest that is."""
    if not isinstance(value, Mapping):
        raise place.wrong(f"must be keys with values, not {what(value)}")
    given = {str(key): item for key, item in value.items()}
    for key in given:
        if valid is not None and key not in valid:
            raise place.at_key(key).wrong(f"is not a key here; {nearest(key, valid)}")
    for key in required:
        if given.get(key) is None:
            raise place.at(key).wrong("is missing")
    return given


def list_of(value: object, place: Place) -> list[tuple[Place, object]]:
    """The items of a list, each with its place."""
    if not isinstance(value, list):
        raise place.wrong(f"must be a list, not {what(value)}")
    return [(place.item(number), item) for number, item in enumerate(value, 1)]


def text(value: object, place: Place) -> str:
    """A text; a number is one as it is written."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise place.wrong(f"must be a text, not {what(value)}")


def phrase(value: object, place: Place) -> str:
    """A text that blanks around it do not belong to."""
    return text(value, place).strip()


def texts(value: object, place: Place) -> list[str]:
    """A list of texts."""
    return [text(item, at) for at, item in list_of(value, place)]


def number(value: object, place: Place) -> float:
    """A finite number."""
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise place.wrong(f"must be a number, not {what(value)}")
    return found


def flag(value: object, place: Place) -> bool:
    """True or false."""
    said = value.lower() if isinstance(value, str) else value
    if said in ("true", "yes") or said is True:
        return True
    if said in ("false", "no") or said is False:
        return False
    raise place.wrong(f"must be true or false, not {what(value)}")


def one_of(value: object, allowed: Sequence[str], place: Place) -> str:
    """One of the allowed words."""
    if isinstance(value, str) and value in allowed:
        return value
    raise place.wrong(f"must be {' or '.join(allowed)}, not {repr(str(value)) if isinstance(value, str) else what(value)}")


def nearest(word: str, valid: Sequence[str]) -> str:
    """A hint at what may have been meant."""
    near = get_close_matches(word.lower(), valid, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(valid)}"


def what(value: object) -> str:
    """What stands there instead."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "keys with values"
    if isinstance(value, list):
        return "a list"
    if not isinstance(value, str):
        return repr(value)
    short = str(value) if len(value) <= 40 else value[:39] + "…"
    if not isinstance(value, Scalar):
        return repr(short)
    return f"the text {short!r}" if isinstance(value.meant, str) else short
