"""Half files and weights of earlier versions do not stay for ever; those that somebody uses do."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from adjudge.core.aio.files import locked
from adjudge.features.local.weights.leftovers import note_use, seal_of, tidy
from adjudge.features.local.weights.puller import pull

DAY = 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def weights(folder: Path, name: str, days: float) -> Path:
    """Made weights that were last used so many days ago."""
    path = folder / f"tiny.mixed.{name}.safetensors"
    for file in (path, seal_of(path)):
        file.write_bytes(b"{}")
        aged(file, days)
    return path


def aged(file: Path, days: float) -> None:
    os.utime(file, (time.time() - days * DAY,) * 2)


def test_weights_of_an_earlier_version_go_when_nobody_used_them_for_two_weeks(folder: Path) -> None:
    unused, other_version, mine = (
        weights(folder, "unused", 15),
        weights(folder, "other", 13),
        weights(folder, "mine", 20),
    )
    half = folder / "tiny.int8.x.safetensors.1-2.part"
    half.write_bytes(b"half")
    note_use(mine)
    assert [file.exists() for file in (unused, seal_of(unused), half)] == [False] * 3
    assert [
        file.exists() for file in (other_version, seal_of(other_version), mine, seal_of(mine))
    ] == [True] * 4


def test_a_version_that_only_reads_its_weights_keeps_them(folder: Path) -> None:
    read = weights(folder, "read", 30)
    os.utime(read, (time.time(), read.stat().st_mtime))
    tidy(folder)
    assert read.exists()


def test_use_is_noted_once_a_day(folder: Path) -> None:
    mine, unused = weights(folder, "mine", 0.5), weights(folder, "unused", 15)
    before = seal_of(mine).stat().st_mtime_ns
    note_use(mine)
    assert seal_of(mine).stat().st_mtime_ns == before
    assert unused.exists()


def test_nothing_is_removed_while_somebody_pulls(folder: Path) -> None:
    half = folder / "tiny.gguf.1-2.part"
    half.write_bytes(b"half")
    with locked(folder / "lock"):
        tidy(folder)
        assert half.exists()
    tidy(folder)
    assert not half.exists()


def test_a_pull_of_whole_weights_sweeps_half_files_and_finds_damage_that_kept_its_date(
    pulled: Path,
) -> None:
    whole, date = pulled.read_bytes(), pulled.stat()
    half = pulled.with_name("tiny.int8.x.safetensors.1-2.part")
    half.write_bytes(b"half")
    pull("tiny")
    assert not half.exists()
    pulled.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    os.utime(pulled, ns=(date.st_atime_ns, date.st_mtime_ns))
    assert pull("tiny").read_bytes() == whole
