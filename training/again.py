"""How well the exported adapter reads what it was trained on in other draws: the same kinds and
sentences, put together anew.

    python -m training.again --data ../shared/data --trained OUT/train.jsonl --adapter
    smollm2-135m.gguf [--count 800] [--seed 1]

Prompts that are in train.jsonl are left out. Verdicts are counted as read, before calibration.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from adjudge.features.local.llama import Llama
from adjudge.features.local.weights.store import find
from adjudge.stats.intervals import wilson
from training.kinds.base import Draw, Language, russian
from training.prompts import Shown, shown
from training.rows import all_kinds
from training.texts import World

_LANGUAGES: tuple[Language, ...] = ("en", "ru")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--count", type=int, default=800, help="half of the texts in each language")
    parser.add_argument("--seed", default="again")
    args = parser.parse_args()
    known, llama = trained_prompts(args.trained), Llama(find("smollm2-135m"), args.adapter)
    right: dict[str, list[bool]] = defaultdict(list)
    for language, one in drawn(World(args.data), known, args.count, args.seed):
        said = llama.score(one.prompt, one.tokens).logprobs
        hit = max(said, key=said.__getitem__) == one.tokens[one.truth]
        for name in ("all", language, one.answer):
            right[name].append(hit)
    for name, hits in right.items():
        sure = wilson(sum(hits), len(hits))
        print(
            f"{name:8} {sum(hits)} of {len(hits)}: {sum(hits) / len(hits):.3f} "
            f"({sure.lower:.3f}–{sure.upper:.3f})"
        )


def trained_prompts(path: Path) -> set[int]:
    """Hashes of everything that was trained on."""
    with path.open(encoding="utf-8") as lines:
        return {
            hash(tuple(one["content"] for one in json.loads(line)["messages"])) for line in lines
        }


def drawn(world: World, known: set[int], count: int, seed: str) -> Iterator[tuple[str, Shown]]:
    """Prompts of trained kinds, as often as they were trained, that were not trained themselves."""
    rng = random.Random(seed)
    kinds = [kind for kind in all_kinds() if kind.role == "train" and len(kind.languages) > 1]
    for place in range(count):
        while True:
            (kind,) = rng.choices(kinds, [one.weight for one in kinds])
            case = kind.make(Draw(world, rng, _LANGUAGES[place % 2], fresh=False))
            if case is None:
                continue
            language = "ru" if russian(case.criteria) else "en"
            one = rng.choice(shown(case, language))
            if hash(tuple(message.content for message in one.prompt.messages)) not in known:
                yield language, one
                break


if __name__ == "__main__":
    main()
