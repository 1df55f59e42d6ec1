"""How well a model tells supported from unsupported answers, beside lexical baselines.

    python -m training.claims.measure --base BASE.gguf --adapter ADAPTER --claims CLAIMS --out FILE
    [--rounding]

CLAIMS is what ``training.claims.build`` wrote. An answer's score is the mean over its sentences of
the highest log-odds of Yes in any chunk of its source. AUC of every set, their means, and 95 %
intervals from sets drawn anew, documents at a time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from adjudge.features.evidence.flags import DOUBTFUL, SURE
from training.adapters import factors, start_from
from training.claims.answers import OVERLAPPING, RAG, RELATED, STATEMENTS, SUMMARIES
from training.claims.lookups import LEXICAL, Lookups, load_lookups
from training.data import Examples, load
from training.eight_bits import look_again, prepare
from training.model import Llama
from training.scoring import label_logprobs

Floats = NDArray[np.float64]
_DRAWS = 1000
_BEYOND = 2.0
"""Log-odds from which on a verdict counts as sure."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--claims", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--rounding", action="store_true", help="in eight bits, as the runtime does"
    )
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Llama(args.base).to(device)
    start_from(model, args.adapter)
    if args.rounding:
        prepare(model, args.base)
        look_again(model, args.base, factors(model))
        model.rounds = True
    measure(model, args.claims, args.out)


def measure(model: Llama, folder: Path, path: Path) -> None:
    """Print and write the figures, and the scores beside them."""
    model.eval()
    kept = load(folder / "claims.npz")
    places = kept.of("validation")
    kept_odds = odds(model, kept, places)
    lookups, best = _looked_up(model, folder, "answers")
    scores = answer_scores(lookups, best)
    figures = {
        "validation": _kept_figures(kept, places, kept_odds),
        **answer_figures(lookups, scores),
        "flags": flag_figures(lookups, best),
        "flags, development": flag_figures(*_looked_up(model, folder, "development")),
    }
    path.write_text(json.dumps(figures, indent=1))
    np.savez_compressed(
        path.with_suffix(".npz"), validation=kept_odds.astype(np.float32), answers=scores
    )
    for name in ("validation", "means", "sure", "flags", "flags, development"):
        print(path.stem, name, json.dumps(figures[name]), flush=True)


def odds(model: Llama, examples: Examples, places: NDArray[np.int64]) -> Floats:
    """Log-odds of Yes."""
    logs = label_logprobs(model, examples, places, exact=True)
    found: Floats = logs[:, 0] - logs[:, 1]
    return found


def _looked_up(model: Llama, folder: Path, name: str) -> tuple[Lookups, Floats]:
    lookups = load_lookups(folder / f"{name}_lookups.npz")
    examples = load(folder / f"{name}.npz")
    found = odds(model, examples, np.arange(len(examples.item)))
    return lookups, best_odds(lookups, examples.item, found)


def best_odds(lookups: Lookups, items: NDArray[np.int32], found: Floats) -> Floats:
    """Of every sentence, in the chunk that fits it best; -inf where none was read."""
    best: Floats = np.full(int(lookups.sentence.max()) + 1, -np.inf)
    np.maximum.at(best, lookups.sentence[items], found)
    return best


def _answer_of(lookups: Lookups) -> NDArray[np.int32]:
    return lookups.answer[np.unique(lookups.sentence, return_index=True)[1]]


def flag_figures(lookups: Lookups, best: Floats) -> dict[str, dict[str, float]]:
    """How often answers are flagged by their worst sentence, and how often that is right."""
    read = np.isfinite(best)
    worst = np.full(len(lookups.name), np.inf)
    np.minimum.at(worst, _answer_of(lookups)[read], best[read])
    names = lookups.names[lookups.name]
    groups = {
        "all": np.ones(len(names), bool),
        "RAG answers": np.isin(names, RAG),
        "high overlap": np.isin(names, OVERLAPPING),
        "summaries": np.isin(names, SUMMARIES),
        "statements": np.isin(names, STATEMENTS),
    }
    return {
        name: _flags(worst[part], lookups.supported[part])
        for name, part in groups.items()
        if part.any()
    }


def _flags(worst: Floats, supported: NDArray[np.bool_]) -> dict[str, float]:
    low, high = worst < SURE, worst >= DOUBTFUL
    between = ~low & ~high
    found = {
        "answers": float(len(worst)),
        "unsupported, share": low.mean(),
        "unsupported, right": (~supported[low]).mean() if low.any() else np.nan,
        "look here, share": between.mean(),
        "look here, unsupported": (~supported[between]).mean() if between.any() else np.nan,
        "nothing found, share": high.mean(),
        "nothing found, supported": supported[high].mean() if high.any() else np.nan,
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def answer_scores(lookups: Lookups, best: Floats) -> NDArray[np.float32]:
    """An answer's sentences in the chunk that fits each best, on average."""
    answer_of, read = _answer_of(lookups), np.isfinite(best)
    totals = np.bincount(answer_of[read], best[read], len(lookups.name))
    counts = np.bincount(answer_of[read], minlength=len(lookups.name))
    return (totals / np.maximum(counts, 1)).astype(np.float32)


def answer_figures(lookups: Lookups, scores: NDArray[np.float32]) -> dict[str, object]:
    """Of every set, and of groups of sets."""
    columns = {"model": scores} | {
        name: lookups.lexical[:, place] for place, name in enumerate(LEXICAL)
    }
    names = [str(name) for name in lookups.names]
    aucs = {
        name: {of: auc(values[part], lookups.supported[part]) for of, values in columns.items()}
        for place, name in enumerate(names)
        for part in [lookups.name == place]
    }
    drawn = {of: _drawn(lookups, values) for of, values in columns.items()}
    groups: Mapping[str, Sequence[str]] = {
        "all": names,
        "RAG answers": RAG,
        "high overlap": OVERLAPPING,
        "other origin": [name for name in names if name not in RELATED],
    }
    means = {
        group: {
            of: _interval(
                float(np.mean([aucs[name][of] for name in some])),
                drawn[of][:, [names.index(name) for name in some]].mean(1),
            )
            for of in columns
        }
        for group, some in groups.items()
    }
    return {"sets": aucs, "means": means, "sure": _sure(scores, lookups.supported)}


def _sure(scores: NDArray[np.float32], supported: NDArray[np.bool_]) -> dict[str, float]:
    low, high = scores < -_BEYOND, scores > _BEYOND
    return {
        "unsupported, share": round(float(low.mean()), 4),
        "unsupported, right": round(float((~supported[low]).mean()), 4),
        "supported, share": round(float(high.mean()), 4),
        "supported, right": round(float(supported[high].mean()), 4),
    }


def _drawn(lookups: Lookups, values: NDArray[np.float32]) -> Floats:
    """AUC of every set, drawn anew: draws by sets."""
    rng = np.random.default_rng(0)
    found = np.empty((_DRAWS, len(lookups.names)))
    for place in range(len(lookups.names)):
        part = lookups.name == place
        said, truth = values[part], lookups.supported[part]
        _, group = np.unique(lookups.group[part], return_inverse=True)
        count = int(group.max()) + 1
        order = np.argsort(said, kind="stable")
        for draw in range(_DRAWS):
            times = np.bincount(rng.integers(count, size=count), minlength=count)[group]
            found[draw, place] = _weighted_auc(said[order], truth[order], times[order])
    return found


def auc(values: NDArray[np.float32], truth: NDArray[np.bool_]) -> float:
    """The chance that a supported answer scores higher than another one; ties count half."""
    order = np.argsort(values, kind="stable")
    whole = np.ones(len(values), np.int64)
    return round(_weighted_auc(values[order], truth[order], whole), 4)


def _weighted_auc(
    rising: NDArray[np.float32], truth: NDArray[np.bool_], times: NDArray[np.int64]
) -> float:
    """``rising`` values, each counted ``times``."""
    start = np.flatnonzero(np.append(True, rising[1:] != rising[:-1]))
    true = np.add.reduceat(np.where(truth, times, 0), start)
    false = np.add.reduceat(np.where(truth, 0, times), start)
    below = np.cumsum(false) - false
    pairs = float(true.sum() * false.sum())
    return float((true * (below + false / 2)).sum()) / pairs if pairs else 0.5


def _interval(mean: float, drawn: Floats) -> list[float]:
    lower, upper = np.quantile(drawn, (0.025, 0.975))
    return [round(float(value), 4) for value in (mean, lower, upper)]


def _kept_figures(kept: Examples, places: NDArray[np.int64], found: Floats) -> dict[str, float]:
    """AUC of every source that validation rows come from, and their mean."""
    kinds, truth = kept.kind[places], kept.truth[places] == 0
    aucs = {
        kept.kinds[kind]: auc(found[kinds == kind].astype(np.float32), truth[kinds == kind])
        for kind in np.unique(kinds)
    }
    return {"mean": round(float(np.mean(list(aucs.values()))), 4), **aucs}


if __name__ == "__main__":
    main()
