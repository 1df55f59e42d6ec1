"""Which sandbox is taken, and what is said when there is none: the finders really look, where
nothing is to be found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from walls import WORKING

import adjudge
from adjudge.errors import SetupError
from adjudge.features.generate.sandbox.attempts import ATTEMPTS, KEPT
from adjudge.features.generate.sandbox.finder import WALLS, find_sandbox
from adjudge.features.generate.sandbox.no_sandbox import NoSandbox
from adjudge.features.generate.sandbox.trial import trouble_with
from adjudge.messages import Message, render

SOURCE = str(Path(adjudge.__file__).parents[1])
FIND = """
import json, sys
from adjudge.errors import SetupError
from adjudge.features.generate.sandbox.finder import find_sandbox
try:
    print(json.dumps({"found": find_sandbox(*sys.argv[1:]).name}))
except SetupError as error:
    print(json.dumps({"error": str(error)}))
"""


def find_elsewhere(path: str, *name: str, python_path: str = SOURCE) -> dict[str, str]:
    """Look for a sandbox in a process with this PATH and without any installed package."""
    environment = {"PATH": path, "PYTHONPATH": python_path}
    command = [sys.executable, "-S", "-c", FIND, *name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_without_any_sandbox_the_error_says_what_was_tried_and_what_to_install(
    tmp_path: Path,
) -> None:
    said = find_elsewhere(str(tmp_path))["error"]
    assert said.startswith("no sandbox works on this system (")
    for name in WALLS:
        assert f"{name}: " in said
    assert "pip install 'adjudge[sandbox]'" in said
    assert "apt install bubblewrap" in said
    assert 'sandbox="none"' in said


def test_every_reason_is_in_the_readers_language(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Message("{name} is not installed", name="podman")
    monkeypatch.setattr(
        "adjudge.features.generate.sandbox.finder._probed", dict.fromkeys(WALLS, broken)
    )
    with pytest.raises(SetupError) as caught:
        find_sandbox()
    said = render(caught.value, "ru")
    assert said.startswith("ни одна песочница в этой системе не работает (sandlock: podman не уст")
    assert "Сгенерированный код выполняется только в песочнице." in said
    names = [*ATTEMPTS, *KEPT]
    assert not [name for name in names if render(name, "ru") == name]


def test_no_sandbox_is_taken_only_by_its_name(tmp_path: Path) -> None:
    assert find_elsewhere(str(tmp_path), "none") == {"found": "none"}
    assert isinstance(find_sandbox("none"), NoSandbox)


def test_a_program_that_is_no_sandbox_is_not_trusted(tmp_path: Path) -> None:
    """A bwrap and a docker that run the command as it is: code inside gets out, so they are
    refused.
    """
    fake = tmp_path / "bwrap"
    fake.write_text(
        '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n', encoding="utf-8"
    )
    fake.chmod(0o755)
    said = find_elsewhere(f"{tmp_path}:/usr/bin:/bin", "bubblewrap")["error"]
    assert (
        "bubblewrap: code inside could do forbidden things, or could not do necessary ones" in said
    )


def test_a_program_that_does_nothing_is_not_trusted(tmp_path: Path) -> None:
    for name in ("bwrap", "docker", "podman"):
        (tmp_path / name).write_text("#!/bin/sh\necho broken >&2\nexit 3\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    said = find_elsewhere(f"{tmp_path}:/usr/bin:/bin")["error"]
    assert said.count("the process ended without a result (exit status 3): broken") == 3


def test_a_sandlock_that_cannot_be_used_is_not_trusted(tmp_path: Path) -> None:
    package = tmp_path / "sandlock"
    package.mkdir()
    (package / "__init__.py").write_text(
        "raise ImportError('made for another system')", encoding="utf-8"
    )
    said = find_elsewhere(str(tmp_path), "sandlock", python_path=f"{SOURCE}:{tmp_path}")["error"]
    assert "made for another system" in said


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        SetupError,
        match="unknown sandbox 'chroot'; known: sandlock, bubblewrap, docker, podman and none",
    ):
        find_sandbox("chroot")


def test_the_first_that_works_is_taken_and_probed_once() -> None:
    first = WORKING.first()
    if first is None:
        pytest.skip(
            "no sandbox works here: " + "; ".join(f"{name}: {WORKING.why(name)}" for name in WALLS)
        )
    assert find_sandbox().name == first
    assert find_sandbox() is find_sandbox(first)


def test_the_trial_sees_that_no_sandbox_is_none() -> None:
    """What the walls hold back goes through without them, so the attempts are real; nothing is
    harmed by it.
    """
    said = trouble_with(NoSandbox()) or ""
    harmless_without_root = {
        "see the host's variables",
        "raise its own limits",
        "trace the host",
        "mount",
    }
    missed = [name for name in ATTEMPTS if name not in said and name not in harmless_without_root]
    assert missed == []
    assert "call a tool" not in said
    assert "ADJUDGE_BAIT" not in "".join(os.environ)


def test_the_probe_prints_a_table() -> None:
    if WORKING.first() is None:
        pytest.skip("no sandbox works here")
    command = [
        sys.executable,
        "-m",
        "adjudge.features.generate.sandbox.probe",
        str(WORKING.first()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"| attempt | {WORKING.first()} |" in done.stdout
    assert "| read a file outside | refused |" in done.stdout
    assert "| limit: memory | MemoryLimit |" in done.stdout
