"""Values in texts: one normal form for all ways to write them, and what counts as a source."""

from __future__ import annotations

import pytest

from adjudge.features.conversations.values import Sources, says, values_in


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It is May 20", "2024-05-20"),
        ("20.05.2024, please", "May 20, 2024"),
        ("20 мая", "2024-05-20"),
        ("at 3 pm", "15:00"),
        ("number 47-11", "4711"),
        ("px-12345", "PX12345"),
        ("12,50 euros", "12.50"),
        ("1,200 dollars", "1200"),
        ("ANN@Example.com", "ann@example.com"),
        ("my e-mail is ann@example.com.", "ann@example.com"),
        ("a table for two", "2"),
        ("in 12 Mill Road", "12 Mill Road"),
        ("12/04/1990", "1990-04-12"),
        ("04/12/1990", "1990-04-12"),
        ("born 12.04.90", "1990-04-12"),
        ("sw1a2aa", "SW1A 2AA"),
        ("four four one nine", "4419"),
        ("8 (912) 345-67-89", "+7 912 345-67-89"),
    ],
)
def test_one_value_in_several_forms(text: str, value: str) -> None:
    assert says(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("number 4712", "4711"),
        ("number 14711", "4711"),
        ("May 21", "2024-05-20"),
        ("ann@example.org", "ann@example.com"),
        ("Mill Road", "12 Mill Road"),
        ("12/05/1990", "1990-04-12"),
        ("12.04.91", "1990-04-12"),
        ("sw1a2ab", "SW1A 2AA"),
    ],
)
def test_another_value_is_another_one(text: str, value: str) -> None:
    assert not says(text, value)


def test_a_part_of_a_known_number_has_a_source() -> None:
    known = Sources(["card 5105 1051 0510 7447"])
    (value,) = values_in("the one that ends in 7447")
    assert known.hold(value)
    (other,) = values_in("the one that ends in 7448")
    assert not known.hold(other)


def test_small_numbers_are_no_evidence() -> None:
    assert values_in("two bags, 3 people and the 1st of 12") == ()
