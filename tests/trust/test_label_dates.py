"""The day of the labels from which settings were learned."""

from __future__ import annotations

from adjudge.core.judges.learnt_settings import UNKNOWN_DAY, LearntWeights, day_of
from adjudge.messages import Message
from adjudge.trust.learnt_weights import label_date


def test_an_unknown_day_is_a_message_before_and_after_it_was_stored() -> None:
    assert label_date([]) is UNKNOWN_DAY
    stored = str(label_date([]))
    learnt = LearntWeights(criteria="c", labels=3, date=stored, weights={}, identity="i")
    assert isinstance(learnt.source, Message)
    assert isinstance(day_of(stored), Message)
    assert learnt.source.startswith("3 labels of an unknown date")


def test_a_known_day_stays_as_it_is() -> None:
    assert day_of("2026-11-19") == "2026-11-19"
