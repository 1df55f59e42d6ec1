"""The page and report of a day of traffic."""

from __future__ import annotations

from pathlib import Path

from adjudge.features.traffic.history import is_followed, traffic_document
from adjudge.messages import Message
from adjudge.runs.view.document import Document
from adjudge.web.page import Page


def document_of(folder: Path, language: str) -> Document | None:
    """Return the report on the traffic that a run belongs to; None if it belongs to none."""
    return traffic_document(folder.parent, language) if is_followed(folder.parent) else None


PAGE = Page(
    name="traffic",
    document=document_of,
    has_document=lambda folder: is_followed(folder.parent),
    watched_by=(Message("Measure production traffic: {command}", command="adjudge follow"),),
)
