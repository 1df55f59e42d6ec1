"""The kind ``rag`` of judges in eval files: its settings, and how they become a judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from adjudge.core.reading.types import FilePath, Flag, Many, Text, WholeNumber, Word, key
from adjudge.features.evidence.kind import (
    CLAIMS,
    LOOK_UP,
    METHOD,
    Method,
    check_not_conversation,
)
from adjudge.features.rag.joint_questions import Checks
from adjudge.features.rag.judge import RagEvaluator
from adjudge.features.rag.retrieval import RankMeasure
from adjudge.features.rag.rows import fields_by_name
from adjudge.runs.builder import JudgeKind, Models, kind_settings, ready_judge
from adjudge.runs.eval_file import WEIGHTS, EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.ready_judge import ReadyJudge


@dataclass(frozen=True, kw_only=True)
class RagEntry(JudgeEntry):
    """Settings of a judge of answers that rest on retrieved texts."""

    dimensions: tuple[str, ...] = key(
        Many(Text(), commas=True), "Dimensions to score. Default: all; none: only the measures.", ()
    )
    measures: tuple[str, ...] = key(
        Many(Text(), commas=True),
        "Additional measures of retriever and generator, such as ndcg@5 or context_recall.",
        (),
    )
    weights: tuple[tuple[str, float], ...] = key(
        WEIGHTS, "Dimension or measure: its weight in the composite.", ()
    )
    checks: Checks = key(
        Word[Checks](get_args(Checks)),
        "Ask measures part by part, or many parts in one call.",
        "each",
    )
    rewrite_questions: bool = key(
        Flag(), "Rewrite follow-up questions to be self-contained before judging relevance.", False
    )
    config: str | None = key(
        FilePath(),
        "A YAML or JSON file with additional dimensions, weights and gates.",
        None,
        option=("-c", "--config"),
    )
    early_stop: bool = key(Flag(), "Stop as soon as further votes cannot change a score.", False)
    evidence: Method | None = key(
        METHOD, f"{LOOK_UP} each and joint decide groundedness.", None, bare="each"
    )
    claims: bool = key(Flag(), CLAIMS, False)
    votes: int = key(
        WholeNumber(least=1), "Votes per model and dimension.", 1, aliases=("strictness",)
    )

    @property
    def asks_no_model(self) -> bool:
        if self.dimensions != ("none",) or self.claims:
            return False

        return self.evidence in (None, "rules") and all(map(RankMeasure.of, self.measures))

    def fields_read(self, file: EvalFile) -> FieldsRead:
        config = file.beside(self.config) if self.config else None
        sources = ("contexts",) if self.evidence else ()
        fields = fields_by_name(self.dimensions, self.measures, config, file.language, sources)
        return FieldsRead(
            needed=tuple(fields.needed),
            also=tuple(fields.also),
            may_be_empty=tuple(fields.may_be_empty),
            filled=("user_input",),
        )

    def check_per(self) -> None:
        super().check_per()
        if self.evidence:
            check_not_conversation(self)


def _make(file: EvalFile, entry: RagEntry, models: Models) -> list[ReadyJudge]:
    settings = kind_settings(file, entry)
    judge = RagEvaluator(
        models,
        **{
            **settings,
            "dimensions": entry.dimensions or None,
            "weights": dict(entry.weights),
        },
    )
    return [replace(ready_judge(file, entry, entry.name or "rag", judge), columns=judge.columns_of)]


RAG = JudgeKind(RagEntry, _make)
