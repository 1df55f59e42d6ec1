"""Evaluated text that is drawn: Markdown and JSON, and nothing that runs, loads or leads away."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.ruler import Ruler

from adjudge.web import rendering as rendered
from adjudge.web.rendering import LONGEST, render_text

ALLOWED = {
    *("p", "em", "strong", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def test_plain_prose_is_shown_as_it_is() -> None:
    for text in ("", "One sentence. And 3 * 4 = 12.", "a < b", "x" * (LONGEST + 1)):
        assert render_text(text) is None


def test_lists_tables_code_and_headings_are_drawn() -> None:
    drawn = str(render_text("# Title\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n`x<y`"))
    assert '<p class="heading">Title</p>' in drawn
    assert drawn.count("<li>") == 2
    assert "<td>2</td>" in drawn
    assert "<code>x&lt;y</code>" in drawn


def test_json_gets_its_lines() -> None:
    assert str(render_text('{"a": [1, "<b>"]}')).count("\n") == 5
    assert "&lt;b&gt;" in str(render_text('{"a": [1, "<b>"]}'))
    assert render_text("{not json}") is None


def test_characters_that_nobody_sees_are_shown_and_emoji_stay_whole() -> None:
    drawn = str(render_text("**file** \u202etxt.exe p\u200dq \U0001f469\u200d\U0001f4bb"))
    assert "⟨U+202E⟩txt.exe p⟨U+200D⟩q \U0001f469\u200d\U0001f4bb" in drawn


PIECES = st.sampled_from(
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![x](http://elsewhere.example/x.png)",
        "<http://elsewhere.example>",
        "[x]: http://elsewhere.example\n\n[x]",
        "```js onload=alert(1)\nx\n```",
        "# h",
        "\n\n",
        "| a |\n|:-:|\n| b |",
        "- ",
        "> ",
        "**b**",
        "&lt;script&gt;",
        "<svg/onload=alert(1)>",
        '" onclick="x',
    ]
)


@given(st.lists(PIECES, max_size=12).map("\n".join))
def test_no_text_makes_an_element_that_runs_loads_or_leads_away(text: str) -> None:
    drawn = str(render_text("**x**\n" + text))
    tags = re.findall(r"<\s*/?\s*([a-zA-Z0-9]+)([^>]*)>", drawn)
    assert {name for name, _ in tags} <= ALLOWED
    assert {rest.strip(" /") for _, rest in tags} <= {"", 'class="heading"'} | {
        f'start="{number}"' for number in range(10)
    }


@pytest.mark.parametrize(
    "piece", ["*a ", "`", "[", "> ", "- ", "**a_ ", "|a", "![", "~~~", "# ", "1) ", "__a*"]
)
def test_a_hostile_text_takes_no_longer_than_anybody_waits(piece: str) -> None:
    began = time.process_time()
    render_text("**x**\n" + piece * (LONGEST // len(piece) - 10))
    assert time.process_time() - began < 5


def test_nothing_of_the_reader_is_left_to_the_threads_that_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It puts its rules in order one by one: who reads meanwhile would read without them."""
    rendered._reader.cache_clear()
    rendered._reader()
    monkeypatch.setattr(Ruler, "__compile__", lambda _: pytest.fail("its rules are put in order"))
    assert "<strong>b</strong>" in str(render_text("- a **b**\n\n| c |\n|---|\n| d |"))
