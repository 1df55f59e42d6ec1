"""Where an eval file is carried out after it was changed: beside its first run, in FOLDER-2,
FOLDER-3, …, with the answers that still apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from adjudge.core.aio.files import sha256
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.changes import judge_changes
from adjudge.core.ledger.file import holds_run, is_same_configuration, read_meta
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.folder import last_written, reading
from adjudge.runs.plan import Plan

EARLIER = "earlier"
"""The fact under which a run folder keeps what its run is to be compared with."""
ORIGINS = (EARLIER, "forked_from")
"""Those that say from which run it comes."""
_DATA = "data"
"""The fact under which a run folder keeps which rows it judged."""


@light_dataclass(frozen=True)
class RunPlace:
    """The folder in which an eval file is carried out now."""

    folder: Path
    earlier: Path | None = None
    """The last run of the file before it was changed; None where nothing changed since."""
    reused: Path | None = None
    """The run whose answers are taken where they still apply."""
    passed_over: Path | None = None
    """A run of the file that is not the user's own."""


def find_place(
    plan: Plan, data: JsonObject, is_own: Callable[[JsonObject], bool] = lambda _: True
) -> RunPlace:
    """Return the newest folder of the eval file that was made with this configuration and these
    rows; else a new one. A run that was not finished may go on with other rows.

    ``data``: what ``data_fact`` says of the rows. ``is_own``: tells from the facts of a run whether
    the user made it; verdicts of others are not taken for new ones.
    """
    first = plan.folder
    assert first is not None  # of a file, which has one by default
    before: tuple[Path, JsonObject] | None = None
    passed_over: Path | None = None
    for folder in sorted(_folders(first), key=last_written, reverse=True):
        facts = _facts(folder)
        if folder != first and not _is_of(facts, plan.file):
            continue
        if not is_own(facts):
            passed_over = passed_over or folder
            continue
        known = object_in(facts.get("configuration"))
        same_rows = facts.get("ended") != "complete" or facts.get(_DATA) in (None, data.get(_DATA))
        if is_same_configuration(known, {"judges": plan.configuration}) and (same_rows or not data):
            return RunPlace(folder, passed_over=passed_over)
        if before is None and _has_judgments(folder):
            before = (folder, known)
    free = next(one for one in _numbered(first) if not holds_run(one))
    if before is None:
        return RunPlace(free, passed_over=passed_over)
    earlier, known = before
    changed = judge_changes(known, {"judges": plan.configuration})
    return RunPlace(free, earlier, None if changed else earlier, passed_over)


def data_fact(plan: Plan) -> JsonDict:
    """Return a hash of the rows and of whatever answers them, for the run folder to keep: it tells
    when they are others. Nothing if the rows cannot be read twice.
    """
    file = plan.file
    source = file.local_source if plan.reader.reads_traces else file.source
    if file.rows or (isinstance(source, Path) and not source.is_file()):
        return {}
    try:
        rows = sha256(source) if isinstance(source, Path) else source.version()
        read = [rows, *(sha256(file.beside(path)) for path in file.prompts)]
    except OSError:
        return {}  # what is wrong with the rows is said when judging gets there
    entry = file.data
    how = (entry.columns, entry.responses, entry.name_column, entry.encoding)
    code = sorted(file.code.hashes.values())
    return {_DATA: text_hash(repr((read, how, file.target, file.repeat, code)))}


def earlier_run(folder: Path, facts: JsonObject) -> Path | None:
    """The run before the eval file was changed, beside it; None where there is none. ``facts``:
    what the folder keeps of ``ORIGINS``.
    """
    name = str(next(filter(None, map(facts.get, ORIGINS)), ""))
    found = folder.with_name(Path(name).name) if name else None
    return found if found and found != folder and holds_run(found) else None


def _folders(first: Path) -> Iterator[Path]:
    """FOLDER, FOLDER-2, … as far as they hold a run."""
    numbered = re.compile(rf"{re.escape(first.name)}(-[2-9]|-[1-9]\d+)?")
    found = first.parent.iterdir() if first.parent.is_dir() else ()
    return (one for one in found if numbered.fullmatch(one.name) and holds_run(one))


def _numbered(first: Path) -> Iterator[Path]:
    yield first
    yield from (first.with_name(f"{first.name}-{number}") for number in count(2))


def _facts(folder: Path) -> JsonDict:
    with reading(folder) as ledger:
        return read_meta(ledger)


def _has_judgments(folder: Path) -> bool:
    with reading(folder) as ledger:
        return ledger.execute("SELECT 1 FROM judgments LIMIT 1").fetchone() is not None


def _is_of(facts: JsonObject, file: EvalFile) -> bool:
    """Whether a run is of this eval file: eval-2.yaml has runs/eval-2, too."""
    match facts:
        case {"resume": {"eval": {"path": str(path)}}}:
            return Path(path).name == file.path.name
    return False
