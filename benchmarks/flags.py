"""What flags of the embedded model cost: CPU seconds, memory and tokens.

    python benchmarks/flags.py [--answers 1000]

Answers of four sentences, each on its own 600 words of context in five fragments; texts are made by
rule. Every sentence is looked up in every stretch of 280 words. "once" is what is read where all
sentences of an answer share a stretch, "each" what would be read if each sentence read it anew.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time

from adjudge import EvidenceJudge

SENTENCES = 4
PORTION = 20  # answers between two lines of progress
FRAGMENTS, SENTENCES_OF_ONE = 5, 10
THINGS = ("lamp", "tower", "bridge", "garden", "library", "harbour", "market", "station")
PLACES = ("Lyon", "Riga", "Porto", "Kazan", "Leeds", "Turin", "Ghent", "Izmir")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=1000)
    answers = parser.parse_args().answers
    judge = EvidenceJudge(method="flags")
    judge.evaluate([row(-1)])  # loads the weights
    rows = [row(number) for number in range(answers)]
    words = sum(len(one.split()) for some in rows for one in some["contexts"]) / answers
    clock, cpu = time.monotonic(), time.process_time()
    results = []
    for start in range(0, answers, PORTION):
        results += judge.evaluate(rows[start : start + PORTION])
        spent = time.process_time() - cpu
        progress = f"{len(results)} of {answers} answers, CPU {spent:.0f} s"
        print(progress, file=sys.stderr, flush=True)
    cpu, clock = time.process_time() - cpu, time.monotonic() - clock
    usages = [vote.usage for result in results for vote in result.votes]
    each = sum(usage.prompt_tokens for usage in usages)
    once = each - sum(usage.cached_tokens for usage in usages)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    claims = sum(len(result.claims) for result in results)
    print(f"{answers} answers, {claims} sentences, {words:.0f} words of context each")
    print(f"lookups {len(usages)}, tokens {each} (each), {once} (once), {each / once:.1f} times")
    print(f"CPU {cpu:.1f} s, {cpu / answers:.2f} s an answer; clock {clock:.1f} s; {memory:.0f} MB")


def row(number: int) -> dict[str, str | list[str]]:
    """An answer with its fragments, of which half of the sentences are taken."""
    draw = random.Random(number)
    fragments = [[sentence(draw) for _ in range(SENTENCES_OF_ONE)] for _ in range(FRAGMENTS)]
    taken = [draw.choice(draw.choice(fragments)) for _ in range(SENTENCES // 2)]
    made = [sentence(draw) for _ in range(SENTENCES - len(taken))]
    return {
        "contexts": [" ".join(one) for one in fragments],
        "response": " ".join([*taken, *made]),
    }


def sentence(draw: random.Random) -> str:
    thing, place = draw.choice(THINGS), draw.choice(PLACES)
    year, people = draw.randrange(1800, 2000), draw.randrange(100, 999)
    return f"The {thing} of {place} was opened in {year} and drew {people} people."


if __name__ == "__main__":
    main()
