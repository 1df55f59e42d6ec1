"""Locks between processes: whoever holds one is alone."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from adjudge.core.aio.files import locked, write_new
from adjudge.errors import RunError, SetupError


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


def test_a_new_file_is_whole_when_there_is_something_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "new.yaml", list[str]()
    monkeypatch.setattr(os, "fsync", lambda _: read.append(path.read_text()))
    write_new(path, "a: 1\n", "give another name")
    assert [*read, path.read_text()] == ["", "a: 1\n"]
    with pytest.raises(SetupError, match="give another name"):
        write_new(path, "a: 2\n", "give another name")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "a: 1\n"


def test_a_new_file_that_has_no_room_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space"):
        write_new(tmp_path / "new.yaml", "a: 1\n", "give another name")
    assert not [*tmp_path.iterdir()]
