"""Read lists of numbered objects from a reply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.options import match_option
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.vote import Outcome
from adjudge.messages import Message

_NUMBERED = re.compile(r"\s*(?:[^\W\d]+[ _]?)?[#№(\[]?([0-9]{1,6})[)\].]?\s*")
_OPTION_KEYS = ("selected_option", "verdict", "option", "label", "answer")


def lists_under(objects: Sequence[JsonObject]) -> Mapping[str, list[list[object]]]:
    """Collect the lists in a reply's objects by name, without duplicates.

    If a name has two lists, the reply contradicts itself.
    """
    lists: dict[str, list[list[object]]] = {}
    for entry in objects:
        for name, value in entry.items():
            if isinstance(value, list) and value not in lists.setdefault(name, []):
                lists[name].append(value)
    return lists


def lists_differ(name: str) -> Reading:
    """Return the reading of a reply with two different lists of the same name."""
    return Reading(
        Outcome.UNREADABLE,
        reason=Message('the reply contains two different lists "{name}"', name=name),
    )


def read_numbered(
    expected: Sequence[tuple[str, int, Sequence[str]]], lists: Mapping[str, Sequence[object]]
) -> list[str] | Reading:
    """Return one option per number of every expected list, or a Reading with the reason.

    ``expected``: (name of the list, count of its numbers, its options).
    """
    options: list[str] = []
    for name, count, offered in expected:
        entries = [entry for entry in lists.get(name, ()) if isinstance(entry, Mapping)]
        if [whole_number(entry.get("number")) for entry in entries] != list(range(1, count + 1)):
            reason = Message(
                '"{name}" must contain one object for each number from 1 to {count}, in that order',
                name=name,
                count=count,
            )
            return Reading(Outcome.UNREADABLE, reason=reason)
        for number, entry in enumerate(entries, 1):
            option = match_option(
                next((entry[key] for key in _OPTION_KEYS if key in entry), None), offered
            )
            if option is None:
                return Reading(
                    Outcome.UNREADABLE,
                    reason=(
                        Message(
                            'number {number} of "{name}": its option is not one of {options}',
                            number=number,
                            name=name,
                            options=", ".join(offered),
                        )
                    ),
                )
            options.append(option)
    return options


def one_list(objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Return the objects; several numbered ones without a list around them become one list."""
    return [{"sentences": objects}] if len(objects) > 1 and "number" in objects[0] else objects


def whole_number(value: object) -> int | None:
    """Read a whole number from 2, 2.0, "2", "[2]" or "contexts 2", which is how prompts name the
    texts.

    Return None for anything else.
    """
    if isinstance(value, str):
        match = _NUMBERED.fullmatch(value)
        return int(match[1]) if match else None
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return number if isinstance(number, int) and not isinstance(number, bool) else None
