"""What is asked about the sentences of a text that is looked up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Question
from adjudge.features.evidence.flags import NO, YES, stretches
from adjudge.features.evidence.grouped_questions import shared_out
from adjudge.features.evidence.pool import Looked
from adjudge.features.evidence.support import POINTS, SUPPORTS
from adjudge.features.evidence.support_questions import (
    ClaimsQuestion,
    SupportOfEach,
    SupportQuestion,
)

_ONE, _SEVERAL, CLAIMS = "sentence", "sentences", "claims"
TEMPLATES = ("evidence", "evidence_joint", CLAIMS)
"""Of the ballots about sentences."""
QUESTION = "user_input"
Asked = tuple[Criteria, Instance, Question, str]
"""What a ballot asks, of what, and the template it is written with."""


@dataclass(frozen=True)
class EvidenceQuestions:
    """Of one text; each once, whoever is asked, and however often."""

    looked: Looked
    criteria: Criteria
    text_field: str
    source_field: str

    def about_each(self, claims: Sequence[str], *, alone: bool) -> Iterator[Asked]:
        """Sentence by sentence. ``alone``: without the text it stands in."""
        criteria = replace(self.criteria, to_evaluate_field=_ONE)
        question = SupportQuestion(SUPPORTS, POINTS, sources=self.source_field)
        for claim in claims:
            whole = (
                {}
                if alone or self.looked.text.strip() == claim
                else {self.text_field: self.looked.text}
            )
            yield criteria, Instance({**self._sources, **whole, _ONE: claim}), question, "evidence"

    def about_all(self, claims: Sequence[str]) -> Iterator[Asked]:
        """Many sentences in one question."""
        criteria = replace(self.criteria, to_evaluate_field=_SEVERAL)
        for some in shared_out(tuple(claims)):
            question = SupportOfEach(SUPPORTS, POINTS, sources=self.source_field, count=len(some))
            yield criteria, Instance({**self._sources, _SEVERAL: some}), question, "evidence_joint"

    def flags(self) -> Iterator[Asked]:
        """Yes or No, without the question that is answered: sentences are told better so."""
        criteria = replace(yes_no_criteria(self.criteria.description), to_evaluate_field=_ONE)
        question = SupportQuestion((YES, NO), POINTS[:2], sources=self.source_field)
        for part in stretches(self.looked.fragments):
            for claim in dict.fromkeys(self.looked.claims):
                shown = Instance({self.source_field: part, _ONE: claim})
                yield criteria, shown, question, "evidence"

    def claims(self) -> Iterator[Asked]:
        """What each sentence claims."""
        criteria = replace(self.criteria, to_evaluate_field=_SEVERAL)
        for some in shared_out(tuple(dict.fromkeys(self.looked.claims))):
            shown = Instance({**self._answered, _SEVERAL: some})
            yield criteria, shown, ClaimsQuestion((), count=len(some)), CLAIMS

    @property
    def _sources(self) -> dict[str, str | Sequence[str]]:
        return {self.source_field: self.looked.fragments, **self._answered}

    @property
    def _answered(self) -> dict[str, str]:
        return {QUESTION: self.looked.question} if self.looked.question else {}
