"""Names of compared systems."""

from __future__ import annotations

from adjudge.trust.contestants import system_at


def test_a_position_beyond_the_responses_is_named_without_listing_all_before_it() -> None:
    """Seen: a damaged ledger with a position of ten digits took 19 GB of memory."""
    assert system_at(("old", "new"), 1) == "new"
    assert system_at(("old", "new"), 10**15) == f"response {10**15 + 1}"
