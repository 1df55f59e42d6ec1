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


def release(folder: Path, version: str, *steps: str) -> subprocess.CompletedProcess[str]:
    for step in steps or ("write", "tag"):
        command = [sys.executable, "-B", str(folder / "tools" / "release.py"), step, version]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            break
    return done


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
    ("version", "said"),
    [("", "VERSION=1.2.3"), ("2", "is not a version"), ("v0.2.0", "is not a version")],
)
def test_a_wrong_version_changes_nothing(repository: Path, version: str, said: str) -> None:
    assert said in release(repository, version).stderr
    assert git(repository, "status", "--porcelain") == ""


def test_what_was_mended_between_is_tagged_under_one_section(repository: Path) -> None:
    assert "is not written yet" in release(repository, "0.2.0", "tag").stderr
    assert release(repository, "0.2.0", "write").returncode == 0
    assert git(repository, "tag", "--list") == ""
    changelog = repository / "CHANGELOG.md"
    text = changelog.read_text()
    changelog.write_text(text.replace("## Unreleased\n", "## Unreleased\n\n- Mended.\n"))
    git(repository, "commit", "--quiet", "--all", "--message", "Mended")
    assert "has a section 0.2.0 already" in release(repository, "0.2.0").stderr
    changelog.write_text(text.replace("- It judges.", "- It judges.\n- Mended."))
    git(repository, "commit", "--quiet", "--all", "--message", "In its section")
    head = git(repository, "rev-parse", "HEAD")
    assert release(repository, "0.2.0").returncode == 0
    assert git(repository, "rev-parse", "HEAD", "v0.2.0^{commit}").split() == [head.strip()] * 2
    assert changelog.read_text().count("## 0.2.0 (") == 1


def test_nothing_to_tell_and_unsaved_changes_stop_a_release(repository: Path) -> None:
    assert release(repository, "0.2.0").returncode == 0
    assert "has nothing under" in release(repository, "0.3.0").stderr
    assert "is tagged already" in release(repository, "0.2.0").stderr
    (repository / "CHANGELOG.md").write_text("changed")
    assert "not committed" in release(repository, "0.3.0").stderr


def test_where_git_does_not_know_who_commits_nothing_is_written(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "config", "user.useConfigOnly", "true")
    git(repository, "config", "--unset", "user.email")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.delenv("EMAIL", raising=False)
    monkeypatch.delenv("GIT_COMMITTER_EMAIL", raising=False)
    done = release(repository, "0.2.0")
    assert done.returncode and "user.email" in done.stderr and "Traceback" not in done.stderr
    assert git(repository, "status", "--porcelain") == ""
