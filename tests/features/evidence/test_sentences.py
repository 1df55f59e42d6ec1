"""Texts are split into sentences where a reader would split them, and what makes no claim is told
apart.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.features.evidence.sentences import Sentence, SentenceKind, sentences

DATA = Path(__file__).parent / "data"
KINDS: dict[str, SentenceKind] = {
    "c": "claim",
    "g": "courtesy",
    "q": "question",
    "r": "refusal",
    "h": "heading",
    "f": "footnote",
    "x": "code",
}
MARKER = re.compile(r"(?:[-–—*•>#|\s]|\(?\w{1,2}[.)])*")


def cases(language: str) -> list[str]:
    lines = (DATA / f"sentences_{language}.txt").read_text("utf-8").split("\n")
    return [line for line in lines if line.strip() and not line.startswith("% ")]


def expected(case: str) -> tuple[str, list[tuple[str, SentenceKind]]]:
    body, _, letters = case.partition("\t")
    body = body.replace("↵", "\n")
    pieces = body.split("⏐")
    kinds = [KINDS[letter] for letter in letters] or [KINDS["c"]] * len(pieces)
    return body.replace("⏐", ""), list(zip(pieces, kinds, strict=True))


@pytest.mark.parametrize("language", ["en", "ru"])
def test_hand_checked_texts_are_split_as_a_reader_splits_them(language: str) -> None:
    wrong: list[str] = []
    for case in cases(language):
        text, pieces = expected(case)
        found = sentences(text)
        if not same(found, pieces):
            wrong.append(f"{case!r} -> {[(one.text, one.kind) for one in found]}")
    assert not wrong, "\n".join(wrong)


def same(found: tuple[Sentence, ...], pieces: list[tuple[str, SentenceKind]]) -> bool:
    """The same sentences, with or without the marker of a list, the mark of a heading and what
    rules off a table.
    """
    return len(found) == len(pieces) and all(
        one.kind == kind
        and piece.strip().endswith(one.text)
        and MARKER.fullmatch(piece.strip()[: -len(one.text)])
        for one, (piece, kind) in zip(found, pieces, strict=True)
    )


def test_there_are_a_few_hundred_hand_checked_cases() -> None:
    assert len(cases("en")) >= 150
    assert len(cases("ru")) >= 130


@given(st.text(alphabet=st.sampled_from('aB.?! \n"«»()|-#*`1…\tЖж')))
def test_nothing_but_white_space_and_marks_is_lost_and_places_are_right(text: str) -> None:
    found = sentences(text)
    end = 0
    for one in found:
        assert text[one.start : one.end] == one.text == one.text.strip()
        assert one.start >= end
        end = one.end
    kept = "".join(one.text for one in found)
    assert all(kept.count(letter) == text.count(letter) for letter in "BЖ")


@pytest.mark.parametrize(
    "piece",
    [
        "Mr. ",
        "a. ",
        '("A. ',
        " ",
        "! ",
        ".",
        "**a ",
        "| ",
        "[1]",
        "- ",
        "\n",
        "I can't ",
        "Here is ",
    ],
)
def test_long_hostile_texts_take_no_long_time(piece: str) -> None:
    """A rule that reads the text again for every character of it would not end within the time of a
    test.
    """
    assert len(sentences(piece * 5_000 + "a. B")) <= 5_002
