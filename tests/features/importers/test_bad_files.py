"""Files that are broken, hostile or not what they seem: one line, and nothing half imported."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.reading import archive
from adjudge.errors import RunError
from adjudge.features.importers.importing import import_file
from adjudge.runs.folder import find_runs, records_of
from support.importing import SAMPLES, imported, imported_path

DEEPEVAL = (SAMPLES / "deepeval_4.3.1_latest_run_full.json").read_text()
INSPECT = (SAMPLES / "inspect_0.3.285.json").read_text()


def refused(tmp_path: Path, path: Path, message: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RunError, match=message) as error:
        imported_path(path, tmp_path / "run")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("text", [DEEPEVAL, INSPECT], ids=["deepeval", "inspect"])
def test_a_document_that_was_cut_short(tmp_path: Path, text: str, share: float) -> None:
    path = tmp_path / "cut.json"
    path.write_text(text[: int(len(text) * share)])
    refused(tmp_path, path, "cut.json, line")


def test_a_last_line_that_was_cut_short(tmp_path: Path) -> None:
    line = json.dumps(
        {"promptIdx": 0, "testIdx": 0, "vars": {}, "success": True, "gradingResult": {}}
    )
    path = tmp_path / "cut.jsonl"
    path.write_text(f"{line}\n{line[:40]}")
    refused(tmp_path, path, "line 2: is not JSON.*--skip-bad-rows")


@pytest.mark.parametrize(
    "start",
    [
        "",
        '{"results": ',
        '{"eval": {}, "version": 2, "status": "success", "x": ',
        '{"testCases": [{"metricsData": [], "x": ',
    ],
)
@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_a_million_nested_brackets(tmp_path: Path, start: str, bracket: str) -> None:
    path = tmp_path / "deep.json"
    path.write_text(start + bracket * 1_000_000)
    refused(tmp_path, path, "nested too deeply|was not recognised")


def test_a_million_nested_brackets_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("results:\n  a: " + "[" * 1_000_000)
    refused(tmp_path, path, "nested too deeply|is not YAML")


def test_a_million_nested_brackets_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text(
        '{"promptIdx": 0, "testIdx": 0, "vars": {}, "success": true}\n{"vars": '
        + "[" * 1_000_000
        + "\n"
    )
    refused(tmp_path, path, "nested too deeply")


def write_archive(path: Path, **entries: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
        for name, content in entries.items():
            made.writestr(name.replace("__", "/"), content)


@pytest.mark.parametrize("name", ["../x.json", "samples/../../x", "/etc/x", "a\\..\\b", "c:x"])
def test_an_entry_that_leads_out_of_its_archive(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as made:
        made.writestr("header.json", "{}")
        made.writestr(name, "{}")
    refused(tmp_path, tmp_path / "log.eval", "points outside the archive")


def test_a_zip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_ENTRY", 1_000_000)
    write_archive(tmp_path / "log.eval", samples__a_epoch_1=b"")
    with zipfile.ZipFile(tmp_path / "log.eval", "a", zipfile.ZIP_DEFLATED) as made:
        made.writestr("samples/b_epoch_1.json", b" " * 3_000_000)
    refused(tmp_path, tmp_path / "log.eval", "unpacks to more than 1,000,000 bytes")


def test_an_archive_of_many_small_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_SUSPICIOUS", 1_000_000)
    sample = (
        json.dumps({"id": 1, "epoch": 1, "scores": {"s": {"value": 1}}}).encode() + b" " * 300_000
    )
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
        for number in range(40):
            made.writestr(f"samples/{number}_epoch_1.json", sample)
    monkeypatch.setattr(archive, "_EXPANSION", 20)
    refused(tmp_path, tmp_path / "log.eval", "unpacks to more than")


def test_an_archive_that_was_cut_short(tmp_path: Path) -> None:
    write_archive(tmp_path / "whole.eval", samples__a_epoch_1=b"{}")
    (tmp_path / "log.eval").write_bytes((tmp_path / "whole.eval").read_bytes()[:-30])
    refused(tmp_path, tmp_path / "log.eval", "not a complete ZIP archive")


def test_an_entry_whose_bytes_are_not_those_that_were_packed(tmp_path: Path) -> None:
    """A flipped digit in a score reads as well as the right one: only the
    archive's checksum tells.
    """
    sample = json.dumps({"id": 1, "epoch": 1, "scores": {"s": {"value": 1}}}).encode()
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_STORED) as made:
        made.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
        made.writestr("samples/1_epoch_1.json", sample)
    content = (tmp_path / "log.eval").read_bytes()
    assert content.count(b'"value": 1') == 1
    (tmp_path / "log.eval").write_bytes(content.replace(b'"value": 1', b'"value": 0'))
    refused(tmp_path, tmp_path / "log.eval", "is damaged: its checksum does not match")


def test_two_formats_in_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "one.json").write_text(DEEPEVAL)
    (folder / "two.json").write_text(INSPECT)
    refused(tmp_path, folder, r"several formats \(deepeval, inspect\).*--as")
    assert imported_path(folder, tmp_path / "run", kind="deepeval").report.kind == "deepeval"


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"a": 1}', "a,b\n1,2\n", "plain words", '{"a": 1}\n{"a": 2}\n']
)
def test_a_file_of_no_known_format(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.json").write_text(text)
    refused(tmp_path, tmp_path / "file.json", "was not recognised: name it with --as")


def test_a_folder_that_is_there_already(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("keep")
    with pytest.raises(RunError, match="already exists"):
        imported(tmp_path, DEEPEVAL)
    assert (tmp_path / "run" / "mine.txt").read_text() == "keep"


def test_a_record_that_breaks_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    first = {"pair_id": "p", "question": "q", "response_A": "a", "response_B": "b", "label": "A>B"}
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(one) for one in (first, [1])))
    refused(tmp_path, tmp_path / "x.jsonl", "line 2: is not a JSON object")


def test_bad_rows_are_left_out_on_request(tmp_path: Path) -> None:
    good = json.dumps(
        {"pair_id": "p", "question": "q", "response_A": "a", "response_B": "b", "label": "A>B"}
    )
    found = imported(tmp_path, f"{good}\nnonsense\n{good}\n", name="x.jsonl", skip_bad_rows=True)
    assert len(found.rows) == 2
    assert found.report.left["rows that cannot be read"] == 1


def test_an_import_that_is_killed_leaves_no_run_and_the_next_is_whole(tmp_path: Path) -> None:
    """It waits after its first row until it is killed."""
    line = json.dumps(
        {"pair_id": "p", "question": "q", "response_A": "a", "response_B": "b", "label": "A>B"}
    )
    (tmp_path / "x.jsonl").write_text(f"{line}\n" * 3)
    script = (
        "import os, sys, time\n"
        "from adjudge.features.importers import folder, importing\n"
        "kept = folder.ImportedRun.add\n"
        "def add(self, recorded):\n"
        "    kept(self, recorded)\n"
        "    os.write(1, b'x')\n"
        "    time.sleep(60)\n"
        "folder.ImportedRun.add = add\n"
        "importing.import_file('x.jsonl', 'one')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=tmp_path
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.read(1) == b"x"
            with pytest.raises(RunError, match="another import is writing"):
                imported_path(tmp_path / "x.jsonl", tmp_path / "one")
        finally:
            process.kill()
    assert not (tmp_path / "one").exists()
    assert find_runs(tmp_path) == []
    assert len(imported_path(tmp_path / "x.jsonl", tmp_path / "one").rows) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "x.jsonl"]
    assert "import.lock" not in [path.name for path in (tmp_path / "one").iterdir()]


def trail_folder(folder: Path, annotations: str) -> None:
    span: dict[str, Any] = {
        "trace_id": "t",
        "span_id": "s",
        "parent_span_id": None,
        "span_name": "LLM",
        "timestamp": "2026-01-01T00:00:00Z",
        "duration": "PT1S",
        "status_code": "Ok",
        "status_message": "",
        "span_attributes": {
            "openinference.span.kind": "LLM",
            "input.value": json.dumps({"messages": [{"role": "user", "content": "Add."}]}),
            "output.value": json.dumps({"role": "assistant", "content": "3"}),
        },
        "events": [],
        "child_spans": [],
    }
    for name, text in (
        ("traces/t.json", json.dumps({"trace_id": "t", "spans": [span]})),
        ("traces/u.json", json.dumps({"trace_id": "u", "spans": [{**span, "trace_id": "u"}]})),
        ("annotations/t.json", annotations),
        ("annotations/u.json", json.dumps({"errors": [], "scores": [{"reliability_score": 1}]})),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_a_comma_too_many_loses_no_row(tmp_path: Path) -> None:
    trail_folder(
        tmp_path,
        '{"errors": [{"category": "a, ]", "location": "s", "evidence": "e"},\n ],\n'
        ' "scores": [{"reliability_score": 2}]}',
    )
    report = import_file(tmp_path, tmp_path / "run")
    assert (report.tally.labels, report.left) == (2, {})
    assert any("comma before ]" in note for note in report.notes)
    kept = [record.input["errors"] for record in records_of(tmp_path / "run")]
    assert [{"category": "a, ]", "location": "s", "evidence": "e", "step": 2}] in kept


def test_a_broken_file_of_a_folder_is_named_and_counted(tmp_path: Path) -> None:
    trail_folder(tmp_path, '{"errors": [')
    report = import_file(tmp_path, tmp_path / "run")
    assert report.tally.labels == 1
    assert report.left == {"a trace without annotations": 1, "files that cannot be read": 1}
    assert any("t.json" in note for note in report.notes)
    assert report.ignored_files == []
