"""Whether the exported adapter says on this CPU what the trainer said of the same prompts.

python -m training.check --data OUT/examples.npz --scores OUT/scores.json --adapter
smollm2-135m.gguf [--runtime xllamacpp]
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from adjudge.features.local.llama import Llama
from adjudge.features.local.onnx.scorer import Scorer
from adjudge.features.local.onnx.weights import made_weights, precision
from adjudge.features.local.weights.store import find
from training.data import Examples, load

WANTED = 0.98
NAME = "smollm2-135m"
Read = Callable[[list[int], list[int]], Mapping[int, float]]
"""A prompt's tokens and its labels → log-probability of each label."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scores", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument(
        "--weights", type=Path, help="a GGUF file of the base model; by default the pulled one"
    )
    parser.add_argument("--runtime", choices=("onnxruntime", "xllamacpp"), default="onnxruntime")
    args = parser.parse_args()
    read = reader(args.runtime, args.weights or find(NAME), args.adapter)
    same, count, worst = compare(load(args.data), args.scores, read)
    print(
        f"{same} of {count} verdicts are the same ({same / count:.3f}); the largest "
        f"difference of a probability is {worst:.4f}"
    )
    if same < WANTED * count:
        raise SystemExit(
            f"fewer than {WANTED:.0%} are the same: the adapter is not the one that was trained"
        )


def reader(runtime: str, weights: Path, adapter: Path) -> Read:
    """The model with the adapter, as it is asked by one of the runtimes."""
    if runtime == "onnxruntime":
        return Scorer(made_weights(NAME, weights, adapter, precision()), precision()).label_logprobs
    llama = Llama(weights, adapter)
    return lambda ids, labels: llama._label_logprobs(ids, labels)[0]


def compare(examples: Examples, scores: Path, read: Read) -> tuple[int, int, float]:
    """How many verdicts are the same, of how many, and the largest difference of a probability."""
    known = json.loads(scores.read_text())
    starts, same, worst = examples.starts, 0, 0.0
    for place, trained in zip(known["places"], known["logprobs"], strict=True):
        ids = examples.ids[starts[place] : starts[place] + examples.lengths[place]].tolist()
        labels = [int(token) for token in examples.labels[place] if token >= 0]
        found = read(ids, labels)
        total = math.log(sum(math.exp(found[label]) for label in labels))
        here = [found[label] - total for label in labels]
        same += here.index(max(here)) == trained.index(max(trained))
        worst = max(
            worst, *(abs(math.exp(a) - math.exp(b)) for a, b in zip(here, trained, strict=True))
        )
    return same, len(known["places"]), worst


if __name__ == "__main__":
    main()
