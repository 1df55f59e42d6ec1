"""The libraries that run local models: what is said where one is missing, and
the count of threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.errors import SetupError
from adjudge.features.local import libraries
from adjudge.features.local.libraries import import_onnxruntime, import_xllamacpp, threads


@pytest.mark.parametrize(
    ("missing", "extra"), [("xllamacpp", "gguf"), ("onnxruntime", "local"), ("numpy", "local")]
)
def test_a_missing_library_names_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, missing: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SetupError, match=rf"need.* {missing}: pip install 'adjudge\[{extra}\]'"):
        import_xllamacpp() if extra == "gguf" else import_onnxruntime()


def test_a_library_that_lacks_the_systems_part_names_the_package(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text(
        "raise ImportError('libgomp.so.1: cannot open shared object file')"
    )
    code = "from adjudge.features.local.libraries import import_xllamacpp; import_xllamacpp()"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "SetupError: xllamacpp cannot be loaded (libgomp.so.1" in done.stderr
    assert "apt install libgomp1" in done.stderr


@pytest.mark.parametrize(
    ("given", "seen"), [({}, "1 None"), ({"OPENBLAS_NUM_THREADS": "2"}, "2 2")]
)
def test_numpy_gets_one_thread_unless_the_user_says_otherwise(
    tmp_path: Path, given: dict[str, str], seen: str
) -> None:
    (tmp_path / "numpy.py").write_text("import os; seen = os.environ.get('OPENBLAS_NUM_THREADS')")
    (tmp_path / "onnxruntime.py").write_text("")
    code = (
        "from adjudge.features.local.libraries import import_onnxruntime as load; import os; "
        "load(); import numpy\n"
    )
    code += "print(numpy.seen, os.environ.get('OPENBLAS_NUM_THREADS'))"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {
        name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"
    }
    environment |= {"PYTHONPATH": path, **given}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{seen}\n", done.stderr


def test_the_runtime_of_the_embedded_model_keeps_and_sends_nothing_about_its_use(
    tmp_path: Path,
) -> None:
    pytest.importorskip("onnxruntime", reason="the extra adjudge[local] is not installed")
    code = (
        "from adjudge.features.local.libraries import import_onnxruntime as load; "
        "load().SessionOptions()"
    )
    silenced = ("CI", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in silenced}
    subprocess.run([sys.executable, "-c", code], env={**kept, "HOME": str(tmp_path)}, check=True)
    assert not list(tmp_path.iterdir())


def test_threads_follow_the_cpus_a_process_may_use() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system does not bind processes to CPUs")
    assert 1 <= threads() <= len(os.sched_getaffinity(0))
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from adjudge.features.local.libraries import threads; print(threads())"
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
def test_threads_on_other_machines(
    monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str], quota: str, expected: int
) -> None:
    files = {
        f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": text
        for cpu, text in siblings.items()
    }
    files["/sys/fs/cgroup/cpu.max"] = quota
    monkeypatch.setattr(libraries, "_allowed_cpus", lambda: list(range(8)))
    monkeypatch.setattr(libraries, "_read", lambda path: files.get(str(path), ""))
    assert threads() == expected
