"""The tree that is published: the pytest plugin's entry point is a distribution of its own, which
``adjudge[pytest]`` brings.

    python tools/published.py FOLDER

In every session pytest reads the list of all files of each distribution that has a plugin, whether
it is used or not. For a package of our size that was most of what the plugin cost other people's
tests (``tools/foreign_suite.py`` measures it). A checkout has the entry point itself, so that ``pip
install -e .`` is all it takes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENTRY_POINT = (
    '[project.entry-points.pytest11]\nadjudge = "adjudge.features.integrations.pytest_plugin"\n\n'
)
EXTRA = 'pytest = ["pytest>=8"]\n'


def main(folder: Path) -> None:
    """Copy what git knows or would add, and change what it says of the plugin."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    project = folder / "pyproject.toml"
    project.write_text(
        without_plugin(project.read_text(encoding="utf-8"), version()), encoding="utf-8"
    )


def without_plugin(project: str, version: str) -> str:
    """The same pyproject.toml, its entry point gone and its extra naming the plugin's own
    distribution.
    """
    for part in (ENTRY_POINT, EXTRA):
        if project.count(part) != 1:
            sys.exit(f"pyproject.toml does not say, just once:\n{part}")
    return project.replace(ENTRY_POINT, "").replace(
        EXTRA, f'pytest = ["adjudge-pytest=={version}"]\n'
    )


def version() -> str:
    """The version of the package."""
    found = re.search(
        r'^__version__ = "(.+)"$',
        (ROOT / "src/adjudge/version.py").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return found[1] if found else sys.exit("src/adjudge/version.py does not say its version")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
