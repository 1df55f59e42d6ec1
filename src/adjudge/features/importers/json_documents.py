"""The ``--json`` output of ``adjudge import``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from adjudge.core.domain.json_document import Count
from adjudge.features.importers.importing import ImportShape
from adjudge.runs.exporters.documents import Envelope


class Imports(Envelope):
    """The output of ``adjudge import --json``."""

    kind: Literal["imports"]
    summary: Count
    results: Sequence[ImportShape]
