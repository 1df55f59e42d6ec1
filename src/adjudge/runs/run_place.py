"""The folder for a changed eval file: next to its first run, in FOLDER-2, FOLDER-3, …, with the
answers that still apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.aio.files import sha256
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in, objects_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.targets.target import is_incomplete
from adjudge.core.ledger.changes import judge_changes
from adjudge.core.ledger.file import holds_run, is_same_configuration, read_meta
from adjudge.runs.folder import last_written, reading

if TYPE_CHECKING:
    from adjudge.runs.eval_file import EvalFile
    from adjudge.runs.plan import Plan

EARLIER = "earlier"
"""The fact under which a run folder keeps what its run is to be compared with."""
ORIGINS = (EARLIER, "forked_from")
"""The facts that name the run from which a run comes."""
_DATA = "data"
"""The fact under which a run folder keeps which rows it judged."""


@light_dataclass(frozen=True)
class EvalRunPlace:
    """The folder in which an eval file is run now."""

    folder: Path
    earlier: Path | None = None
    """The last run of the file before it was changed; None if nothing changed since."""
    reused: Path | None = None
    """The run whose answers are reused if they still apply."""
    passed_over: Path | None = None
    """A run of the file that is not the user's own."""
    has_old_answers: bool = False
    """True if an earlier version stored the answers of the earlier run's applications."""


def find_place(
    plan: Plan, data: JsonObject, is_own: Callable[[JsonObject], bool] = lambda _: True
) -> EvalRunPlace:
    """Return the newest folder of the eval file with this configuration and these rows, else a new
    one.

    An unfinished run may continue with other rows. ``data``: the result of ``data_fact``.
    ``is_own``: tells from its facts whether the user made a run; verdicts of other runs are not
    reused.
    """
    first_folder = plan.folder
    assert first_folder is not None  # of a file, which has one by default
    earlier_run_facts: tuple[Path, JsonObject] | None = None
    passed_over: Path | None = None
    for folder in sorted(_runs_of_file(first_folder), key=last_written, reverse=True):
        with reading(folder) as ledger:
            facts = read_meta(ledger)
        # FOLDER-2 may be the first run of another eval file
        if folder != first_folder and not _is_of(facts, plan.file):
            continue
        if not is_own(facts):
            passed_over = passed_over or folder
            continue
        configuration = object_in(facts.get("configuration"))
        same_rows = facts.get("ended") != "complete" or facts.get(_DATA) in (None, data.get(_DATA))
        if is_same_configuration(configuration, {"judges": plan.configuration}) and (
            same_rows or not data
        ):
            return EvalRunPlace(folder, passed_over=passed_over)
        if earlier_run_facts is None and _has_judgments(folder):
            earlier_run_facts = (folder, configuration)
    names = (first_folder.with_name(f"{first_folder.name}-{number}") for number in count(2))
    free = next(folder for folder in chain([first_folder], names) if not holds_run(folder))
    if earlier_run_facts is None:
        return EvalRunPlace(free, passed_over=passed_over)
    earlier, configuration = earlier_run_facts
    changed = judge_changes(configuration, {"judges": plan.configuration})
    return EvalRunPlace(
        free,
        earlier,
        None if changed else earlier,
        passed_over,
        has_old_answers=has_old_answers(configuration),
    )


def has_old_answers(configuration: JsonObject) -> bool:
    """Return True if applications of a run were asked by an earlier version of adjudge.

    It did not store everything that their answers depend on, so they are asked again.
    """
    targets = (
        target
        for judge in object_in(configuration.get("judges")).values()
        for target in objects_in(object_in(judge).get("target"))
    )
    return any(
        target.get("prompt") is None and is_incomplete(str(target.get("identity")))
        for target in targets
    )


def data_fact(plan: Plan) -> JsonDict:
    """Return a hash of the rows and of everything that answers them, to be stored with the run.

    It later shows whether they changed. Empty if the rows cannot be read twice.
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
    """Return the run before the eval file was changed, if it still exists next to this one.

    ``facts``: the stored values of ``ORIGINS``.
    """
    name = str(next(filter(None, map(facts.get, ORIGINS)), ""))
    # "." and ".." have no name that could be replaced
    place = folder if folder.name not in ("", "..") else folder.resolve()
    folder_before = place.with_name(Path(name).name) if Path(name).name else None
    return (
        folder_before
        if folder_before and folder_before != place and holds_run(folder_before)
        else None
    )


def _runs_of_file(first: Path) -> Iterator[Path]:
    """Yield the folders among FOLDER, FOLDER-2, … that contain a run."""
    numbered = re.compile(rf"{re.escape(first.name)}(-[2-9]|-[1-9]\d+)?")
    entries = first.parent.iterdir() if first.parent.is_dir() else ()
    return (entry for entry in entries if numbered.fullmatch(entry.name) and holds_run(entry))


def _has_judgments(folder: Path) -> bool:
    with reading(folder) as ledger:
        return ledger.execute("SELECT 1 FROM judgments LIMIT 1").fetchone() is not None


def _is_of(facts: JsonObject, file: EvalFile) -> bool:
    """Return True if a run belongs to this eval file. The folder name is not enough: eval-2.yaml
    also uses runs/eval-2.
    """
    match facts:
        case {"resume": {"eval": {"path": str(path)}}}:
            return Path(path).name == file.path.name
    return False
