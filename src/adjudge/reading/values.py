"""Values of a file as what they should be, or an error that says where they are not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from adjudge.errors import SetupError


@dataclass(frozen=True)
class Place:
    """Where a value stands."""

    file: str
    entry: str
    field: str = ""

    def at(self, field: str) -> Place:
        """A field below this one."""
        return replace(self, field=f"{self.field}.{field}" if self.field else field)

    def item(self, number: int) -> Place:
        """An item of this list, counted from one."""
        return replace(self, field=f"{self.field}[{number}]")

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
        where = ", ".join(filter(None, (self.place.file, self.place.entry, self.place.field)))
        return f"{where}: {self.message}" if where else self.message


def mapping(
    value: object, place: Place, valid: Sequence[str] | None = None, required: Iterable[str] = ()
) -> Mapping[str, object]:
    """Keys with values; a key that is not ``valid`` is refused with the nearest that is."""
    if not isinstance(value, Mapping):
        raise place.wrong(f"must be keys with values, not {_what(value)}")
    given = {str(key): item for key, item in value.items()}
    for key in given:
        if valid is not None and key not in valid:
            raise place.at(key).wrong(f"is not a key here; {nearest(key, valid)}")
    for key in required:
        if given.get(key) is None:
            raise place.at(key).wrong("is missing")
    return given


def list_of(value: object, place: Place) -> list[tuple[Place, object]]:
    """The items of a list, each with its place."""
    if not isinstance(value, list):
        raise place.wrong(f"must be a list, not {_what(value)}")
    return [(place.item(number), item) for number, item in enumerate(value, 1)]


def text(value: object, place: Place) -> str:
    """A text; a number is one as it is written."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise place.wrong(f"must be a text, not {_what(value)}")


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
        raise place.wrong(f"must be a number, not {_what(value)}")
    return found


def flag(value: object, place: Place) -> bool:
    """True or false."""
    said = value.lower() if isinstance(value, str) else value
    if said in ("true", "yes") or said is True:
        return True
    if said in ("false", "no") or said is False:
        return False
    raise place.wrong(f"must be true or false, not {_what(value)}")


def one_of(value: object, allowed: Sequence[str], place: Place) -> str:
    """One of the allowed words."""
    if isinstance(value, str) and value in allowed:
        return value
    raise place.wrong(f"must be {' or '.join(allowed)}, not {_what(value)}")


def nearest(word: str, valid: Sequence[str]) -> str:
    """A hint at what may have been meant."""
    near = get_close_matches(word.lower(), valid, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(valid)}"


def _what(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "keys with values"
    if isinstance(value, list):
        return "a list"
    return repr(value if not isinstance(value, str) or len(value) <= 40 else value[:39] + "…")
