"""Train the judge in two stages, each of them a command of some minutes on one GPU.

    python -m training.train full --base BASE.gguf --data examples.npz --out OUT --minutes 7
    python -m training.train lora --base BASE.gguf --data examples.npz --out OUT --minutes 7 --start OUT/cut.npz

The first trains the matrices themselves and cuts their change to a low rank; the second trains that change on, from where
the first left it or from any adapter. Everything they write is small: figures, adapters, scores of a fixed set of prompts.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from training.data import Examples, batches, load
from training.figures import fit, table, threshold
from training.model import Llama, padded
from training.scoring import Reading, label_logprobs, readings
from training.splits import ANSWERS

RANK = 16
CHECKED = 200
_BETAS = (0.9, 0.98)
_WARM_UP = 100
_WANTED = 0.9
"""Verdicts above the threshold of confidence are to be right this often, on kinds of criteria that were not trained."""


@dataclass(frozen=True)
class Plan:
    """How long and how fast to learn; the rate falls as a cosine over the steps or the minutes, whichever end first."""

    rate: float
    steps: int
    minutes: float
    tokens: int


def main() -> None:
    args = _arguments()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    examples = load(args.data)
    model = Llama(args.base).to(device)
    args.out.mkdir(parents=True, exist_ok=True)
    plan = Plan(args.rate or {"full": 2e-4, "lora": 1e-3}[args.stage], args.steps, args.minutes, args.tokens)
    if args.stage == "full":
        before = {name: matrix.weight.detach().clone() for name, matrix in model.matrices().items()}
        train(model, examples, plan)
        evaluate(model, examples, args.out / "full.json")
        cut(model, before, args.rank)
        save_adapter(model, args.out / "cut.npz")
        evaluate(model, examples, args.out / "cut.json")
    else:
        start_from(model, args.start)
        train(model, examples, plan)
        save_adapter(model, args.out / "adapter.npz")
        save_scores(model, examples, args.out / "scores.json")
        evaluate(model, examples, args.out / "lora.json")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["full", "lora"])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="the adapter that the second stage begins with")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--tokens", type=int, default=12_288, help="a step, padding included")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--rank", type=int, default=RANK)
    return parser.parse_args()


def train(model: Llama, examples: Examples, plan: Plan) -> None:
    """Answer tokens only are learned, over the whole vocabulary."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, plan.rate, _BETAS, weight_decay=0.0, fused=trained[0].is_cuda)
    print(f"training {sum(weight.numel() for weight in trained):,} weights on {len(examples.of('train')):,} examples", flush=True)
    start, losses = time.monotonic(), []
    for step, batch in enumerate(_endless(examples, plan.tokens)):
        done = max(step / plan.steps, (time.monotonic() - start) / (60 * plan.minutes))
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * min(1.0, (step + 1) / _WARM_UP) * (1 + math.cos(math.pi * done)) / 2
        losses.append(_step(model, examples, batch, optimiser, trained))
        if step % 50 == 49:
            mean = torch.stack(losses).mean().item()
            print(f"step {step + 1}, {time.monotonic() - start:.0f} s, loss {mean:.4f}", flush=True)
            losses.clear()
    print(f"{step} steps in {time.monotonic() - start:.0f} s", flush=True)


def _endless(examples: Examples, tokens: int) -> Iterator[NDArray[np.int64]]:
    places, seed = examples.of("train"), 0
    while True:
        yield from batches(places, examples.lengths, tokens, seed)
        seed += 1


def _step(
    model: Llama,
    examples: Examples,
    batch: NDArray[np.int64],
    optimiser: torch.optim.Optimizer,
    trained: list[torch.nn.Parameter],
) -> Tensor:
    device, starts = model.embeddings.device, examples.starts
    ids, last = padded([examples.ids[starts[place] : starts[place] + examples.lengths[place]] for place in batch], device)
    truth = torch.from_numpy(examples.labels[batch, examples.truth[batch]]).long().to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        loss = F.nll_loss(model(ids, last), truth)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0, foreach=True)
    optimiser.step()
    return loss.detach()


def cut(model: Llama, before: dict[str, Tensor], rank: int) -> None:
    """Keep the ``rank`` largest parts of each matrix's change beside the matrix as it was."""
    _freeze(model)
    for name, matrix in model.matrices().items():
        change = (matrix.weight.detach() - before[name]).float()
        u, s, v = torch.svd_lowrank(change, q=min(4 * rank, *change.shape), niter=6)
        root = s[:rank].sqrt()
        matrix.weight.data.copy_(before[name])
        matrix.add_change((v[:, :rank] * root).T.contiguous(), (u[:, :rank] * root).contiguous())


def start_from(model: Llama, adapter: Path) -> None:
    """The model with an adapter as it was saved."""
    _freeze(model)
    with np.load(adapter) as file:
        for name, matrix in model.matrices().items():
            a, b = (torch.from_numpy(file[f"{name}.weight.lora_{part}"]).float() for part in "ab")
            matrix.add_change(a.to(matrix.weight.device), b.to(matrix.weight.device))


def _freeze(model: Llama) -> None:
    for weight in model.parameters():
        weight.requires_grad_(False)


def save_adapter(model: Llama, path: Path) -> None:
    """Both factors of every change, in float16."""
    parts = {}
    for name, matrix in model.matrices().items():
        assert matrix.a is not None and matrix.b is not None
        parts[f"{name}.weight.lora_a"] = matrix.a.detach().half().cpu().numpy()
        parts[f"{name}.weight.lora_b"] = matrix.b.detach().half().cpu().numpy()
    np.savez(path, **parts)


def save_scores(model: Llama, examples: Examples, path: Path) -> None:
    """What the trained model says of a fixed set of prompts, in full precision: the exported adapter must say the same."""
    places = np.concatenate([examples.of("held_out"), examples.of("validation")])
    chosen = np.sort(np.random.default_rng(7).permutation(places)[:CHECKED])
    logs = label_logprobs(model, examples, chosen, exact=True)
    rows = [
        [round(float(value), 5) for value in row[examples.labels[place] >= 0]] for place, row in zip(chosen, logs, strict=True)
    ]
    path.write_text(json.dumps({"places": chosen.tolist(), "logprobs": rows}))


def evaluate(model: Llama, examples: Examples, path: Path) -> None:
    """Fit the settings, then print and write the figures of all that was not trained on."""
    model.eval()
    found = readings(model, examples, ("validation", "tuning", "held_out"))
    settings, unsure = {}, {}
    for answer in ANSWERS:
        part = _for_fitting([one for one in found if one.answer == answer])
        settings |= fit(part, [answer])
        unsure[answer] = threshold(part, settings, _WANTED)
    shown = {answer: {**vars(setting), "threshold": unsure[answer]} for answer, setting in settings.items()}
    whole = {"settings": shown, "figures": table(found, settings)}
    path.write_text(json.dumps(whole, indent=1))
    for split, parts in whole["figures"].items():  # type: ignore[attr-defined]
        print(path.stem, split, json.dumps(parts["all"]), json.dumps(parts["language"]), json.dumps(parts["answer"]), flush=True)


def _for_fitting(found: list[Reading]) -> list[Reading]:
    """Kinds kept for it where there are some, else other texts of trained kinds."""
    tuning = [one for one in found if one.split == "tuning"]
    return tuning or [one for one in found if one.split == "validation"]


if __name__ == "__main__":
    main()
