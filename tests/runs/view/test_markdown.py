"""Whatever a text holds, Markdown shows this text and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from adjudge.runs.view.markdown import escaped, quoted

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MARKUP = st.text("ab 1.)-+*_#>|`~[]()!<>/&;:=\\\n\t@w$^{}\"'", max_size=60)
HARMLESS = {"text", "softbreak", "hardbreak"}


def shown(source: str) -> tuple[list[str], list[str]]:
    """The lines a reader sees, and the kinds of markup that made them."""
    tokens = RENDERER.parse(source)
    inline = [child for token in tokens if token.type == "inline" for child in token.children or []]
    lines = "".join(_text(child) for child in _between(tokens)).splitlines()
    return [line for line in lines if line], [child.type for child in inline]


def _between(tokens: list[Token]) -> list[Token]:
    """The inline tokens, with a break after each block."""
    found: list[Token] = []
    for token in tokens:
        if token.type == "inline":
            found += [*(token.children or []), Token("hardbreak", "br", 0)]
    return found


def _text(token: Token) -> str:
    return "\n" if token.type in ("hardbreak", "softbreak") else token.content


def plain(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.split()]


@given(MARKUP)
@example("# Heading\n\n- list\n1. one\n2) two\n> quote\n***\n---\n===\n```\ncode\n```\n~~~\nx\n~~~")
@example("a | b\n---|---\n1 | 2")
@example("text\n===\nmore\n---")
@example(
    "<script>alert(1)</script> &lt; &#60; [link](http://x.y) ![image](z) <http://a.b> **b** "
    "_i_ ~~s~~ `c`"
)
@example("[ref]: http://example.org\n\\\\ \\* 1\\. end\\")
def test_any_text_in_a_quotation_is_shown_as_it_is(text: str) -> None:
    lines, kinds = shown(quoted(text))
    assert [" ".join(line.replace("\xa0", " ").split()) for line in lines] == plain(text)
    assert set(kinds) <= HARMLESS
    assert {token.type for token in RENDERER.parse(quoted(text))} <= {
        "blockquote_open",
        "blockquote_close",
        "paragraph_open",
        "paragraph_close",
        "inline",
    }


@given(st.text(max_size=40))
def test_any_text_in_a_table_stays_in_its_cell(text: str) -> None:
    source = f"| a | b |\n|---|---|\n| {escaped(text)} | end |\n"
    tokens = RENDERER.parse(source)
    cells = [tokens[place + 1] for place, token in enumerate(tokens) if token.type == "td_open"]
    assert len(cells) == 2
    assert cells[1].content == "end"
    assert {child.type for child in cells[0].children or []} <= {"text"}


@pytest.mark.parametrize("link", ["http://a.b", "https://a.b/c", "www.a.b", "mail@a.b"])
def test_bare_links_are_broken_up(link: str) -> None:
    assert "\\" in escaped(link)
    lines, kinds = shown(escaped(link))
    assert lines == [link]
    assert set(kinds) == {"text"}


@pytest.mark.parametrize("figure", ["0.86", "0.68–0.77", "-0.25", "+0.01", "2.0.0", "1)2"])
def test_figures_need_no_escapes(figure: str) -> None:
    """Reports are read raw, too: 0\\.86 stood in their tables."""
    assert escaped(figure) == figure


@pytest.mark.parametrize("start", ["1. a", "1.", "2) a", "- a", "-", "+ a", "---", "=="])
def test_the_start_of_a_list_or_heading_is_escaped(start: str) -> None:
    lines, kinds = shown(f"text\n{escaped(start)}")
    assert lines == ["text", start]
    assert set(kinds) <= HARMLESS


def test_lines_and_indentation_are_kept() -> None:
    lines, kinds = shown(quoted("def f():\n    return 1"))
    assert lines == ["def f():", "\xa0\xa0\xa0\xa0return 1"]
    assert "hardbreak" in kinds
