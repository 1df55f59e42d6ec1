"""Trials of criteria: the judge's choice for golden cases, whose option is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.criteria import CriteriaExample
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import PairwiseInstanceResult, Result
from adjudge.core.domain.verdict import letter
from adjudge.errors import SetupError
from adjudge.messages import Message, join
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import DirectEntry, JudgeEntry, PairwiseEntry


class Tried(NamedTuple):
    """A golden case, and the judge's result for it."""

    case: CriteriaExample
    result: Result

    @property
    def chosen(self) -> str | None:
        """The chosen option; None without a verdict."""
        result = self.result
        if not isinstance(result, PairwiseInstanceResult):
            return result.verdict
        return (
            letter(result.selected_option)
            if isinstance(result.selected_option, int)
            else result.selected_option
        )

    @property
    def as_expected(self) -> bool | None:
        """True if the verdict is as expected; None without a verdict."""
        return None if self.chosen is None else self.chosen == self.case.option

    def message(self, number: int) -> Message:
        """Return a line about an unexpected verdict."""
        why = self.result.explanation if self.chosen else self.result.reason
        line = Message(
            "golden {number}: expected {expected}, got {chosen}",
            number=number,
            expected=self.case.option,
            chosen=self.chosen or Message("no verdict"),
        )
        return join(": ", (line, why)) if why else line


@dataclass(frozen=True)
class Goldens:
    """One criterion's golden cases, as rows for a judge."""

    entry: CatalogEntry
    cases: tuple[CriteriaExample, ...]

    @classmethod
    def of(cls, entry: CatalogEntry, file: Path) -> Goldens:
        """Return the entry's golden cases. Without any, use its examples, which the judge then does
        not see.

        Raises a SetupError if it has neither.
        """
        if entry.golden:
            return cls(entry, entry.golden)
        if not entry.criteria.examples:
            raise SetupError(
                "{file}: criterion {name!r} has no golden cases: write some under golden",
                file=file,
                name=entry.criteria.name,
            )
        return cls(
            replace(entry, criteria=replace(entry.criteria, examples=())),
            tuple(entry.criteria.examples),
        )

    @property
    def rows(self) -> tuple[Instance, ...]:
        return tuple(
            Instance(case.fields, f"golden {number}") for number, case in enumerate(self.cases, 1)
        )

    def judge(self, votes: int) -> JudgeEntry:
        criteria, kind = (
            (CriteriaEntry(self.entry.criteria),),
            PairwiseEntry if self.entry.kind == "pairwise" else DirectEntry,
        )
        return kind(
            kind=self.entry.kind, name=self.entry.criteria.name, criteria=criteria, votes=votes
        )

    def tried(self, results: Sequence[Result]) -> list[Tried]:
        """Pair the cases with their results, given in row order."""
        return [Tried(case, result) for case, result in zip(self.cases, results, strict=True)]


def accepted(tried: Sequence[Tried], file: Path, entry: CatalogEntry) -> dict[int, str]:
    """Return position → chosen option for each case with an unexpected verdict.

    Cases without a verdict are left out. Raises a SetupError without golden cases.
    """
    if not entry.golden:
        raise SetupError(
            "{file}: criterion {name!r} has no golden cases to update: write some under golden",
            file=file,
            name=entry.criteria.name,
        )
    return {
        place: trial.chosen
        for place, trial in enumerate(tried)
        if trial.chosen is not None and not trial.as_expected
    }
