"""Whether the exported adapter says on this CPU what the trainer said of the same prompts.

python -m training.check --data OUT/examples.npz --scores OUT/scores.json --adapter smollm2-135m.gguf
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from adjudge.local.llama import Llama
from adjudge.local.weights.store import find
from training.data import Examples, load

WANTED = 0.98


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scores", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--weights", type=Path, help="a GGUF file of the base model; by default the pulled one")
    args = parser.parse_args()
    same, count, worst = compare(load(args.data), args.scores, Llama(args.weights or find("smollm2-135m"), args.adapter))
    print(f"{same} of {count} verdicts are the same ({same / count:.3f}); the largest difference of a probability is {worst:.4f}")
    if same < WANTED * count:
        raise SystemExit(f"fewer than {WANTED:.0%} are the same: the adapter is not the one that was trained")


def compare(examples: Examples, scores: Path, llama: Llama) -> tuple[int, int, float]:
    """How many verdicts are the same, of how many, and the largest difference of a probability."""
    known = json.loads(scores.read_text())
    starts, same, worst = examples.starts, 0, 0.0
    for place, trained in zip(known["places"], known["logprobs"], strict=True):
        ids = examples.ids[starts[place] : starts[place] + examples.lengths[place]].tolist()
        labels = [int(token) for token in examples.labels[place] if token >= 0]
        found, _ = llama._label_logprobs(ids, labels)
        total = math.log(sum(math.exp(found[label]) for label in labels))
        here = [found[label] - total for label in labels]
        same += here.index(max(here)) == trained.index(max(trained))
        worst = max(worst, *(abs(math.exp(a) - math.exp(b)) for a, b in zip(here, trained, strict=True)))
    return same, len(known["places"]), worst


if __name__ == "__main__":
    main()
