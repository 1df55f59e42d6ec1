"""The ``--json`` output of ``adjudge doctor``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.runs.exporters.documents import Envelope


class WeightsShape(TypedDict):
    """The weights of the embedded model on this machine."""

    model: str
    message: Annotated[str, "whether they are there, or what is the matter and what to do"]
    precision: str | None
    path: Annotated[str | None, "the file that is read, or that it is made of"]
    bytes: int | None


class ReachedShape(TypedDict):
    """A model that was tried, and the result."""

    model: str
    base_url: str | None
    reached: bool
    message: str


class Doctor(Envelope):
    """The output of ``adjudge doctor --json``."""

    kind: Literal["doctor"]
    summary: Count
    version: str
    python: str
    system: str
    configuration: Annotated[str | None, "the file that was read"]
    extras: Annotated[Mapping[str, bool], "extra: whether it is installed"]
    keys: Annotated[Mapping[str, bool], "environment variable: whether it is set"]
    embedded: WeightsShape
    broken_plugins: Annotated[Sequence[str], "what is wrong with each"]
    results: Sequence[ReachedShape]
