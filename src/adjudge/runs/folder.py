"""Run folders as readers see them: what is in one."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from adjudge.core.aio.files import locked
from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration, judges_of
from adjudge.core.domain.judge_criterion import JudgeCriterion
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.engine.identity import judge_identity
from adjudge.core.gateway.layers.account import Account, Spent
from adjudge.core.gateway.layers.budget import OpenBudget
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.codec import ANSWERS
from adjudge.core.ledger.file import (
    FILE,
    LABEL_FILES,
    LABELS_LOCK,
    LOCK,
    OWN,
    check_layout,
    check_rows,
    connect,
    holds_labels,
    holds_run,
    is_small,
    ledger_error,
    read_judges,
    read_meta,
    refuse_empty,
    refuse_links,
    under_lock,
    used_in,
)
from adjudge.core.ledger.pending import BATCHES, Batch, batches_in, collectable
from adjudge.core.ledger.records import VotesSeen, records
from adjudge.core.ledger.rows import COLUMNS, KEY_BYTES
from adjudge.errors import RunError, SetupError
from adjudge.messages import Message
from adjudge.runs.eval_file import OUTPUTS
from adjudge.runs.partitions import kept_facts

UNFINISHED = ".importing"
"""How the folder ends in which an import is written before it takes its place."""
_LOG = f"{FILE}-wal"
_NEWEST = "number IN (SELECT max(number) FROM votes GROUP BY ballot)"
_FINISHED = "(more IS NULL OR json_extract(more, '$.unfinished') IS NULL)"
_EXCLUDED = (
    "SELECT judge, key, count(*) FROM (SELECT judge, json_extract(result, "
    "'$.excluded_models') AS lost FROM judgments), "
    "json_each(coalesce(lost, '{}')) GROUP BY judge, key"
)
_ENDED = ("complete", "imported")
_EXPORTED = tuple(f"results{ending}" for ending in OUTPUTS)


class NoSuchRun(RunError):
    """The run that was asked for does not exist."""


@dataclass(frozen=True)
class CriteriaInfo(JudgeCriterion):
    """What one judge made of one of its criteria."""

    statuses: dict[str, int]
    mean: float | None
    """Mean score of its rows, where some have one."""


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """How a run was set up and how it ended: what can be read without its rows."""

    folder: Path
    configuration: JsonObject
    facts: JsonObject
    """When it was started, how it ended, the command that made it, what it was forked from."""

    @cached_property
    def prices(self) -> PriceTable:
        """Those that held for the run."""
        return prices_of(self.facts)

    @cached_property
    def judge_configurations(self) -> dict[str, JudgeConfiguration]:
        """Judge → how it was set up, in the order of the run."""
        return judges_of(self.configuration)

    @property
    def identities(self) -> dict[str, str]:
        """Judge → its identity: one hash over everything that decides its verdicts."""
        return {name: judge_identity(one) for name, one in self.judge_configurations.items()}

    @property
    def state(self) -> str:
        """ "complete", why it stopped, or "not finished": under way, or killed."""
        return state_of(self.facts)

    @property
    def has_ended(self) -> bool:
        """Return True if no row is left to be judged; so it is with an imported run."""
        return self.facts.get("ended") in _ENDED


@dataclass(frozen=True, kw_only=True)
class RunInfo(RunFacts, HtmlRepr):
    """A run at a glance, its rows counted."""

    judges: dict[str, dict[str, int]]
    """Judge → status → how many rows."""
    criteria: tuple[CriteriaInfo, ...]
    """Each judge's criteria by themselves."""
    votes: int
    failed_votes: int
    """Votes without an answer: every call for them failed."""
    undecided_votes: int
    """Votes with an answer that holds no verdict."""
    failed_calls: int
    """Requests that were sent and brought no reply, tries that were repeated included.

    They are in no usage.
    """
    excluded: dict[str, dict[str, int]]
    """Judge → model of its panel that did not count → on how many rows."""
    usage: dict[str, Usage]
    """Model → what its replies took."""
    batches: tuple[Batch, ...] = ()
    """What was sent through providers' batch APIs, the oldest first."""

    def to_dict(self) -> JsonDict:
        """This run at a glance, as a JSON-ready dict."""
        criteria = [
            {"judge": one.judge, "criteria": one.criteria, **one.statuses, "mean": one.mean}
            for one in self.criteria
        ]
        calls = {model: usage.calls for model, usage in self.usage.items()}
        counts = some_of(self, "votes", "failed_votes", "failed_calls")
        return {
            "folder": str(self.folder),
            "state": self.state,
            "criteria": criteria,
            **counts,
            "calls": calls,
        }

    @property
    def rows(self) -> int:
        return sum(count for statuses in self.judges.values() for count in statuses.values())


def state_of(facts: JsonObject) -> str:
    """Whether a run with these facts is complete, or why it stopped."""
    ended = facts.get("ended")
    if ended == "complete":
        return Message("complete")
    return str(ended) if ended else Message("not finished")


@contextmanager
def reading(folder: str | Path) -> Iterator[sqlite3.Connection]:
    """A run's ledger to read from, also while it is written: all that is read is of one moment."""
    path = Path(folder) / FILE
    if not path.is_file() and kept_facts(Path(folder)) is not None:
        raise RunError(
            "{folder} holds what workers were answered, and no run yet: 'adjudge resume "
            "{folder}' makes one of it",
            folder=folder,
        )
    no_run = NoSuchRun("{folder} is not a run folder (no {file})", folder=folder, file=FILE)
    if not path.is_file():
        raise no_run
    refuse_links(path.parent)
    try:
        refuse_empty(path)
    except FileNotFoundError:  # it was deleted just now
        raise no_run from None
    try:
        with connect(path, writable=False) as connection:
            connection.execute("BEGIN")
            check_layout(connection, path)
            yield connection
    except sqlite3.Error as error:
        raise (ledger_error(path, error) if path.exists() else no_run) from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ledger_error(
            path,
            sqlite3.DatabaseError(
                Message("holds what adjudge did not write ({error})", error=error)
            ),
        ) from error


def run_facts(folder: str | Path) -> RunFacts:
    """Read how a run was set up and how it ended, without its rows: the time does not depend on
    their number. Damaged rows are found when they are read.
    """
    with reading(folder) as connection:
        facts = read_meta(connection)
    configuration = object_in(facts.pop("configuration", None))
    return RunFacts(folder=Path(folder), configuration=configuration, facts=facts)


def run_info(
    folder: str | Path, *, judgments_follow: bool = False, votes_follow: bool = False
) -> RunInfo:
    """What a run folder holds. ``judgments_follow``: the caller reads every judgment before it uses
    the counts, and (``votes_follow``) every vote, by ``report_of_run``. Reading checks them, so
    they are not checked here.
    """
    path = Path(folder) / FILE
    later = {*(["judgments"] if judgments_follow else ()), *(["votes"] if votes_follow else ())}
    with reading(folder) as connection:
        check_rows(connection, path, COLUMNS.keys() - later)
        try:
            return _info_in(connection, Path(folder))
        except sqlite3.Error:
            check_rows(connection, path)  # names the damaged row
            raise


def _info_in(connection: sqlite3.Connection, folder: Path) -> RunInfo:
    facts = read_meta(connection)
    rows = connection.execute(
        "SELECT judge, status, count(*) FROM judgments GROUP BY judge, status"
    ).fetchall()
    configurations = judges_of(facts.get("configuration"))
    judges: dict[str, dict[str, int]] = {name: {} for name in configurations}
    for judge, status, count in rows:
        judges.setdefault(judge, {})[status] = count
    votes, failed, undecided = _count_votes(connection, forked="forked_from" in facts)
    by_criteria = _by_criteria(connection)
    return RunInfo(
        folder=folder,
        judges={name: statuses for name, statuses in judges.items() if statuses},
        criteria=tuple(sorted(by_criteria, key=lambda one: list(judges).index(one.judge))),
        votes=votes,
        failed_votes=failed,
        undecided_votes=undecided,
        failed_calls=_failed_calls(facts, failed),
        excluded=excluded_models(connection, configurations),
        usage=used_in(connection),
        configuration=object_in(facts.pop("configuration", None)),
        facts=facts,
        batches=tuple(batches_in(connection)),
    )


def _count_votes(connection: sqlite3.Connection, *, forked: bool) -> tuple[int, int, int]:
    """How many votes there are, for how many every call failed, and how many answers hold no
    verdict. Of answers that were taken over from another run, those count that a judgment rests on.
    """
    newest = f"FROM votes WHERE {_NEWEST} AND {_FINISHED}"
    if not forked:
        counts = f"SELECT outcome, count(*) {newest} GROUP BY outcome"
        return _by_outcome(Counter(dict(connection.execute(counts).fetchall())))
    answers = f"coalesce(json_extract(result, '$.{ANSWERS}'), '')"
    query, width = f"SELECT ballots, {answers} FROM judgments", 2 * KEY_BYTES  # noqa: S608
    used = {
        keys[place : place + width]
        for ballots, asked in connection.execute(query)
        for keys in (ballots.hex(), str(asked))
        for place in range(0, len(keys), width)
    }
    found = connection.execute(f"SELECT ballot, outcome {newest}")
    return _by_outcome(Counter(outcome for ballot, outcome in found if ballot.hex() in used))


def _by_outcome(votes: Counter[str]) -> tuple[int, int, int]:
    failed = votes["model_error"]
    return votes.total(), failed, votes.total() - failed - votes["ok"] - votes["repaired"]


def prices_of(facts: JsonObject) -> PriceTable:
    """The prices that held for a run; where it keeps none, or their file cannot be read,
    today's.
    """
    if file := kept_prices(facts):
        with suppress(SetupError):
            return PriceTable.load(file)
    return PriceTable.load()


def kept_prices(facts: JsonObject) -> Path | None:
    """The file that the prices of a run stood in, where it keeps one."""
    match facts:
        case {"resume": {"options": {"prices": str(path)}}}:
            return Path(path)
    return None


def spent_in(folder: str | Path, *, by_votes: bool = False) -> Spent:
    """What a run has cost until now, by its own prices; after a kill, with an estimate of what was
    under way.

    ``by_votes``: by what was answered alone, which is what can be known while it goes on.
    """
    with reading(folder) as connection:
        facts = read_meta(connection)
        kept = None if by_votes else facts.get("spending")
        used = {} if kept else used_in(connection)
    try:
        account = Account.of(kept) if kept else Account(used)
        account.write_off()
        return OpenBudget(prices=prices_of(facts), account=account).spent
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            "{folder}: its account is not what adjudge writes ({error!r})",
            folder=folder,
            error=error,
        ) from error


def settings_in(folder: str | Path) -> list[JsonObject]:
    """How each judge of a run is set up, as it was begun."""
    with reading(folder) as connection:
        judges = read_judges(connection)
    return [one.settings for one in judges.values()]


def excluded_models(
    connection: sqlite3.Connection, judges: Mapping[str, JudgeConfiguration]
) -> dict[str, dict[str, int]]:
    """Return judge → model of its panel → judgments in which it did not count. A judge of one model
    is not a panel.
    """
    found: dict[str, dict[str, int]] = {}
    for judge, model, rows in connection.execute(_EXCLUDED):
        if judge in judges and len(judges[judge].models) > 1:
            found.setdefault(judge, {})[model] = rows
    return found


def _by_criteria(connection: sqlite3.Connection) -> tuple[CriteriaInfo, ...]:
    """In the order in which they were first judged."""
    query = (
        "SELECT judge, criterion, status, count(*), avg(score), min(number) FROM judgments "
        "GROUP BY 1, 2, 3 ORDER BY 1, 6"
    )
    found: dict[tuple[str, str], CriteriaInfo] = {}
    for judge, criteria, status, count, mean, _ in connection.execute(query):
        known = found.get((judge, criteria)) or CriteriaInfo(judge, criteria, {}, None)
        statuses = {**known.statuses, status: count}
        found[judge, criteria] = CriteriaInfo(
            judge, criteria, statuses, mean if status == "scored" else known.mean
        )
    return tuple(found.values())


def _failed_calls(facts: JsonObject, failed_votes: int) -> int:
    """As the run counted them; an imported one did not, and for a vote without an answer there was
    one at least.
    """
    failed = object_in(facts.get("spending")).get("failed")
    return failed if isinstance(failed, int) else failed_votes


def find_runs(parent: str | Path) -> list[Path]:
    """The run folders in ``parent`` and one below, the newest last; not what an import is still
    writing.
    """
    near = [Path(parent), *_inside(Path(parent))]
    found = (*near, *(inner for folder in near[1:] for inner in _inside(folder)))
    return [
        folder
        for _, folder in sorted(
            _dated(one for one in found if holds_run(one) and not one.name.endswith(UNFINISHED))
        )
    ]


def _inside(folder: Path) -> list[Path]:
    """What may be looked into in a folder; nothing where it is none, or was deleted just now."""
    try:
        with os.scandir(folder) as found:
            return [Path(one.path) for one in found if os.access(one.path, os.X_OK)]
    except OSError:
        return []


def runs_inside(root: Path) -> dict[str, Path]:
    """Name → folder of the run that a folder is, or of the runs in it, the newest last."""
    found = [root] if holds_run(root) else [one for one in find_runs(root) if is_inside(one, root)]
    return {root.name if one == root else one.relative_to(root).as_posix(): one for one in found}


def is_inside(folder: Path, root: Path) -> bool:
    """Whether a run lies in a folder: a link that leads out of it does not."""
    return folder.resolve().is_relative_to(root) and not (folder / FILE).is_symlink()


def _dated(folders: Iterable[Path]) -> Iterator[tuple[float, Path]]:
    """With when each was written; one that is deleted meanwhile is none any more."""
    for folder in folders:
        with suppress(FileNotFoundError):
            yield last_written(folder), folder


def last_written(folder: Path) -> float:
    """When something was last written to a run, as the clock counts.

    An empty log is one that a reader left.
    """
    ledger = (folder / FILE).stat()
    try:
        logged = (folder / _LOG).stat()
    except FileNotFoundError:  # it goes when its writer ends, at any moment
        return ledger.st_mtime
    return max(ledger.st_mtime, logged.st_mtime) if logged.st_size else ledger.st_mtime


def delete_run(folder: str | Path, *, only_try: bool = False) -> None:
    """Delete a run's own files, and its folder when nothing else is in it. A RunError says why it
    cannot be.

    Exports go with it only where the folder holds nothing else: among other files, somebody may
    have put them there.
    """
    place = Path(folder)
    if place.is_symlink():
        raise RunError(
            "{place} is a symbolic link: delete the run where it lies, or the link by itself",
            place=place,
        )
    _refuse_valuable(place)
    if only_try and not (place / LOCK).exists():
        return
    with under_lock(place):
        if only_try:
            return
        refuse_links(place, (LABELS_LOCK,))
        with locked(place / LABELS_LOCK):
            _refuse_valuable(place)  # somebody may have labelled a row meanwhile
            _delete_files(place)


def _delete_files(place: Path) -> None:
    _delete_batches(place / BATCHES)
    alone = {path.name for path in place.iterdir()} <= {*OWN, *LABEL_FILES, *_EXPORTED, LOCK}
    for name in (*OWN, *LABEL_FILES, *(_EXPORTED if alone else ()), LOCK):
        (place / name).unlink(missing_ok=True)
    if alone:
        place.rmdir()


def _refuse_valuable(place: Path) -> None:
    if holds_labels(place):
        raise RunError(
            "it holds labels that people made: export them with 'adjudge label RUN --export "
            "FILE', then delete labels.sqlite"
        )
    _refuse_open_batches(place)


def _refuse_open_batches(place: Path) -> None:
    """What is paid for at a provider is not thrown away; what is too old to be
    there still may go.
    """
    try:
        with reading(place) as connection:
            batches = batches_in(connection)
    except RunError:
        return  # a ledger that cannot be read has nothing to collect them by
    if collectable(batches):
        raise RunError(
            "its batches are under way, and would be lost: collect them with 'adjudge "
            "resume {place}'",
            place=place,
        )


def _delete_batches(place: Path) -> None:
    """What waits to be sent or was fetched; a link leads to what is somebody else's."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)


def records_of(
    folder: str | Path, *, votes: bool = False, judge: str | None = None
) -> Iterator[JudgmentRecord]:
    """Every judgment of a run, by judge and row, on request with its votes, or of one ``judge``."""
    with reading(folder) as connection:
        yield from records(connection, votes=votes, judge=judge)


def checked_records(folder: str | Path) -> Iterator[JudgmentRecord]:
    """Every judgment of a run with its votes; at the end, the votes that no judgment rests on are
    checked like those that were read.
    """
    with reading(folder) as connection:
        seen = VotesSeen(connection)
        yield from records(connection, votes=True, seen=seen)
        if is_small(Path(folder) / FILE):
            seen.check_rest()
