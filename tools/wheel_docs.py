"""Run the examples of README and docs from a wheel, in a clean environment.

python tools/wheel_docs.py WHEEL [OPTION OF PYTEST ...]    such as -x

The tests run in a folder with the documents but without the package, so ``adjudge`` is the one in
the wheel. ``adjudge init examples`` writes the files that the examples name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPIED = ("docs", "training/README.md", "tools", "tests/conftest.py", "tests/support")
TESTS = ("tests/test_docs.py", "tests/samples")
EXTRAS = "local,ui,excel,parquet,schema,sandbox,pytest"
SELECTED = "python_runs or commands or yaml_is or toml"


def main(wheel: Path, options: list[str]) -> int:
    """Install the wheel, write its examples, and run the tests of the documents."""
    with tempfile.TemporaryDirectory() as scratch:
        environment, folder = Path(scratch) / "venv", Path(scratch) / "work"
        venv.create(environment, with_pip=True)
        variables = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        }
        variables["PATH"] = f"{environment / 'bin'}:{variables['PATH']}"

        def run(*words: str) -> int:
            return subprocess.run(words, cwd=folder, env=variables, check=False).returncode

        copy_documents(folder)
        steps = (
            ("pip", "--disable-pip-version-check", "--quiet", "install", f"{wheel}[{EXTRAS}]"),
            ("pip", "--disable-pip-version-check", "--quiet", "install", "hypothesis"),
            ("adjudge", "init", "examples"),
        )
        for words in steps:
            if run(*words):
                return 1
        # Without the project's pyproject.toml, whose settings name the checkout.
        pytest = ("python", "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder))
        return run(*pytest, "-p", "no:cacheprovider", "-k", SELECTED, *options, TESTS[0])


def copy_documents(folder: Path) -> None:
    """Copy the documents and their tests, but neither the package nor its examples."""
    folder.mkdir()
    pages = [page.name for page in ROOT.glob("*.md")]
    for name in (*pages, *COPIED, *TESTS):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
