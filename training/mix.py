"""An adapter between two: what one has learned, without all that it forgot.

    python -m training.mix --start smollm2-135m.gguf --trained OUT/adapter.npz --share 0.5 --out
    MIXED/adapter.npz

Both must have the same ranks, as an adapter and the one that was trained on from it have.
``training.train lora --minutes 0 --start MIXED/adapter.npz`` measures what comes of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from training.weights import Array, read_adapter


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--share", type=float, required=True, help="of what was trained")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    mixed = mix(read_adapter(args.start), read_adapter(args.trained), args.share)
    np.savez(args.out, **{name: values.astype(np.float16) for name, values in mixed.items()})


def mix(start: dict[str, Array], trained: dict[str, Array], share: float) -> dict[str, Array]:
    """Every factor between both, ``share`` of the way."""
    return {
        name: ((1 - share) * values + share * trained[name]).astype(np.float32)
        for name, values in start.items()
    }


if __name__ == "__main__":
    main()
