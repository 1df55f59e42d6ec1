"""Counts of looked-up sentences over many answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar, NotRequired, TypedDict

from adjudge.core.domain.frozen_mapping import nonempty, some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.evidence.marked_text import evidence_html, evidence_markdown
from adjudge.features.evidence.marks import MARKS, evidence_in
from adjudge.features.evidence.support import FLAGS, Flag
from adjudge.messages import Message, join
from adjudge.runs.sections import SectionPart, SectionTally

COUNTED = ("claims", "supported", "contradicted", "not_found", "unanswered")
_SPARED = Message("clearly unsupported, no model was asked")


def is_unsupported(record: JudgmentRecord) -> bool:
    """Return True if any claim is contradicted or not found."""
    evidence = evidence_in(record)
    return evidence is not None and evidence.not_found + evidence.contradicted > 0


def is_contradicted(record: JudgmentRecord) -> bool:
    """Return True if any claim is contradicted."""
    evidence = evidence_in(record)
    return evidence is not None and evidence.contradicted > 0


class EvidenceShape(TypedDict):
    """The part of ``--json`` output about sentences."""

    evidence: NotRequired[
        Annotated[
            object,
            "sentences looked up: claims, supported, contradicted, not_found, rows with some",
        ]
    ]


@dataclass(frozen=True)
class EvidenceSummary(SectionPart):
    """Counts of sentences over all rows."""

    functions: ClassVar[Mapping[str, Callable[..., object]]] = {
        "was_searched": evidence_in,
        "unsupported": is_unsupported,
        "contradicted": is_contradicted,
    }
    templates: ClassVar[Mapping[str, str]] = {
        "style.html": "adjudge.features.evidence:style.css",
        "findings.html": "adjudge.features.evidence:findings.html.jinja",
        "row_data.html": "adjudge.features.evidence:row_data.html.jinja",
        "row_findings.html": "adjudge.features.evidence:row_findings.html.jinja",
        "row_findings.md": "adjudge.features.evidence:row_findings.md.jinja",
    }

    rows: int
    claims: int
    supported: int
    contradicted: int
    not_found: int
    unanswered: int
    with_unsupported: int
    """Rows with a sentence that is not supported."""
    with_contradicted: int
    invented: Mapping[str, int] = field(default_factory=dict)
    """Model → quotes that do not exist."""
    flags: Mapping[Flag, int] = field(default_factory=dict)
    """Number of sentences per flag, if they were flagged."""
    spared: int = 0
    """Sentences that were surely unsupported, so that no dearer model was asked."""

    def sentence(self, name: str) -> Message:
        """Return the counts in one line."""
        counts = (
            (Message("sentences that make a claim"), self.claims),
            *(
                ((MARKS[flag], self.flags.get(flag, 0)) for flag in FLAGS)
                if self.flags
                else (
                    (MARKS["supported"], self.supported),
                    (MARKS["contradicted"], self.contradicted),
                    (MARKS["not found"], self.not_found),
                )
            ),
            *(((_SPARED, self.spared),) if self.spared else ()),
            *(((MARKS["unanswered"], self.unanswered),) if self.unanswered else ()),
            (Message("has an unsupported sentence"), self.with_unsupported),
        )
        parts = (Message("{what} {number}", what=what, number=number) for what, number in counts)
        return Message("{name}: {counts}", name=name, counts=join(", ", parts))

    def to_dict(self) -> JsonDict:
        counts: JsonDict = {
            **some_of(self, "rows", "claims", "supported", "contradicted"),
            **some_of(self, "not_found", "unanswered"),
            "rows_with_unsupported": self.with_unsupported,
            "rows_with_contradicted": self.with_contradicted,
            "invented_quotes": dict(self.invented),
            **nonempty(
                flags={str(name): count for name, count in self.flags.items()}, spared=self.spared
            ),
        }
        return {"evidence": counts}

    def hidden_fields(self, record: JudgmentRecord) -> Collection[str]:
        evidence = evidence_in(record)
        return (evidence.fields.text, evidence.fields.sources) if evidence else ()

    def page_state(self, language: str) -> Mapping[str, Callable[[JudgmentRecord], str]]:
        return {
            "html": partial(evidence_html, language=language),
            "markdown": partial(evidence_markdown, language=language),
        }


class EvidenceTally(SectionTally):
    """Accumulates the counts of judgments with evidence."""

    name: ClassVar[str] = "evidence"
    shape: ClassVar[type] = EvidenceShape

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._invented: Counter[str] = Counter()
        self._flags: Counter[Flag] = Counter()

    def add(self, record: JudgmentRecord) -> None:
        evidence = evidence_in(record)
        if evidence is None:
            return
        self._counts.update({name: getattr(evidence, name) for name in COUNTED})
        self._counts["rows"] += 1
        self._counts["with_unsupported"] += is_unsupported(record)
        self._counts["with_contradicted"] += is_contradicted(record)
        self._invented.update(evidence.invented_quotes)
        flags = [flag for sentence in evidence.sentences for flag in FLAGS if sentence.flag == flag]
        # flags beside other methods mean that no dearer model was asked about the sentence
        if evidence.method == "flags":
            self._flags.update(flags)
        else:
            self._counts["spared"] += len(flags)

    def summary(self) -> EvidenceSummary | None:
        """Summarize the rows added so far; None if no sentence was looked up."""
        counts = self._counts
        if not counts["rows"]:
            return None
        return EvidenceSummary(
            rows=counts["rows"],
            claims=counts["claims"],
            supported=counts["supported"],
            contradicted=counts["contradicted"],
            not_found=counts["not_found"],
            unanswered=counts["unanswered"],
            with_unsupported=counts["with_unsupported"],
            with_contradicted=counts["with_contradicted"],
            invented=dict(self._invented),
            spared=counts["spared"],
            flags={flag: self._flags[flag] for flag in FLAGS} if self._flags else {},
        )
