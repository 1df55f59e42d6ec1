"""The ledger: what was acknowledged is there, whatever happens to the process, the disk, the file
or the clock.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaOption,
    Instance,
    Outcome,
    RunError,
    ScriptedModel,
)
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Usage
from adjudge.core.domain.question import Choice, Comparison, Question, Rating, question_of
from adjudge.core.domain.verdict import Chosen, Compared, Rated
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.ledger import file, key
from adjudge.core.ledger.changes import differences
from adjudge.core.ledger.commit_thread import CommitThread
from adjudge.core.ledger.file import FILE, LAYOUT, connect
from adjudge.core.ledger.ledger import Ledger
from adjudge.core.ledger.rows import CHECKSUM_SQL
from adjudge.runs.folder import records_of, run_info
from adjudge.runs.recovery import recover

CRITERIA = Criteria(
    "date", "Is there a date?", [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
)
CONFIGURATION: dict[str, Any] = {
    "judges": {
        "J": {"settings": {"strictness": 3}, "models": {"m": {}}, "versions": {"adjudge": "1"}}
    }
}


QUESTION = question_of(CRITERIA)


def ballot(number: int = 0, question: Question = QUESTION, **parts: Any) -> Ballot:
    return Ballot(
        CRITERIA, Instance({"response": f"text {number}"}), question, "direct", "m", **parts
    )


def key_of(ballot: Ballot, model: str = "m@here") -> bytes:
    return key.key_of(ballot, model, {})


def vote(number: int = 0, **parts: Any) -> Vote:
    said = {
        "outcome": Outcome.OK,
        "verdict": Chosen("Yes", "because"),
        "text": "{}",
        "usage": Usage(1, 20, 5),
    }
    return Vote(**{"ballot": ballot(number), **said, **parts})


@contextmanager
def opened(
    folder: Path, configuration: dict[str, Any] = CONFIGURATION, **options: Any
) -> Iterator[Ledger]:
    ledger = Ledger(folder, configuration, **options)
    try:
        yield ledger
    finally:
        ledger.close()


def keep(folder: Path, *votes: Vote) -> None:
    async def go() -> None:
        with opened(folder) as ledger:
            await asyncio.gather(*(ledger.keep(key_of(one.ballot), one) for one in votes))

    asyncio.run(go())


def recall(folder: Path, *ballots: Ballot) -> list[Vote | None]:
    async def go() -> list[Vote | None]:
        with opened(folder) as ledger:
            return ledger.recall(ballots, [key_of(one) for one in ballots])

    return asyncio.run(go())


WHOLE = vote(
    outcome=Outcome.REPAIRED,
    verdict=Chosen("Yes", "because, 😀", "add a year", 0.9),
    usage=Usage(2, 30, 7, 4),
    latency=1.25,
    repairs=1,
    distribution=FrozenDict({"Yes": 0.75, "No": 0.25}),
    prompt_hash="ab" * 32,
)


@pytest.mark.parametrize(
    "kept",
    [
        vote(),
        WHOLE,
        vote(
            ballot=ballot(question=Comparison((2, 0, 1))),
            verdict=Compared(1, "so", None, ((1,), (0, 2))),
        ),
        vote(ballot=ballot(question=Comparison((1, 0))), verdict=Compared(None, "equal")),
        vote(ballot=ballot(question=Rating((0.0, 10.0))), verdict=Rated(1 / 3, "so")),
        vote(ballot=ballot(question=Rating()), verdict=Rated(10**60 + 1)),
        vote(outcome=Outcome.UNREADABLE, verdict=None, reason="no option", text="half a pair"),
        vote(outcome=Outcome.ABSTAINED, verdict=None, reason="cannot say"),
        vote(outcome=Outcome.REFUSED, verdict=None, reason="declined", text=None),
    ],
)
def test_a_vote_comes_back_as_it_went_in(tmp_path: Path, kept: Vote) -> None:
    keep(tmp_path, kept)
    (found,) = recall(tmp_path, kept.ballot)
    assert found == kept


_TEXTS = st.one_of(st.none(), st.text(max_size=30))
_VOTES = st.builds(
    lambda option, explanation, text, tokens, latency: vote(
        verdict=Chosen(option, explanation), text=text, usage=Usage(1, tokens, 0), latency=latency
    ),
    *(st.text(min_size=1, max_size=10), _TEXTS, _TEXTS),
    st.one_of(st.integers(0, 2**62), st.floats(0, 1e15).map(float.__round__).map(float)),
    st.one_of(st.integers(0, 9), st.floats(0, 1e9), st.floats(0, 1e-300)),
)


@given(votes=st.lists(_VOTES, min_size=1, max_size=20))
@settings(max_examples=15)
def test_no_vote_that_was_written_is_taken_for_a_damaged_one(votes: list[Vote]) -> None:
    with TemporaryDirectory() as place:
        numbered = [replace(one, ballot=ballot(number)) for number, one in enumerate(votes)]
        keep(Path(place), *numbered)
        found = recall(Path(place), *(one.ballot for one in numbered))
        assert [(one.verdict, one.text, one.usage, one.latency) for one in found if one] == [
            (one.verdict, one.text, one.usage, one.latency) for one in numbered
        ]


def test_half_a_surrogate_pair_is_kept_as_its_escape(tmp_path: Path) -> None:
    keep(tmp_path, vote(text="half \ud83d"))
    (found,) = recall(tmp_path, ballot())
    assert found and found.text == "half \\ud83d"


def test_a_failed_call_is_no_answer_but_stays_on_record(tmp_path: Path) -> None:
    keep(tmp_path, vote(outcome=Outcome.MODEL_ERROR, verdict=None, reason="500"))
    assert recall(tmp_path, ballot()) == [None]
    assert run_info(tmp_path).failed_calls == 1


def test_whatever_cannot_be_written_is_an_error_and_nobody_waits_for_ever(tmp_path: Path) -> None:
    async def go() -> None:
        with opened(tmp_path) as ledger, pytest.raises(RunError, match="then resume the run"):
            await asyncio.wait_for(
                ledger.keep(key_of(ballot()), vote(usage=Usage(1, 2**70, 0))), 60
            )

    asyncio.run(go())


def test_half_characters_in_names_are_kept_too(tmp_path: Path) -> None:
    odd = replace(ballot(), model="m\ud83d")
    keep(tmp_path, Vote(ballot=odd, outcome=Outcome.OK, verdict=Chosen("A\ud83d")))
    (found,) = recall(tmp_path, odd)
    assert found and found.verdict == Chosen("A\\ud83d")


def test_the_last_answer_counts(tmp_path: Path) -> None:
    keep(tmp_path, vote(outcome=Outcome.UNREADABLE, verdict=None))
    keep(tmp_path, vote(verdict=Chosen("No")))
    (found,) = recall(tmp_path, ballot())
    assert found and found.verdict == Chosen("No")


def test_votes_are_found_by_what_was_asked_alone() -> None:
    same = replace(ballot(), instance=Instance({"response": "text 0"}, id="another name"))
    assert key_of(ballot()) == key_of(same)
    others = [
        ballot(1),
        ballot(sample=1),
        ballot(temperature=0.5),
        ballot(seed=1),
        ballot(question=Choice(CRITERIA.option_names, CRITERIA.points, (1, 0))),
        ballot(language="ru"),
        ballot(mode="likelihood"),
        ballot(feedback=True),
        ballot(persona="a lawyer"),
        ballot(question=Comparison((0, 1))),
        ballot(question=Comparison((1, 0))),
        ballot(question=Comparison((0, 1), tie=False)),
        ballot(question=Rating((0.0, 10.0))),
        replace(ballot(), model="n"),
        replace(ballot(), template="aspect"),
        replace(ballot(), criteria=replace(CRITERIA, description="Is there a year?")),
    ]
    assert len({key_of(one) for one in (ballot(), *others)}) == len(others) + 1
    assert key_of(ballot()) != key_of(ballot(), "m@elsewhere")


def test_other_words_of_the_template_ask_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(ballot())
    monkeypatch.setattr("adjudge.core.ledger.key.wording", lambda *asked: "reworded")
    assert key_of(ballot()) != before


# -- configuration -----------------------------------------------------------------


def test_a_changed_configuration_is_refused_and_named(tmp_path: Path) -> None:
    keep(tmp_path, vote())
    changed = {
        "judges": {
            "J": {
                "settings": {"strictness": 5},
                "models": {"m": {}, "n": {}},
                "versions": {"adjudge": "1"},
            }
        }
    }
    with (
        pytest.raises(
            RunError, match=r"strictness: 3 → 5; judges\.J\.models\.n\).*use another folder"
        ),
        opened(tmp_path, changed),
    ):
        pass


def test_versions_may_change_and_order_does_not_matter() -> None:
    now: JsonObject = {
        "judges": {
            "J": {"versions": {"adjudge": "2"}, "models": {"m": {}}, "settings": {"strictness": 3}}
        }
    }
    assert differences(CONFIGURATION, now) == []


def test_a_judge_with_a_full_stop_in_its_name_is_resumed_after_an_upgrade(tmp_path: Path) -> None:
    def made(version: str, strictness: int = 3) -> dict[str, Any]:
        settings = {"settings": {"strictness": strictness}, "versions": {"adjudge": version}}
        return {"judges": {"gpt-4.1 judge v1.0": settings, "versions": settings}}

    async def go(configuration: dict[str, Any]) -> None:
        with opened(tmp_path, configuration):
            pass

    asyncio.run(go(made("0.1.0")))
    asyncio.run(go(made("0.2.0")))
    with pytest.raises(
        RunError,
        match=(
            r"judges\.gpt-4\.1 judge v1\.0\.settings\.strictness: 3 → 4; "
            r"judges\.versions\.settings"
        ),
    ):
        asyncio.run(go(made("0.2.0", 4)))


def test_a_fork_takes_over_what_still_holds(tmp_path: Path) -> None:
    keep(tmp_path / "old", vote())
    changed = {"judges": {"J": {"settings": {"strictness": 5}}}}

    async def go() -> list[Vote | None]:
        with opened(tmp_path / "new", changed, fork_of=tmp_path / "old") as ledger:
            return ledger.recall([ballot(), ballot(1)], [key_of(ballot()), key_of(ballot(1))])

    assert asyncio.run(go()) == [replace(vote(), usage=Usage()), None]  # paid for by the old run
    assert run_info(tmp_path / "new").facts["forked_from"] == str(tmp_path / "old")
    assert recall(tmp_path / "old", ballot()) == [vote()]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_does_not_take_a_new_ledger_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(RunError, match=f"cannot be used: .*{os.strerror(code)}"), opened(tmp_path):
        pass
    monkeypatch.undo()
    keep(tmp_path, vote())
    assert recall(tmp_path, ballot()) == [vote()]


def test_there_is_nothing_to_fork_in_an_empty_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(RunError, match="contains no run to fork"),
        opened(tmp_path / "new", fork_of=tmp_path / "old"),
    ):
        pass


# -- versions of the file ----------------------------------------------------------


def test_an_older_ledger_is_refused_with_what_to_do(tmp_path: Path) -> None:
    keep(tmp_path, vote())
    with connect(tmp_path / FILE) as connection:
        connection.execute("ALTER TABLE judgments DROP COLUMN flags")
        connection.execute(f"PRAGMA user_version = {LAYOUT - 1}")
    said = f"earlier version of adjudge .ledger version {LAYOUT - 1};.*export the run with that"
    with pytest.raises(RunError, match=said), opened(tmp_path):
        pass
    for read in (run_info, lambda folder: list(records_of(folder)), recover):
        with pytest.raises(RunError, match=said):
            read(tmp_path)


def test_a_ledger_whose_tables_lack_a_column_is_damaged(tmp_path: Path) -> None:
    keep(tmp_path, vote())
    with connect(tmp_path / FILE) as connection:
        connection.execute("ALTER TABLE judgments DROP COLUMN flags")
    with pytest.raises(RunError, match="table judgments lacks a column"):
        run_info(tmp_path)


def test_a_newer_ledger_is_not_touched(tmp_path: Path) -> None:
    with connect(tmp_path / FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(RunError, match="newer version of adjudge"), opened(tmp_path):
        pass


# -- what can happen to the file ---------------------------------------------------


def test_a_run_is_gone_on_with_by_one_process_at_a_time(tmp_path: Path) -> None:
    async def go() -> None:
        with (
            opened(tmp_path),
            pytest.raises(RunError, match="under way in another process"),
            opened(tmp_path),
        ):
            pass

    asyncio.run(go())


def test_what_nobody_waits_for_is_on_the_disk_soon_all_the_same(tmp_path: Path) -> None:
    from support.asking import wait_until  # not known where this file is run by itself

    async def scenario() -> bool:
        with opened(tmp_path) as ledger:
            ledger.note_soon("said", "yes")
            with connect(tmp_path / FILE, writable=False) as other:
                found = "SELECT count(*) FROM meta WHERE name = 'said'"
                return await asyncio.to_thread(
                    wait_until, lambda: other.execute(found).fetchone() == (1,)
                )

    assert asyncio.run(scenario())


def test_nothing_is_lost_of_what_came_while_the_ledger_was_locked(tmp_path: Path) -> None:
    """More than is committed at once, handed over bit by bit."""

    async def scenario() -> None:
        with opened(tmp_path) as ledger:
            with connect(tmp_path / FILE) as other:
                other.execute("BEGIN IMMEDIATE")
                kept = []
                for start in range(0, 2500, 500):
                    numbers = range(start, start + 500)
                    kept += [
                        asyncio.ensure_future(ledger.keep(key_of(ballot(number)), vote(number)))
                        for number in numbers
                    ]
                    await asyncio.sleep(0.01)
                other.execute("ROLLBACK")
            await asyncio.gather(*kept)

    asyncio.run(scenario())
    assert run_info(tmp_path).votes == 2500


def test_it_is_read_while_it_is_written(tmp_path: Path) -> None:
    async def go() -> int:
        with opened(tmp_path) as ledger:
            await ledger.keep(key_of(ballot()), vote())
            return run_info(tmp_path).votes

    assert asyncio.run(go()) == 1


def test_a_schema_from_anybody_calls_none_of_our_functions(tmp_path: Path) -> None:
    """A view in a file that somebody sent runs with what SQLite itself vouches for, and nothing
    that we added.
    """
    path = tmp_path / "theirs.sqlite"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(f"CREATE VIEW trap AS SELECT {CHECKSUM_SQL}('anything') AS called")
    for writable in (False, True):
        with connect(path, writable=writable) as opened_by_us:
            assert opened_by_us.execute(f"SELECT {CHECKSUM_SQL}('anything')").fetchone() is not None
            with pytest.raises(sqlite3.OperationalError, match="unsafe use"):
                opened_by_us.execute("SELECT called FROM trap").fetchone()


def test_what_was_handed_over_is_written_also_when_its_event_loop_is_gone(tmp_path: Path) -> None:
    """A program that ends its loop in the middle: nobody is left to be told, and the rest is
    written all the same.
    """
    path = tmp_path / "rows.sqlite"
    add = "INSERT INTO rows VALUES (?)"
    with connect(path) as written, connect(path) as other:
        written.execute("CREATE TABLE rows (number INTEGER)")

        async def hand_over() -> CommitThread:
            writer = CommitThread(written, str)
            other.execute(
                "BEGIN IMMEDIATE"
            )  # so that the commit is still to come when the loop ends
            waiting = writer.write(add, (1,))
            await asyncio.sleep(0.01)
            waiting.cancel()
            writer.put(add, (2,))
            return writer

        writer = asyncio.run(hand_over())
        other.execute("ROLLBACK")
        writer.close()
        assert other.execute("SELECT number FROM rows ORDER BY number").fetchall() == [(1,), (2,)]


class _Leaves(Exception):
    def __str__(self) -> str:
        raise SystemExit


class _Unwritable:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def isascii(self) -> bool:
        raise self._error


@pytest.mark.parametrize(
    "broken",
    [
        vote(1, usage=cast(Usage, None)),
        vote(1, usage=Usage(1, 2**70, 0)),
        vote(1, text=_Unwritable(SystemExit())),
        vote(1, text=_Unwritable(_Leaves())),
    ],
    ids=["no usage", "is too large", "leaves", "says nothing"],
)
def test_a_row_that_cannot_be_written_is_told_to_all_who_wait_and_takes_no_other_along(
    tmp_path: Path, broken: Vote
) -> None:
    async def go() -> None:
        with opened(tmp_path) as ledger:
            ledger.note_soon("ended", "complete")
            waiting = (ledger.keep(key_of(one.ballot), one) for one in (broken, vote(2)))
            kept = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 60)
            assert [type(one) for one in kept] == [RunError, RunError]
            with pytest.raises(
                RunError, match=r"ledger.sqlite: .*contains a value that cannot be stored"
            ):
                await ledger.keep(key_of(ballot(3)), vote(3))

    asyncio.run(go())
    assert recall(tmp_path, ballot(1), ballot(2)) == [None, vote(2)]
    assert "ended" not in run_info(tmp_path).facts


def test_a_vote_is_kept_as_it_was_when_it_was_given(tmp_path: Path) -> None:
    trace = ["one"]

    async def go() -> None:
        with opened(tmp_path) as ledger:
            kept = ledger.keep(key_of(ballot()), vote(metadata=FrozenDict(trace=trace)))
            trace.append("two")
            await kept

    asyncio.run(go())
    (found,) = recall(tmp_path, ballot())
    assert found and found.metadata == {"trace": ["one"]}


def test_a_program_that_locks_the_ledger_is_named_as_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "PATIENCE", 0.2)
    keep(tmp_path, vote(0))

    async def go() -> None:
        with opened(tmp_path) as ledger, connect(tmp_path / FILE) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(RunError, match="locked by another program"):
                await ledger.keep(key_of(ballot(1)), vote(1))
            with pytest.raises(
                RunError, match="another program"
            ):  # and it stays so: nothing is promised after a failure
                await ledger.keep(key_of(ballot(2)), vote(2))

    asyncio.run(go())
    assert recall(tmp_path, ballot(0), ballot(1)) == [vote(0), None]


def test_a_full_disk_is_said_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    """In a process of its own, since the limit on file sizes stays with the
    process that sets it.
    """
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    acknowledged, _, complaint = done.stdout.strip().partition("\n")
    assert "full" in complaint or "disk I/O error" in complaint, done.stdout + done.stderr
    assert int(acknowledged) > 0
    found = recall(tmp_path, *(ballot(number) for number in range(int(acknowledged))))
    assert all(one is not None for one in found)


def _fill_the_disk(folder: Path) -> None:
    import signal

    async def go() -> int:
        kept = 0
        with opened(folder) as ledger:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
            try:
                while True:
                    await ledger.keep(key_of(ballot(kept)), vote(kept, text="x" * 5000))
                    kept += 1
            except RunError as error:
                print(f"{kept}\n{error}")
        return kept

    asyncio.run(go())


@pytest.mark.parametrize("harm", ["truncated", "overwritten", "no database", "empty"])
def test_damage_is_noticed_before_anything_is_asked_and_the_rest_is_saved(
    tmp_path: Path, harm: str
) -> None:
    keep(tmp_path, *(vote(number, text="x" * 2000) for number in range(200)))
    path = tmp_path / FILE
    content = path.read_bytes()
    damaged = {
        "truncated": content[: len(content) * 2 // 3 // 4096 * 4096],
        "overwritten": content[: len(content) - 40 * 4096]
        + b"\x00" * (39 * 4096)
        + content[-4096:],
        "no database": b"this is not a database at all" + content[4096:],
        # seen: it was taken for a new run, and everything was asked again without a word
        "empty": b"",
    }[harm]
    path.write_bytes(damaged)
    model = ScriptedModel()
    with pytest.raises(RunError, match="adjudge runs recover"):
        AspectCritic("c", model).evaluate(["x"], run=tmp_path)
    with pytest.raises(RunError, match="adjudge runs recover"):
        run_info(tmp_path)
    assert model.requests == []
    saved, _ = recover(tmp_path)
    assert path.with_suffix(".damaged").read_bytes() == damaged
    found = [one for one in recall_any(tmp_path) if one is not None]
    assert len(found) == saved
    assert saved == 0 if harm in ("no database", "empty") else saved > 50


def test_a_ledger_whose_making_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    keep(tmp_path / "whole", vote())
    for name in ("ledger.new", "ledger.new-wal"):
        (tmp_path / name).write_bytes((tmp_path / "whole" / FILE).read_bytes()[:5000])
    keep(tmp_path, vote())
    assert recall(tmp_path, ballot()) == recall(tmp_path / "whole", ballot())
    assert {path.name for path in tmp_path.iterdir()} == {FILE, "ledger.lock", "whole"}


@pytest.mark.parametrize(("before", "after"), [(b"because", b"becausd"), (b"Yes", b"Yas")])
def test_a_flipped_bit_in_a_vote_is_noticed_and_the_vote_asked_again(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    keep(tmp_path, vote(0), vote(1))
    path = tmp_path / FILE
    path.write_bytes(
        path.read_bytes().replace(before, after, 1)
    )  # the last row stands first in its page
    with pytest.raises(
        RunError, match=r"checksum mismatch in table votes \(number 2\).*adjudge runs recover"
    ):
        recall(tmp_path, ballot(0))
    assert recover(tmp_path) == (1, 0)
    assert recall(tmp_path, ballot(0), ballot(1)) == [vote(0), None]


def recall_any(folder: Path) -> list[Vote | None]:
    with connect(folder / FILE) as connection:
        connection.execute("DELETE FROM meta WHERE name = 'configuration'")
    return recall(folder, *(ballot(number) for number in range(200)))


def test_a_clock_that_jumps_back_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([2_000_000_000.0, 1_000.0])
    monkeypatch.setattr("adjudge.core.ledger.codec.time.time", lambda: next(moments, 1_000.0))
    keep(tmp_path, vote(outcome=Outcome.UNREADABLE, verdict=None))
    keep(tmp_path, vote(verdict=Chosen("No")))
    (found,) = recall(tmp_path, ballot())
    assert found and found.verdict == Chosen("No")


def test_a_folder_that_cannot_be_used_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file"):
        AspectCritic("c", "scripted").evaluate(["x"], run=tmp_path / "file")


def test_a_run_is_read_where_nothing_can_be_written() -> None:
    """Seen: 'runs show' and 'export' of a run on read-only media said that the file cannot be
    opened.
    """
    with TemporaryDirectory() as place:  # pytest's own folders are closed to others
        folder = Path(place) / "run"
        keep(folder, vote(0), vote(1))
        Path(place).chmod(0o755)
        folder.chmod(0o555)
        try:
            assert _in_a_child_that_is_not_root(lambda: run_info(folder).votes) == 2
        finally:
            folder.chmod(0o755)


def _in_a_child_that_is_not_root(said: Callable[[], int]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of forks beside threads: this one only reads a file
        child = os.fork()
    if child == 0:
        code = 99
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            code = said()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_sqlite_itself_finds_the_ledger_whole(tmp_path: Path) -> None:
    keep(tmp_path, *(vote(number) for number in range(50)))
    assert not (tmp_path / f"{FILE}-wal").exists()
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


if __name__ == "__main__":
    _fill_the_disk(Path(sys.argv[1]))


def test_what_a_dimension_is_called_in_reports_stops_no_older_run() -> None:
    def of(title: str, weight: float) -> dict[str, Any]:
        return {
            "judges": {
                "RagEvaluator": {"dimensions": {"harmfulness": {"title": title, "weight": weight}}}
            }
        }

    assert differences(of("Harmfulness", 1.0), of("Safety", 1.0)) == []
    assert [
        change.path[-1] for change in differences(of("Harmfulness", 1.0), of("Safety", 2.0))
    ] == ["weight"]


@pytest.mark.parametrize("left", ["NULL", "0", "''"])
def test_a_vote_of_a_large_ledger_without_its_key_is_damage_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    keep(tmp_path, vote(0))
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute(
            "PRAGMA writable_schema = ON"
        )  # as a disk damages it: without asking the schema
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'ballot BLOB NOT NULL', 'ballot "
            "BLOB') WHERE name = 'votes'"
        )
        connection.commit()
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute(f"UPDATE votes SET ballot = {left}")
        connection.commit()
    monkeypatch.setattr(file, "_SMALL", 0)
    with pytest.raises(RunError, match="runs recover"):
        recall(tmp_path, ballot())


def test_the_reader_is_held_back_while_the_disk_is_slow_and_not_before(tmp_path: Path) -> None:
    """Thousands of judgments wait in memory for a disk that does not answer, not millions."""
    (result,) = AspectCritic("It is good.", ScriptedModel(["PASS"]), max_repairs=0).evaluate(["x"])

    async def judge(ledger: Ledger, kept: list[int]) -> None:
        for number in range(8000):
            await ledger.keep_judgment("J", number, result, [])
            kept.append(number)

    async def kept_while_locked() -> int:
        kept: list[int] = []
        with opened(tmp_path / "run") as ledger:
            other = sqlite3.connect(tmp_path / "run" / FILE)
            other.execute("BEGIN IMMEDIATE")
            judging = asyncio.create_task(judge(ledger, kept))
            before = -1
            while len(kept) > before:
                before = len(kept)
                await asyncio.sleep(0.3)
            other.rollback()
            other.close()
            await judging
        return before

    assert 1000 < asyncio.run(kept_while_locked()) < 8000
    assert len(list(records_of(tmp_path / "run"))) == 8000
