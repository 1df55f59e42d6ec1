"""Criteria of a public repository, from a real server: fetched once, locked, and never again while
judging.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from adjudge.core.catalog import criteria_lock
from support.commands import adjudge

TONE = (
    "name: tone\nversion: 1.2.0\ndescription: Is it polite?\noptions: [{name: Polite, score: "
    "1}, {name: Rude, score: 0}]\n"
)
FILES = {
    "/org/rubrics/v1/tone.yaml": TONE,
    "/org/rubrics/v1/LICENSE": "\nApache License\nVersion 2.0\n",
    "/org/rubrics/v1/broken.yaml": "name: [",
    "/org/rubrics/v1/large.yaml": "# " + "x" * (1 << 20),
}


class Repository:
    def __init__(self) -> None:
        self.asked: list[str] = []
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                repository.asked.append(self.path)
                body = FILES.get(self.path, "").encode()
                self.send_response(200 if body else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "ADJUDGE_GITHUB_RAW": f"http://127.0.0.1:{self.server.server_port}"}


@pytest.fixture
def repository() -> Iterator[Repository]:
    made = Repository()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_criteria_are_fetched_once_and_locked(tmp_path: Path, repository: Repository) -> None:
    done = adjudge(
        "criteria",
        "add",
        "github:org/rubrics@v1/tone.yaml",
        cwd=tmp_path,
        environment=repository.environment,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "criteria" / "tone.yaml").read_text(encoding="utf-8") == TONE
    locked = json.loads((tmp_path / "criteria.lock").read_text(encoding="utf-8"))["criteria"][
        "tone"
    ]
    assert (locked["from"], locked["licence"], locked["version"]) == (
        "github:org/rubrics@v1/tone.yaml",
        "Apache License",
        "1.2.0",
    )
    asked = len(repository.asked)
    judged = adjudge(
        "judge",
        "x",
        "-c",
        "criteria/tone.yaml",
        "-m",
        "scripted",
        cwd=tmp_path,
        environment=repository.environment,
    )
    assert (judged.returncode, len(repository.asked)) == (0, asked)
    adjudge("criteria", "lock", "criteria/tone.yaml", cwd=tmp_path)
    assert (
        json.loads((tmp_path / "criteria.lock").read_text(encoding="utf-8"))["criteria"]["tone"]
        == locked
    )
    assert (
        adjudge("criteria", "lock", "criteria/tone.yaml", "--check", cwd=tmp_path).returncode == 0
    )


def test_a_file_of_ones_own_is_not_overwritten(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "criteria").mkdir()
    (tmp_path / "criteria" / "tone.yaml").write_text("mine", encoding="utf-8")
    done = adjudge(
        "criteria",
        "add",
        "github:org/rubrics@v1/tone.yaml",
        cwd=tmp_path,
        environment=repository.environment,
    )
    assert done.returncode == 1
    assert (tmp_path / "criteria" / "tone.yaml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("github:org/rubrics@v1/none.yaml", "was not found"),
        ("github:org/rubrics@v1/broken.yaml", "is not YAML"),
        ("github:org/rubrics@v1/large.yaml", "too many for a file of criteria"),
        ("github:org/rubrics/tone.yaml", "@TAG"),
        ("github:org/rubrics@v1/../../x.yaml", "does not name a file of criteria"),
        ("https://example.com/tone.yaml", "does not name a file of criteria"),
    ],
)
def test_what_is_no_criteria_file_is_not_kept(
    tmp_path: Path, repository: Repository, source: str, told: str
) -> None:
    done = adjudge("criteria", "add", source, cwd=tmp_path, environment=repository.environment)
    assert done.returncode == 1
    assert told in done.stderr
    assert not (tmp_path / "criteria.lock").exists()
    assert not list(tmp_path.glob("criteria/*"))


def test_two_that_lock_criteria_at_once_both_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, written = tmp_path / "criteria.lock", criteria_lock._write
    for name in ("tone", "taste"):
        (tmp_path / f"{name}.yaml").write_text(TONE.replace("name: tone", f"name: {name}"))

    def add(name: str) -> None:
        criteria_lock.add_to_lock(str(tmp_path / f"{name}.yaml"), lock, origin="x", licence="y")

    beside = threading.Thread(target=add, args=("taste",))

    def overtaken(found: criteria_lock.Locked, path: Path) -> None:
        if not beside.ident:
            beside.start()
            beside.join(0.05)  # it waits
        written(found, path)

    monkeypatch.setattr(criteria_lock, "_write", overtaken)
    add("tone")
    beside.join()
    assert json.loads(lock.read_text())["criteria"].keys() == {"tone", "taste"}
    assert {one.name for one in tmp_path.iterdir()} == {"criteria.lock", "tone.yaml", "taste.yaml"}
