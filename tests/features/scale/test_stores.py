"""What every ledger promises, whoever keeps it: a file of one process, or a store that many
processes share.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from adjudge import Instance, ScriptedModel
from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.ledger.codec import vote_row
from adjudge.core.ledger.ledger import Ledger
from adjudge.errors import OtherConfiguration, RunError, SetupError
from adjudge.features.scale.stores.merger import merge
from adjudge.features.scale.stores.places import Folder
from adjudge.features.scale.stores.segments import SegmentStore
from adjudge.features.scale.stores.shared_ledger import Buffer, SharedLedger
from adjudge.features.scale.stores.store import RowRange, Store, StoredVote, WriterSession
from adjudge.runs.folder import run_info
from support.exported import judgments
from support.stores import STORES, opened

JUDGE = AspectCritic("It is short.", ScriptedModel())
CONFIGURATION = {"judges": {"it": JUDGE.configuration()}}
KEY = b"k" * 16
KILLS = int(os.environ.get("ADJUDGE_KILLS", "1"))


def ballot(text: str = "x") -> Ballot:
    (one,) = JUDGE.plan_all(Instance({"response": text}))
    return one


def vote(text: str = "x", outcome: Outcome = Outcome.OK, reason: str | None = None) -> Vote:
    one = ballot(text)
    verdict = one.question.restore("PASS", "It is.", {}) if outcome is Outcome.OK else None
    return Vote(ballot=one, outcome=outcome, verdict=verdict, reason=reason, text="PASS")


def within(
    store: Store | Path, work: Callable[[Ledger], Awaitable[None]], writer: str = "a"
) -> None:
    """Open the ledger, do the work and close it."""

    async def run() -> None:
        ledger = (
            SharedLedger(store, writer, CONFIGURATION)
            if not isinstance(store, Path)
            else Ledger(store, CONFIGURATION)
        )
        with closing(ledger):
            if isinstance(ledger, SharedLedger):
                ledger.place([(0, 0), (1, 0)])
                await ledger.begin(RowRange(0, 9))
            await work(ledger)

    asyncio.run(run())


def run_folder(store: Store | Path, folder: Path) -> Path:
    """The run, as readers have it."""
    if isinstance(store, Path):
        return store
    merge(store, folder, {})
    return folder


@pytest.fixture(params=["sqlite", *STORES])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store | Path:
    """Each of them, empty."""
    return tmp_path / "sqlite" if request.param == "sqlite" else opened(request.param, tmp_path)


def test_what_was_kept_is_known_to_the_next_process(store: Store | Path) -> None:
    async def keep(ledger: Ledger) -> None:
        assert ledger.recall([ballot()], [KEY]) == [None]
        await ledger.keep(KEY, vote())
        assert [one and one.text for one in ledger.recall([ballot()], [KEY])] == ["PASS"]

    async def know(ledger: Ledger) -> None:
        (found,) = ledger.recall([ballot()], [KEY])
        assert found == vote()

    within(store, keep)
    within(store, know)
    within(store, know) if isinstance(store, Path) else within(store, know, "b")


def test_a_call_that_failed_is_no_answer(store: Store | Path) -> None:
    async def fail(ledger: Ledger) -> None:
        await ledger.keep(KEY, vote(outcome=Outcome.MODEL_ERROR, reason="503"))

    async def know(ledger: Ledger) -> None:
        assert ledger.recall([ballot()], [KEY]) == [None]

    within(store, fail)
    within(store, know)


def test_the_last_vote_on_a_ballot_counts_and_a_judgment_is_there_once(
    store: Store | Path, tmp_path: Path
) -> None:
    async def keep(ledger: Ledger) -> None:
        await ledger.keep(KEY, vote())
        await ledger.keep(KEY, vote(outcome=Outcome.UNREADABLE, reason="no verdict"))
        await ledger.keep_judgment(
            "it", 0, JUDGE.pool(Instance({"response": "x"}), [vote()]), [KEY]
        )
        await ledger.flush()

    within(store, keep)
    within(store, keep)
    found = list(judgments(run_folder(store, tmp_path / "run"), votes=True))
    assert [one["row"] for one in found] == [1]
    assert [one["outcome"] for one in found[0]["votes"]] == ["unreadable"]


def test_a_vote_that_failed_elsewhere_does_not_hide_an_answer(tmp_path: Path) -> None:
    store = SegmentStore(tmp_path / "store")

    async def keep(ledger: Ledger) -> None:
        await ledger.keep(KEY, vote())
        await ledger.keep_judgment(
            "it", 0, JUDGE.pool(Instance({"response": "x"}), [vote()]), [KEY]
        )

    async def fail(ledger: Ledger) -> None:
        await ledger.keep(KEY, vote(outcome=Outcome.MODEL_ERROR, reason="503"))

    within(store, keep)
    within(store, fail, "b")
    (found,) = judgments(run_folder(store, tmp_path / "run"), votes=True)
    assert [one["outcome"] for one in found["votes"]] == ["ok"]


def test_what_a_writer_wrote_is_read_again_only_by_the_next_process_of_its_name(
    store: Store | Path,
) -> None:
    if isinstance(store, Path):
        pytest.skip("one process has one file")
    store.begin(CONFIGURATION)
    session, span, far = (
        WriterSession("a", "0" * 12),
        RowRange(0, 999),
        RowRange(5_000_000, 5_000_999),
    )

    def known(span: RowRange, writer: str, seen: set[str]) -> int:
        return len(list(store.votes(span, writer, seen)))

    store.append(session, span, [record(1), record(2)])
    seen: set[str] = set()
    assert known(far, "a", seen) == 2
    store.append(session, span, [record(3)])
    assert (known(far, "a", seen), known(far, "", set()), known(far, "b", set())) == (0, 0, 0)
    assert (known(span, "a", seen), known(span, "b", set()), known(far, "a", set())) == (1, 3, 3)


def record(number: int) -> StoredVote:
    return StoredVote(vote_row(number, number.to_bytes(16, "big"), vote().record()))


class Listing(Folder):
    """Counts the files that it names."""

    listed = 0

    def paths(self, under: str) -> Iterator[str]:
        for path in super().paths(under):
            self.listed += 1
            yield path


def test_what_is_listed_does_not_grow_with_the_segments(tmp_path: Path) -> None:
    folder = Listing(tmp_path / "store")
    store = SegmentStore(folder)
    store.begin(CONFIGURATION)
    for number in range(60):
        store.append(
            WriterSession("a", "0" * 12),
            RowRange(1000 * number, 1000 * number + 999),
            [record(number)],
        )
    wide = RowRange(100, 9000)
    store.append(WriterSession("b", "1" * 12), wide, [record(60)])
    for number in range(60):
        folder.listed = 0
        found = list(store.votes(RowRange(1000 * number, 1000 * number + 999), "", set()))
        assert len(found) == (2 if number < 10 else 1)
        assert folder.listed <= 5
    assert len(list(store.votes(RowRange(0, 10**9), "", set()))) == 61


def test_segments_of_an_earlier_version_are_known(tmp_path: Path) -> None:
    store = SegmentStore(tmp_path / "store")
    store.begin(CONFIGURATION)
    store.append(WriterSession("a", "0" * 12), RowRange(0, 999), [record(1)])
    (segment,) = (tmp_path / "store").rglob("*.gz")
    (tmp_path / "store" / "segments" / "a").mkdir(parents=True)
    segment.rename(tmp_path / "store" / "segments" / "a" / segment.name)
    assert len(list(store.votes(RowRange(5, 5), "b", {"b"}))) == len(list(store.records())) == 1
    store.clear()
    assert not (tmp_path / "store").exists()


def test_another_configuration_is_refused(store: Store | Path) -> None:
    async def nothing(ledger: Ledger) -> None:
        await ledger.flush()

    within(store, nothing)
    other = {"judges": {"it": AspectCritic("It is long.", ScriptedModel()).configuration()}}

    async def run() -> None:
        with closing(
            Ledger(store, other) if isinstance(store, Path) else SharedLedger(store, "a", other)
        ):
            pass

    with pytest.raises(OtherConfiguration, match="another configuration"):
        asyncio.run(run())


def test_the_accounts_of_all_processes_are_added_up(tmp_path: Path) -> None:
    store = SegmentStore(tmp_path / "store")

    async def spend(ledger: Ledger) -> None:
        account: JsonDict = {
            "used": {"m": [2, 10, 3, 0, 0]},
            "failed": 1,
            "lost": [0, 0, 0.0, 0],
            "leased": 5,
            "each": [1, 6, 0.0, 1],
        }
        await ledger.note("spending", account)

    within(store, spend)
    within(store, spend, "b")
    account = merge(store, tmp_path / "run", {}).account
    assert (account.used["m"].calls, account.failed, account.lost.calls) == (4, 2, 4)
    assert object_in(run_info(tmp_path / "run").facts["spending"])["leased"] == 10


@pytest.mark.parametrize("strict", [True, False])
def test_a_killed_process_loses_no_more_than_its_buffer(tmp_path: Path, strict: bool) -> None:
    """The process says a number when a vote is kept; all it said is in the store, but for what its
    buffer may hold.
    """
    bound = 0 if strict else 10
    for kill in range(KILLS):
        folder = tmp_path / f"{kill}"
        code = (
            f"from support.stores import keep_for_ever; keep_for_ever({str(folder)!r}, "
            f"{1 if strict else bound})"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        assert child.stdout is not None
        said = [int(child.stdout.readline()) for _ in range(15 + 7 * kill)]
        child.send_signal(signal.SIGKILL)
        said += map(int, child.stdout.read().splitlines())
        child.wait()
        child.stdout.close()
        kept = merge(SegmentStore(folder), folder / "run", {}).votes
        assert max(said) - bound <= kept


def test_a_buffer_is_written_when_it_is_full_or_old(tmp_path: Path) -> None:
    store = SegmentStore(tmp_path / "store")

    async def run() -> None:
        with closing(SharedLedger(store, "full", CONFIGURATION, Buffer(3, 3600))) as ledger:
            for number in range(3):
                await ledger.keep(bytes([number]) * 16, vote())
            assert len(list(store.records())) == 3
        with closing(SharedLedger(store, "old", CONFIGURATION, Buffer(3, 0.01))) as ledger:
            await ledger.keep(KEY, vote())
            while len(list(store.records())) < 4:
                await asyncio.sleep(0.001)

    asyncio.run(run())


def test_a_store_in_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    """Seen: an OSError of the library, with a traceback."""
    pytest.importorskip("obstore", reason="needs obstore: make test-scale")
    with pytest.raises(
        SetupError, match=rf"cannot be used: create the folder {tmp_path}/absent first"
    ):
        SegmentStore(f"file://{tmp_path}/absent")


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "access is denied: check the credentials in the environment"),
        (404, "NoSuchBucket", "there is no such bucket"),
        (301, "PermanentRedirect", "the bucket is in another region: set AWS_REGION"),
    ],
)
def test_a_bucket_that_cannot_be_read_is_said(
    monkeypatch: pytest.MonkeyPatch, status: int, code: str, words: str
) -> None:
    pytest.importorskip("obstore", reason="needs obstore: make test-scale")

    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = (
                f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no</Message></Error>'
            ).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        keys = {
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_REGION": "us-east-1",
        }
        for name, value in keys.items():
            monkeypatch.setenv(name, value)
        store = SegmentStore("s3://bucket/run")
        for look in (lambda: store.begin({}), store.begun_with, lambda: list(store.records())):
            with pytest.raises(
                RunError, match=f"the store s3://bucket/run cannot be used: {words}"
            ):
                look()
        server.shutdown()
