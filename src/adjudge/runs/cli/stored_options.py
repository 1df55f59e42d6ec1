"""The data that a run folder keeps for ``adjudge resume``: the eval file, or the options of a
command that has none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from adjudge.core.aio.files import cache_folder, sha256
from adjudge.core.data.dataset import STDIN
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.redaction import without_secrets
from adjudge.core.reading.objects import ObjectFile
from adjudge.core.reading.toml_text import with_lines
from adjudge.core.reading.types import Record
from adjudge.core.reading.values import Place
from adjudge.errors import RunError, SetupError
from adjudge.plugins import Parts
from adjudge.runs.cli.model_choice import current_project
from adjudge.runs.cli.stored_headers import hide_headers
from adjudge.runs.code_files import CodeFiles
from adjudge.runs.eval_file import BudgetEntry, EvalFile, Gates
from adjudge.runs.project import Project
from adjudge.runs.stored_eval import read_eval, to_data, write_eval
from adjudge.runs.variables import ENV_FILE

FACT = "resume"
OTHER_COMMANDS = ("generate", "bench", "attack", "drift check", "criteria improve")
"""Commands that are resumed without an eval file."""
_IN_FILE = frozenset(
    ("api_key_env", "base_url", "header", "language", "model", "seed", "target", "temperature")
)
"""Options of ``adjudge run`` whose values are in the eval file that a run folder keeps."""
_OF_ONE_TIME = frozenset(("config", "file", "orphans", "retry_reason", "show_schema", "watch"))
"""Options of ``adjudge run`` that are about a single call, or about the place of the eval file."""
_NEVER = frozenset(("api_key", "dry_run", "folder", "resume", "run"))
_ANSWERS = frozenset(("trust", "yes"))
"""Answers to questions of one command, which are not valid for the next."""
_FILES = ("named", "not_worse_than", "output_schema", "store", "write")
"""Texts that may be paths."""
_POSTGRES = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)
_ADDRESS = re.compile(r"\s*https?://\S+\s*", re.IGNORECASE)
"""An address and nothing else: one in a text that is judged stays as it is."""
_PASSWORD = re.compile(
    r"(?<!:):(?!//)[^@/?#]*(?=@)|(?<=[?&])password=[^&#]*&?|[?&]password=[^&#]*(?=#|$)",
    re.IGNORECASE,
)


@light_dataclass(frozen=True)
class Kept:
    """A run that can be resumed, as its folder keeps it."""

    what: EvalFile | str
    """An eval file, or the name of a command that has none."""
    options: JsonObject
    """Options of ``adjudge run``, or of that command, with values as they are typed."""
    project: Project
    """The defaults of the project in which the run was started."""


@cache
def _options_of_run() -> frozenset[str]:
    """Return the options of ``adjudge run`` that affect how an eval file is run."""
    names = {str(param.name) for param in Parts[click.Command]("commands")["run"].params}
    return frozenset(names) - _IN_FILE - _OF_ONE_TIME - _NEVER - _ANSWERS


def facts_to_keep(
    what: EvalFile | str,
    prices: PriceTable,
    *,
    but: Sequence[str] = (),
    code: CodeFiles | None = None,
) -> JsonDict:
    """Return the facts about the current command to store in the run folder.

    ``but``: options that mean something else in ``adjudge run``. ``code``: the file's code, if
    already looked up.
    """
    context, project = click.get_current_context(), current_project()
    typed_options = _given_options(context, as_run=isinstance(what, EvalFile))
    options = {name: value for name, value in typed_options if name not in but}
    if prices.path:
        options["prices"] = str(prices.path)
    if isinstance(what, EvalFile):
        # gates and limits of a command are stored as its options
        file = replace(what, gates=Gates(max=what.gates.max), budget=BudgetEntry())
        stored: JsonDict = {"eval": write_eval(file if what.typed else what)}
    else:
        stored = {"command": what}
    record = hide_headers(
        {
            "options": options,
            "project": to_data(replace(project, prices=None)),
            **stored,
        }
    )
    remember(record, what if isinstance(what, EvalFile) else None, code)
    return {FACT: record}


def read_kept(record: object, folder: Path) -> Kept:
    """Parse and check the stored record of a run folder, which anyone may have written."""
    place = f"what {folder} keeps to be resumed"
    match record:
        case {"options": dict(options), "project": dict(project), "eval": kept} if (
            options.keys() <= _options_of_run()
        ):
            what: EvalFile | str = read_eval(kept, place)
        case {"options": dict(options), "project": dict(project), "command": str(what)} if (
            what in OTHER_COMMANDS and not options.keys() & _NEVER
        ):
            pass
        case _:
            raise RunError(
                "{folder} contains resume data that adjudge did not write: give the command "
                "itself, with --run {folder}",
                folder=folder,
            )
    options = {name: value for name, value in options.items() if name not in _ANSWERS}
    defaults = Record(Project).read(with_lines(project), Place(place))
    return Kept(what, options, defaults)


def _given_options(context: click.Context, *, as_run: bool) -> Iterator[tuple[str, JsonValue]]:
    """Yield the name and value of each typed option and argument, in a form that is valid in any
    folder.

    ``as_run``: yield only options of ``adjudge run``, in its form.
    """
    for param in context.command.params:
        name, value = str(param.name), context.params.get(str(param.name))
        is_given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        is_kept = name in _options_of_run() if as_run else name not in _NEVER | _ANSWERS
        if is_given and is_kept and value is not None:
            values = list(_typed_texts(name, value))
            is_list = param.multiple or param.nargs != 1 or (as_run and name == "output")
            yield name, values if is_list else values[0]


def _typed_texts(name: str, value: Any) -> Iterator[JsonValue]:
    """Yield the values of an option as a user would type them."""
    if isinstance(value, Mapping):
        yield from (_typed_pair(name, key, item) for key, item in value.items())
    elif isinstance(value, tuple | list):
        for part in value:
            is_pair = isinstance(part, tuple)
            yield _typed_pair(name, *part) if is_pair else next(_typed_texts(name, part))
    elif isinstance(value, Path | ObjectFile):
        yield STDIN if str(value) == STDIN else str(value.absolute())
    elif isinstance(value, str):
        yield without_password(_make_absolute(value) if name in _FILES else value)
    else:
        yield str(value) if name == "fail_under" else value


def _typed_pair(name: str, key: object, value: object) -> str:
    if name == "header":
        return f"{key}: {value}"
    return f"{key}={value}" if key else str(value)  # a bar of everything has no name


def _make_absolute(value: str) -> str:
    """Make a path absolute, so that it is valid in any folder. Names and addresses stay as they
    are.
    """
    is_name = not value or "://" in value or (not Path(value).suffix and not Path(value).exists())
    return value if is_name else str(Path(value).absolute())


def without_password(text: str) -> str:
    """Remove secrets from an address; from a Postgres address, only the password. Other texts stay
    as they are.
    """
    if _POSTGRES.match(text):
        return _PASSWORD.sub("", text)
    return without_secrets(text) if _ADDRESS.fullmatch(text) else text


def is_known(record: object, file: EvalFile | None = None) -> bool:
    """Return True if this user has run exactly this on this machine before.

    With ``file``, its code and ``.env`` must also be unchanged.
    """
    try:
        about = _mark(record, file).lstat()
    except (OSError, SetupError):
        return False
    # a link, or a mark that another user made, does not count
    return stat.S_ISREG(about.st_mode) and (os.name != "posix" or about.st_uid == os.getuid())


def remember(record: object, file: EvalFile | None = None, code: CodeFiles | None = None) -> None:
    """Note that this user has run exactly this on this machine.

    If the cache folder is not writable, the user will be asked again next time.
    """
    with suppress(OSError, SetupError):
        for mark in {_mark(record), _mark(record, file, code)}:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


def _mark(record: object, file: EvalFile | None = None, code: CodeFiles | None = None) -> Path:
    """Return the path of the empty file in the user's cache folder that marks a record as known."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    if file is not None and not file.typed:
        used = {**(code or file.code).programs, **_env_hash(file)}
        text += json.dumps(used, sort_keys=True) if used else ""
    return cache_folder() / "begun" / hashlib.sha256(text.encode()).hexdigest()


def _env_hash(file: EvalFile) -> dict[str, str]:
    path = file.beside(ENV_FILE)
    return {str(path.absolute()): sha256(path)} if path.is_file() else {}
