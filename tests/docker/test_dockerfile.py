"""The Dockerfile as far as it can be read: what it copies is there, nobody is root, the command is
the seed's.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from steps import ROOT, stages

FIRST, LAST = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def instructions(steps: list[tuple[str, str]], name: str) -> list[str]:
    return [rest for step, rest in steps if step == name]


def test_everything_that_is_copied_exists_and_is_not_ignored() -> None:
    kept = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    sources = {source for rest in instructions(FIRST, "COPY") for source in rest.split()[:-1]}
    assert sources == kept
    assert all((ROOT / source).exists() for source in sources)


def test_nothing_else_gets_into_the_image() -> None:
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()
    assert all("--from=build" in rest for rest in instructions(LAST, "COPY"))


def test_it_does_not_run_as_root() -> None:
    (user,) = instructions(LAST, "USER")
    assert user == "1000"
    assert [name for name, _ in LAST].index("USER") < [name for name, _ in LAST].index("ENTRYPOINT")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], "rag"),
        (["--csv", "data/rows.csv"], "rag --csv data/rows.csv"),
        (["run", "a b.yaml"], "run a b.yaml"),
        (["adjudge", "check", "x"], "check x"),
    ],
)
def test_the_command_line_is_the_seeds_and_every_other_one(
    words: list[str], command: str, tmp_path: Path
) -> None:
    assert json.loads(instructions(LAST, "ENTRYPOINT")[0]) == ["judge"]
    assert instructions(LAST, "WORKDIR") == ["/app"]
    (setup,) = instructions(LAST, "RUN")
    (said,) = re.findall(r"'(case .* esac)'", setup)
    (tmp_path / "adjudge").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "adjudge").chmod(0o755)
    (tmp_path / "judge").write_text(f"#!/bin/sh\n{said}\n")
    done = subprocess.run(
        ["sh", str(tmp_path / "judge"), *words],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == command


def test_every_choice_of_extra_has_its_requirements() -> None:
    for extra in ("core", "local"):
        assert Path(ROOT / "requirements" / f"{extra}.txt").is_file()


def test_no_secret_is_built_in() -> None:
    text = (ROOT / "Dockerfile").read_text().lower()
    assert "api_key" not in text
    assert "token" not in text
