"""Write what irrCAC and crowd-kit say of random tables: they need older packages than the tests, so
their answers are kept.

python -m venv oracles && oracles/bin/pip install irrCAC==0.4.4 crowd-kit==1.4.2
oracles/bin/python tests/tools/second_oracles.py tests/stats/second_oracles.json
"""

from __future__ import annotations

import json
import math
import random
import sys
import warnings
from pathlib import Path

import pandas
from crowdkit.aggregation import DawidSkene
from irrCAC.raw import CAC

Ratings = list[list[int | None]]


def ac1_tables(choice: random.Random, count: int) -> list[dict[str, object]]:
    """Rows of raters with gaps, and Gwet's AC1 of them (None where the package has none)."""
    found: list[dict[str, object]] = []
    for _ in range(count):
        rows, raters, options = choice.randint(2, 12), choice.randint(2, 4), choice.randint(2, 4)
        gaps = choice.choice([0, 0.2, 0.4])
        table: Ratings = [
            [None if choice.random() < gaps else choice.randrange(options) for _ in range(raters)]
            for _ in range(rows)
        ]
        if all(one is None for row in table for one in row):
            continue
        found.append({"rows": table, "ac1": _ac1(table)})
    return found


def _ac1(table: Ratings) -> float | None:
    try:
        value = CAC(pandas.DataFrame(table, dtype="float"), digits=12).gwet()["est"][
            "coefficient_value"
        ]
    except (ZeroDivisionError, ValueError, IndexError):
        return None
    return None if math.isnan(value) else float(value)


def panels(choice: random.Random, count: int) -> list[dict[str, object]]:
    """Votes of members of unequal quality, and Dawid and Skene's posterior of each row."""
    found: list[dict[str, object]] = []
    for _ in range(count):
        members, options = choice.randint(3, 6), choice.randint(2, 3)
        truth = [choice.randrange(options) for _ in range(40)]
        skill = [choice.uniform(0.45, 0.95) for _ in range(members)]
        votes = [
            (
                f"row {row}",
                f"member {member}",
                true if choice.random() < skill[member] else choice.randrange(options),
            )
            for row, true in enumerate(truth)
            for member in range(members)
            if choice.random() < 0.9
        ]
        model = DawidSkene(n_iter=100, tol=1e-6).fit(
            pandas.DataFrame(votes, columns=["task", "worker", "label"])
        )
        found.append(
            {
                "votes": votes,
                "probabilities": {
                    task: {str(k): float(v) for k, v in row.items()}
                    for task, row in model.probas_.iterrows()
                },
            }
        )
    return found


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    choice = random.Random(17)
    answers = {"ac1": ac1_tables(choice, 200), "panels": panels(choice, 12)}
    Path(sys.argv[1]).write_text(
        json.dumps(answers, separators=(",", ":")) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
