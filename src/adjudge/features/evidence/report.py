"""What was looked up in the sources of many answers, added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar, NotRequired, TypedDict

from adjudge.core.domain.frozen_mapping import nonempty, some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.evidence.marks import MARKS, found_in
from adjudge.features.evidence.support import FLAGS, Flag
from adjudge.messages import Message, join
from adjudge.runs.sections import SectionPart, SectionTally

COUNTED = ("claims", "supported", "contradicted", "not_found", "unanswered")
_SPARED = Message("surely unsupported and asked no further")


def is_unsupported(one: JudgmentRecord) -> bool:
    """Whether a sentence is not found or contradicted."""
    found = found_in(one)
    return found is not None and found.not_found + found.contradicted > 0


def is_contradicted(one: JudgmentRecord) -> bool:
    """Whether a sentence is contradicted."""
    found = found_in(one)
    return found is not None and found.contradicted > 0


class EvidenceShape(TypedDict):
    """What ``--json`` says of sentences."""

    evidence: NotRequired[
        Annotated[
            object,
            "sentences looked up: claims, supported, contradicted, not_found, rows with some",
        ]
    ]


@dataclass(frozen=True)
class EvidenceSummary(SectionPart):
    """The sentences of all rows."""

    functions: ClassVar[Mapping[str, Callable[..., object]]] = {
        "was_searched": found_in,
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
    """How many sentences have each flag, where they were flagged."""
    spared: int = 0
    """Sentences that were surely unsupported, so that no dearer model was asked."""

    def sentence(self, name: str) -> Message:
        """What the sentences came to, in a line."""
        counts = (
            (Message("sentences that claim something"), self.claims),
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
        each = (Message("{what} {number}", what=what, number=number) for what, number in counts)
        return Message("{name}: {counts}", name=name, counts=join(", ", each))

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
        found = found_in(record)
        return (found.fields.text, found.fields.sources) if found else ()

    def page_state(self, language: str) -> Mapping[str, Callable[[JudgmentRecord], str]]:
        from adjudge.features.evidence.marked_text import (  # needs jinja2
            evidence_html,
            evidence_markdown,
        )

        return {
            "html": partial(evidence_html, language=language),
            "markdown": partial(evidence_markdown, language=language),
        }


class EvidenceTally(SectionTally):
    """Adds up judgments as they come."""

    name: ClassVar[str] = "evidence"
    shape: ClassVar[type] = EvidenceShape

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._invented: Counter[str] = Counter()
        self._flags: Counter[Flag] = Counter()

    def add(self, one: JudgmentRecord) -> None:
        found = found_in(one)
        if found is None:
            return
        self._counts.update({name: getattr(found, name) for name in COUNTED})
        self._counts["rows"] += 1
        self._counts["with_unsupported"] += is_unsupported(one)
        self._counts["with_contradicted"] += is_contradicted(one)
        self._invented.update(found.invented_quotes)
        flags = [flag for one in found.sentences for flag in FLAGS if one.flag == flag]
        if found.method == "flags":
            self._flags.update(flags)
        else:
            self._counts["spared"] += len(flags)

    def summary(self) -> EvidenceSummary | None:
        """What they come to so far; None where no sentence was looked up."""
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
