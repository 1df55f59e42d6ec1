"""What was read in a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adjudge.domain.frozen import NOTHING
from adjudge.domain.verdict import Verdict
from adjudge.domain.vote import Outcome


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict with how it was got, or the reason there is none."""

    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None
    data: Mapping[str, object] | None = None
    """The object the verdict stands in, where it stands in one."""
    beside: Mapping[str, object] = NOTHING
    """What else the vote keeps."""
