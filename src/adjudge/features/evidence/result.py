"""The result of looking a text up in its sources, sentence by sentence."""

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
    """One sentence of the text, with its verdict."""

    text: str
    kind: str = "claim"
    """Only a claim is looked for; a courtesy, a question, a refusal, a heading, a footnote and code
    are not.
    """
    support: str | None = None
    """Supported, contradicted or not found; None without a verdict, and for sentences that make no
    claim.
    """
    evidence: tuple[Quote, ...] = ()
    unseen: tuple[UnseenFact, ...] = ()
    by_rule: bool = False
    """True if only a rule says that it is not found."""
    agreement: float | None = None
    explanation: str | None = None
    reason: str | None = None
    """The reason if there is no verdict."""
    claims: tuple[SentenceSupport, ...] = ()
    """The claims that a model finds in the sentence, if that was asked for."""
    flag: Flag | None = None
    """The flag of the method "flags"; with "flags-first" only for what is surely unsupported."""

    @property
    def is_claim(self) -> bool:
        """True if the sentence makes a claim that sources could support."""
        return self.kind == "claim"

    def record(self) -> SentenceRecord:
        """Return the sentence in the form that records store."""
        return SentenceRecord(
            start=self.start,
            end=self.end,
            text=self.text,
            kind=self.kind,
            support=self.support,
            evidence=tuple(part.to_dict() for part in self.evidence),
            by_rule=self.by_rule,
            agreement=self.agreement,
            unseen=self.unseen,
            explanation=self.explanation,
            reason=self.reason,
            claims=tuple(part.record() for part in self.claims) or None,
            flag=self.flag,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class EvidenceResult(Result):
    """The result of looking up a text in its sources.

    ``score`` is the share of claims that are supported; with rules and flags, of those not marked.

    Example: ``[(one.text, one.support) for one in result.claims]`` lists the claims with their
    verdicts.
    """

    method: str = "each"
    sentences: tuple[SentenceSupport, ...] = ()
    text_field: str = "response"
    source_field: str = "contexts"
    invented: Mapping[str, int] = field(default_factory=FrozenDict)
    """Model → number of its quotes that are not in the named fragment."""
    model_scales: Mapping[str, int | None] = field(default_factory=FrozenDict)
    """For a panel: each model's own value on the scale."""

    @property
    def claims(self) -> tuple[SentenceSupport, ...]:
        """The sentences that make claims."""
        return tuple(sentence for sentence in self.sentences if sentence.is_claim)

    def count(self, support: str | None) -> int:
        """Count the claims with this verdict; None counts those without one."""
        return sum(claim.support == support for claim in self.claims)

    @property
    def unanswered(self) -> int:
        """Number of claims that should have a verdict but have none."""
        if self.method == "flags":
            return sum(claim.flag is None for claim in self.claims)
        return 0 if self.method == "rules" else self.count(None)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest possible share of supported claims, whatever the missing
        verdicts are.
        """
        if not self.claims:
            return 1.0, 1.0
        least = self.count(SUPPORTED)
        return least / len(self.claims), (least + self.count(None)) / len(self.claims)

    @property
    def scale(self) -> int | None:
        """The result from 0 to 2, see ``scale_of``; None if missing verdicts could change it."""
        counts = (self.count(SUPPORTED), self.count(CONTRADICTED), len(self.claims))
        missing = self.count(None)
        least, most = (
            scale_of(counts[0], counts[1] + missing, counts[2]),
            scale_of(counts[0] + missing, *counts[1:]),
        )
        return least if least == most else None

    @property
    def verdict(self) -> str | None:
        """The worst verdict on a claim; None if a missing one could be worse. Supported without
        claims.
        """
        return worst([claim.support for claim in self.claims]) if self.claims else SUPPORTED

    def detail(self) -> EvidenceDetail:
        """Return the part of the record that is specific to this kind of result."""
        return EvidenceDetail(verdict=self.verdict, evidence=self.evidence())

    def evidence(self) -> EvidenceRecord:
        """Return the sentences and counts in the form that records store."""
        return EvidenceRecord(
            method=self.method,
            claims=len(self.claims),
            scale=self.scale,
            supported=self.count(SUPPORTED),
            contradicted=self.count(CONTRADICTED),
            not_found=self.count(NOT_FOUND),
            unanswered=self.unanswered,
            invented_quotes=self.invented,
            sentences=tuple(sentence.record() for sentence in self.sentences),
            fields=EvidenceFields(text=self.text_field, sources=self.source_field),
        )


def scale_of(supported: int, contradicted: int, claims: int) -> int:
    """Return 2 if every claim is supported (or there is none).

    Return 0 if one is contradicted or less than half are supported, else 1.
    """
    if supported == claims:
        return SCALE
    return 0 if contradicted or 2 * supported < claims else 1


def worst(supports: Sequence[str | None]) -> str | None:
    """Return the worst verdict: contradicted, then not found, then missing (None), then
    supported.
    """
    order = (CONTRADICTED, NOT_FOUND, None, SUPPORTED)
    return min(supports, key=order.index, default=None)
