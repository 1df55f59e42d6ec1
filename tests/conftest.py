"""What tests of every part may use."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from adjudge.core.aio.files import cache_folder
from adjudge.errors import SetupError
from adjudge.features.local.libraries import import_numpy
from support.disk import wait_for_no_disk
from support.fake_batches import BatchProvider
from support.fake_provider import FakeProvider

EXAMPLES = int(os.environ.get("ADJUDGE_EXAMPLES", "12"))
"""Of each property that does not say how many; a thousand under ``make test-properties``."""
settings.register_profile(
    "repeatable",
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
wait_for_no_disk()
with suppress(SetupError):  # it is not installed
    import_numpy()  # with one thread, as commands do; openpyxl would load it with as many as cores
os.environ["LC_ALL"] = "C.UTF-8"  # errors are in the language of whoever runs the tests
gc.disable()  # until all tests are collected
gc.set_threshold(50_000, 20, 20)  # what holds much memory is let go behind every module


@pytest.hookimpl(optionalhook=True)  # neighbours are tested without xdist
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a third of the time tests wait for sockets and processes."""
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    return len(allowed(0)) + 1


def pytest_collection_finish() -> None:
    """Eleven thousand tests stay until the end: they need not be looked through for garbage again
    and again.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _no_garbage_stays() -> Iterator[None]:
    """Few objects may hold much memory: closed ledgers and servers that wait for the collector.
    What is left then was loaded to stay, and is not looked through again.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _environment_stays() -> Iterator[None]:
    """Restore variables that a test set, such as those of a ``.env`` that was read in this process:
    a key must not reach the tests after it.
    """
    before = dict(os.environ)
    yield
    added = os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}
    for name in added:
        del os.environ[name]
    for name, value in before.items():
        if name != "PYTEST_CURRENT_TEST" and os.environ.get(name) != value:
            os.environ[name] = value


@pytest.fixture(autouse=True, scope="session")
def _interrupts_arrive() -> None:
    """Also where the tests are started in the background, with interrupts ignored: what they start
    must hear them.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test leaves replies in the user's cache; the weights that lie there are used."""
    folder = tmp_path_factory.mktemp("cache")
    weights = cache_folder() / "weights"
    with suppress(OSError):  # where none can be kept, the tests that need some say so
        weights.mkdir(parents=True, exist_ok=True)
    (folder / "weights").symlink_to(weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADJUDGE_CACHE", str(folder))
        # nor does one trust a folder in the user's name. What most tests write is the user's own;
        # those about files of others unset it: see ``untrusting``
        patch.setenv("ADJUDGE_STATE", str(tmp_path_factory.mktemp("state")))
        patch.setenv("ADJUDGE_TRUST", "1")
        yield


@pytest.fixture
def untrusting(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files are trusted as a user who has trusted none trusts them; returns where that is kept."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.delenv("ADJUDGE_TRUST", raising=False)
    monkeypatch.setenv("ADJUDGE_STATE", str(folder))
    monkeypatch.setattr("adjudge.runs.trusted_folders._allowed", set())
    return folder


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A server that speaks every provider's protocol."""
    with FakeProvider() as running:
        monkeypatch.setenv("WATSONX_PROJECT_ID", "project-1")
        monkeypatch.setenv("WATSONX_IAM_URL", running.token_url)
        yield running


@pytest.fixture
def fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries that wait milliseconds."""
    monkeypatch.setattr("adjudge.core.gateway.layers.retry._FIRST_WAIT", 0.002)


@pytest.fixture
def batches(fast_retries: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchProvider]:
    """A server that takes batches; one that is not listed is looked for again at once."""
    monkeypatch.setattr("adjudge.features.batches.sender._FIRST_SEARCH", 0.002)
    with BatchProvider() as running:
        yield running
