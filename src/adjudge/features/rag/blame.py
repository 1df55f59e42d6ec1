"""Blame for a poor answer: the retriever, which fetches the fragments, or the generator, which
writes the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from adjudge.features.rag.measure_result import Measured
from adjudge.features.rag.record import BlameRecord

Blamed = Literal["retriever", "generator", "both", "neither", "unknown"]
BLAMED_BELOW = 0.8
"""A side is to blame if one of its figures is below this."""
_FOUND = ("context_recall", "recall", "hit")
_FAITHFUL = ("citations",)
_SAID = ("correctness_recall", "correctness")


@dataclass(frozen=True)
class Blame:
    """The side to blame for a row, and the figures that led to this."""

    who: Blamed
    """"unknown": nothing that was measured says how either side did."""
    because: tuple[tuple[str, float], ...] = ()
    """(measure or dimension, its value) of those below the bar."""

    def record(self) -> BlameRecord:
        """Return the blame in the form that a judgment's record stores."""
        return BlameRecord(who=self.who, because=dict(self.because))


def blame(measured: Mapping[str, Measured], grounded: float | None) -> Blame:
    """Decide by fixed rules which side is to blame.

    ``grounded`` is the score of the dimension groundedness, from 0 to 1, if there is one.

    The retriever's figures are context recall, and recall and hit rate by ids; if none of them is
    known, whether any fragment is relevant. The generator's are groundedness, faithful citations
    and, if the retriever is not to blame, how much of the reference the answer says. A side is to
    blame if one of its figures is below 0.8. Without any figure, the answer is "unknown".
    """
    # without a reference, all that can be known is whether anything useful was retrieved
    retrieval = dict(_values_of(measured, _FOUND)) or dict(_any_relevant(measured))
    missed = _below(retrieval)
    generation = {
        **({} if grounded is None else {"groundedness": grounded}),
        **dict(_values_of(measured, _FAITHFUL)),
    }
    # an answer cannot be expected to say what was not retrieved
    if not missed:
        generation |= dict(list(_values_of(measured, _SAID))[:1])
    unfaithful = _below(generation)
    if not retrieval and not generation:
        return Blame("unknown")
    side: Blamed = (
        "both"
        if missed and unfaithful
        else "retriever"
        if missed
        else "generator"
        if unfaithful
        else "neither"
    )
    return Blame(side, (*missed, *unfaithful))


def _values_of(
    measured: Mapping[str, Measured], names: Iterable[str]
) -> Iterable[tuple[str, float]]:
    """Yield (name, value) for the measures with these names, with any cut-off."""
    for kind in names:
        for name, measure in measured.items():
            if name.partition("@")[0] == kind and measure.value is not None:
                yield name, measure.value


def _any_relevant(measured: Mapping[str, Measured]) -> Iterable[tuple[str, float]]:
    """Yield, for each measure of relevance, 1 if it shows a relevant fragment, else 0."""
    for name in ("context_precision", "context_noise"):
        measure = measured.get(name)
        if measure and measure.goodness is not None:
            yield "fragment_relevance", float(measure.goodness > 0)


def _below(figures: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((name, value) for name, value in figures.items() if value < BLAMED_BELOW)
