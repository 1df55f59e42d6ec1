"""An attempt that hangs is ended."""

from __future__ import annotations

import threading
import time

import pytest

from adjudge.domain.message import Reply
from adjudge.errors import Unavailable
from adjudge.gateway.open import open_model
from support.asking import ask, ask_all, open_at, wait_until
from support.fake_provider import HANGS, STALLS, FakeProvider, Fault, always


@pytest.mark.parametrize("fault", [HANGS, STALLS], ids=["hangs", "stalls"])
def test_a_hang_is_ended_and_its_connection_closed(provider: FakeProvider, fault: Fault) -> None:
    provider.faults = always(fault)
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"no reply within 0\.2 s"):
        ask(open_at(provider, timeout=0.2))
    assert 0.2 <= time.monotonic() - began < 60
    assert wait_until(lambda: provider.disconnects == 1), "the server sees that nobody waits any more"


def test_each_attempt_has_the_whole_time(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = always(HANGS)
    with pytest.raises(Unavailable):
        ask(open_at(provider, timeout=0.1, max_retries=2))
    assert len(provider.requests) == 3
    assert wait_until(lambda: provider.disconnects == 3)


def test_waiting_for_a_free_place_is_not_counted(provider: FakeProvider) -> None:
    provider.latency = 0.3
    replies = ask_all(open_at(provider, max_concurrency=1, timeout=3.0), ["REC-00001-Y"] * 12)
    assert all(isinstance(reply, Reply) for reply in replies)


def test_a_function_that_hangs_is_not_waited_for() -> None:
    release = threading.Event()
    with pytest.raises(Unavailable, match=r"no reply within 0\.1 s"):
        ask(open_model(lambda prompt: str(release.wait(120)), timeout=0.1, max_retries=0))
    release.set()


def test_functions_that_hang_keep_no_other_call_waiting() -> None:
    release = threading.Event()

    def sometimes(prompt: str) -> str:
        return str(release.wait(120)) if "hang" in prompt else "PASS"

    model = open_model(sometimes, timeout=1.5, max_retries=0, max_concurrency=2)
    replies = ask_all(model, ["hang", "hang", "hang", "REC-00001-Y", "REC-00002-Y"])
    release.set()
    assert [type(reply) for reply in replies] == [Unavailable] * 3 + [Reply] * 2
