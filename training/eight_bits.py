"""Preparing a network to be computed in eight bits, as the runtime does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudge.features.local.onnx.merger import (
    _main_axes,
    _Turn,
    merged,
    rotation_base,
    shape_of,
    spread,
)
from adjudge.features.local.onnx.sample_reading import SampleReading
from adjudge.features.local.onnx.weights import _frame, _samples
from adjudge.features.local.weights.gguf import read_header
from training.model import Block, Llama
from training.rounding import RoundedBlock, Turns
from training.weights import Array, write_adapter


def samples_of(base: Path) -> list[list[int]]:
    """The sample prompts of the runtime, as tokens."""
    header = read_header(base)
    return _samples(header, *_frame(header))


def left_out(base: Path, tensors: Mapping[str, Array]) -> Iterator[dict[str, tuple[Array, Array]]]:
    """For each layer the means and axes that the runtime would make of an adapter."""
    header = read_header(base)
    shape = shape_of(header)
    turn = _Turn(shape)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "adapter.gguf"
        write_adapter(path, tensors)
        weights = merged(base, path, samples_of(base))
        embedding = turn.stream(weights._tensor("token_embd.weight"))
        reading = SampleReading(
            shape, rotation_base(header), [embedding[list(one)] for one in weights.samples]
        )
        for layer in range(shape.layers):
            inputs = reading.pass_through(weights._layer(layer, shape, turn))
            inputs |= {"inner_mean": spread(inputs["inner_mean"], shape)}
            means = {name: numbers.mean(axis=0) for name, numbers in inputs.items()}
            yield {
                name: (means[name], _main_axes(numbers - means[name]))
                for name, numbers in inputs.items()
            }


def prepare(model: Llama, base: Path) -> None:
    """Give every block what rounding needs; changes must be beside the matrices already."""
    shape = shape_of(read_header(base))
    turn = Turns(shape, model.embeddings.device)
    model.turn = turn.stream
    for block in model.blocks:
        assert isinstance(block, Block)  # ModuleList forgets what it holds
        norms = {"attn_norm": block.attn_norm, "ffn_norm": block.ffn_norm}
        rounded = RoundedBlock(block.matrices, norms, shape, turn)  # type: ignore[arg-type]
        block.rounded = rounded.to(model.embeddings.device)


def look_again(model: Llama, base: Path, tensors: Mapping[str, Array]) -> None:
    """Leave out of the rounding what the runtime would leave out now."""
    for block, found in zip(model.blocks, left_out(base, tensors), strict=True):
        for name, (mean, axes) in found.items():
            block.rounded.inputs[name].set(mean, axes)  # type: ignore[union-attr,operator]
