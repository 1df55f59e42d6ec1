"""Completion in the shells themselves: each loads the printed script and is asked what it would
offer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import adjudge

ASKED = {
    "bash": """
source SCRIPT
offer() {
  COMP_WORDS=(adjudge "$@"); COMP_CWORD=$#; COMPREPLY=()
  _adjudge_completion adjudge
  printf '%s\\n' "${COMPREPLY[@]}"
}
offer calib; echo NEXT; offer judge -c conci; echo NEXT; offer run --wat
""",
    "zsh": """
compdef() { : }
_describe() { print -l -- "${(@P)3%%:*}" }
compadd() { print -l -- "${(@P)@[-1]}" }
source SCRIPT
offer() { words=(adjudge "$@"); CURRENT=$#words; _adjudge_completion }
offer calib; echo NEXT; offer judge -c conci; echo NEXT; offer run --wat
""",
    "fish": """
source SCRIPT
complete -C 'adjudge calib' | string split -f1 \\t; echo NEXT
complete -C 'adjudge judge -c conci' | string split -f1 \\t; echo NEXT
complete -C 'adjudge run --wat' | string split -f1 \\t
""",
}
WITHOUT_FILES = {
    "bash": ["bash", "--norc", "--noprofile"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
}


@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_completes_commands_criteria_and_options(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = adjudge("completion", shell)
    assert done.returncode == 0, done.stderr
    (tmp_path / "script").write_text(done.stdout, encoding="utf-8")
    (tmp_path / "adjudge").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m adjudge "$@"\n', encoding="utf-8"
    )
    (tmp_path / "adjudge").chmod(0o755)
    (tmp_path / "ask").write_text(
        ASKED[shell].replace("SCRIPT", str(tmp_path / "script")), encoding="utf-8"
    )
    own = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    told = subprocess.run(
        [*WITHOUT_FILES[shell], str(tmp_path / "ask")],
        env=own,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    offered = [part.split() for part in told.stdout.split("NEXT\n")]
    assert offered == [["calibrate"], ["conciseness"], ["--watch"]], told


def test_fish_cuts_nothing_at_a_comma(tmp_path: Path) -> None:
    """Neither a file's name nor a description."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (tmp_path / "script").write_text(adjudge("completion", "fish").stdout, encoding="utf-8")
    (tmp_path / "adjudge").write_text(
        "#!/bin/sh\nprintf 'plain,one, two\\tWhat it is, and why\\n'\n", encoding="utf-8"
    )
    (tmp_path / "adjudge").chmod(0o755)
    (tmp_path / "ask").write_text(
        f"source {tmp_path / 'script'}\ncomplete -C 'adjudge judge on'\n", encoding="utf-8"
    )
    own = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    told = subprocess.run(
        [*WITHOUT_FILES["fish"], str(tmp_path / "ask")],
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout == "one, two\tWhat it is, and why\n", told


def test_another_shell_is_a_mistake_in_usage() -> None:
    assert adjudge("completion", "tcsh").returncode == 2
