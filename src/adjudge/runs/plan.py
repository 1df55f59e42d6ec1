"""The plan of an eval file: everything that a run needs to know, looked up once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.data.dataset import STDIN, OddRows
from adjudge.core.data.sources.opener import hold_stdin
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import holds_run
from adjudge.core.reading.objects import ObjectFile
from adjudge.core.reading.user_code import forget_changed
from adjudge.errors import RunError
from adjudge.runs.builder import (
    OpenEntry,
    look_up_criteria,
    make_explaining,
    make_judges,
    open_entry,
)
from adjudge.runs.eval_file import BudgetEntry, EvalFile
from adjudge.runs.folder import reading
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.row_reader import RowReader

if TYPE_CHECKING:
    from adjudge.runs.second_opinions import Explaining

_QUICKLY_COUNTED = 100_000_000
"""Bytes of a file whose rows are counted before they are judged."""
_TRACES_QUICKLY_COUNTED = 4_000_000
"""Like ``_QUICKLY_COUNTED``, but of traces, which have to be put together."""
_LIMITS = ("max_usd", "max_calls", "max_tokens")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A resolved eval file: rows, judges, prices, limits and the run folder.

    ``resolve`` makes it after the user has agreed to the file's needs (``runs.trusted_folders``).
    Every command that judges, estimates, resumes or follows reads it. None of them looks up a
    model, a criterion, a price or a file of code again.
    """

    file: EvalFile
    """The file, with the criteria of its judges looked up. ``over`` replaces it together with the
    reader.
    """
    reader: RowReader
    """Reads its rows."""
    judges: tuple[ReadyJudge, ...]
    """The judges, with opened models, criteria and loaded code."""
    explaining: Explaining | None = None
    """Asks for second opinions after the verdicts; None without ``explain`` in the file."""
    prices: PriceTable = field(default_factory=PriceTable.load)
    limits: Budget = Budget()
    """The limits of the run: the caller's, and the file's if the caller set none."""
    folder: Path | None = None
    """The run folder; None if nothing is kept."""
    limit: int | None = None
    """Judge only the first rows."""
    facts: JsonObject = field(default_factory=dict)
    """Facts about the run for its folder, such as the file to be resumed."""

    def over(self, file: EvalFile) -> Plan:
        """Return the plan for other rows. ``file``: this plan's file with other data."""
        return replace(self, file=file, reader=RowReader(file))

    def limited_to(self, budget: Budget | None) -> Plan:
        """Return the plan with these limits; those that are not set stay as they are."""
        return replace(self, limits=limits_of(budget, self.limits)) if budget else self

    @property
    def configuration(self) -> dict[str, JsonObject]:
        """Label → everything that decides the verdicts of that judge."""
        return {ready.label: ready.configuration for ready in self.judges}

    @property
    def models(self) -> list[OpenModel]:
        """Every model that the judges ask. A model shared by several judges occurs once per
        judge.
        """
        return [model for ready in self.judges for model in ready.judge.panel.values()]

    @property
    def writer(self) -> OpenModel | None:
        """The model that gives second opinions; None without ``explain`` in the file."""
        return self.explaining.model if self.explaining else None

    @property
    def judgments_per_row(self) -> int:
        return sum((len(ready.criteria) or 1) * ready.results_per_row for ready in self.judges)

    def first_row(self) -> Instance | None:
        """Return the first row to be judged. None if there is none, or if standard input would be
        consumed.
        """
        if self.file.data.path == STDIN and not self.file.rows:
            return None
        return next(iter(self.reader.read(_ignore, 1)), None)

    def total(self) -> int | None:
        """Return the number of judgments. None if counting is slow, would consume the rows, or
        needs the conversations' turns.
        """
        file = self.file
        if any(ready.per in ("turn", "topic") for ready in self.judges):
            return None  # rows have as many turns as they have
        if file.rows:
            return len(file.rows) * self.judgments_per_row
        most = _TRACES_QUICKLY_COUNTED if self.reader.reads_traces else _QUICKLY_COUNTED
        try:
            if (
                file.data.path == STDIN
                or isinstance(file.source, ObjectFile)
                or not file.source.is_file()
                or file.source.stat().st_size > most
            ):
                return None
            rows = sum(1 for _ in self.reader.read(_ignore, self.limit))
        except (OSError, RunError):
            return None  # what is wrong with the rows is said when judging gets there
        return rows * self.judgments_per_row

    def keeping_rows(self) -> Plan:
        """Return the plan with its limit raised to the number of rows already in the run folder.

        Rows beyond the limit would otherwise be dropped from the run.
        """
        limit = self.limit or self.file.data.limit
        if limit is None or self.file.rows or self.folder is None or not holds_run(self.folder):
            return self

        per_row = {
            ready.label: (len(ready.criteria) or 1) * ready.results_per_row
            for ready in self.judges
            if ready.per not in ("turn", "topic")
        }
        with reading(self.folder) as ledger:
            counts = ledger.execute(
                "SELECT judge, max(number) + 1 FROM judgments GROUP BY judge"
            ).fetchall()
        rows = max(
            # rounded up: the last row may not have all its judgments yet
            (-(-count // per_row[judge]) for judge, count in counts if judge in per_row),
            default=0,
        )
        return replace(self, limit=rows) if rows > limit else self


def resolve(
    file: EvalFile,
    *,
    cache: bool = True,
    api_key: str | None = None,
    folder: Path | None = None,
    limit: int | None = None,
    facts: JsonObject | None = None,
    prices: PriceTable | None = None,
    budget: Budget | None = None,
    dry_run: bool = False,
    opened: OpenEntry | None = None,
) -> Plan:
    """Look up everything that ``file`` names, and return the plan.

    ``file`` must have the project's defaults and the user's trust, because its code is loaded here.
    ``cache``: read and store replies in the user's cache. ``api_key``: for a file with one model.
    ``prices``: by default ``PriceTable.load()``. ``budget``: limits that override the file's.
    ``dry_run``: the plan is only estimated, so keys may be missing. ``opened``: opens a model, for
    callers that wrap models.
    """
    prices = prices or PriceTable.load()
    file = look_up_criteria(file)
    forget_changed(file.code.hashes)
    reader = RowReader(file)
    reader.refuse_mixed_judges()
    opened = opened or partial(
        open_entry, cache=cache, api_key=api_key, prices=prices, dry_run=dry_run
    )
    judges = make_judges(file, opened, prices)
    explaining = make_explaining(file, opened, judges) if file.explain else None
    if file.data.path == STDIN:
        hold_stdin()
    return Plan(
        file=file,
        reader=reader,
        judges=tuple(judges),
        explaining=explaining,
        prices=prices,
        limits=limits_of(budget, file.budget),
        folder=folder or file.run_folder,
        limit=limit,
        facts=facts or {},
    )


def limits_of(budget: Budget | None, below: Budget | BudgetEntry) -> Budget:
    """Return the limits of ``budget``; those it lacks come from ``below``."""
    limits = {name: getattr(budget, name, None) for name in _LIMITS}
    return Budget(
        **{name: getattr(below, name) if limit is None else limit for name, limit in limits.items()}
    )


def _ignore(rows: OddRows) -> None:
    """Ignore odd rows here, since they are reported when they are judged."""
