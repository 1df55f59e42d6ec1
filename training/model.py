"""A small Llama in PyTorch, in GGUF's own order of rows, so that nothing has to be permuted on the
way back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from adjudge.features.local.weights.gguf import read_header
from training.layers import MATRICES, Linear, Norm
from training.rounding import RoundedBlock, in_blocks
from training.weights import read_tensors


class Block(nn.Module):
    """Attention and feed-forward."""

    def __init__(
        self, tensors: Mapping[str, Tensor], heads: int, kv_heads: int, epsilon: float
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.matrices = nn.ModuleDict({name: Linear(tensors[name]) for name in MATRICES})
        self.attn_norm, self.ffn_norm = (
            Norm(tensors["attn_norm"], epsilon),
            Norm(tensors["ffn_norm"], epsilon),
        )
        self.rounded: RoundedBlock | None = None

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self._attention(self.attn_norm(x), turn)
        return x + self._feed_forward(self.ffn_norm(x))

    def _attention(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        m = self.matrices
        out: Tensor = m["attn_output"](
            self._mixed(m["attn_q"](x), m["attn_k"](x), m["attn_v"](x), turn)
        )
        return out

    def _mixed(self, q: Tensor, k: Tensor, v: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        """Values, each token's from those before it."""
        batch, length, width = q.shape
        q = _turned(q.view(batch, length, self.heads, -1), turn).transpose(1, 2)
        k = _turned(k.view(batch, length, self.kv_heads, -1), turn).transpose(1, 2)
        v = v.view(batch, length, self.kv_heads, -1).transpose(1, 2)
        k, v = (part.repeat_interleave(self.heads // self.kv_heads, 1) for part in (k, v))
        # Prompts are padded behind their end, where nothing before it looks: being causal is all
        # the mask there is.
        seen = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)
        return seen.transpose(1, 2).reshape(batch, length, width)

    def _feed_forward(self, x: Tensor) -> Tensor:
        m = self.matrices
        out: Tensor = m["ffn_down"](F.silu(m["ffn_gate"](x)) * m["ffn_up"](x))
        return out

    def in_eight_bits(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        """As the runtime computes it, in its own coordinates."""
        r = self.rounded
        assert r is not None
        given = r.ready(self.attn_norm.without_gain(x), "attention_mean")
        q, k, v = (r.product(given, name) for name in ("query", "key", "value"))
        mixed = self._mixed(q, k, v, turn)
        x = x + r.product(r.ready(mixed, "mixed_mean"), "output")
        given = r.ready(self.ffn_norm.without_gain(x), "feeding_mean")
        inner = F.silu(r.product(given, "gate")) * r.product(given, "up")
        return x + r.product(r.ready(in_blocks(inner, r.spread), "inner_mean"), "down")


Through = Callable[[Block, Tensor, tuple[Tensor, Tensor]], Tensor]


def through(block: Block, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """One block; training has this compiled."""
    out: Tensor = block(x, turn)
    return out


def through_rounded(block: Block, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """The same in eight bits."""
    return block.in_eight_bits(x, turn)


class Llama(nn.Module):
    """Token ids → log-probabilities of the tokens behind some of them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        about, tensors = (
            read_header(path).metadata,
            {k: torch.from_numpy(v) for k, v in read_tensors(path).items()},
        )
        of = {key.removeprefix("llama."): value for key, value in about.items()}
        epsilon, size = of["attention.layer_norm_rms_epsilon"], of["rope.dimension_count"]
        self.embeddings = nn.Parameter(tensors["token_embd.weight"], requires_grad=False)
        self.output_norm = Norm(tensors["output_norm.weight"], epsilon)
        heads, kv_heads = of["attention.head_count"], of["attention.head_count_kv"]
        parts = [_of_block(tensors, place) for place in range(of["block_count"])]
        self.blocks = nn.ModuleList(Block(part, heads, kv_heads, epsilon) for part in parts)
        angles = 1.0 / of["rope.freq_base"] ** (
            torch.arange(0, size, 2, dtype=torch.float32) / size
        )
        self.register_buffer("angles", angles)
        self.through: Through = through
        self.turn: Tensor | None = None
        """What the stream is written in while it is rounded, once that was prepared."""
        self.rounds = False

    def matrices(self) -> dict[str, Linear]:
        """The trained matrices by their GGUF names."""
        named = (
            (f"blk.{place}.{name}", block.matrices[name])
            for place, block in enumerate(self.blocks)
            for name in MATRICES
        )
        return dict(named)  # type: ignore[arg-type]  # ModuleList forgets what it holds

    @property
    def plain(self) -> Through:
        """One block, not compiled."""
        return through_rounded if self.rounds else through

    def forward(self, ids: Tensor, at: Tensor) -> Tensor:
        """``ids``: texts padded behind their end; ``at``: the places in each behind which the next
        token is wanted.
        """
        x = F.embedding(ids, self.embeddings)
        place = torch.arange(ids.shape[1], device=ids.device, dtype=torch.float32)
        angle = torch.outer(place, self.angles)  # type: ignore[arg-type]
        turn = angle.cos()[None, :, None], angle.sin()[None, :, None]
        step = self.through if self.training else self.plain
        if self.rounds and self.turn is not None:
            x = x @ self.turn
        for block in self.blocks:
            x = step(block, x, turn)  # type: ignore[arg-type]  # ModuleList forgets what it holds
        ends = x[torch.arange(len(ids), device=ids.device)[:, None], at]
        if self.rounds and self.turn is not None:
            ends = ends.float() @ self.turn.T
        ends = self.output_norm(ends)
        return F.linear(ends, self.embeddings).float().log_softmax(-1)


def padded(prompts: list[np.ndarray], width: int, rows: int) -> NDArray[np.int64]:
    """Prompts of unlike length as one matrix, with empty rows below."""
    ids = np.zeros((rows, width), np.int64)
    for row, prompt in zip(ids, prompts, strict=False):
        row[: len(prompt)] = prompt
    return ids


def _turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary positions, neighbouring values in pairs."""
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = turn
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def _of_block(tensors: Mapping[str, Tensor], place: int) -> dict[str, Tensor]:
    start = f"blk.{place}."
    return {
        k.removeprefix(start).removesuffix(".weight"): v
        for k, v in tensors.items()
        if k.startswith(start)
    }
