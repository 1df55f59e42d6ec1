"""The job of an engineer with a company gateway and a gate in CI: one command,
over a real socket.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest

from support.asking import marked
from support.commands import adjudge
from support.fake_provider import KEY, FakeProvider

ROWS = int(os.environ.get("ADJUDGE_RECORDS", "100"))
CRITERIA = ("Does it end in Y?", "Is it polite?", "Is it short?")
EVAL = f"""
data: rows.csv
models: openai/gpt-4o-mini
judges:
  - {{kind: direct, name: answers, criteria: {json.dumps(CRITERIA)}}}
run: runs/nightly
outputs: [out/report.html, out/rows.csv]
gates: {{fail_under: {{"Does it end in Y?": 0.9}}}}
"""


@pytest.fixture
def folder(tmp_path: Path, provider: FakeProvider) -> Path:
    rows = marked(ROWS)
    (tmp_path / "rows.csv").write_text(
        "id,answer,human\n" + "".join(f"r{n},{text},ok\n" for n, text in enumerate(rows))
    )
    (tmp_path / "eval.yaml").write_text(EVAL)
    (tmp_path / "adjudge.toml").write_text(
        f'base_url = "{provider.base_url("company")}"\n[headers]\nX-Gateway-Key = '
        '"$GATEWAY_KEY"\nX-Team = "search"\n'
    )
    return tmp_path


def nightly(folder: Path, key: str, *more: str) -> subprocess.CompletedProcess[str]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_API_KEY", "_BASE_URL"))
    }
    return adjudge(
        "run",
        "eval.yaml",
        "--json",
        "--no-cache",
        "-q",
        *more,
        cwd=folder,
        environment={**own, "GATEWAY_KEY": key},
    )


def test_many_rows_three_criteria_one_gate(folder: Path, provider: FakeProvider) -> None:
    done = nightly(folder, KEY)
    assert done.returncode == 4, done.stderr
    assert len(provider.requests) == ROWS * len(CRITERIA)
    assert {request.protocol for request in provider.requests} == {"company"}
    found = json.loads(done.stdout)
    assert found["summary"]["attempted"] == found["summary"]["scored"] == ROWS * len(CRITERIA)
    assert [(one["criteria"], one["attempted"]) for one in found["criteria"]] == [
        (name, ROWS) for name in CRITERIA
    ]
    (gate,) = found["gates"]
    mean = found["criteria"][0]["mean"]
    assert (gate["name"], gate["verdict"], gate["bar"], gate["value"]) == (
        CRITERIA[0],
        "failed",
        0.9,
        mean,
    )
    assert gate["margin"] == pytest.approx(mean - 0.9)
    assert gate["message"] in done.stderr
    assert [Path(name).name for name in found["files"]] == ["report.html", "rows.csv"]
    page = (folder / "out/report.html").read_text(encoding="utf-8")
    assert gate["message"].split(":")[0] in page
    assert all(name in page for name in CRITERIA)
    rows = list(
        csv.DictReader((folder / "out/rows.csv").read_text(encoding="utf-8-sig").splitlines())
    )
    assert len(rows) == ROWS * len(CRITERIA)
    assert {row["human"] for row in rows} == {"ok"}
    assert KEY not in done.stdout + done.stderr + page


def test_a_wrong_key_costs_three_requests_at_most_and_is_one_line(
    folder: Path, provider: FakeProvider
) -> None:
    done = nightly(folder, "sk-wrong")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(provider.requests) <= 3
    lines = [line for line in done.stderr.splitlines() if "401" in line]
    assert len(lines) == 1
    assert "check the API key" in lines[0]
    assert "sk-wrong" not in done.stderr
    again = nightly(folder, KEY)
    assert again.returncode == 4, again.stderr
