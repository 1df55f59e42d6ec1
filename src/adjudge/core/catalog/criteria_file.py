"""Criteria as people write them, in YAML or JSON; what is wrong is named by
file, entry and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from adjudge.core.catalog.entry import KINDS, CatalogEntry, Kind, pairwise_options
from adjudge.core.domain.criteria import (
    Criteria,
    CriteriaExample,
    CriteriaOption,
    is_sentence,
    with_good_option,
)
from adjudge.core.domain.frozen_mapping import nonempty, plain
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.reading.values import (
    Place,
    WrongValue,
    flag,
    list_of,
    load_yaml,
    mapping,
    number,
    one_of,
    phrase,
    text,
    text_in,
    texts,
    unique_keys,
)
from adjudge.errors import SetupError

PAIRWISE_KEYS = (
    "name",
    "kind",
    "description",
    "to_evaluate_field",
    "context_fields",
    "examples",
    "golden",
    "version",
)
KEYS = (*PAIRWISE_KEYS, "higher_is_better", "options", "good")
_OPTION_KEYS = ("name", "description", "score")
_EXAMPLE_KEYS = ("fields", "option", "explanation")
_VERSION = re.compile(r"\d+(\.\d+){0,2}")
_JSON, _YAML = (".json",), (".yaml", ".yml")


def read_entries(path: str | Path, kind: Kind = "direct") -> list[CatalogEntry]:
    """Every criterion of a file, with its kind.

    ``kind``: what those are that say neither that nor their options.
    """
    return entries_in(text_in(Path(path)), str(path), kind)


def entries_in(content: str, file: str, kind: Kind = "direct") -> list[CatalogEntry]:
    """Every criterion in the text of a user's file, whose name is ``file``."""
    found = [
        (place, parse_entry(value, place, kind=kind))
        for place, value in _numbered(_load(content, file))
    ]
    for wrong in repeated_names(found):
        raise wrong
    return [entry for _, entry in found]


def parse_entries(content: str, file: str, language: str) -> list[CatalogEntry]:
    """Every criterion in the text of a file of ours; ``file`` is what errors call it."""
    return [
        parse_entry(value, place, language)
        for place, value in _numbered(load_yaml(content, Place(file), trusted=True))
    ]


def raw_entries(path: str | Path) -> list[tuple[Place, object]]:
    """What the file holds, entry by entry, not yet looked at."""
    path = Path(path)
    return _numbered(_load(text_in(path), str(path)))


def parse_entry(
    value: object, place: Place, language: str = "en", kind: Kind = "direct"
) -> CatalogEntry:
    """One criterion of a file. ``kind``: what it is if it says neither that nor its options."""
    kind = _kind(mapping(value, place), place, kind)
    if kind == "pairwise" and "options" in mapping(value, place):
        raise place.at("options").wrong(
            "pairwise criteria have none: the labels A, B, … of the responses are chosen from"
        )
    given = mapping(
        value, place, PAIRWISE_KEYS if kind == "pairwise" else KEYS, ("name", "description")
    )
    found = _criteria(given, kind, place, language)
    return CatalogEntry(found, kind, language, _version(given, place), _golden(given, found, place))


def _version(given: JsonObject, place: Place) -> str:
    said = given.get("version")
    if said is None:
        return ""
    found = (
        str(said)
        if isinstance(said, int | float) and not isinstance(said, bool)
        else phrase(said, place.at("version"))
    )
    if not _VERSION.fullmatch(found):
        raise place.at("version").wrong(
            "must be numbers with dots between them, such as 1.0.0, not {found!r}", found=found
        )
    return found


def _golden(given: JsonObject, criteria: Criteria, place: Place) -> tuple[CriteriaExample, ...]:
    """Their options must be there: a slip of the pen would fail every judge."""
    found = [
        (at, _example(item, at))
        for at, item in list_of(given.get("golden") or [], place.at("golden"))
    ]
    for at, one in found:
        if one.option not in criteria.option_names and given.get("kind") != "pairwise":
            raise at.at("option").wrong(
                "is {option!r}, which is none of {known}",
                option=one.option,
                known=", ".join(map(repr, criteria.option_names)),
            )
    return tuple(one for _, one in found)


def repeated_names(entries: Sequence[tuple[Place, CatalogEntry]]) -> list[WrongValue]:
    """Two criteria of one name could not be told apart in any report."""
    names = [entry.criteria.name for _, entry in entries]
    return [
        place.at("name").wrong("an earlier entry is called {name!r} too", name=name)
        for index, ((place, _), name) in enumerate(zip(entries, names, strict=True))
        if name in names[:index]
    ]


def _criteria(given: JsonObject, kind: Kind, place: Place, language: str) -> Criteria:
    examples = [
        _example(item, at)
        for at, item in list_of(given.get("examples") or [], place.at("examples"))
    ]
    judged = phrase(given.get("to_evaluate_field") or "response", place.at("to_evaluate_field"))
    compared = (
        pairwise_options(_most_compared(examples, judged), language) if kind == "pairwise" else None
    )
    context = given.get("context_fields")
    parts: dict[str, Any] = {
        "name": phrase(given["name"], place.at("name")),
        "description": _description(given, place),
        "options": compared or _options(given.get("options"), place.at("options")),
        "to_evaluate_field": judged,
        "context_fields": None if context is None else texts(context, place.at("context_fields")),
        "examples": examples,
        "higher_is_better": flag(given.get("higher_is_better", True), place.at("higher_is_better")),
    }
    try:
        made = Criteria(**parts)
        good = given.get("good")
        return made if good is None else with_good_option(made, phrase(good, place.at("good")))
    except WrongValue:
        raise
    except SetupError as error:
        raise place.wrong(str(error)) from error


def _description(given: JsonObject, place: Place) -> str:
    """It may be empty where the name is a sentence, which is then what the judge is asked."""
    description = phrase(given["description"], place.at("description"))
    if not description.strip() and not is_sentence(phrase(given["name"], place.at("name"))):
        raise place.at("description").wrong("is empty: say in a sentence what is judged")
    return description


def _most_compared(examples: Sequence[CriteriaExample], judged: str) -> int:
    responses = (example.fields.get(judged, ()) for example in examples)
    return max((2, *(len(each) for each in responses if not isinstance(each, str))))


def _kind(given: JsonObject, place: Place, default: Kind) -> Kind:
    chosen = one_of(
        given.get("kind", "direct" if "options" in given else default), KINDS, place.at("kind")
    )
    return "pairwise" if chosen == "pairwise" else "direct"


def _options(value: object, place: Place) -> list[CriteriaOption]:
    if value is None or value == []:
        raise place.wrong("is missing: list at least two options, or say kind: pairwise")
    return [_option(item, at) for at, item in list_of(value, place)]


def _option(value: object, place: Place) -> CriteriaOption:
    """A name by itself is an option too."""
    if not isinstance(value, Mapping):
        return CriteriaOption(phrase(value, place))
    given = mapping(value, place, _OPTION_KEYS, ("name",))
    description = given.get("description")
    score = given.get("score")
    return CriteriaOption(
        name=phrase(given["name"], place.at("name")),
        description="" if description is None else phrase(description, place.at("description")),
        score=None if score is None else number(score, place.at("score")),
    )


def _example(value: object, place: Place) -> CriteriaExample:
    given = mapping(value, place, _EXAMPLE_KEYS, ("fields", "option"))
    return CriteriaExample(
        fields=_fields(given["fields"], place.at("fields")),
        option=phrase(given["option"], place.at("option")),
        explanation=phrase(given.get("explanation") or "", place.at("explanation")),
    )


def _fields(value: object, place: Place) -> dict[str, str | list[str]]:
    given = mapping(value, place)
    if not given:
        raise place.wrong("is empty: give at least the text that was judged")
    return {
        name: texts(item, place.at(name)) if isinstance(item, list) else text(item, place.at(name))
        for name, item in given.items()
    }


def _load(content: str, file: str) -> Place:
    suffix = Path(file).suffix.lower()
    if suffix not in (*_JSON, *_YAML):
        raise SetupError(
            "{file} is neither YAML nor JSON: its name must end in {value}",
            file=file,
            value=", ".join((*_YAML, *_JSON)),
        )
    if suffix in _YAML:
        return load_yaml(content, Place(file))
    try:
        return Place(file, value=json.loads(content, object_pairs_hook=unique_keys))
    except (ValueError, RecursionError) as error:
        raise SetupError(
            "{file} is not JSON: {said}", file=file, said=" ".join(str(error).split())
        ) from error


def _numbered(whole: Place) -> list[tuple[Place, object]]:
    if whole.value is None or whole.value == []:
        raise SetupError("{file} holds no criteria: write one, or a list of them", file=whole.file)
    each = list_of(whole.value, whole) if isinstance(whole.value, list) else [(whole, whole.value)]
    return [
        (replace(at, entry=_label(number, item), field=""), item)
        for number, (at, item) in enumerate(each, 1)
    ]


def _label(number: int, item: object) -> str:
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"entry {number} ({str(name)!r})" if isinstance(name, str) else f"entry {number}"


def as_file(entry: CatalogEntry) -> JsonDict:
    """As a file of criteria writes it; what has its default is left out."""
    given = entry.criteria
    found: JsonDict = {
        "name": given.name,
        "kind": entry.kind,
        "description": given.description,
    }
    found |= nonempty(version=entry.version, golden=plain(entry.golden))
    found["to_evaluate_field"] = given.to_evaluate_field
    if given.context_fields is not None:
        found["context_fields"] = list(given.context_fields)
    if entry.kind == "direct":
        found["higher_is_better"] = given.higher_is_better
        found["options"] = [
            {name: value for name, value in _keys(one).items() if value not in ("", None)}
            for one in given.options
        ]
    if given.examples:
        found["examples"] = [
            {name: value for name, value in _keys(one).items() if value != ""}
            for one in given.examples
        ]
    return found


def _keys(one: CriteriaOption | CriteriaExample) -> JsonObject:
    return object_in(plain(one))
