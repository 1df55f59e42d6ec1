"""Options whose punctuation has a meaning: signs, comparison marks, grades, accents."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adjudge.core.domain.message import Reply
from adjudge.core.domain.options import match_option
from adjudge.core.domain.question import Choice
from adjudge.core.verdicts.reader import read

HALVES = ("<50%", ">50%", "50%")
THREE = ("-1", "0", "1")
GRADES = ("A+", "A", "A-", "B")
LANGUAGES = ("C", "C++", "C#", "Objective-C")
LIMITS = ("<3", "≤3", "3", "≥3", ">3")


@pytest.mark.parametrize(
    ("reply", "options", "option"),
    [
        ("< 50%", HALVES, "<50%"),
        ("<50 %", HALVES, "<50%"),
        ("**< 50\u00a0%**", HALVES, "<50%"),
        ("> 50%.", HALVES, ">50%"),
        ("50 %", HALVES, "50%"),
        ("– 1", THREE, "-1"),
        ("− 1", THREE, "-1"),
        ("−1", THREE, "-1"),
        ("(- 1)", THREE, "-1"),
        ("+1", ("-1", "0", "+1"), "+1"),
        ("+ 1", ("-1", "0", "+1"), "+1"),
        ("+1", THREE, "1"),
        ("-1", ("−1", "0", "1"), "−1"),
        ("A -", GRADES, "A-"),
        ("A –", GRADES, "A-"),
        ("a-.", GRADES, "A-"),
        ('"A +"', GRADES, "A+"),
        ("**A**", GRADES, "A"),
        ("c++", LANGUAGES, "C++"),
        ("C ++", LANGUAGES, "C++"),
        ("c#", LANGUAGES, "C#"),
        ("c.", LANGUAGES, "C"),
        ("objective–c", LANGUAGES, "Objective-C"),
        ("≥ 3", LIMITS, "≥3"),
        (">= 3", LIMITS, "≥3"),
        ("<=3", LIMITS, "≤3"),
        ("3", LIMITS, "3"),
        ("- high", ("-high", "high"), "-high"),
        ("# 7", ("6", "7"), "7"),
        ("café", ("cafe\u0301", "tea"), "cafe\u0301"),
        ("CAFE\u0301!", ("café", "tea"), "café"),
        ("й", ("и\u0306", "и"), "и\u0306"),
        ("**A**", ("a", "A"), "A"),
        ("«да».", ("Да", "ДА", "да"), "да"),
        ("Good  enough", ("Good", "Good enough"), "Good enough"),
    ],
)
def test_a_sign_belongs_to_its_option_also_with_a_space_behind_it(
    reply: str, options: tuple[str, ...], option: str
) -> None:
    assert match_option(reply, options) == option
    assert read(Reply(reply), Choice(options)).verdict.option == option  # type: ignore[union-attr]
    assert read(Reply(f"So it is.\nVerdict: {reply}"), Choice(options)).verdict.option == option  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        ("< 50%", ("50%", "20%")),
        ("<50%>", HALVES),
        ("50", HALVES),
        ("– 1", ("1", "2")),
        ("— 1", THREE),
        ("- 1", ("1", "2")),
        ("A -", ("A", "B")),
        ("A —", GRADES),
        ("C#", ("C", "C++")),
        ("C+", LANGUAGES),
        ("≥ 3", ("3", "4")),
        (">= 3", ("3", "4")),
        ("=3", ("3", "4")),
        ("~3", ("3", "4")),
        ("3+", ("3", "4")),
        ("high", (">high", "low")),
        ("5", (".5", "6")),
        (",5", ("5", "6")),
        ("1.5", ("15", "5", "1")),
        ("cafe", ("café", "tea")),
        ("А", ("A", "B")),
    ],
)
def test_what_has_another_sign_is_another_answer(reply: str, options: tuple[str, ...]) -> None:
    assert match_option(reply, options) is None


@pytest.mark.parametrize(
    "line", ["Grade: >= 3", "Grade: ≥ 3", "**Grade:** >= 3", "Grade = ≥3", "grade: **≥ 3**"]
)
def test_a_comparison_mark_behind_a_label_is_not_taken_for_part_of_the_label(line: str) -> None:
    assert read(Reply(line), Choice(LIMITS)).verdict.option == "≥3"  # type: ignore[union-attr]
    assert read(Reply(line), Choice(("3", "4"))).verdict is None


def test_a_comparison_mark_before_the_equals_sign_is_not_lost() -> None:
    assert read(Reply("Grade <= 3"), Choice(("3", "4"))).verdict is None


MARKS = "aAbBéÉ12.0 -+–−—<>≤≥=~%#*!?()\"'«»"
DECORATIONS = [
    "{}",
    " {} ",
    "**{}**",
    '"{}"',
    "({})",
    "«{}»",
    "`{}`",
    "{}.",
    "{}!",
    "{}:",
    "__{}__",
    "\n{}\n",
    "[{}],",
]
options_of_any_kind = st.lists(
    st.text(MARKS, min_size=1, max_size=5).map(str.strip).filter(bool)
    | st.sampled_from(
        [
            *HALVES,
            *THREE,
            *GRADES,
            *LANGUAGES,
            *LIMITS,
            "e\u0301",
            "é",
            "4",
            "4.0",
            "10",
            "4,0",
            "+4",
        ]
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@given(options_of_any_kind, st.data())
def test_a_decorated_option_is_that_option_or_none_and_never_another(
    options: list[str], data: st.DataObject
) -> None:
    option, decoration = (
        data.draw(st.sampled_from(options)),
        data.draw(st.sampled_from(DECORATIONS)),
    )
    text = decoration.format(
        data.draw(st.sampled_from([option, unicodedata.normalize("NFD", option)]))
    )
    composed = unicodedata.normalize("NFC", text.strip())
    assume(
        composed
        not in {unicodedata.normalize("NFC", other) for other in options if other != option}
    )
    assert match_option(text, options) in (option, None)


@given(options_of_any_kind, st.data())
def test_the_exact_name_of_an_option_is_always_read(
    options: list[str], data: st.DataObject
) -> None:
    option = data.draw(st.sampled_from(options))
    assert match_option(option, options) == option


@given(
    st.sets(st.integers(-20, 20), min_size=1),
    st.integers(-20, 20),
    st.sampled_from("-–−"),
    st.sampled_from(["", " ", "\u00a0"]),
)
def test_a_signed_number_is_itself_or_none(
    offered: set[int], number: int, minus: str, space: str
) -> None:
    written = f"{minus}{space}{-number}" if number < 0 else str(number)
    expected = str(number) if number in offered else None
    assert match_option(written, [str(one) for one in offered]) == expected
    assert match_option(f"**{written}**.", [str(one) for one in offered]) == expected
