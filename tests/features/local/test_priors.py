"""Priors on disk: what was kept comes back, and what is damaged is not believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.features.local.priors import PriorsOnDisk

KEY = "ab" * 32
PRIORS = PriorsOnDisk("weights")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path))
    return tmp_path


def test_what_was_kept_comes_back() -> None:
    assert PRIORS.read(KEY, ["Yes", "No"]) is None
    PRIORS.keep(KEY, {"Yes": -0.25, "No": -1.5})
    assert PRIORS.read(KEY, ["Yes", "No"]) == {"Yes": -0.25, "No": -1.5}
    assert PRIORS.read("cd" * 32, ["Yes", "No"]) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"Yes": -1}',
        '{"Yes": "x", "No": -1}',
        '{"Yes": NaN, "No": -1}',
        '{"Yes": 500, "No": -1}',
    ],
)
def test_what_is_damaged_is_asked_again(folder: Path, content: str) -> None:
    PRIORS.keep(KEY, {"Yes": -0.25, "No": -1.5})
    (path,) = folder.rglob("*.json")
    path.write_text(content)
    assert PRIORS.read(KEY, ["Yes", "No"]) is None


def test_a_folder_that_cannot_be_written_is_no_failure(folder: Path) -> None:
    (folder / "priors").write_text("a file where the folder should be")
    PRIORS.keep(KEY, {"Yes": -0.25, "No": -1.5})
    assert PRIORS.read(KEY, ["Yes", "No"]) is None
