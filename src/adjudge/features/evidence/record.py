"""What the sources say of a text, sentence by sentence, as a record."""

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

FactKind = Literal["number", "date", "unit", "name", "quotation"]


@light_dataclass(frozen=True, kw_only=True)
class UnseenFact:
    """Something that a sentence names and no fragment contains, found by rule."""

    kind: FactKind
    text: str
    start: int
    """Where it stands in the sentence."""


@light_dataclass(frozen=True, kw_only=True)
class SentenceRecord:
    """One sentence, and what the sources say of it."""

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
    """Which fields hold the text and its sources."""

    text: str
    sources: str


@light_dataclass(frozen=True, kw_only=True)
class EvidenceRecord:
    """A text looked up in its sources."""

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
    """A record that may hold a text looked up in its sources."""

    sections: ClassVar[tuple[str, ...]] = ("evidence",)

    evidence: EvidenceRecord | None

    def columns(self) -> JsonDict:
        return evidence_columns(self.to_dict())


def evidence_columns(detail: JsonDict) -> JsonDict:
    """Replace the evidence in a record's dictionary by the counts of its sentences, and the
    sentences as JSON.
    """
    held = detail.pop("evidence", None)
    if not isinstance(held, Mapping):
        return detail
    counts = {
        f"evidence_{name}": held.get(name)
        for name in ("claims", "supported", "contradicted", "not_found", "unanswered")
    }
    sentences = json.dumps(held.get("sentences"), ensure_ascii=False)
    return {**detail, **counts, "evidence_sentences": sentences}


@light_dataclass(frozen=True, kw_only=True)
class EvidenceDetail(SearchedDetail):
    """Whether the sources support a text, sentence by sentence."""

    kind: ClassVar[str] = "evidence"

    verdict: str | None
    evidence: EvidenceRecord

    @property
    def chosen(self) -> str | None:
        """The worst that is said of a claim."""
        return self.verdict

    def label_criteria(self, judge: JudgeConfiguration) -> Criteria | None:
        """People are asked what the sentences come to. Rules and flags give no verdict."""
        if judge.settings.get("method") in ("rules", "flags"):
            return None
        from adjudge.features.evidence.wording import text_criteria  # reading a run asks nobody

        named = (
            str(judge.settings.get(name, usual))
            for name, usual in (("text_field", "response"), ("source_field", "contexts"))
        )
        return text_criteria(judge.language, *named)
