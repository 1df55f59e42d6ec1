"""Rows without a value in the grouping column are counted once, whatever they are judged by."""

from __future__ import annotations

import json
from pathlib import Path

from support import commands

EVAL = """
data: rows.jsonl
models: [scripted]
checks: [{contains: o}]
judges:
  - {kind: aspect, name: dates, criteria: It gives a date., per: turn}
  - kind: direct
    name: tone
    criteria:
      - {name: kind, description: Is it kind, options: [Yes, No], good: Yes}
      - {name: calm, description: Is it calm, options: [Yes, No], good: Yes}
gates: {fail_under: 0.1, confidence: 0.9, cluster: team}
"""


def test_rows_are_counted_not_their_judgments_or_turns(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"c{number}",
            "team": "red" if number % 3 else "",
            "messages": [
                {"role": role, "content": f"{role} {number} {turn} o"}
                for turn in range(2)
                for role in ("user", "assistant")
            ],
        }
        for number in range(12)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(EVAL, encoding="utf-8")
    done = commands.adjudge("run", tmp_path / "eval.yaml", "--run", tmp_path / "run")
    assert "\n4 rows have no value in the column 'team'" in done.stdout
