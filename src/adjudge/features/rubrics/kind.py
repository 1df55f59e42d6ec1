"""The kind ``rubric`` of judges in eval files: its settings, and the judge made from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjudge.core.reading.types import FilePath, Flag, Many, Text, WholeNumber, Word, key
from adjudge.errors import SetupError
from adjudge.features.rubrics.judge import RubricJudge
from adjudge.features.rubrics.settings import (
    CONTEXT_FIELDS,
    EVIDENCE,
    JUDGED,
    RUBRIC_FIELDS,
    THEME_FIELDS,
    Evidence,
)
from adjudge.runs.builder import JudgeKind, Models, common_settings, ready_judge
from adjudge.runs.eval_file import EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.ready_judge import ReadyJudge


@dataclass(frozen=True, kw_only=True)
class RubricEntry(JudgeEntry):
    """Rows judged by the weighted points that they bring."""

    votes: int = key(WholeNumber(least=1), "Votes per point and model.", 1, aliases=("strictness",))
    rubric: str | None = key(
        FilePath(),
        "A file with one rubric for all rows, or one per row. Default: a column of the data, "
        "such as rubric or rubrics.",
        None,
    )
    rubric_field: str | None = key(Text(), "The column with the rubric. Default: detected.", None)
    evidence: Evidence = key(
        Word[Evidence](EVIDENCE),
        "required: a point is met only with a quote that is found in the answer.",
        "asked",
    )
    show_points: bool = key(
        Flag(), "Show the model what each point is worth, as HealthBench does.", False
    )
    text_field: str = key(Text(), "The field to judge.", JUDGED)
    context_fields: tuple[str, ...] = key(
        Many(Text(), commas=True), "Other fields shown with it.", CONTEXT_FIELDS
    )
    themes_field: str | None = key(
        Text(), "The column with the row's tags. Default: detected.", None
    )

    def fields_read(self, file: EvalFile) -> FieldsRead:  # noqa: ARG002
        rubrics = (self.rubric_field,) if self.rubric_field else RUBRIC_FIELDS
        themes = (self.themes_field,) if self.themes_field else THEME_FIELDS
        return FieldsRead(
            needed=(
                self.text_field,
                *((self.rubric_field,) if self.rubric_field and not self.rubric else ()),
            ),
            also=(*self.context_fields, *(() if self.rubric else rubrics), *themes),
        )

    def check_per(self) -> None:
        if self.per == "topic":
            raise SetupError("per: topic works only with judges of kind direct and aspect")
        if self.per in ("step", "trajectory"):
            raise SetupError("per: step and per: trajectory work only with judges of kind agent")


def _make(file: EvalFile, entry: RubricEntry, models: Models) -> list[ReadyJudge]:
    judge = RubricJudge(
        models,
        file.beside(entry.rubric) if entry.rubric else None,
        per="point" if entry.per == "point" else "row",
        evidence=entry.evidence,
        show_points=entry.show_points,
        text_field=entry.text_field,
        context_fields=entry.context_fields,
        rubric_field=entry.rubric_field,
        themes_field=entry.themes_field,
        votes=entry.votes,
        **common_settings(file, entry),
    )
    ready = ready_judge(file, entry, entry.name or "rubric", judge)
    return [replace(ready, per="row") if entry.per == "point" else ready]


RUBRIC = JudgeKind(RubricEntry, _make)
"""Rows judged by their own weighted points."""
