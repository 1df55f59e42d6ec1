"""The parts of a block: matrices that are trained, and norms."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
"""What is trained in each block; embeddings and norms stay as they are, since an adapter cannot
hold their change.
"""


class Linear(nn.Module):
    """A matrix, and beside it a change of low rank where one was added."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.a: nn.Parameter | None = None
        self.b: nn.Parameter | None = None

    def add_change(self, a: Tensor, b: Tensor) -> None:
        """Freeze the matrix and train ``b @ a`` beside it."""
        self.weight.requires_grad_(False)
        self.a, self.b = nn.Parameter(a), nn.Parameter(b)

    def merge(self) -> None:
        """Make the change part of the matrix, and train that."""
        if self.a is not None and self.b is not None:
            self.weight.data += self.b.detach() @ self.a.detach()
        self.weight.requires_grad_(True)
        self.a = self.b = None

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(x, self.weight)
        return y if self.a is None or self.b is None else y + F.linear(F.linear(x, self.a), self.b)


class Norm(nn.Module):
    """Root mean square norm, in float32."""

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), self.weight.shape, self.weight, self.epsilon)

    def without_gain(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), self.weight.shape, None, self.epsilon)
