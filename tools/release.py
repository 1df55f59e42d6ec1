"""Prepare a release: the version, the section of the changelog, the citation, a commit and a tag.

    make release VERSION=1.2.3

writes the version first (``write``), so that what is checked, tested and built is what is
published, and tags it last (``tag``). Where something fails between, mend it, commit, and give the
same command: what was written is not written again.
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


def main(step: str, version: str) -> None:
    """Write the version, unless it is written and committed already; or tag it."""
    check(version)
    if step == "tag":
        if not is_written(version):
            sys.exit(f"{version} is not written yet: make release VERSION={version}")
        git("tag", "--annotate", f"v{version}", "--message", f"adjudge {version}")
    elif not is_written(version):
        write(version)


def check(version: str) -> None:
    """Stop where a release of this version cannot come out well."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        sys.exit(f"{version!r} is not a version: make release VERSION=1.2.3, or 1.2.3rc1")
    if git("status", "--porcelain"):
        sys.exit("there are changes that are not committed: commit or stash them first")
    if git("tag", "--list", f"v{version}"):
        sys.exit(f"v{version} is tagged already: give the next version")
    git("var", "GIT_COMMITTER_IDENT")


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
    if f"\n## {version} (" in changelog:
        sys.exit(
            f"{CHANGELOG.name} has a section {version} already: move what is under "
            f"'{UNRELEASED.strip()}' into it, and commit that"
        )
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
    """What git prints; where it fails, what it says ends the release."""
    done = subprocess.run(["git", *args], cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {args[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
