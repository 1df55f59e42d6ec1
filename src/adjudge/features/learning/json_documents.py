"""The ``--json`` output of ``adjudge learn``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from adjudge.core.domain.json_document import Count
from adjudge.features.learning.report import LearnedJudgeShape
from adjudge.runs.exporters.documents import Envelope


class Learned(Envelope):
    """The output of ``adjudge learn --json``."""

    kind: Literal["learned"]
    summary: Count
    results: Annotated[Sequence[LearnedJudgeShape], "one"]
