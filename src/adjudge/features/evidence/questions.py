"""Questions about the sentences of a text that is looked up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Question
from adjudge.features.evidence.flags import NO, YES, stretches
from adjudge.features.evidence.grouped_questions import split_evenly
from adjudge.features.evidence.pool import CheckedText
from adjudge.features.evidence.support import POINTS, SUPPORTS
from adjudge.features.evidence.support_questions import (
    ClaimsQuestion,
    SupportOfEach,
    SupportQuestion,
)

_ONE, _SEVERAL, CLAIMS = "sentence", "sentences", "claims"
TEMPLATES = ("evidence", "evidence_joint", CLAIMS)
"""Templates of ballots about sentences."""
QUESTION = "user_input"
Asked = tuple[Criteria, Instance, Question, str]
"""(criteria, instance, question, template) of a ballot."""


@dataclass(frozen=True)
class EvidenceQuestions:
    """The questions about one text, independent of models and number of votes."""

    checked: CheckedText
    criteria: Criteria
    text_field: str
    source_field: str

    def about_each(self, claims: Sequence[str], *, alone: bool) -> Iterator[Asked]:
        """Yield one question per claim. ``alone``: without the text that it comes from."""
        criteria = replace(self.criteria, to_evaluate_field=_ONE)
        question = SupportQuestion(SUPPORTS, POINTS, sources=self.source_field)
        for claim in claims:
            text_fields = (
                {}
                if alone or self.checked.text.strip() == claim
                else {self.text_field: self.checked.text}
            )
            yield (
                criteria,
                Instance({**self._sources, **text_fields, _ONE: claim}),
                question,
                "evidence",
            )

    def about_all(self, claims: Sequence[str]) -> Iterator[Asked]:
        """Yield questions about several claims at once."""
        criteria = replace(self.criteria, to_evaluate_field=_SEVERAL)
        for group in split_evenly(tuple(claims)):
            question = SupportOfEach(SUPPORTS, POINTS, sources=self.source_field, count=len(group))
            yield criteria, Instance({**self._sources, _SEVERAL: group}), question, "evidence_joint"

    def flags(self) -> Iterator[Asked]:
        """Yield a yes-no question for each sentence and each stretch of the sources."""
        criteria = replace(yes_no_criteria(self.criteria.description), to_evaluate_field=_ONE)
        question = SupportQuestion((YES, NO), POINTS[:2], sources=self.source_field)
        for part in stretches(self.checked.fragments):
            for claim in dict.fromkeys(self.checked.claims):
                # without the user's question: the model tells sentences apart better so
                instance = Instance({self.source_field: part, _ONE: claim})
                yield criteria, instance, question, "evidence"

    def claims(self) -> Iterator[Asked]:
        """Yield questions that ask what each sentence claims."""
        criteria = replace(self.criteria, to_evaluate_field=_SEVERAL)
        for group in split_evenly(tuple(dict.fromkeys(self.checked.claims))):
            instance = Instance({**self._question_field, _SEVERAL: group})
            yield criteria, instance, ClaimsQuestion((), count=len(group)), CLAIMS

    @property
    def _sources(self) -> dict[str, str | Sequence[str]]:
        return {self.source_field: self.checked.fragments, **self._question_field}

    @property
    def _question_field(self) -> dict[str, str]:
        return {QUESTION: self.checked.question} if self.checked.question else {}
