"""Eval files as data in a run folder, which read back the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path

from adjudge.core.checks.check import Expectation
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.judge_configuration import criteria_from_json
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
    """Return the file as JSON-ready data. Its own path is made absolute; other paths stay relative
    to it.
    """
    return {
        "path": str(file.path.absolute()),
        "file": to_data(replace(file, run=None)),
        "typed": file.typed,
        "asked_with": [judge.asked_with for judge in file.judges],
        "criteria": [_looked_up_criteria(judge) for judge in file.judges],
        "rows": [plain(row.fields) for row in file.rows],
        "given": plain(file.given),
    }


def read_eval(kept: object, place: str) -> EvalFile:
    """Parse the output of ``write_eval``, which may have been tampered with. ``place``: used in
    errors.
    """
    try:
        return _read_eval(kept, place)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise RunError(
            "{place} is damaged or was not written by adjudge: {error!r}", place=place, error=error
        ) from error


def _read_eval(kept: object, place: str) -> EvalFile:
    match kept:
        case {
            "path": str(path),
            "file": {"data": dict(data), **other_keys},
            "typed": bool(typed),
            "asked_with": list(asked_with),
            "criteria": list(criteria),
            "rows": list(rows),
            "given": dict(given),
        }:
            pass
        case _:
            raise TypeError("a key is missing, or has another type")
    value = {**other_keys, "data": {"path": "-", **data}}
    file = Record(EvalFile).read(with_lines(value), Place(place))
    several = file.judges[0].compares_responses
    instance_type = PairwiseInstance if several else Instance
    return replace(
        file,
        path=Path(path),
        typed=typed,
        data=file.data if "path" in data else replace(file.data, path=""),
        judges=tuple(
            _with_criteria(replace(judge, asked_with=str(model)), stored_value)
            for judge, model, stored_value in zip(file.judges, asked_with, criteria, strict=True)
        ),
        rows=tuple(instance_type(fields=stored_fields) for stored_fields in rows),
        given={
            name: Instance({name: stored_value}).fields[name]
            for name, stored_value in given.items()
        },
    )


def to_data(value: object) -> JsonValue:
    """Return a value in the form it has in an eval file, without secrets in addresses. Defaults are
    left out.
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
            name: to_data(setting_value)
            for name, part in keys_of(type(value)).items()
            if (setting_value := getattr(value, part.name)) != part.default and setting_value != ""
        }
    if isinstance(value, tuple) and value:
        pairs = all(isinstance(part, tuple) and not isinstance(part, Aspect) for part in value)
        return dict(value) if pairs else [to_data(part) for part in value]
    if isinstance(value, str):
        return without_secrets(value) if is_url(value) else value
    return plain(value)


def _looked_up_criteria(judge: JudgeEntry) -> list[JsonValue] | None:
    """Return the criteria that a command already looked up, since the file format cannot express
    them exactly.

    None if there are none.
    """
    entries: tuple[CriteriaEntry, ...] = getattr(judge, "criteria", ())
    looked_up = [
        criterion.what for criterion in entries if isinstance(criterion.what, Criteria | Aspect)
    ]
    if not looked_up:
        return None
    return [
        plain(criterion._asdict() if isinstance(criterion, Aspect) else criterion)
        for criterion in looked_up
    ]


def _with_criteria(judge: JudgeEntry, kept: Sequence[JsonDict] | None) -> JudgeEntry:
    if kept is None:
        return judge
    criteria = tuple(CriteriaEntry(_read_criterion(stored)) for stored in kept)
    return replace(judge, criteria=criteria)  # type: ignore[call-arg]


def _read_criterion(kept: JsonDict) -> Criteria | Aspect:
    if "definition" in kept:
        return Aspect(str(kept["name"]), str(kept["definition"]))
    return criteria_from_json(kept)
