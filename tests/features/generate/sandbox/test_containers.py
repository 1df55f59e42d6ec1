"""How containers are started, and that none is left: a program in the place of docker and podman
notes what it is told.
"""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from walls import WORKING

from adjudge.errors import Crashed, Timeout
from adjudge.features.generate.sandbox.base import Limits
from adjudge.features.generate.sandbox.container import Container

NOTES = """#!/bin/sh
echo "$@" >> {log}
[ "$1" = run ] && {then}
exit 0
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a docker whose containers never start, and a podman whose containers end at once, were
    told, a line each.
    """
    for name, then in (("docker", "exec sleep 60"), ("podman", "exit 3")):
        program = tmp_path / name
        program.write_text(NOTES.format(log=tmp_path / "log", then=then), encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "log"


def told(name: str, log: Path) -> list[list[str]]:
    with pytest.raises(Timeout if name == "docker" else Crashed):
        asyncio.run(Container(name).run("output = 1", limits=Limits(wall=3, file_mb=2)))
    return [line.split() for line in log.read_text(encoding="utf-8").splitlines()]


def test_podman_makes_no_folders_that_nobody_measures_and_says_which_process_it_is(
    log: Path,
) -> None:
    start = told("podman", log)[0]
    assert "--read-only" in start
    assert "--read-only-tmpfs=false" in start
    assert any(part.startswith("--pidfile=") for part in start)
    assert "--tmpfs=/scratch:rw,nosuid,nodev,noexec,size=8m,mode=1777" in start


def test_docker_limits_the_number_of_files_itself_and_what_hung_at_its_start_is_removed(
    log: Path,
) -> None:
    """First at once, then when nobody starts it any more."""
    start, first_stop, *rest = told("docker", log)
    container = next(part.removeprefix("--name=") for part in start if part.startswith("--name="))
    assert first_stop == ["kill", container]
    assert rest[-2:] == [["kill", container], ["rm", "--force", container]]
    assert "--tmpfs=/scratch:rw,nosuid,nodev,noexec,size=8m,mode=1777,nr_inodes=10000" in start
    assert not [part for part in start if "read-only-tmpfs" in part or "pidfile" in part]


@pytest.mark.parametrize("wall", [0.05, 0.15, 0.3, 0.6])
def test_no_container_of_podman_is_left_whenever_the_time_is_over(wall: float) -> None:
    if "podman" not in WORKING:
        pytest.skip(f"podman does not work here: {WORKING.why('podman')}")
    with pytest.raises(Timeout):
        asyncio.run(
            Container("podman").run("import time; time.sleep(60)", limits=Limits(wall=wall))
        )
    left = subprocess.run(
        ["podman", "ps", "--all", "--format={{.Names}}"], capture_output=True, text=True, check=True
    ).stdout
    assert "adjudge-" not in left
