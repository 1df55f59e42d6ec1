"""An adapter between one and the mean of others: what they have learned, without all that they
forgot.

    python -m training.mix --start smollm2-135m.gguf --trained ONE/adapter.npz OTHER/adapter.npz
    --share 0.72 --out MIXED/adapter.npz

All must have the same ranks, as an adapter and those that were trained on from it have.
``training.train lora --minutes 0 --start MIXED/adapter.npz`` measures what comes of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from training.weights import Array, read_adapter


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--trained", type=Path, required=True, nargs="+")
    parser.add_argument("--share", type=float, required=True, help="of what was trained")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    trained = [read_adapter(path) for path in args.trained]
    mixed = mix(read_adapter(args.start), trained, args.share)
    np.savez(args.out, **{name: values.astype(np.float16) for name, values in mixed.items()})


def mix(
    start: dict[str, Array], trained: Sequence[dict[str, Array]], share: float
) -> dict[str, Array]:
    """Every factor ``share`` of the way to its mean over those that were trained."""
    return {
        name: (
            (1 - share) * values + share * np.mean([one[name] for one in trained], axis=0)
        ).astype(np.float32)
        for name, values in start.items()
    }


if __name__ == "__main__":
    main()
