"""Marks of sentences, and the evidence of a judgment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.evidence.record import EvidenceRecord, SearchedDetail
from adjudge.features.evidence.support import Flag
from adjudge.messages import Message

Mark = Literal["supported", "contradicted", "not found", "unanswered", "unchecked"] | Flag
MARKS: Mapping[Mark, Message] = {
    "supported": Message("supported"),
    "contradicted": Message("contradicted"),
    "not found": Message("not found"),
    "unanswered": Message("no verdict"),
    "unchecked": Message("no rule applies; no model was asked"),
    "unsupported": Message("unsupported (sure)"),
    "look here": Message("look here"),
    "nothing found against it": Message("nothing found against this sentence"),
}


def evidence_in(record: JudgmentRecord) -> EvidenceRecord | None:
    """Return a judgment's evidence; None if it has none."""
    return record.detail.evidence if isinstance(record.detail, SearchedDetail) else None
