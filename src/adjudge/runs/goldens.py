"""Golden cases of criteria, tried: what a judge chooses for texts whose option is known."""

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
    """A golden case, and what the judge made of it."""

    case: CriteriaExample
    result: Result

    @property
    def chosen(self) -> str | None:
        """The option; None without a verdict."""
        found = self.result
        if not isinstance(found, PairwiseInstanceResult):
            return found.verdict
        return (
            letter(found.selected_option)
            if isinstance(found.selected_option, int)
            else found.selected_option
        )

    @property
    def as_expected(self) -> bool | None:
        """Whether the verdict is the expected one; None without a verdict."""
        return None if self.chosen is None else self.chosen == self.case.option

    def message(self, number: int) -> Message:
        """What is not as expected, in a line."""
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
    """What is tried of one criteria: rows for a judge, in the order of the cases."""

    entry: CatalogEntry
    cases: tuple[CriteriaExample, ...]

    @classmethod
    def of(cls, entry: CatalogEntry, file: Path) -> Goldens:
        """Its golden cases; where there are none its examples, which are then not shown to the
        judge.
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
            Instance(one.fields, f"golden {number}") for number, one in enumerate(self.cases, 1)
        )

    def judge(self, votes: int) -> JudgeEntry:
        said, kind = (
            (CriteriaEntry(self.entry.criteria),),
            PairwiseEntry if self.entry.kind == "pairwise" else DirectEntry,
        )
        return kind(kind=self.entry.kind, name=self.entry.criteria.name, criteria=said, votes=votes)

    def tried(self, results: Sequence[Result]) -> list[Tried]:
        """The cases with their results, which come in the order of the rows."""
        return [Tried(case, result) for case, result in zip(self.cases, results, strict=True)]


def accepted(tried: Sequence[Tried], file: Path, entry: CatalogEntry) -> dict[int, str]:
    """The options that were chosen instead of those expected.

    What has no verdict stays as it was.
    """
    if not entry.golden:
        raise SetupError(
            "{file}: criterion {name!r} has no golden cases to update: write some under golden",
            file=file,
            name=entry.criteria.name,
        )
    return {
        place: one.chosen
        for place, one in enumerate(tried)
        if one.chosen is not None and not one.as_expected
    }
