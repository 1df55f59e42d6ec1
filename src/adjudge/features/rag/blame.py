"""Who is to blame for a poor answer: the retriever, which fetches the fragments, or the generator,
which writes the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from adjudge.features.rag.measure_result import Measured
from adjudge.features.rag.record import BlameRecord

Blamed = Literal["retriever", "generator", "both", "neither", "unknown"]
BLAMED_BELOW = 0.8
"""A side is to blame where one of its figures is below this."""
_FOUND = ("context_recall", "recall", "hit")
_FAITHFUL = ("citations",)
_SAID = ("correctness_recall", "correctness")


@dataclass(frozen=True)
class Blame:
    """Whom the figures of a row point at."""

    who: Blamed
    """"unknown": nothing that was measured says how either side did."""
    because: tuple[tuple[str, float], ...] = ()
    """(measure or dimension, its value) of those below the bar."""

    def record(self) -> BlameRecord:
        """As a record of the judgment has it."""
        return BlameRecord(who=self.who, because=dict(self.because))


def blame(measured: Mapping[str, Measured], grounded: float | None) -> Blame:
    """By one rule. ``grounded``: the dimension groundedness, from 0 to 1, where it was scored.

    The retriever's figures: context recall, and recall and hit rate by ids; where none of them is
    known, whether any fragment is relevant. The generator's: groundedness, faithful citations, and,
    where the retriever is not to blame, how much of the reference the answer says. A side is to
    blame where one of its figures is below 0.8.
    """
    found = dict(_known(measured, _FOUND)) or dict(_any_relevant(measured))
    missed = _below(found)
    written = {
        **({} if grounded is None else {"groundedness": grounded}),
        **dict(_known(measured, _FAITHFUL)),
    }
    if not missed:
        written |= dict(list(_known(measured, _SAID))[:1])
    unfaithful = _below(written)
    if not found and not written:
        return Blame("unknown")
    who: Blamed = (
        "both"
        if missed and unfaithful
        else "retriever"
        if missed
        else "generator"
        if unfaithful
        else "neither"
    )
    return Blame(who, (*missed, *unfaithful))


def _known(measured: Mapping[str, Measured], names: Iterable[str]) -> Iterable[tuple[str, float]]:
    """Those measures of these names, with any cut-off, that have a value."""
    for wanted in names:
        for name, one in measured.items():
            if name.partition("@")[0] == wanted and one.value is not None:
                yield name, one.value


def _any_relevant(measured: Mapping[str, Measured]) -> Iterable[tuple[str, float]]:
    """Whether a fragment is relevant, by whichever measure of their relevance there is."""
    for name in ("context_precision", "context_noise"):
        one = measured.get(name)
        if one and one.goodness is not None:
            yield "fragment_relevance", float(one.goodness > 0)


def _below(figures: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((name, value) for name, value in figures.items() if value < BLAMED_BELOW)
