"""What stands under ``criteria`` in an eval file: a text, or a criterion written out; and the
criteria that are meant.
"""

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
    """What a response must meet, and what reports call that."""

    name: str
    definition: str


@light_dataclass(frozen=True)
class CriteriaEntry:
    """What stands under ``criteria``, one of them; a command has looked up
    already what was typed.
    """

    what: str | Mapping[str, object] | Criteria | Aspect
    place: Place = Place("")


@light_dataclass(frozen=True)
class CriteriaType:
    """A text, or a criterion written out. Names and files are looked up when the judge is made."""

    kind: Literal["aspect", "direct", "pairwise"]

    def read(self, value: object, place: Place) -> CriteriaEntry:
        if not isinstance(value, Mapping):
            return CriteriaEntry(Text().read(value, place), place)
        given = mapping(value, place)
        written = given if self.kind == "aspect" else {"kind": self.kind, **given}
        self._check(written, place)
        return CriteriaEntry(written, place)

    def schema(self) -> Schema:
        keys = {"aspect": _ASPECT_KEYS, "direct": KEYS, "pairwise": PAIRWISE_KEYS}[self.kind]
        needed = [*_ASPECT_KEYS, *(["options"] if self.kind == "direct" else [])]
        properties = {name: _PROPERTIES.get(name, Text().schema()) for name in keys}
        if "kind" in properties:
            properties["kind"] = {"const": self.kind}
        written = {
            "type": "object",
            "properties": properties,
            "required": needed,
            "additionalProperties": False,
        }
        return {"anyOf": [Text().schema(), written]}

    def _check(self, given: Mapping[str, object], place: Place) -> None:
        if self.kind == "aspect":
            mapping(given, place, _ASPECT_KEYS, _ASPECT_KEYS)
            for name in _ASPECT_KEYS:
                if not phrase(given[name], place.at(name)):
                    raise place.at(name).wrong("is empty")
        elif given["kind"] != self.kind:
            raise place.at("kind").wrong(
                "must be {kind}, as the judge is, not {given!r}",
                kind=self.kind,
                given=given["kind"],
            )
        else:
            parse_entry(given, place)


def criteria_said(
    said: Sequence[CriteriaEntry], kind: Kind, language: str, beside: Callable[[str], Path]
) -> tuple[Criteria, ...]:
    """The criteria that are meant, wherever they stand; ``beside``: where a
    file is that is named.
    """
    found = [(one.place, each) for one in said for each in _entries(one, kind, language, beside)]
    for place, each in found:
        if each.kind != kind:
            raise place.wrong(
                "criterion {name!r} is for {kind} judges, and this one is {kind2}",
                name=each.criteria.name,
                kind=each.kind,
                kind2=kind,
            )
    names = [each.criteria.name for _, each in found]
    for index, (place, each) in enumerate(found):
        if each.criteria.name in names[:index]:
            raise place.wrong("criterion {name!r} stands here twice", name=each.criteria.name)
    return tuple(each.criteria for _, each in found)


def fields_of_criteria(criteria: Sequence[Criteria]) -> tuple[str, ...]:
    """Return the fields that criteria judge and read."""
    return tuple(
        name for one in criteria for name in (one.to_evaluate_field, *(one.context_fields or ()))
    )


def _entries(
    said: CriteriaEntry, kind: Kind, language: str, beside: Callable[[str], Path]
) -> list[CatalogEntry]:
    """A file's, one of the catalogue, one written out, or a question."""
    if isinstance(said.what, Criteria):
        return [CatalogEntry(said.what, kind, language)]
    if not isinstance(said.what, str):
        return [parse_entry(said.what, said.place, language)]
    try:
        if Path(said.what).suffix.lower() in CRITERIA_FILES:
            return read_entries(beside(said.what), kind)
        if len(said.what.split()) == 1:
            return [from_catalog(said.what, language)]
    except SetupError as error:
        raise said.place.wrong(str(error)) from error
    return [CatalogEntry(criteria_of(said.what, kind, language), kind, language)]


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
