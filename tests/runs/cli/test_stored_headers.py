"""Header values are not kept in a run folder: only their names and salted hashes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.runs.cli.main import main
from adjudge.runs.cli.stored_headers import hide_headers
from adjudge.runs.folder import run_info
from support.fake_provider import KEY, FakeProvider

Adjudge = Callable[..., tuple[int, str]]
VALUE, OTHER = "team blue 7", "team red 8"
EVAL = """
data: rows.csv
models: [{{model: 'openai/m', base_url: '{url}', headers: {{X-Team: {value}, X-Run: $RUN_NAME}}}}]
judges: [{{kind: aspect, criteria: The answer is short.}}]
"""


@pytest.fixture
def adjudge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Adjudge:
    """A command, in this process: (exit code, what it complained of)."""
    (tmp_path / "rows.csv").write_text("id,answer\n1,REC-00001-Y\n2,REC-00002-N\n3,REC-00003-Y\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("RUN_NAME", "nightly build 9")

    def run(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["adjudge", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), capsys.readouterr().err

    return run


def write(tmp_path: Path, provider: FakeProvider, value: str | None = VALUE) -> Path:
    text = EVAL.format(url=provider.base_url("openai"), value=value or "")
    path = tmp_path / "eval.yaml"
    path.write_text(text if value else text.replace("X-Team: , ", ""))
    return path


def stored(tmp_path: Path) -> dict[str, Any]:
    record: Any = run_info(tmp_path / "runs" / "eval").facts["resume"]
    headers: dict[str, Any] = record["eval"]["file"]["models"][0]["headers"]
    return headers


def files_with(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.iterdir() if text.encode() in path.read_bytes()]


def teams(provider: FakeProvider) -> set[str | None]:
    return {
        request.headers.get("X-Team") for request in provider.requests if request.method == "POST"
    }


def test_only_name_and_hash_of_a_header_are_kept_and_a_resume_finds_the_value(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    with FakeProvider() as provider:
        file = write(tmp_path, provider)
        adjudge("run", file, "--trust", "--max-calls", 1)
        headers = stored(tmp_path)
        assert headers["X-Team"].keys() == {"salt", "hash"}
        assert headers["X-Run"] == "$RUN_NAME"  # a reference is no secret
        assert files_with(tmp_path / "runs" / "eval", VALUE) == []
        assert files_with(tmp_path / "runs" / "eval", "nightly build") == []
        code, said = adjudge("resume", "runs/eval", "--", "--max-calls", 9)
        assert (code, teams(provider)) == (0, {VALUE}), said
        assert files_with(tmp_path / "runs" / "eval", VALUE) == []


def test_a_missing_or_changed_value_is_asked_for(adjudge: Adjudge, tmp_path: Path) -> None:
    with FakeProvider() as provider:
        adjudge("run", write(tmp_path, provider), "--trust", "--max-calls", 1)
        resume: tuple[object, ...] = ("resume", "runs/eval", "--", "--max-calls", 9)
        before = len(provider.requests)
        write(tmp_path, provider, value=None)
        code, said = adjudge(*resume)
        assert code == 1
        assert "keeps only a hash of the header X-Team" in said
        assert "adjudge resume runs/eval -- --header 'X-Team: …'" in said
        write(tmp_path, provider, value=OTHER)
        code, said = adjudge(*resume)
        assert code == 1
        assert "another value of the header X-Team" in said and "eval.yaml" in said
        assert OTHER not in said and len(provider.requests) == before  # nothing was asked
        code, said = adjudge(*resume, "--header", f"X-Team: {OTHER}")
        assert code == 0
        assert "has another value than runs/eval was last run with" in said
        assert teams(provider) == {VALUE, OTHER}


def test_a_header_of_the_project_is_found_again(adjudge: Adjudge, tmp_path: Path) -> None:
    with FakeProvider() as provider:
        project = tmp_path / "adjudge.toml"
        project.write_text(
            f'model = "openai/m"\nbase_url = "{provider.base_url("openai")}"\n'
            f'[headers]\nX-Team = "{VALUE}"\n'
        )
        (tmp_path / "eval.yaml").write_text(
            "data: rows.csv\njudges: [{kind: aspect, criteria: The answer is short.}]\n"
        )
        adjudge("run", "eval.yaml", "--trust", "--max-calls", 1)
        assert files_with(tmp_path / "runs" / "eval", VALUE) == []
        code, said = adjudge("resume", "runs/eval", "--", "--max-calls", 9)
        assert (code, teams(provider)) == (0, {VALUE}), said
        project.write_text(project.read_text().replace(VALUE, OTHER))
        code, said = adjudge("resume", "runs/eval")
        assert code == 1 and "another value of the header X-Team" in said
        assert "adjudge.toml" in said and VALUE not in said and OTHER not in said


def test_a_typed_value_goes_to_one_of_two_servers(adjudge: Adjudge, tmp_path: Path) -> None:
    with FakeProvider() as one, FakeProvider() as two:
        first, second = (
            f"{{model: openai/{name}, base_url: '{server.base_url('openai')}', "
            f"headers: {{X-Team: {value}}}}}"
            for name, server, value in (("m", one, VALUE), ("n", two, OTHER))
        )
        (tmp_path / "eval.yaml").write_text(
            f"data: rows.csv\nmodels: [{first}, {second}]\n"
            "judges: [{kind: aspect, criteria: The answer is short.}]\n"
        )
        adjudge("run", "eval.yaml", "--trust", "--max-calls", 2)
        text = (tmp_path / "eval.yaml").read_text()
        (tmp_path / "eval.yaml").write_text(text.replace(OTHER, "team green 9"))
        resume = ("resume", "runs/eval", "--", "--max-calls", 20)
        assert adjudge(*resume)[0] == 1
        code, said = adjudge(*resume, "--header", "X-Team: team green 9")
        assert code == 0, said
        assert teams(one) == {VALUE} and teams(two) == {OTHER, "team green 9"}


def test_a_typed_value_goes_to_no_server_without_the_header(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    with FakeProvider() as one, FakeProvider() as two:
        text = (
            "data: rows.csv\nmodels: [{model: openai/m, base_url: 'ONE', headers: {X-Team: "
            f"{VALUE}}}}}, {{model: openai/n, base_url: '{two.base_url('openai')}'}}]\n"
            "judges: [{kind: aspect, criteria: The answer is short.}]\n"
        ).replace("ONE", one.base_url("openai"))
        (tmp_path / "eval.yaml").write_text(text)
        adjudge("run", "eval.yaml", "--trust", "--max-calls", 2)
        (tmp_path / "eval.yaml").unlink()
        resume = ("resume", "runs/eval", "--trust", "--", "--max-calls", 20)
        assert "--header 'X-Team: …'" in adjudge(*resume)[1]
        code, said = adjudge(*resume, "--header", f"X-Team: {VALUE}")
        assert code == 0, said
        assert teams(one) == {VALUE} and teams(two) == {None}


def test_a_run_of_an_older_version_is_resumed_and_loses_the_value(
    adjudge: Adjudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeProvider() as provider:
        with monkeypatch.context() as older:
            older.setattr("adjudge.runs.cli.stored_options.hide_headers", lambda record: record)
            adjudge("run", write(tmp_path, provider), "--trust", "--max-calls", 1)
        assert stored(tmp_path)["X-Team"] == VALUE
        write(tmp_path, provider, value=None)
        assert adjudge("resume", "runs/eval", "--", "--max-calls", 9)[0] == 0
        assert teams(provider) == {VALUE}
        assert stored(tmp_path)["X-Team"].keys() == {"salt", "hash"}
        assert files_with(tmp_path / "runs" / "eval", VALUE) == []


def test_a_foreign_run_names_its_hidden_headers_before_it_is_resumed(
    adjudge: Adjudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeProvider() as provider:
        adjudge("run", write(tmp_path, provider), "--trust", "--max-calls", 1)
        monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "another"))
        code, said = adjudge("resume", "runs/eval")
        assert code == 1
        assert "sends   X-Team: …" in said and VALUE not in said


def test_headers_of_options_and_of_the_project_are_hidden() -> None:
    record: dict[str, JsonValue] = {
        "options": {"header": ["X-Team: search", "api-key: $KEY"], "model": ["m"]},
        "project": {"headers": {"X-Tenant": "north", "Authorization": "Bearer abc-$KEY"}},
        "command": "bench",
    }
    assert {"search", "north", "Bearer abc-$KEY"}.isdisjoint(texts(hide_headers(record)))
    assert "api-key: $KEY" in texts(hide_headers(record))


def texts(value: JsonValue) -> set[str]:
    if isinstance(value, dict):
        return set().union(*map(texts, value.values()))
    if isinstance(value, list):
        return set().union(*map(texts, value))
    return {str(value)}


def test_a_stored_record_that_is_nested_too_deep_is_an_error(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    with FakeProvider() as provider:
        adjudge("run", write(tmp_path, provider), "--trust", "--max-calls", 1)
    deep: JsonValue = {}
    for _ in range(300):
        deep = {"x": [deep]}
    with connect(tmp_path / "runs" / "eval" / FILE) as connection:
        write_meta(connection, {"resume": {"options": {}, "project": {}, "eval": {"file": deep}}})
    code, said = adjudge("resume", "runs/eval")
    assert (code, said.count("\n")) == (1, 1)
