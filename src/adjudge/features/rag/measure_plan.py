"""The measures of a row: the questions they need, and their values computed from the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.judges.case import Case
from adjudge.features.rag.measure_questions import (
    Answered,
    RagPart,
    Relevant,
    RowTexts,
    pair_answer,
    parts_of,
)
from adjudge.features.rag.measure_result import Measured, rank_figure
from adjudge.features.rag.measures import RagMeasure, check_criteria
from adjudge.features.rag.retrieval import ranked_precision
from adjudge.messages import Message
from adjudge.stats.estimate import Figure

Results = Callable[[Case], DirectInstanceResult | None]
"""Returns the pooled result of a case; None while votes are missing."""
_RELEVANCE = "fragment_relevance"
_LATER = ("fragment_used", "fragments_disagree")
"""Questions about relevant fragments only, if relevance is asked for."""


@dataclass(frozen=True)
class RagMeasuring:
    """All measures of a judge."""

    measures: tuple[RagMeasure, ...]
    language: str = "en"

    @cached_property
    def weighed(self) -> tuple[RagMeasure, ...]:
        """The measures that are part of the composite."""
        return tuple(measure for measure in self.measures if measure.weight)

    @cached_property
    def checks(self) -> Mapping[str, Criteria]:
        """The questions for models, by name."""
        names = dict.fromkeys(name for measure in self.measures for name in measure.checks)
        criteria = check_criteria(self.language) if names else {}
        # last come the questions that wait for the answers to others
        return {name: criteria[name] for name in sorted(names, key=lambda name: name in _LATER)}

    @cached_property
    def is_staged(self) -> bool:
        """True if some questions can be asked only after the answers to others."""
        return _RELEVANCE in self.checks and any(name in self.checks for name in _LATER)

    def cases(self, row: RowTexts, results: Results | None) -> list[Case]:
        """Return the distinct questions about a row.

        Without ``results``, return all that may be asked.
        """
        candidates = [
            part.case for name in self.checks for part in self._parts(name, row, results) or ()
        ]
        return list(
            {
                (case.criteria.name, case.instance.identity): case for case in candidates if case
            }.values()
        )

    def compute(
        self, row: RowTexts, results: Results
    ) -> tuple[dict[str, Measured], tuple[Answered, ...]]:
        """Compute every measure; also return the answers behind them."""
        answers = {
            name: [
                pair_answer(part, results(part.case) if part.case else None)
                for part in self._parts(name, row, results) or ()
            ]
            for name in self.checks
        }
        figures = [(measure, self._figure(measure, row, answers)) for measure in self.measures]
        values = {
            measure.name: Measured(measure, figure.value, figure.reason)
            for measure, figure in figures
        }
        return values, tuple(answer for part_answers in answers.values() for answer in part_answers)

    def _figure(
        self, measure: RagMeasure, row: RowTexts, answers: Mapping[str, Sequence[Answered]]
    ) -> Figure:
        if measure.rank:
            return rank_figure(measure, row.item)
        if missing := row.missing(measure.reads):
            return Figure(None, missing)
        # such a measure counts relevant fragments, so it also needs the answers about relevance
        related = [_RELEVANCE] if self.is_staged and measure.checks[0] in _LATER else []
        for answer in (
            part_answer for name in (*related, *measure.checks) for part_answer in answers[name]
        ):
            if answer.yes is None:
                return Figure(None, answer.reason)
        return _FIGURES[measure.name](
            row,
            {
                name: [bool(answer.yes) for answer in part_answers]
                for name, part_answers in answers.items()
            },
        )

    def _parts(self, check: str, row: RowTexts, results: Results | None) -> list[RagPart] | None:
        """Return the parts to ask about; None while that depends on missing answers."""
        if not self._can_ask(check, row):
            return []
        # None means that every fragment counts
        relevant: Relevant = None
        if check in _LATER and self.is_staged and results:
            relevance = [
                (part, results(part.case))
                for part in self._parts(_RELEVANCE, row, results) or ()
                if part.case
            ]
            if any(result is None for _, result in relevance):
                return None
            relevant = frozenset(
                part.number for part, result in relevance if pair_answer(part, result).yes
            )
        return parts_of(check, row, self.checks[check], relevant)

    def _can_ask(self, check: str, row: RowTexts) -> bool:
        """Return True if a measure that needs the check has all fields that it reads."""
        return any(
            check in measure.checks and not row.missing(measure.reads) for measure in self.measures
        )


# -- figures -----------------------------------------------------------------------

Said = Mapping[str, Sequence[bool]]
"""Check → what was said of each part, in their order."""


def _share(answers: Sequence[bool], nothing: str) -> Figure:
    return Figure(sum(answers) / len(answers)) if answers else Figure(None, nothing)


def _correctness_precision(row: RowTexts, answers: Said) -> Figure:  # noqa: ARG001
    return _share(answers["statement_in_reference"], Message("the answer makes no statement"))


def _correctness_recall(row: RowTexts, answers: Said) -> Figure:  # noqa: ARG001
    return _share(answers["statement_in_answer"], Message("the reference makes no statement"))


def _correctness(row: RowTexts, answers: Said) -> Figure:
    """Return the harmonic mean of precision and recall; nothing if one side makes no statement."""
    precise, complete = _correctness_precision(row, answers), _correctness_recall(row, answers)
    if precise.value is None or complete.value is None:
        return Figure(None, precise.reason or complete.reason)
    both = precise.value + complete.value
    return Figure(2 * precise.value * complete.value / both if both else 0.0)


def _fragment_use(row: RowTexts, answers: Said) -> Figure:
    """Return the share of fragments that the answer cites or uses; of the relevant ones only, if
    relevance is known.
    """
    relevant = answers.get(_RELEVANCE) or [True] * len(row.fragments)
    counted = [number for number, is_relevant in enumerate(relevant, 1) if is_relevant]
    cited = [number in row.cited for number in counted]
    used = sum(cited) + sum(answers["fragment_used"])
    return (
        Figure(used / len(counted)) if counted else Figure(None, Message("no fragment is relevant"))
    )


_FIGURES: Mapping[str, Callable[[RowTexts, Said], Figure]] = {
    "context_precision": lambda _, said: ranked_precision(said[_RELEVANCE]),
    "context_noise": lambda _, said: _share(
        [not answer for answer in said[_RELEVANCE]], Message("the row has no contexts")
    ),
    "context_recall": lambda _, said: _share(
        said["statement_in_fragments"], Message("the reference makes no statement")
    ),
    "fragment_agreement": lambda _, said: _share(
        [not answer for answer in said["fragments_disagree"]],
        Message("there are fewer than two fragments to compare"),
    ),
    "correctness": _correctness,
    "correctness_precision": _correctness_precision,
    "correctness_recall": _correctness_recall,
    "fragment_use": _fragment_use,
    "citations": lambda _, said: _share(
        said["citation_supports"], Message("the answer cites nothing")
    ),
}
