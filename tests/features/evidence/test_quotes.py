"""A quote counts where it stands in the fragment, white space and quotation marks aside, and
nowhere else.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adjudge.features.evidence.quotes import find_quote, most_alike

FRAGMENT = 'The tower, says "Le Monde",\n was finished in  1889 by Gustave Eiffel’s firm.'
LOOKALIKES = {
    "a": "а",
    "e": "е",
    "o": "о",
    "c": "с",
    "p": "р",
    "x": "х",
    "T": "Т",
    "E": "Е",
    "1": "l",
    "0": "O",
}


@pytest.mark.parametrize(
    "quote",
    [
        "Finished in 1889",
        "THE TOWER",
        "the tower … finished in 1889",
        "The tower, says [...] was finished",
        "…was finished in 1889…",
    ],
)
def test_case_and_an_ellipsis_do_not_matter(quote: str) -> None:
    passage = find_quote(quote, FRAGMENT)
    assert passage is not None
    assert FRAGMENT[passage.start : passage.end].lower().startswith(quote.lower().strip("…")[:8])


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("finished in 1889 … The tower", FRAGMENT),
        ("The tower … finished in 1888", FRAGMENT),
        ("The tower … the", FRAGMENT),
        ("The tower … was sold", f"The tower is tall. {'It rains often. ' * 40}A house was sold."),
    ],
)
def test_parts_in_another_order_or_far_apart_prove_nothing(quote: str, text: str) -> None:
    assert find_quote(quote, text) is None


def plain(text: str) -> str:
    """The rule in other words: no quotation marks, single spaces, one case."""
    return re.sub(r"\s+", " ", re.sub(r"[\"'`“”„‟«»‘’‚‛‹›″′＂＇]", "", text)).strip().lower()


@pytest.mark.parametrize(
    "quote",
    [
        "finished in 1889",
        "“finished in 1889”",
        "The tower, says Le Monde, was",
        "Gustave Eiffels firm.",
        "says «Le Monde»",
    ],
)
def test_white_space_and_quotation_marks_do_not_matter(quote: str) -> None:
    passage = find_quote(quote, FRAGMENT)
    assert passage is not None
    assert plain(FRAGMENT[passage.start : passage.end]) == plain(quote)


@pytest.mark.parametrize(
    "quote",
    [
        "finished in 1888",
        "finish",
        "nished in 1889",
        "a",
        "…",
        "",
        "fіnished in 1889",
        "in by",
        "tower says",
        "was",
        "by",
    ],
)
def test_what_is_not_there_word_for_word_is_not_found(quote: str) -> None:
    assert find_quote(quote, FRAGMENT) is None


@pytest.mark.parametrize(
    ("quote", "fragment"),
    [
        ("330 metres", "It cost 1,330 metres of rope."),
        ("330 метров", "Длина 1 330 метров."),
        ("50 euros", "It costs 3.50 euros."),
        ("cost 3", "It cost 3.50 euros."),
        ("цена 3", "Вот цена 3,5 млн."),
        ("5 degrees", "It was -5 degrees."),
        ("5 градусов", "Было −5 градусов."),
        ("the cafe", "It is the cafe\u0301."),
        ("это мои", "Знай: это мои\u0306 дом."),
    ],
)
def test_a_quote_that_cuts_a_number_or_an_accent_off_is_not_found(
    quote: str, fragment: str
) -> None:
    assert find_quote(quote, fragment) is None


@pytest.mark.parametrize(
    ("quote", "fragment"),
    [
        ("6 metres", "It is 5-6 metres."),
        ("in 1889", "Built in 1889."),
        ("1 330 метров", "Длина 1 330 метров."),
        ("330-metre", "A 330-metre tower"),
    ],
)
def test_whole_numbers_are_found(quote: str, fragment: str) -> None:
    assert find_quote(quote, fragment) is not None


words = st.lists(st.text("abcxo1 éжТ", min_size=1, max_size=8), min_size=3, max_size=12).map(
    " ".join
)


@given(words, st.data())
def test_a_quote_with_a_character_changed_is_found_only_where_it_still_stands(
    fragment: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(fragment) - 1))
    quote = fragment[start : data.draw(st.integers(start + 1, len(fragment)))]
    place = data.draw(st.integers(0, len(quote) - 1))
    how = data.draw(st.sampled_from(["change", "delete", "insert", "look-alike"]))
    letter = data.draw(st.sampled_from("abqzжё7"))
    other = LOOKALIKES.get(quote[place], letter) if how == "look-alike" else letter
    changed = (
        quote[:place] + ("" if how == "delete" else other) + quote[place + (how != "insert") :]
    )
    passage = find_quote(changed, fragment)
    if passage is not None:
        assert plain(fragment[passage.start : passage.end]) == plain(changed)
    elif plain(changed) not in plain(fragment):
        assert find_quote(changed, fragment) is None


@given(words, words)
def test_a_quote_of_another_fragment_is_none_of_this_one(one: str, other: str) -> None:
    assume(plain(other) not in plain(one))
    assert find_quote(other, one) is None


def test_the_passage_most_alike_is_a_sentence_of_a_fragment() -> None:
    fragments = ["Cats sleep a lot. Dogs bark.", "The tower was finished in 1889. It is tall."]
    found = most_alike("They finished the tower in 1889.", fragments)
    assert found is not None
    number, passage = found
    assert (number, fragments[number][passage.start : passage.end]) == (
        1,
        "The tower was finished in 1889.",
    )
    assert most_alike("Quantum chromodynamics.", fragments) is None
