"""Files that others write to: nothing is missed, nothing is taken twice."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.features.traffic.files import GrowingFiles


def ids_behind(source: GrowingFiles, cursor: JsonObject) -> tuple[list[str], JsonObject, list[str]]:
    """All that is to be read, the place behind it, and what was wrong."""
    ids: list[str] = []
    bad: list[str] = []
    while True:
        batch = source.read(cursor)
        ids += [one.id for one in batch.events]
        bad += batch.bad
        cursor = json.loads(json.dumps(batch.cursor))
        if not batch.more:
            return ids, cursor, bad


def write(path: Path, *ids: str, mode: str = "a") -> None:
    with path.open(mode, encoding="utf-8") as file:
        file.writelines(json.dumps({"id": one}) + "\n" for one in ids)


def test_what_is_appended_is_read_once(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    source = GrowingFiles(str(log))
    assert ids_behind(source, {}) == ([], {}, [])
    write(log, "a", "b")
    ids, cursor, _ = ids_behind(source, {})
    assert ids == ["a", "b"]
    write(log, "c")
    ids, cursor, _ = ids_behind(source, cursor)
    assert ids == ["c"]
    assert ids_behind(source, cursor)[0] == []


def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    source = GrowingFiles(str(log))
    log.write_text('{"id": "a"}\n{"id": "b', encoding="utf-8")
    ids, cursor, bad = ids_behind(source, {})
    assert (ids, bad) == (["a"], [])
    with log.open("a", encoding="utf-8") as file:
        file.write('"}\n')
    assert ids_behind(source, cursor)[0] == ["b"]


def test_a_file_that_was_renamed_is_read_to_its_end_and_the_new_one_from_its_beginning(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.jsonl"
    source = GrowingFiles(str(tmp_path / "log*.jsonl"))
    write(log, "a")
    _, cursor, _ = ids_behind(source, {})
    write(log, "b")
    log.rename(tmp_path / "log.1.jsonl")
    write(log, "c")
    os.utime(tmp_path / "log.1.jsonl", (1, 1))
    ids, cursor, _ = ids_behind(source, cursor)
    assert ids == ["b", "c"]
    assert ids_behind(source, cursor)[0] == []


def test_a_file_that_was_emptied_or_replaced_in_place_is_read_from_its_beginning(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.jsonl"
    source = GrowingFiles(str(log))
    write(log, "a", "b", "c")
    _, cursor, _ = ids_behind(source, {})
    write(log, "d", mode="w")
    ids, cursor, _ = ids_behind(source, cursor)
    assert ids == ["d"]
    write(log, "longer than it was before", "e", mode="w")
    assert ids_behind(source, cursor)[0] == ["longer than it was before", "e"]


def test_equal_lines_without_an_id_are_events_of_their_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"response": "yes"}\n' * 3, encoding="utf-8")
    source = GrowingFiles(str(log))
    ids, cursor, _ = ids_behind(source, {})
    assert len(set(ids)) == 3
    log.rename(tmp_path / "other.jsonl")
    assert ids_behind(GrowingFiles(str(tmp_path / "other.jsonl")), {})[0] == ids
    assert ids_behind(GrowingFiles(str(tmp_path / "other.jsonl")), cursor)[0] == []


def test_what_cannot_be_read_is_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b'{"id": "a"}\n{broken\n\n[1]\n\xff\xfe\n' + b"[" * 100_000 + b'\n{"id": 7}\n')
    ids, _, bad = ids_behind(GrowingFiles(str(log)), {})
    assert ids == ["a", "7"]
    assert [one.split(":")[0] for one in bad] == [f"{log}, byte {at}" for at in (12, 21, 25, 28)]
    ids, _, bad = ids_behind(GrowingFiles(str(log), id="name"), {})
    assert ids == []
    assert "has no name" in bad[0]


def test_long_files_are_read_in_parts(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with log.open("w", encoding="utf-8") as file:
        for number in range(3):
            file.write(json.dumps({"id": str(number), "response": "x" * 3_000_000}) + "\n")
    source = GrowingFiles(str(log))
    assert len(source.read({}).events) == 1
    assert ids_behind(source, {})[0] == ["0", "1", "2"]


def test_a_file_that_cannot_be_read_is_named_once_and_again_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").symlink_to("/proc/self/mem")
    (tmp_path / "good.jsonl").write_text('{"id": "1"}\n', encoding="utf-8")
    source = GrowingFiles(str(tmp_path))
    first = source.read({})
    assert [str(one).partition(":")[0] for one in first.bad] == [str(tmp_path / "bad.jsonl")]
    second = source.read(first.cursor)
    assert (second.bad, second.cursor) == ([], first.cursor)
    (tmp_path / "bad.jsonl").unlink()
    (tmp_path / "bad.jsonl").write_text('{"id": "2"}\n', encoding="utf-8")
    third = source.read(second.cursor)
    assert [one.id for one in third.events] == ["2"]
    assert "unreadable" not in third.cursor


def test_a_file_that_is_renamed_while_it_is_opened_is_neither_missed_nor_taken_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its events have no ids, so that they are known by their file and their place."""
    log, old, opened = tmp_path / "log.jsonl", tmp_path / "log.jsonl.1", Path.open
    source = GrowingFiles(str(log))
    log.write_text('{"text": "a"}\n')
    first, cursor, _ = ids_behind(source, {})
    log.write_text('{"text": "a"}\n{"text": "b"}\n')

    def overtaken(path: Path, *given: Any, **named: Any) -> Any:
        if path == log and not old.exists():
            log.rename(old)
            log.write_text('{"text": "a"}\n')
        return opened(path, *given, **named)

    monkeypatch.setattr(Path, "open", overtaken)
    ids, cursor, _ = ids_behind(source, cursor)
    assert len({*first, *ids}) == len([*first, *ids]) == 3
    assert ids_behind(source, cursor)[0] == []


def test_a_file_that_is_renamed_again_while_it_is_looked_for_is_read_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, listed = tmp_path / "log.jsonl", Path.glob
    source = GrowingFiles(str(log))
    write(log, "a")
    _, cursor, _ = ids_behind(source, {})
    write(log, "b")
    log.rename(tmp_path / "log.jsonl.1")

    def overtaken(folder: Path, pattern: str) -> list[Path]:
        found = [*listed(folder, pattern)]
        for one in found:
            one.rename(tmp_path / "log.jsonl.2")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Path, "glob", overtaken)
        assert ids_behind(source, cursor)[0] == []
    assert ids_behind(source, cursor)[0] == ["b"]
