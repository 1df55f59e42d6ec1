"""How often a threshold learnt from labels keeps its promise: at most ALPHA of the accepted
verdicts are wrong, in at least 1 - DELTA of the times that a threshold is learnt.

    python benchmarks/decision_promise.py --data FOLDER [--splits 1000]

Sets: LLMBar's labels with the share of ten recorded votes (five prompts, both orders) of GPT-4 and
of ChatGPT as the probability; QAGS' labels with the recorded probabilities of UniEval; and
simulated judges, on as many rows as PandaLM and HaluEval have, whose probabilities are rounded to
two decimals and more sure than they are right. A split learns from a random half of the labels.
"kept" is the share of splits whose threshold has a true error of at most ALPHA: for simulated
judges the error is known; of recorded ones it is that of the whole set, from which the half was
drawn with replacement. "held-out" counts the errors among the accepted rows of the other half
instead, which vary by chance as well. A split without a threshold accepts nothing and keeps it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from adjudge.stats.selective import threshold
from adjudge.stats.temperature import calibrate

RISKS = ((0.05, 0.1), (0.1, 0.05), (0.1, 0.1), (0.2, 0.05))
_POPULATION = 20_000
Row = tuple[float, bool]
"""The probability of the verdict, and whether it is right."""


@dataclass(frozen=True)
class LabelledSet:
    """Rows to learn from, and rows that tell the true error of a threshold."""

    name: str
    rows: Sequence[Row]
    population: Sequence[Row]
    is_simulated: bool = False


@dataclass
class Kept:
    """What came of the splits of one set."""

    kept: int = 0
    held_out: int = 0
    learnt: int = 0
    accepted: float = 0.0
    splits: int = 0


class Population:
    """Rows by their probability, so that the error above any threshold is looked up."""

    def __init__(self, rows: Sequence[Row]) -> None:
        ordered = sorted(rows)
        self._probabilities = [p for p, _ in ordered]
        self._wrong = [0, *accumulate(not ok for _, ok in ordered)]

    def is_within(self, confidence: float | None, risk: float) -> bool:
        """Return True if at most ``risk`` of the accepted rows are wrong."""
        if confidence is None:
            return True
        first = bisect_left(self._probabilities, confidence)
        accepted = len(self._probabilities) - first
        return self._wrong[-1] - self._wrong[first] <= risk * accepted


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--splits", type=int, default=1000)
    options = parser.parse_args()
    recorded = [*recorded_sets(options.data), unieval_set(options.data)]
    found = [*recorded, *simulated_sets(options.data)]
    print("| set | rows | alpha | delta | kept | held-out | a threshold | accepted |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    worst = 1.0
    for one in found:
        for risk, doubt in RISKS:
            result = split(one, risk, doubt, options.splits)
            share = result.kept / result.splits
            worst = min(worst, share - (1 - doubt))
            accepted = result.accepted / result.learnt if result.learnt else 0.0
            print(
                f"| {one.name} | {len(one.rows)} | {risk} | {doubt} | {share:.3f} | "
                f"{result.held_out / result.splits:.3f} | {result.learnt / result.splits:.2f} | "
                f"{accepted:.2f} |"
            )
    print(f"\nkept at least as often as promised, in every line: {'yes' if worst >= 0 else 'no'}")
    print("\n| set | temperature | error before | error after |\n|---|--:|--:|--:|")
    for one in found:
        shares = [({"right": p, "wrong": 1 - p}, "right" if ok else "wrong") for p, ok in one.rows]
        fitted = calibrate(shares)
        if fitted.value is None or fitted.before is None or fitted.after is None:
            continue
        print(
            f"| {one.name} | {fitted.value:.2f} | {interval(fitted.before)} | "
            f"{interval(fitted.after)} |"
        )


def interval(estimate: object) -> str:
    """An estimate with its limits."""
    value, lower, upper = (getattr(estimate, name) for name in ("value", "lower", "upper"))
    return f"{value:.3f} ({lower:.3f}–{upper:.3f})" if lower is not None else f"{value:.3f}"


def split(labelled: LabelledSet, risk: float, doubt: float, splits: int) -> Kept:
    """Learn from a random half, again and again."""
    choice = random.Random(f"{labelled.name} {risk} {doubt}")
    population = Population(labelled.population)
    result = Kept(splits=splits)
    for _ in range(splits):
        half = len(labelled.rows) // 2
        if labelled.is_simulated:
            mixed = choice.sample(labelled.population, len(labelled.rows))
            learn, rest = mixed[:half], mixed[half:]
        else:
            learn = choice.choices(labelled.rows, k=half)
            rest = list(labelled.rows)
        halves = choice.sample(list(labelled.rows), len(labelled.rows))
        found = threshold([p for p, _ in learn], [ok for _, ok in learn], risk=risk, doubt=doubt)
        result.kept += population.is_within(found.confidence, risk)
        if found.confidence is not None:
            result.learnt += 1
            result.accepted += sum(p >= found.confidence for p, _ in rest) / len(rest)
        other = threshold(
            [p for p, _ in halves[:half]], [ok for _, ok in halves[:half]], risk=risk, doubt=doubt
        )
        result.held_out += is_within(halves[half:], other.confidence, risk)
    return result


def is_within(rows: Iterable[Row], confidence: float | None, risk: float) -> bool:
    """Return True if at most ``risk`` of the accepted rows are wrong."""
    if confidence is None:
        return True
    accepted = [ok for p, ok in rows if p >= confidence]
    return accepted.count(False) <= risk * len(accepted)


def recorded_sets(data: Path) -> list[LabelledSet]:
    """LLMBar by two recorded judges: the share of their ten votes."""
    votes: dict[tuple[str, str], list[int]] = defaultdict(list)
    truths: dict[str, int] = {}
    for line in (data / "llmbar_recorded.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truths[row["id"]] = int(row["label"])
        for order in ("winner_swap_False", "winner_swap_True"):
            if str(row.get(order)) in ("1", "2"):
                votes[row["judge"], row["id"]].append(int(row[order]))
    found = []
    for judge in ("GPT-4", "ChatGPT"):
        rows = []
        for (name, id), given in votes.items():
            first = given.count(1) / len(given)
            if name == judge and first != 0.5:
                verdict = 1 if first > 0.5 else 2
                rows.append((round(max(first, 1 - first), 2), verdict == truths[id]))
        found.append(LabelledSet(f"LLMBar, {judge}", rows, rows))
    return found


def simulated_sets(data: Path) -> list[LabelledSet]:
    """As many labels as PandaLM and HaluEval have, each with judges that are too sure."""
    sizes = {
        name: len((data / f"{file}.jsonl").read_text(encoding="utf-8").splitlines())
        for name, file in (("PandaLM", "pandalm"), ("HaluEval", "halueval400"))
    }
    found = []
    for name, size in sizes.items():
        for skill in (1.0, 2.0, 3.5):
            choice = random.Random(f"{name} {skill}")
            people = [simulated_row(choice, skill) for _ in range(_POPULATION)]
            label = f"{name}-sized, simulated, skill {skill}"
            found.append(LabelledSet(label, people[:size], people, is_simulated=True))
    return found


def simulated_row(choice: random.Random, skill: float) -> Row:
    """A verdict of a judge whose log-odds are noisy, and twice as large as they should be; its
    probability in two decimals.
    """
    evidence = choice.gauss(skill / 2, math.sqrt(skill))
    stated = 1 / (1 + math.exp(-2 * evidence))
    probability = round(max(stated, 1 - stated), 2)
    return probability, evidence > 0


def unieval_set(data: Path) -> LabelledSet:
    """QAGS with the recorded probabilities of UniEval, a model that answers yes or no."""
    rows = []
    for line in (data / "qags_cnn.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        people, yes = float(row["human_consistency"]), float(row["unieval_pred"]["consistency"])
        if people != 0.5:
            rows.append((round(max(yes, 1 - yes), 2), (yes > 0.5) == (people > 0.5)))
    return LabelledSet("QAGS, UniEval", rows, rows)


if __name__ == "__main__":
    main()
