"""Let a decision model answer all criteria about a row in one request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from adjudge.core.domain.criteria import Criteria
from adjudge.core.engine.session import OpenedSession, session
from adjudge.core.judges.judge import Judge

JudgeWithCriteria = tuple[Judge[Any, Any], Sequence[Criteria]]
"""A judge with its criteria; none for a judge that has its own."""
_OWN = Criteria("own", "The judge brings its own criterion.")


@contextmanager
def with_companions(judges: Iterable[JudgeWithCriteria]) -> Iterator[None]:
    """Tell the calls inside the block which criteria are asked about the same rows."""
    candidates = (
        judge.companion(criterion)
        for judge, criteria in judges
        for criterion in (criteria or (_OWN,))
    )
    companions = tuple(companion for companion in candidates if companion is not None)
    with OpenedSession(replace(session(), companions=companions)):
        yield
