"""The verdict read from a reply."""

from __future__ import annotations

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.verdict import Verdict
from adjudge.core.domain.vote import Outcome


@light_dataclass(frozen=True)
class Reading:
    """A verdict with the way it was read, or the reason why there is none."""

    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None
    data: JsonObject | None = None
    """The object that held the verdict, if there was one."""
    beside: JsonObject = NOTHING
    """Metadata that the vote keeps."""
