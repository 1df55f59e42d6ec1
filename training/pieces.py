"""A file too large to travel at once, as pieces and together again.

python -m training.pieces split BASE.gguf FOLDER [--size 50]
python -m training.pieces join FOLDER BASE.gguf
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["split", "join"])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--size", type=int, default=50, help="megabytes a piece")
    args = parser.parse_args()
    if args.what == "split":
        split(args.source, args.target, args.size * 1_000_000)
    else:
        join(args.source, args.target)


def split(source: Path, folder: Path, size: int) -> None:
    """``folder/0/piece``, ``folder/1/piece``, …, each with the hash of the whole beside it."""
    data = source.read_bytes()
    for number, start in enumerate(range(0, len(data), size)):
        part = folder / str(number)
        part.mkdir(parents=True, exist_ok=True)
        (part / "piece").write_bytes(data[start : start + size])
        (part / "sha256").write_text(hashlib.sha256(data).hexdigest())


def join(folder: Path, target: Path) -> None:
    """The pieces in order; nothing is written unless the hash is right."""
    parts = sorted(folder.iterdir(), key=lambda part: int(part.name))
    data = b"".join((part / "piece").read_bytes() for part in parts)
    if hashlib.sha256(data).hexdigest() != (parts[0] / "sha256").read_text():
        raise SystemExit(
            f"the pieces in {folder} do not make the file they were cut from: is one missing?"
        )
    target.write_bytes(data)


if __name__ == "__main__":
    main()
