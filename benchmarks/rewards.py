"""How often the watch of a reward raises a false alarm, and how soon a true one; CPU per reward.

    python benchmarks/rewards.py [--runs 2000] [--rewards 5000]

Gaps of two judges are drawn by rule: continuous with a standard deviation of 0.15 to 0.35, or
yes/no judges that disagree in 20 % or 30 % of the samples. "false" are streams whose mean gap is
exactly what is tolerated (0.1), "delay" the samples until a gap of 10 points above it is found, and
"late" the delay if the gap appears after 300 samples. CPU per reward: an instant scripted judge.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator

from adjudge import AspectCritic, ScriptedModel
from adjudge.rewards import Reward
from adjudge.stats.divergence import GapBets

LONGEST, TOLERATED, GAP, LATE = 4000, 0.1, 0.1, 300
Draw = Callable[[random.Random, float], float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rewards", type=int, default=5000)
    given = parser.parse_args()
    for name, draw in draws().items():
        for risk in (0.05, 0.01):
            rng = random.Random(f"{name}{risk}")
            false = sum(
                delay(stream(rng, draw, TOLERATED), risk) is not None for _ in range(given.runs)
            )
            found = sorted(
                delay(stream(rng, draw, TOLERATED + GAP), risk) or LONGEST
                for _ in range(given.runs // 4)
            )
            late = sorted(
                delay(stream(rng, draw, TOLERATED + GAP, LATE), risk) or LONGEST
                for _ in range(given.runs // 4)
            )
            print(
                f"{name:16} risk {risk}: false {false / given.runs:.4f} of {LONGEST} samples; "
                f"delay {found[len(found) // 2]}, 90 % {found[len(found) * 9 // 10]}; "
                f"late {late[len(late) // 2] - LATE}",
                flush=True,
            )
    print(f"CPU per reward: {overhead(given.rewards) * 1000:.3f} ms")


def draws() -> dict[str, Draw]:
    def continuous(deviation: float) -> Draw:
        reach = 0.79  # cut on both sides alike, so that the mean stays
        return lambda rng, mean: mean + min(max(rng.gauss(0, deviation), -reach), reach)

    def binary(share: float) -> Draw:
        def draw(rng: random.Random, mean: float) -> float:
            place = rng.random()
            return 1.0 if place < (share + mean) / 2 else -1.0 if place < share else 0.0

        return draw

    return {
        "sd 0.15": continuous(0.15),
        "sd 0.25": continuous(0.25),
        "sd 0.35": continuous(0.35),
        "yes/no 20 %": binary(0.2),
        "yes/no 30 %": binary(0.3),
    }


def stream(rng: random.Random, draw: Draw, mean: float, late: int = 0) -> Iterator[float]:
    for place in range(LONGEST):
        yield draw(rng, TOLERATED if place < late else mean)


def delay(gaps: Iterator[float], risk: float) -> int | None:
    """Return the samples until the alarm; None without one."""
    bets = GapBets(TOLERATED, risk)
    for gap in gaps:
        bets.add(gap)
        if bets.is_alarm:
            return bets.count
    return None


def overhead(count: int) -> float:
    """Return the seconds of CPU per reward, the judge's own work included."""
    reply = json.dumps({"explanation": "e", "verdict": "PASS"})
    reward = Reward(AspectCritic("Answers.", ScriptedModel([reply], remember=False)))
    reward.score(["q"], ["warm"])
    begun = time.process_time()
    reward.score(["q"] * count, [f"answer {number}" for number in range(count)])
    return (time.process_time() - begun) / count


if __name__ == "__main__":
    main()
