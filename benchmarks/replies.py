"""How often replies are asked again, per family of models: ``python benchmarks/replies.py``.

Reads the table of hard replies (``tests/core/verdicts/replies``) and, if the public records are
there, the recorded replies of real judges. ``--data``: the folder with the public records.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice
from adjudge.core.verdicts.reader import read

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "core" / "verdicts")]
PASS_FAIL = Choice(("PASS", "FAIL"))
OUTPUTS = Choice(("Output (a)", "Output (b)"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    print_table()
    data = parser.parse_args().data
    if data.is_dir():
        print_recorded(data)


def print_table() -> None:
    """Print wrong and needless readings of the hard replies per family."""
    from replies_table import cases

    counts: dict[str, list[int]] = {}
    for case in cases():
        verdict = case.read
        family = counts.setdefault(case.family, [0, 0, 0, 0])
        is_clear = case.says is not None and not case.hard
        is_wrong = verdict is not None and not case.fits(verdict)
        for at, value in enumerate((True, is_wrong, is_clear, is_clear and verdict is None)):
            family[at] += value
    print(f"{'family':24} replies  wrong  clear  asked again")
    totals = [sum(column) for column in zip(*counts.values(), strict=True)]
    for family, (replies, wrong, clear, again) in [*counts.items(), ("all", totals)]:
        share = f"({again / clear:.0%})" if clear else ""
        print(f"{family:24} {replies:7}  {wrong:5}  {clear:5}  {again:5} {share}")


def print_recorded(data: Path) -> None:
    """Print how many replies of real judges are asked again."""
    print(f"\n{'recorded replies':24} replies  asked again")
    for name, question, texts in recorded(data):
        again = sum(read(Reply(text), question).verdict is None for text in texts)
        print(f"{name:24} {len(texts):7}  {again:5}")


def recorded(data: Path) -> Iterator[tuple[str, Choice, list[str]]]:
    """Yield the recorded replies of each judge, with what it was asked."""
    llmbar = [json.loads(line) for line in (data / "llmbar_recorded.jsonl").open(encoding="utf-8")]
    for judge in sorted({row["judge"] for row in llmbar}):
        raw = [
            row[f"raw_swap_{swapped}"]
            for row in llmbar
            for swapped in (False, True)
            if row["judge"] == judge and f"raw_swap_{swapped}" in row
        ]
        yield f"LLMBar, {judge}, short", OUTPUTS, [text for text in raw if len(text) < 20]
        yield f"LLMBar, {judge}, reasoned", OUTPUTS, [text for text in raw if len(text) >= 20]
    agents = [json.loads(line) for line in (data / "agent_cases.jsonl").open(encoding="utf-8")]
    for judge in ("naive", "phoenix"):
        texts = [vote["raw"] for row in agents for vote in row["judges"][judge]]
        yield f"agent cases, {judge}", PASS_FAIL, texts


if __name__ == "__main__":
    main()
