"""The ``--json`` output of ``adjudge generate``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from adjudge.core.domain.json_document import Count
from adjudge.features.generate.candidate import SelectionShape
from adjudge.runs.exporters.documents import Envelope


class Selections(Envelope):
    """The output of ``adjudge generate --json``."""

    kind: Literal["selection"]
    summary: Count
    results: Sequence[SelectionShape]
