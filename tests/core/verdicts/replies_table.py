"""Replies as models write them, what each says, and what was asked. See replies/README.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge import ScriptedModel
from adjudge.core.domain.criteria import Criteria, CriteriaOption, yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Comparison, Question, Rating, question_of
from adjudge.core.domain.verdict import TIE, Compared, Rated, Verdict
from adjudge.core.domain.vote import Ballot
from adjudge.core.verdicts.reader import read_ballot
from adjudge.features.compat.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge
from adjudge.features.evidence.support import POINTS, SUPPORTS
from adjudge.features.evidence.support_questions import SupportQuestion

FOLDER = Path(__file__).parent / "replies"
Said = str | float | tuple[str | tuple[str, ...], ...] | None
"""An option, a number, a label or an order of labels; None: no verdict."""
FRAGMENTS = (
    "The tower was completed in 1889 and is 330 metres tall.",
    "It was designed by the company of Gustave Eiffel.",
)
_ONE_TEXT = Instance({"response": "The text that is judged."})
_THREE_TEXTS = Instance({"response": ["first", "second", "third"]})
_SENTENCE = Instance({"contexts": FRAGMENTS, "sentence": "The tower dates from 1889."})


@dataclass(frozen=True)
class Case:
    """A reply, what was asked, and what a careful person reads in it."""

    name: str
    family: str
    question: str
    reply: Reply
    says: Said
    why: str
    hard: bool = False

    @property
    def read(self) -> Said:
        """What the reader makes of it."""
        own = _PROMETHEUS.get(self.question)
        return own(self.reply) if own else self._from_ballot()

    def fits(self, read: Said) -> bool:
        """Whether this is what the reply says; of an order only the best, where
        it names no more.
        """
        if isinstance(read, tuple) and isinstance(self.says, str):
            return _best(read) == self.says
        return read == self.says

    def _from_ballot(self) -> Said:
        ballot = BALLOTS[self.question]
        verdict = read_ballot(self.reply, ballot).verdict
        return None if verdict is None else _said(verdict, ballot.question)


def cases() -> Iterator[Case]:
    """All of them, family by family."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            yield from (_case(json.loads(line), path.stem) for line in lines)


def _case(given: Mapping[str, object], family: str) -> Case:
    name, question, reply, why = (str(given[key]) for key in ("name", "question", "reply", "why"))
    finish = str(given.get("finish", "stop"))
    hard = given.get("hard") is True
    return Case(
        name, family, question, Reply(reply, finish=finish), _typed(given["says"]), why, hard
    )


def _typed(says: object) -> Said:
    if isinstance(says, list):
        return tuple(tuple(map(str, one)) if isinstance(one, list) else str(one) for one in says)
    if isinstance(says, int | float):
        return float(says)
    return None if says is None else str(says)


def _best(order: Sequence[str | tuple[str, ...]]) -> str:
    return order[0] if isinstance(order[0], str) else TIE


def _said(verdict: Verdict, question: Question) -> Said:
    """The verdict in the words of the table: labels as they were shown."""
    if isinstance(verdict, Rated):
        return float(verdict.number)
    if not isinstance(verdict, Compared) or not isinstance(question, Comparison):
        return verdict.option
    labels = dict(zip(question.order, question.letters, strict=True))
    if verdict.ranking is None:
        return TIE if verdict.winner is None else labels[verdict.winner]
    groups = [tuple(sorted(labels[one] for one in group)) for group in verdict.ranking]
    return tuple(group[0] if len(group) == 1 else group for group in groups)


# -- what was asked ----------------------------------------------------------------


def _direct(template: str, options: Mapping[str, float | None], language: str = "en") -> Ballot:
    offered = [CriteriaOption(name, score=points) for name, points in options.items()]
    asked = Criteria("asked", "Does the text do what was asked?", offered)
    return Ballot(asked, _ONE_TEXT, question_of(asked), template, "m", language)


def _asked(question: Question, template: str, instance: Instance) -> Ballot:
    return Ballot(yes_no_criteria("Which is better?"), instance, question, template, "m")


def _numbers(low: int, high: int) -> Mapping[str, float | None]:
    return dict.fromkeys(map(str, range(low, high + 1)))


BALLOTS: Mapping[str, Ballot] = {
    "pass_fail": _direct("aspect", {"PASS": 1.0, "FAIL": 0.0}),
    "russian_pass_fail": _direct("aspect", {"PASS": 1.0, "FAIL": 0.0}, "ru"),
    "yes_no": _direct("direct", {"Yes": 1.0, "No": 0.0}),
    "yes_no_unscored": _direct("direct", {"Yes": None, "No": None}),
    "no_is_good": _direct("direct", {"Yes": 0.0, "No": 1.0}),
    "yes_no_partially": _direct("direct", {"Yes": 1.0, "Partially": 0.5, "No": 0.0}),
    "russian_yes_no": _direct("direct", {"Да": 1.0, "Нет": 0.0}, "ru"),
    "quality": _direct("direct", {"Excellent": 1.0, "Good": 0.75, "Acceptable": 0.5, "Bad": 0.0}),
    "scale_1_5": _direct("direct", _numbers(1, 5)),
    "scale_0_10": _asked(Rating((0.0, 10.0)), "quantitative", _ONE_TEXT),
    "rag_0_2": _direct("direct", _numbers(0, 2)),
    "rag_0_4": _direct("direct", _numbers(0, 4)),
    "signed": _direct("direct", _numbers(-1, 1)),
    "options_with_symbols": _direct("direct", {"<50%": None, ">=50%": None, "A-": None, "A": None}),
    "pair": _asked(Comparison((0, 1)), "pairwise", _THREE_TEXTS),
    "pair_no_tie": _asked(Comparison((0, 1), tie=False), "pairwise", _THREE_TEXTS),
    "triple_ranked": _asked(Comparison((2, 0, 1)), "pairwise", _THREE_TEXTS),
    "not_found": _asked(SupportQuestion(SUPPORTS, POINTS), "evidence", _SENTENCE),
}


# -- Prometheus, whose format only its judges read ---------------------------------


def _graded(reply: Reply) -> Said:
    levels = [CriteriaOption(str(one), f"Level {one}.") for one in range(1, 6)]
    rubric = Criteria("rubric", "How good is it?", levels)
    (result,) = MPrometheusDirectJudge(ScriptedModel([reply]))([_ONE_TEXT], rubric)
    return result.option if result.votes[0].valid else None


def _lettered(reply: Reply) -> Said:
    two = Instance({"response": ["first", "second"]})
    (result,) = MPrometheusPairwiseJudge(ScriptedModel([reply]))([two], "Which is better?")
    verdict = result.votes[0].verdict
    return None if verdict is None else "AB"[int(verdict.option)]


_PROMETHEUS: Mapping[str, Callable[[Reply], Said]] = {
    "prometheus_absolute": _graded,
    "prometheus_relative": _lettered,
}
