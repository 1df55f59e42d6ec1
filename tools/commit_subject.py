"""Check the subjects of commits: imperative, at most 72 characters.

python tools/commit_subject.py .git/COMMIT_EDITMSG     # the commit-msg hook
python tools/commit_subject.py --range origin/main..HEAD
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

MOST = 72
_MADE_BY_GIT = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ")
_FIRST_WORD = re.compile(r"[A-Z][a-z]+(?=[ -])")
_NOT_IMPERATIVE = re.compile(r"(?:[a-z]{2}ed|[a-z]{2}ing|[^s]s)$")
_VERBS = {"Bring", "Embed", "Exceed", "Feed", "Need", "Seed", "Speed", "Spring", "String", "Alias"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?", help="the message that is about to be used")
    parser.add_argument("--range", help="check every commit of this range")
    args = parser.parse_args()
    subjects = _subjects_in(args.range) if args.range else [_subject_of(args.file)]
    problems = [f"{subject!r}: {problem}" for subject in subjects if (problem := fault(subject))]
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return int(bool(problems))


def fault(subject: str) -> str:
    """Say what is wrong with a subject; empty if nothing is."""
    if _MADE_BY_GIT.match(subject):
        return ""
    if len(subject) > MOST:
        return f"{len(subject)} characters, {MOST} at most"
    word = _FIRST_WORD.match(subject)
    if word is None or (_NOT_IMPERATIVE.search(word[0]) and word[0] not in _VERBS):
        return "begin with an imperative verb, as in 'Fix double payment after a cancelled commit'"
    return "end without a full stop" if subject.endswith(".") else ""


def _subject_of(file: Path) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line.strip() and not line.startswith("#")), "")


def _subjects_in(commits: str) -> list[str]:
    command = ["git", "log", "--format=%s", commits]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
