"""Numbers as people read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

import adjudge
from adjudge.core.gateway.prices import dollars
from adjudge.messages import Message, render
from adjudge.runs.numbers import level_text, percent_range
from adjudge.stats.intervals import Interval

CATALOGUE = Path(adjudge.__file__).parent / "locales/ru/LC_MESSAGES/adjudge.po"


@pytest.mark.parametrize(
    ("limits", "shown"),
    [((0.9988, 1.0), "99%–100%"), ((0.592, 0.868), "59%–87%"), ((0.0, 0.004), "0%–1%")],
)
def test_an_interval_never_reads_as_one_number(limits: tuple[float, float], shown: str) -> None:
    assert str(percent_range(Interval(*limits, 0.95))) == shown


def test_levels_and_money_have_the_marks_of_their_language() -> None:
    assert (level_text(0.975), dollars(0.4426), dollars(0)) == ("97.5%", "$0.4426", "$0")
    assert render(level_text(0.975), "ru") == "97,5\N{NO-BREAK SPACE}%"
    assert render(Message("{share:.1%}", share=0.5), "ru") == "50,0\N{NO-BREAK SPACE}%"
    assert render(dollars(0.4426), "ru") == "$0,4426"


def test_percent_is_written_one_way_in_each_language() -> None:
    with CATALOGUE.open("rb") as file:
        entries = [*read_po(file)]
    english = [text for one in entries for text in texts_of(one.id)]
    russian = [text for one in entries for text in texts_of(one.string)]
    assert [text for text in english if re.search(r"[\d}]\s%(?!\})", text)] == []
    assert [text for text in russian if re.search(r"[\d}] ?%(?!\})", text)] == []


def texts_of(said: str | tuple[str, ...] | list[str]) -> list[str]:
    return [said] if isinstance(said, str) else [*said]
