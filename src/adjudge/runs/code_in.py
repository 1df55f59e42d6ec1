"""What an eval file would run on this machine: commands and code of whoever wrote it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from adjudge.aio.files import sha256
from adjudge.domain.frozen import text_hash
from adjudge.gateway.prices import is_own_server
from adjudge.gateway.registry import find, is_known, key_variables
from adjudge.messages import Message
from adjudge.reading.user_code import beside, is_reference, is_there
from adjudge.runs.eval_file import CascadeEntry, CheckEntry, EvalFile, PythonEntry
from adjudge.runs.project import ModelEntry, find_project

_LONGEST_NAME = 500


def code_in(file: EvalFile) -> list[str]:
    """Each once, as the file says it, and the files elsewhere that it would overwrite; nothing is
    run to find out.
    """
    return list(dict.fromkeys((*_code(file), *_of_outputs(file))))


def _code(file: EvalFile) -> Iterator[str]:
    yield from _of_targets(file)
    yield from _of_judges(file)
    yield from _of_models(file)


def code_files(file: EvalFile) -> dict[str, str]:
    """The files beside the eval file that its code stands in, each with a hash of what it says."""
    folder = file.path.parent
    found: dict[str, str] = {}
    for code in _code(file):
        if is_reference(code):
            named = [Path(beside(code, folder).rpartition(":")[0])]
        else:
            named = [file.beside(word) for word in code.split() if len(word) < _LONGEST_NAME]
        found |= {str(path): sha256(path) for path in named if path.is_file()}
    return found


def code_version(file: EvalFile, **alone: object) -> str:
    """One hash over the files that the code of one part stands in, such as ``target=(entry,)``;
    empty where it stands in none.
    """
    parts: dict[str, Any] = {"target": (), "judges": (), "models": (), **alone}
    hashes = sorted(code_files(replace(file, **parts)).values())
    return text_hash(" ".join(hashes)) if hashes else ""


def _of_outputs(file: EvalFile) -> Iterator[str]:
    """What it writes outside of its folder, where anything may lie already."""
    folder = file.path.absolute().parent.resolve()
    for path in file.output_paths:
        whole = path.resolve() if isinstance(path, Path) else path
        if not isinstance(whole, Path) or not whole.is_relative_to(folder):
            yield Message("{path} is overwritten", path=whole)


def _of_targets(file: EvalFile) -> Iterator[str]:
    for one in file.target:
        if one.command:
            yield " ".join(one.command)
        elif one.function:
            yield one.function
        elif one.model and is_there(one.model, file.path.parent) and not is_known(one.model):
            yield one.model
        held = [value for _, value in one.headers if "$" in value]
        if one.url and held:
            yield Message("{url} is sent {names}", url=one.url, names=", ".join(held))


def _of_judges(file: EvalFile) -> Iterator[str]:
    for one in file.judges:
        if isinstance(one, PythonEntry):
            yield one.judge
        if isinstance(one, CheckEntry):
            yield from (each.check.runs for each in one.checks if each.check.runs)


def _of_models(file: EvalFile) -> Iterator[str]:
    cascades = [one for one in file.judges if isinstance(one, CascadeEntry)]
    entries = (
        *file.models,
        *(model for judge in file.judges for model in judge.models),
        *(step for one in cascades for step in one.cascade),
    )
    for entry in entries:
        if is_there(entry.model, file.path.parent) and not is_known(entry.model):
            yield entry.model
        if (url := _foreign_address(entry)) and (keys := _keys_sent(entry)):
            yield Message("{url} is sent {names}", url=url, names=", ".join(keys))


def _foreign_address(entry: ModelEntry) -> str:
    """The address that the file names, unless it is this user's own server or the project's."""
    url = entry.base_url or ""
    is_own = not url or is_own_server(url) or url == find_project().base_url
    return "" if is_own else url


def _keys_sent(entry: ModelEntry) -> list[str]:
    """What an address that the file names would get of this user's: keys, by their variables."""
    held = [value for _, value in entry.headers if "$" in value]
    if entry.api_key_env:
        return [f"${entry.api_key_env}", *held]
    own = key_variables(find(entry.model)[0]) if is_known(entry.model) else ()
    return [*(f"${name}" for name in own if os.environ.get(name)), *held]
