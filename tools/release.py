"""Prepare a release: the version, the section of the changelog, the citation, a commit and a tag.

    make release VERSION=1.2.3

What is built and tried in a clean environment is the business of ``make dist``, which ``make
release`` runs first and last.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = ROOT / "src" / "adjudge" / "version.py"
CHANGELOG = ROOT / "CHANGELOG.md"
CITATION = ROOT / "CITATION.cff"
UNRELEASED = "## Unreleased\n"


def main(version: str) -> None:
    """Write the version and the changelog, then commit and tag them; one that was written and
    committed before is only tagged.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        sys.exit(f"{version!r} is not a version: write 1.2.3 or 1.2.3rc1")
    if git("status", "--porcelain"):
        sys.exit("there are changes that are not committed: commit or stash them first")
    if git("tag", "--list", f"v{version}"):
        sys.exit(f"v{version} is tagged already")
    if not is_written(version):
        write(version)
    git("tag", "--annotate", f"v{version}", "--message", f"adjudge {version}")


def is_written(version: str) -> bool:
    """Whether the version and its section are there, and nothing has come after them."""
    unreleased, _, rest = (
        CHANGELOG.read_text(encoding="utf-8").partition(UNRELEASED)[2].partition("## ")
    )
    return (
        f'__version__ = "{version}"' in VERSION.read_text(encoding="utf-8")
        and not unreleased.strip()
        and rest.startswith(f"{version} (")
    )


def write(version: str) -> None:
    """Write the version wherever it stands, and commit it."""
    CHANGELOG.write_text(released(CHANGELOG.read_text(encoding="utf-8"), version), encoding="utf-8")
    VERSION.write_text(
        re.sub(
            r'__version__ = ".*"', f'__version__ = "{version}"', VERSION.read_text(encoding="utf-8")
        ),
        encoding="utf-8",
    )
    CITATION.write_text(cited(CITATION.read_text(encoding="utf-8"), version), encoding="utf-8")
    git("add", str(VERSION), str(CHANGELOG), str(CITATION))
    git("commit", "--quiet", "--message", f"Release {version}")


def released(changelog: str, version: str) -> str:
    """The changelog with what was unreleased under ``version``, and an empty section for what comes
    next.
    """
    before, heading, after = changelog.partition(UNRELEASED)
    if not heading or not after.partition("\n## ")[0].strip():
        sys.exit(
            f"{CHANGELOG.name} has nothing under '{UNRELEASED.strip()}': say what a user now sees"
        )
    return f"{before}{UNRELEASED}\n## {version} ({datetime.now(UTC):%Y-%m-%d})\n{after}"


def cited(citation: str, version: str) -> str:
    """The citation with the version and the day of its release, in place of earlier ones."""
    kept = re.sub(r"^(version|date-released): .*\n", "", citation, flags=re.MULTILINE)
    return f"{kept}version: {version}\ndate-released: {datetime.now(UTC):%Y-%m-%d}\n"


def git(*args: str) -> str:
    """What git prints."""
    return subprocess.run(
        ["git", *args], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1])
