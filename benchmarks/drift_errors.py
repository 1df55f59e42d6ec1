"""How often drift is seen that is not there, and how soon one that is: ``python
benchmarks/drift_errors.py``.

Each history judges the same anchors at 60 looks; each anchor passes with a probability of its own.
A change raises or lowers what a share of the anchors is judged, from a look on.
"""

from __future__ import annotations

import argparse
import random
from statistics import fmean, median

from adjudge.stats.change import AnchorAnswer, Look, change_evidence

BAR = 20.0
"""1 / 0.05."""


def history(
    chance: random.Random, looks: int, anchors: int, noise: float, points: float, since: int
) -> list[Look]:
    """``noise``: the share of anchors whose verdict wavers. ``points``: the share of anchors that
    fail instead of passing from the look ``since`` on.
    """
    shares = [
        chance.random() if chance.random() < noise else float(chance.random() < 0.7)
        for _ in range(anchors)
    ]
    passing = [place for place, share in enumerate(shares) if share > 0.5]
    turned = set(chance.sample(passing, round(points * anchors))) if points else set()
    return [
        {
            str(place): _answer(chance.random() < (0 if place in turned and look >= since else one))
            for place, one in enumerate(shares)
        }
        for look in range(looks)
    ]


def _answer(passed: bool) -> AnchorAnswer:
    return AnchorAnswer(passed, float(passed))


def found_at(looks: list[Look]) -> int | None:
    """The look at which the alarm is raised."""
    evidence = change_evidence(looks)
    return next((number for number, one in enumerate(evidence, 1) if one >= BAR), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--looks", type=int, default=60)
    given = parser.parse_args()
    print("anchors  noise  points  since  found   median looks until it is found")
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
        print(f"{anchors:7}  {noise:5}  {points:6}  {since:5}  {share:.4f}  {waited}")


if __name__ == "__main__":
    main()
