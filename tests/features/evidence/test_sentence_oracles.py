"""The splitter beside established ones: razdel for Russian, pysbd for English.

The texts are those that are hard, and where the splitters differ the hand-checked answer is ours.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import pytest

from adjudge.features.evidence.sentences import sentences

DATA = Path(__file__).parent / "data"
WHY = "comes with make test-oracles"


class _Piece(Protocol):
    text: str


def texts(language: str) -> list[str]:
    """The hand-checked texts that are plain sentences: no lists, tables or code, which the others
    do not read.
    """
    lines = (DATA / f"sentences_{language}.txt").read_text("utf-8").split("\n")
    found = [
        line.partition("\t")[0] for line in lines if line.strip() and not line.startswith("% ")
    ]
    return [line.replace("⏐", "") for line in found if "↵" not in line and "**" not in line]


def razdel(text: str) -> Iterable[str]:
    split: Callable[[str], Iterable[_Piece]] = pytest.importorskip(
        "razdel", reason=f"razdel {WHY}"
    ).sentenize
    return [piece.text for piece in split(text)]


def pysbd(text: str) -> Iterable[str]:
    pytest.importorskip("pysbd", reason=f"pysbd {WHY}")
    segmenter = importlib.import_module("pysbd").Segmenter(language="en", clean=False)
    return [str(piece).strip() for piece in segmenter.segment(text)]


@pytest.mark.parametrize(("language", "split"), [("ru", razdel), ("en", pysbd)])
def test_six_of_seven_texts_are_split_as_an_established_splitter_splits_them(
    language: str, split: Callable[[str], Iterable[str]]
) -> None:
    different = [
        text
        for text in texts(language)
        if [one.text for one in sentences(text)] != [*map(str.strip, split(text))]
    ]
    assert len(different) <= len(texts(language)) / 7, "\n".join(different)
