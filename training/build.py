"""Make the examples: every kind's cases, rendered by the package's templates, tokenised as the
model reads them.

    python -m training.build --data ../shared/data --out OUT [--examples 100000] [--translations
    100000] [--seed 1] [--form both]

Writes OUT/examples.npz and OUT/translations.npz (what training takes) and OUT/SPLIT.jsonl (to look
at).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from adjudge.core.domain.message import Prompt
from adjudge.core.prompts.renderer import TEXT_FIRST
from adjudge.features.local.weights.store import find
from training.data import MOST_LABELS, Examples, save
from training.kinds.base import russian
from training.prompts import FORMS, Form, Tokeniser
from training.rows import Row, rows
from training.splits import ANSWERS, SPLITS
from training.texts import World
from training.translations import translations

BOTH = "both"
_LONGEST = 640
"""Tokens a prompt may have."""
_AT_ONCE = 10_000
"""Prompts that a process tokenises at once."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--translations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--weights",
        type=Path,
        help="a GGUF file of the model, for its tokeniser; by default the pulled one",
    )
    parser.add_argument(
        "--form",
        choices=[*FORMS, BOTH],
        default="direct",
        help="the criterion before the text, behind it, or half of the training examples each; "
        "with both, what is measured has the text first",
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    mixed = args.form == BOTH
    form: Form = TEXT_FIRST if mixed else args.form
    found = rows(World(args.data), args.examples, args.seed, form, mixed=mixed)
    weights = args.weights or find("smollm2-135m")
    examples = tokenised(found, weights)
    save(args.out / "examples.npz", examples)
    save(
        args.out / "translations.npz",
        translations(Tokeniser(weights), args.translations, args.seed),
    )
    write_texts(args.out, found)
    _report(found, examples, args.out)


def tokenised(found: Sequence[Row], weights: Path) -> Examples:
    """The rows as arrays; prompts that are too long are left out."""
    tokeniser = Tokeniser(weights)
    kept = [
        (row, ids)
        for row, ids in zip(found, _tokens(found, weights), strict=True)
        if len(ids) <= _LONGEST
    ]
    rows_kept = [row for row, _ in kept]
    kinds = tuple(dict.fromkeys(row.made.kind for row in rows_kept))
    criteria_known = {
        name: place for place, name in enumerate(dict.fromkeys(row.criterion for row in rows_kept))
    }
    labels = np.full((len(kept), MOST_LABELS), -1, np.int32)
    for place, row in enumerate(rows_kept):
        ids = [tokeniser.label(token) for token in row.shown.tokens]
        labels[place, : len(ids)] = ids
    place_of = {kind: place for place, kind in enumerate(kinds)}
    return Examples(
        ids=np.concatenate([ids for _, ids in kept]),
        lengths=np.array([len(ids) for _, ids in kept], np.int32),
        labels=labels,
        truth=np.array([row.shown.truth for row in rows_kept], np.int8),
        split=np.array([SPLITS.index(row.made.split) for row in rows_kept], np.int8),
        answer=np.array([ANSWERS.index(row.shown.answer) for row in rows_kept], np.int8),
        kind=np.array([place_of[row.made.kind] for row in rows_kept], np.int16),
        criterion=np.array([criteria_known[row.criterion] for row in rows_kept], np.int32),
        item=np.array([row.item for row in rows_kept], np.int32),
        reversed=np.array([row.shown.reversed for row in rows_kept]),
        russian=np.array([russian(row.made.case.criteria) for row in rows_kept]),
        kinds=kinds,
    )


def _tokens(found: Sequence[Row], weights: Path) -> list[NDArray[np.uint16]]:
    """The prompts as the model reads them; on every core, since that takes most of the time."""
    prompts = [row.shown.prompt for row in found]
    parts = [prompts[start : start + _AT_ONCE] for start in range(0, len(prompts), _AT_ONCE)]
    if len(parts) == 1:
        return _tokens_of(parts[0], weights)
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return [ids for part in pool.map(_tokens_of, parts, [weights] * len(parts)) for ids in part]


def _tokens_of(prompts: Sequence[Prompt], weights: Path) -> list[NDArray[np.uint16]]:
    return [np.array(ids, np.uint16) for ids in Tokeniser(weights).prompts(prompts)]


def write_texts(out: Path, found: Sequence[Row]) -> None:
    """One line an example, to look at."""
    files: dict[str, IO[str]] = {
        split: (out / f"{split}.jsonl").open("w", encoding="utf-8") for split in SPLITS
    }
    for row in found:
        if row.shown.truth >= 0:
            files[row.made.split].write(json.dumps(_line(row), ensure_ascii=False) + "\n")
    for file in files.values():
        file.close()


def _line(row: Row) -> dict[str, object]:
    return {
        "kind": row.made.kind,
        "origin": row.made.case.origin,
        "language": row.made.language,
        "answer": row.shown.answer,
        "messages": [
            {"role": one.role, "content": one.content} for one in row.shown.prompt.messages
        ],
        "label": row.shown.truth,
        "labels": list(row.shown.tokens),
    }


def _report(found: Sequence[Row], examples: Examples, out: Path) -> None:
    counts = Counter(row.made.split for row in found if row.shown.truth >= 0)
    names = {
        split: len({row.made.kind for row in found if row.made.split == split}) for split in SPLITS
    }
    print({split: (counts[split], f"{names[split]} kinds") for split in SPLITS})
    trained = examples.of("train")
    print(
        f"{len(trained)} training examples of {examples.lengths[trained].mean():.0f} "
        f"tokens; {len(examples.ids)} tokens in all"
    )
    print(f"{(out / 'examples.npz').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
