"""Numbers, dates, units, names and quotations that no source contains are marked; what is only
written otherwise is not.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.features.evidence.facts import unseen_facts
from adjudge.features.evidence.fragments import fragments_in

ENGLISH = (
    "The Eiffel Tower was completed on 31 March 1889 and is 330 metres tall. It cost "
    "7,799,401 francs. "
    "John Brown-Smith built twenty-one houses, he said it was “the best time of my life”. "
    "The United Nations met on 2020-05-01. "
    "Growth was 3.47% and the trip took 2 hours."
)
RUSSIAN = (
    "Александр Пушкин родился 6 июня 1799 года в Москве. Население — 12,6 млн человек. "
    "Он сказал: «Мороз и солнце, день чудесный». Цена выросла на двадцать пять процентов. "
    "Пётр Чайковский жил в Клину."
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The Eiffel Tower was completed in 1889.",
        "It was completed on March 31, 1889.",
        "It was completed on the 31st of March.",
        "It is 330 m tall.",
        "It is 0.33 km tall.",
        "It cost about 7.8 million francs.",
        "It cost about 7,800,000 francs.",
        "John Brown built 21 houses.",
        "The UN met on May 1, 2020.",
        "Growth was about 3.5 percent.",
        "Growth was 3.47 %.",
        "The trip took 120 minutes.",
        "There are two ways to see it.",
        "1. The tower is tall.",
        'He said it was "the best time of my life."',
        "Brown's houses stand.",
        "Поэт Пушкин родился в Москве.",
        "Стихи Пушкина знают все.",
        "Он родился 6.06.1799.",
        "В городе 12,6 миллиона человек.",
        "Там живёт около 13 млн человек.",
        "Цена выросла на 25%.",
        "Петр Чайковский жил в Клину.",
        "It was completed in 1889 [2].",
        "It was completed in 1889 [4-5], [7, 9]【11†source】[^12] (source 13).",
        "See [the tower](https://example.com/99/page).",
        "Он родился в тысяча семьсот девяносто девятом году.",
        "It cost seven million seven hundred ninety-nine thousand four hundred one francs.",
    ],
)
def test_what_is_only_written_otherwise_is_not_marked(sentence: str) -> None:
    assert unseen_facts(sentence, [ENGLISH, RUSSIAN]) == ()


@pytest.mark.parametrize(
    ("sentence", "kind", "text"),
    [
        ("It was completed in 1887.", "number", "1887"),
        ("It was completed in 1887 [2].", "number", "1887"),
        (
            "Он родился в тысяча семьсот девяносто восьмом году.",
            "number",
            "тысяча семьсот девяносто восьмом",
        ),
        ("It cost two thousand five hundred francs.", "number", "two thousand five hundred"),
        ("It opened on April 1, 1889.", "date", "April 1"),
        ("It opened on 30 March 1889.", "date", "30 March"),
        ("It is 330 km tall.", "number", "330 km"),
        ("It weighs 330 kg.", "unit", "330 kg"),
        ("It cost 8.8 million francs.", "number", "8.8 million"),
        ("John Brown built twenty-two houses.", "number", "twenty-two"),
        ("The houses were built by Miller.", "name", "Miller"),
        ("He said it was “the worst time of my life”.", "quotation", "“the worst time of my life”"),
        ("Поэт родился в Петербурге.", "name", "Петербурге"),
        ("Он родился 7 июня.", "date", "7 июня"),
        ("В городе 15 млн человек.", "number", "15 млн"),
        ("Цена выросла на тридцать процентов.", "number", "тридцать процентов"),
        (
            "Он писал: «Мороз и звёзды, день ненастный».",
            "quotation",
            "«Мороз и звёзды, день ненастный»",
        ),
    ],
)
def test_what_no_source_contains_is_marked(sentence: str, kind: str, text: str) -> None:
    found = unseen_facts(sentence, [ENGLISH, RUSSIAN])
    assert (kind, text) in [(fact.kind, fact.text) for fact in found]
    assert all(sentence[fact.start :].startswith(fact.text) for fact in found)


@given(st.text(alphabet=st.sampled_from("aB1 ,.%жЖ-2“”млн$"), max_size=60))
def test_a_text_has_nothing_that_it_does_not_contain(text: str) -> None:
    assert [
        fact
        for fact in unseen_facts(text, [text])
        if fact.kind in ("name", "date", "unit", "number")
    ] == []


def test_without_a_source_nothing_can_be_looked_up() -> None:
    assert unseen_facts("It was 1999.", []) == ()
    assert unseen_facts("It was 1999.", [" "]) == ()


@pytest.mark.parametrize(
    ("given", "fragments"),
    [
        ("1. One.\\n2. Two.", ("One.", "Two.")),
        ("[1] One.\n[2] Two\nlines.", ("One.", "Two\nlines.")),
        ("1) One. 2) Two.", ("1) One. 2) Two.",)),
        ("2. Two.\n1. One.", ("2. Two.\n1. One.",)),
        ("", ()),
        (["a", " ", "b"], ("a", "b")),
    ],
)
def test_numbered_lines_of_one_text_are_fragments(
    given: str | list[str], fragments: tuple[str, ...]
) -> None:
    assert fragments_in(given) == fragments
