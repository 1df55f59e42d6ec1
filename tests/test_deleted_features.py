"""A feature is a folder that can be deleted: without it the package imports, judges and shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
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
WORK = """
import importlib, pkgutil, sys
import adjudge
from adjudge.runs.cli.main import main

def adjudge_with(*words):
    sys.argv = ["adjudge", *words]
    main()

for words in (["run", "eval.yaml", "--yes"], ["runs", "show", "runs/eval"]):
    try:
        adjudge_with(*words)
    except SystemExit as ended:
        assert not ended.code, words
STARTERS = "adjudge.features.starters.files."
left_out = tuple(f"adjudge.features.{name}." for name in WITHOUT)
names = [module.name for module in pkgutil.walk_packages(adjudge.__path__, "adjudge.")]
for name in names:
    if not f"{name}.".startswith((*left_out, STARTERS)) and "__main__" not in name:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("adjudge"):
                raise
print(len(names), "modules")
adjudge_with("view", "runs", "--port", "0", "--no-open")
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


def test_a_run_is_made_and_shown_and_every_other_module_imports(
    feature: str, package: Path
) -> None:
    """In one process, which loads the modules that a command needs before it loads the others."""
    folder = package.parent
    (folder / "rows.csv").write_text("id,response\n1,Short.\n2,Short too.\n")
    (folder / "eval.yaml").write_text(EVAL)
    process = subprocess.Popen(
        [sys.executable, "-c", f"WITHOUT = {sorted(users_of(feature))}\n{WORK}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.append(line)
            if address := re.search(r"http://\S+token\S+", line):
                break
        printed = "".join(lines)
        assert address, printed
        with build_opener(HTTPCookieProcessor()).open(address[0], timeout=60) as response:
            page = response.read().decode()
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert "2 rows judged" in printed
    assert "conciseness" in printed.partition("2 rows judged")[2], "runs show"
    counted = re.search(r"^(\d+) modules$", printed, re.MULTILINE)
    assert counted and int(counted[1]) > 500
    assert "conciseness" in page or "eval" in page
