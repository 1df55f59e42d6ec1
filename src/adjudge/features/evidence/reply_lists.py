"""Lists of numbered objects in a reply."""

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
    """The lists in the objects of a reply by their names, each once; where there are two, the reply
    contradicts itself.
    """
    found: dict[str, list[list[object]]] = {}
    for one in objects:
        for name, value in one.items():
            if isinstance(value, list) and value not in found.setdefault(name, []):
                found[name].append(value)
    return found


def differing(name: str) -> Reading:
    """Two lists where one was asked for."""
    return Reading(
        Outcome.UNREADABLE,
        reason=Message('the reply holds two lists "{name}" that differ', name=name),
    )


def read_numbered(
    asked: Sequence[tuple[str, int, Sequence[str]]], held: Mapping[str, Sequence[object]]
) -> list[str] | Reading:
    """Return an option for every number of every list that was asked for: its name, how many
    numbers it has, and their options. A Reading says what is wrong.
    """
    options: list[str] = []
    for name, count, offered in asked:
        said = [one for one in held.get(name, ()) if isinstance(one, Mapping)]
        if [whole_number(one.get("number")) for one in said] != list(range(1, count + 1)):
            reason = Message(
                '"{name}" must hold one object for each number from 1 to {count}, in that order',
                name=name,
                count=count,
            )
            return Reading(Outcome.UNREADABLE, reason=reason)
        for number, one in enumerate(said, 1):
            option = match_option(
                next((one[key] for key in _OPTION_KEYS if key in one), None), offered
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
    """Return the objects, those that are numbered without a list around them as one list."""
    return [{"sentences": objects}] if len(objects) > 1 and "number" in objects[0] else objects


def whole_number(value: object) -> int | None:
    """Of 2, 2.0, "2", "[2]", and of "contexts 2", as prompts name the texts."""
    if isinstance(value, str):
        named = _NUMBERED.fullmatch(value)
        return int(named[1]) if named else None
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return whole if isinstance(whole, int) and not isinstance(whole, bool) else None
