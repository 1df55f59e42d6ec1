"""The value of a measure in one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adjudge.core.data.ids import graded_ids, id_list
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import Instance
from adjudge.features.rag.measures import RagMeasure
from adjudge.features.rag.record import MeasureRecord
from adjudge.messages import Message
from adjudge.stats.estimate import Figure


@dataclass(frozen=True)
class Measured:
    """A number from 0 to 1, or why there is none."""

    measure: RagMeasure
    value: float | None
    reason: str = ""

    @property
    def goodness(self) -> float | None:
        """The value, reversed if less is better, so that 1 is the good end."""
        return None if self.value is None else self.measure.goodness(self.value)

    def record(self) -> MeasureRecord:
        """Return the value in the form that a judgment's record stores."""
        return MeasureRecord(value=self.value, reason=self.reason or None)


NOTHING_MEASURED: Mapping[str, Measured] = FrozenDict()


def rank_figure(measure: RagMeasure, item: Instance) -> Figure:
    ids: dict[str, str | tuple[str, ...]] = {}
    for name in measure.reads:
        value = item.value(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            return Figure(None, Message("the row has no {name}", name=name))
        ids[name] = value
    try:
        retrieved, relevant = id_list(ids["retrieved_ids"]), graded_ids(ids["relevant_ids"])
    except ValueError as error:
        return Figure(None, str(error))
    assert measure.rank is not None, measure
    return measure.rank.figure(retrieved, relevant)
