"""Entries under ``criteria`` in an eval file, and the criteria that they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from adjudge.core.catalog.criteria import criteria_of
from adjudge.core.catalog.criteria import entry as from_catalog
from adjudge.core.catalog.criteria_file import KEYS, PAIRWISE_KEYS, parse_entry, read_entries
from adjudge.core.catalog.entry import CatalogEntry, Kind
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.types import Schema, Text
from adjudge.core.reading.values import Place, mapping, phrase
from adjudge.errors import SetupError

CRITERIA_FILES = (".yaml", ".yml", ".json")
_ASPECT_KEYS = ("name", "description")


class Aspect(NamedTuple):
    """A requirement for responses, and its name in reports."""

    name: str
    definition: str


@light_dataclass(frozen=True)
class CriteriaEntry:
    """An entry under ``criteria``. Commands look up what the user typed beforehand."""

    what: str | Mapping[str, object] | Criteria | Aspect
    place: Place = Place("")


@light_dataclass(frozen=True)
class CriteriaType:
    """A text, or a written-out criterion. Names and files are looked up when the judge is made."""

    kind: Literal["aspect", "direct", "pairwise"]

    def read(self, value: object, place: Place) -> CriteriaEntry:
        if not isinstance(value, Mapping):
            return CriteriaEntry(Text().read(value, place), place)
        keys = mapping(value, place)
        entry_keys = keys if self.kind == "aspect" else {"kind": self.kind, **keys}
        self._check(entry_keys, place)
        return CriteriaEntry(entry_keys, place)

    def schema(self) -> Schema:
        keys = {"aspect": _ASPECT_KEYS, "direct": KEYS, "pairwise": PAIRWISE_KEYS}[self.kind]
        needed = [*_ASPECT_KEYS, *(["options"] if self.kind == "direct" else [])]
        properties = {name: _PROPERTIES.get(name, Text().schema()) for name in keys}
        if "kind" in properties:
            properties["kind"] = {"const": self.kind}
        object_schema = {
            "type": "object",
            "properties": properties,
            "required": needed,
            "additionalProperties": False,
        }
        return {"anyOf": [Text().schema(), object_schema]}

    def _check(self, given: Mapping[str, object], place: Place) -> None:
        if self.kind == "aspect":
            mapping(given, place, _ASPECT_KEYS, _ASPECT_KEYS)
            for name in _ASPECT_KEYS:
                if not phrase(given[name], place.at(name)):
                    raise place.at(name).wrong("is empty")
        elif given["kind"] != self.kind:
            raise place.at("kind").wrong(
                "must be {kind}, like the judge, not {given!r}",
                kind=self.kind,
                given=given["kind"],
            )
        else:
            parse_entry(given, place)


def criteria_said(
    said: Sequence[CriteriaEntry], kind: Kind, language: str, beside: Callable[[str], Path]
) -> tuple[Criteria, ...]:
    """Look up the criteria of all entries. Raises on a wrong kind or a repeated name.

    ``beside``: resolves the path of a named file.
    """
    entries = [
        (named.place, entry) for named in said for entry in _entries(named, kind, language, beside)
    ]
    for place, entry in entries:
        if entry.kind != kind:
            raise place.wrong(
                "criterion {name!r} is for {kind} judges, but this judge is {kind2}",
                name=entry.criteria.name,
                kind=entry.kind,
                kind2=kind,
            )
    names = [entry.criteria.name for _, entry in entries]
    for index, (place, entry) in enumerate(entries):
        if entry.criteria.name in names[:index]:
            raise place.wrong("criterion {name!r} appears twice here", name=entry.criteria.name)
    return tuple(entry.criteria for _, entry in entries)


def fields_of_criteria(criteria: Sequence[Criteria]) -> tuple[str, ...]:
    """Return the fields that the criteria judge and read."""
    return tuple(
        name
        for criterion in criteria
        for name in (criterion.to_evaluate_field, *(criterion.context_fields or ()))
    )


def _entries(
    criteria_entry: CriteriaEntry, kind: Kind, language: str, beside: Callable[[str], Path]
) -> list[CatalogEntry]:
    """Return an entry's criteria: from a file, the catalogue, a written-out criterion, or a
    question.
    """
    if isinstance(criteria_entry.what, Criteria):
        return [CatalogEntry(criteria_entry.what, kind, language)]
    if not isinstance(criteria_entry.what, str):
        return [parse_entry(criteria_entry.what, criteria_entry.place, language)]
    try:
        if Path(criteria_entry.what).suffix.lower() in CRITERIA_FILES:
            return read_entries(beside(criteria_entry.what), kind)
        if len(criteria_entry.what.split()) == 1:
            return [from_catalog(criteria_entry.what, language)]
    except SetupError as error:
        raise criteria_entry.place.wrong(str(error)) from error
    return [CatalogEntry(criteria_of(criteria_entry.what, kind, language), kind, language)]


_TEXTS: Schema = {"type": "array", "items": Text().schema()}
_EXAMPLES: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "fields": {"type": "object"},
            "option": Text().schema(),
            "explanation": Text().schema(),
        },
        "required": ["fields", "option"],
        "additionalProperties": False,
    },
}
_PROPERTIES: Mapping[str, Schema] = {
    "context_fields": _TEXTS,
    "higher_is_better": {"type": "boolean"},
    "good": Text().schema(),
    "examples": _EXAMPLES,
    "golden": _EXAMPLES,
    "options": {
        "type": "array",
        "minItems": 1,
        "items": {
            "anyOf": [
                Text().schema(),
                {
                    "type": "object",
                    "properties": {
                        "name": Text().schema(),
                        "description": {"type": "string"},
                        "score": {"type": "number"},
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                },
            ]
        },
    },
}
