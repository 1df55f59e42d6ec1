"""Train the judge in two stages, each of them a command of some minutes on one GPU.

    python -m training.train full --base BASE.gguf --data FOLDER --out OUT --minutes 7
    python -m training.train lora --base BASE.gguf --data FOLDER --out OUT --minutes 7 --start
    OUT/cut.npz [--claims CLAIMS --claiming 0.45] [--rounding]

The first trains the matrices themselves and cuts their change to a low rank; the second trains that
change on, from where the first left it or from any adapter (npz, or GGUF as the package ships it).
FOLDER is what ``training.build`` wrote, CLAIMS what ``training.claims.build`` did. With
``--rounding`` everything is computed as the runtime does in eight bits, and measured both so and in
32 bits. Everything they write is small: figures, adapters, scores of a fixed set of prompts.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from training.adapters import cut, factors, merge, save_adapter, start_from
from training.claims.measure import measure
from training.data import Examples, Translations, load, load_translations
from training.eight_bits import look_again, prepare
from training.figures import fit, table, threshold
from training.model import Llama
from training.scoring import label_logprobs, readings
from training.splits import ANSWERS, SPLITS
from training.steps import Mix, Steps, right_answers

SIZE = 16
"""The rank that the changes have on average."""
CHECKED = 200
_BETAS = (0.9, 0.98)
_WARM_UP = 100
_WANTED = 0.9
"""Verdicts above the threshold of confidence are to be right this often, on kinds of criteria that
were not trained.
"""


@dataclass(frozen=True)
class Plan:
    """How long and how fast to learn; the rate falls as a cosine over the steps or the minutes,
    whichever end first.
    """

    rate: float
    steps: int
    minutes: float
    tokens: int
    translating: float
    """Share of the steps that translate."""
    claiming: float = 0.0
    """Share of the steps on claims."""
    taught: float = 0.0
    """How far questions are learned from what the model says of them before, not from the truth."""
    seed: int = 0
    plain: bool = False


def main() -> None:
    args = _arguments()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    examples, translations = (
        load(args.data / "examples.npz"),
        load_translations(args.data / "translations.npz"),
    )
    model = Llama(args.base).to(device)
    args.out.mkdir(parents=True, exist_ok=True)
    rate = args.rate or {"full": 2e-4, "lora": 1e-3}[args.stage]
    plan = Plan(
        rate,
        args.steps,
        args.minutes,
        args.tokens,
        args.translating,
        args.claiming,
        args.taught,
        args.seed,
        plain=args.plain,
    )
    claims = load(args.claims / "claims.npz") if args.claims else None
    before = {name: matrix.weight.detach().clone() for name, matrix in model.matrices().items()}
    if args.start:
        start_from(model, args.start)
    if args.stage == "full":
        merge(model)
        train(model, examples, translations, plan)
        evaluate(model, examples, args.out / "full.json")
        cut(model, before, args.size)
        save_adapter(model, args.out / "cut.npz")
        evaluate(model, examples, args.out / "cut.json")
        return
    if args.rounding:
        prepare(model, args.base)
        look_again(model, args.base, factors(model))
        model.rounds = True
    if args.minutes:
        train(model, examples, translations, plan, claims)
    save_adapter(model, args.out / "adapter.npz")
    if args.rounding:
        look_again(model, args.base, factors(model))
    for rounds in (False, True) if args.rounding else (False,):
        model.rounds = rounds
        name = "int8" if rounds else "fp32"
        save_scores(model, examples, args.out / f"scores_{name}.json")
        evaluate(model, examples, args.out / f"lora_{name}.json", SPLITS[2 if rounds else 1 :])
        if args.claims:
            measure(model, args.claims, args.out / f"claims_{name}.json")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["full", "lora"])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="an adapter to begin with")
    parser.add_argument("--claims", type=Path, help="what training.claims.build wrote")
    parser.add_argument(
        "--claiming", type=float, default=0.0, help="share of the steps that are claims"
    )
    parser.add_argument(
        "--taught",
        type=float,
        default=0.0,
        help="how far questions are learned from what the model says of them before",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the order of what is trained on")
    parser.add_argument(
        "--rounding", action="store_true", help="compute in eight bits, as the runtime does"
    )
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--tokens", type=int, default=16_384, help="a step, padding included")
    parser.add_argument(
        "--translating", type=float, default=0.25, help="share of the steps that translate"
    )
    parser.add_argument("--rate", type=float)
    parser.add_argument(
        "--plain",
        action="store_true",
        help="compile and record nothing: slower, for GPUs where that fails",
    )
    parser.add_argument(
        "--size",
        type=int,
        default=SIZE,
        help="of what is kept: the rank that the changes have on average",
    )
    return parser.parse_args()


def train(
    model: Llama,
    examples: Examples,
    translations: Translations,
    plan: Plan,
    claims: Examples | None = None,
) -> None:
    """Of a question only the answer is learned, of a translation every word, over the whole
    vocabulary.
    """
    taught = right_answers(examples)
    if plan.taught:
        places = examples.of("train")
        said = np.exp(label_logprobs(model, examples, places))
        taught[places] = (1 - plan.taught) * taught[places] + plan.taught * said
    model.train()
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    print(
        f"training {sum(weight.numel() for weight in trained):,} weights on "
        f"{len(examples.of('train')):,} examples",
        flush=True,
    )
    optimiser = torch.optim.AdamW(
        trained, plan.rate, _BETAS, weight_decay=0.0, fused=trained[0].is_cuda
    )
    mix = Mix(
        examples,
        translations,
        plan.tokens,
        plan.translating,
        claims,
        plan.claiming,
        taught,
        plan.seed,
    )
    gradients = Steps(model, trained, fast=trained[0].is_cuda and not plan.plain)
    gradients.prepare(mix.shapes())
    start, losses = time.monotonic(), defaultdict(list)
    for step, (name, batch) in enumerate(mix.endless()):
        done = max(step / plan.steps, (time.monotonic() - start) / (60 * plan.minutes))
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = (
                plan.rate * min(1.0, (step + 1) / _WARM_UP) * (1 + math.cos(math.pi * done)) / 2
            )
        losses[name].append(gradients(batch))
        torch.nn.utils.clip_grad_norm_(trained, 1.0, foreach=True)
        optimiser.step()
        if step % 250 == 249:
            means = {
                name: round(torch.stack(found).mean().item(), 4) for name, found in losses.items()
            }
            print(f"step {step + 1}, {time.monotonic() - start:.0f} s, loss {means}", flush=True)
            losses.clear()
    print(f"{step} steps in {time.monotonic() - start:.0f} s", flush=True)


def save_scores(model: Llama, examples: Examples, path: Path) -> None:
    """What the trained model says of a fixed set of prompts, in full precision: the exported
    adapter must say the same.
    """
    places = np.concatenate([examples.of("held_out"), examples.of("validation")])
    chosen = np.sort(np.random.default_rng(7).permutation(places)[:CHECKED])
    logs = label_logprobs(model, examples, chosen, exact=True)
    rows = [
        [round(float(value), 5) for value in row[examples.labels[place] >= 0]]
        for place, row in zip(chosen, logs, strict=True)
    ]
    path.write_text(json.dumps({"places": chosen.tolist(), "logprobs": rows}))


def evaluate(
    model: Llama, examples: Examples, path: Path, splits: tuple[str, ...] = SPLITS[1:]
) -> None:
    """Fit the settings on the kinds kept for that, then print and write the figures."""
    model.eval()
    found = readings(model, examples, splits, exact=True)
    fitting = [one for one in found if one.split == "tuning"]
    settings = fit(fitting, ANSWERS)
    shown = {
        answer: {
            **vars(setting),
            "threshold": threshold(
                [one for one in fitting if one.answer == answer], settings, _WANTED
            ),
        }
        for answer, setting in settings.items()
    }
    figures = table(found, settings)
    path.write_text(json.dumps({"settings": shown, "figures": figures}, indent=1))
    print(path.stem, json.dumps(shown), flush=True)
    for split, parts in figures.items():
        print(
            path.stem,
            split,
            json.dumps({name: part for name, part in parts.items() if name != "kind"}),
            flush=True,
        )


if __name__ == "__main__":
    main()
