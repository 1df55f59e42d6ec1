"""A small llama on onnxruntime: the numbers xllamacpp gives, the same ones in any company, and
weights that are remade.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_gguf import CHATML, F32, tiny_model

from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.errors import ModelError, SetupError
from adjudge.features.local.libraries import import_onnxruntime
from adjudge.features.local.llama import LabelLogprobs, Llama
from adjudge.features.local.onnx import weights as made
from adjudge.features.local.onnx.graph import Precision
from adjudge.features.local.onnx.weights import made_path, made_weights, precision
from support.bits import SAME_BITS

pytest.importorskip("onnxruntime", reason="the extra adjudge[local] is not installed")
if TYPE_CHECKING:
    from adjudge.features.local.onnx.scorer import Scorer
LABELS = ("Y", "N", "x")
IN_PIECES = "one two three four five six " * 12
TEXTS = [
    "short",
    "a text that is somewhat longer",
    "Привет!",
    "<|im_end|>",
    "",
    "one two three four five six",
    IN_PIECES,
]


def prompt(text: str) -> Prompt:
    return Prompt(
        (ChatMessage("system", "Judge."), ChatMessage("user", f"Criterion: {text} yes?")),
        shared=len("Criterion:"),
    )


@pytest.fixture(scope="module", autouse=True)
def _short_samples() -> Iterator[None]:
    """A byte is a token here: prompts that are read while weights are made would be ten times as
    long as the real model's.
    """
    samples = vars(made)["_samples"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "_samples", lambda *of: [sample[:100] for sample in samples(*of)])
        yield


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    path.write_bytes(tiny_model(kind=F32, template=CHATML))
    return path


@pytest.fixture(scope="module", params=["fp32", "int8"])
def scorer(
    request: pytest.FixtureRequest, base: Path, tmp_path_factory: pytest.TempPathFactory
) -> Scorer:
    from adjudge.features.local.onnx.scorer import Scorer

    if request.param != "fp32" and not SAME_BITS:
        pytest.skip(
            "the bits of eight-bit products were not compared on this CPU; tests/embedded "
            "bounds the rest"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADJUDGE_CACHE", str(base.parent))
        (base.parent / "weights" / "tiny").mkdir(parents=True, exist_ok=True)
        return Scorer(made_weights("tiny", base, None, request.param), request.param)


def score(scorer: Scorer, texts: list[str]) -> list[dict[str, float]]:
    found = scorer.score([prompt(text) for text in texts], [LABELS] * len(texts))
    return [one.logprobs for one in found if isinstance(one, LabelLogprobs)]


def test_it_says_what_xllamacpp_says(
    scorer: Scorer, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xllamacpp", reason="the extra adjudge[gguf] is not installed")
    monkeypatch.setattr("adjudge.features.local.llama._REPORTED", 259)  # the whole vocabulary
    llama, allowed = Llama(base), {"fp32": 0.005, "int8": 0.1}[scorer.precision]
    for text, found in zip(TEXTS, score(scorer, TEXTS), strict=True):
        whole = llama.score(prompt(text), LABELS)
        total = math.log(sum(map(math.exp, whole.logprobs.values())))
        assert found == pytest.approx(
            {label: value - total for label, value in whole.logprobs.items()}, abs=allowed
        )


def test_its_tokens_are_those_of_xllamacpp(scorer: Scorer, base: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra adjudge[gguf] is not installed")
    llama = Llama(base)
    for text in TEXTS:
        (frame, criteria), own = scorer.split(prompt(text))
        assert ([*frame, *criteria], own) == llama._split(prompt(text))


@pytest.mark.parametrize("wanted", ["mixed", "int8"])
def test_a_cpu_whose_products_overflow_says_the_same(
    base: Path, wanted: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjudge.features.local.onnx import network
    from adjudge.features.local.onnx.scorer import Scorer

    monkeypatch.setenv("ADJUDGE_CACHE", str(base.parent))
    (base.parent / "weights" / "tiny").mkdir(parents=True, exist_ok=True)
    weights = made_weights("tiny", base, None, wanted)
    overflows = vars(network)["_saturates"](import_onnxruntime())
    found = []
    for unsigned in (overflows, True):
        monkeypatch.setattr(network, "_saturates", lambda _library, unsigned=unsigned: unsigned)
        found.append(score(Scorer(weights, wanted), TEXTS))
    assert found[0] == [pytest.approx(one, abs=1e-4) for one in found[1]]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(TEXTS) | st.text(max_size=60), min_size=1, max_size=9))
def test_a_score_is_the_same_to_the_last_bit_in_any_company(
    scorer: Scorer, texts: list[str]
) -> None:
    alone = [score(scorer, [text])[0] for text in texts]
    assert score(scorer, texts) == (
        alone if SAME_BITS else [pytest.approx(one, abs=1e-4) for one in alone]
    )


def test_a_long_text_is_read_in_pieces(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    (in_pieces,) = score(scorer, [IN_PIECES])
    monkeypatch.setattr("adjudge.features.local.onnx.network.PIECE", 512)
    (whole,) = score(scorer, [IN_PIECES])
    assert in_pieces == pytest.approx(whole, abs=1e-4 if scorer.precision == "fp32" else 0.1)


@given(st.lists(st.integers(1, 4096), min_size=1, max_size=16))
def test_no_pass_is_wider_than_what_one_long_text_takes(lengths: list[int]) -> None:
    from adjudge.features.local.onnx.scorer import in_passes

    passes = list(in_passes(list(enumerate(lengths))))
    assert sorted(place for together in passes for place in together) == list(range(len(lengths)))
    assert all(
        len(one) * max(lengths[place] for place in one) <= 320 for one in passes if len(one) > 1
    )
    assert all(len(one) == 1 for one in passes if any(lengths[place] > 256 for place in one))


def test_only_what_is_new_is_read(scorer: Scorer) -> None:
    found = scorer.score([prompt("new"), prompt("other")], [LABELS] * 2)
    again = scorer.score([prompt("another")], [LABELS])
    (frame, criteria), own = scorer.split(prompt("another"))
    assert all(isinstance(one, LabelLogprobs) for one in (*found, *again))
    assert [one.evaluated_tokens for one in again if isinstance(one, LabelLogprobs)] == [len(own)]
    assert len(frame) + len(criteria) > len(own)


def test_a_text_that_is_too_long_fails_alone(scorer: Scorer) -> None:
    long, short = scorer.score([prompt("word " * 200), prompt("word")], [LABELS] * 2)
    assert isinstance(long, ModelError)
    assert "tokens, but the model reads only 512: shorten the text" in str(long)
    assert isinstance(short, LabelLogprobs)


def test_a_label_of_several_tokens_is_refused(scorer: Scorer) -> None:
    with pytest.raises(SetupError, match="'Maybe' is not a single token"):
        scorer.score([prompt("x")], [("Maybe",)])


def test_weights_are_made_once_and_again_where_they_are_damaged(base: Path, cache: Path) -> None:
    (cache / "weights" / "tiny").mkdir(parents=True)
    path = made_weights("tiny", base, None, "fp32")
    whole, made = path.read_bytes(), path.stat().st_ino
    assert made_weights("tiny", base, None, "fp32") == path
    assert path.stat().st_ino == made
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        path.write_bytes(damaged)
        assert made_weights("tiny", base, None, "fp32").read_bytes() == whole
    kept, half = path.stat(), path.with_name(f"{path.name}.1-2.part")
    half.write_bytes(b"of a process that was killed")
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert made_weights("tiny", base, None, "fp32", hashed=True).read_bytes() == whole
    assert not half.exists()
    path.touch()
    made_weights("tiny", base, None, "fp32")
    assert json.loads(path.with_suffix(".json").read_bytes())["mtime_ns"] == path.stat().st_mtime_ns


def test_other_sources_are_another_file(base: Path, tmp_path: Path) -> None:
    other, adapter = tmp_path / "tiny.gguf", tmp_path / "adapter.gguf"
    other.write_bytes(tiny_model(kind=F32, seed=1, template=CHATML))
    adapter.write_bytes(b"GGUF")
    kinds: list[tuple[Path, Path | None, Precision]] = [
        (base, None, "int8"),
        (base, None, "fp32"),
        (other, None, "int8"),
        (base, adapter, "int8"),
    ]
    assert len({made_path("tiny", *kind) for kind in kinds}) == 4


def test_a_file_without_one_of_its_arrays_is_named(base: Path, cache: Path) -> None:
    from adjudge.features.local.onnx.scorer import Scorer

    (cache / "weights" / "tiny").mkdir(parents=True)
    path = made_weights("tiny", base, None, "fp32")
    path.write_bytes(path.read_bytes().replace(b'"gate.1"', b'"gone.1"'))
    with pytest.raises(
        ModelError, match=rf"{path.name} is damaged .*gate\.1.*run 'adjudge models pull' again"
    ):
        Scorer(path, "fp32")


def test_what_onnxruntime_stops_with_is_a_sentence(base: Path, cache: Path) -> None:
    from adjudge.features.local.onnx.scorer import Scorer

    (cache / "weights" / "tiny").mkdir(parents=True)
    path = made_weights("tiny", base, None, "fp32")
    path.write_bytes(path.read_bytes().replace(b'"shape": [64, 128]', b'"shape": [128, 64]'))
    with pytest.raises(
        ModelError, match=r"onnxruntime stopped \(.*\): run 'adjudge models pull' again"
    ):
        Scorer(path, "fp32").score([prompt("x")], [LABELS])


def test_too_little_memory_is_a_sentence(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("adjudge.features.local.onnx.scorer.Network.states", none_left)
    with pytest.raises(ModelError, match="not enough memory for the embedded model: free some"):
        scorer.score([prompt("x")], [LABELS])


def test_a_folder_that_cannot_be_written_names_the_variable(base: Path, cache: Path) -> None:
    with pytest.raises(SetupError, match="set ADJUDGE_CACHE to a folder you may write to"):
        made_weights("tiny", base, None, "int8")


def test_the_precision_is_chosen_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert precision() == "int8"
    monkeypatch.setenv("ADJUDGE_LOCAL_PRECISION", "fp32")
    assert precision() == "fp32"
    monkeypatch.setenv("ADJUDGE_LOCAL_PRECISION", "fp8")
    with pytest.raises(
        SetupError, match="ADJUDGE_LOCAL_PRECISION is 'fp8', which is not one of mixed, int8, fp32"
    ):
        precision()
