"""The kind ``evidence`` of judges in eval files: its settings, and how they become a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adjudge.core.reading.types import Flag, Text, Word, key
from adjudge.errors import SetupError
from adjudge.features.evidence.judge import EvidenceJudge
from adjudge.runs.builder import JudgeKind, Models, common_settings, ready_judge
from adjudge.runs.eval_file import EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.ready_judge import ReadyJudge

Method = Literal["each", "joint", "rules", "flags"]
METHOD = Word[Method](("each", "joint", "rules", "flags"))
_WITH_FLAGS_FIRST = Word[Literal[Method, "flags-first"]](
    ("each", "joint", "rules", "flags", "flags-first")
)
LOOK_UP = (
    "Look up every sentence in the sources: with one call per sentence (each), one call for all "
    "(joint), no call (rules), or only what the embedded model flags (flags)."
)
CLAIMS = "First have a model state what each sentence claims."


@dataclass(frozen=True, kw_only=True)
class EvidenceEntry(JudgeEntry):
    """Texts looked up in their sources, sentence by sentence."""

    method: Literal[Method, "flags-first"] = key(
        _WITH_FLAGS_FIRST,
        f"{LOOK_UP} flags-first: flags, then one call per sentence that is still uncertain.",
        "each",
    )
    claims: bool = key(Flag(), CLAIMS, False)
    text_field: str = key(Text(), "The field to look up.", "response")
    source_field: str = key(Text(), "The field with the sources.", "contexts")

    @property
    def asks_no_model(self) -> bool:
        return self.method == "rules" and not self.claims

    def fields_read(self, file: EvalFile) -> FieldsRead:  # noqa: ARG002
        return FieldsRead(needed=(self.text_field, self.source_field))

    def check_per(self) -> None:
        super().check_per()
        check_not_conversation(self)


def check_not_conversation(entry: JudgeEntry) -> None:
    """Raise a SetupError for ``per: conversation``, because users' messages have no sources."""
    if entry.per == "conversation":
        raise SetupError(
            "evidence is not for whole conversations, because the users' messages have no "
            "sources: use per: turn"
        )


def _make(file: EvalFile, entry: EvidenceEntry, models: Models) -> list[ReadyJudge]:
    judge = EvidenceJudge(
        models,
        method=entry.method,
        split="claims" if entry.claims else "sentences",
        text_field=entry.text_field,
        source_field=entry.source_field,
        votes=entry.votes,
        **common_settings(file, entry),
    )
    return [ready_judge(file, entry, entry.name or "evidence", judge)]


EVIDENCE = JudgeKind(EvidenceEntry, _make)
