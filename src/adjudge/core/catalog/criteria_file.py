"""Criteria in users' files, in YAML or JSON. Errors name file, entry and field."""

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
from adjudge.messages import Message

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
    """Read every criterion of a file, with its kind.

    ``kind``: the kind of entries without ``kind`` and options.
    """
    return entries_in(text_in(Path(path)), str(path), kind)


def entries_in(content: str, file: str, kind: Kind = "direct") -> list[CatalogEntry]:
    """Read every criterion in the text of a user's file called ``file``; raise an error for a
    repeated name.
    """
    placed_entries = [
        (place, parse_entry(value, place, kind=kind))
        for place, value in _with_places(_load(content, file))
    ]
    for wrong in repeated_names(placed_entries):
        raise wrong
    return [entry for _, entry in placed_entries]


def parse_entries(content: str, file: str, language: str) -> list[CatalogEntry]:
    """Read every criterion in the text of a file from adjudge or a package; errors call it
    ``file``.
    """
    return [
        parse_entry(value, place, language)
        for place, value in _with_places(load_yaml(content, Place(file), trusted=True))
    ]


def raw_entries(path: str | Path) -> list[tuple[Place, object]]:
    """Return the raw entries of a file with their places."""
    path = Path(path)
    return _with_places(_load(text_in(path), str(path)))


def parse_entry(
    value: object, place: Place, language: str = "en", kind: Kind = "direct"
) -> CatalogEntry:
    """Read one criterion. ``kind``: its kind if it has neither ``kind`` nor options."""
    kind = _kind(mapping(value, place), place, kind)
    if kind == "pairwise" and "options" in mapping(value, place):
        raise place.at("options").wrong(
            "pairwise criteria have no options: the judge chooses among the response labels A, B, …"
        )
    entries = mapping(
        value, place, PAIRWISE_KEYS if kind == "pairwise" else KEYS, ("name", "description")
    )
    criteria = _criteria(entries, kind, place, language)
    return CatalogEntry(
        criteria, kind, language, _version(entries, place), _golden(entries, criteria, place)
    )


def _version(given: JsonObject, place: Place) -> str:
    value = given.get("version")
    if value is None:
        return ""
    version = (
        str(value)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else phrase(value, place.at("version"))
    )
    if not _VERSION.fullmatch(version):
        raise place.at("version").wrong(
            "must be dot-separated numbers, such as 1.0.0, not {found!r}", found=version
        )
    return version


def _golden(given: JsonObject, criteria: Criteria, place: Place) -> tuple[CriteriaExample, ...]:
    """Read the golden cases; raise an error for an unknown option, since a typo would fail every
    judge.
    """
    cases = [
        (at, _example(item, at))
        for at, item in list_of(given.get("golden") or [], place.at("golden"))
    ]
    for at, case in cases:
        if case.option not in criteria.option_names and given.get("kind") != "pairwise":
            raise at.at("option").wrong(
                "is {option!r}, which is not one of {known}",
                option=case.option,
                known=", ".join(map(repr, criteria.option_names)),
            )
    return tuple(case for _, case in cases)


def repeated_names(entries: Sequence[tuple[Place, CatalogEntry]]) -> list[WrongValue]:
    """Return an error for each repeated name: reports could not tell such criteria apart."""
    names = [entry.criteria.name for _, entry in entries]
    return [
        place.at("name").wrong("an earlier entry has the same name, {name!r}", name=name)
        for index, ((place, _), name) in enumerate(zip(entries, names, strict=True))
        if name in names[:index]
    ]


def _criteria(given: JsonObject, kind: Kind, place: Place, language: str) -> Criteria:
    examples = [
        _example(item, at)
        for at, item in list_of(given.get("examples") or [], place.at("examples"))
    ]
    judged_field = phrase(
        given.get("to_evaluate_field") or "response", place.at("to_evaluate_field")
    )
    pairwise = (
        pairwise_options(_count_compared(examples, judged_field), language)
        if kind == "pairwise"
        else None
    )
    context = given.get("context_fields")
    parts: dict[str, Any] = {
        "name": phrase(given["name"], place.at("name")),
        "description": _description(given, place),
        "options": pairwise or _options(given.get("options"), place.at("options")),
        "to_evaluate_field": judged_field,
        "context_fields": None if context is None else texts(context, place.at("context_fields")),
        "examples": examples,
        "higher_is_better": flag(given.get("higher_is_better", True), place.at("higher_is_better")),
    }
    try:
        criteria = Criteria(**parts)
        good = given.get("good")
        return (
            criteria if good is None else with_good_option(criteria, phrase(good, place.at("good")))
        )
    except WrongValue:
        raise
    except SetupError as error:
        raise place.wrong(str(error)) from error


def _description(given: JsonObject, place: Place) -> str:
    """Read the description; raise an error if it is empty, unless the name is a sentence.

    Such a name is then the question.
    """
    description = phrase(given["description"], place.at("description"))
    if not description.strip() and not is_sentence(phrase(given["name"], place.at("name"))):
        raise place.at("description").wrong("is empty: describe in a sentence what to judge")
    return description


def _count_compared(examples: Sequence[CriteriaExample], judged: str) -> int:
    responses = (example.fields.get(judged, ()) for example in examples)
    return max(
        (
            2,
            *(
                len(texts_compared)
                for texts_compared in responses
                if not isinstance(texts_compared, str)
            ),
        )
    )


def _kind(given: JsonObject, place: Place, default: Kind) -> Kind:
    kind = one_of(
        given.get("kind", "direct" if "options" in given else default), KINDS, place.at("kind")
    )
    return "pairwise" if kind == "pairwise" else "direct"


def _options(value: object, place: Place) -> list[CriteriaOption]:
    if value is None or value == []:
        raise place.wrong("is missing: list at least two options, or write kind: pairwise")
    return [_option(item, at) for at, item in list_of(value, place)]


def _option(value: object, place: Place) -> CriteriaOption:
    """Read an option; a bare name is one, too."""
    if not isinstance(value, Mapping):
        return CriteriaOption(phrase(value, place))
    entries = mapping(value, place, _OPTION_KEYS, ("name",))
    description = entries.get("description")
    score = entries.get("score")
    return CriteriaOption(
        name=phrase(entries["name"], place.at("name")),
        description="" if description is None else phrase(description, place.at("description")),
        score=None if score is None else number(score, place.at("score")),
    )


def _example(value: object, place: Place) -> CriteriaExample:
    entries = mapping(value, place, _EXAMPLE_KEYS, ("fields", "option"))
    return CriteriaExample(
        fields=_fields(entries["fields"], place.at("fields")),
        option=phrase(entries["option"], place.at("option")),
        explanation=phrase(entries.get("explanation") or "", place.at("explanation")),
    )


def _fields(value: object, place: Place) -> dict[str, str | list[str]]:
    entries = mapping(value, place)
    if not entries:
        raise place.wrong("is empty: give at least the judged text")
    return {
        name: texts(item, place.at(name)) if isinstance(item, list) else text(item, place.at(name))
        for name, item in entries.items()
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


def _with_places(whole: Place) -> list[tuple[Place, object]]:
    if whole.value is None or whole.value == []:
        raise SetupError(
            "{file} contains no criteria: write one criterion, or a list of them", file=whole.file
        )
    items = list_of(whole.value, whole) if isinstance(whole.value, list) else [(whole, whole.value)]
    placed: list[tuple[Place, object]] = []
    for index, (at, item) in enumerate(items, 1):
        name = item.get("name") if isinstance(item, Mapping) else None
        label = (
            Message("entry {index} ({name!r})", index=index, name=str(name))
            if isinstance(name, str)
            else Message("entry {index}", index=index)
        )
        placed.append((replace(at, entry=label, field=""), item))
    return placed


def as_file(entry: CatalogEntry) -> JsonDict:
    """Return an entry in the form of a file of criteria, without defaults."""
    criteria = entry.criteria
    data: JsonDict = {
        "name": criteria.name,
        "kind": entry.kind,
        "description": criteria.description,
    }
    data |= nonempty(version=entry.version, golden=plain(entry.golden))
    data["to_evaluate_field"] = criteria.to_evaluate_field
    if criteria.context_fields is not None:
        data["context_fields"] = list(criteria.context_fields)
    if entry.kind == "direct":
        data["higher_is_better"] = criteria.higher_is_better
        data["options"] = [
            {name: value for name, value in _keys(part).items() if value not in ("", None)}
            for part in criteria.options
        ]
    if criteria.examples:
        data["examples"] = [
            {name: value for name, value in _keys(part).items() if value != ""}
            for part in criteria.examples
        ]
    return data


def _keys(part: CriteriaOption | CriteriaExample) -> JsonObject:
    return object_in(plain(part))
