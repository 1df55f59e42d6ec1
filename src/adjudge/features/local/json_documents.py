"""The ``--json`` output of ``adjudge models``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.runs.exporters.documents import Envelope


class ModelShape(TypedDict):
    """A model, or a provider of models."""

    provider: str
    example: str
    key_variable: str | None
    key_set: bool
    can_do: Sequence[str]
    state: NotRequired[str]


class Models(Envelope):
    """The output of ``adjudge models --json``."""

    kind: Literal["models"]
    summary: Count
    results: Sequence[ModelShape]
