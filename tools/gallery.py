"""The reports of the gallery: real ones, of the examples, written anew by ``make gallery``.

    python tools/gallery.py docs/gallery [NAME …]

``made.json`` beside them keeps the hash of what each was made from: a test fails when an example
has changed since.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
MADE = "made.json"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?|(?<=>adjudge</th><td>)[^<]*")


@dataclass(frozen=True)
class GalleryReport:
    """A command over examples, whose report is shown."""

    name: str
    command: str
    inputs: tuple[str, ...]

    @property
    def hash(self) -> str:
        """Of the command and its files."""
        files = (ROOT.joinpath(one).read_bytes() for one in self.inputs)
        return hashlib.sha256(b"\0".join((self.command.encode(), *files))).hexdigest()[:16]


REPORTS = (
    GalleryReport(
        "agent",
        "run examples/agent/eval.yaml",
        ("examples/agent/eval.yaml", "examples/agent/runs.jsonl", "examples/agent/expected.yaml"),
    ),
    GalleryReport(
        "pairs",
        "compare --file examples/pairs.csv --column old --column new --criterion "
        "pairwise_helpfulness --check-positional-bias -m local/smollm2-135m",
        ("examples/pairs.csv",),
    ),
)


def main(folder: Path, names: list[str]) -> None:
    """Write the reports, all or those that are named."""
    kept = folder / MADE
    made = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for one in REPORTS:
        if not names or one.name in names:
            (folder / f"{one.name}.html").write_text(report_of(one), encoding="utf-8")
            made[one.name] = one.hash
    kept.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def report_of(one: GalleryReport) -> str:
    """The HTML that the commands write."""
    with tempfile.TemporaryDirectory() as scratch:
        run = str(Path(scratch) / one.name)
        adjudge(*one.command.split(), "--run", run, "--no-cache", "--quiet")
        adjudge("export", run, "--to", "html", "-o", f"{run}.html")
        return Path(f"{run}.html").read_text(encoding="utf-8")


def without_time(html: str) -> str:
    """The report without when, and by which version, it was made."""
    return _TIME.sub("", html)


def adjudge(*command: str) -> None:
    """A command in the root; rows that fail, or have no verdict, are part of the report."""
    done = subprocess.run(
        [sys.executable, "-m", "adjudge", *command], cwd=ROOT, check=False, capture_output=True
    )
    if done.returncode not in (0, 3, 4):
        sys.exit(done.stderr.decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
