"""How often the numbers that adjudge prints are right, in the samples in which they are printed:
corrected rates, grades, scores, differences, clusters, gates, few rows, agreement, ratings,
cascades; and how often a judge at chance is told of.

python benchmarks/coverage.py                       all of it; hours on one core
python benchmarks/coverage.py --only clusters paired-gates
python benchmarks/coverage.py --quick               a few cells of each, in some minutes

The cells of a grid that hold least often in a first round are drawn again, with other seeds and
many times as often: only the second round is printed, so that none of them is the worst by luck.
The first round has enough draws to find a cell that holds in 90% of samples: see ``first_round``.
"""

from __future__ import annotations

import argparse
import math
import operator
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations, product
from typing import TypeVar

from adjudge.features.bench.benchmark import chosen_judge
from adjudge.stats.agreement import agreement, balanced_accuracy, cohen_kappa, f1, macro
from adjudge.stats.agreement_intervals import above_chance, above_even_chance, with_limits
from adjudge.stats.bootstrap import Draws
from adjudge.stats.change import AnchorAnswer, change_evidence
from adjudge.stats.correction import (
    Stratum,
    corrected_mean,
    labels_only,
    naive,
    post_stratified,
    stratify,
    with_rows_apart,
)
from adjudge.stats.difference import (
    ComparisonOutcome,
    compare,
    corrected_difference,
    labelled_difference,
)
from adjudge.stats.distributions import beta_cdf
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import rows_interval, scaled_interval
from adjudge.stats.mean_bounds import Units
from adjudge.stats.named_estimators import ppi_plus_plus, rogan_gladen
from adjudge.stats.planning import Binomial
from adjudge.stats.probability import calibration_error
from adjudge.stats.ranking import NamedContest, Standing, Standings, rank
from adjudge.stats.raters import gwet_ac1, krippendorff_alpha
from adjudge.stats.refusal import chance_p_value, no_better_than_chance, too_few
from adjudge.stats.selective import Stage, cascade_thresholds
from adjudge.stats.sequence import sequential_difference, sequential_mean
from adjudge.trust.large_texts import least_apart

Cell = TypeVar("Cell")
ROWS = 2000
RATES = (0.5, 0.8, 0.95)
JUDGES = ((0.95, 0.90), (0.90, 0.60), (0.70, 0.55))
LABELS = (20, 50, 100, 200)
MADE = 30
"""Draws with an estimate, below which nothing is said of how often it is right."""
PATIENCE = 5
"""Draws for each one that is wanted, where most of them show no estimate."""
DOUBTFUL = 0.96
"""Cells that hold no oftener than this in the first draws get five times as many before the worst
are chosen. Of 100 draws of a cell that holds in 90%, more than 96 hold in 1 of 125 first rounds.
"""
AGAIN = 40
"""How many times as often the worst cells are drawn in the second round."""
WORST = 8
"""How many cells of a grid are drawn again, at least: of a large one, one in forty."""
OURS = "post-stratified"
BAR = 0.93
"""The least share of samples in which a 95% interval that is shown may hold the truth."""
GATE_BAR = 0.965
"""The least share of samples in which one limit of a 95% interval may lie on its own side of the
truth: 97.5% are promised.
"""
QUICK: list[bool] = []
"""Not empty: a few cells of each grid alone."""


def some(cells: Iterable[Cell], most: int = 6) -> list[Cell]:
    """All cells; of a quick run, a few that lie far apart."""
    known = list(cells)
    return known[:: max(1, len(known) // most)][:most] if QUICK else known


Draw = Callable[[random.Random], Mapping[str, bool]]
"""Of one sample: whether each interval that is shown holds the truth."""


def grid(
    title: str, cells: Mapping[str, Draw], draws: int, again: int = AGAIN, bar: float = BAR
) -> bool:
    """Print the cells in which the interval holds least often where it is shown, and return True if
    each of them does often enough.
    """
    draws = max(MADE, draws)
    first = first_round({cell: cells[cell] for cell in some(cells)}, draws)
    least = worst_cells(first, bar)
    again = draws if QUICK else draws * again
    second = {}
    for cell in dict.fromkeys(cell for cell, _ in least):
        found = drawn_hits(cell, cells[cell], again, "second")
        second.update({(cell, name): each for name, each in found.items() if (cell, name) in least})
    report(f"{title}: done")
    print(f"\n## {title}: {len(first)} cells by {draws} draws, the worst by {again} more\n")
    print("| worst cells | holds | draws |\n|---|--:|--:|")
    covered = {where: statistics.fmean(hits) for where, hits in second.items()}
    for where in sorted(covered, key=lambda one: covered[one])[:WORST]:
        named = ", ".join(one for one in where if one)
        print(f"| {named} | {covered[where]:.3f} | {len(second[where])} |")
    return verdict(title, list(covered.values()), wanted(again, bar), 1.0)


def first_round(cells: Mapping[str, Draw], draws: int) -> dict[tuple[str, str], float]:
    """Return (cell, name) → the share of samples in which the interval holds. A cell that may hold
    too seldom is drawn five times as often as the others.
    """
    shares: dict[tuple[str, str], float] = {}
    for cell, draw in cells.items():
        hits = drawn_hits(cell, draw, draws, "first")
        if any(statistics.fmean(each) <= DOUBTFUL for each in hits.values()) and not QUICK:
            for name, more in drawn_hits(cell, draw, 4 * draws, "further").items():
                hits.setdefault(name, []).extend(more)
        shares |= {
            (cell, name): statistics.fmean(each) for name, each in hits.items() if len(each) >= MADE
        }
    return shares


def worst_cells(shares: Mapping[tuple[str, str], float], bar: float) -> list[tuple[str, str]]:
    """Return the cells to draw again: those that hold least often, and all near the bar."""
    order = sorted(shares, key=lambda one: shares[one])
    near = sum(share < bar + 0.005 for share in shares.values())
    return order[: max(WORST, len(order) // 40, near)]


def drawn_hits(cell: str, draw: Draw, draws: int, turn: str) -> dict[str, list[bool]]:
    """Whether each interval holds, in so many samples in which it is shown."""
    choice = random.Random(f"{turn} {cell}")
    hits: dict[str, list[bool]] = {}
    for _ in range(PATIENCE * draws):
        for name, one in draw(choice).items():
            hits.setdefault(name, []).append(one)
        if max(map(len, hits.values()), default=0) >= draws:
            break
    return hits


def wanted(draws: int, bar: float = BAR) -> float:
    """Return the share that so many draws must reach: the bar and twice the error that they leave.
    A quick run has too few draws to show that a bar is reached, and is held to the bar less that
    error.
    """
    error = 2 * math.sqrt(bar * (1 - bar) / draws)
    return bar - error if QUICK else bar + error


def report(text: str) -> None:
    """Say on the side how far it is."""
    print(text, file=sys.stderr, flush=True)


def held(estimate: Estimate, truth: float) -> bool:
    """Whether the interval holds the truth."""
    return (
        estimate.lower is not None
        and estimate.upper is not None
        and estimate.lower <= truth <= estimate.upper
    )


def rate_estimates(labelled: Sequence[tuple[int, int]], passed: int) -> Iterator[Estimate]:
    """Each estimate of the pass rate, from (label, verdict) of the labelled rows and how many of
    all rows passed.
    """
    labels, verdicts = (
        [float(label) for label, _ in labelled],
        [float(verdict) for _, verdict in labelled],
    )
    others = passed - round(sum(verdicts))
    unlabelled = [1.0] * others + [0.0] * (ROWS - len(labelled) - others)
    yield naive([1.0] * passed + [0.0] * (ROWS - passed))
    yield labels_only(labels)
    yield ppi_plus_plus(labels, verdicts, unlabelled)
    fails, passes = labelled.count((0, 0)), labelled.count((1, 1))
    yield rogan_gladen(passed, ROWS, passes, labels.count(1), fails, labels.count(0))
    by_verdict = [
        tuple(float(label) for label, verdict in labelled if verdict == side) for side in (0, 1)
    ]
    strata = [Stratum("FAIL", ROWS - passed, by_verdict[0]), Stratum("PASS", passed, by_verdict[1])]
    yield post_stratified([stratum for stratum in strata if stratum.rows])


def rate_cell(
    rate: float, judge: tuple[float, float], labels: int, draws: int
) -> dict[str, tuple[float, float, float]]:
    """Of each method the coverage and the median width, where it is defined, and how often it is
    not.
    """
    choice = random.Random(f"{rate} {judge} {labels}")
    cells = [(1, 1), (1, 0), (0, 1), (0, 0)]
    weights = [
        rate * judge[0],
        rate * (1 - judge[0]),
        (1 - rate) * (1 - judge[1]),
        (1 - rate) * judge[1],
    ]
    rest = Binomial(ROWS - labels, weights[0] + weights[2])
    hits: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for _ in range(draws):
        labelled = choice.choices(cells, weights, k=labels)
        passed = sum(verdict for _, verdict in labelled) + rest.draw(choice)
        for estimate in rate_estimates(labelled, passed):
            if estimate.width is not None:
                hits.setdefault(estimate.method, []).append(held(estimate, rate))
                widths.setdefault(estimate.method, []).append(estimate.width)
    return {
        method: (
            statistics.fmean(hits[method]),
            statistics.median(widths[method]),
            1 - len(hits[method]) / draws,
        )
        for method in hits
    }


def rates(draws: int) -> bool:
    """The grid of 36 cells."""
    found = {}
    for place, cell in enumerate(product(RATES, JUDGES, LABELS), 1):
        found[cell] = rate_cell(*cell, draws)
        report(
            f"rates {place}/36: θ={cell[0]} judge={cell[1]} labels={cell[2]}: "
            f"{found[cell][OURS][0]:.3f}"
        )
    print(f"\n## Corrected rate: {ROWS} rows, {draws} draws a cell, 95% nominal\n")
    print(
        "| method | coverage over 36 cells | worst cell | undefined, at worst | median "
        "width (θ=.8, .95/.90, 100 labels) |"
    )
    print("|---|---|---|--:|--:|")
    for method in next(iter(found.values())):
        covered = {cell: row[method][0] for cell, row in found.items()}
        worst = min(covered, key=lambda cell: covered[cell])
        where = f"θ={worst[0]}, {worst[1][0]}/{worst[1][1]}, {worst[2]} labels"
        width = found[0.8, (0.95, 0.90), 100][method][1]
        undefined = max(row[method][2] for row in found.values())
        print(
            f"| {method} | {min(covered.values()):.3f}–{max(covered.values()):.3f} | "
            f"{where} | {undefined:.3f} | {width:.3f} |"
        )
    print(
        f"\n| θ | sens/spec | {' | '.join(f'{count} labels' for count in LABELS)} "
        f"|\n|--:|---|{'--:|' * len(LABELS)}"
    )
    for rate, judge in product(RATES, JUDGES):
        cells = " | ".join(f"{found[rate, judge, count][OURS][0]:.3f}" for count in LABELS)
        print(f"| {rate} | {judge[0]}/{judge[1]} | {cells} |")
    return verdict(
        "every cell of the default", [row[OURS][0] for row in found.values()], wanted(draws), 1.0
    )


def verdict(what: str, values: Sequence[float], low: float, high: float) -> bool:
    """Say whether all values lie in the range."""
    if not values:
        print(f"\n{what}: nothing was shown")
        return True
    good = all(low <= value <= high for value in values)
    print(
        f"\n{what}: {min(values):.3f} to {max(values):.3f}; wanted {low:.3f} to {high}: "
        f"{'yes' if good else 'NO'}"
    )
    return good


TWO_JUDGES = {
    ".95/.90 on both": ((0.95, 0.90), (0.95, 0.90)),
    ".90/.60 on both": ((0.90, 0.60), (0.90, 0.60)),
    ".95/.60 and .85/.90": ((0.95, 0.60), (0.85, 0.90)),
}


def pair_weights(
    first: float, second: float, judges: tuple[tuple[float, float], tuple[float, float]]
) -> dict[tuple[int, ...], float]:
    """The probability of each (label A, label B, verdict A, verdict B); half of the rows are as
    hard for both systems.
    """
    together = 0.5
    found = {}
    for a, b, f, g in product((0, 1), repeat=4):
        alone = (first if a else 1 - first) * (second if b else 1 - second)
        low, high = min(first, second), max(first, second)
        alike = (
            low
            if a and b
            else 1 - high
            if not a and not b
            else high - low
            if (a > b) == (first > second) and first != second
            else 0.0
        )
        said = math.prod(
            _said(verdict, label, judge)
            for verdict, label, judge in ((f, a, judges[0]), (g, b, judges[1]))
        )
        found[a, b, f, g] = (together * alike + (1 - together) * alone) * said
    return found


def _said(verdict: int, label: int, judge: tuple[float, float]) -> float:
    passes = judge[0] if label else 1 - judge[1]
    return passes if verdict else 1 - passes


def difference_draw(
    rates_of_two: tuple[float, float], judges: str, labels: int, choice: random.Random
) -> dict[str, bool]:
    """The corrected and the labelled difference of two systems."""
    weights = pair_weights(*rates_of_two, TWO_JUDGES[judges])
    truth = rates_of_two[0] - rates_of_two[1]
    drawn = choice.choices(list(weights), list(weights.values()), k=ROWS)
    labelled = [float(cell[0] - cell[1]) for cell in drawn[:labels]]
    said = [float(cell[2] - cell[3]) for cell in drawn]
    both = {
        "corrected": corrected_difference(labelled, said[:labels], said[labels:]),
        "labels alone": labelled_difference(labelled),
    }
    return {name: held(one, truth) for name, one in both.items() if one.width is not None}


def differences(draws: int) -> bool:
    """Of systems that often fail, and of such as hardly ever do, with few labels."""
    two = ((0.8, 0.8), (0.8, 0.75), (0.9, 0.8), (0.97, 0.97), (0.97, 0.95), (0.99, 0.95))
    cells = {
        f"rates {both[0]} and {both[1]}, judge {judges}, {labels} labels": partial(
            difference_draw, both, judges, labels
        )
        for judges, both, labels in product(TWO_JUDGES, two, (20, 30, 50, 100, 200))
    }
    return grid(f"Corrected differences of two systems over {ROWS} rows", cells, draws)


def equal_systems(
    kind: str, units: int, size: int, choice: random.Random
) -> tuple[list[float], list[float], list[int] | None]:
    """Two systems that are equally good on rows of some difficulty; with ``size`` above 1, rows in
    clusters.
    """
    first: list[float] = []
    second: list[float] = []
    groups: list[int] = []
    for unit in range(units):
        shared, *own = (choice.gauss(0, 1) for _ in range(3))
        for _ in range(size):
            for scores, taste in ((first, own[0]), (second, own[1])):
                level = 0.6 * shared + 0.6 * taste * (size > 1) + choice.gauss(0, 1)
                scores.append(
                    float(level > -1)
                    if kind == "pass/fail"
                    else min(1.0, max(0.0, 0.7 + 0.15 * level))
                )
            groups.append(unit)
    return first, second, groups if size > 1 else None


def gates(runs: int) -> bool:
    """Two equal systems, compared many times."""
    print(f"\n## Two equal systems called different, of {runs} comparisons\n")
    print("| scores | rows | clusters | called different |\n|---|--:|--:|--:|")
    shares = []
    for kind, (units, size) in product(
        ("pass/fail", "scores"), ((12, 1), (100, 1), (400, 1), (12, 5), (40, 5), (100, 4))
    ):
        choice = random.Random(f"{kind} {units} {size}")
        wrong = 0
        for _ in range(runs):
            first, second, groups = equal_systems(kind, units, size, choice)
            wrong += (
                compare(first, second, clusters=groups).outcome != ComparisonOutcome.CANNOT_TELL
            )
        shares.append(wrong / runs)
        report(f"gates {len(shares)}/12: {shares[-1]:.3f}")
        print(f"| {kind} | {units * size} | {units if size > 1 else '–'} | {shares[-1]:.3f} |")
    return verdict("called different", shares, 0.0, 0.05)


Scores = dict[str, tuple[Callable[[random.Random], float], float]]
SCORES: Scores = {
    "scores, even": (lambda choice: choice.random(), 0.5),
    "scores, good or bad": (lambda choice: choice.betavariate(0.5, 0.5), 0.5),
    "scores, mostly good": (lambda choice: choice.betavariate(8, 2), 0.8),
    "scores, mostly poor": (lambda choice: choice.betavariate(2, 5), 2 / 7),
}
RARE: Scores = {
    "scores, 1 in 5 harmful": (
        lambda choice: 0.0 if choice.random() < 0.2 else choice.betavariate(20, 3),
        0.8 * 20 / 23,
    ),
    "scores, 1 in 20 harmful": (
        lambda choice: 0.0 if choice.random() < 0.05 else choice.betavariate(20, 3),
        0.95 * 20 / 23,
    ),
    "scores, 1 in 50 harmful, the others 1": (lambda choice: float(choice.random() >= 0.02), 0.98),
    "scores, 1 in 10 harmful, the others 0.9": (
        lambda choice: 0.0 if choice.random() < 0.1 else 0.9,
        0.81,
    ),
}


def few_rows(draws: int) -> bool:
    """Passes and fails by every sample there can be; scores by drawing."""
    print("\n## Few rows: how often the 95% interval holds the true mean\n")
    print("| values | 8 rows | 12 rows | 25 rows |\n|---|--:|--:|--:|")
    passes = [
        [exact_coverage(rows, rate) for rows in (8, 12, 25)] for rate in (0.5, 0.7, 0.8, 0.9, 0.95)
    ]
    scores, rare = (
        [[drawn_coverage(rows, *kind, draws) for rows in (8, 12, 25)] for kind in kinds.values()]
        for kinds in (SCORES, RARE)
    )
    names = [*(f"pass rate {rate}" for rate in (0.5, 0.7, 0.8, 0.9, 0.95)), *SCORES, *RARE]
    for name, row in zip(names, [*passes, *scores, *rare], strict=True):
        print(f"| {name} | {' | '.join(f'{share:.3f}' for share in row)} |")
    report("few rows: done")
    # with 8 rows nobody can tell good scores from good scores beside a rare 0: limits that hold for
    # one 0 in five always hold
    # for one in twenty
    tables = (
        ("few passes and fails", passes),
        ("few scores", scores),
        ("few scores with a rare 0", rare),
    )
    kept = [
        verdict(what, [share for row in table for share in row], BAR, 1.0) for what, table in tables
    ]
    return all(kept)


def exact_coverage(rows: int, rate: float) -> float:
    """Over all samples of passes and fails, with their probabilities."""
    total = 0.0
    for hits in range(rows + 1):
        interval = rows_interval([1.0] * hits + [0.0] * (rows - hits))
        if interval is not None and interval.lower <= rate <= interval.upper:
            total += math.comb(rows, hits) * rate**hits * (1 - rate) ** (rows - hits)
    return total


def drawn_coverage(
    rows: int, draw: Callable[[random.Random], float], mean: float, draws: int
) -> float:
    """Over samples drawn."""
    choice, hits = random.Random(rows), 0
    for _ in range(draws):
        interval = rows_interval([draw(choice) for _ in range(rows)])
        hits += interval is not None and interval.lower <= mean <= interval.upper
    return hits / draws


EXTREME = (0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 0.99)
MANY_JUDGES = (*JUDGES, (0.9, 0.7), (0.99, 0.97), (0.5, 0.5), (0.6, 0.9))
TOP_UP = 15


def shown_rates(draws: int) -> bool:
    """Rates near 0 and 1 too, labels drawn at random or topped up within verdicts."""
    cells = {
        f"θ={rate}, {judge[0]}/{judge[1]}, {labels} labels of {rows}"
        + ", topped up" * queue: partial(shown_rate, rate, judge, labels, rows, queue)
        for rate, judge, labels, rows, queue in product(
            EXTREME, MANY_JUDGES, (20, 30, 50, 100, 200), (300, 2000), (False, True)
        )
    }
    return grid("Corrected rates where they are shown", cells, draws)


def shown_rate(
    rate: float,
    judge: tuple[float, float],
    labels: int,
    rows: int,
    queue: bool,
    choice: random.Random,
) -> dict[str, bool]:
    """Of verdicts that are drawn first, and of labels drawn within them."""
    passes = rate * judge[0] + (1 - rate) * (1 - judge[1])
    true = (rate * (1 - judge[0]) / (1 - passes), rate * judge[0] / passes)
    passed = _binomial(rows, passes).draw(choice)
    sizes = (rows - passed, passed)
    of_passed = sum(place < passed for place in choice.sample(range(rows), labels))
    taken = [labels - of_passed, of_passed]
    if queue:
        taken = [max(have, min(TOP_UP, size)) for have, size in zip(taken, sizes, strict=True)]
    strata = [
        Stratum(name, size, tuple(float(choice.random() < share) for _ in range(count)))
        for name, size, count, share in zip(("FAIL", "PASS"), sizes, taken, true, strict=True)
        if size
    ]
    if too_few(strata) is not None:
        return {}
    return {"": held(post_stratified(strata), rate)}


_binomial = lru_cache(Binomial)


def numbers(draws: int) -> bool:
    """Corrected scores between 0 and 1: labels beside a judge that is good, poor or blind."""
    cells = {
        f"{name}, judge off by {noise}, {labels} labels": partial(
            number_draw, draw, mean, noise, labels
        )
        for (name, (draw, mean)), noise, labels in product(
            {**SCORES, **RARE}.items(), (0.05, 0.2, 5.0), (20, 30, 50, 100, 200)
        )
    }
    return grid("Corrected scores", cells, draws)


def number_draw(
    draw: Callable[[random.Random], float],
    mean: float,
    noise: float,
    labels: int,
    choice: random.Random,
) -> dict[str, bool]:
    """Of a judge that is off by so much."""
    truth = [draw(choice) for _ in range(labels + 300)]
    said = [min(1.0, max(0.0, one + choice.gauss(0, noise))) for one in truth]
    found = ppi_plus_plus(
        truth[:labels], said[:labels], said[labels:], with_t=True, ends=(0.0, 1.0)
    )
    return {"": held(found, mean)}


def paired(draws: int) -> bool:
    """Paired scores of which some rows jump."""
    cells = {
        f"{share} of rows jump by {jump}, others by {spread}, {rows} rows": partial(
            paired_draw, share, jump, spread, rows
        )
        for share, jump, spread, rows in product(
            (0.02, 0.05, 0.1, 0.3), (-1.0, 0.3, 1.0), (0.0, 0.02, 0.1), (8, 12, 20, 50, 100)
        )
    }
    return grid("Paired scores", cells, draws)


def paired_draw(
    share: float, jump: float, spread: float, rows: int, choice: random.Random
) -> dict[str, bool]:
    """Of so many rows."""
    first = [jump if choice.random() < share else choice.gauss(0, spread) for _ in range(rows)]
    found = compare(first, [0.0] * rows).estimate
    return {"": held(found, share * jump)} if found.width is not None else {}


MARGINS = (0.01, 0.02, 0.05, 0.1)


def paired_gates(draws: int) -> bool:
    """Gates that hold a run to another one, with a true drop of exactly the margin: passes and
    fails over every sample there is, then scores and clusters by drawing.
    """
    counts = some(range(20, 1001), 12)
    print("\n## Paired passes and fails: how often a gate passes wrongly, over every sample\n")
    print(f"{len(counts)} numbers of rows from {counts[0]} to {counts[-1]}.\n")
    print("| margin | at worst | rows | rows that gain |\n|--:|--:|--:|--:|")
    shares = []
    for margin in MARGINS:
        share, rows, gain = max(false_passes(rows, margin) for rows in counts)
        shares.append(share)
        print(f"| {margin} | {share:.4f} | {rows} | {gain} |")
        report(f"paired gates, margin {margin}: {share:.4f}")
    cells = {
        f"{share} of {rows} rows lose {loss}, {gain} gain it, others by {spread}": partial(
            paired_gate_draw, share, loss, gain, spread, rows
        )
        for share, loss, gain, spread, rows in product(
            (0.04, 0.1), (0.25, 0.5, 1.0), (0.0, 0.03), (0.0, 0.05), (20, 50, 100, 139, 300)
        )
    }
    cells |= {
        f"{share} of {groups} clusters of {size} lose, {gain} gain": partial(
            paired_cluster_draw, share, gain, groups, size
        )
        for share, gain, groups, size in product(
            (0.02, 0.05, 0.1), (0.0, 0.02), (45, 90, 183), (10, 20)
        )
    }
    kept = grid("Paired gates at the boundary", cells, draws, bar=GATE_BAR)
    return verdict("paired gates that pass wrongly", shares, 0.0, 0.025) and kept


def false_passes(rows: int, margin: float) -> tuple[float, int, float]:
    """Return how often a gate passes at worst if the true change is ``-margin``, the rows, and the
    share of rows that gain there.
    """
    most, fewest = int(0.3 * rows) + 8, []
    gains = 0
    for losses in range(most):
        while gains + losses <= rows and not gate_passes(rows, gains, losses, margin):
            gains += 1
        if gains + losses > rows:
            break
        fewest.append(gains)
    shares = []
    for gain in (0.0, 0.0005, 0.002, 0.005, 0.01, 0.03, 0.08, 0.15):
        lose, chance = gain + margin, math.exp(rows * math.log1p(-gain - margin))
        among, total = gain / (1 - lose), 0.0
        for losses, least in enumerate(fewest):  # at least so many of the other rows gain
            total += chance * (
                1.0 if least == 0 else beta_cdf(among, least, rows - losses - least + 1)
            )
            chance *= (rows - losses) / (losses + 1) * lose / (1 - lose)
        shares.append((total, rows, gain))
    return max(shares)


def gate_passes(rows: int, gains: int, losses: int, margin: float) -> bool:
    """Return True if the lower limit of these pairs is not below ``-margin``."""
    units = Units()
    for change, count in ((1.0, gains), (-1.0, losses), (0.0, rows - gains - losses)):
        units.add(change, units=count)
    return units.chance_below(-margin, -1.0) <= 0.025


def paired_gate_draw(
    share: float, loss: float, gain: float, spread: float, rows: int, choice: random.Random
) -> dict[str, bool]:
    """Whether a gate with the true drop for a margin does not pass."""
    changes = []
    for _ in range(rows):
        place = choice.random()
        jump = -loss if place < share else loss if place < share + gain else None
        changes.append(choice.gauss(0, spread) if jump is None else jump)
    found = compare(changes, [0.0] * rows).estimate
    return {} if found.lower is None else {"": found.lower <= loss * (gain - share)}


def paired_cluster_draw(
    share: float, gain: float, groups: int, size: int, choice: random.Random
) -> dict[str, bool]:
    """The same of clusters whose rows change together, all of them or some."""
    changes = []
    for _ in range(groups):
        place, part = choice.random(), choice.random()
        way = -1.0 if place < share else 1.0 if place < share + gain else 0.0
        changes += [way * (choice.random() < part) for _ in range(size)]
    groups_of = [place // size for place in range(groups * size)]
    found = compare(changes, [0.0] * len(changes), clusters=groups_of).estimate
    return {} if found.lower is None else {"": found.lower <= (gain - share) / 2}


def one_sided(_: int) -> bool:
    """Gates: how often a limit lies on the wrong side of the truth, over every sample there is."""
    print("\n## Gates on a rate, 95% confidence: how often either limit is wrong, at worst\n")
    print("| rows | too high | too low |\n|--:|--:|--:|")
    found = []
    for rows in some((8, 12, 20, 50, 100, 300)):
        limits = [rows_interval([1.0] * hits + [0.0] * (rows - hits)) for hits in range(rows + 1)]
        high = low = 0.0
        for percent in range(1, 200):
            rate = percent / 200
            chances = [
                math.comb(rows, hits) * rate**hits * (1 - rate) ** (rows - hits)
                for hits in range(rows + 1)
            ]
            pairs = [(p, one) for p, one in zip(chances, limits, strict=True) if one]
            high = max(high, math.fsum(p for p, one in pairs if one.lower > rate))
            low = max(low, math.fsum(p for p, one in pairs if one.upper < rate))
        found += [high, low]
        print(f"| {rows} | {high:.4f} | {low:.4f} |")
    return verdict("either limit of a gate", found, 0.0, 0.025)


def figures(draws: int) -> bool:
    """Kappa, alpha, AC1, F1 and balanced accuracy, and the calibration error of a judge that is
    calibrated.
    """
    cells: dict[str, Draw] = {
        f"θ={rate}, {judge[0]}/{judge[1]}, {labels} labels": figures_draw(labels, rate, judge)
        for labels, rate, judge in product(
            (30, 50, 100, 200), (0.5, 0.8, 0.95), ((0.95, 0.9), (0.9, 0.6), (0.99, 0.97))
        )
    }
    cells |= {
        f"a calibrated judge, {labels} labels": partial(calibration_draw, labels)
        for labels in (30, 100, 300)
    }
    return grid("Figures of agreement", cells, draws)


def figures_draw(labels: int, rate: float, judge: tuple[float, float]) -> Draw:
    """Each figure of so many labels, against its value of very many."""
    chances = {
        ("1", "1"): rate * judge[0],
        ("0", "1"): rate * (1 - judge[0]),
        ("1", "0"): (1 - rate) * (1 - judge[1]),
        ("0", "0"): (1 - rate) * judge[1],
    }
    many = {cell: round(chance * 10**8) for cell, chance in chances.items()}
    truth = {
        "kappa": cohen_kappa(many).value,
        "alpha": krippendorff_alpha(many).value,
        "AC1": gwet_ac1(many, 2).value,
        "balanced accuracy": balanced_accuracy(many).value,
        "macro F1": macro(many, f1, ["0", "1"]).value,
    }

    def draw(choice: random.Random) -> dict[str, bool]:
        rows = choice.choices(list(chances), list(chances.values()), k=labels)
        said = agreement([one for one, _ in rows], [true for _, true in rows]).figures
        table = Counter(rows)
        said["alpha"] = with_limits(
            krippendorff_alpha(table), above_chance(rows, pooled=True), labels, None, 0.95
        )
        said["AC1"] = with_limits(
            gwet_ac1(table, 2), above_even_chance(rows, 2), labels, None, 0.95
        )
        return {
            name: held(said[name], value)
            for name, value in truth.items()
            if said[name].width is not None and value is not None
        }

    return draw


def calibration_draw(labels: int, choice: random.Random) -> dict[str, bool]:
    """The expected calibration error of a judge that has none."""
    stated = [round(choice.betavariate(5, 2), 2) for _ in range(labels)]
    error, _ = calibration_error(Counter((p, int(choice.random() < p)) for p in stated))
    return {"ECE": held(error, 0.0)}


def ratings(draws: int) -> bool:
    """Ratings of four systems, where they have limits, and the ranks that each may hold."""
    cells = {
        f"steps of {gap}, {prompts} prompts": partial(ratings_draw, gap, prompts)
        for gap, prompts in product((0.0, 0.5, 2.0), (10, 30, 60))
    }
    return grid("Ratings of four systems", cells, draws, again=15)


def ratings_draw(gap: float, prompts: int, choice: random.Random) -> dict[str, bool]:
    """The rating of each system, and whether its true rank is among those that it may hold."""
    strength = {name: gap * (1.5 - place) for place, name in enumerate("abcd")}
    found = {}
    for place in board(strength, prompts, choice, Draws(200)).places:
        found[f"rank of {place.name}"] = holds_rank(place, strength)
        if place.lower is not None and place.upper is not None:
            true = 1000 + 400 / math.log(10) * strength[place.name]
            found[f"rating of {place.name}"] = place.lower <= true <= place.upper
    return found


def board(
    strength: Mapping[str, float], prompts: int, choice: random.Random, draws: Draws
) -> Standings:
    """The leaderboard of a tournament in which each pair meets once per prompt."""
    contests, asked = [], []
    for prompt in range(prompts):
        for one, other in combinations(strength, 2):
            chance = 1 / (1 + math.exp(strength[other] - strength[one]))
            contests.append(NamedContest(one, other, one if choice.random() < chance else other))
            asked.append(prompt)
    return rank(contests, prompts=asked, draws=draws)


def holds_rank(place: Standing, strength: Mapping[str, float]) -> bool:
    """Return True if a true rank of the system is among those that it may hold.

    Equal systems share the ranks from the first to the last of them.
    """
    own = strength[place.name]
    first = 1 + sum(one > own for one in strength.values())
    last = sum(one >= own for one in strength.values())
    return place.best_rank <= first and last <= place.worst_rank


def ranks_together(draws: int) -> bool:
    """All ranks of a leaderboard at once: of equal systems, of two groups, and of steps."""
    layouts: dict[str, Callable[[int, int], float]] = {
        "equal": lambda place, count: 0.0,
        "two groups": lambda place, count: 1.0 * (place < count // 2),
        "steps of 35 points": lambda place, count: 0.2 * place,
    }
    cells = {
        f"{count} systems, {name}, {prompts} prompts": partial(
            ranks_draw,
            {"abcdefgh"[place]: layout(place, count) for place in range(count)},
            prompts,
        )
        for count, (name, layout), prompts in product((4, 8), layouts.items(), (30, 60))
    }
    return grid("Ranks together", cells, draws // 2, again=24)


def ranks_draw(
    strength: Mapping[str, float], prompts: int, choice: random.Random
) -> dict[str, bool]:
    places = board(strength, prompts, choice, Draws(100)).places
    return {"": all(holds_rank(place, strength) for place in places)}


def judges(draws: int) -> bool:
    """Equal judges beside each other: the figure of the one that looks best, and whether none is
    called worse.
    """
    cells = {
        f"{count} judges right in {rate}, {rows} rows": partial(judges_draw, count, rate, rows)
        for count, rate, rows in product((2, 5, 20), (0.5, 0.7, 0.95), (30, 60, 200))
    }
    return grid("Equal judges", cells, draws)


def judges_draw(count: int, rate: float, rows: int, choice: random.Random) -> dict[str, bool]:
    """As ``bench`` ranks them: the best against each of the others, all pairs allowed for."""
    scores = sorted(
        ([float(choice.random() < rate) for _ in range(rows)] for _ in range(count)), key=sum
    )
    best = chosen_judge([dict(zip(map(str, range(rows)), one, strict=True)) for one in scores])
    pairs = count * (count - 1) / 2
    told = any(
        (compare(scores[-1], one).p_value or 1.0) * pairs <= 0.05
        for one in scores[:-1]
        if sum(one) < sum(scores[-1])
    )
    return {"none worse": not told} | ({"the best": held(best, rate)} if best else {})


def refusals(draws: int) -> bool:
    """A judge at chance is told of; a good one is not. Sixty labels, then labels in clusters."""
    print(
        f"\n## Told of as no better than chance: 60 labels, {draws} draws\n\n| θ | "
        "sens/spec | told of |\n|--:|---|--:|"
    )
    fired, spared = [], []
    for rate, judge in product(
        (0.5, 0.8), ((0.5, 0.5), (0.8, 0.2), (0.6, 0.3), (0.95, 0.90), (0.90, 0.90))
    ):
        choice = random.Random(f"{rate} {judge}")
        share = statistics.fmean(refused(rate, judge, choice) for _ in range(draws))
        (fired if sum(judge) <= 1 else spared).append(share)
        print(f"| {rate} | {judge[0]}/{judge[1]} | {share:.3f} |")
    report("refusals: done")
    return all(
        [
            verdict("told of at chance", fired, 0.95, 1.0),
            verdict("told of though good", spared, 0.0, 0.05),
            verdict("at chance in clusters, and not told of", [clustered(draws)], 0.0, 0.06),
        ]
    )


def clustered(draws: int) -> float:
    """How often verdicts that know nothing pass for better, where five rows belong together."""
    choice, called = random.Random("clusters"), 0
    for _ in range(draws):
        verdicts, labels = (
            [
                float(choice.random() < (0.85 if high else 0.15))
                for high in (choice.random() < 0.5 for _ in range(24))
                for _ in range(5)
            ]
            for _ in range(2)
        )
        groups = [place // 5 for place in range(120)]
        called += chance_p_value(verdicts, labels, groups) <= 0.05
    return called / draws


def refused(rate: float, judge: tuple[float, float], choice: random.Random) -> bool:
    """Whether sixty labels of such a judge are refused."""
    labels = [float(choice.random() < rate) for _ in range(60)]
    verdicts = [float(choice.random() < (judge[0] if label else 1 - judge[1])) for label in labels]
    return no_better_than_chance(verdicts, labels) is not None


def cascades(splits: int) -> bool:
    """A cheap and a dear judge, calibrated on 500 rows each time; the errors among what they
    accept, over 4,000 others.
    """
    print(
        f"\n## Cascade of two judges, {splits} random splits, δ = .1\n\n| risk α | kept | "
        "rows accepted |\n|--:|--:|--:|"
    )
    kept = []
    for risk in (0.05, 0.1, 0.2):
        choice = random.Random(f"cascade {risk}")
        within, accepted = [], []
        for _ in range(splits):
            stages = [stage(choice, 500, power) for power in (1.0, 2.0)]
            thresholds = cascade_thresholds(stages, risk=risk, doubt=0.1)
            error, share = true_risk([one.confidence for one in thresholds])
            within.append(error <= risk)
            accepted.append(share)
        kept.append(statistics.fmean(within))
        print(f"| {risk} | {kept[-1]:.3f} | {statistics.fmean(accepted):.3f} |")
    kept += alike_steps(splits)
    report("cascades: done")
    return verdict("promise kept", kept, 0.9, 1.0)


Row = tuple[tuple[float, bool], ...]
"""(confidence, whether right) of each step."""


def alike_steps(splits: int) -> Iterator[float]:
    """Three steps that find the same rows hard; the confidence is the share of five votes, and each
    split draws 500 rows.
    """
    print(f"\n## Three steps that err together, {splits} random splits of 6,000 rows, δ = .1\n")
    print("| risk α | kept | rows accepted | rows that reach the last step |\n|--:|--:|--:|--:|")
    choice = random.Random("alike")
    population = [hard_row(choice) for _ in range(6000)]
    cells = Counter(population)
    for risk in (0.05, 0.1, 0.2):
        found = [split_of(choice, population, cells, risk) for _ in range(splits)]
        accepted, reached = (statistics.fmean(one[place] for one in found) for place in (1, 2))
        kept = statistics.fmean(one[0] <= risk for one in found)
        print(f"| {risk} | {kept:.3f} | {accepted:.3f} | {reached:.3f} |")
        yield kept


def hard_row(choice: random.Random) -> Row:
    """What is hard for one step is hard for the next, which is a little better."""
    ease = choice.random()
    return tuple(_votes(choice, least + (1 - least) * ease) for least in (0.4, 0.5, 0.6))


def _votes(choice: random.Random, chance: float) -> tuple[float, bool]:
    right = sum(choice.random() < chance for _ in range(5))
    return max(right, 5 - right) / 5, right >= 3


def split_of(
    choice: random.Random, population: Sequence[Row], cells: Counter[Row], risk: float
) -> tuple[float, float, float]:
    """The errors among what is accepted of all rows, the share accepted, and the share that reaches
    the last step.
    """
    drawn = choice.sample(population, 500)
    stages = [
        Stage([row[step][0] for row in drawn], [row[step][1] for row in drawn]) for step in range(3)
    ]
    thresholds = cascade_thresholds(stages, risk=risk, doubt=0.1)
    decided: Counter[bool] = Counter()
    last = 0
    for row, count in cells.items():
        accepting = [place for place, one in enumerate(thresholds) if one.accepts(row[place][0])]
        last += count * (not accepting or accepting[0] == 2)
        if accepting:
            decided[row[accepting[0]][1]] += count
    error = decided[False] / decided.total() if decided else 0.0
    return error, decided.total() / len(population), last / len(population)


def stage(choice: random.Random, rows: int, power: float) -> Stage:
    """Confidences between a half and 1; a verdict of confidence c is wrong with probability (1 - c)
    ** power.
    """
    confidences = [choice.uniform(0.5, 1) for _ in range(rows)]
    return Stage(
        confidences, [choice.random() >= (1 - confidence) ** power for confidence in confidences]
    )


def true_risk(thresholds: Sequence[float | None]) -> tuple[float, float]:
    """The error rate among accepted verdicts, and the share accepted, known from the formula of
    :func:`stage`.
    """
    reaching, accepted, wrong = 1.0, 0.0, 0.0
    for threshold, power in zip(thresholds, (1.0, 2.0), strict=True):
        if threshold is not None:
            share = (1 - threshold) / 0.5
            accepted += reaching * share
            wrong += reaching * 2 * (1 - threshold) ** (power + 1) / (power + 1)
            reaching *= 1 - share
    return (wrong / accepted if accepted else 0.0), accepted


GRADES = {
    "even": (0.2, 0.2, 0.2, 0.2, 0.2),
    "mostly 5": (0.01, 0.01, 0.03, 0.15, 0.8),
    "a rare 1": (0.03, 0.0, 0.0, 0.02, 0.95),
    "1 or 5": (0.01, 0.0, 0.0, 0.0, 0.99),
    "lost, tied or won": (0.3, 0.2, 0.5),
    "hardly ever lost": (0.02, 0.02, 0.96),
}
"""How often each grade is true, the worst first; three are a win rate."""


def graded(draws: int) -> bool:
    """Corrected grades and win rates, of judges that are right or say anything."""
    cells = {
        f"{name}, {noise:.0%} of verdicts by lot, {labels} labels of {rows}": partial(
            graded_draw, true, noise, labels, rows
        )
        for (name, true), noise, labels, rows in product(
            GRADES.items(), (0.1, 0.4, 1.0), (30, 50, 100), (300, 1000)
        )
    }
    return grid("Corrected grades and win rates", cells, draws)


def graded_draw(
    true: Sequence[float], noise: float, labels: int, rows: int, choice: random.Random
) -> dict[str, bool]:
    """Of a judge that says anything of a share of the rows."""
    grades = range(len(true))
    mean = math.fsum(grade * share for grade, share in enumerate(true)) / grades[-1]
    counts: Counter[int] = Counter()
    known: dict[int, list[float]] = {grade: [] for grade in grades}
    for place, grade in enumerate(choice.choices(grades, true, k=rows)):
        said = choice.choice(grades) if choice.random() < noise else grade
        counts[said] += 1
        if place < labels:
            known[said].append(grade / grades[-1])
    parts = [Stratum(str(one), counts[one], tuple(known[one])) for one in sorted(counts)]
    if too_few(parts) is not None:
        return {}
    return {"": held(post_stratified(parts), mean)}


SIZES = {"of 4": 4, "of 10": 10, "of 20": 20}


def cluster_sizes(kind: str, groups: int, choice: random.Random) -> list[int]:
    """How many rows belong together."""
    if kind in SIZES:
        return [SIZES[kind]] * groups
    if kind == "one of 60":
        return [60] + [3] * (groups - 1)
    return [min(200, int(choice.paretovariate(1.1))) for _ in range(groups)]


def cluster_cells() -> dict[str, tuple[str, float, float, int]]:
    """Name → sizes, true rate, how alike the rows of a cluster are, clusters."""
    settings = [
        *product(
            (*SIZES, "one of 60", "a few large"), (0.5, 0.9, 0.97), (0.05, 0.3, 0.9), (12, 25, 60)
        ),
        *product(SIZES, (0.97, 0.98, 0.99), (0.05, 0.3, 0.6), (45, 60, 90)),
    ]
    return {
        f"θ={rate}, alike {alike}, {groups} clusters, {kind}": (kind, rate, alike, groups)
        for kind, rate, alike, groups in settings
    }


def clusters(draws: int) -> bool:
    """Rates of rows that belong together, by themselves and corrected, in clusters of equal and of
    very unequal size.
    """
    cells = {name: partial(clusters_draw, *cell) for name, cell in cluster_cells().items()}
    return grid("Rows that belong together", cells, draws, again=20)


def cluster_gates(draws: int) -> bool:
    """Gates on the same rates, with the true rate for a bar."""
    cells = {name: partial(cluster_gate_draw, *cell) for name, cell in cluster_cells().items()}
    return grid("Gates on rows that belong together", cells, draws, bar=GATE_BAR)


def cluster_gate_draw(
    kind: str, rate: float, alike: float, groups: int, choice: random.Random
) -> dict[str, bool]:
    """Whether a gate whose bar is the true rate neither passes nor fails."""
    rows = list(cluster_rows(kind, rate, alike, groups, choice))
    limits = rows_interval(
        [label for _, label, _ in rows], clusters=[group for group, _, _ in rows]
    )
    if limits is None:
        return {}
    return {"does not pass": limits.lower <= rate, "does not fail": limits.upper >= rate}


def clusters_draw(
    kind: str, rate: float, alike: float, groups: int, choice: random.Random
) -> dict[str, bool]:
    """By the labels of a quarter of the clusters."""
    rows = list(cluster_rows(kind, rate, alike, 4 * groups, choice))
    known = [one for one in rows if one[0] < groups]
    limits = rows_interval(
        [label for _, label, _ in known], clusters=[group for group, _, _ in known]
    )
    held_by = {} if limits is None else {"alone": limits.lower <= rate <= limits.upper}
    judged = (
        [said for _, _, said in rows],
        [label if group < groups else None for group, label, _ in rows],
        ("FAIL", "PASS"),
    )
    found = corrected_mean(*judged, clusters=[group for group, _, _ in rows])
    if too_few(stratify(*judged)) is None and found.lower is not None:
        held_by["corrected"] = held(found, rate)
    return held_by


def cluster_rows(
    kind: str, rate: float, alike: float, groups: int, choice: random.Random
) -> Iterator[tuple[int, float, str]]:
    """(cluster, label, verdict of a judge of .9/.8) of each row."""
    scale = 1 / alike - 1
    for group, size in enumerate(cluster_sizes(kind, groups, choice)):
        own = choice.betavariate(rate * scale, (1 - rate) * scale)
        for _ in range(size):
            label = choice.random() < own
            passes = choice.random() < (0.9 if label else 0.2)
            yield group, float(label), "PASS" if passes else "FAIL"


def sequential(draws: int) -> bool:
    """Gates that are looked at every day for a month: how often they ever decide wrongly, with
    limits for one look and with sequential ones; and the price in width.
    """
    print(f"\n## Gates looked at daily, 20 new rows a day, 30 days, {draws} runs\n")
    print("| true rate, the bar just beside it | limits for one look | sequential | width |")
    print("|--:|--:|--:|--:|")
    wrong = []
    for rate in some((0.5, 0.8, 0.9, 0.97), 2):
        choice, misses, ratios = random.Random(f"daily {rate}"), [0, 0], []
        for _ in range(draws):
            values: list[float] = []
            missed = [False, False]
            for _ in range(30):
                values += [float(choice.random() < rate) for _ in range(20)]
                both = rows_interval(values), sequential_mean(values)
                for place, one in enumerate(both):
                    missed[place] |= one is not None and not one.lower <= rate <= one.upper
            misses = [count + one for count, one in zip(misses, missed, strict=True)]
            once, often = both
            if once and often:
                ratios.append((often.upper - often.lower) / (once.upper - once.lower))
        wrong.append(misses[1] / draws)
        price = statistics.fmean(ratios)
        print(f"| {rate} | {misses[0] / draws:.3f} | {wrong[-1]:.3f} | ×{price:.2f} |")
    wrong.append(daily_comparisons(draws))
    report("sequential: done")
    return verdict("sequential gates that are ever wrong", wrong, 0.0, 0.05)


def daily_comparisons(draws: int) -> float:
    """How often two equal systems are ever told apart, over 30 looks at 20 more rows each."""
    choice, wrong = random.Random("daily pairs"), 0
    for _ in range(draws):
        rises = falls = 0
        called = False
        for day in range(1, 31):
            changed = sum(choice.random() < 0.2 for _ in range(20))
            gained = sum(choice.random() < 0.5 for _ in range(changed))
            rises, falls = rises + gained, falls + changed - gained
            found = sequential_difference(rises, falls, 20 * day)
            called = called or not found.lower <= 0 <= found.upper
        wrong += called
    print(f"\nTwo equal systems, compared daily: ever told apart in {wrong / draws:.3f} of runs.")
    return wrong / draws


TWO_VERDICTS = (
    ((10, 10), (0.5, 0.5)),
    ((25, 25), (0.5, 0.5)),
    ((50, 50), (0.5, 0.5)),
    ((5, 15), (0.3, 0.7)),
    ((10, 40), (0.2, 0.8)),
    ((20, 80), (0.2, 0.8)),
    ((5, 45), (0.1, 0.9)),
    ((15, 45), (0.1, 0.9)),
    ((15, 50), (0.02, 0.98)),
)
"""Labels of two verdicts, and the share of the rows that each has; in the last two one verdict was
topped up.
"""
TRUE_MEANS = (0.0, 0.01, 0.03, 0.07, 0.13, 0.2, 0.35, 0.5, 0.65, 0.8, 0.87, 0.93, 0.97, 0.99, 1.0)


def worth(_: int) -> bool:
    """The corrected rate of two verdicts, by every sample there can be: how often the interval
    holds at worst over 225 pairs of true means, and how wide it is next to the labels alone.
    """
    print("\n## Corrected rates of two verdicts, by every sample there can be\n")
    print("| labels | share of the rows | holds, at worst | means there | width / labels alone |")
    print("|---|---|--:|---|---|")
    least = []
    for counts, shares in some(TWO_VERDICTS, 3):
        limits = {
            hits: post_stratified(
                [
                    Stratum(str(place), round(1e9 * share), (1.0,) * hit + (0.0,) * (count - hit))
                    for place, (hit, count, share) in enumerate(
                        zip(hits, counts, shares, strict=True)
                    )
                ]
            )
            for hits in product(*(range(count + 1) for count in counts))
        }
        held_at = {
            means: math.fsum(
                chance
                for hits, chance in sample_chances(counts, means)
                if held(limits[hits], math.fsum(map(operator.mul, shares, means)))
            )
            for means in product(TRUE_MEANS, repeat=2)
        }
        worst = min(held_at, key=lambda means: held_at[means])
        least.append(held_at[worst])
        ratios = ", ".join(
            f"{narrower(limits, counts, shares, means):.2f} at {means[0]}/{means[1]}"
            for means in ((0.01, 0.99), (0.13, 0.87), (0.35, 0.65), (0.5, 0.5))
        )
        print(f"| {counts} | {shares} | {least[-1]:.3f} | {worst} | {ratios} |")
        report(f"worth {len(least)}/{len(TWO_VERDICTS)}: {least[-1]:.3f}")
    return verdict("corrected rates of two verdicts", least, BAR, 1.0)


def sample_chances(
    counts: Sequence[int], means: Sequence[float]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Hits of each verdict, and how likely they are."""
    each = [
        [
            math.comb(count, hit) * mean**hit * (1 - mean) ** (count - hit)
            for hit in range(count + 1)
        ]
        for count, mean in zip(counts, means, strict=True)
    ]
    for hits in product(*(range(count + 1) for count in counts)):
        yield hits, math.prod(chances[hit] for chances, hit in zip(each, hits, strict=True))


def narrower(
    limits: Mapping[tuple[int, ...], Estimate],
    counts: Sequence[int],
    shares: Sequence[float],
    means: Sequence[float],
) -> float:
    """The mean width over that of as many labels alone, at a mean that they have together."""
    labels, mean = sum(counts), math.fsum(map(operator.mul, shares, means))
    width = math.fsum(
        chance * (limits[hits].width or 0) for hits, chance in sample_chances(counts, means)
    )
    alone = math.fsum(
        math.comb(labels, hits)
        * mean**hits
        * (1 - mean) ** (labels - hits)
        * (labels_only([1.0] * hits + [0.0] * (labels - hits)).width or 0)
        for hits in range(labels + 1)
    )
    return width / alone


def these_rows(draws: int) -> bool:
    """The corrected rate of exactly the rows there are, and labels alone, of few rows and of most
    of them labelled.
    """
    cells = {
        f"θ={rate}, {judge[0]}/{judge[1]}, {labels} labels of {rows}": partial(
            these_rows_draw, rate, judge, labels, rows
        )
        for rate, judge, labels, rows in product(
            (0.02, 0.1, 0.5, 0.9, 0.99),
            ((0.95, 0.90), (0.90, 0.60), (0.5, 0.5)),
            (30, 60, 100),
            (120, 300),
        )
    }
    return grid("Exactly these rows", cells, draws)


def these_rows_draw(
    rate: float, judge: tuple[float, float], labels: int, rows: int, choice: random.Random
) -> dict[str, bool]:
    """Of rows that are drawn anew each time: it is their own mean that the interval must hold."""
    truth = [float(choice.random() < rate) for _ in range(rows)]
    said = [
        "PASS" if choice.random() < (judge[0] if one else 1 - judge[1]) else "FAIL" for one in truth
    ]
    known = [one if place < labels else None for place, one in enumerate(truth)]
    strata = stratify(said, known, ("FAIL", "PASS"))
    if too_few(strata) is not None:
        return {}
    mean = statistics.fmean(truth)
    return {
        "corrected": held(post_stratified(strata, these_rows=True), mean),
        "labels alone": held(labels_only(truth[:labels], of_rows=rows), mean),
    }


def skipped(draws: int) -> bool:
    """Annotators who skip a part of the bad rows, or of the good ones, which are then bounded."""
    cells = {
        f"θ={rate}, {share:.0%} of the {kind} rows skipped, {labels} labels": partial(
            skipped_draw, rate, share, kind == "good", labels
        )
        for rate, share, kind, labels in product(
            (0.5, 0.8, 0.95), (0.2, 0.6), ("bad", "good"), (60, 150)
        )
    }
    return grid("Skipped rows", cells, draws)


def skipped_draw(
    rate: float, share: float, good: bool, labels: int, choice: random.Random
) -> dict[str, bool]:
    """Of a judge of .9/.8, 1,000 rows."""
    rows = [float(choice.random() < rate) for _ in range(1000)]
    said = ["PASS" if choice.random() < (0.9 if one else 0.2) else "FAIL" for one in rows]
    over = [
        place for place in range(labels) if (rows[place] == 1) == good and choice.random() < share
    ]
    known = [None if place >= labels or place in over else one for place, one in enumerate(rows)]
    strata = stratify(said, known, ("FAIL", "PASS"), skipped=over)
    given = [one for one in known if one is not None]
    shown = {"labels alone": held(labels_only(given, skipped=over), rate)}
    if too_few(strata) is None:
        shown["corrected"] = held(post_stratified(strata), rate)
    return shown


def copies(draws: int) -> bool:
    """Texts that many of 200 rows have, of which each is drawn once: the rate of these rows."""
    large = {"one text of 60 rows": [60], "5 texts of 20 rows": [20] * 5, "one of 20": [20]}
    cells = {
        f"θ={rate}, {name}, {labels} labels": partial(copies_draw, rate, sizes, labels)
        for rate, (name, sizes), labels in product((0.5, 0.8, 0.95), large.items(), (50, 90))
    }
    return grid("Copies of one text, exactly these rows", cells, draws)


def copies_draw(
    rate: float, large: Sequence[int], labels: int, choice: random.Random
) -> dict[str, bool]:
    """Of a judge of .9/.8. Large texts are good and bad by halves, whatever the others are."""
    sizes = [*large, *[1] * (200 - sum(large))]
    good = [
        float(choice.random() < (0.5 if place < len(large) else rate))
        for place in range(len(sizes))
    ]
    said = ["PASS" if choice.random() < (0.9 if one else 0.2) else "FAIL" for one in good]
    drawn = set(choice.sample(range(len(sizes)), labels))
    rows = [text for text, size in enumerate(sizes) for _ in range(size)]
    known = [good[text] if text in drawn else None for text in rows]
    verdicts, names = [said[text] for text in rows], ("FAIL", "PASS")
    least = least_apart(large, [sizes[text] for text in drawn], len(rows), labels)
    apart = [place for place, text in enumerate(rows) if sizes[text] >= least]
    mean = statistics.fmean(good[text] for text in rows)
    kept = [place for place, text in enumerate(rows) if text in drawn and sizes[text] < least]
    alone = labels_only(
        [good[rows[place]] for place in kept],
        clusters=[rows[place] for place in kept],
        of_rows=len(rows) - len(apart),
    )
    of_apart = [(known[place], None) for place in apart]
    if apart:
        alone = with_rows_apart(alone, len(rows) - len(apart), of_apart, these_rows=True)
    shown = {"labels alone": held(alone, mean)}
    if too_few(stratify(verdicts, known, names)) is None:
        found = corrected_mean(verdicts, known, names, clusters=rows, these_rows=True, apart=apart)
        shown["corrected"] = held(found, mean)
    return shown


def drift(histories: int) -> bool:
    """Anchors of a judge that never changes, looked at daily for a year: how often a change is
    ever reported. Few anchors, of which each wavers now and then.
    """
    print(f"\n## A judge that never changes, 365 looks, {histories} histories\n")
    print("| anchors | each differs in | reported as changed |\n|--:|--:|--:|")
    wrong = []
    yes, no = AnchorAnswer("yes", 1.0), AnchorAnswer("no", 0.0)
    cells = ((4, 0.01), (8, 0.01), (8, 0.03), (8, 0.1), (10, 0.4), (20, 0.02))
    for anchors, share in some(cells, 2):
        choice, alarms = random.Random(f"drift {anchors} {share}"), 0
        for _ in range(histories):
            looks = [
                {str(place): yes if choice.random() < share else no for place in range(anchors)}
                for _ in range(366)
            ]
            alarms += change_evidence(looks, 20.0)[-1] >= 20.0
        wrong.append(alarms / histories)
        report(f"drift {len(wrong)}: {wrong[-1]:.3f}")
        print(f"| {anchors} | {share} | {wrong[-1]:.4f} |")
    # the error of the simulation counts against the promise
    slack = 2 * max(math.sqrt(one * (1 - one) / histories) for one in wrong)
    return verdict("reported as changed, error added", [one + slack for one in wrong], 0.0, 0.05)


RubricRow = Callable[[random.Random], tuple[float, float]]
"""Draws (score, least score that the row's rubric allows)."""


def _few_severe(choice: random.Random) -> tuple[float, float]:
    low = -3.0 if choice.random() < 0.1 else -0.25
    return (low if choice.random() < (0.5 if low == -3.0 else 0.05) else choice.random()), low


def _mixed(choice: random.Random) -> tuple[float, float]:
    low = choice.choice([0.0, -0.5, -2.0])
    return (low if choice.random() < 0.08 else choice.betavariate(4, 1.5)), low


def _rarely_least(low: float, share: float, choice: random.Random) -> tuple[float, float]:
    return (low if choice.random() < share else choice.choice([0.5, 0.75, 1.0])), low


def _rare_rubric(low: float, share: float, choice: random.Random) -> tuple[float, float]:
    rubric_is_rare = choice.random() < share
    return (low, low) if rubric_is_rare else (choice.choice([0.5, 1.0, 1.0]), -0.2)


# Name → (how a row is drawn, true mean).
RUBRICS: dict[str, tuple[RubricRow, float]] = {
    "a tenth reaches -3": (
        _few_severe,
        0.1 * (0.5 * -3 + 0.25) + 0.9 * (0.05 * -0.25 + 0.95 * 0.5),
    ),
    "least 0, -0.5 or -2": (_mixed, 0.08 * -2.5 / 3 + 0.92 * 4 / 5.5),
    "-1 in 2% of rows": (partial(_rarely_least, -1.0, 0.02), 0.02 * -1 + 0.98 * 0.75),
    "-5 in 2% of rows": (partial(_rarely_least, -5.0, 0.02), 0.02 * -5 + 0.98 * 0.75),
}
RARE_RUBRICS: dict[str, tuple[RubricRow, float]] = {
    "5% of the rubrics reach -3": (partial(_rare_rubric, -3.0, 0.05), 0.05 * -3 + 0.95 * 2.5 / 3),
    "1% of the rubrics reach -10": (
        partial(_rare_rubric, -10.0, 0.01),
        0.01 * -10 + 0.99 * 2.5 / 3,
    ),
}


def rubrics(draws: int) -> bool:
    """Means of rubric scores below 0, by the least score that the rubrics of the rows allow; and
    rubrics that go lower, but that a sample may lack.
    """
    print("\n## Rubrics that a sample may lack: wrong on either side\n")
    print("| rubrics | rows | above the mean | below |\n|---|--:|--:|--:|")
    for (name, (row, mean)), rows in product(some(RARE_RUBRICS.items(), 1), (30, 100)):
        choice = random.Random(f"{name} {rows}")
        held_by = [rubric_draw(row, mean, rows, choice) for _ in range(10 * draws)]
        wrong = [statistics.fmean(not one[side] for one in held_by) for side in ("lower", "upper")]
        print(f"| {name} | {rows} | {wrong[0]:.3f} | {wrong[1]:.3f} |")
    cells: dict[str, Draw] = {
        f"{name}, {rows} rows": partial(rubric_draw, row, mean, rows)
        for (name, (row, mean)), rows in product(RUBRICS.items(), (8, 30, 100))
    }
    return grid("Rubric scores below 0, by their limits", cells, draws, bar=GATE_BAR)


def rubric_draw(row: RubricRow, mean: float, rows: int, choice: random.Random) -> dict[str, bool]:
    """Whether each limit lies on its own side of the true mean."""
    drawn = [row(choice) for _ in range(rows)]
    least = min(0.0, *(low for _, low in drawn))
    found = scaled_interval([score for score, _ in drawn], (least, 1.0))
    return {"lower": found.lower <= mean, "upper": found.upper >= mean} if found else {}


SECTIONS: dict[str, Callable[[int], bool]] = {
    "rates": lambda draws: shown_rates(draws) if QUICK else rates(20 * draws) & shown_rates(draws),
    "worth": worth,
    "these-rows": these_rows,
    "skipped": skipped,
    "copies": copies,
    "numbers": numbers,
    "rubrics": rubrics,
    "graded": graded,
    "clusters": clusters,
    "cluster-gates": cluster_gates,
    "sequential": lambda draws: sequential(2 * draws),
    "drift": lambda draws: drift(5 * draws),
    "paired": paired,
    "figures": figures,
    "ratings": ratings,
    "ranks-together": ranks_together,
    "judges": judges,
    "one-sided": one_sided,
    "paired-gates": paired_gates,
    "differences": differences,
    "gates": lambda draws: gates(30 * draws),
    "few-rows": lambda draws: few_rows(80 * draws),
    "refusals": lambda draws: refusals(16 * draws),
    "cascades": lambda draws: cascades(5 * draws),
}


def main() -> int:
    """Print the tables; the exit code says whether every range was kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws",
        type=int,
        default=100,
        help="draws per cell in the first round",
    )
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument(
        "--quick", action="store_true", help="a few cells of each, by at most 100 draws"
    )
    options = parser.parse_args()
    if options.quick:
        QUICK.append(True)
        options.draws = min(options.draws, 100)
    start = time.monotonic()
    kept = [SECTIONS[name](options.draws) for name in options.only]
    report(f"{time.monotonic() - start:.0f} s")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
