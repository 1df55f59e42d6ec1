"""The ``--json`` output of ``adjudge generate``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from adjudge.runs.exporters.documents import Count, Envelope


class SelectionShape(TypedDict):
    """The code that was written for a task, and the code that was chosen."""

    task: str
    output: object
    stdout: str
    winner: int | None
    cost: float | None
    compared: int
    cost_spread: float | None
    cost_is: str
    fresh: object
    candidates: Sequence[Mapping[str, object]]


class Selections(Envelope):
    """The output of ``adjudge generate --json``."""

    kind: Literal["selection"]
    summary: Count
    results: Sequence[SelectionShape]
