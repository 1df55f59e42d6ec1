"""Read back the judgments of adjudge's own exports to other tools, from the metadata next to each
tool's form of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.features.importers.record import (
    NOT_SAID,
    PASS_OR_FAIL,
    Mark,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    pass_or_fail,
)
from adjudge.features.importers.values import Json, JsonObject, number, text
from adjudge.runs.exporters.judgment_metadata import (
    CRITERION,
    FAILURE,
    JUDGE,
    LESS_IS_BETTER,
    MODELS,
    OPTION_SCORES,
    RELATED,
    ROW_ID,
    SCALE,
    SCORE,
    VERDICT,
    Outcome,
    scale_in,
)

METADATA = (
    *(JUDGE, CRITERION, MODELS, OPTION_SCORES, SCALE, LESS_IS_BETTER),
    *(VERDICT, SCORE, FAILURE, ROW_ID, *RELATED),
)
"""The keys that an export writes."""


@dataclass(frozen=True)
class Exported:
    """A judgment as adjudge exported it."""

    question: RecordedQuestion
    judge: str
    model: str
    failure: str
    outcome: Outcome | None
    """None without a verdict."""
    id: str | None
    related: JsonObject
    has_options: bool
    """True if the export lists every option of the question."""

    @classmethod
    def of(cls, metadata: JsonObject, is_unchanged: bool = True) -> Exported | None:
        """Return the judgment in the metadata of a tool's record; None for other tools' records.

        ``is_unchanged``: the tool's value is still the one of the metadata. If not, the tool's
        value counts.
        """
        judge, criterion = metadata.get(JUDGE), metadata.get(CRITERION)
        if not (isinstance(judge, str) and isinstance(criterion, str) and is_unchanged):
            return None
        models = metadata.get(MODELS)
        outcome, id = Outcome.of(metadata), metadata.get(ROW_ID)
        question = _question(criterion, metadata, outcome)
        # an imported judge that may ask for numbers has one question
        is_shared = SCALE not in metadata or OPTION_SCORES in metadata or judge == criterion
        return cls(
            question,
            judge if is_shared else f"{judge}: {criterion}",
            (", ".join(map(text, models)) if isinstance(models, list) else "") or NOT_SAID,
            text(metadata.get(FAILURE)),
            outcome,
            id if isinstance(id, str) else None,
            {name: metadata[name] for name in RELATED if metadata.get(name) is not None},
            isinstance(metadata.get(OPTION_SCORES), Mapping),
        )

    @property
    def answer(self) -> RecordedAnswer | None:
        """The answer to the question; None without one."""
        if self.outcome is None:
            return None
        return self.outcome.score if self.question.kind == "rating" else self.outcome.verdict

    def row(self, row: RecordedRow, vote: RecordedVote) -> RecordedRow:
        """Return a row with the judgment in place of the tool's form of it, which is ``vote``."""
        return replace(
            row,
            judge=self.judge,
            question=self.question,
            id=self.id or row.id,
            votes=(self.vote(vote),),
            more={**row.more, **self.related},
        )

    def vote(self, vote: RecordedVote) -> RecordedVote:
        """Return a vote with the exported outcome."""
        vote = replace(vote, model=self.model)
        if self.answer is not None:
            score = None if self.outcome is None else self.outcome.score
            return vote.with_answer(self.answer, None if self.question.kind == "rating" else score)
        return vote.with_outcome(self.failure, vote.reason or vote.explanation)

    def mark(self, mark: Mark, answer: RecordedAnswer | None) -> Mark | None:
        """Return a person's answer to the question; None if it is none."""
        if self.question.kind == "rating":
            answer = number(answer)
        return None if answer is None else replace(mark, answer=answer)


def is_same(value: Json, exported: str | float | None) -> bool:
    """Return True if a tool's value is the one that was exported; NaN is NaN."""
    if isinstance(value, float) and isinstance(exported, float):
        return math.isclose(value, exported) or (math.isnan(value) and math.isnan(exported))
    return value == exported


def _question(name: str, metadata: JsonObject, outcome: Outcome | None) -> RecordedQuestion:
    more_is_better = metadata.get(LESS_IS_BETTER) is not True
    verdict, scores = outcome.verdict if outcome else None, metadata.get(OPTION_SCORES)
    if isinstance(scores, Mapping) and scores:
        options = tuple(CriteriaOption(word, score=number(score)) for word, score in scores.items())
        return RecordedQuestion(name, options=options, higher_is_better=more_is_better)
    if verdict is not None and verdict not in {option.name for option in PASS_OR_FAIL}:
        return RecordedQuestion(name, higher_is_better=more_is_better)
    if verdict is None and SCALE in metadata:
        bounds = scale_in(metadata)
        return RecordedQuestion(name, kind="rating", bounds=bounds, higher_is_better=more_is_better)
    return replace(pass_or_fail(name), higher_is_better=more_is_better)
