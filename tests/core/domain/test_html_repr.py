"""What a notebook shows: tables of at most 50 rows, in which every text is a text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import AspectCritic, DirectJudge, PairwiseJudge, ScriptedModel
from adjudge.core.domain.html_repr import html_of
from adjudge.runs.diff import run_diff
from adjudge.runs.folder import run_info
from adjudge.runs.results.run_report import report_of_run
from adjudge.trust.comparison import compare_runs

OURS = {"table", "tr", "th", "td", "p"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=y>&amp;"


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[object] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def said(option: str) -> ScriptedModel:
    return ScriptedModel(
        [f'{{"explanation": "{HOSTILE}", "selected_option": "{option}"}}'], name=HOSTILE
    )


def test_results_votes_runs_and_comparisons_are_tables_with_texts_as_texts(tmp_path: Path) -> None:
    texts = [f"{HOSTILE} {number}" for number in range(9)]
    results = AspectCritic("It is good.", said("PASS"), 3).evaluate(texts, run=tmp_path / "one")
    AspectCritic("It is good.", said("PASS"), 3).evaluate(texts, run=tmp_path / "two")
    direct = DirectJudge(said("Polite")).evaluate([HOSTILE], "politeness")
    pair = PairwiseJudge(said("A")).evaluate([["a", HOSTILE]], "Which is better?")
    with run_diff(tmp_path / "one", tmp_path / "two") as found:
        (comparison,) = compare_runs(tmp_path / "one", tmp_path / "two", found)
    things = (
        results[0],
        results[0].votes[0],
        direct[0],
        pair[0],
        run_info(tmp_path / "one"),
        report_of_run(tmp_path / "one"),
    )
    for thing in (*things, comparison):
        seen = Tags(thing._repr_html_())
        assert set(seen.tags) <= OURS
        assert "table" in seen.tags
        assert seen.attributes == []
    page = results[0]._repr_html_()
    assert "PASS" in page
    assert page.count("&lt;script&gt;") >= 3


def test_no_more_than_fifty_rows_are_shown() -> None:
    page = html_of([{"n": number} for number in range(10_000)])
    assert page.count("<tr>") == 51
    assert "and 9950 more" in page
    assert len(html_of({"text": "x" * 1_000_000})) < 1000


LEAVES = st.none() | st.text() | st.floats() | st.booleans()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_is_shown_has_no_tags_but_ours(value: object) -> None:
    seen = Tags(html_of(value))
    assert set(seen.tags) <= OURS
    assert seen.attributes == []


@pytest.mark.parametrize("missing", [None, "", [], {}])
def test_what_is_not_there_takes_no_row(missing: object) -> None:
    assert html_of({"a": missing, "b": 1}) == "<table><tr><th>b</th><td>1</td></tr></table>"
