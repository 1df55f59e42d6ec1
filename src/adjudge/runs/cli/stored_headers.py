"""Header values that a run folder does not keep: only their names and salted hashes.

A value that only names a variable (``Bearer $TOKEN``) is kept as it is.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hmac import compare_digest
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.redaction import slow_hash
from adjudge.core.reading.values import Place, load_yaml
from adjudge.errors import RunError, SetupError
from adjudge.messages import Message
from adjudge.runs.cli.output import echo, output
from adjudge.runs.eval_file import EvalFile, eval_text
from adjudge.runs.view.clean_text import clean

Header = tuple[str, str]
_HEADERS = "headers"
_OPTION = "header"
_VARIABLE_ALONE = re.compile(
    r"(?:(?:Bearer|Basic|Token|ApiKey) )?\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.IGNORECASE
)


@light_dataclass(frozen=True)
class HiddenHeader:
    """A header of which the run folder keeps a hash."""

    name: str
    salt: str
    hash: str

    def fits(self, value: str) -> bool:
        """Return True if the run was last asked with this value."""
        return compare_digest(_hash(self.name, value, self.salt), self.hash)


def hide_headers(record: JsonDict) -> JsonDict:
    """Return what a run folder keeps to be resumed, with hashes in place of header values."""
    salt = os.urandom(16).hex()

    def hide(name: str, value: JsonValue) -> JsonValue:
        if not isinstance(value, str) or _VARIABLE_ALONE.fullmatch(value):
            return value
        return {"salt": salt, "hash": _hash(name, value, salt)}

    return _with_headers(record, hide)


def hidden_headers(record: JsonObject) -> tuple[HiddenHeader, ...]:
    """Return the headers of the record whose values it does not keep, each once."""
    hidden: dict[HiddenHeader, None] = {}

    def note(name: str, value: JsonValue) -> JsonValue:
        if header := _read_hidden(name, value):
            hidden[header] = None
        return value

    _with_headers(record, note)
    return tuple(hidden)


def without_hidden_headers(record: JsonObject) -> JsonDict:
    """Return the record without the headers whose values it does not keep."""
    return _with_headers(record, lambda name, value: None if _read_hidden(name, value) else value)


def with_hidden_headers(
    record: JsonObject, folder: Path, file: EvalFile | None, typed: Iterable[Header]
) -> JsonDict:
    """Return the record with the values of hidden headers, from the command line or the eval file.

    Raises a RunError if a value is missing, or is not the one that the run was last asked with.
    """
    typed_values: dict[str, list[str]] = {}
    for typed_name, typed_value in typed:
        typed_values.setdefault(typed_name.lower(), []).append(typed_value)
    known = cache(lambda: tuple(_headers_of_file(file)))
    warn = cache(lambda name: _warn_of_other_value(name, folder))

    hidden = hidden_headers(record)

    def values_now(header: HiddenHeader) -> dict[str, Path]:
        return {text: path for path, name, text in known() if name.lower() == header.name.lower()}

    def is_known(header: HiddenHeader) -> bool:
        return any(map(header.fits, values_now(header)))

    def is_meant(header: HiddenHeader, value: str) -> bool:
        """Return True if another value than before is for this header, and not for one of this name
        at another server.
        """
        rivals = [
            other
            for other in hidden
            if other.name.lower() == header.name.lower() and other.hash != header.hash
        ]
        return not rivals or (
            not is_known(header)
            and all(is_known(other) and not other.fits(value) for other in rivals)
        )

    def restore(name: str, value: JsonValue) -> JsonValue:
        header = _read_hidden(name, value)
        if header is None:
            return value
        typed_texts = typed_values.get(name.lower(), [])
        if (fitting := next(filter(header.fits, typed_texts), None)) is not None:
            return fitting
        if typed_texts and is_meant(header, typed_texts[-1]):
            warn(name)
            return typed_texts[-1]
        values = values_now(header)
        value_that_fits = next(filter(header.fits, values), None)
        return value_that_fits or _refuse(header, next(iter(values.values()), None), folder)

    return _with_headers(record, restore)


def _refuse(header: HiddenHeader, place: Path | None, folder: Path) -> JsonValue:
    # the name may come from somebody else's folder
    again = shlex.join(
        ("adjudge", "resume", str(folder), "--", "--header", clean(f"{header.name}: …"))
    )
    if place:
        raise RunError(
            "{folder} was last run with another value of the header {name} than {path} has now: "
            "restore it there, or give the value to use: {again}",
            folder=folder,
            name=header.name,
            path=place,
            again=again,
        )
    raise RunError(
        "{folder} keeps only a hash of the header {name}, not its value: give it again, in the "
        "eval file or with {again}",
        folder=folder,
        name=header.name,
        again=again,
    )


def _warn_of_other_value(name: str, folder: Path) -> None:
    echo(
        Message(
            "The header {name} has another value than {folder} was last run with.",
            name=name,
            folder=folder,
        ),
        err=True,
    )


def _with_headers(
    record: JsonObject, change: Callable[[str, JsonValue], JsonValue]
) -> dict[str, JsonValue]:
    """Return the record with each header's value replaced by ``change(name, value)``; None drops
    the header.
    """
    changed = dict(record)
    evaluation, options = object_in(record.get("eval")), object_in(record.get("options"))
    try:
        if "file" in evaluation:
            changed["eval"] = {**evaluation, "file": _changed(evaluation["file"], change)}
        if "project" in record:
            changed["project"] = _changed(record["project"], change)
    except RecursionError as error:
        raise RunError("the eval file stored in the run is nested too deeply") from error
    lines = options.get(_OPTION)
    if isinstance(lines, list):
        kept = [_changed_line(line, change) for line in lines]
        changed["options"] = {**options, _OPTION: [line for line in kept if line is not None]}
    return changed


def _changed(value: JsonValue, change: Callable[[str, JsonValue], JsonValue]) -> JsonValue:
    if isinstance(value, Mapping):
        return {
            name: _changed_headers(inner, change)
            if name == _HEADERS and isinstance(inner, Mapping)
            else _changed(inner, change)
            for name, inner in value.items()
        }
    return [_changed(inner, change) for inner in value] if isinstance(value, list) else value


def _changed_headers(
    headers: JsonObject, change: Callable[[str, JsonValue], JsonValue]
) -> JsonValue:
    changed = {name: change(name, value) for name, value in headers.items()}
    return {name: value for name, value in changed.items() if value is not None}


def _changed_line(line: JsonValue, change: Callable[[str, JsonValue], JsonValue]) -> JsonValue:
    """Change a header as it is typed, ``Name: value``; hidden, it is ``{Name: {salt, hash}}``."""
    hidden = object_in(line)
    if isinstance(line, str):
        name, _, text = line.partition(": ")
        value = change(name, text)
    elif len(hidden) == 1:
        ((name, stored),) = hidden.items()
        value = change(name, stored)
    else:
        return line
    if value is None:
        return None
    return f"{name}: {value}" if isinstance(value, str) else {name: value}


def _read_hidden(name: str, value: JsonValue) -> HiddenHeader | None:
    match value:
        case {"salt": str(salt), "hash": str(hashed)}:
            return HiddenHeader(name, salt, hashed)
    return None


def _hash(name: str, value: str, salt: str) -> str:
    return slow_hash(f"{name.lower()}\0{value}", salt)


def _headers_of_file(file: EvalFile | None) -> Iterator[tuple[Path, str, str]]:
    """Yield (file, name, value) of the headers that the eval file and the project have now."""
    # the file as it is now: within the command, the current project is the one that the run keeps
    project = output().project
    if project and project.path:
        yield from ((project.path, *header) for header in project.headers)
    if file is None:
        return
    with suppress(SetupError, OSError, RecursionError):
        content = load_yaml(eval_text(file.path), Place(str(file.path))).value
        yield from ((file.path, *header) for header in _headers_in(content))


def _headers_in(value: object) -> Iterator[Header]:
    """Yield the headers anywhere in the content of an eval file."""
    waiting, seen = [value], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:  # every alias of YAML is the same object
            continue
        seen.add(id(part))
        if isinstance(part, Mapping):
            headers = part.get(_HEADERS)
            if isinstance(headers, Mapping):
                yield from ((str(name), str(text)) for name, text in headers.items())
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
