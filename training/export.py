"""The trained adapter as the package ships it.

    python -m training.export --trained OUT --out src/adjudge/features/local/weights/adapter

Writes smollm2-135m.gguf, which llama.cpp loads, and smollm2-135m.json: temperature, weight of the
prior and threshold of confidence for each kind of answer.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from training.weights import read_adapter, write_adapter

NAME = "smollm2-135m"
MOST_BYTES = 10_000_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--trained", type=Path, required=True, help="the folder with adapter.npz and lora_fp32.json"
    )
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    size = export(args.trained / "adapter.npz", args.out / f"{NAME}.gguf")
    settings = json.loads((args.trained / "lora_fp32.json").read_text())["settings"]
    (args.out / f"{NAME}.json").write_text(json.dumps(settings, indent=2) + "\n")
    print(f"{size} bytes; settings {settings}")


def export(adapter: Path, target: Path) -> int:
    """Write the GGUF file and say how large it is."""
    write_adapter(target, read_adapter(adapter))
    size = target.stat().st_size
    if size >= MOST_BYTES:
        raise SystemExit(f"{target} has {size} bytes: the wheel takes less than {MOST_BYTES}")
    return size


if __name__ == "__main__":
    main()
