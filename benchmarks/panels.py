"""What weights learnt from 50 labels are worth on recorded panels: the weighted panel against its
best member, on the other rows.

python benchmarks/panels.py --data ../shared/data

The penalty of the weights was picked on LLMBar; the other sets had no part in it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from adjudge.stats.panels import majority, weighted_vote, weights_from_labels

Panel = tuple[dict[str, list[str | None]], list[str]]
"""What each member says of each row, and what is true."""


def read(path: Path) -> list[dict[str, object]]:
    """The records of a file."""
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def llmbar(data: Path) -> Panel:
    """Two models, five prompts each, in the first order."""
    records = read(data / "llmbar_recorded.jsonl")
    rows = sorted({str(one["id"]) for one in records})
    said = {
        (f"{one['judge']} {one['strategy']}", str(one["id"])): str(one["winner_swap_False"])
        for one in records
    }
    truth = {str(one["id"]): str(one["label"]) for one in records}
    members = sorted({name for name, _ in said})
    options = {*truth.values()}
    return {
        name: [found if (found := said.get((name, row))) in options else None for row in rows]
        for name in members
    }, [truth[row] for row in rows]


def pandalm(data: Path) -> Panel:
    """Two judges of pairs, ties included, against the majority of three people."""
    records = read(data / "pandalm.jsonl")
    names = {"1": "1", "2": "2", "0": "0", "tie": "0"}
    judges = ("pandalm-7b", "gpt-3.5-turbo")
    votes = {
        judge: [names.get(str(one["judges"][judge]["verdict"]).casefold()) for one in records]  # type: ignore[index]
        for judge in judges
    }
    people = [[str(vote) for vote in one["human_votes"]] for one in records]  # type: ignore[attr-defined]
    return votes, [max("012", key=said.count) for said in people]


def agent_cases(data: Path) -> Panel:
    """Four evaluators of agents, the first of three repeats each."""
    records = read(data / "agent_cases.jsonl")
    votes: dict[str, list[str | None]] = {
        judge: [
            None
            if (first := one["judges"][judge][0])["error"]
            else "PASS"
            if first["verdict_pass"]
            else "FAIL"  # type: ignore[index]
            for one in records
        ]
        for judge in ("naive", "phoenix", "deepeval", "opik")
    }
    return votes, ["PASS" if one["label"] == "correct" else "FAIL" for one in records]


def measured(panel: Panel, labels: int, splits: int) -> tuple[float, float, float, float]:
    """Accuracy on the rows without labels: weighted, majority, the member best on the labels, the
    best on all rows.
    """
    votes, truth = panel
    options, rows, choice = sorted(set(truth)), range(len(truth)), random.Random(0)
    own = {
        name: [one == true for one, true in zip(said, truth, strict=True)]
        for name, said in votes.items()
    }
    best = max(own, key=lambda name: sum(own[name]))
    found = []
    for _ in range(splits):
        known = set(choice.sample(rows, labels))
        rest = [row for row in rows if row not in known]
        weights = weights_from_labels(
            votes, [true if row in known else None for row, true in enumerate(truth)], options
        )
        picked = max(own, key=lambda name: sum(own[name][row] for row in known))
        found.append(
            (
                fmean(
                    weighted_vote({name: said[row] for name, said in votes.items()}, weights)
                    == truth[row]
                    for row in rest
                ),
                fmean(
                    majority({name: said[row] for name, said in votes.items()}) == truth[row]
                    for row in rest
                ),
                fmean(own[picked][row] for row in rest),
                fmean(own[best][row] for row in rest),
            )
        )
    return tuple(map(fmean, zip(*found, strict=True)))  # type: ignore[return-value]


SETS: dict[str, tuple[Callable[[Path], Panel], int]] = {
    "LLMBar (the penalty was picked on it)": (llmbar, 50),
    "PandaLM": (pandalm, 50),
    "agent cases": (agent_cases, 50),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--splits", type=int, default=200)
    options = parser.parse_args()
    print(
        "| set | members | labels | weighted | majority | best on the labels | best on all "
        "rows |\n|---|--:|--:|--:|--:|--:|--:|"
    )
    for name, (load, labels) in SETS.items():
        panel = load(options.data)
        figures = " | ".join(f"{100 * one:.1f}" for one in measured(panel, labels, options.splits))
        print(f"| {name} | {len(panel[0])} | {labels} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
