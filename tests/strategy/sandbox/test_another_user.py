"""The same walls for a user that is not root and has no entry in the password file, as in many containers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjudge

NOBODY = 61_234
"""A user that no system has."""
RUN = """
import asyncio, json, sys
from adjudge.errors import AdjudgeError, SandboxError
from adjudge.strategy.sandbox.base import Limits
from adjudge.strategy.sandbox.bubblewrap import Bubblewrap
from adjudge.strategy.sandbox.sandlock import Sandlock
from adjudge.strategy.sandbox.trial import broken_walls

async def one(sandbox, code):
    try:
        return (await sandbox.run(code, limits=Limits(file_mb=1))).output
    except SandboxError as error:
        return f"{type(error).__name__}: {error}"

async def all_of_them():
    make = {"sandlock": Sandlock, "sandlock on disk": lambda: Sandlock(in_memory=False), "bubblewrap": Bubblewrap}
    try:
        sandbox = make[sys.argv[1]]()
        if await one(sandbox, "output = 1") != 1 and sys.argv[1] == "bubblewrap":
            return {"missing": "no user namespaces"}
    except AdjudgeError as error:
        return {"missing": str(error)}
    codes = json.loads(sys.argv[2])
    return {"broken": await broken_walls(sandbox), **{name: await one(sandbox, code) for name, code in codes.items()}}

print(json.dumps(asyncio.run(all_of_them())))
"""
FILL = "\nimport time\nfor n in range(30): open(str(n), 'wb').write(bytes(1 << 20))\ntime.sleep(5)"
CODES = {
    "work": "open('own', 'w').write('x'); output = open('own').read()",
    "hidden folder": f"import os; os.mkdir('hidden', 0o300); os.chdir('hidden'){FILL}",
    "shared memory": "open('/dev/shm/x', 'wb').write(b'x'); output = 'written'",
    "devices": "open('/dev/x', 'wb').write(b'x'); output = 'written'",
    "empty files": "import time\nfor n in range(20000): open(str(n), 'w').close()\ntime.sleep(5)",
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where that user may write."""
    with tempfile.TemporaryDirectory(prefix="another-", dir="/tmp") as path:
        Path(path).chmod(0o777)
        yield Path(path)


def as_nobody(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With the first Python of this version that the user may start."""
    paths = [str(Path(adjudge.__file__).parent.parent), *(path for path in sys.path if path.endswith("site-packages"))]
    surroundings = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(paths), "TMPDIR": str(folder)}
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run(
                [python, "-c", f"import sys; assert sys.version_info[:2] == {sys.version_info[:2]}; exec({RUN!r})", *arguments],
                env=surroundings,
                cwd="/",
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return done
    pytest.skip("no Python of this version that another user may start")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
@pytest.mark.parametrize("name", ["sandlock", "sandlock on disk", "bubblewrap"])
def test_a_user_without_a_name_has_the_same_walls(name: str, folder: Path) -> None:
    went = json.loads(as_nobody(folder, name, json.dumps(CODES)).stdout)
    if "missing" in went:
        pytest.skip(f"{name}: {went['missing']}")
    assert went["broken"] == []
    assert went["work"] == "x"
    assert "Forbidden" in went["hidden folder"]
    assert "Forbidden" in went["shared memory"] or "FileNotFoundError" in went["shared memory"]
    assert "Forbidden" in went["devices"]
    assert "Forbidden" in went["empty files"]
    assert [path.name for path in folder.iterdir()] == []
