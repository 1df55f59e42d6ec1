"""Code of the user's is what its file says now."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from adjudge.core.reading.user_code import load_code

RUN = "from adjudge.core.reading.user_code import load_code; print(load_code('mine.py:f')())"


def test_an_edit_of_the_same_length_in_the_same_second_is_seen(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    file, said = tmp_path / "mine.py", []
    for number in (1, 2):
        file.write_text(f"def f():\n    return {number}\n")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            cwd=tmp_path,
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        said.append(done.stdout.strip())
    assert said == ["1", "2"]


def test_a_file_that_two_threads_need_at_once_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, found = tmp_path / "mine.py", list[object]()
    file.write_text("import beside_mine\nbeside_mine.begin()\ndef f(): ...\n")
    beside = threading.Thread(target=lambda: found.append(load_code(f"{file}:f")))

    def begin() -> None:
        if not beside.ident:
            beside.start()
            beside.join(0.05)  # it waits

    monkeypatch.setitem(sys.modules, "beside_mine", SimpleNamespace(begin=begin))
    first = load_code(f"{file}:f")
    beside.join()
    assert found == [first]
