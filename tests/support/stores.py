"""Stores of a shared run, for the tests that every one of them must pass."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pytest

from adjudge import AspectCritic, Instance, ScriptedModel
from adjudge.domain.vote import Outcome, Vote
from adjudge.ledger.stores.segments import SegmentStore
from adjudge.ledger.stores.shared import Buffer, SharedLedger
from adjudge.ledger.stores.store import RowRange, Store

STORES = ["segments", "objects", "s3", "postgres"]
_RUNS = count(1)


def opened(kind: str, folder: Path) -> Store:
    """An empty one."""
    if kind == "segments":
        return SegmentStore(folder / "store")
    if kind == "objects":
        pytest.importorskip("obstore", reason="needs obstore: make test-scale")
        (folder / "objects").mkdir()
        return SegmentStore(f"file://{folder}/objects")
    if kind == "s3":
        return SegmentStore(f"{bucket()}/run-{next(_RUNS)}")
    from adjudge.ledger.stores.postgres import PostgresStore

    return PostgresStore(f"{postgres_server()}#run-{next(_RUNS)}")


@cache
def bucket() -> str:
    """A bucket on a server of its own that speaks S3; the test is skipped where there is none."""
    if not os.environ.get("ADJUDGE_SCALE"):
        pytest.skip("starts an S3 server: make test-scale")
    if find_spec("obstore") is None or find_spec("moto") is None:
        pytest.skip("needs obstore and moto[server]: make test-scale")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(server.kill)
    address = f"http://127.0.0.1:{port}"
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    os.environ.update(keys, AWS_ENDPOINT_URL=address, AWS_ALLOW_HTTP="true")
    for _ in range(600):
        with suppress(OSError):
            urllib.request.urlopen(
                urllib.request.Request(f"{address}/adjudge", method="PUT"), timeout=10
            ).close()
            return "s3://adjudge"
        assert server.poll() is None, "the S3 server did not start"
        time.sleep(0.1)
    raise AssertionError("the S3 server does not answer")


@cache
def postgres_server() -> str:
    """The address of a real server that ends with this process; the test is skipped where there is
    none.
    """
    if not os.environ.get("ADJUDGE_SCALE"):
        pytest.skip("starts a Postgres server: make test-scale")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs or find_spec("psycopg") is None:
        pytest.skip("needs psycopg and the distribution's Postgres: apt-get install postgresql")
    folder, user = (
        Path(mkdtemp(prefix="adjudge-postgres-")),
        "postgres" if os.geteuid() == 0 else None,
    )
    if user:
        shutil.chown(folder, user)
    data, bin = folder / "data", programs[-1].parent
    subprocess.run(
        [bin / "initdb", "-A", "trust", "-U", "adjudge", "-D", data],
        check=True,
        user=user,
        stdout=subprocess.DEVNULL,
    )
    command: list[str | Path] = [
        bin / "postgres",
        "-D",
        data,
        "-k",
        folder,
        "-c",
        "listen_addresses=",
    ]
    server = subprocess.Popen(command, user=user, stderr=subprocess.DEVNULL, cwd=folder)
    atexit.register(_end, server, folder)
    while not (folder / ".s.PGSQL.5432").exists():
        assert server.poll() is None, "Postgres did not start"
        time.sleep(0.05)
    return f"postgresql:///postgres?host={folder}&user=adjudge"


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.send_signal(signal.SIGINT)
    server.wait()
    shutil.rmtree(folder)


def keep_for_ever(folder: str, records: int) -> None:
    """Keep vote after vote, and say each time how many are kept."""
    asyncio.run(_keep(SegmentStore(folder), records))


async def _keep(store: Store, records: int) -> None:
    with closing(SharedLedger(store, "a", {"judges": {}}, Buffer(records, 60))) as ledger:
        await ledger.begin(RowRange(0, 9))
        number, (ballot,) = (
            0,
            AspectCritic("It is short.", ScriptedModel()).plan_all(Instance({"response": "x"})),
        )
        while True:
            number += 1
            await ledger.keep(
                number.to_bytes(16, "big"),
                Vote(ballot=ballot, outcome=Outcome.UNREADABLE, text="?"),
            )
            os.write(1, f"{number}\n".encode())
