"""Headers: what a good one says, and what is said of bad ones."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_gguf import (
    ARRAY,
    F32,
    LAYERS,
    Q4_1,
    SPECIALS,
    STRING,
    UINT32,
    Fields,
    Tensors,
    gguf,
    text,
    tiny_model,
)

from adjudge.errors import SetupError
from adjudge.features.local.weights.gguf import read_header

MODEL = tiny_model()
ONE: Tensors = {"a": ((4,), F32, struct.pack("<4f", 1, 2, 3, 4))}


def written(folder: Path, content: bytes) -> Path:
    path = folder / "some.gguf"
    path.write_bytes(content)
    return path


def with_fields(fields: Fields) -> bytes:
    return gguf(fields, ONE)


def test_a_good_header_says_what_the_model_is(tmp_path: Path) -> None:
    header = read_header(written(tmp_path, MODEL))
    assert header.version == 3
    assert header.kind == "model"
    assert header.architecture == "llama"
    assert header.layers == LAYERS
    assert header.context_length == 512
    assert header.chat_template is not None
    assert header.special_tokens == {token: number for number, token in enumerate(SPECIALS)}
    assert [tensor.shape for tensor in header.tensors if tensor.name == "blk.0.ffn_up.weight"] == [
        (64, 128)
    ]


def test_what_a_file_does_not_say_is_not_made_up(tmp_path: Path) -> None:
    header = read_header(written(tmp_path, with_fields({})))
    assert (header.kind, header.chat_template, header.special_tokens) == ("model", None, {})
    with pytest.raises(SetupError, match="its context length is missing"):
        _ = header.context_length


def test_user_defined_tokens_are_special_and_others_are_not(tmp_path: Path) -> None:
    tokens = (ARRAY, (STRING, ["plain", "unknown", "control", "own", "unused", "byte"]))
    fields: Fields = {
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": (ARRAY, (5, [1, 2, 3, 4, 5, 6])),
    }
    assert read_header(written(tmp_path, with_fields(fields))).special_tokens == {
        "control": 2,
        "own": 3,
    }


def test_an_adapter_says_so(tmp_path: Path) -> None:
    assert (
        read_header(written(tmp_path, with_fields({"general.type": (STRING, "adapter")}))).kind
        == "adapter"
    )


def test_version_2_and_other_alignments_are_read(tmp_path: Path) -> None:
    two = gguf({"general.alignment": (UINT32, 64)}, ONE | {"b": ONE["a"]}, alignment=64, version=2)
    header = read_header(written(tmp_path, two))
    assert header.alignment == 64
    assert [tensor.offset for tensor in header.tensors] == [0, 64]
    assert header.data_start % 64 == 0


HUGE = struct.pack("<Q", 2**62)
BAD = {
    "empty": (b"", "too short"),
    "a few bytes": (b"GGUF\x03\0\0\0", "too short"),
    "other magic": (b"GGML" + MODEL[4:], "does not begin with GGUF"),
    "text": (b"not weights at all, but a long enough text", "does not begin with GGUF"),
    "version 1": (MODEL[:4] + struct.pack("<I", 1) + MODEL[8:], "version is 1"),
    "big-endian": (MODEL[:4] + struct.pack(">I", 3) + MODEL[8:], "version is 50331648"),
    "absurd count of tensors": (MODEL[:8] + HUGE + MODEL[16:], "a count of 4611686018427387904"),
    "absurd count of fields": (MODEL[:16] + HUGE + MODEL[24:], "a count of 4611686018427387904"),
    "absurd length of a key": (MODEL[:24] + HUGE + MODEL[32:], "cut off or damaged"),
    "a key that is not UTF-8": (MODEL[:32] + b"\xff" + MODEL[33:], "not UTF-8"),
    "header cut off": (MODEL[:1000], "cut off or damaged"),
    "data cut off": (MODEL[:-1000], "tensor output_norm.weight|tensor blk.3.* is beyond its end"),
    "unknown type of value": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IQ", 77, 0),
        "unknown type of value 77",
    ),
    "array in an array": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", ARRAY, ARRAY, 1),
        "unknown type of value 9",
    ),
    "absurd array": (
        b"GGUF"
        + struct.pack("<IQQ", 3, 0, 1)
        + text("k")
        + struct.pack("<II", ARRAY, UINT32)
        + HUGE,
        "a count of",
    ),
    "array longer than the file": (
        b"GGUF"
        + struct.pack("<IQQ", 3, 0, 1)
        + text("k")
        + struct.pack("<IIQ", ARRAY, UINT32, 3_000_000),
        "cut off or damaged",
    ),
    "alignment 0": (with_fields({"general.alignment": (UINT32, 0)}), "alignment is 0"),
    "alignment 24": (with_fields({"general.alignment": (UINT32, 24)}), "alignment is 24"),
    "alignment in words": (
        with_fields({"general.alignment": (STRING, "wide")}),
        "alignment is 'wide'",
    ),
    "five dimensions": (
        b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + text("t") + struct.pack("<I", 5) + bytes(64),
        "a count of 5",
    ),
    "absurd shape": (gguf({}, {"t": ((2**62, 2**62), F32, b"")}), "tensor t is beyond its end"),
    "half a block": (
        gguf({}, {"t": ((33,), Q4_1, bytes(40))}),
        "tensor t is not aligned",
    ),
    "crooked offset": (
        b"GGUF"
        + struct.pack("<IQQ", 3, 1, 0)
        + text("t")
        + struct.pack("<IQIQ", 1, 1, F32, 7)
        + bytes(99),
        "tensor t is not aligned",
    ),
    "two of one name": (
        b"GGUF"
        + struct.pack("<IQQ", 3, 2, 0)
        + 2 * (text("t") + struct.pack("<IQIQ", 1, 1, F32, 0))
        + bytes(99),
        "two tensors have the same name",
    ),
}


@pytest.mark.parametrize(("content", "trouble"), BAD.values(), ids=BAD)
def test_a_bad_file_is_named_with_what_is_wrong(
    tmp_path: Path, content: bytes, trouble: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(SetupError, match=trouble) as error:
        read_header(path)
    assert str(path) in str(error.value)


def test_no_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="No such file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(SetupError, match="Is a directory"):
        read_header(tmp_path)


def test_weights_of_a_type_we_do_not_know_need_only_begin_inside_the_file(tmp_path: Path) -> None:
    header = read_header(written(tmp_path, gguf({}, {"t": ((32,), 99, bytes(8))})))
    assert header.tensors[0].size is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(0, 8000),
    damage=st.binary(min_size=1, max_size=8),
    end=st.integers(0, len(MODEL)),
)
def test_whatever_is_damaged_is_read_or_refused_in_words(
    tmp_path: Path, at: int, damage: bytes, end: int
) -> None:
    hurt = (MODEL[:at] + damage + MODEL[at + len(damage) :])[: end if end % 2 else None]
    try:
        read_header(written(tmp_path, hurt))
    except SetupError as error:
        assert "some.gguf cannot be used as a GGUF file" in str(error)
