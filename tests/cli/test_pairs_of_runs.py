"""Two runs over rows that changed, went missing, were added, moved or repeated: no gate decides on some of them in silence."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from support import commands
from support.fake_provider import KEY, FakeProvider

Row = tuple[str, str, str]
"""id, question, answer"""
COLUMNS = {"id": ("id", "question", "answer"), "question": ("question", "answer"), "answer": ("answer",)}
WAYS = {"id": ", by id", "question": ", by the fields that are not judged", "answer": " (240 by their text, 60 by place)"}


def good(number: int) -> Row:
    return f"q{number}", f"What is {number}?", f"answer REC-{number:05}-Y"


def broken(number: int) -> Row:
    return *good(number)[:2], f"broken REC-{number:05}-N"


class Project:
    """A folder whose rows a real server judges by their marks."""

    def __init__(self, folder: Path, provider: FakeProvider) -> None:
        self.folder, self.provider = folder, provider
        self.model = ("-m", "openai/gpt-4o-mini", "--base-url", provider.base_url("openai"))

    def write(self, rows: Sequence[Row], named_by: str = "id") -> None:
        columns = COLUMNS[named_by]
        with (self.folder / "rows.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(columns)
            table.writerows(row[3 - len(columns) :] for row in rows)

    def judge(self, rows: Sequence[Row], run: str, *words: str, named_by: str = "id") -> tuple[int, str]:
        self.write(rows, named_by)
        done = commands.adjudge(
            "judge", "-f", "rows.csv", "--criterion", "Is it right?", *self.model, "--run", run, *words, cwd=self.folder
        )
        return done.returncode, done.stderr

    def said(self, *words: str) -> str:
        done = commands.adjudge(*words, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def project(tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Project(tmp_path, provider)


BEFORE = [good(number) for number in range(300)]
AFTER = [*(broken(number) for number in range(60)), *BEFORE[60:]]


@pytest.mark.parametrize("named_by", COLUMNS)
def test_sixty_broken_answers_of_three_hundred_fail_the_gate(project: Project, named_by: str) -> None:
    """The broken rows were dropped, and the gate held with a difference of +0.000."""
    assert project.judge(BEFORE, "old", named_by=named_by)[0] == 0
    code, told = project.judge(AFTER, "new", "--not-worse-than", "old", named_by=named_by)
    assert code == 4, told
    assert "difference -0.200" in told
    assert f"300 of 300 rows paired{WAYS[named_by]}." in told
