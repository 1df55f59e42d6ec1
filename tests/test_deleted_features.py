"""A feature is a folder that can be deleted: without it the package imports, judges and shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "adjudge"
DELETED: dict[str, tuple[str, ...]] = {
    "rag": (),
    "agents": ("stress", "traffic", "conversations"),
    "bench": ("playground",),
}
"""Feature → those whose page cannot open without it: their lines in ``plugins.py`` go with it."""
EVAL = "data: rows.csv\nmodels: scripted\njudges:\n  - {kind: direct, criteria: [conciseness]}\n"
IMPORT = """
import importlib, pkgutil, sys
import adjudge
STARTERS = "adjudge.features.starters.files."
left_out = tuple(f"adjudge.features.{name}." for name in sys.argv[1:])
names = [found.name for found in pkgutil.walk_packages(adjudge.__path__, "adjudge.")]
for name in names:
    if not f"{name}.".startswith((*left_out, STARTERS)) and "__main__" not in name:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("adjudge"):
                raise
print(len(names))
"""


def uses(feature: str) -> set[str]:
    text = (PACKAGE / "features" / feature / "__init__.py").read_text(encoding="utf-8")
    declared = re.search(r"^USES = \(([^)]*)\)", text, re.MULTILINE)
    return set(re.findall(r'"(\w+)"', declared[1])) if declared else set()


def users_of(feature: str) -> set[str]:
    """Return the feature and those that cannot work without it."""
    names = [path.parent.name for path in (PACKAGE / "features").glob("*/__init__.py")]
    users = {feature}
    while more := {name for name in names if uses(name) & users} - users:
        users |= more
    return users


@pytest.fixture(scope="module", params=DELETED)
def feature(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def package(feature: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package without the feature's folder and its lines in ``plugins.py``."""
    copy = tmp_path_factory.mktemp(feature) / "installed" / "adjudge"
    # With what is compiled, as to do it again takes seconds; not what is being written just now.
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.rmtree(copy / "features" / feature)
    plugins = copy / "plugins.py"
    lines = plugins.read_text(encoding="utf-8").splitlines(keepends=True)
    gone = [f"features.{name}." for name in (feature, *DELETED[feature])]
    left = [line for line in lines if not any(name in line for name in gone)]
    assert len(left) < len(lines), "the feature is registered line by line"
    plugins.write_text("".join(left), encoding="utf-8")
    return copy.parent


def python(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=package.parent,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def page(package: Path) -> Iterator[str]:
    """The address of the page over a run that the package has made."""
    folder = package.parent
    (folder / "rows.csv").write_text("id,response\n1,Short.\n2,Short too.\n")
    (folder / "eval.yaml").write_text(EVAL)
    done = python(package, "-m", "adjudge", "run", "eval.yaml", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 rows judged" in done.stdout
    server = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "view", "runs", "--port", "0", "--no-open"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    try:
        address = next(filter(None, (re.search(r"http://\S+", line) for line in server.stdout)))
        yield address[0]
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_every_other_module_imports(feature: str, package: Path) -> None:
    done = python(package, "-c", IMPORT, *sorted(users_of(feature)))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 500


def test_a_run_is_made_and_shown(page: str, package: Path) -> None:
    with build_opener(HTTPCookieProcessor()).open(page, timeout=30) as response:
        shown = response.read().decode()
    assert "conciseness" in shown or "eval" in shown
    done = python(package, "-m", "adjudge", "runs", "show", "runs/eval")
    assert done.returncode == 0 and "conciseness" in done.stdout, done.stderr
