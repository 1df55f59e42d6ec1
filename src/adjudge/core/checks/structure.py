"""Checks of form: JSON, code and SQL that can be parsed, addresses and citations."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from enum import Enum
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

from adjudge.core.checks.check import (
    Check,
    Observation,
    first_spans,
    lacks,
    limits_text,
    texts_in,
    within,
)
from adjudge.core.checks.words import short
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.span import Span
from adjudge.core.reading.json_path import NotThere, steps_of, value_at
from adjudge.core.reading.types import Flag, Json, Many, Text, WholeNumber, Word, key
from adjudge.core.reading.values import unique_keys
from adjudge.errors import SetupError
from adjudge.messages import Message, reason_of

if TYPE_CHECKING:
    from referencing import Resource

_FENCE = re.compile(r"\A\s*```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_COUNT = WholeNumber(least=0)


class _Unsaid(Enum):
    """Marks that no value is expected, because null may be one."""

    UNSAID = "unsaid"


UNSAID: Any = _Unsaid.UNSAID


def strip_fence(text: str) -> str:
    """Return the content of a fence that is the whole text: models often write code so."""
    fence = _FENCE.match(text)
    return fence[1] if fence else text


def read_json(text: str) -> JsonValue:
    """Parse JSON strictly: without NaN and without repeated keys, of which one would be lost."""
    value: JsonValue = json.loads(text, parse_constant=_refuse, object_pairs_hook=unique_keys)
    return value


def _refuse(name: str) -> None:
    raise ValueError(Message("{name} is not JSON", name=name))


@light_dataclass(frozen=True, kw_only=True)
class IsJson(Check):
    """The text is JSON, optionally matching a schema or with a value at a path."""

    schema: str | None = key(Text(), "A JSON schema in a file, relative to this one.", None)
    path: str | None = key(Text(), "Path of a value, such as items[0].name.", None)
    equals: JsonValue = key(
        Json(),
        "The value at the path: a string, a number, true, null, a list or an object.",
        UNSAID,
    )
    field: str | None = key(Text(), "The field with the expected value, instead.", None)
    fenced: bool = key(Flag(), "Accept a fence of three backticks around it.", True)
    folder: Path = Path()
    """Folder of the schema."""

    @property
    def title(self) -> str:
        if self.path is None:
            if self.schema is None:
                return Message("is JSON")
            return Message("matches the JSON schema {schema}", schema=Path(self.schema).name)
        if self.field is not None:
            return Message("{path} equals {field}", path=self.path, field=self.field)
        if self.equals is UNSAID:
            return Message("has {path}", path=self.path)
        return Message("{path} is {value}", path=self.path, value=_as_in_file(self.equals))

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field,) if self.field else ()

    def beside(self, folder: Path) -> IsJson:
        return replace(self, folder=folder)

    def prepare(self) -> None:
        if self.path is None and (self.equals is not UNSAID or self.field is not None):
            raise SetupError("equals and field describe the value at a path: add path")
        if self.equals is not UNSAID and self.field is not None:
            raise SetupError("equals and field both give the expected value: keep only one of them")
        if self.path is not None:
            steps_of(self.path)
        if self.schema is not None:
            self._problems(None)

    def look(self, text: str, row: Instance) -> Observation:
        try:
            data = read_json(strip_fence(text) if self.fenced else text)
        except RecursionError:
            return Observation(None, Message("it is nested too deeply to be read"))
        except ValueError as error:
            return Observation(False, Message("it is not JSON: {reason}", reason=str(error)))
        if self.schema is not None and (problem := self._problems(data)):
            return Observation(False, problem)
        if self.path is None:
            return Observation(True, Message("it is JSON"))
        return self._at_path(data, row)

    def _at_path(self, data: JsonValue, row: Instance) -> Observation:
        path = self.path or ""
        try:
            value = value_at(data, path)
        except NotThere:
            return Observation(False, Message("it has no {path}", path=path))
        if self.field is not None:
            texts = texts_in(row, self.field)
            if not texts:
                return lacks(row, self.field)
            expected, fits = texts[0], _means(value, texts[0])
        else:
            expected = _as_json(self.equals) if self.equals is not UNSAID else ""
            fits = self.equals is UNSAID or _comparable(self.equals) == _comparable(value)
        if fits:
            return Observation(True, Message("it has {value}", value=_as_json(value)))
        return Observation(
            False,
            Message(
                "{path} is {value}, not {wanted}", path=path, value=_as_json(value), wanted=expected
            ),
        )

    def _problems(self, data: JsonValue) -> Message | None:
        """Return the first violation of the schema; SetupError if the schema itself is invalid."""
        if find_spec("jsonschema") is None:
            raise SetupError("a JSON schema needs jsonschema: pip install 'adjudge[schema]'")
        from referencing.exceptions import Unresolvable

        try:
            problems = sorted(
                self._validator.iter_errors(data), key=lambda problem: len(problem.path)
            )
        except Unresolvable as error:
            raise SetupError(
                "the JSON schema {path} refers to {other}, which is outside its folder",
                path=self.folder / (self.schema or ""),
                other=error.ref,
            ) from error
        if not problems:
            return None
        first_problem = problems[0]
        return Message(
            "{path}: {problem}",
            path=first_problem.json_path,
            problem=short(first_problem.message, 120),
        )

    @cached_property
    def _validator(self):  # type: ignore[no-untyped-def]
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry

        path = self.folder / (self.schema or "")
        try:
            schema = json.loads(path.read_text(encoding="utf-8"))
            kind = validator_for(schema)
            kind.check_schema(schema)
        except (OSError, ValueError, SchemaError) as error:
            raise SetupError(
                "the JSON schema {path} cannot be used: {reason}",
                path=path,
                reason=reason_of(error)
                if isinstance(error, OSError)
                else getattr(error, "message", None) or str(error),
            ) from error
        retrieve = partial(_beside, path.parent.resolve())
        return kind(schema, registry=Registry(retrieve=retrieve))  # type: ignore[call-arg]


def _beside(folder: Path, uri: str) -> Resource[Any]:
    """Load a schema that another one refers to. It must be in the same folder."""
    from referencing import Resource
    from referencing.exceptions import NoSuchResource
    from referencing.jsonschema import DRAFT202012

    parts = urlsplit(uri)
    path = (folder / unquote(parts.path)).resolve()
    if parts.scheme not in ("", "file") or parts.netloc or not path.is_relative_to(folder):
        raise NoSuchResource(ref=uri)  # type: ignore[call-arg]
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoSuchResource(ref=uri) from error  # type: ignore[call-arg]
    return Resource.from_contents(contents, default_specification=DRAFT202012)


def _means(value: JsonValue, wanted: str) -> bool:
    """Return True if a value equals a column's text.

    A text is compared as a text, anything else as JSON, in which true is not 1.
    """
    if isinstance(value, str):
        return value.strip() == wanted.strip()
    try:
        expected: JsonValue = json.loads(wanted)
    except ValueError:
        return False
    return _comparable(expected) == _comparable(value)


def _comparable(value: JsonValue) -> object:
    """Return a value for comparison: 1 and 1.0 are equal, true is neither."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value).__name__, value)
    if isinstance(value, Mapping):
        return {name: _comparable(child) for name, child in value.items()}
    if isinstance(value, Sequence):
        return [_comparable(child) for child in value]
    return value


def _as_in_file(value: JsonValue) -> str:
    """Return a value as a file would write it: a text that could be JSON is quoted."""
    return value if isinstance(value, str) and not _is_json(value) else _as_json(value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _as_json(value: JsonValue) -> str:
    return short(json.dumps(value, ensure_ascii=False))


Code = Literal["python", "json"]


@light_dataclass(frozen=True, kw_only=True)
class IsCode(Check):
    """The text is code that can be parsed; it is not run."""

    language: Code = key(Word[Code](("python", "json")), "The language of the code.", "python")

    @property
    def title(self) -> str:
        return Message("is code in {language}", language=self.language.capitalize())

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        code = strip_fence(text)
        if not code.strip():
            return Observation(False, Message("it contains no code"))
        try:
            if self.language == "json":
                read_json(code)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ast.parse(code)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            problem = getattr(error, "msg", None) or str(error)
            at = Message("line {line}: {reason}", line=line, reason=problem) if line else problem
            return Observation(False, Message("it cannot be parsed: {reason}", reason=at))
        except (RecursionError, MemoryError):
            return Observation(None, Message("it is nested too deeply to be read"))
        return Observation(True, Message("it can be parsed"))


_NO_SYNTAX = ("syntax error", "unrecognized token", "incomplete input", "unterminated")


@light_dataclass(frozen=True, kw_only=True)
class IsSql(Check):
    """The text is SQL that can be parsed. It is not run, and no table needs to exist."""

    dialect: str = key(Text(), "sqlite, or a dialect that sqlglot knows.", "sqlite")

    @property
    def title(self) -> str:
        return Message("is SQL")

    def prepare(self) -> None:
        if self.dialect == "sqlite":
            return
        if find_spec("sqlglot") is None:
            raise SetupError(
                "the dialect {dialect!r} needs sqlglot: pip install sqlglot", dialect=self.dialect
            )
        import sqlglot  # type: ignore[import-not-found,unused-ignore]

        try:
            sqlglot.Dialect.get_or_raise(self.dialect)
        except ValueError as error:
            raise SetupError(
                "sqlglot does not know the dialect {dialect!r}", dialect=self.dialect
            ) from error

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        sql = strip_fence(text).strip()
        if not sql.strip("; \n\t"):
            return Observation(False, Message("it contains no SQL"))
        problem = _sqlite_problem(sql) if self.dialect == "sqlite" else self._problem(sql)
        if problem:
            return Observation(False, Message("it cannot be parsed: {reason}", reason=problem))
        return Observation(True, Message("it can be parsed"))

    def _problem(self, sql: str) -> str:
        import sqlglot  # type: ignore[import-not-found,unused-ignore]

        try:
            sqlglot.parse(sql, dialect=self.dialect)
        except (sqlglot.errors.ParseError, sqlglot.errors.TokenError) as error:
            return short(str(error), 120)
        return ""


def _sqlite_problem(sql: str) -> str:
    """Return SQLite's syntax error, if any. Statements are only explained."""
    with closing(sqlite3.connect(":memory:")) as database:
        for statement in _statements(sql):
            try:
                database.execute(f"EXPLAIN {statement}")
            except (sqlite3.Error, sqlite3.Warning) as error:
                problem = str(error)
                if any(phrase in problem for phrase in _NO_SYNTAX):
                    return problem
    return ""


def _statements(sql: str) -> Iterator[str]:
    """Yield the statements. A semicolon inside a text does not end one."""
    start = 0
    for place, character in enumerate(sql):
        if character == ";" and sqlite3.complete_statement(sql[start : place + 1]):
            if sql[start:place].strip():
                yield sql[start:place]
            start = place + 1
    if sql[start:].strip():
        yield sql[start:]


_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s<>\"'`\])}]+|\bwww\.[^\s<>\"'`\])}]+", re.IGNORECASE)
_HOST = re.compile(r"(?=.{1,253}\Z)(?:[\w](?:[\w-]{0,61}[\w])?\.)*[\w](?:[\w-]{0,61}[\w])?\.?\Z")
_AFTER = ".,;:!?…"


@light_dataclass(frozen=True, kw_only=True)
class Urls(Check):
    """The addresses in the text are well formed, within limits, and of allowed hosts. None is
    opened.
    """

    least: int | None = key(_COUNT, "Minimum number of addresses.", None)
    most: int | None = key(_COUNT, "Maximum number.", None)
    hosts: tuple[str, ...] = key(Many(Text()), "Allowed hosts, including their subdomains.", ())
    schemes: tuple[str, ...] = key(
        Many(Text()), "Allowed schemes, such as https.", ("https", "http")
    )

    @property
    def title(self) -> str:
        if self.least is None and self.most is None:
            return Message("addresses are well formed")
        return Message("addresses: {limits}", limits=limits_text(self.least, self.most))

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        addresses = [
            (Span(match.start(), match.start() + len(url)), url)
            for match in _URL.finditer(text)
            if (url := match[0].rstrip(_AFTER))
        ]
        for span, url in addresses:
            if problem := self._problem(url):
                return Observation(False, problem, (span,), float(len(addresses)))
        spans = first_spans(span for span, _ in addresses)
        reason = Message("{count} addresses", count=len(addresses))
        return Observation(
            within(len(addresses), self.least, self.most), reason, spans, float(len(addresses))
        )

    def _problem(self, url: str) -> Message | None:
        address = url if "://" in url else f"https://{url}"
        # browsers read a backslash as a slash: http://other.net\\@example.com leads to other.net
        address = address.replace("\\", "/")
        try:
            parts = urlsplit(address)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            return Message("{url} is not a valid address", url=url)
        if not _HOST.match(host) and not host.count(":"):
            return Message("{url} is not a valid address", url=url)
        if parts.scheme.lower() not in self.schemes:
            allowed = ", ".join(self.schemes)
            return Message("{url} does not begin with any of {allowed}", url=url, allowed=allowed)
        allowed_hosts = [allowed_host.lower().lstrip(".") for allowed_host in self.hosts]
        if allowed_hosts and not any(
            host == allowed_host or host.endswith(f".{allowed_host}")
            for allowed_host in allowed_hosts
        ):
            return Message(
                "{url} is not on any of these hosts: {hosts}", url=url, hosts=", ".join(self.hosts)
            )
        return None


_CITED = re.compile(r"\[(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)\](?!\()")


@light_dataclass(frozen=True, kw_only=True)
class Citations(Check):
    """The text cites its sources as [1]: often enough, and only existing sources."""

    least: int = key(_COUNT, "Minimum number of citations.", 1)
    sources: str = key(Text(), "The field with the sources.", "contexts")

    @property
    def title(self) -> str:
        return Message("cites its sources as [1]")

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.sources,)

    def look(self, text: str, row: Instance) -> Observation:
        value = row.fields.get(self.sources)
        count = None if value is None else 1 if isinstance(value, str) else len(value)
        cited = [
            (Span(match.start(), match.end()), int(number))
            for match in _CITED.finditer(text)
            for number in re.findall(r"\d+", match[1])
        ]
        for span, number in cited:
            if number < 1 or (count is not None and number > count):
                return Observation(
                    False,
                    Message(
                        "[{number}] is not one of the {count} sources",
                        number=number,
                        count=count or 0,
                    ),
                    (span,),
                    float(len(cited)),
                )
        reason = Message("{count} citations", count=len(cited))
        spans = first_spans(span for span, _ in cited)
        return Observation(len(cited) >= self.least, reason, spans, float(len(cited)))
