"""How often the numbers that adjudge prints are right, in the samples in which they are printed:
corrected rates, grades, scores, differences, clusters, gates, few rows, agreement, ratings,
cascades; and how often a judge at chance is told of.

python benchmarks/coverage.py                       all of it, in a quarter of an hour
python benchmarks/coverage.py --draws 200 --only rates differences
python benchmarks/coverage.py --quick               a few cells of each, in a minute

The cells of a grid that hold least often in a first round are drawn again, with other seeds and
many times as often: only the second round is printed, so that none of them is the worst by luck.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations, product
from typing import TypeVar

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
)
from adjudge.stats.difference import (
    ComparisonOutcome,
    compare,
    corrected_difference,
    labelled_difference,
)
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import rows_interval
from adjudge.stats.named_estimators import ppi_plus_plus, rogan_gladen
from adjudge.stats.planning import Binomial
from adjudge.stats.probability import calibration_error
from adjudge.stats.ranking import NamedContest, Standing, Standings, rank
from adjudge.stats.raters import gwet_ac1, krippendorff_alpha
from adjudge.stats.refusal import chance_p_value, no_better_than_chance, too_few
from adjudge.stats.selective import Stage, cascade_thresholds
from adjudge.stats.sequence import sequential_difference, sequential_mean
from adjudge.trust.benchmark import chosen_judge

Cell = TypeVar("Cell")
ROWS = 2000
RATES = (0.5, 0.8, 0.95)
JUDGES = ((0.95, 0.90), (0.90, 0.60), (0.70, 0.55))
LABELS = (20, 50, 100, 200)
MADE = 30
"""Draws with an estimate, below which nothing is said of how often it is right."""
PATIENCE = 5
"""Draws for each one that is wanted, where most of them show no estimate."""
AGAIN = 25
"""How many times as often the worst cells are drawn in the second round."""
WORST = 8
"""How many cells of a grid are drawn again, at least: of a large one, one in forty."""
OURS = "post-stratified"
BAR = 0.93
"""The least share of samples in which a 95% interval that is shown may hold the truth."""
QUICK: list[bool] = []
"""Not empty: a few cells of each grid alone."""


def some(cells: Iterable[Cell], most: int = 6) -> list[Cell]:
    """All cells; of a quick run, a few that lie far apart."""
    known = list(cells)
    return known[:: max(1, len(known) // most)][:most] if QUICK else known


Draw = Callable[[random.Random], Mapping[str, bool]]
"""Of one sample: whether each interval that is shown holds the truth."""


def grid(title: str, cells: Mapping[str, Draw], draws: int, again: int = AGAIN) -> bool:
    """Print the cells in which the interval holds least often where it is shown; whether each of
    them does often enough.
    """
    first: dict[tuple[str, str], float] = {}
    draws = max(MADE, draws)
    for cell in some(cells):
        for name, hits in drawn_hits(cell, cells[cell], draws, "first").items():
            if len(hits) >= MADE:
                first[cell, name] = statistics.fmean(hits)
    least = sorted(first, key=lambda one: first[one])[: max(WORST, len(first) // 40)]
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
    return verdict(title, list(covered.values()), noisy(again), 1.0)


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


def noisy(draws: int) -> float:
    """The bar less twice the error that so many draws leave."""
    return BAR - 2 * math.sqrt(BAR * (1 - BAR) / draws)


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
    yield post_stratified([stratum for stratum in strata if stratum.rows]).estimate


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
        "every cell of the default", [row[OURS][0] for row in found.values()], noisy(draws), 1.0
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
    return grid(f"Corrected differences of two systems over {ROWS} rows", cells, draws // 2)


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
    wanted = (
        ("few passes and fails", passes, 1.0),
        ("few scores", scores, 1.0),
        ("few scores with a rare 0", rare, 1.0),
    )
    kept = [
        verdict(what, [share for row in table for share in row], BAR, most)
        for what, table, most in wanted
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
    return {"": held(post_stratified(strata).estimate, rate)}


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
    return grid("Figures of agreement", cells, draws // 2)


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
    return grid("Ratings of four systems", cells, draws // 2, again=7)


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
    return grid("Ranks together", cells, draws // 2, again=7)


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
    return grid("Equal judges", cells, draws // 2)


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
    return {"": held(post_stratified(parts).estimate, mean)}


def cluster_sizes(kind: str, groups: int, choice: random.Random) -> list[int]:
    """How many rows belong together."""
    if kind == "alike":
        return [4] * groups
    if kind == "one of 60":
        return [60] + [3] * (groups - 1)
    return [min(200, int(choice.paretovariate(1.1))) for _ in range(groups)]


def clusters(draws: int) -> bool:
    """Rates of rows that belong together, by themselves and corrected, in clusters of equal and of
    very unequal size.
    """
    cells = {
        f"θ={rate}, alike {alike}, {groups} clusters, {kind}": partial(
            clusters_draw, kind, rate, alike, groups
        )
        for kind, rate, alike, groups in product(
            ("alike", "one of 60", "a few large"), (0.5, 0.9, 0.97), (0.05, 0.3, 0.9), (12, 25, 60)
        )
    }
    return grid("Rows that belong together", cells, draws // 2)


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
    found = corrected_mean(*judged, clusters=[group for group, _, _ in rows]).estimate
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


SECTIONS: dict[str, Callable[[int], bool]] = {
    "rates": lambda draws: shown_rates(draws) if QUICK else rates(5 * draws) & shown_rates(draws),
    "numbers": numbers,
    "graded": graded,
    "clusters": clusters,
    "sequential": lambda draws: sequential(2 * draws),
    "drift": lambda draws: drift(5 * draws),
    "paired": paired,
    "figures": figures,
    "ratings": ratings,
    "ranks-together": ranks_together,
    "judges": judges,
    "one-sided": one_sided,
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
        default=60,
        help="draws a cell in the first round",
    )
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="a few cells of each, 100 draws")
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
