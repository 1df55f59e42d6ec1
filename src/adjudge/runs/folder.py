"""Open a run folder and read its records, judges and costs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
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
from adjudge.core.ledger.alike import AlikeGroup, AlikeOutcome
from adjudge.core.ledger.codec import ANSWERS, StoredOutcome
from adjudge.core.ledger.figures import bounded_rows
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
from adjudge.core.ledger.records import (
    SEVERAL_VOTES,
    VotesSeen,
    alike_or_records,
    groups_or_records,
    outcomes,
    records,
)
from adjudge.core.ledger.rows import COLUMNS, KEY_BYTES
from adjudge.errors import RunError, SetupError
from adjudge.messages import Message
from adjudge.runs.eval_file import OUTPUTS
from adjudge.runs.partitions import kept_facts

UNFINISHED = ".importing"
"""The ending of the folder in which an import is written until it is complete."""
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
    """The results of one judge by one of its criteria."""

    statuses: dict[str, int]
    mean: float | None
    """The mean of the rows that have a score, if some do."""
    between: tuple[float, float] | None = None
    """The least and the most that the mean over all rows can be, if rows have bounds instead of a
    score.
    """


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The setup and the end of a run: everything that can be read without its rows."""

    folder: Path
    configuration: JsonObject
    facts: JsonObject
    """When it was started, how it ended, the command that made it, what it was forked from."""

    @cached_property
    def prices(self) -> PriceTable:
        """The prices that applied to the run."""
        return prices_of(self.facts)

    @cached_property
    def judge_configurations(self) -> dict[str, JudgeConfiguration]:
        """Judge → how it was set up, in the order of the run."""
        return judges_of(self.configuration)

    @property
    def identities(self) -> dict[str, str]:
        """Judge → its identity: one hash over everything that decides its verdicts."""
        return {
            name: judge_identity(configuration)
            for name, configuration in self.judge_configurations.items()
        }

    @property
    def state(self) -> str:
        """Return "complete", the reason why it stopped, or "not finished" (in progress or
        killed).
        """
        return state_of(self.facts)

    @property
    def has_ended(self) -> bool:
        """Return True if no row is left to judge, which includes every imported run."""
        return self.facts.get("ended") in _ENDED


@dataclass(frozen=True, kw_only=True)
class RunCounts(RunFacts):
    """A run with its judgments and votes counted."""

    judges: dict[str, dict[str, int]]
    """Judge → status → how many rows."""
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
    """Batches that were sent to providers, the oldest first."""

    @property
    def rows(self) -> int:
        """The number of judgments, without skipped rows."""
        return sum(map(self.judged_rows, self.judges))

    def judged_rows(self, judge: str) -> int:
        """Return the number of rows that a judge did not skip."""
        return sum(count for status, count in self.judges[judge].items() if status != "skipped")


@dataclass(frozen=True, kw_only=True)
class RunInfo(RunCounts, HtmlRepr):
    """A run at a glance."""

    criteria: tuple[CriteriaInfo, ...]
    """Each judge's criteria by themselves."""

    def to_dict(self) -> JsonDict:
        """Return the run's summary as a JSON-ready dict."""
        criteria = [
            {
                "judge": info.judge,
                "criteria": info.criteria,
                **info.statuses,
                "mean": info.mean,
                **({"between": list(info.between)} if info.between else {}),
            }
            for info in self.criteria
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


def state_of(facts: JsonObject) -> str:
    """Return "complete", the reason why a run stopped, or "not finished"."""
    ended = facts.get("ended")
    if ended == "complete":
        return Message("complete")
    return str(ended) if ended else Message("not finished")


@contextmanager
def reading(folder: str | Path) -> Iterator[sqlite3.Connection]:
    """Open a run's ledger for reading, even while the run is in progress. All reads see the same
    snapshot.
    """
    path = Path(folder) / FILE
    if not path.is_file() and kept_facts(Path(folder)) is not None:
        raise RunError(
            "{folder} contains answers of workers, but no run yet: create one with 'adjudge "
            "resume {folder}'",
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
            # one read transaction: what the run writes meanwhile is not seen
            connection.execute("BEGIN")
            check_layout(connection, path)
            yield connection
    except sqlite3.Error as error:
        raise (ledger_error(path, error) if path.exists() else no_run) from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ledger_error(
            path,
            sqlite3.DatabaseError(
                Message("contains data that adjudge did not write ({error})", error=error)
            ),
        ) from error


def run_facts(folder: str | Path) -> RunFacts:
    """Read how a run was set up and how it ended, without its rows.

    This takes the same time for any number of rows. Damaged rows go unnoticed until they are read.
    """
    with reading(folder) as connection:
        facts = read_meta(connection)
    configuration = object_in(facts.pop("configuration", None))
    return RunFacts(folder=Path(folder), configuration=configuration, facts=facts)


def run_info(folder: str | Path, *, judgments_follow: bool = False) -> RunInfo:
    """Read and check a run folder.

    ``judgments_follow``: the caller will read every judgment before it uses the counts. Reading
    checks them, so they are not checked here.
    """
    later = {"judgments"} if judgments_follow else set()
    with _checked(folder, later) as connection:
        counts = _counts_in(connection, Path(folder))
        criteria, judges = _by_criteria(connection), list(counts.judges)
    return RunInfo(
        **vars(counts),
        criteria=tuple(sorted(criteria, key=lambda one: judges.index(one.judge))),
    )


def run_counts(folder: str | Path) -> RunCounts:
    """Read a run folder, except for its judgments one by one.

    The caller will read every judgment and every vote, by ``checked_rows``, before it uses the
    counts. Reading checks them, so they are not checked here.
    """
    with _checked(folder, {"judgments", "votes"}) as connection:
        return _counts_in(connection, Path(folder))


@contextmanager
def _checked(folder: str | Path, later: Set[str]) -> Iterator[sqlite3.Connection]:
    """Open a run's ledger, with the rows of a small one checked.

    ``later``: tables whose rows are checked later.
    """
    path = Path(folder) / FILE
    with reading(folder) as connection:
        check_rows(connection, path, COLUMNS.keys() - later)
        try:
            yield connection
        except sqlite3.Error:
            check_rows(connection, path)  # names the damaged row
            raise


def _counts_in(connection: sqlite3.Connection, folder: Path) -> RunCounts:
    facts = read_meta(connection)
    rows = connection.execute(
        "SELECT judge, status, count(*) FROM judgments GROUP BY judge, status"
    ).fetchall()
    configurations = judges_of(facts.get("configuration"))
    judges: dict[str, dict[str, int]] = {name: {} for name in configurations}
    for judge, status, count in rows:
        judges.setdefault(judge, {})[status] = count
    votes, failed, undecided = _count_votes(connection, forked="forked_from" in facts)
    return RunCounts(
        folder=folder,
        judges={name: statuses for name, statuses in judges.items() if statuses},
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
    """Return the number of votes, of votes for which every call failed, and of answers without a
    verdict.

    In a forked run, only answers that a judgment uses count.
    """
    are_several = connection.execute(SEVERAL_VOTES).fetchone() is not None
    newest = f"FROM votes WHERE {_NEWEST if are_several else 'TRUE'} AND {_FINISHED}"
    if not forked:
        counts = f"SELECT outcome, count(*) {newest} GROUP BY outcome"
        return _by_outcome(Counter(dict(connection.execute(counts).fetchall())))
    answers = f"coalesce(json_extract(result, '$.{ANSWERS}'), '')"
    query, width = f"SELECT ballots, {answers} FROM judgments", 2 * KEY_BYTES  # noqa: S608
    used = {
        keys[place : place + width]
        for ballots, answer_keys in connection.execute(query)
        for keys in (ballots.hex(), str(answer_keys))
        for place in range(0, len(keys), width)
    }
    newest_votes = connection.execute(f"SELECT ballot, outcome {newest}")
    return _by_outcome(Counter(outcome for ballot, outcome in newest_votes if ballot.hex() in used))


def _by_outcome(votes: Counter[str]) -> tuple[int, int, int]:
    failed = votes["model_error"]
    return votes.total(), failed, votes.total() - failed - votes["ok"] - votes["repaired"]


def prices_of(facts: JsonObject) -> PriceTable:
    """Return the prices that applied to a run. If it names no price file, or an unreadable one,
    return the current prices.
    """
    if file := kept_prices(facts):
        with suppress(SetupError):
            return PriceTable.load(file)
    return PriceTable.load()


def kept_prices(facts: JsonObject) -> Path | None:
    """Return the price file that the run was started with, if any."""
    match facts:
        case {"resume": {"options": {"prices": str(path)}}}:
            return Path(path)
    return None


def spent_in(folder: str | Path, *, by_votes: bool = False) -> Spent:
    """Return the cost of a run so far, at its own prices. After a kill, the cost of open requests
    is estimated.

    ``by_votes``: count stored answers only. While a run is in progress, nothing else is known.
    """
    with reading(folder) as connection:
        facts = read_meta(connection)
        stored_account = None if by_votes else facts.get("spending")
        used = {} if stored_account else used_in(connection)
    try:
        account = Account.of(stored_account) if stored_account else Account(used)
        account.write_off()
        return OpenBudget(prices=prices_of(facts), account=account).spent
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            "{folder}: its record of spending is damaged or was not written by adjudge ({error!r})",
            folder=folder,
            error=error,
        ) from error


def settings_in(folder: str | Path) -> list[JsonObject]:
    """Return the settings that each judge of a run was started with."""
    with reading(folder) as connection:
        judges = read_judges(connection)
    return [judge.settings for judge in judges.values()]


def excluded_models(
    connection: sqlite3.Connection, judges: Mapping[str, JudgeConfiguration]
) -> dict[str, dict[str, int]]:
    """Return judge → panel model → number of judgments in which the model did not count. Judges
    with a single model are left out.
    """
    rows_by_model: dict[str, dict[str, int]] = {}
    panels = {judge for judge, configuration in judges.items() if len(configuration.models) > 1}
    if not panels:
        return rows_by_model
    for judge, model, rows in connection.execute(_EXCLUDED):
        if judge in panels:
            rows_by_model.setdefault(judge, {})[model] = rows
    return rows_by_model


def _by_criteria(connection: sqlite3.Connection) -> tuple[CriteriaInfo, ...]:
    """Return the results per judge and criterion, ordered by judge and then by first judgment."""
    query = (
        "SELECT judge, criterion, status, count(*), avg(score), min(number) FROM judgments "
        "GROUP BY 1, 2, 3 ORDER BY 1, 6"
    )
    infos: dict[tuple[str, str], CriteriaInfo] = {}
    for judge, criteria, status, count, mean, _ in connection.execute(query):
        info = infos.get((judge, criteria)) or CriteriaInfo(judge, criteria, {}, None)
        statuses = {**info.statuses, status: count}
        infos[judge, criteria] = CriteriaInfo(
            judge, criteria, statuses, mean if status == "scored" else info.mean
        )
    bounds = {judge: bounded_rows(connection, judge) for judge, _ in infos}
    return tuple(
        replace(
            info,
            between=bounds[info.judge].between(
                (info.mean or 0.0) * info.statuses.get("scored", 0), info.statuses.get("scored", 0)
            ),
        )
        for info in infos.values()
    )


def _failed_calls(facts: JsonObject, failed_votes: int) -> int:
    """Return the run's own count of failed calls. Without one (imports), each failed vote counts as
    one call.
    """
    failed = object_in(facts.get("spending")).get("failed")
    return failed if isinstance(failed, int) else failed_votes


def find_runs(parent: str | Path) -> list[Path]:
    """Return ``parent`` if it is a run folder, and the runs up to two levels below it, most
    recently written last. Imports in progress are left out.
    """
    near = [Path(parent), *_inside(Path(parent))]
    folders = (*near, *(inner for folder in near[1:] for inner in _inside(folder)))
    return [
        folder
        for _, folder in sorted(
            _with_times(
                candidate
                for candidate in folders
                if holds_run(candidate) and not candidate.name.endswith(UNFINISHED)
            )
        )
    ]


def _inside(folder: Path) -> list[Path]:
    """Return the accessible entries of a folder; an empty list if it is not a folder or was just
    deleted.
    """
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if os.access(entry.path, os.X_OK)]
    except OSError:
        return []


def runs_inside(root: Path) -> dict[str, Path]:
    """Return the runs in a folder by name, most recently written last. A run folder contains only
    itself.
    """
    folders = (
        [root] if holds_run(root) else [run for run in find_runs(root) if is_inside(run, root)]
    )
    return {root.name if run == root else run.relative_to(root).as_posix(): run for run in folders}


def is_inside(folder: Path, root: Path) -> bool:
    """Return True if a run is really inside a folder. A run reached through a link out of it, or
    whose ledger is a link, is not.
    """
    return folder.resolve().is_relative_to(root) and not (folder / FILE).is_symlink()


def _with_times(folders: Iterable[Path]) -> Iterator[tuple[float, Path]]:
    """Yield the folders with their write times, without those deleted meanwhile."""
    for folder in folders:
        with suppress(FileNotFoundError):
            yield last_written(folder), folder


def last_written(folder: Path) -> float:
    """Return the time of the last write to a run."""
    ledger = (folder / FILE).stat()
    try:
        logged = (folder / _LOG).stat()
    except FileNotFoundError:  # it goes when its writer ends, at any moment
        return ledger.st_mtime
    # a reader may leave an empty log
    return max(ledger.st_mtime, logged.st_mtime) if logged.st_size else ledger.st_mtime


def delete_run(folder: str | Path, *, only_try: bool = False) -> None:
    """Delete a run's own files, and its folder if nothing else is in it.

    Raises a RunError with the reason if it cannot be deleted. Exports are deleted only if the
    folder holds nothing else, since they could be the user's. ``only_try``: only check whether it
    can be deleted.
    """
    place = Path(folder)
    if place.is_symlink():
        raise RunError(
            "{place} is a symbolic link: delete the run at its real path, or only the link",
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
    batches = place / BATCHES
    if batches.is_dir() and not batches.is_symlink():  # a link leads to somebody else's files
        shutil.rmtree(batches)
    alone = {path.name for path in place.iterdir()} <= {*OWN, *LABEL_FILES, *_EXPORTED, LOCK}
    for name in (*OWN, *LABEL_FILES, *(_EXPORTED if alone else ()), LOCK):
        (place / name).unlink(missing_ok=True)
    if alone:
        place.rmdir()


def _refuse_valuable(place: Path) -> None:
    if holds_labels(place):
        raise RunError(
            "it contains human labels: export them with 'adjudge label RUN --export FILE', then "
            "delete labels.sqlite"
        )
    _refuse_open_batches(place)


def _refuse_open_batches(place: Path) -> None:
    """Raise if the run has batches that are paid for and can still be collected."""
    try:
        with reading(place) as connection:
            batches = batches_in(connection)
    except RunError:
        return  # a ledger that cannot be read has nothing to collect them by
    if collectable(batches):
        raise RunError(
            "its batches are under way and would be lost: collect them with 'adjudge resume "
            "{place}'",
            place=place,
        )


def records_of(
    folder: str | Path, *, votes: bool = False, judge: str | None = None
) -> Iterator[JudgmentRecord]:
    """Yield every judgment of a run, or of one ``judge``, ordered by judge and row. ``votes``:
    include the votes.
    """
    with reading(folder) as connection:
        yield from records(connection, votes=votes, judge=judge)


def outcomes_of(folder: str | Path) -> Iterator[StoredOutcome | JudgmentRecord]:
    """Like ``records_of``, but yield only the stored outcome where that is all of a judgment."""
    with reading(folder) as connection:
        yield from outcomes(connection)


def alike_outcomes_of(folder: str | Path) -> Iterator[AlikeOutcome | JudgmentRecord]:
    """Like ``outcomes_of``, but of rows that are alike only the first one is decoded, and the
    record is yielded of each row that belongs to others.
    """
    with reading(folder) as connection:
        yield from alike_or_records(connection)


def checked_rows(folder: str | Path) -> Iterator[list[JudgmentRecord | AlikeGroup]]:
    """Yield every judgment of a run with its votes, some at a time. In small runs, also check the
    votes that no judgment uses.
    """
    with reading(folder) as connection:
        seen_votes = VotesSeen(connection)
        yield from groups_or_records(connection, seen_votes)
        if is_small(Path(folder) / FILE):
            seen_votes.check_rest()
