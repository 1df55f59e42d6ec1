"""How often drift is seen that is not there, and how soon one that is: ``python
benchmarks/drift_errors.py``.

Each history judges 500 rows once, draws anchors from them as ``drift init`` does, and judges the
anchors at 60 looks. Each row passes with a probability of its own; longer rows waver more. A change
fails a share of all rows that passed, from a look on.
"""

from __future__ import annotations

import argparse
import random
from statistics import fmean, median

from adjudge.features.stress.drift.anchors import choose_anchors
from adjudge.stats.change import AnchorAnswer, Look, change_evidence

BAR = 20.0
"""1 / 0.05."""
ROWS = 500


def history(
    chance: random.Random, looks: int, anchors: int, noise: float, points: float, since: int
) -> list[Look]:
    """``noise``: the share of rows whose verdict wavers. ``points``: the share of rows that fail
    instead of passing from the look ``since`` on.
    """
    lengths = {f"{chance.getrandbits(64):016x}": chance.randint(20, 2000) for _ in range(ROWS)}
    shares = {
        name: chance.random()
        if chance.random() < 2 * noise * length / 2000
        else float(chance.random() < 0.7)
        for name, length in lengths.items()
    }
    passing = [name for name, share in shares.items() if share > 0.5]
    turned = set(chance.sample(passing, round(points * ROWS))) if points else set()
    run = {name: _answer(chance.random() < share) for name, share in shares.items()}
    chosen = choose_anchors(lengths, anchors, chance.getrandbits(32))
    later = [
        {
            name: _answer(
                chance.random() < (0 if name in turned and look >= since else shares[name])
            )
            for name in chosen
        }
        for look in range(1, looks)
    ]
    return [{name: run[name] for name in chosen}, *later]


def _answer(passed: bool) -> AnchorAnswer:
    return AnchorAnswer(passed, float(passed))


def found_at(looks: list[Look]) -> int | None:
    """The look at which the alarm is raised."""
    evidence = change_evidence(looks, BAR)
    return next((number for number, one in enumerate(evidence, 1) if one >= BAR), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--looks", type=int, default=60)
    given = parser.parse_args()
    print("anchors  noise  points  since  found   median looks until it is found", flush=True)
    cases = [(100, 0.1, 0.0, 0), (100, 0.5, 0.0, 0)]
    cases += [(100, noise, 0.05, since) for noise in (0.0, 0.1) for since in (1, 5, 20)]
    for anchors, noise, points, since in cases:
        chance = random.Random(1)
        looks = given.looks if not points else since + 10
        found = [
            found_at(history(chance, looks, anchors, noise, points, since))
            for _ in range(given.histories)
        ]
        late = [one - since + 1 for one in found if one is not None and one >= since]
        waited = f"{median(late):g}" if points and late else "-"
        share = fmean(one is not None for one in found)
        print(f"{anchors:7}  {noise:5}  {points:6}  {since:5}  {share:.4f}  {waited}", flush=True)


if __name__ == "__main__":
    main()
