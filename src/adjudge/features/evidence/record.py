"""The record of a text that was looked up in its sources, sentence by sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail
from adjudge.core.domain.verdict import KeptQuote
from adjudge.features.evidence.wording import text_criteria

FactKind = Literal["number", "date", "unit", "name", "quotation"]


@light_dataclass(frozen=True, kw_only=True)
class UnseenFact:
    """Something that a sentence names and no fragment contains, found by rule."""

    kind: FactKind
    text: str
    start: int
    """Place in the sentence."""


@light_dataclass(frozen=True, kw_only=True)
class SentenceRecord:
    """One sentence with its verdict."""

    start: int
    end: int
    text: str
    kind: str
    support: Annotated[str | None, "supported, contradicted or not found; null: nobody could say"]
    evidence: tuple[KeptQuote, ...]
    by_rule: bool
    agreement: float | None
    unseen: tuple[UnseenFact, ...]
    explanation: str | None
    reason: str | None
    claims: tuple[SentenceRecord, ...] | None = None
    flag: Annotated[
        str | None, "of the method flags: unsupported, look here or nothing found against it"
    ] = None


@light_dataclass(frozen=True, kw_only=True)
class EvidenceFields:
    """The fields that hold the text and its sources."""

    text: str
    sources: str


@light_dataclass(frozen=True, kw_only=True)
class EvidenceRecord:
    """A text that was looked up in its sources."""

    method: str
    claims: int
    scale: int | None
    supported: int
    contradicted: int
    not_found: int
    unanswered: int
    invented_quotes: Annotated[Mapping[str, int], "model: quotes that stand in no such fragment"]
    sentences: tuple[SentenceRecord, ...]
    fields: EvidenceFields


class SearchedDetail(Detail):
    """A detail that may contain a text looked up in its sources."""

    sections: ClassVar[tuple[str, ...]] = ("evidence",)

    evidence: EvidenceRecord | None

    def columns(self) -> JsonDict:
        return evidence_columns(self.to_dict())


def evidence_columns(detail: JsonDict) -> JsonDict:
    """Replace a record's evidence with counts of its sentences, and the sentences as JSON."""
    evidence = detail.pop("evidence", None)
    if not isinstance(evidence, Mapping):
        return detail
    counts = {
        f"evidence_{name}": evidence.get(name)
        for name in ("claims", "supported", "contradicted", "not_found", "unanswered")
    }
    sentences = json.dumps(evidence.get("sentences"), ensure_ascii=False)
    return {**detail, **counts, "evidence_sentences": sentences}


@light_dataclass(frozen=True, kw_only=True)
class EvidenceDetail(SearchedDetail):
    """The support of the sources for a text, sentence by sentence."""

    kind: ClassVar[str] = "evidence"

    verdict: str | None
    evidence: EvidenceRecord

    @property
    def chosen(self) -> str | None:
        """The worst verdict on any claim."""
        return self.verdict

    def label_criteria(self, judge: JudgeConfiguration) -> Criteria | None:
        """Return the question for human labels, about the whole text.

        Return None for rules and flags, which give no verdict.
        """
        if judge.settings.get("method") in ("rules", "flags"):
            return None

        field_names = (
            str(judge.settings.get(name, usual))
            for name, usual in (("text_field", "response"), ("source_field", "contexts"))
        )
        return text_criteria(judge.language, *field_names)
