"""The ``--json`` output of ``adjudge import``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.runs.exporters.documents import Count, Envelope


class ImportShape(TypedDict):
    """The content that was read from another tool's file, and the fields that were left."""

    source: str
    folder: str
    format: str
    judgments: int
    statuses: Count
    votes: Count
    labels: int
    left: Annotated[Count, "fields that were kept as they are, and how often"]
    notes: Sequence[str]
    bad_rows: Sequence[str]


class Imports(Envelope):
    """The output of ``adjudge import --json``."""

    kind: Literal["imports"]
    summary: Count
    results: Sequence[ImportShape]
