"""A release is prepared in a repository of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    (tmp_path / "src" / "adjudge").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "release.py", tmp_path / "tools")
    (tmp_path / "src" / "adjudge" / "version.py").write_text(
        '"""A package."""\n\n__version__ = "0.1.0"\n'
    )
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n- It judges.\n\n## 0.1.0 (2026-01-01)\n\n- It began.\n"
    )
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.1.0\nlicense: MIT\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "A. Tester")
    git(tmp_path, "config", "user.email", "tester@example.org")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "All")
    return tmp_path


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def release(folder: Path, version: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(folder / "tools" / "release.py"), version]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_a_release_has_its_version_section_commit_and_tag(repository: Path) -> None:
    done = release(repository, "0.2.0")
    assert done.returncode == 0, done.stderr
    assert '__version__ = "0.2.0"' in (repository / "src" / "adjudge" / "version.py").read_text()
    sections = [
        line
        for line in (repository / "CHANGELOG.md").read_text().splitlines()
        if line.startswith("## ")
    ]
    assert [section.split()[1] for section in sections] == ["Unreleased", "0.2.0", "0.1.0"]
    cited = (repository / "CITATION.cff").read_text()
    assert re.findall(r"^(?:cff-)?version: (.*)", cited, re.MULTILINE) == ["1.2.0", "0.2.0"]
    assert re.search(r"^date-released: \d{4}-\d\d-\d\d$", cited, re.MULTILINE)
    assert git(repository, "tag", "--list").split() == ["v0.2.0"]
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("version", "said"), [("2", "is not a version"), ("v0.2.0", "is not a version")]
)
def test_a_wrong_version_changes_nothing(repository: Path, version: str, said: str) -> None:
    assert said in release(repository, version).stderr
    assert git(repository, "status", "--porcelain") == ""


def test_a_release_that_was_committed_is_only_tagged(repository: Path) -> None:
    assert release(repository, "0.2.0").returncode == 0
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "--delete", "v0.2.0")
    assert release(repository, "0.2.0").returncode == 0
    assert git(repository, "rev-parse", "HEAD", "v0.2.0^{commit}").split() == [head.strip()] * 2


def test_nothing_to_tell_and_unsaved_changes_stop_a_release(repository: Path) -> None:
    assert release(repository, "0.2.0").returncode == 0
    assert "has nothing under" in release(repository, "0.3.0").stderr
    assert "is tagged already" in release(repository, "0.2.0").stderr
    (repository / "CHANGELOG.md").write_text("changed")
    assert "not committed" in release(repository, "0.3.0").stderr
