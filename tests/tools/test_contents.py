"""The bill of materials and the hashes beside what is built; what our workflows run."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_bill_names_what_is_installed_and_every_file_has_its_hash(tmp_path: Path) -> None:
    wheel = tmp_path / "adjudge-1.2.3-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    command = [sys.executable, str(ROOT / "tools" / "contents.py"), str(tmp_path)]
    for _ in range(2):  # a second time changes nothing
        subprocess.run(command, check=True)
        sums = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8")
        assert f"{hashlib.sha256(b'a wheel').hexdigest()}  {wheel.name}" in sums
        assert len(sums.splitlines()) == 2
    bill = json.loads((tmp_path / "adjudge-1.2.3.cdx.json").read_text(encoding="utf-8"))
    assert bill["metadata"]["component"]["version"] == "1.2.3"
    scopes = {one["name"]: one["scope"] for one in bill["components"]}
    needed = [one for one in requires("adjudge") or [] if "extra ==" not in one]
    for requirement in needed:
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert name
        assert scopes[name[0].lower()] == "required"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_only_actions_of_a_named_commit_and_writes_nothing_unasked(
    path: Path,
) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        if not action.startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
            assert re.match(r" # v\d", comment), f"{action}: name its version behind it"
    assert "\npermissions:\n" in text
