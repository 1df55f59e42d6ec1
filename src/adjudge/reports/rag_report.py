"""Everything that the files of a RAG evaluation show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from adjudge.domain.frozen import FrozenDict
from adjudge.domain.results import Status
from adjudge.rag.evaluator import RagEvaluator
from adjudge.rag.result import RagResult
from adjudge.rag.rows import MAY_BE_ABSENT, Rows
from adjudge.reports.rag_summary import RagSummary, summarise_rag
from adjudge.reports.words import blank_rows

ENTRIES = 500
"""How many answers the pages for people show, the worst first; the CSV has them all."""
_FIELDS = ("user_input", "history", "contexts", "response")


@dataclass(frozen=True)
class Entry:
    """One answer as reports show it."""

    number: int
    """Its row, from one up."""
    result: RagResult

    @property
    def barred(self) -> bool:
        """Whether a gate that caps the composite fired: such answers stand on top."""
        fired = self.result.fired
        return any(gate.rule == fired and gate.cap is not None for one in self.result.dimensions for gate in one.gates)

    @property
    def texts(self) -> list[tuple[str, list[str]]]:
        """(field, its texts): the four that every row has first, then further ones."""
        fields = self.result.instance.fields
        order = [*(name for name in _FIELDS if name in fields), *(name for name in fields if name not in _FIELDS)]
        found = [(name, [value] if isinstance(value := fields[name], str) else list(value)) for name in order]
        return [(name, texts) for name, texts in found if name not in MAY_BE_ABSENT or "".join(texts).strip()]


@dataclass(frozen=True)
class RagReport:
    """Everything that the files show."""

    results: Sequence[RagResult]
    summary: RagSummary
    parameters: Mapping[str, str] = field(default_factory=FrozenDict)
    """How the scores were made; never a key."""
    notes: Sequence[str] = ()
    """What a reader must know of the models and of the rows."""
    language: str = "en"
    made: datetime = field(default_factory=datetime.now)
    shown: int = ENTRIES

    @property
    def entries(self) -> list[Entry]:
        """The worst first, those that a gate bars on top; as many as are shown."""
        numbered = [Entry(number, result) for number, result in enumerate(self.results, 1)]
        return sorted(numbered, key=_worst_first)[: self.shown]


def rag_report(
    evaluator: RagEvaluator, rows: Rows, results: Sequence[RagResult], *, source: str = "", shown: int = ENTRIES
) -> RagReport:
    """The report of what ``evaluator`` said of ``rows``."""
    return RagReport(
        results=results,
        summary=summarise_rag(results),
        parameters=FrozenDict(_parameters(evaluator, rows, source)),
        notes=_notes(evaluator, rows, results),
        language=evaluator.language,
        shown=shown,
    )


def _notes(evaluator: RagEvaluator, rows: Rows, results: Sequence[RagResult]) -> list[str]:
    """Of the models, of the judgments, of the data; each once."""
    models = [model.note for model in evaluator.panel.values() if model.note]
    judged = [note for result in results for note in result.notes]
    blank = [blank_rows(rows.blank.count, rows.blank.places, evaluator.language)] if rows.blank else []
    return list(dict.fromkeys((*models, *judged, *blank)))


def _worst_first(entry: Entry) -> tuple[bool, float, int]:
    made = entry.result.composite
    return (not entry.barred, made.lower if entry.result.status is not Status.SCORED else made.value or 0.0, entry.number)


def _parameters(evaluator: RagEvaluator, rows: Rows, source: str) -> dict[str, str]:
    import adjudge

    given = {
        "data": source,
        "columns": ", ".join(f"{field} = {column}" for field, column in rows.columns.items()),
        "models": ", ".join(evaluator.panel),
        "votes per model and dimension": str(evaluator.strictness),
        "temperature": "" if evaluator.temperature is None else f"{evaluator.temperature:g}",
        "seed": "" if evaluator.seed is None else str(evaluator.seed),
        "mode": ", ".join(dict.fromkeys(evaluator.mode or model.mode for model in evaluator.panel.values())),
        "language": evaluator.language,
        "weights": ", ".join(f"{one.name} {one.weight:g}" for one in evaluator.scored),
        "configuration": str(evaluator.config or ""),
        "adjudge": adjudge.__version__,
    }
    return {name: value for name, value in given.items() if value}
