"""Stores of a shared run, for the tests that every one of them must pass."""

from __future__ import annotations

import asyncio
import atexit
import hmac
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from base64 import b64decode, b64encode
from contextlib import closing, suppress
from email.utils import formatdate
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest

from adjudge import AspectCritic, Instance, ScriptedModel
from adjudge.core.domain.vote import Outcome, Vote
from adjudge.features.scale.stores.segments import SegmentStore
from adjudge.features.scale.stores.shared_ledger import Buffer, SharedLedger
from adjudge.features.scale.stores.store import RowRange, Store

STORES = ["segments", "objects", "s3", "gs", "az", "postgres"]
_RUNS = count(1)


def opened(kind: str, folder: Path) -> Store:
    """An empty one."""
    if kind == "segments":
        return SegmentStore(folder / "store")
    if kind == "objects":
        pytest.importorskip("obstore", reason="needs obstore: make test-scale")
        (folder / "objects").mkdir()
        return SegmentStore(f"file://{folder}/objects")
    if kind in _SERVERS:
        return SegmentStore(f"{bucket(kind)}/run-{next(_RUNS)}")
    from adjudge.features.scale.stores.postgres import PostgresStore

    return PostgresStore(f"{postgres_server()}#run-{next(_RUNS)}")


@cache
def bucket(scheme: str = "s3") -> str:
    """A bucket on a server of its own that speaks S3, Google's or Azure's API; the test is skipped
    where there is none.
    """
    if not os.environ.get("ADJUDGE_SCALE"):
        pytest.skip("starts a storage server: make test-engines")
    if find_spec("obstore") is None:
        pytest.skip("needs obstore: make test-engines")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command, settings, create = _SERVERS[scheme](port, address)
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(server.kill)
    os.environ.update(settings)
    for _ in range(600):
        with suppress(OSError):
            urllib.request.urlopen(create, timeout=10).close()
            return f"{scheme}://adjudge"
        assert server.poll() is None, f"the server of {scheme}:// did not start"
        time.sleep(0.1)
    raise AssertionError(f"the server of {scheme}:// does not answer")


class StorageServer(NamedTuple):
    command: list[str]
    settings: dict[str, str]
    """Environment variables by which clients find it."""
    create: urllib.request.Request
    """Makes the bucket."""


def _s3(port: int, address: str) -> StorageServer:
    if find_spec("moto") is None:
        pytest.skip("needs moto[server]: make test-engines")
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    return StorageServer(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        {**keys, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"},
        urllib.request.Request(f"{address}/adjudge", method="PUT"),
    )


def _google(port: int, address: str) -> StorageServer:
    if find_spec("moto") is None:
        pytest.skip("needs moto[server]: make test-engines")
    account = Path(mkdtemp(prefix="adjudge-google-")) / "account.json"
    nobody = {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
    account.write_text(json.dumps({**nobody, "gcs_base_url": address}))
    return StorageServer(
        [sys.executable, str(Path(__file__).with_name("google_storage.py")), str(port)],
        {"GOOGLE_SERVICE_ACCOUNT": str(account)},
        urllib.request.Request(f"{address}/adjudge", method="PUT"),
    )


def _azure(port: int, address: str) -> StorageServer:
    """The request is signed as that API wants it, with the key that every Azurite has."""
    program = shutil.which(
        "azurite-blob", path=f"{sys.prefix}/node_modules/.bin:{os.environ['PATH']}"
    )
    if program is None:
        pytest.skip("needs azurite, which make test-engines installs where npm is")
    user = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    said = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = [f"{name}:{value}" for name, value in said.items()]
    text = "\n".join(["PUT", *[""] * 11, *lines, f"/{user}/{user}/adjudge", "restype:container"])
    signature = b64encode(hmac.digest(b64decode(key), text.encode(), "sha256")).decode()
    headers = {**said, "Authorization": f"SharedKey {user}:{signature}", "Content-Length": "0"}
    wanted = f"{address}/{user}/adjudge?restype=container"
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    return StorageServer(
        [program, *options, "--inMemoryPersistence", "--skipApiVersionCheck"],
        {
            "AZURE_STORAGE_ACCOUNT_NAME": user,
            "AZURE_STORAGE_ACCOUNT_KEY": key,
            "AZURE_ENDPOINT": f"{address}/{user}",
            "AZURE_ALLOW_HTTP": "true",
        },
        urllib.request.Request(wanted, method="PUT", headers=headers),
    )


_SERVERS = {"s3": _s3, "gs": _google, "az": _azure}


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
