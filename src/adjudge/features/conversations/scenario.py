"""Scenarios: what a simulated user wants, knows and may say, and how the conversation should end.

Scenarios are rows of a YAML, JSON or CSV file. Errors name the file, the row and the field.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.reading.types import (
    Flag,
    JsonNames,
    Many,
    Record,
    Schema,
    Text,
    WholeNumber,
    Word,
    key,
    keys_of,
    read_value,
)
from adjudge.core.reading.values import Items, Place, Scalar, load_yaml, mapping, text_in
from adjudge.features.conversations.values import says
from adjudge.messages import Message

Tell = Literal["freely", "when asked", "never"]
_LIST = "scenarios"
_PAIRS = re.compile(r"\s*;\s*|\n+")
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True, kw_only=True)
class FactEntry:
    """One fact, if more than its value has to be said."""

    value: str = key(Text(), "What the user knows.")
    aliases: tuple[str, ...] = key(Many(Text()), "Other ways to say the same value.", ())
    asked_by: tuple[str, ...] = key(
        Many(Text()), "Words by which the agent asks for it. Default: the words of its name.", ()
    )


@dataclass(frozen=True)
class Fact:
    """A fact that the user knows."""

    name: str
    value: str
    tell: Tell = "freely"
    aliases: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The value and its aliases."""
        return (self.value, *self.aliases)

    @property
    def question_words(self) -> tuple[str, ...]:
        """The phrases with which an agent asks for it."""
        return self.asked_by or (re.sub(r"[_\s-]+", " ", self.name).strip(),)


class FactsType:
    """The type of facts in files: names with a value, or with an object that describes it."""

    def read(self, value: object, place: Place) -> tuple[tuple[str, FactEntry], ...]:
        entries = mapping(value, place)
        return tuple(
            (name, read_value(Record(FactEntry, short="value"), entry, place.at(name)))
            for name, entry in entries.items()
        )

    def schema(self) -> Schema:
        return {
            "type": "object",
            "additionalProperties": Record(FactEntry, short="value").schema(),
        }


@dataclass(frozen=True, kw_only=True)
class ExpectedToolCall:
    """A call of a tool that must be there."""

    name: str = key(Text(), "The tool.")
    arguments: tuple[tuple[str, JsonValue], ...] = key(
        JsonNames(), "Required arguments; others are allowed.", ()
    )


@dataclass(frozen=True, kw_only=True)
class ExpectedEnd:
    """The expected end of a conversation."""

    state: tuple[tuple[str, JsonValue], ...] = key(
        JsonNames(),
        "Values of the application's final state by path, such as orders.4711.status.",
        (),
    )
    calls: tuple[ExpectedToolCall, ...] = key(
        Many(Record(ExpectedToolCall, short="name")), "Tools that must have been called.", ()
    )
    no_calls: tuple[str, ...] = key(Many(Text()), "Tools that must not have been called.", ())
    says: tuple[str, ...] = key(Many(Text()), "Texts that the agent must have said.", ())

    @property
    def says_anything(self) -> bool:
        """True if anything is expected that can be checked without a model."""
        return bool(self.state or self.calls or self.no_calls or self.says)


@dataclass(frozen=True, kw_only=True)
class StartMessage:
    """A message that the conversation begins with."""

    role: Literal["user", "assistant"] = key(
        Word[Literal["user", "assistant"]](("user", "assistant")), "The speaker."
    )
    content: str = key(Text(), "The text of the message.")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Wishes, knowledge and limits of a simulated user, and the expected end of the
    conversation.
    """

    id: str = key(Text(), "The name of the scenario.")
    goal: str = key(Text(), "What the user wants.")
    parts: tuple[str, ...] = key(
        Many(Text()), "The parts of the goal, if there are several: one thing each.", ()
    )
    facts: tuple[tuple[str, FactEntry], ...] = key(
        FactsType(), "Facts that the user may mention at any time: name and value.", ()
    )
    withheld: tuple[tuple[str, FactEntry], ...] = key(
        FactsType(), "Facts that the user tells only when the agent asks for them.", ()
    )
    secret: tuple[tuple[str, FactEntry], ...] = key(
        FactsType(), "Facts that the user never tells.", ()
    )
    unknown: tuple[str, ...] = key(Many(Text()), "Names of facts that the user does not know.", ())
    persona: str | None = key(Text(), "Who the user is, and how they talk.", None)
    language: Literal["en", "ru"] = key(
        Word[Literal["en", "ru"]](("en", "ru")), "The user's language.", "en"
    )
    opening: str | None = key(Text(), "The first message of the user, word for word.", None)
    script: tuple[str, ...] = key(
        Many(Text()), "All messages of a scripted user; after the last one the user stops.", ()
    )
    start: tuple[StartMessage, ...] = key(
        Many(Record(StartMessage)), "Messages that were exchanged before the user's first one.", ()
    )
    stop: str | None = key(Text(), "When the user ends the conversation, in words.", None)
    max_turns: int | None = key(WholeNumber(least=1), "Maximum number of user messages.", None)
    tells_all: bool = key(
        Flag(), "True if the user may tell everything in the first message.", False
    )
    open_facts: bool = key(
        Flag(),
        "True if the user may know facts that are not listed: facts that they tell are then not "
        "checked.",
        False,
    )
    proposed: bool = key(
        Flag(),
        "True if a model proposed it and no person has accepted it yet: it cannot be run.",
        False,
    )
    today: str | None = key(
        Text(), "The date given to user and application, such as 2026-11-18.", None
    )
    context: tuple[tuple[str, JsonValue], ...] = key(
        JsonNames(), "Additional columns sent to the application, such as a customer id.", ()
    )
    expect: ExpectedEnd = key(
        Record(ExpectedEnd), "How the conversation should end.", ExpectedEnd()
    )
    line: int = 0

    @cached_property
    def known_facts(self) -> tuple[Fact, ...]:
        """All facts that the user knows."""
        groups: tuple[tuple[Tell, tuple[tuple[str, FactEntry], ...]], ...] = (
            ("freely", self.facts),
            ("when asked", self.withheld),
            ("never", self.secret),
        )
        return tuple(
            Fact(name, entry.value, tell, entry.aliases, entry.asked_by)
            for tell, facts in groups
            for name, entry in facts
        )

    @property
    def goals(self) -> tuple[str, ...]:
        """The parts of the goal, or the goal itself."""
        return self.parts or (self.goal,)

    @cached_property
    def identity(self) -> str:
        """A hash that is equal for scenarios with the same content."""
        return content_hash(self.to_dict())

    def to_dict(self) -> JsonDict:
        """Return the scenario as a row of a file, without default values."""
        settings = {
            name: _plain(getattr(self, setting.name))
            for name, setting in keys_of(Scenario).items()
            if getattr(self, setting.name) != setting.default
        }
        for name in ("facts", "withheld", "secret"):
            if name in settings:
                entries: tuple[tuple[str, FactEntry], ...] = getattr(self, name)
                settings[name] = {fact: _fact(entry) for fact, entry in entries}
        return settings

    @classmethod
    def of(cls, value: JsonObject, name: str = "scenario") -> Scenario:
        """Read a scenario from a row; raise a SetupError if it is wrong."""
        return _check(Record(Scenario).read(_as_yaml(value), Place(name)), Place(name))


def _fact(entry: FactEntry) -> JsonValue:
    if not entry.aliases and not entry.asked_by:
        return entry.value
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in vars(entry).items()
        if value
    }


def _plain(value: object) -> JsonValue:  # noqa: PLR0911 - one for each kind of value
    if isinstance(value, ExpectedEnd | ExpectedToolCall | StartMessage):
        kind: type = type(value)
        settings = {name: _plain(getattr(value, name)) for name in keys_of(kind)}
        return {name: inner for name, inner in settings.items() if inner not in ((), [], {}, None)}
    if isinstance(value, tuple):
        if value and all(isinstance(part, tuple) and len(part) == 2 for part in value):
            return {str(name): _plain(inner) for name, inner in value}
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Sequence):
        return [_plain(part) for part in value]
    return str(value)


def read_scenarios(path: Path) -> list[Scenario]:
    """Read the scenarios in a YAML, JSON or CSV file; a SetupError names the wrong field."""
    text = text_in(path)
    rows = _csv_rows(text, path) if path.suffix.lower() in (".csv", ".tsv") else _rows(text, path)
    scenarios: list[Scenario] = []
    places_by_id: dict[str, Place] = {}
    for place, value in rows:
        scenario = _check(Record(Scenario).read(value, place), place)
        if scenario.id in places_by_id:
            raise place.wrong(
                "two scenarios are named {id!r}; the first is {first}",
                id=scenario.id,
                first=places_by_id[scenario.id].entry or Message("above"),
            )
        places_by_id[scenario.id] = place
        scenarios.append(scenario)
    if not scenarios:
        raise Place(str(path)).wrong("the file contains no scenario")
    return scenarios


def _check(scenario: Scenario, place: Place) -> Scenario:
    names = [fact.name for fact in scenario.known_facts]
    for name in names:
        if names.count(name) > 1:
            raise place.wrong("the fact {name!r} appears twice", name=name)
        if name in scenario.unknown:
            raise place.at("unknown").wrong(
                "{name!r} is already a fact of the scenario, so the user knows it", name=name
            )
    for fact in scenario.known_facts:
        if (
            fact.tell != "freely"
            and scenario.opening
            and not scenario.tells_all
            and any(says(scenario.opening, form) for form in fact.forms)
        ):
            raise place.at("opening").wrong(
                "the first message tells {name!r}, which is withheld: move it to facts, or "
                "set tells_all",
                name=fact.name,
            )
    return scenario


def _rows(text: str, path: Path) -> Iterator[tuple[Place, object]]:
    content = load_yaml(text, Place(str(path)))
    if isinstance(content.value, Mapping) and _LIST in content.value:
        content = content.at(_LIST)
    if not isinstance(content.value, list):
        raise content.wrong("must be a list of scenarios, or have one under the key scenarios")
    lines = content.value.lines if isinstance(content.value, Items) else ()
    for number, value in enumerate(content.value, 1):
        place = content.item(number)
        line = lines[number - 1] if number <= len(lines) else 0
        entry = Message("scenario {number}", number=number)
        yield replace(place, field="", entry=entry, line=line, value=value), value


_OBJECTS = ("facts", "withheld", "secret", "context", "expect")
_LISTS = ("parts", "unknown", "script")


def _csv_rows(text: str, path: Path) -> Iterator[tuple[Place, object]]:
    # the header has names only, so what separates them is the most frequent of the three
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter, strict=True)
    setting_names = keys_of(Scenario)
    try:
        for number, row in enumerate(reader, 1):
            place = Place(str(path), Message("row {number}", number=number), line=reader.line_num)
            if None in row or None in row.values():
                raise place.wrong("the row has more or fewer cells than the header")
            value: dict[str, JsonValue] = {}
            for column, cell in row.items():
                name = column.strip()
                if not cell.strip():
                    continue
                if name.partition(".")[0] not in setting_names:
                    value[name] = cell  # the reader names the columns that there are
                elif "." in name:
                    outer, _, inner = name.partition(".")
                    below = value.setdefault(outer, {})
                    if not isinstance(below, dict):
                        raise place.at(name).wrong(
                            "{outer} is also given as a single value", outer=outer
                        )
                    is_list = inner in ("calls", "no_calls", "says")
                    below[inner] = _cell(cell, place.at(name), is_list=is_list)
                elif name in _OBJECTS:
                    value[name] = _cell(cell, place.at(name), is_list=False)
                elif name in _LISTS:
                    value[name] = _cell(cell, place.at(name), is_list=True)
                else:
                    value[name] = _scalar(cell)
            yield place, _as_yaml(value)
    except csv.Error as error:
        line = Message("line {line}", line=reader.line_num)
        raise Place(str(path), line).wrong("is not CSV: {error}", error=error) from error


def _cell(cell: str, place: Place, *, is_list: bool) -> JsonValue:
    """Parse a cell: JSON, ``name=value; name=value``, or ``one; two`` for a list."""
    text = cell.strip()
    if text[0] in "[{":
        try:
            content: JsonValue = json.loads(text)
        except ValueError as error:
            raise place.wrong("is not JSON: {error}", error=error) from error
        return content
    parts = [part for part in _PAIRS.split(text) if part]
    if is_list:
        return [_scalar(part) for part in parts]
    pairs: dict[str, JsonValue] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise place.wrong("must be name=value; name=value, or JSON, not {part!r}", part=part)
        if name.strip() in pairs:
            raise place.wrong("the key {value!r} appears twice", value=name.strip())
        pairs[name.strip()] = _scalar(value)
    return pairs


def _scalar(text: str) -> Scalar:
    stripped = text.strip()
    parsed: object = stripped
    if _NUMBER.fullmatch(stripped):
        parsed = int(stripped)
    elif stripped in ("true", "false"):
        parsed = stripped == "true"
    return Scalar(stripped, parsed)


def _as_yaml(value: JsonValue) -> JsonValue:
    """Wrap JSON scalars as the YAML reader does."""
    if isinstance(value, Scalar) or value is None:
        return value
    if isinstance(value, str):
        return Scalar(value, value)
    # before int: True is an int, too
    if isinstance(value, bool):
        return Scalar(str(value).lower(), value)
    if isinstance(value, int | float):
        return Scalar(str(value), value)
    if isinstance(value, Mapping):
        return {name: _as_yaml(inner) for name, inner in value.items()}
    return [_as_yaml(inner) for inner in value]
