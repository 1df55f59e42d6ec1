"""Rows read from, and results written to, addresses: file://, and buckets on real servers."""

from __future__ import annotations

import os
from base64 import b64encode
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adjudge import RunError, SetupError
from adjudge.core.data.dataset import read_instances
from adjudge.core.reading.objects import ObjectFile, _Ranges, location_of
from adjudge.errors import WrongData
from adjudge.features.scale.partition import judge_partition, merge_partitions, partitions
from adjudge.runs.cli.main import app
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.exporters.export import export
from adjudge.runs.folder import run_info
from support.partitions import exported, marked_file, on_one_machine
from support.stores import bucket

SECRET = "do-not-show"


def carried_out(*words: str) -> str:
    out = CliRunner().invoke(app, [*words])
    return f"{out.output}{out.exception or ''}"


def eval_at(folder: Path, data: str, more: str = "") -> Path:
    file = folder / "eval.yaml"
    judge = "judges: [{kind: aspect, criteria: The mark must end in Y.}]"
    file.write_text(f"data: {data}\nmodels: scripted\n{judge}\n{more}")
    return file


def test_a_file_address_is_the_path_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "мои данные"
    marked_file(folder)
    at = folder.as_uri()
    assert "%20" in at
    file = eval_at(tmp_path, f"{at}/rows.jsonl", f"outputs: ['{at}/out.csv']")
    said = carried_out("run", str(file), "--no-cache", "--run", str(tmp_path / "run"), "--yes")
    assert (folder / "out.csv").is_file(), said
    said = carried_out("export", str(tmp_path / "run"), "-o", f"{at}/again.csv")
    assert (folder / "again.csv").read_bytes() == (folder / "out.csv").read_bytes(), said


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://host/rows.csv", "give the path of a file, or an address such as s3://"),
        ("s3://bucket", "give the path of a file"),
        ("file://host/rows.csv", "give the path of a file"),
        (f"s3://key:{SECRET}@bucket/rows.csv", "put credentials into the environment"),
        (f"az://box/rows.csv?sig={SECRET}", "put credentials into the environment"),
    ],
)
def test_addresses_that_lead_nowhere_or_hold_a_secret_are_refused(
    tmp_path: Path, address: str, said: str
) -> None:
    file = eval_at(tmp_path, address)
    for words in (("run", str(file)), ("run", str(file), "--data", address)):
        out = carried_out(*words)
        assert said in out and SECRET not in out
    with pytest.raises(SetupError, match=said):
        location_of(address, tmp_path)


def test_traces_and_watching_need_files_of_this_machine(tmp_path: Path) -> None:
    file = eval_at(tmp_path, "{path: 's3://bucket/traces.jsonl', as: otlp}")
    assert "agent traces must be on this machine" in carried_out("run", str(file))
    file = eval_at(tmp_path, "s3://bucket/rows.csv")
    assert "--watch needs rows on this machine" in carried_out("run", str(file), "--watch")


def test_without_the_extra_the_way_out_is_said(tmp_path: Path) -> None:
    if find_spec("obstore"):
        pytest.skip("obstore is installed here")
    assert "adjudge[objects]" in carried_out("run", str(eval_at(tmp_path, "s3://bucket/rows.csv")))


@pytest.fixture(params=["s3", "gs", "az"])
def at(request: pytest.FixtureRequest) -> str:
    """The address of a bucket, of each kind."""
    return bucket(request.param)


def put(content: bytes, address: str, folder: Path) -> str:
    (folder / "put").write_bytes(content)
    found = location_of(address, folder)
    assert isinstance(found, ObjectFile)
    found.replace_by(folder / "put")
    return str(found)


def test_a_run_from_a_bucket_into_a_bucket_is_that_from_a_file(at: str, tmp_path: Path) -> None:
    local = marked_file(tmp_path)
    rows = put((tmp_path / "rows.jsonl").read_bytes(), f"{at}/in/some rows.jsonl", tmp_path)
    text = (tmp_path / "eval.yaml").read_text().replace("rows.jsonl", f"'{rows}'")
    target = f"{at}/out/results.csv"
    (tmp_path / "far.yaml").write_text(f"{text}outputs: ['{target}']\n")
    words = ("run", str(tmp_path / "far.yaml"), "--no-cache", "--run", str(tmp_path / "far"))
    said = carried_out(*words, "--yes")
    assert (tmp_path / "far").is_dir(), said
    assert run_info(tmp_path / "far").state == "complete"
    table, lines = exported(tmp_path / "far")
    found = location_of(target, tmp_path)
    assert isinstance(found, ObjectFile) and found.read_bytes() == table
    assert carried_out(*words, "--yes", "--json").count("results.csv") >= 1  # and nothing is asked
    one, _ = exported(on_one_machine(local, tmp_path / "one"))
    assert table.count(b"\n") == one.count(b"\n") and lines
    far = parse_eval(text, tmp_path / "far.yaml")
    for part in partitions(far, 5):
        judge_partition(part, far, tmp_path / "store", cache=False)
    merge_partitions(tmp_path / "store", tmp_path / "parts")
    assert exported(tmp_path / "parts")[0] == table


def test_what_is_wrong_in_a_bucket_is_said_without_keys(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = on_one_machine(marked_file(tmp_path), tmp_path / "one")
    with pytest.raises(WrongData, match=r"none\.csv cannot be read: there is no such object"):
        list(read_instances(f"{at}/none.csv"))
    with pytest.raises(SetupError, match="there is no such bucket"):
        export(run, f"{at.partition(':')[0]}://no-such-bucket/out.csv")
    if at.startswith("gs"):
        return
    for variable in ("AWS_ENDPOINT_URL", "AZURE_ENDPOINT"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_KEY"):
        monkeypatch.setenv(variable, b64encode(SECRET.encode()).decode())
    monkeypatch.setattr("adjudge.core.reading.objects._PATIENCE", timedelta(seconds=1))
    said = carried_out("export", str(run), "-o", f"{at}/out.csv")
    assert "cannot be reached" in said and os.environ["AWS_SECRET_ACCESS_KEY"] not in said


def test_an_export_that_fails_leaves_what_was_there(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = on_one_machine(marked_file(tmp_path), tmp_path / "one")
    before = put(b"as it was", f"{at}/kept/out.csv", tmp_path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("adjudge.runs.exporters.export.cell", fail)
    with pytest.raises(RunError, match="cannot be written: disk full"):
        export(run, before)
    assert ObjectFile(before).read_bytes() == b"as it was"
    monkeypatch.undo()
    export(run, before)
    assert ObjectFile(before).read_bytes().startswith("\ufeff".encode())


def test_a_large_object_is_read_a_piece_at_a_time(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = b"".join(b'{"response": "%06d %s"}\n' % (n, b"x" * 200) for n in range(2000))
    address = put(lines, f"{at}/large/rows.jsonl", tmp_path)
    pieces: list[int] = []

    class Watched(_Ranges):
        def readinto(self, buffer: Any, /) -> int:
            pieces.append(len(buffer))
            return super().readinto(buffer)

    monkeypatch.setattr("adjudge.core.reading.objects._AT_ONCE", 2**16)
    monkeypatch.setattr("adjudge.core.reading.objects._Ranges", Watched)
    assert sum(1 for _ in read_instances(address)) == 2000
    assert max(pieces) <= 2**16 and len(pieces) >= len(lines) // 2**16
