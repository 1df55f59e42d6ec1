"""The tokenizer beside llama.cpp's: the same ids for ordinary, random and hostile strings."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from adjudge.features.local.llama import Llama
from adjudge.features.local.onnx.tokenizer import Tokenizer
from adjudge.features.local.weights.gguf import read_header

STRINGS = int(os.environ.get("ADJUDGE_TOKENIZER_STRINGS", "2000"))
"""A million of them under ``make test-tokenizer``."""
PIECES = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_", "end|>", "<repo_name>", "system\n",
    "user", "assistant", "'s", "'S", "'re", "'ll", "'", "’s", "don't", " ", "  ", "\n", "\n\n",
    "\t", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\x00", "\x04", "\x1c", "\x85", "0",
    "7", "1889", "٣", "Ⅷ", "½", "²", "the", " the", "Hello", "мир", " Привет", "ё", "你好", "日本",
    "한국어", "ไทย", "हिन्दी", "é", "e\u0301", "ß", "İ", "ﬁ", "😀", "👩‍👩‍👧", "🇩🇪", "\ufeff",
    "\U0001e4d0", "\U0002ebf0", "\U000e0101", "...", "!!", "==", "//", "{}", "_", "-",
    "a" * 40, "ab" * 30, " " * 30, "=" * 70,
]  # fmt: skip


def strings(count: int) -> Iterator[str]:
    chance = random.Random(0)
    for number in range(count):
        length = chance.randrange(1, 9 if number % 50 else 200)
        yield "".join(
            chance.choice(PIECES) if chance.random() < 0.6 else _sign(chance) for _ in range(length)
        )


def _sign(chance: random.Random) -> str:
    code = chance.randrange(chance.choice((0x80, 0x250, 0x3000, 0x10000, 0x110000)))
    return "?" if 0xD800 <= code < 0xE000 else chr(code)


class Server:
    """llama.cpp's tokenizer behind one connection that stays open."""

    def __init__(self, weights: Path) -> None:
        self._llama = Llama(weights)
        address = urlsplit(self._llama._server.listening_address)
        self._connection = HTTPConnection(str(address.hostname), address.port or 80)
        self._headers = {
            "Authorization": f"Bearer {self._llama._key}",
            "Content-Type": "application/json",
        }

    def encode(self, text: str, *, control: bool = False) -> list[int]:
        body = json.dumps({"content": text, "add_special": False, "parse_special": control})
        self._connection.request("POST", "/tokenize", body, self._headers)
        found: list[int] = json.loads(self._connection.getresponse().read())["tokens"]
        return found

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def server(weights: Path) -> Iterator[Server]:
    with closing(Server(weights)) as server:
        yield server


@pytest.fixture(scope="module")
def tokenizer(weights: Path) -> Tokenizer:
    header = read_header(weights)
    known = header.metadata
    return Tokenizer(
        known["tokenizer.ggml.tokens"], known["tokenizer.ggml.merges"], header.special_tokens
    )


def test_the_ids_are_those_of_llama_cpp(server: Server, tokenizer: Tokenizer) -> None:
    wrong = [text for text in strings(STRINGS) if tokenizer.encode(text) != server.encode(text)]
    assert wrong == []


def test_every_sign_is_cut_as_llama_cpp_cuts_it(server: Server, tokenizer: Tokenizer) -> None:
    """All signs of Unicode in the long form, each in several surroundings; else those of a few
    blocks.
    """
    forms = ("a{0}b", " {0}", "1{0}2", "!{0}!", "{0}{0}\n", "  {0}", "'{0}")
    blocks = (
        range(0, 0x110000, 256)
        if STRINGS >= 1_000_000
        else (*range(0, 0x600, 256), 0x2000, 0x3000, 0x1E400, 0x2EB00)
    )
    for block in blocks:
        signs = [chr(code) for code in range(block, block + 256) if not 0xD800 <= code < 0xE000]
        for form in forms:
            text = "\n".join(form.format(sign) for sign in signs)
            assert tokenizer.encode(text) == server.encode(text), (hex(block), form)


def test_control_tokens_are_read_in_the_frame_and_nowhere_else(
    server: Server, tokenizer: Tokenizer
) -> None:
    text = "<|im_start|>system\nHello<|im_end|>\n<|im_start|>"
    assert tokenizer.encode_frame(text) == server.encode(text, control=True)
    assert not {0, 1, 2} & set(tokenizer.encode(text))
    for hostile in strings(500):
        assert not set(range(17)) & set(tokenizer.encode(hostile))


def test_lone_surrogates_and_long_words_are_read(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("a\ud800b") == tokenizer.encode("a\ufffdb")
    assert tokenizer.encode("\ud83d\ude00") == tokenizer.encode("😀")
    assert len(tokenizer.encode("a" * 100_000)) > 10_000
