"""The ``--json`` output of ``adjudge follow``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from adjudge.features.traffic.follower import RoundShape
from adjudge.features.traffic.rates import AlarmShape, TrafficRateShape
from adjudge.runs.exporters.documents import Envelope


class Traffic(Envelope):
    """follow: one document for each round, on a line of its own."""

    kind: Literal["traffic"]
    summary: RoundShape
    alarms: Sequence[AlarmShape]
    results: Sequence[TrafficRateShape]
