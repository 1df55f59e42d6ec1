"""``adjudge run --watch``: what changed is judged again, and nothing is asked twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.asking import marked
from support.commands import Started, adjudge, start
from support.fake_provider import KEY, FakeProvider

WATCHING = "watching for changes"
CRITERIA = (
    "name: {name}\ndescription: {question}\noptions: [{{name: 'Yes', score: 1}}, {{name: 'No', "
    "score: 0}}]\n"
)


@pytest.fixture
def folder(tmp_path: Path, provider: FakeProvider) -> Path:
    rows = "".join(f"r{number},{text}\n" for number, text in enumerate(marked(3)))
    (tmp_path / "rows.csv").write_text(f"id,answer\n{rows}", encoding="utf-8")
    for name in ("first", "second"):
        (tmp_path / f"{name}.yaml").write_text(
            CRITERIA.format(name=name, question="Does it end in Y?"), encoding="utf-8"
        )
    (tmp_path / "eval.yaml").write_text(
        f"data: rows.csv\nmodels: {{model: openai/gpt-4o-mini, base_url: "
        f"'{provider.base_url('openai')}'}}\n"
        "judges: [{kind: direct, name: one, criteria: first.yaml}, {kind: direct, name: "
        "two, criteria: second.yaml}]\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def watching(folder: Path) -> Iterator[Started]:
    process = start(
        *("run", "eval.yaml", "--watch", "--no-cache", "-q"),
        cwd=folder,
        environment={**os.environ, "OPENAI_API_KEY": KEY},
    )
    yield process
    process.kill()
    process.communicate()


def until_it_waits(process: Started) -> str:
    """What it says before it waits for the next change."""
    told = ""
    for line in process.stderr:
        told += line
        if WATCHING in line:
            return told
    raise AssertionError(f"it ended: {told}")


def test_only_what_changed_is_asked(
    folder: Path, provider: FakeProvider, watching: Started
) -> None:
    until_it_waits(watching)
    assert len(provider.requests) == 6
    with (folder / "rows.csv").open("a", encoding="utf-8") as rows:
        rows.write("r9,REC-00099-Y\n")
    until_it_waits(watching)
    assert len(provider.requests) == 8  # the new row, by both criteria
    (folder / "second.yaml").write_text(
        CRITERIA.format(name="second", question="Is it the end?"), encoding="utf-8"
    )
    told = until_it_waits(watching)
    assert len(provider.requests) == 12  # four rows by the changed criteria alone
    assert "runs/eval-2" in told
    (folder / "second.yaml").write_text("name: [", encoding="utf-8")
    assert "second.yaml" in until_it_waits(watching)
    (folder / "second.yaml").write_text(
        CRITERIA.format(name="second", question="Is it the end?"), encoding="utf-8"
    )
    until_it_waits(watching)
    assert len(provider.requests) == 12
    watching.send_signal(signal.SIGINT)
    assert watching.wait() == 0


def test_a_file_that_is_deleted_is_told_of_and_waited_for(
    folder: Path, provider: FakeProvider, watching: Started
) -> None:
    until_it_waits(watching)
    rows = (folder / "rows.csv").read_text(encoding="utf-8")
    (folder / "rows.csv").unlink()
    assert "rows.csv no longer exists: waiting until it is back" in watching.stderr.readline()
    (folder / "new.csv").write_text(f"{rows}r9,REC-00099-Y\n", encoding="utf-8")
    (folder / "new.csv").rename(folder / "rows.csv")  # as editors do
    until_it_waits(watching)
    assert len(provider.requests) == 8


def test_standard_input_cannot_be_watched(folder: Path) -> None:
    text = (folder / "eval.yaml").read_text(encoding="utf-8")
    (folder / "eval.yaml").write_text(text.replace("data: rows.csv", "data: '-'"), encoding="utf-8")
    done = adjudge(
        "run", "eval.yaml", "--watch", cwd=folder, environment={**os.environ, "OPENAI_API_KEY": KEY}
    )
    assert done.returncode == 1
    assert "only once" in done.stderr
