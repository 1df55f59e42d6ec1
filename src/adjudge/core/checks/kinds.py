"""Checks by their names in eval files, and the reader of a list of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, replace
from functools import cache
from typing import Any

from adjudge.core.checks.check import Check, Expectation, Observation
from adjudge.core.checks.language import Language
from adjudge.core.checks.numbers import Length, NumberWithin, Took
from adjudge.core.checks.python import Python
from adjudge.core.checks.similarity import Similar
from adjudge.core.checks.structure import Citations, IsCode, IsJson, IsSql, Urls
from adjudge.core.checks.words import Begins, Contains, Ends, Equals, ForbiddenWords, Regex
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.span import Span
from adjudge.core.reading.types import (
    Flag,
    Many,
    Number,
    Record,
    Schema,
    Text,
    Type,
    keys_of,
    read_value,
)
from adjudge.core.reading.values import Place, mapping, nearest
from adjudge.core.verdicts.refusal import declines
from adjudge.messages import Message

_SORRY = r"""
    (?:(?:i['’]?m|i\ am)\ (?:really\ |very\ |so\ )?(?:sorry|afraid)|sorry|unfortunately|apologies
      |as\ an?\ (?:ai|language)[^.!?]{0,60}?)
"""
_CANNOT = r"""
    i\ (?:can(?:['’]?t|not|\ not)|won['’]?t|will\ not|am\ (?:unable|not\ able)\ to
      |must\ decline|have\ to\ decline|refuse)
"""
_DO = r"""
    (?:help|assist|provide|create|write|generate|share|give|tell|answer|discuss|support|comply
      |fulfil+|offer|produce|do\ that|do\ this|engage|recommend|advise|speak|respond|decline
      |process|continue)
"""
_DO_RU = r"""
    (?:помо[чг]\w*|предостав\w*|созда\w*|написать|писать|дать|давать|рассказ\w*|ответить
      |отвечать|обсужда\w*|поддерж\w*|выполн\w*|говорить|рекоменд\w*|советовать|сделать
      |делать|продолж\w*)
"""
_OPENING = rf"""
    \s*[*_"'«“]*(?:{_SORRY}[\s,.:;!–—-]*(?:but[\s,]*)?)*
    {_CANNOT}\ ?(?:to\ )?(?:\w+ly\ )?{_DO}\b
    |\s*(?:(?:извините|простите|к\ сожалению|сожалею)[\s,.!–—-]*(?:но[\s,]*)?)*
    (?:я\ )?не\ (?:могу|смогу|буду|вправе|имею\ права)\ (?:вам\ )?{_DO_RU}\b
"""


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_OPENING, re.VERBOSE | re.IGNORECASE)


@light_dataclass(frozen=True, kw_only=True)
class Refuses(Check):
    """The answer begins by declining, in English or Russian. Most users want ``not: refusal``."""

    @property
    def title(self) -> str:
        return Message("declines to answer")

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        match = _pattern().match(text)
        if match:
            return Observation(True, Message("it declines"), (Span(0, match.end()),))
        if declines(text, ()):
            return Observation(True, Message("it declines"))
        return Observation(False, Message("it does not decline"))


_NOT = "not"


@light_dataclass(frozen=True)
class CheckKind:
    """Syntax of a check: its keys, the key that a bare value sets, and preset keys."""

    check_class: type[Check]
    short: str | None = None
    preset: Mapping[str, Any] = NOTHING
    flag: bool = False
    """True if the check needs no settings: ``true`` is enough."""

    def read(self, value: object, place: Place) -> Check:
        if self.flag and getattr(value, "meant", None) is True:
            return self.check_class(**self.preset)
        keys = keys_of(self.check_class)
        if self.short and not isinstance(value, Mapping):
            read = keys[self.short].metadata["type"].read(value, place)
            return self.check_class(**{self.short: read}, **self.preset)
        entries = mapping(value, place)
        for name in entries:
            if name not in keys or name in self.preset:
                allowed = [key_field for key_field in keys if key_field not in self.preset]
                raise replace(place.at_key(name), field="").wrong(
                    "unknown key {name!r}; {hint}", name=name, hint=nearest(name, allowed)
                )
        values = {
            name: read_value(keys[name].metadata["type"], entry, place.at(name))
            for name, entry in entries.items()
        }
        for name, key_field in keys.items():
            if key_field.default is MISSING and name not in {**values, **self.preset}:
                raise place.wrong("the key {name!r} is missing", name=name)
        return self.check_class(**values, **self.preset)

    def schema(self) -> Schema:
        full = Record(self.check_class).schema()
        keys = keys_of(self.check_class)
        also: list[Schema] = [{"const": True}] if self.flag else []
        also += [keys[self.short].metadata["type"].schema()] if self.short else []
        return {"anyOf": [*also, full]} if also else full


CHECKS: Mapping[str, CheckKind] = {
    "equals": CheckKind(Equals, "text"),
    "contains": CheckKind(Contains, "text"),
    "contains_all": CheckKind(Contains, "all"),
    "contains_any": CheckKind(Contains, "any"),
    "starts_with": CheckKind(Begins, "text"),
    "ends_with": CheckKind(Ends, "text"),
    "regex": CheckKind(Regex, "pattern"),
    "forbidden": CheckKind(ForbiddenWords, "words"),
    "json": CheckKind(IsJson, "path", flag=True),
    "number": CheckKind(NumberWithin),
    "words": CheckKind(Length, preset={"unit": "words"}),
    "characters": CheckKind(Length, preset={"unit": "characters"}),
    "language": CheckKind(Language, "code"),
    "similarity": CheckKind(Similar, "to"),
    "urls": CheckKind(Urls, flag=True),
    "citations": CheckKind(Citations, flag=True),
    "code": CheckKind(IsCode, "language", flag=True),
    "sql": CheckKind(IsSql, "dialect", flag=True),
    "refusal": CheckKind(Refuses, flag=True),
    "latency": CheckKind(Took, "most", preset={"column": "latency"}),
    "cost": CheckKind(Took, "most", preset={"column": "cost"}),
    "python": CheckKind(Python, "code"),
}
_COMMON: Mapping[str, Type[object]] = {
    "name": Text(),
    "weight": Number(above=0),
    "required": Flag(),
    "field": Text(),
    "rows_with": Text(),
}


class CheckType:
    """One check of a list: its name with its keys, and common keys.

    ``{contains: refund, required: true}``, ``{not: {contains: sorry}}``, or ``json`` alone.
    """

    def read(self, value: object, place: Place) -> Expectation:
        if isinstance(value, str):
            kind = CHECKS.get(str(value))
            if kind is None or not kind.flag:
                raise place.wrong(
                    "the check {name!r} does not work without settings; {hint}",
                    name=str(value),
                    hint=nearest(
                        str(value), [check_name for check_name, kind in CHECKS.items() if kind.flag]
                    ),
                )
            expectation = Expectation(check=kind.check_class(**kind.preset))
        else:
            expectation = self._read_mapping(value, place)
        return replace(expectation, place=replace(place, value=None))

    def _read_mapping(self, value: object, place: Place) -> Expectation:
        entries = mapping(value, place)
        names = [name for name in entries if name in CHECKS or name == _NOT]
        for name in entries:
            if name not in CHECKS and name not in _COMMON and name != _NOT:
                at = replace(place.at_key(name), field="")
                check_keys = [
                    key
                    for entry_name in names
                    if entry_name != _NOT
                    for key in keys_of(CHECKS[entry_name].check_class)
                ]
                if name in check_keys:
                    example = f"{names[0]}: {{{check_keys[0]}: …, {name}: …}}"
                    raise at.wrong(
                        "{name!r} belongs below the check: {example}", name=name, example=example
                    )
                raise at.wrong(
                    "unknown check {name!r}; {hint}",
                    name=name,
                    hint=nearest(name, [*CHECKS, _NOT, *_COMMON]),
                )
        if len(names) != 1:
            raise place.wrong("a check must be one of {checks}", checks=", ".join(CHECKS))
        (name,) = names
        at = place.at(name)
        also = {
            entry_name: read_value(kind, entries[entry_name], place.at(entry_name))
            for entry_name, kind in _COMMON.items()
            if entry_name in entries
        }
        if name == _NOT:
            inner = read_value(self, entries[name], at)
            return replace(inner, negated=not inner.negated, **also)  # type: ignore[arg-type]
        check = read_value(CHECKS[name], entries[name], at)
        return Expectation(check=check, **also)  # type: ignore[arg-type]

    def schema(self) -> Schema:
        forms: list[Schema] = [{"enum": [name for name, kind in CHECKS.items() if kind.flag]}]
        also = {name: kind.schema() for name, kind in _COMMON.items()}
        forms += [
            {
                "type": "object",
                "properties": {name: kind.schema(), **also},
                "required": [name],
                "additionalProperties": False,
            }
            for name, kind in CHECKS.items()
        ]
        negated: Schema = {
            "type": "object",
            "properties": {_NOT: {"anyOf": list(forms)}, **also},
            "required": [_NOT],
            "additionalProperties": False,
        }
        return {"anyOf": [*forms, negated]}


EXPECTATIONS = Many(CheckType())


def say(expectation: Expectation) -> JsonDict:
    """Return a check in the form of an eval file. Reading it back gives an equal check."""
    check_type = type(expectation.check)
    name, kind = next(
        (name, kind)
        for name, kind in CHECKS.items()
        if kind.check_class is check_type
        and all(getattr(expectation.check, key) == value for key, value in kind.preset.items())
    )
    keys = {
        key: list(value) if isinstance(value, tuple) else value
        for key, key_field in keys_of(check_type).items()
        if key not in kind.preset
        and (value := getattr(expectation.check, key)) != key_field.default
    }
    plain = Expectation(check=expectation.check)
    common = {
        key: value for key in _COMMON if (value := getattr(expectation, key)) != getattr(plain, key)
    }
    setting: JsonDict = {name: keys or True}
    return {**({_NOT: setting} if expectation.negated else setting), **common}
