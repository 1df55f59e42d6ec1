"""What was read in a reply."""

from __future__ import annotations

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.verdict import Verdict
from adjudge.core.domain.vote import Outcome


@light_dataclass(frozen=True)
class Reading:
    """A verdict with how it was got, or the reason there is none."""

    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None
    data: JsonObject | None = None
    """The object the verdict stands in, where it stands in one."""
    beside: JsonObject = NOTHING
    """What else the vote keeps."""
