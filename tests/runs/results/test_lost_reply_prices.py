"""What lost replies may cost."""

from __future__ import annotations

from adjudge.core.gateway.layers.account import Spent
from adjudge.runs.results.notes import lost_reply_notes


def test_an_unknown_price_is_not_zero() -> None:
    (note,) = lost_reply_notes(Spent(3, 73_150, 0.0, 3))
    assert "$0" not in note
    assert "at an unknown price" in note
    (note,) = lost_reply_notes(Spent(3, 73_150, 0.25))
    assert "$0.2500" in note
