"""Judgments for rewards per second, beside the judge of verifiers, in one run.

    python benchmarks/reward_peers.py --peer PYTHON [--records 2048] [--in-flight 256] [--rounds 3]

``--peer``: the Python of an environment with verifiers (requirements/peers/verifiers.in). Both ask
one loopback server about the same texts, with so many requests in flight; the rounds alternate.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

CRITERION = "The response answers the question directly and stays on the topic of the question."
QUESTION = "Can you explain the main idea of plate tectonics in two sentences, for a student?"
ANSWER = "The main idea is that a few simple rules explain a wide range of observations."
LATENCY_MS = 20
Scores = Callable[[Sequence[str]], list[float]]


def adjudge_scores(url: str, in_flight: int) -> Scores:
    """Return the rewards of an aspect critic."""
    from adjudge import AspectCritic, open_model
    from adjudge.rewards import Reward

    model = open_model(
        "openai/gpt-4o", base_url=url, api_key="x", max_concurrency=in_flight, cache=False
    )
    reward = Reward(AspectCritic(CRITERION, model))

    def score(responses: Sequence[str]) -> list[float]:
        values = reward.score([QUESTION] * len(responses), list(responses))
        return [-1.0 if value.value is None else value.value for value in values]

    return score


def verifiers_scores(url: str, in_flight: int) -> Scores:
    """Return the scores of a judge of verifiers, asked from one event loop."""
    from typing import Literal

    from pydantic import BaseModel
    from verifiers.v1 import Judge, JudgeConfig

    class Verdict(BaseModel):
        explanation: str
        verdict: Literal["yes", "no"]

    class TopicJudge(Judge[Verdict]):
        prompt = (
            f"Criterion: {CRITERION}\n\nQuestion: {{question}}\n\nResponse: {{response}}\n\n"
            "Does the response meet the criterion?"
        )
        schema = Verdict

    judge = TopicJudge(JudgeConfig(model="gpt-4o", base_url=url, api_key_var="REWARD_PEERS_KEY"))

    async def score_all(responses: Sequence[str]) -> list[float]:
        free = asyncio.Semaphore(in_flight)

        async def score_one(response: str) -> float:
            async with free:
                result = await judge.evaluate(question=QUESTION, response=response)
                return float(result.parsed.verdict == "yes")

        return await asyncio.gather(*map(score_one, responses))

    return lambda responses: asyncio.run(score_all(responses))


def measure(name: str, url: str, records: int, in_flight: int) -> None:
    """Print the CPU milliseconds per judgment, and the judgments per second."""
    os.environ["REWARD_PEERS_KEY"] = "x"
    marks = ["Y" if n * 7919 % 10 < 6 else "N" for n in range(records)]
    responses = [f"[REC-{n:05d}-{mark}] {ANSWER}" for n, mark in enumerate(marks)]
    score = {"adjudge": adjudge_scores, "verifiers": verifiers_scores}[name](url, in_flight)
    score(responses[:64])  # what is loaded on first use is not measured
    cpu, wall = time.process_time(), time.perf_counter()
    scores = score(responses)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if scores != [float(mark == "Y") for mark in marks]:
        raise SystemExit(f"{name}: the scores are wrong")
    print(cpu * 1000 / records, records / wall)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", required=True, help="Python with verifiers")
    parser.add_argument("--records", type=int, default=2048)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from server import running

    figures: dict[str, list[tuple[float, float]]] = {"adjudge": [], "verifiers": []}
    with running(LATENCY_MS) as url:
        for _ in range(options.rounds):
            for name, python in (("adjudge", sys.executable), ("verifiers", options.peer)):
                words = (name, url, str(options.records), str(options.in_flight))
                output = subprocess.run(
                    [python, Path(__file__).name, *words],
                    cwd=Path(__file__).parent,
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                ).stdout
                cpu, rate = map(float, output.split()[-2:])
                figures[name].append((cpu, rate))
    medians = {
        name: [median(column) for column in zip(*rounds, strict=True)]
        for name, rounds in figures.items()
    }
    for name, (cpu, rate) in medians.items():
        print(f"{name:10} {cpu:7.3f} ms CPU per judgment {rate:7.0f} judgments per second")
    ratio = medians["verifiers"][0] / medians["adjudge"][0]
    print(f"verifiers takes {ratio:.1f} times the CPU")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] in ("adjudge", "verifiers"):
        measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
