"""Changes of low rank beside the matrices: cut out of a trained model, saved, put back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from training.model import Llama
from training.ranks import shared_out
from training.weights import read_adapter


def merge(model: Llama) -> None:
    """The changes become part of the matrices, which are trained from there."""
    for matrix in model.matrices().values():
        matrix.merge()


def cut(model: Llama, before: dict[str, Tensor], size: int) -> None:
    """Keep the largest parts of the changes beside the matrices as they were.

    Matrices that changed more get a higher rank; together they are as large as if each had the rank
    ``size``.
    """
    parts = {
        name: _parts(matrix.weight.detach() - before[name], 2 * size)
        for name, matrix in model.matrices().items()
    }
    ranks = shared_out(
        {name: (s.cpu().numpy(), u.shape[0] + v.shape[0]) for name, (u, s, v) in parts.items()},
        size,
    )
    changes = {}
    for name, matrix in model.matrices().items():
        (u, s, v), rank = parts[name], ranks[name]
        root = s[:rank].sqrt()
        matrix.weight.data.copy_(before[name])
        changes[name] = (v[:, :rank] * root).T, u[:, :rank] * root
    put_beside(model, changes)


def _parts(change: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.svd_lowrank(change.float(), q=min(most, *change.shape), niter=6)


def start_from(model: Llama, adapter: Path) -> None:
    """The model with an adapter as it was saved, or as the package ships it."""
    parts = {
        name: torch.tensor(values).to(model.embeddings.device)
        for name, values in read_adapter(adapter).items()
    }
    put_beside(
        model,
        {
            name: (parts[f"{name}.weight.lora_a"], parts[f"{name}.weight.lora_b"])
            for name in model.matrices()
        },
    )


def put_beside(model: Llama, changes: Mapping[str, tuple[Tensor, Tensor]]) -> None:
    """Train only the changes.

    They are filled up with zeros to one rank, so that all blocks are alike. Such zeros stay: where
    both factors are zero, so are the gradients of both.
    """
    for weight in model.parameters():
        weight.requires_grad_(False)
    rank = max(len(a) for a, _ in changes.values())
    for name, matrix in model.matrices().items():
        a, b = changes[name]
        wide = F.pad(a, (0, 0, 0, rank - len(a))), F.pad(b, (0, rank - len(a)))
        matrix.add_change(*(part.contiguous() for part in wide))


def save_adapter(model: Llama, path: Path) -> None:
    """Both factors of every change, in float16."""
    np.savez(path, **factors(model, np.float16))


def factors(model: Llama, kind: type = np.float32) -> dict[str, Any]:
    """Both factors of every change, without what they were filled up with."""
    parts = {}
    for name, matrix in model.matrices().items():
        assert matrix.a is not None and matrix.b is not None
        a, b = (part.detach().half().cpu().numpy() for part in (matrix.a, matrix.b))
        used = a.any(1) | b.any(0)
        parts[f"{name}.weight.lora_a"] = a[used].astype(kind)
        parts[f"{name}.weight.lora_b"] = b[:, used].astype(kind)
    return parts
