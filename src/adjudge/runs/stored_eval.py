"""An eval file as a run folder keeps it: as data, read back the same wherever that is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path

from adjudge.core.checks.check import Expectation
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.judge_configuration import kept_criteria
from adjudge.core.gateway.redaction import without_secrets
from adjudge.core.gateway.registry import is_url
from adjudge.core.reading.toml_text import with_lines
from adjudge.core.reading.types import Record, keys_of
from adjudge.core.reading.values import Place
from adjudge.errors import RunError
from adjudge.runs.criteria_entry import Aspect, CriteriaEntry
from adjudge.runs.eval_file import EvalFile, JudgeEntry

_LOOKED_UP = "looked up"
"""In the place of criteria that are kept beside the file."""


def write_eval(file: EvalFile) -> JsonDict:
    """The file as JSON-ready data. Its paths stay relative to its own, which is kept absolute."""
    return {
        "path": str(file.path.absolute()),
        "file": written(replace(file, run=None)),
        "typed": file.typed,
        "asked_with": [one.asked_with for one in file.judges],
        "criteria": [_found_criteria(one) for one in file.judges],
        "rows": [plain(one.fields) for one in file.rows],
        "given": plain(file.given),
    }


def read_eval(kept: object, place: str) -> EvalFile:
    """The file that ``write_eval`` wrote. ``place``: what errors call it, since it may come from
    anybody.
    """
    try:
        return _read_eval(kept, place)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise RunError(
            "{place} is not what adjudge writes: {error!r}", place=place, error=error
        ) from error


def _read_eval(kept: object, place: str) -> EvalFile:
    match kept:
        case {
            "path": str(path),
            "file": {"data": dict(data), **rest},
            "typed": bool(typed),
            "asked_with": list(asked_with),
            "criteria": list(criteria),
            "rows": list(rows),
            "given": dict(given),
        }:
            pass
        case _:
            raise TypeError("a key is missing, or has another type")
    value = {**rest, "data": {"path": "-", **data}}
    found = Record(EvalFile).read(with_lines(value), Place(place))
    several = found.judges[0].compares_responses
    made = PairwiseInstance if several else Instance
    return replace(
        found,
        path=Path(path),
        typed=typed,
        data=found.data if "path" in data else replace(found.data, path=""),
        judges=tuple(
            _with_criteria(replace(judge, asked_with=str(model)), each)
            for judge, model, each in zip(found.judges, asked_with, criteria, strict=True)
        ),
        rows=tuple(made(fields=one) for one in rows),
        given={name: Instance({name: each}).fields[name] for name, each in given.items()},
    )


def written(value: object) -> JsonValue:
    """A value of a file, as the file would say it, without passwords in addresses. Keys that have
    their defaults are left out.
    """
    if isinstance(value, CriteriaEntry):
        value = value.what
    if isinstance(value, Criteria | Aspect):
        return _LOOKED_UP
    if isinstance(value, Expectation):
        from adjudge.core.checks.kinds import say  # not loaded where nothing is checked

        return say(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            name: written(each)
            for name, one in keys_of(type(value)).items()
            if (each := getattr(value, one.name)) != one.default and each != ""
        }
    if isinstance(value, tuple) and value:
        pairs = all(isinstance(one, tuple) and not isinstance(one, Aspect) for one in value)
        return dict(value) if pairs else [written(one) for one in value]
    if isinstance(value, str):
        return without_secrets(value) if is_url(value) else value
    return plain(value)


def _found_criteria(judge: JudgeEntry) -> list[JsonValue] | None:
    """What a command has looked up already, which the file's format has no exact words for."""
    said: tuple[CriteriaEntry, ...] = getattr(judge, "criteria", ())
    found = [one.what for one in said if isinstance(one.what, Criteria | Aspect)]
    if not found:
        return None
    return [plain(one._asdict() if isinstance(one, Aspect) else one) for one in found]


def _with_criteria(judge: JudgeEntry, kept: Sequence[JsonDict] | None) -> JudgeEntry:
    if kept is None:
        return judge
    criteria = tuple(CriteriaEntry(_criterion(one)) for one in kept)
    return replace(judge, criteria=criteria)  # type: ignore[call-arg]


def _criterion(kept: JsonDict) -> Criteria | Aspect:
    if "definition" in kept:
        return Aspect(str(kept["name"]), str(kept["definition"]))
    return kept_criteria(kept)
