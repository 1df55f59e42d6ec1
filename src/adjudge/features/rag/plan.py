"""Plan the ballots for a row, given the votes so far: on its dimensions, its sentences, and the
needs of its measures.
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
from adjudge.features.rag.joint_questions import Checks, group_cases, split
from adjudge.features.rag.measure_plan import RagMeasuring, Results
from adjudge.features.rag.measure_questions import row_texts
from adjudge.features.rag.result import GROUNDEDNESS, RagResult
from adjudge.features.rag.rows import show_to_dimension
from adjudge.features.rag.standalone_question import JudgedQuestion
from adjudge.features.rag.votes import Key, about_sentences, key_of, votes_by_case


class RagPlans(Judge[Instance, RagResult]):
    """The planning half of the RAG evaluator."""

    evidence: Method | None
    rewrite_questions: bool
    checks: Checks
    _scored: tuple[Dimension, ...]
    _measuring: RagMeasuring
    _judge: DirectJudge
    _looks_up: EvidenceJudge | None

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots on dimensions, evidence and measures that can be asked next.

        The first ones are on every dimension by every model.
        """
        ballots = list(self._looks_up.plan(item, about_sentences(votes))) if self._looks_up else []
        # with votes there, only stopping early or questions in stages leave something to ask here
        if votes and not self.early_stop and not self._is_staged:
            return ballots
        cast = votes_by_case(split(votes))
        rewriting = self._rewriting(item, cast)
        cases = self._cases_to_ask(
            item, None if rewriting else self._question(item, cast), cast, wait=bool(rewriting)
        )
        return [*rewriting, *self._ballots(cases, cast), *ballots]

    def plan_all(self, item: Instance) -> Sequence[Ballot]:
        """Return all ballots that may be needed, including those that depend on answers."""
        cases = [
            *self._cases_to_ask(item, None, None),
            *self._measuring.cases(row_texts(item), None),
        ]
        looked_up = self._looks_up.plan_all(item) if self._looks_up else ()
        return [*self._rewriting(item, {}), *self._ballots(cases), *looked_up]

    def _ballots(
        self, cases: Sequence[Case], cast: Mapping[Key, Sequence[Vote]] | None = None
    ) -> list[Ballot]:
        """Return the ballots on the cases, joint ones if ``checks`` is "joint".

        Without votes, return all ballots that may be needed.
        """
        votes_so_far = cast or {}
        new = [case for case in cases if key_of(case) not in votes_so_far]
        several, alone = group_cases(new) if self.checks == "joint" else ([], new)
        # a case that has votes already goes on alone
        separate = [*alone, *(case for case in cases if key_of(case) in votes_so_far)]
        joint_ballots = [
            self.ballot_for(
                joint.criteria, joint.instance, joint.question, joint.template, model, sample
            )
            for joint in several
            for model in self.panel
            for sample in range(self.samples)
        ]
        ballots_by_case = (
            self._judge.ballots(case)
            if cast is None
            else self._judge.plan(case, votes_so_far.get(key_of(case), []))
            for case in separate
        )
        return [*(ballot for ballots in ballots_by_case for ballot in ballots), *joint_ballots]

    @property
    def _is_staged(self) -> bool:
        """True if some questions can be asked only after the answers to others."""
        return self._measuring.is_staged or self.rewrite_questions

    def _cases_to_ask(
        self,
        item: Instance,
        question: JudgedQuestion | None,
        cast: Mapping[Key, Sequence[Vote]] | None,
        *,
        wait: bool = False,
    ) -> list[Case]:
        """Return the cases that can be asked about with the votes so far.

        ``wait``: the question that is judged is not known yet.
        """
        cases = [
            case for case in self._cases(item, question) if case.criteria.name != self._by_sentence
        ]
        if wait:
            # these read the question, which is still being rewritten
            return [case for case in cases if case.criteria.name not in standalone.READERS]
        if cast is None or not self._measuring.checks:
            return cases
        return [*cases, *self._measuring.cases(row_texts(item, question), self._results(cast))]

    def _rewriting(self, item: Instance, cast: Mapping[Key, Sequence[Vote]]) -> list[Ballot]:
        """Return the ballot that asks for a self-contained question.

        Return nothing if the question is known or not wanted, or if no model is left to ask.
        """
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
        """Return the question that relevance is judged by, if questions are to be made self-
        contained.
        """
        case = standalone.case_of(item) if self.rewrite_questions else None
        return standalone.judged_question(item, cast.get(key_of(case), ())) if case else None

    def _results(self, cast: Mapping[Key, Sequence[Vote]]) -> Results:
        """Return a function that pools the votes on a case.

        It returns None while some votes are missing.
        """

        def result(case: Case) -> DirectInstanceResult | None:
            votes = cast.get(key_of(case), ())
            return None if self._judge.plan(case, votes) else self._judge.pool(case, votes)

        return result

    @property
    def _by_sentence(self) -> str | None:
        """The dimension that is decided by sentences, not by a question of its own."""
        return GROUNDEDNESS if self.evidence in ("each", "joint") else None

    def _cases(self, item: Instance, question: JudgedQuestion | None) -> list[Case]:
        words = absent(self.language)
        cases = [
            Case(show_to_dimension(item, dimension, words), dimension.criteria)
            for dimension in self._scored
        ]
        return [standalone.with_question(case, question) for case in cases] if question else cases
