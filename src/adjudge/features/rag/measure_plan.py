"""The measures of a row: which questions they need, and what the answers come to."""

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
    answered,
    parts_of,
)
from adjudge.features.rag.measure_result import Measured, ranked
from adjudge.features.rag.measures import RagMeasure, check_criteria
from adjudge.features.rag.retrieval import ranked_precision
from adjudge.messages import Message
from adjudge.stats.estimate import Figure

Results = Callable[[Case], DirectInstanceResult | None]
"""What the votes on a case come to; None while some are still to be asked for."""
_RELEVANCE = "fragment_relevance"
_LATER = ("fragment_used", "fragments_disagree")
"""Asked of relevant fragments only, where relevance is asked for."""


@dataclass(frozen=True)
class RagMeasuring:
    """All that is measured of every row."""

    measures: tuple[RagMeasure, ...]
    language: str = "en"

    @cached_property
    def weighed(self) -> tuple[RagMeasure, ...]:
        """Those that have a part in the composite."""
        return tuple(one for one in self.measures if one.weight)

    @cached_property
    def checks(self) -> Mapping[str, Criteria]:
        """What models are asked, by name; those come last that wait for the others."""
        names = dict.fromkeys(name for one in self.measures for name in one.checks)
        known = check_criteria(self.language) if names else {}
        return {name: known[name] for name in sorted(names, key=lambda name: name in _LATER)}

    @cached_property
    def staged(self) -> bool:
        """Whether some of it can only be asked when other answers are there."""
        return _RELEVANCE in self.checks and any(name in self.checks for name in _LATER)

    def cases(self, row: RowTexts, results: Results | None) -> list[Case]:
        """What to ask about a row, equal questions once.

        Without ``results``, all that may be asked.
        """
        found = [
            part.case for name in self.checks for part in self._parts(name, row, results) or ()
        ]
        return list(
            {(case.criteria.name, case.instance.identity): case for case in found if case}.values()
        )

    def measured(
        self, row: RowTexts, results: Results
    ) -> tuple[dict[str, Measured], tuple[Answered, ...]]:
        """What every measure comes to, and the answers behind it."""
        answers = {
            name: [
                answered(part, results(part.case) if part.case else None)
                for part in self._parts(name, row, results) or ()
            ]
            for name in self.checks
        }
        figures = [(one, self._figure(one, row, answers)) for one in self.measures]
        found = {one.name: Measured(one, figure.value, figure.reason) for one, figure in figures}
        return found, tuple(each for some in answers.values() for each in some)

    def _figure(
        self, measure: RagMeasure, row: RowTexts, answers: Mapping[str, Sequence[Answered]]
    ) -> Figure:
        if measure.rank:
            return ranked(measure, row.item)
        if missing := row.missing(measure.reads):
            return Figure(None, missing)
        related = [_RELEVANCE] if self.staged and measure.checks[0] in _LATER else []
        for one in (each for name in (*related, *measure.checks) for each in answers[name]):
            if one.yes is None:
                return Figure(None, one.reason)
        return _FIGURES[measure.name](
            row, {name: [bool(one.yes) for one in some] for name, some in answers.items()}
        )

    def _parts(self, check: str, row: RowTexts, results: Results | None) -> list[RagPart] | None:
        """None while it is not known what to ask."""
        if not self._can_ask(check, row):
            return []
        relevant: Relevant = None
        if check in _LATER and self.staged and results:
            relevance = [
                (part, results(part.case))
                for part in self._parts(_RELEVANCE, row, results) or ()
                if part.case
            ]
            if any(result is None for _, result in relevance):
                return None
            relevant = frozenset(
                part.number for part, result in relevance if answered(part, result).yes
            )
        return parts_of(check, row, self.checks[check], relevant)

    def _can_ask(self, check: str, row: RowTexts) -> bool:
        """Whether a measure that needs it has all that it reads."""
        return any(check in one.checks and not row.missing(one.reads) for one in self.measures)


# -- figures -----------------------------------------------------------------------

Said = Mapping[str, Sequence[bool]]
"""Check → what was said of each part, in their order."""


def _share(said: Sequence[bool], nothing: str) -> Figure:
    return Figure(sum(said) / len(said)) if said else Figure(None, nothing)


def _correctness_precision(row: RowTexts, said: Said) -> Figure:  # noqa: ARG001
    return _share(said["statement_in_reference"], Message("the answer makes no statement"))


def _correctness_recall(row: RowTexts, said: Said) -> Figure:  # noqa: ARG001
    return _share(said["statement_in_answer"], Message("the reference makes no statement"))


def _correctness(row: RowTexts, said: Said) -> Figure:
    """The harmonic mean of the two; without statements on one side there is none."""
    precise, complete = _correctness_precision(row, said), _correctness_recall(row, said)
    if precise.value is None or complete.value is None:
        return Figure(None, precise.reason or complete.reason)
    both = precise.value + complete.value
    return Figure(2 * precise.value * complete.value / both if both else 0.0)


def _fragment_use(row: RowTexts, said: Said) -> Figure:
    """Of the relevant fragments, where relevance is known: those that are cited, and those that the
    answer uses.
    """
    relevant = said.get(_RELEVANCE) or [True] * len(row.fragments)
    counted = [number for number, one in enumerate(relevant, 1) if one]
    cited = [number in row.cited for number in counted]
    used = sum(cited) + sum(said["fragment_used"])
    return (
        Figure(used / len(counted)) if counted else Figure(None, Message("no fragment is relevant"))
    )


_FIGURES: Mapping[str, Callable[[RowTexts, Said], Figure]] = {
    "context_precision": lambda _, said: ranked_precision(said[_RELEVANCE]),
    "context_noise": lambda _, said: _share(
        [not one for one in said[_RELEVANCE]], Message("the row has no contexts")
    ),
    "context_recall": lambda _, said: _share(
        said["statement_in_fragments"], Message("the reference makes no statement")
    ),
    "fragment_agreement": lambda _, said: _share(
        [not one for one in said["fragments_disagree"]],
        Message("there are no two fragments to compare"),
    ),
    "correctness": _correctness,
    "correctness_precision": _correctness_precision,
    "correctness_recall": _correctness_recall,
    "fragment_use": _fragment_use,
    "citations": lambda _, said: _share(
        said["citation_supports"], Message("the answer cites nothing")
    ),
}
