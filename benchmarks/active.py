"""What drawing some rows oftener than others is worth, and whether its number stays right.

python benchmarks/active.py                              how often the interval holds, by simulation
python benchmarks/active.py --data ../shared/data        labels saved on recorded judges as well
python benchmarks/active.py --quick                      a few cells, in seconds

Rows are drawn and corrected by the very functions that ``adjudge label --queue random-…`` and
``calibrate`` use. A population of 2,000 rows is drawn anew for every sample; of recorded judges by
drawing their rows with replacement.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from adjudge.stats.correction import Stratum, labels_only, post_stratified, stratify
from adjudge.stats.estimate import Estimate
from adjudge.stats.refusal import too_few
from adjudge.trust.labels.weighting import WeightedQueue, Weighting, quotas

ROWS = 2000
BAR = 0.93
DOUBTFUL = 1 / 3


class JudgedText(NamedTuple):
    """A row: what people would say, what the judge says, and how much speaks against it."""

    truth: float
    verdict: str
    doubt: float


Source = Callable[[random.Random], list[JudgedText]]


def synthetic(rate: float, errors: tuple[float, float], divided: float) -> Source:
    """Rows of which a share is doubtful; ``errors``: how often the judge errs on sure ones and on
    doubtful ones.
    """

    def rows(choice: random.Random) -> list[JudgedText]:
        found = []
        for _ in range(ROWS):
            truth, doubtful = choice.random() < rate, choice.random() < divided
            passed = truth != (choice.random() < errors[doubtful])
            found.append(JudgedText(float(truth), "PASS" if passed else "FAIL", 0.5 * doubtful))
        return found

    return rows


def kinds(rows: Sequence[JudgedText], queue: WeightedQueue) -> list[tuple[str, str]]:
    """The verdict and the kind of each row, as the queue has them."""
    cut = sorted((row.doubt for row in rows), reverse=True)[int(len(rows) * DOUBTFUL)]
    weighting = Weighting(queue, repr(cut))
    return [(row.verdict, weighting.kind_of_signal(row.doubt)) for row in rows]


def corrected(
    rows: Sequence[JudgedText], keys: Sequence[tuple[str, str]], wanted: dict[tuple[str, str], int]
) -> Estimate | None:
    """The corrected rate by the first rows of each kind; rows lie in random order."""
    labels: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, key in zip(rows, keys, strict=True):
        if len(labels[key]) < wanted[key]:
            labels[key].append(row.truth)
    counts = Counter(keys)
    strata = [Stratum(" ".join(key), counts[key], tuple(labels[key])) for key in sorted(counts)]
    return None if too_few(strata, every=True) else post_stratified(strata)


def plain(rows: Sequence[JudgedText], count: int) -> tuple[Estimate | None, int]:
    """By rows drawn among all, as ``--queue random`` does."""
    strata = [
        Stratum(
            verdict,
            sum(row.verdict == verdict for row in rows),
            tuple(row.truth for row in rows[:count] if row.verdict == verdict),
        )
        for verdict in sorted({row.verdict for row in rows})
    ]
    return None if too_few(strata) else post_stratified(strata), count


def weighted(rows: Sequence[JudgedText], count: int) -> tuple[Estimate | None, int]:
    """By about as many rows of which the doubtful ones are drawn oftener."""
    queue: WeightedQueue = "random-disagreement"
    keys = kinds(rows, queue)
    wanted = quotas(Counter(keys), queue, count)
    return corrected(rows, keys, wanted), sum(wanted.values())


WAYS = {"random": plain, "weighted": weighted}


class Measured(NamedTuple):
    """Of one way to draw: how often the interval that is shown holds, its width, and labels."""

    holds: float
    width: float
    labels: float


def measure(source: Source, truth: float, count: int, draws: int) -> dict[str, Measured]:
    """Both ways on the same populations."""
    choice = random.Random(f"{truth} {count}")
    found: dict[str, list[tuple[bool, float, int]]] = defaultdict(list)
    for _ in range(draws):
        rows = source(choice)
        for name, way in WAYS.items():
            one, labels = way(rows, count)
            if one is not None and one.lower is not None and one.upper is not None:
                found[name].append((one.lower <= truth <= one.upper, one.upper - one.lower, labels))
    return {
        name: Measured(*(fmean(column) for column in zip(*each, strict=True)))
        for name, each in found.items()
    }


def saving(found: dict[str, Measured]) -> float:
    """The share of labels that is saved at equal width: widths shrink with the root of their
    number.
    """
    one, other = found["random"], found["weighted"]
    return 1 - (other.width / one.width) ** 2 * other.labels / one.labels


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def recorded(data: Path) -> Iterator[tuple[str, list[JudgedText]]]:
    """Recorded judges, each with how much other votes speak against its verdict."""
    pairs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in read(data / "llmbar_recorded.jsonl"):
        pairs[f"{one['judge']} {one['id']}"].append(one)
    for judge in sorted({str(each[0]["judge"]) for each in pairs.values()}):
        found = []
        for name, each in pairs.items():
            if name.startswith(f"{judge} "):
                said = [
                    str(one[way])
                    for one in each
                    for way in ("winner_swap_False", "winner_swap_True")
                ]
                verdict, votes = Counter(said).most_common(1)[0]
                right = float(str(each[0]["label"]) == "1")
                found.append(JudgedText(right, verdict, 1 - votes / len(said)))
        yield f"LLMBar, {judge}, ten votes", found
    records = read(data / "pandalm.jsonl")
    names = {"1": "1", "2": "2", "0": "0", "tie": "0"}
    for judge, other in (("pandalm-7b", "gpt-3.5-turbo"), ("gpt-3.5-turbo", "pandalm-7b")):
        found = []
        for one in records:
            own, beside = (
                names.get(str(one["judges"][each]["verdict"]).casefold(), "0")
                for each in (judge, other)
            )
            truth = Counter(map(str, one["human_votes"])).most_common(1)[0][0]
            found.append(JudgedText(float(truth == "1"), own, 0.5 * (own != beside)))
        yield f"PandaLM, {judge}, {other} beside it", found
    cases = read(data / "agent_cases.jsonl")
    for judge in ("naive", "phoenix", "deepeval", "opik"):
        found = []
        for one in cases:
            said = ["PASS" if each["verdict_pass"] else "FAIL" for each in one["judges"][judge]]
            verdict, votes = Counter(said).most_common(1)[0]
            others = [
                one["judges"][each][0]["verdict_pass"] != (verdict == "PASS")
                for each in one["judges"]
            ]
            found.append(
                JudgedText(float(one["label"] == "correct"), verdict, 1 - votes / 3 + fmean(others))
            )
        yield f"agent cases, {judge}, a panel of four", found


def drawn_from(known: Sequence[JudgedText]) -> Source:
    """Populations of recorded rows, drawn with replacement."""
    return lambda choice: choice.choices(known, k=ROWS)


def coverage(draws: int, *, quick: bool) -> int:
    """Print how often the interval holds in cells of known truth, and say whether it is enough."""
    cells = list(
        product(
            (0.5, 0.8, 0.95, 0.99),
            ((0.02, 0.3), (0.05, 0.35), (0.1, 0.45), (0.3, 0.3), (0.5, 0.5)),
            (0.05, 0.3),
            (50, 100, 200),
        )
    )
    found: dict[str, dict[str, Measured]] = {}
    for rate, errors, divided, count in cells[::17] if quick else cells:
        name = f"θ={rate}, errs {errors[0]}/{errors[1]}, {divided:.0%} doubtful, {count} labels"
        found[name] = measure(synthetic(rate, errors, divided), rate, count, draws)
    shown = {name: each for name, each in found.items() if "weighted" in each}
    print(f"{len(shown)} cells of {len(found)} with a number, {draws} draws each\n")
    print("| worst cells | holds | random |\n|---|--:|--:|")
    for name in sorted(shown, key=lambda each: shown[each]["weighted"].holds)[:6]:
        plainly = shown[name].get("random")
        beside = f"{plainly.holds:.3f}" if plainly else "–"
        print(f"| {name} | {shown[name]['weighted'].holds:.3f} | {beside} |")
    saved = [saving(each) for each in shown.values() if "random" in each]
    print(f"\nlabels saved: median {median(saved):.0%}, from {min(saved):.0%} to {max(saved):.0%}")
    slack = 2 * (BAR * (1 - BAR) / draws) ** 0.5
    return sum(each["weighted"].holds < BAR - slack for each in shown.values())


def savings(data: Path, draws: int) -> None:
    """Print what drawing by doubt saves on recorded judges."""
    print("\n| recorded judge | labels | random: width, holds | weighted: width, holds | saved |")
    print("|---|--:|--:|--:|--:|")
    for name, known in recorded(data):
        truth = fmean(row.truth for row in known)
        for count in (100, 200):
            found = measure(drawn_from(known), truth, count, draws)
            one, other = found["random"], found["weighted"]
            print(
                f"| {name} | {count} | {one.width:.3f}, {one.holds:.2f} | {other.width:.3f}, "
                f"{other.holds:.2f} | {saving(found):.0%} |"
            )


def widths(data: Path, draws: int) -> None:
    """Print how much narrower recorded judges make the interval of 50 and of 100 labels, drawn
    among as many rows as were recorded, and how often that of exactly these rows holds their mean.
    """
    print("\n| recorded judge | rows | labels | alone | corrected | these rows | they hold |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, known in recorded(data):
        choice, truth = random.Random(name), fmean(row.truth for row in known)
        for count in (50, 100):
            found = [
                one
                for _ in range(draws if len(known) > count else 0)
                if (one := three_intervals(choice.sample(known, len(known)), count))
            ]
            if found:
                alone, like, these = (
                    fmean(one.width or 0 for one in each) for each in zip(*found, strict=True)
                )
                holds = fmean((one.lower or 0) <= truth <= (one.upper or 0) for _, _, one in found)
                print(
                    f"| {name} | {len(known)} | {count} | {alone:.3f} | {like:.3f} | {these:.3f} | "
                    f"{holds:.2f} |"
                )


def three_intervals(
    rows: Sequence[JudgedText], count: int
) -> tuple[Estimate, Estimate, Estimate] | None:
    """By the labels alone, corrected, and corrected for exactly these rows; None if too few."""
    said = [row.verdict for row in rows]
    labels = [row.truth if place < count else None for place, row in enumerate(rows)]
    strata = stratify(said, labels, sorted(set(said)))
    if too_few(strata):
        return None
    return (
        labels_only([row.truth for row in rows[:count]]),
        post_stratified(strata),
        post_stratified(strata, these_rows=True),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of public records")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    failed = coverage(given.draws, quick=given.quick)
    if given.data:
        savings(given.data, given.draws)
        widths(given.data, given.draws)
    if failed:
        print(f"{failed} cells hold less often than {BAR}", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
