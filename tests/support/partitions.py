"""An eval file over marked rows, judged by one process or by several, and what comes out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adjudge.runs.eval_file import EvalFile, parse_eval
from adjudge.runs.execute import execute
from adjudge.runs.exporters.export import export
from adjudge.runs.plan import resolve

JUDGES = """judges:
  - {kind: aspect, criteria: The mark must end in Y., strictness: 3}
  - {kind: direct, name: d, criteria: ['Is it?', 'Was it?']}
"""


def marked_file(
    folder: Path, rows: int = 12, *, models: str = "scripted", judges: str = JUDGES, more: str = ""
) -> EvalFile:
    """An eval file with its rows; two of them are the same, and one cannot be judged."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"id": str(n), "answer": f"REC-{n % max(rows - 1, 1):05}-Y"})
        for n in range(rows)
    ]
    (folder / "rows.jsonl").write_text("\n".join([*lines[:3], '{"id": "bad"', *lines[3:]]))
    text = f"data: rows.jsonl\nmodels: {models}\n{judges}{more}"
    (folder / "eval.yaml").write_text(text)
    return parse_eval(text, folder / "eval.yaml")


def on_one_machine(file: EvalFile, folder: Path) -> Path:
    """The ordinary run."""
    with execute(resolve(file, cache=False, folder=folder)) as events:
        list(events)
    return folder


def exported(folder: Path) -> tuple[bytes, bytes]:
    """The run as CSV, and as JSONL without the moments of its votes."""
    export(folder, folder / "out.csv")
    export(folder, folder / "out.jsonl")
    lines = (folder / "out.jsonl").read_bytes().splitlines()
    return (folder / "out.csv").read_bytes(), b"\n".join(
        json.dumps(one).encode() for one in map(_timeless, lines)
    )


def _timeless(line: bytes) -> Mapping[str, Any]:
    row: dict[str, Any] = json.loads(line)
    return {**row, "votes": list(_without_moments(row["votes"]))}


def _without_moments(votes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for vote in votes:
        yield {name: value for name, value in vote.items() if name not in ("at", "latency")}
