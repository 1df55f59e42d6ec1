"""Locks between processes: whoever holds one is alone."""

from __future__ import annotations

import threading
from pathlib import Path

from adjudge.aio.files import locked


def test_who_waited_for_a_lock_whose_file_went_holds_the_one_that_all_see(tmp_path: Path) -> None:
    path, waits, held, done = tmp_path / "lock", *(threading.Event() for _ in range(3))

    def wait_for_it() -> None:
        with locked(path, when_waiting=waits.set):
            held.set()
            done.wait(20)

    waiting = threading.Thread(target=wait_for_it)
    with locked(path):
        waiting.start()
        assert waits.wait(20)
        path.unlink()  # as who deletes a run does
    assert held.wait(20)
    with locked(path, wait=False) as also_held:
        assert not also_held
    done.set()
    waiting.join()


def test_a_lock_file_that_does_not_stay_is_gone_when_its_holder_is(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, stays=False), locked(path, wait=False, stays=False) as also_held:
        assert not also_held
    assert not path.exists()
