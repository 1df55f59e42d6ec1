"""Plots are well-formed, true to the counts, and take no markup from labels."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.view.plots import distribution, histogram


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=12))
def test_bars_are_as_high_as_their_counts(counts: list[int]) -> None:
    drawn = ElementTree.fromstring(
        histogram(counts, [str(place) for place in range(len(counts) + 1)], "all")
    )
    heights = [float(bar.attrib["height"]) for bar in drawn.iter("rect")]
    assert len(heights) == len(counts)
    highest = max(*counts, 1)
    for count, height in zip(counts, heights, strict=True):
        assert height == pytest.approx(max(heights) * count / highest, abs=0.2)
    numbers = [int(text.text or "") for text in drawn.iter("text") if float(text.attrib["y"]) < 200]
    assert numbers == [count for count in counts if count]


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
    ):
        drawn = ElementTree.fromstring(plot)
        assert not list(drawn.iter("script"))
        assert hostile in drawn.attrib["aria-label"]
        assert any(hostile in (title.text or "") for title in drawn.iter("title"))
