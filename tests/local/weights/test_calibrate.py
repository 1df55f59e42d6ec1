"""The measurement that chooses a format, and the count of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_gguf import tiny_model

from adjudge.errors import SetupError
from adjudge.local.weights import calibrate
from adjudge.local.weights.calibrate import Speeds, import_xllamacpp, measure, threads


def test_both_formats_are_run_and_nothing_is_left(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    weights, scratch = tmp_path / "tiny.gguf", tmp_path / "scratch"
    weights.write_bytes(tiny_model())
    scratch.mkdir()
    speeds = measure(weights, scratch)
    assert min(speeds.downloaded, speeds.f16) > 100
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(("f16", "wins"), [(50, False), (100, False), (105, False), (111, True), (170, True)])
def test_f16_has_to_be_worth_its_size(f16: float, wins: bool) -> None:
    assert Speeds(100, f16).f16_wins is wins


def test_weights_that_do_not_load_are_a_setup_error(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    weights = tmp_path / "odd.gguf"
    weights.write_bytes(tiny_model().replace(b"llama", b"lumma"))
    with pytest.raises(SetupError, match="could not be loaded"):
        measure(weights, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["odd.gguf"]


def test_a_missing_library_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(SetupError, match=r"pip install 'adjudge\[local\]'"):
        import_xllamacpp()


def test_a_library_that_lacks_the_systems_part_names_the_package(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    code = "from adjudge.local.weights.calibrate import import_xllamacpp; import_xllamacpp()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "SetupError: xllamacpp cannot be loaded (libgomp.so.1" in done.stderr
    assert "apt install libgomp1" in done.stderr


def test_threads_follow_the_cpus_a_process_may_use() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system does not bind processes to CPUs")
    assert 1 <= threads() <= len(os.sched_getaffinity(0))
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from adjudge.local.weights.calibrate import threads; print(threads())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


MACHINES = {
    "eight cores": ({}, "", 8),
    "hyper-threads": ({cpu: f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)}, "", 4),
    "container without a limit": ({}, "max 100000", 8),
    "container with two CPUs": ({}, "200000 100000", 2),
    "container with a part of one": ({}, "50000 100000", 1),
    "container with one and a half": ({}, "150000 100000", 2),
}


@pytest.mark.parametrize(("siblings", "quota", "expected"), MACHINES.values(), ids=MACHINES)
def test_threads_on_other_machines(monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str], quota: str, expected: int) -> None:
    files = {f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": text for cpu, text in siblings.items()}
    files["/sys/fs/cgroup/cpu.max"] = quota
    monkeypatch.setattr(calibrate, "_allowed_cpus", lambda: list(range(8)))
    monkeypatch.setattr(calibrate, "_read", lambda path: files.get(str(path), ""))
    assert threads() == expected
