"""A judge created from an eval file, with the fields it takes from a row and the label of its
judgments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from adjudge.core.data.conversations import Per, parts_of
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.judges.case import CaseJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.reading.objects import ObjectFile
from adjudge.runs.eval_file import FailUnder


@light_dataclass(frozen=True)
class ReadyJudge:
    name: str
    judge: Judge[Any, Any]
    label: str
    """The name under which its judgments are stored."""
    criteria: tuple[Criteria, ...] = ()
    """Its criteria, judged one after the other; empty if the judge itself has them."""
    fail_under: FailUnder | None = None
    compares: bool = False
    """True if it compares responses, which gives no score."""
    first_step: Judge[Any, Any] | None = None
    """The first step of a cascade. All its steps take the same items."""
    columns: (
        Callable[[Instance, Mapping[str, str], Path | ObjectFile], Mapping[str, str]] | None
    ) = None
    """For judges of RAG rows: returns which column was taken for which field, by the first row, the
    named columns and the source.
    """

    results_per_row: int = 1
    """Results per criterion: as many as there are targets' answers to a row."""
    per: Per = "row"
    """The part of a row that it judges."""
    systems: tuple[str, ...] = ()
    """The systems that answer its rows, if there are several."""
    each_row: Callable[[Instance], Sequence[Any]] | None = None
    """For judges with several results per row: returns the items."""
    rows_with: str = ""
    """The field that its rows must have."""

    @cached_property
    def configuration(self) -> JsonObject:
        """Everything that decides the verdicts."""
        return self.judge.configuration(self.criteria)

    def items(self, instance: Instance) -> list[Any]:
        """Return the arguments for ``judge.plan``, one per expected result for the instance."""
        judge = self.first_step or self.judge
        parts = [instance] if self.per in ("row", "topic") else parts_of(instance, self.per)
        if self.each_row is not None:
            return [item for part in parts for item in self.each_row(part)]
        if not isinstance(judge, CaseJudge):
            return list(parts)
        return [
            judge.case(case_instance, criterion)
            for case_instance in map(judge.instance_of, parts)
            for criterion in self.criteria
        ]
