"""GGUF files a few kilobytes long that a real loader accepts, written without
the code under test.
"""

from __future__ import annotations

import random
import struct
from functools import cache
from typing import Any

Fields = dict[str, tuple[int, Any]]
Tensors = dict[str, tuple[tuple[int, ...], int, bytes]]

UINT32, FLOAT, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
F32, Q4_0, Q4_1, Q8_0 = 0, 2, 3, 8
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
WIDTH, HIDDEN, LAYERS = 64, 128, 4


def gguf(fields: Fields, tensors: Tensors, *, alignment: int = 32, version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(fields))
    head += b"".join(
        text(key) + struct.pack("<I", kind) + value(kind, content)
        for key, (kind, content) in fields.items()
    )
    data = b""
    for name, (shape, kind, raw) in tensors.items():
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += padded(raw, alignment)
    return padded(head, alignment) + data


def padded(raw: bytes, alignment: int) -> bytes:
    return raw + bytes(-len(raw) % alignment)


def text(content: str) -> bytes:
    return struct.pack("<Q", len(content.encode())) + content.encode()


def value(kind: int, content: Any) -> bytes:
    if kind == STRING:
        return text(content)
    if kind == ARRAY:
        of, items = content
        return struct.pack("<IQ", of, len(items)) + b"".join(value(of, item) for item in items)
    return struct.pack({UINT32: "<I", 5: "<i", FLOAT: "<f", BOOL: "<?"}[kind], content)


PLAIN = "{% for m in messages %}{{ m.content }}{% endfor %}"
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + "
    "'<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@cache
def tiny_model(
    *,
    kind: int = Q4_1,
    seed: int = 0,
    layers: int = LAYERS,
    hidden: int = HIDDEN,
    template: str = PLAIN,
) -> bytes:
    """A llama of 64 by ``hidden`` that knows single bytes and three control tokens."""
    chance = random.Random(seed)
    fields = _fields(layers, hidden) | {"tokenizer.chat_template": (STRING, template)}
    tokens = len(fields["tokenizer.ggml.tokens"][1][1])
    looked_up = F32 if kind == F32 else Q8_0
    tensors: Tensors = {
        "token_embd.weight": (
            (WIDTH, tokens),
            looked_up,
            _blocks(chance, looked_up, WIDTH * tokens),
        )
    }
    for layer in range(layers):
        tensors |= {
            f"blk.{layer}.{name}": tensor for name, tensor in _layer(chance, kind, hidden).items()
        }
    return gguf(fields, tensors | {"output_norm.weight": _ones()})


def _layer(chance: random.Random, kind: int, hidden: int) -> Tensors:
    shapes = {
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH, WIDTH),
        "attn_v": (WIDTH, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_gate": (WIDTH, hidden),
        "ffn_up": (WIDTH, hidden),
        "ffn_down": (hidden, WIDTH),
    }
    matrices = {
        f"{name}.weight": (shape, kind, _blocks(chance, kind, shape[0] * shape[1]))
        for name, shape in shapes.items()
    }
    return {"attn_norm.weight": _ones(), "ffn_norm.weight": _ones(), **matrices}


def _ones() -> tuple[tuple[int, ...], int, bytes]:
    return (WIDTH,), F32, struct.pack(f"<{WIDTH}f", *[1.0] * WIDTH)


def _blocks(chance: random.Random, kind: int, weights: int) -> bytes:
    if kind == F32:
        return struct.pack(f"<{weights}f", *(chance.gauss(0, 0.1) for _ in range(weights)))

    def scale() -> bytes:
        return struct.pack("<e", chance.uniform(0.001, 0.05))

    def least() -> bytes:
        return struct.pack("<e", chance.uniform(-0.4, -0.01))

    heads = {Q4_0: scale, Q4_1: lambda: scale() + least(), Q8_0: scale}
    codes = 32 if kind == Q8_0 else 16
    return b"".join(heads[kind]() + chance.randbytes(codes) for _ in range(weights // 32))


def _fields(layers: int, hidden: int) -> Fields:
    letters = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [chr(256 + number) for number in range(256 - len(letters))]
    tokens = [*SPECIALS, *map(chr, letters), *others]
    kinds = [3] * len(SPECIALS) + [1] * (len(tokens) - len(SPECIALS))
    return {
        "general.architecture": (STRING, "llama"),
        "general.type": (STRING, "model"),
        "general.file_type": (UINT32, 3),
        "llama.block_count": (UINT32, layers),
        "llama.context_length": (UINT32, 512),
        "llama.embedding_length": (UINT32, WIDTH),
        "llama.feed_forward_length": (UINT32, hidden),
        "llama.attention.head_count": (UINT32, 2),
        "llama.attention.head_count_kv": (UINT32, 2),
        "llama.attention.layer_norm_rms_epsilon": (FLOAT, 1e-5),
        "llama.rope.dimension_count": (UINT32, 32),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "gpt-2"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.token_type": (ARRAY, (5, kinds)),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["a b"])),
        "tokenizer.ggml.eos_token_id": (UINT32, 2),
        "tokenizer.ggml.add_bos_token": (BOOL, False),
    }
