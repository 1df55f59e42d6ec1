"""The network as the runtime computes it: matrices and what goes into them rounded to eight bits.

All that ``adjudge.features.local.onnx.merger`` does before it rounds is done here, too: numbers are
written in turned coordinates, the mean of what goes into a matrix and the directions it varies most
in are left out, and the first token is not rounded at all. Gradients go through the rounding as if
it were not there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from adjudge.features.local.onnx.graph import AXES, INPUT_OF, Shape
from adjudge.features.local.onnx.merger import _Turn, hadamard
from training.layers import Linear, Norm
from training.weights import Array

RUNTIME_NAMES = {
    "attn_q": "query",
    "attn_k": "key",
    "attn_v": "value",
    "attn_output": "output",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_down": "down",
}
"""What the runtime calls the matrices."""
_NORMS = {"attention_mean": "attn_norm", "feeding_mean": "ffn_norm"}
"""Of which norm the gain is part of the matrices that these numbers go into."""
_MOST = 127.0
_SMALLEST = 1e-10


class RoundedMatrix(nn.Module):
    """A matrix in turned coordinates, with the changes of low rank that are trained beside it."""

    def __init__(
        self, matrix: Linear, gain: Tensor | None, into: Tensor, out: Tensor | None
    ) -> None:
        super().__init__()
        self._matrix = [matrix]  # not a part of this module: its weights are trained elsewhere
        self.gain: Tensor | None
        self.into: Tensor
        self.out: Tensor | None
        self.weight: Tensor
        for name, value in (("gain", gain), ("into", into), ("out", out)):
            self.register_buffer(name, value, persistent=False)
        self.register_buffer("weight", self._turned(matrix.weight.detach()), persistent=False)

    def forward(self) -> tuple[Tensor, Tensor, Tensor]:
        """The matrix as it is; its whole numbers of eight bits, and the scale of each number that
        comes out.
        """
        (matrix,) = self._matrix
        whole = self.weight
        if matrix.a is not None and matrix.b is not None:
            a = matrix.a if self.gain is None else matrix.a * self.gain
            b = matrix.b if self.out is None else in_blocks(matrix.b.T, self.out).T
            with torch.autocast(whole.device.type, enabled=False):
                whole = whole + b.float() @ in_blocks(a.float(), self.into)
        scale = (whole.detach().abs().amax(1) / _MOST).clamp(min=1e-12)
        return whole, _whole_numbers(whole / scale[:, None]), scale

    def _turned(self, weight: Tensor) -> Tensor:
        found = in_blocks(weight if self.gain is None else weight * self.gain, self.into)
        return found if self.out is None else in_blocks(found.T, self.out).T.contiguous()


class RoundedInput(nn.Module):
    """What is left out of the rounding of numbers that go into matrices."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.mean: Tensor
        self.axes: Tensor
        self.register_buffer("mean", torch.zeros(size), persistent=False)
        self.register_buffer("axes", torch.zeros(size, AXES), persistent=False)

    def set(self, mean: Array, axes: Array) -> None:
        self.mean.copy_(torch.from_numpy(mean))
        self.axes.copy_(torch.from_numpy(axes))

    def forward(self, numbers: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The first token; whole numbers of eight bits, the scale of each token, and what lies
        along the main directions.
        """
        with torch.autocast(numbers.device.type, enabled=False):
            numbers = numbers.float()
            centred = numbers - self.mean
            along = centred @ self.axes
            rest = centred - along @ self.axes.T
        scale = rest.detach().abs().amax(-1, keepdim=True) / _MOST + _SMALLEST
        return numbers[:1, :1], _whole_numbers(rest / scale), scale, along


class RoundedBlock(nn.Module):
    """How one block is rounded."""

    def __init__(
        self, matrices: Mapping[str, Linear], norms: Mapping[str, Norm], shape: Shape, turn: Turns
    ) -> None:
        """``matrices`` and ``norms``: those of the block, by their GGUF names."""
        super().__init__()
        gains = {
            runtime: norms[_NORMS[source]].weight
            for runtime in RUNTIME_NAMES.values()
            if (source := INPUT_OF[runtime]) in _NORMS
        }
        self.matrices = nn.ModuleDict(
            {
                runtime: RoundedMatrix(
                    matrices[name],
                    gains.get(runtime),
                    turn.into(runtime),
                    turn.out(runtime),
                )
                for name, runtime in RUNTIME_NAMES.items()
            }
        )
        self.inputs = nn.ModuleDict(
            {name: RoundedInput(size) for name, size in shape.means.items()}
        )
        self.spread: Tensor
        self.register_buffer("spread", turn.inner, persistent=False)

    def product(self, given: tuple[Tensor, Tensor, Tensor, Tensor], name: str) -> Tensor:
        """Numbers that were made ready times a matrix."""
        first, numbers, scale, along = given
        whole, rounded, steps = self.matrices[name]()
        source = self.inputs[INPUT_OF[name]]
        with torch.autocast(whole.device.type, enabled=False):
            axes, mean = whole @ source.axes, whole @ source.mean
        found = F.linear(numbers, rounded).float() * scale * steps
        exact = F.linear(along, axes).float() + mean
        places = torch.arange(found.shape[1], device=found.device)[None, :, None]
        return torch.where(places == 0, F.linear(first, whole).float(), found + exact)

    def ready(self, numbers: Tensor, name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Numbers made ready for the matrices that they go into."""
        found: tuple[Tensor, Tensor, Tensor, Tensor] = self.inputs[name](numbers)
        return found


class Turns:
    """Orthogonal matrices that the runtime writes numbers in."""

    def __init__(self, shape: Shape, device: torch.device) -> None:
        eye = np.eye(shape.width, dtype=np.float32)
        self.stream, self.head, self.inner = (
            torch.from_numpy(turn).to(device)
            for turn in (_Turn(shape).stream(eye), hadamard(shape.head), hadamard(shape.spread))
        )

    def into(self, name: str) -> Tensor:
        """Of what a matrix takes in."""
        return {"output": self.head, "down": self.inner}.get(name, self.stream)

    def out(self, name: str) -> Tensor | None:
        """Of what a matrix gives out; None where that is not turned."""
        found = {"output": self.stream, "down": self.stream, "value": self.head}
        return found.get(name)


def in_blocks(numbers: Tensor, turn: Tensor) -> Tensor:
    """Times a turn, block by block where that is smaller."""
    size = len(turn)
    if numbers.shape[-1] == size:
        return numbers @ turn
    return (numbers.unflatten(-1, (-1, size)) @ turn).flatten(-2)


def _whole_numbers(numbers: Tensor) -> Tensor:
    return numbers + (numbers.round() - numbers).detach()
