"""What is asked about a row, given the votes so far: its dimensions, its sentences, what its
measures need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.case import Case
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.settings import temperature_for
from adjudge.features.evidence.judge import EvidenceJudge, Method
from adjudge.features.rag import standalone_question as standalone
from adjudge.features.rag.dimensions import Dimension, absent
from adjudge.features.rag.joint_questions import Checks, grouped, split
from adjudge.features.rag.measure_plan import RagMeasuring, Results
from adjudge.features.rag.measure_questions import row_texts
from adjudge.features.rag.result import GROUNDEDNESS, RagResult
from adjudge.features.rag.rows import shown
from adjudge.features.rag.standalone_question import JudgedQuestion
from adjudge.features.rag.votes import Key, about_sentences, key_of, votes_by_case


class RagPlans(Judge[Instance, RagResult]):
    """The first half of the RAG evaluator: which ballots."""

    evidence: Method | None
    rewrite_questions: bool
    checks: Checks
    _scored: tuple[Dimension, ...]
    _measuring: RagMeasuring
    _judge: DirectJudge
    _looks_up: EvidenceJudge | None

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Every dimension to every model, as often as asked; then what evidence
        and measures need.
        """
        ballots = list(self._looks_up.plan(item, about_sentences(votes))) if self._looks_up else []
        if votes and not self.early_stop and not self._staged:
            return ballots
        cast = votes_by_case(split(votes))
        rewriting = self._rewriting(item, cast)
        cases = self._asked(
            item, None if rewriting else self._question(item, cast), cast, wait=bool(rewriting)
        )
        return [*rewriting, *self._ballots(cases, cast), *ballots]

    def plan_all(self, item: Instance) -> Sequence[Ballot]:
        """All that may be asked, also what depends on answers."""
        cases = [*self._asked(item, None, None), *self._measuring.cases(row_texts(item), None)]
        looked_up = self._looks_up.plan_all(item) if self._looks_up else ()
        return [*self._rewriting(item, {}), *self._ballots(cases), *looked_up]

    def _ballots(
        self, cases: Sequence[Case], cast: Mapping[Key, Sequence[Vote]] | None = None
    ) -> list[Ballot]:
        """What is to be asked about the cases, parts of a row together where that is wanted;
        without votes, all of it.
        """
        known = cast or {}
        new = [one for one in cases if key_of(one) not in known]
        several, alone = grouped(new) if self.checks == "joint" else ([], new)
        single = [*alone, *(one for one in cases if key_of(one) in known)]
        together = [
            self.ballot_for(one.criteria, one.instance, one.question, one.template, model, sample)
            for one in several
            for model in self.panel
            for sample in range(self.samples)
        ]
        asked = (
            self._judge.ballots(case)
            if cast is None
            else self._judge.plan(case, known.get(key_of(case), []))
            for case in single
        )
        return [*(one for some in asked for one in some), *together]

    @property
    def _staged(self) -> bool:
        """Whether some of it can only be asked when other answers are there."""
        return self._measuring.staged or self.rewrite_questions

    def _asked(
        self,
        item: Instance,
        question: JudgedQuestion | None,
        cast: Mapping[Key, Sequence[Vote]] | None,
        *,
        wait: bool = False,
    ) -> list[Case]:
        """What is asked with the votes so far.

        ``wait``: the question that is judged is not known yet.
        """
        cases = [
            case for case in self._cases(item, question) if case.criteria.name != self._by_sentence
        ]
        if wait:
            return [case for case in cases if case.criteria.name not in standalone.READERS]
        if cast is None or not self._measuring.checks:
            return cases
        return [*cases, *self._measuring.cases(row_texts(item, question), self._results(cast))]

    def _rewriting(self, item: Instance, cast: Mapping[Key, Sequence[Vote]]) -> list[Ballot]:
        """Asks for the question in itself; nothing where it is known, or nobody wants it."""
        case = standalone.case_of(item) if self.rewrite_questions else None
        name = standalone.next_model(self.panel, cast.get(key_of(case), ())) if case else None
        if case is None or name is None:
            return []
        ballot = self.ballot_for(
            case.criteria, case.instance, standalone.A_TEXT, case.template, name, 0
        )
        return [replace(ballot, temperature=temperature_for(self.panel[name], self.temperature, 1))]

    def _question(
        self, item: Instance, cast: Mapping[Key, Sequence[Vote]]
    ) -> JudgedQuestion | None:
        """The question that relevance is judged by, where it was to be made self-contained."""
        case = standalone.case_of(item) if self.rewrite_questions else None
        return standalone.judged_question(item, cast.get(key_of(case), ())) if case else None

    def _results(self, cast: Mapping[Key, Sequence[Vote]]) -> Results:
        """What the votes on a case come to; None while some are still to be asked for."""

        def result(case: Case) -> DirectInstanceResult | None:
            votes = cast.get(key_of(case), ())
            return None if self._judge.plan(case, votes) else self._judge.pool(case, votes)

        return result

    @property
    def _by_sentence(self) -> str | None:
        """The dimension that sentences decide instead of a question of its own."""
        return GROUNDEDNESS if self.evidence in ("each", "joint") else None

    def _cases(self, item: Instance, question: JudgedQuestion | None) -> list[Case]:
        words = absent(self.language)
        cases = [Case(shown(item, one, words), one.criteria) for one in self._scored]
        return [standalone.asked_by(case, question) for case in cases] if question else cases
