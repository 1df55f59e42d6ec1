"""Build the judges to try, as an eval file: every model with every criterion and every setting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.label import Label
from adjudge.core.domain.vote import Mode
from adjudge.core.gateway.redaction import harmless_address
from adjudge.features.bench.labelled_rows import LabelledSet
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import DataEntry, DirectEntry, EvalFile, JudgeEntry, PairwiseEntry
from adjudge.runs.named_criteria import NamedCriteria
from adjudge.runs.project import ModelEntry
from adjudge.trust.labels.store import LabelStore


@dataclass(frozen=True)
class Matrix:
    """Criteria, models and settings to try; every combination is a judge."""

    criteria: Sequence[NamedCriteria]
    models: Sequence[ModelEntry]
    votes: Sequence[int] = (1,)
    temperatures: Sequence[float | None] = (None,)
    modes: Sequence[Mode | None] = (None,)
    both_orders: bool = False
    ties: bool = True
    seed: int | None = None

    def entries(self, *, compares: bool) -> Iterator[JudgeEntry]:
        """Yield a judge per combination, named after the settings that vary."""
        for criterion, votes, temperature, mode in product(
            self.criteria, self.votes, self.temperatures, self.modes
        ):
            judge = self._judge(criterion, votes, temperature, mode, compares=compares)
            for model in self.models:
                yield replace(judge, models=(model,), asked_with=harmless_address(model.model))

    def _judge(
        self,
        criterion: NamedCriteria,
        votes: int,
        temperature: float | None,
        mode: Mode | None,
        *,
        compares: bool,
    ) -> DirectEntry | PairwiseEntry:
        settings: dict[str, Any] = {
            "name": ", ".join([criterion.name, *self._settings(votes, temperature, mode)]),
            "criteria": (CriteriaEntry(criterion.criteria),),
            "votes": votes,
            "temperature": temperature,
            "mode": mode,
            "seed": self.seed,
            "check_positional_bias": self.both_orders,
        }
        if compares:
            return PairwiseEntry(kind="pairwise", tie_enabled=self.ties, **settings)
        return DirectEntry(kind="direct", **settings)

    def _settings(self, votes: int, temperature: float | None, mode: Mode | None) -> Iterator[str]:
        """Yield the names of the settings for which several values are tried."""
        if len(self.votes) > 1:
            yield "1 vote" if votes == 1 else f"{votes} votes"
        if len(self.temperatures) > 1:
            yield (
                f"temperature {temperature:g}" if temperature is not None else "default temperature"
            )
        if len(self.modes) > 1:
            yield str(mode)


def bench_file(
    rows: LabelledSet, matrix: Matrix, language: str, run: Path, *, stop_at_bad_row: bool
) -> EvalFile:
    """Return an eval file in which every judge judges the labelled rows."""
    return EvalFile(
        data=DataEntry(path=rows.source),
        judges=tuple(matrix.entries(compares=rows.compares)),
        language=language,
        run=str(run),
        on_bad_row="stop" if stop_at_bad_row else "report",
        typed=True,
        rows=tuple(row.instance for row in rows.rows),
    )


def needed_fields(criteria: Iterable[Criteria]) -> list[str]:
    """Return all fields that the criteria read."""
    return [
        name
        for criterion in criteria
        for name in (criterion.to_evaluate_field, *(criterion.context_fields or ()))
    ]


def keep_labels(folder: Path, labels: Iterable[Label]) -> None:
    """Add labels to a run, except those that it already has."""
    store = LabelStore(folder)
    answers = {
        (label.row, label.criteria, label.annotator): label.answer for label in store.current()
    }
    new = [
        label
        for label in labels
        if answers.get((label.row, label.criteria, label.annotator)) != label.answer
    ]
    if new:
        store.add(*new)
