"""What an answer cites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.features.rag.citations import citations, strip_marks

FRAGMENTS = [
    "The tower is 330 m tall. See https://www.example.org/tower/.",
    "It opened in 1889.",
    "Nobody lives there.",
]


def cited(answer: str, ids: tuple[str, ...] = ()) -> list[tuple[str, int | None]]:
    return [(one.statement, one.fragment) for one in citations(answer, FRAGMENTS, ids)]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (
            "It is tall [1]. It is old [2, 3].",
            [("It is tall.", 1), ("It is old.", 2), ("It is old.", 3)],
        ),
        ("It is tall. [1] It is old.[2]", [("It is tall.", 1), ("It is old.", 2)]),
        ("It is tall and old [1][2].", [("It is tall and old.", 1), ("It is tall and old.", 2)]),
        ("Everything is said [1-3].", [("Everything is said.", number) for number in (1, 2, 3)]),
        ("It is old 【2†source】.", [("It is old.", 2)]),
        ("It is old (source 2).", [("It is old.", 2)]),
        (
            "Она старая (источник 2). Она высокая [источник №1].",
            [("Она старая.", 2), ("Она высокая.", 1)],
        ),
        ("It is tall¹ and old².", [("It is tall and old.", 1), ("It is tall and old.", 2)]),
        ("It is old [^2].\n\n[^2]: see there", [("It is old.", 2)]),
        ("It is old [^a].\n\n[^a]: It opened in 1889.", [("It is old.", 2)]),
        ("It is tall [^b].\n\n[^b]: https://example.org/tower", [("It is tall.", 1)]),
        ("It is tall [3].\n\n[3]: http://example.org/tower/", [("It is tall.", 1)]),
        ("It is [330 m](https://example.org/tower) tall.", [("It is 330 m tall.", 1)]),
        ("It is tall: https://example.org/tower.", [("It is tall:", 1)]),
        (
            "It is red [4]. It is blue [^x]. It is [far](https://example.org/else).",
            [("It is red.", None), ("It is blue.", None), ("It is far.", None)],
        ),
        ("It covers 5 m² and 10 km³, an array[0] and a [word] of x².", []),
        ("", []),
    ],
)
def test_marks_are_read_with_the_sentence_they_stand_in(
    answer: str, wanted: list[tuple[str, int | None]]
) -> None:
    assert cited(answer) == wanted


def test_links_may_name_the_ids_of_fragments() -> None:
    assert cited("It is old [here](doc-b). It is tall [^doc-a].", ("doc-a", "doc-b")) == [
        ("It is old here.", 2),
        ("It is tall.", 1),
    ]


@given(st.text(st.sampled_from("ab. [](){}^:0123456789¹²\n#ht/p-,–【】†"), max_size=60))
def test_no_text_cites_a_fragment_that_is_not_there(answer: str) -> None:
    for one in citations(answer, FRAGMENTS):
        assert one.fragment is None or 1 <= one.fragment <= len(FRAGMENTS)
        assert one.mark in answer and "[1]" not in strip_marks(one.statement)
