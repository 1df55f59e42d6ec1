"""A judge that was made from an eval file: what it takes from a row, and the label of its
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
    """What its judgments are filed under."""
    criteria: tuple[Criteria, ...] = ()
    """What it judges by, one after the other; empty where the judge itself knows."""
    fail_under: FailUnder | None = None
    compares: bool = False
    """Whether it compares responses, which gives no score."""
    first_step: Judge[Any, Any] | None = None
    """Of a cascade, whose steps all take the same."""
    columns: (
        Callable[[Instance, Mapping[str, str], Path | ObjectFile], Mapping[str, str]] | None
    ) = None
    """Of a judge of RAG rows: which column was taken for which field, by the first row, those
    named, and the source.
    """

    results_per_row: int = 1
    """Of each criterion: as often as targets answer a row."""
    per: Per = "row"
    """What it judges of a row."""
    systems: tuple[str, ...] = ()
    """Who answers its rows, where several do."""
    each_row: Callable[[Instance], Sequence[Any]] | None = None
    """Of a judge with several results for each row: what it looks at."""

    @cached_property
    def configuration(self) -> JsonObject:
        """Everything that decides the verdicts."""
        return self.judge.configuration(self.criteria)

    def items(self, instance: Instance) -> list[Any]:
        """Return the arguments for ``judge.plan``, one per result of the instance."""
        judge = self.first_step or self.judge
        parts = [instance] if self.per == "row" else parts_of(instance, self.per)
        if self.each_row is not None:
            return [item for part in parts for item in self.each_row(part)]
        if not isinstance(judge, CaseJudge):
            return list(parts)
        return [
            judge.case(case_instance, criterion)
            for case_instance in map(judge.instance_of, parts)
            for criterion in self.criteria
        ]
