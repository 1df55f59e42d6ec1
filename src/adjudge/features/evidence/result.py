"""What the sources say of a text, sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.results import Result
from adjudge.core.domain.span import Span
from adjudge.core.domain.verdict import Quote
from adjudge.features.evidence.record import (
    EvidenceDetail,
    EvidenceFields,
    EvidenceRecord,
    SentenceRecord,
    UnseenFact,
)
from adjudge.features.evidence.support import CONTRADICTED, NOT_FOUND, SUPPORTED, Flag

SCALE = 2
"""The highest of the scale that sentences make together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceSupport(Span):
    """One sentence of the text, and what the sources say of it."""

    text: str
    kind: str = "claim"
    """Only a claim is looked for; a courtesy, a question, a refusal, a heading, a footnote and code
    are not.
    """
    support: str | None = None
    """Supported, contradicted or not found; None where nobody could say, and of
    what is not a claim.
    """
    evidence: tuple[Quote, ...] = ()
    unseen: tuple[UnseenFact, ...] = ()
    by_rule: bool = False
    """Whether a rule alone says that it is not found."""
    agreement: float | None = None
    explanation: str | None = None
    reason: str | None = None
    """Why there is no verdict."""
    claims: tuple[SentenceSupport, ...] = ()
    """What a model says that the sentence claims, where that was asked for."""
    flag: Flag | None = None
    """What the method "flags" says of it; with "flags-first" only what is surely unsupported."""

    @property
    def is_claim(self) -> bool:
        """Whether the sources can support it."""
        return self.kind == "claim"

    def record(self) -> SentenceRecord:
        """As a record of the judgment has it."""
        return SentenceRecord(
            start=self.start,
            end=self.end,
            text=self.text,
            kind=self.kind,
            support=self.support,
            evidence=tuple(one.to_dict() for one in self.evidence),
            by_rule=self.by_rule,
            agreement=self.agreement,
            unseen=self.unseen,
            explanation=self.explanation,
            reason=self.reason,
            claims=tuple(one.record() for one in self.claims) or None,
            flag=self.flag,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class EvidenceResult(Result):
    """A text looked up in its sources. ``score`` is the share of its claims that are supported."""

    method: str = "each"
    sentences: tuple[SentenceSupport, ...] = ()
    text_field: str = "response"
    source_field: str = "contexts"
    invented: Mapping[str, int] = field(default_factory=FrozenDict)
    """Model → quotes that it gave and that stand in no such fragment."""
    model_scales: Mapping[str, int | None] = field(default_factory=FrozenDict)
    """Of a panel: what each model's own votes make on the scale."""

    @property
    def claims(self) -> tuple[SentenceSupport, ...]:
        """The sentences that count."""
        return tuple(one for one in self.sentences if one.is_claim)

    def count(self, support: str | None) -> int:
        """How many claims are so; None: without a verdict."""
        return sum(one.support == support for one in self.claims)

    @property
    def unanswered(self) -> int:
        """Claims without a verdict, where there is to be one."""
        if self.method == "flags":
            return sum(one.flag is None for one in self.claims)
        return 0 if self.method == "rules" else self.count(None)

    @property
    def bounds(self) -> tuple[float, float]:
        """The share of supported claims if those without a verdict were not supported, and if they
        were.
        """
        if not self.claims:
            return 1.0, 1.0
        least = self.count(SUPPORTED)
        return least / len(self.claims), (least + self.count(None)) / len(self.claims)

    @property
    def scale(self) -> int | None:
        """From 0 to 2, by ``scale_of``; None where claims without a verdict could change it."""
        counts = (self.count(SUPPORTED), self.count(CONTRADICTED), len(self.claims))
        missing = self.count(None)
        least, most = (
            scale_of(counts[0], counts[1] + missing, counts[2]),
            scale_of(counts[0] + missing, *counts[1:]),
        )
        return least if least == most else None

    @property
    def verdict(self) -> str | None:
        """The worst that is said of a claim; None where nothing is."""
        return worst([one.support for one in self.claims]) if self.claims else SUPPORTED

    def detail(self) -> EvidenceDetail:
        """What this kind of result says beside what all of them say."""
        return EvidenceDetail(verdict=self.verdict, evidence=self.evidence())

    def evidence(self) -> EvidenceRecord:
        """The sentences with what was found."""
        return EvidenceRecord(
            method=self.method,
            claims=len(self.claims),
            scale=self.scale,
            supported=self.count(SUPPORTED),
            contradicted=self.count(CONTRADICTED),
            not_found=self.count(NOT_FOUND),
            unanswered=self.unanswered,
            invented_quotes=self.invented,
            sentences=tuple(one.record() for one in self.sentences),
            fields=EvidenceFields(text=self.text_field, sources=self.source_field),
        )


def scale_of(supported: int, contradicted: int, claims: int) -> int:
    """0 to 2: 2 where every claim is supported (also where there is none), 0 where one is
    contradicted or not even half of them are supported, else 1.
    """
    if supported == claims:
        return SCALE
    return 0 if contradicted or 2 * supported < claims else 1


def worst(supports: Sequence[str | None]) -> str | None:
    """What several claims make of their sentence: contradicted before not found before unknown
    before supported.
    """
    order = (CONTRADICTED, NOT_FOUND, None, SUPPORTED)
    return min(supports, key=order.index, default=None)
