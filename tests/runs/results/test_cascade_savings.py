"""The calls that a cascade says it saved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import AspectDetail, CascadeStepRecord, JudgmentRecord
from adjudge.core.gateway.prices import PriceTable
from adjudge.runs.results.cascades import CascadeTally
from support.plain_record import plain_record

CHEAP, DEAR = "openai/gpt-4o-mini", "openai/gpt-4o"


def judgment(calls_of_last: int) -> JudgmentRecord:
    """A row that the first step decided, or that the last one took so many calls for."""
    is_asked = calls_of_last > 0
    first = _step(CHEAP, 1, accepted=not is_asked)
    steps = (first, _step(DEAR, calls_of_last, accepted=True)) if is_asked else (first,)
    plain = plain_record(AspectDetail(verdict="PASS", model_scores={}))
    return replace(plain, steps=steps, votes_requested=len(steps))


def _step(step: str, calls: int, *, accepted: bool) -> CascadeStepRecord:
    return CascadeStepRecord(
        step=step,
        verdict="PASS",
        confidence=None,
        needed=None,
        accepted=accepted,
        calls=calls,
        prompt_tokens=1000 * calls,
        completion_tokens=0,
    )


@pytest.mark.parametrize("repeated", [10, 12])
def test_repeated_calls_for_hard_rows_are_not_counted_as_saved_on_others(repeated: int) -> None:
    """Rows at the last step were asked about twice, since the first reply was malformed."""
    tally = CascadeTally(PriceTable.load())
    for calls in [2] * repeated + [1] * (12 - repeated) + [0] * 188:
        tally.add(judgment(calls))
    summary = tally.summary((CHEAP, DEAR))
    assert summary is not None and summary.calls_saved == 188
    alone = PriceTable.load().cost(DEAR, Usage(200, 200_000, 0))
    assert summary.costs is not None and summary.costs[1] == pytest.approx(alone)
    assert "about 188 calls to it saved" in summary.sentence("learned")
