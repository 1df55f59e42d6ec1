"""The checks by their names in eval files, and how a list of them is read."""

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
    """The answer begins by declining, in English or Russian; most people want ``not: refusal``."""

    @property
    def title(self) -> str:
        return Message("declines to answer")

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        found = _pattern().match(text)
        if found:
            return Observation(True, Message("it declines"), (Span(0, found.end()),))
        if declines(text, ()):
            return Observation(True, Message("it declines"))
        return Observation(False, Message("it does not decline"))


_NOT = "not"


@light_dataclass(frozen=True)
class CheckKind:
    """How a check is written: its keys, what a text or a list by itself stands for, and what is
    given already.
    """

    made: type[Check]
    short: str | None = None
    given: Mapping[str, Any] = NOTHING
    flag: bool = False
    """Whether ``true`` by itself is enough."""

    def read(self, value: object, place: Place) -> Check:
        if self.flag and getattr(value, "meant", None) is True:
            return self.made(**self.given)
        known = keys_of(self.made)
        if self.short and not isinstance(value, Mapping):
            read = known[self.short].metadata["type"].read(value, place)
            return self.made(**{self.short: read}, **self.given)
        own = mapping(value, place)
        for name in own:
            if name not in known or name in self.given:
                left = [one for one in known if one not in self.given]
                raise replace(place.at_key(name), field="").wrong(
                    "unknown key {name!r}; {hint}", name=name, hint=nearest(name, left)
                )
        values = {
            name: read_value(known[name].metadata["type"], each, place.at(name))
            for name, each in own.items()
        }
        for name, one in known.items():
            if one.default is MISSING and name not in {**values, **self.given}:
                raise place.wrong("the key {name!r} is missing", name=name)
        return self.made(**values, **self.given)

    def schema(self) -> Schema:
        whole = Record(self.made).schema()
        known = keys_of(self.made)
        also: list[Schema] = [{"const": True}] if self.flag else []
        also += [known[self.short].metadata["type"].schema()] if self.short else []
        return {"anyOf": [*also, whole]} if also else whole


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
    "words": CheckKind(Length, given={"unit": "words"}),
    "characters": CheckKind(Length, given={"unit": "characters"}),
    "language": CheckKind(Language, "code"),
    "similarity": CheckKind(Similar, "to"),
    "urls": CheckKind(Urls, flag=True),
    "citations": CheckKind(Citations, flag=True),
    "code": CheckKind(IsCode, "language", flag=True),
    "sql": CheckKind(IsSql, "dialect", flag=True),
    "refusal": CheckKind(Refuses, flag=True),
    "latency": CheckKind(Took, "most", given={"column": "latency"}),
    "cost": CheckKind(Took, "most", given={"column": "cost"}),
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
    """One check of a list: its name with its keys, and what else is said of it.

    ``{contains: refund, required: true}``, ``{not: {contains: sorry}}``, or ``json`` alone.
    """

    def read(self, value: object, place: Place) -> Expectation:
        if isinstance(value, str):
            kind = CHECKS.get(str(value))
            if kind is None or not kind.flag:
                raise place.wrong(
                    "no check called {name!r} works without settings; {hint}",
                    name=str(value),
                    hint=nearest(str(value), [one for one, kind in CHECKS.items() if kind.flag]),
                )
            made = Expectation(check=kind.made(**kind.given))
        else:
            made = self._read_mapping(value, place)
        return replace(made, place=replace(place, value=None))

    def _read_mapping(self, value: object, place: Place) -> Expectation:
        given = mapping(value, place)
        names = [name for name in given if name in CHECKS or name == _NOT]
        for name in given:
            if name not in CHECKS and name not in _COMMON and name != _NOT:
                at = replace(place.at_key(name), field="")
                own = [key for one in names if one != _NOT for key in keys_of(CHECKS[one].made)]
                if name in own:
                    example = f"{names[0]}: {{{own[0]}: …, {name}: …}}"
                    raise at.wrong(
                        "{name!r} stands below the check: {example}", name=name, example=example
                    )
                raise at.wrong(
                    "unknown check {name!r}; {hint}",
                    name=name,
                    hint=nearest(name, [*CHECKS, _NOT, *_COMMON]),
                )
        if len(names) != 1:
            raise place.wrong("a check is one of {checks}: name one", checks=", ".join(CHECKS))
        (name,) = names
        at = place.at(name)
        also = {
            one: read_value(kind, given[one], place.at(one))
            for one, kind in _COMMON.items()
            if one in given
        }
        if name == _NOT:
            inner = read_value(self, given[name], at)
            return replace(inner, negated=not inner.negated, **also)  # type: ignore[arg-type]
        made = read_value(CHECKS[name], given[name], at)
        return Expectation(check=made, **also)  # type: ignore[arg-type]

    def schema(self) -> Schema:
        each: list[Schema] = [{"enum": [name for name, kind in CHECKS.items() if kind.flag]}]
        also = {name: kind.schema() for name, kind in _COMMON.items()}
        each += [
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
            "properties": {_NOT: {"anyOf": list(each)}, **also},
            "required": [_NOT],
            "additionalProperties": False,
        }
        return {"anyOf": [*each, negated]}


EXPECTATIONS = Many(CheckType())


def say(one: Expectation) -> JsonDict:
    """A check as a file would say it: what is read again is the same."""
    made = type(one.check)
    name, kind = next(
        (name, kind)
        for name, kind in CHECKS.items()
        if kind.made is made
        and all(getattr(one.check, key) == value for key, value in kind.given.items())
    )
    keys = {
        key: list(value) if isinstance(value, tuple) else value
        for key, each in keys_of(made).items()
        if key not in kind.given and (value := getattr(one.check, key)) != each.default
    }
    plain = Expectation(check=one.check)
    common = {key: value for key in _COMMON if (value := getattr(one, key)) != getattr(plain, key)}
    said: JsonDict = {name: keys or True}
    return {**({_NOT: said} if one.negated else said), **common}
