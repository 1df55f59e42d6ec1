"""Weights rewritten as F16: against a dequantisation written weight by weight, from the description
of the format.
"""

from __future__ import annotations

import math
import random
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_gguf import Q4_0, Q4_1, SPECIALS, gguf, tiny_model
from training.f16 import as_f16, rewrite

from adjudge.errors import SetupError
from adjudge.features.local.weights.gguf import F16, F32, Q8_0, Header, Tensor, read_header
from training import f16


def half(number: float) -> float:
    """The F16 nearest to ``number``."""
    return float(struct.unpack("<e", struct.pack("<e", number))[0])


def reference(raw: bytes, kind: int) -> list[float]:
    length = 18 if kind == Q4_0 else 20
    weights = []
    for at in range(0, len(raw), length):
        block = raw[at : at + length]
        scale = struct.unpack("<e", block[:2])[0]
        least = -8 * scale if kind == Q4_0 else struct.unpack("<e", block[2:4])[0]
        packed = block[-16:]
        codes = [byte & 0x0F for byte in packed] + [byte >> 4 for byte in packed]
        weights += [half(code * scale + least) for code in codes]
    return weights


def raw_of(header: Header, tensor: Tensor) -> bytes:
    with header.path.open("rb") as file:
        file.seek(header.data_start + tensor.offset)
        return file.read(tensor.size or 0)


def model(folder: Path, *, kind: int = Q4_1, seed: int = 0) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(tiny_model(kind=kind, seed=seed))
    return path


@pytest.mark.parametrize("kind", [Q4_0, Q4_1])
def test_every_matrix_equals_the_reference_and_the_rest_is_as_it_was(
    tmp_path: Path, kind: int
) -> None:
    source, target = model(tmp_path, kind=kind), tmp_path / "f16.gguf"
    rewrite(source, target)
    old, new = read_header(source), read_header(target)
    assert [tensor.name for tensor in new.tensors] == [tensor.name for tensor in old.tensors]
    for before, after in zip(old.tensors, new.tensors, strict=True):
        raw, found = raw_of(old, before), raw_of(new, after)
        if before.kind == kind:
            assert after.kind == F16
            assert list(struct.unpack(f"<{len(found) // 2}e", found)) == reference(raw, kind)
        else:
            assert before.kind in (F32, Q8_0)
            assert (after.kind, found) == (before.kind, raw)


def test_metadata_stays_but_for_the_file_type(tmp_path: Path) -> None:
    rewrite(model(tmp_path), tmp_path / "f16.gguf")
    old, new = (
        read_header(tmp_path / "model.gguf").metadata,
        read_header(tmp_path / "f16.gguf").metadata,
    )
    assert new["general.file_type"] == 1
    assert {**new, "general.file_type": 0} == {**old, "general.file_type": 0}
    assert list(read_header(tmp_path / "f16.gguf").special_tokens) == list(SPECIALS)


@pytest.mark.parametrize("kind", [Q4_0, Q4_1])
def test_every_scale_and_code_is_turned_like_the_reference(kind: int) -> None:
    chance = random.Random(kind)
    extremes = [0.0, -0.0, 6e-8, -6e-8, 1.0, -1.0, 4000.0, -4000.0]
    heads = extremes + [chance.uniform(-2, 2) for _ in range(500)]
    pack: Callable[[float], bytes] = (
        (lambda scale: struct.pack("<e", scale))
        if kind == Q4_0
        else lambda scale: struct.pack("<2e", scale, chance.choice(heads))
    )
    raw = b"".join(pack(scale) + chance.randbytes(16) for scale in heads)
    found = as_f16(raw, kind)
    assert list(struct.unpack(f"<{len(found) // 2}e", found)) == reference(raw, kind)


def test_infinite_scales_stay_infinite_and_too_large_weights_are_refused(tmp_path: Path) -> None:
    infinite = struct.pack("<2e", math.inf, 0) + bytes([0x11]) * 16
    assert set(struct.unpack("<32e", as_f16(infinite, Q4_1))) == {math.inf}
    source = tmp_path / "large.gguf"
    source.write_bytes(
        gguf({}, {"huge": ((32,), Q4_1, struct.pack("<2e", 60000, 60000) + bytes([0xFF]) * 16)})
    )
    with pytest.raises(SetupError, match="tensor huge holds weights that no F16 can hold"):
        rewrite(source, tmp_path / "f16.gguf")
    assert [path.name for path in tmp_path.iterdir()] == ["large.gguf"]


@pytest.mark.parametrize("to_f16", [False, True])
def test_a_cut_has_the_first_layers_only(tmp_path: Path, to_f16: bool) -> None:
    rewrite(model(tmp_path), tmp_path / "cut.gguf", to_f16=to_f16, layers=2)
    cut = read_header(tmp_path / "cut.gguf")
    assert cut.layers == 2
    assert {
        tensor.name.split(".")[1] for tensor in cut.tensors if tensor.name.startswith("blk.")
    } == {"0", "1"}
    assert {"token_embd.weight", "output_norm.weight"} <= {tensor.name for tensor in cut.tensors}
    assert (F16 in {tensor.kind for tensor in cut.tensors}) is to_f16


def test_a_cut_deeper_than_the_model_is_the_model(tmp_path: Path) -> None:
    source = model(tmp_path)
    rewrite(source, tmp_path / "cut.gguf", to_f16=False, layers=99)
    assert (tmp_path / "cut.gguf").read_bytes() == source.read_bytes()


def test_progress_grows_to_the_whole(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    rewrite(
        model(tmp_path),
        tmp_path / "f16.gguf",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


def test_a_large_tensor_is_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f16, "_BLOCKS_AT_ONCE", 500)
    source = tmp_path / "wide.gguf"
    blocks = 40_000
    source.write_bytes(gguf({}, {"wide": ((32, blocks), Q4_1, bytes(20 * blocks))}))
    tracemalloc.start()
    rewrite(source, tmp_path / "f16.gguf")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "f16.gguf").stat().st_size > 2.5e6
    assert peak < 0.5e6


def test_an_interrupted_rewrite_leaves_the_target_as_it_was(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    target = tmp_path / "f16.gguf"
    target.write_text("what was there")
    source = model(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        rewrite(source, target, progress=interrupt)
    assert target.read_text() == "what was there"
    assert {path.name for path in tmp_path.iterdir()} == {"f16.gguf", "model.gguf"}


def test_weights_of_an_unknown_type_are_not_rewritten(tmp_path: Path) -> None:
    source = tmp_path / "odd.gguf"
    source.write_bytes(gguf({}, {"t": ((32,), 99, bytes(8))}))
    with pytest.raises(SetupError, match="tensor t is of an unknown type"):
        rewrite(source, tmp_path / "f16.gguf")
