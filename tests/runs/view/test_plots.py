"""Plots are well-formed, true to the counts, and take no markup from labels."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.runs.view.plots import (
    Move,
    Range,
    distribution,
    flow,
    histogram,
    interval,
    step_class,
)


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=12))
def test_bars_are_as_high_as_their_counts(counts: list[int]) -> None:
    drawn = ElementTree.fromstring(
        histogram(counts, [str(place) for place in range(len(counts) + 1)], "all")
    )
    bars = [bar for bar in drawn.iter("rect") if bar.attrib["class"] == "bar"]
    heights = [float(bar.attrib["height"]) for bar in bars]
    known = [count for count in counts if count]
    for count, height in zip(known, heights, strict=True):
        assert height == pytest.approx(max(heights) * count / max(counts), abs=0.2)
    assert [one.attrib["aria-label"] for one in drawn.iter("g")] == [
        f"{place}–{place + 1}: {count}" for place, count in enumerate(counts) if count
    ]


@given(st.lists(st.integers(0, 500), min_size=2, max_size=6))
def test_parts_are_as_wide_as_their_shares(counts: list[int]) -> None:
    drawn = ElementTree.fromstring(distribution(counts, ["x"] * len(counts), "scores"))
    widths = [float(part.attrib["width"].rstrip("%")) for part in drawn.iter("rect")]
    assert widths == pytest.approx(
        [100 * count / sum(counts) for count in counts if count], abs=0.01
    )


def test_labels_are_text() -> None:
    hostile = '"><script>alert(1)</script>'
    for plot in (
        distribution([1, 2], [hostile, "b"], hostile),
        histogram([1, 2], [hostile, "b", "c"], hostile),
        interval(Range(0.5, 0.4, 0.6), hostile),
        flow([Move(hostile, "b", 3)], {}, hostile),
    ):
        drawn = ElementTree.fromstring(plot)
        assert not list(drawn.iter("script"))
        assert hostile in drawn.attrib["aria-label"]
        assert any(hostile in (told.text or "") for told in drawn.iter() if told.tag != "svg")


def test_parts_lead_where_they_are_told_and_say_what_they_are() -> None:
    drawn = ElementTree.fromstring(
        distribution([3, 0, 1], ["a", "b", "c"], "all", [0.0, 0.5, None], ["?a=1&x", "?b", "?c"])
    )
    links = list(drawn.iter("a"))
    assert [(link.attrib["href"], link.attrib["aria-label"]) for link in links] == [
        ("?a=1&x", "a: 3 (75%)"),
        ("?c", "c: 1 (25%)"),
    ]
    assert [part.attrib["class"] for part in drawn.iter("rect")] == ["step s0", "step p2"]
    assert not [one for one in drawn.iter() if "style" in one.attrib], "the page forbids styles"


@given(st.floats(-2, 3), st.floats(0, 1))
def test_an_interval_holds_its_number_and_stays_on_its_scale(value: float, reach: float) -> None:
    drawn = ElementTree.fromstring(interval(Range(value, value - reach, value + reach), "x", -1, 2))
    (dot,) = drawn.iter("circle")
    bar = next(line for line in drawn.iter("line") if line.attrib["class"] == "range")
    left, middle, right = (
        float(text.rstrip("%")) for text in (bar.attrib["x1"], dot.attrib["cx"], bar.attrib["x2"])
    )
    assert 0 <= left <= middle <= right <= 100


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("abd"), st.integers(1, 500)),
        min_size=1,
        unique_by=lambda one: one[:2],
    )
)
def test_bars_of_a_flow_are_as_high_as_their_rows(moves: list[tuple[str, str, int]]) -> None:
    drawn = ElementTree.fromstring(flow([Move(*one) for one in moves], {"a": 1.0}, "all"))
    total = sum(rows for *_, rows in moves)
    for side in (0, 1):
        names = {one[side] for one in moves}
        texts = [text.text or "" for text in drawn.iter("text")]
        for name in names:
            rows = sum(one[2] for one in moves if one[side] == name)
            assert f"{name} {rows}" in texts
    assert sum(float(bar.attrib["height"]) for bar in drawn.iter("rect")) == pytest.approx(
        360, abs=6
    ), total
    assert len(list(drawn.iter("path"))) == len(moves)


def test_shades_are_tenths_and_stay_on_the_scale() -> None:
    assert [step_class(one) for one in (-1.0, 0.0, 0.55, 1.0, 7.0)] == [
        "s0",
        "s0",
        "s6",
        "s10",
        "s10",
    ]
    assert step_class(None, 7) == "p1"
