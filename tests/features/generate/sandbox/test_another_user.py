"""The same walls for a user that is not root and has no entry in the password file, as in many
containers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from walls import WORKING

import adjudge

NOBODY = 61_234
"""A user that no system has."""
RUN = """
import asyncio, json, sys
from adjudge.errors import SandboxError
from adjudge.features.generate.sandbox.base import Limits
from adjudge.features.generate.sandbox.bubblewrap import Bubblewrap
from adjudge.features.generate.sandbox.sandlock import Sandlock
from adjudge.features.generate.sandbox.trial import broken_walls

async def one(sandbox, code):
    try:
        return (await sandbox.run(code, limits=Limits(file_mb=1))).output
    except SandboxError as error:
        return f"{type(error).__name__}: {error}"

async def all_of_them():
    make = {
        "sandlock": Sandlock,
        "sandlock on disk": lambda: Sandlock(in_memory=False),
        "bubblewrap": Bubblewrap,
    }
    sandbox = make[sys.argv[1]]()
    if sys.argv[1] == "bubblewrap" and await one(sandbox, "output = 1") != 1:
        return {"missing": "no user namespaces"}
    codes = json.loads(sys.argv[2])
    went = {name: await one(sandbox, code) for name, code in codes.items()}
    return {"broken": await broken_walls(sandbox), **went}

print(json.dumps(asyncio.run(all_of_them())))
"""
FILL = "\nimport time\nfor n in range(30): open(str(n), 'wb').write(bytes(1 << 20))\ntime.sleep(20)"
CODES = {
    "work": "open('own', 'w').write('x'); output = open('own').read()",
    "hidden folder": f"import os; os.mkdir('hidden', 0o300); os.chdir('hidden'){FILL}",
    "shared memory": "open('/dev/shm/x', 'wb').write(b'x'); output = 'written'",
    "devices": "open('/dev/x', 'wb').write(b'x'); output = 'written'",
    "empty files": "import time\nfor n in range(10500): open(str(n), 'w').close()\ntime.sleep(20)",
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where that user may write."""
    with tempfile.TemporaryDirectory(prefix="another-", dir="/tmp") as path:
        Path(path).chmod(0o777)
        yield Path(path)


def as_nobody(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [
        str(Path(adjudge.__file__).parents[1]),
        *(path for path in sys.path if path.endswith("site-packages")),
    ]
    surroundings = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(paths), "TMPDIR": str(folder)}
    who: dict[str, Any] = {
        "user": NOBODY,
        "group": NOBODY,
        "extra_groups": [],
        "cwd": "/",
        "env": surroundings,
    }
    return subprocess.run(arguments, capture_output=True, text=True, check=False, **who)


@cache
def a_python(folder: Path) -> str:
    """The first of this version that the user may start, and that may read this project."""
    same = (
        "import sys, importlib.util as i; sys.exit(sys.version_info[:2] != "
        f"{sys.version_info[:2]} or not i.find_spec('adjudge'))"
    )
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if as_nobody(folder, python, "-c", same).returncode == 0:
                return python
        except OSError:
            continue
    pytest.skip(
        "there is no Python of this version that another user may start and that may read "
        "this project"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
@pytest.mark.parametrize("name", ["sandlock", "sandlock on disk", "bubblewrap"])
def test_a_user_without_a_name_has_the_same_walls(name: str, folder: Path) -> None:
    if (wall := name.partition(" ")[0]) not in WORKING:
        pytest.skip(f"{wall} does not work here: {WORKING.why(wall)}")
    done = as_nobody(folder, a_python(folder), "-c", RUN, name, json.dumps(CODES))
    assert done.returncode == 0, done.stderr
    went = json.loads(done.stdout)
    if "missing" in went:
        pytest.skip(f"{name}: {went['missing']}")
    assert went["broken"] == []
    assert went["work"] == "x"
    assert "Forbidden" in went["hidden folder"]
    assert "Forbidden" in went["shared memory"] or "FileNotFoundError" in went["shared memory"]
    assert "Forbidden" in went["devices"]
    assert "Forbidden" in went["empty files"]
    assert [path.name for path in folder.iterdir()] == []
