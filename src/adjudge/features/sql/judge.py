"""The judge of SQL: it runs a query and its reference, and compares the results."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from adjudge.core.aio import event_loop
from adjudge.core.checks.structure import strip_fence
from adjudge.core.domain.check_result import FAIL, PASS
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import NOTHING, content_hash
from adjudge.core.domain.instance import Instance, Metadata
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.direct import Direct
from adjudge.core.judges.judge import Progress
from adjudge.core.judges.settings import VoteSettings, at_least
from adjudge.core.ledger.key import key_of
from adjudge.errors import SandboxError, SetupError
from adjudge.features.generate.sandbox.base import Limits
from adjudge.features.generate.sandbox.finder import find_sandbox
from adjudge.features.sql.database import Database, find_database, read_database
from adjudge.features.sql.findings import sentence
from adjudge.features.sql.reference import ReferenceQuery, literals_of, without_end
from adjudge.messages import Message

_BUILD_SECONDS = 20.0
_MOST_ROWS = 100_000
_MOST_COPIES = 100
_MEMORY_MB = 1024
_MOST_AT_ONCE = 4
_CALL = "\noutput = compare(job, tell)\n"
COPIES, TOLERANCE, SECONDS = 8, 1e-6, 5.0
QUERY, REFERENCE, DATABASE = "response", "reference", "database"


@dataclass(frozen=True, kw_only=True)
class SqlJudge(VoteSettings, Direct):
    """Runs a query and its reference query in a sandbox, on a database and on changed copies of it.

    PASS if both return the same rows everywhere. Duplicates count, the order only if the reference
    has an ORDER BY, and names of columns do not. A query that does more than read, or takes too
    long, fails. A database or a reference that cannot be used gives no verdict.

    Example: ``SqlJudge(database="shop.sql").evaluate({"response": sql, "reference": gold})``

    Parameters:
        database: a file (.sqlite, .db, or a script .sql), or a folder of them, in which the row's
            field names one. None: the row's field is a script.
        copies: number of changed copies: rows dropped, duplicated, changed, or all of it, in turn.
            They keep the keys and constraints that the database declares.
        tolerance: largest relative or absolute difference of two numbers that are the same, if one
            is a float.
        seconds: most seconds for each query.
        seed: other seeds make other copies.
        sandbox: the sandbox to use, by name; None is the first that works.
        query_field: the field with the query.
        reference_field: the field with the reference query.
        database_field: the field with the script, or with the name in the folder.
        name: the name of the criterion in results and reports.
    """

    database: str | Path | None = None
    copies: int = COPIES
    tolerance: float = TOLERANCE
    seconds: float = SECONDS
    sandbox: str | None = None
    query_field: str = QUERY
    reference_field: str = REFERENCE
    database_field: str = DATABASE
    name: str = "sql"

    def check_settings(self) -> None:
        super().check_settings()
        at_least("copies", self.copies, 0)
        if self.copies > _MOST_COPIES:
            raise SetupError(
                "copies must be at most {most}, not {copies}",
                most=_MOST_COPIES,
                copies=self.copies,
            )
        for name in ("tolerance", "seconds"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= value < float("inf") or (name == "seconds" and not value):
                raise SetupError(
                    "{name} must be a number above 0, not {value!r}", name=name, value=value
                )
        if self.votes != 1 or self.check_positional_bias:
            raise SetupError("a query has only one result: leave out votes")
        if self._path is not None and not self._path.is_dir():
            read_database(self._path)

    @property
    def _path(self) -> Path | None:
        return None if self.database is None else Path(self.database)

    @property
    def _is_per_row(self) -> bool:
        return self._path is None or self._path.is_dir()

    @property
    def max_in_flight(self) -> int:
        return min(_MOST_AT_ONCE, os.cpu_count() or 1)

    @cached_property
    def criteria(self) -> Criteria:
        """The criterion: the same rows as the reference query."""
        context = [self.reference_field, *([self.database_field] if self._is_per_row else [])]
        return Criteria(
            self.name,
            str(Message("The query returns the same rows as the reference query.")),
            (CriteriaOption(PASS, score=1.0), CriteriaOption(FAIL, score=0.0)),
            to_evaluate_field=self.query_field,
            context_fields=context,
        )

    async def aevaluate(  # type: ignore[override]
        self,
        instances: Any,
        criteria: Criteria | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[DirectInstanceResult] | None = None,
    ) -> Any:
        """Judge one row (→ one result), a list (→ a list), or a data frame with ``columns``.

        A row has the fields ``response`` and ``reference``, and ``database`` if the judge has no
        file. ``run``, ``budget`` and ``progress`` are as for other judges.
        """
        options: dict[str, Any] = {"run": run, "budget": budget, "progress": progress}
        if columns is not None:
            options["columns"] = columns
        return await super().aevaluate(instances, criteria or self.criteria, **options)

    def evaluate(  # type: ignore[override]
        self,
        instances: Any,
        criteria: Criteria | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[DirectInstanceResult] | None = None,
    ) -> Any:
        """Like ``aevaluate``, for scripts and notebooks."""
        return event_loop.run(
            self.aevaluate(
                instances, criteria, columns=columns, run=run, budget=budget, progress=progress
            )
        )

    # -- running ---------------------------------------------------------------

    async def ask(self, ballot: Ballot) -> Vote:
        """Return the vote of the sandbox: PASS, FAIL, or why there is none."""
        instance, _ = self.arrange(ballot)
        try:
            database = self._database_of(instance)
        except SetupError as error:
            if not self._is_per_row:
                raise
            return Vote(ballot=ballot, outcome=Outcome.MODEL_ERROR, reason=error.message)
        found = await self._run_in_sandbox(self._job(instance, database))
        text = sentence(found)
        if found["verdict"] in ("pass", "fail"):
            option = PASS if found["verdict"] == "pass" else FAIL
            return Vote(ballot=ballot, outcome=Outcome.OK, verdict=Chosen(option, text))
        is_open = found["verdict"] == "open"
        outcome = Outcome.ABSTAINED if is_open else Outcome.MODEL_ERROR
        return Vote(ballot=ballot, outcome=outcome, reason=text)

    def _database_of(self, instance: Instance) -> Database:
        path = self._path
        if path is not None and not path.is_dir():
            return read_database(path)
        value = _text(instance, self.database_field)
        return (
            Database.of_script(value)
            if path is None
            else read_database(find_database(path, value.strip()))
        )

    def _job(self, instance: Instance, database: Database) -> JsonDict:
        query = without_end(strip_fence(_text(instance, self.query_field)))
        reference = strip_fence(_text(instance, self.reference_field)).strip()
        return {
            **database.part,
            "response": query,
            "reference": ReferenceQuery.of(reference).to_json(),
            "literals": literals_of(reference, query),
            "copies": self.copies,
            "seed": str(self.seed or 0),
            "tolerance": self.tolerance,
            "seconds": self.seconds,
            "build_seconds": _BUILD_SECONDS,
            "most_rows": _MOST_ROWS,
        }

    async def _run_in_sandbox(self, job: JsonDict) -> Mapping[str, Any]:
        sandbox = await asyncio.to_thread(find_sandbox, self.sandbox)
        parts: list[str] = []
        whole = (self.copies + 1) * (4 * self.seconds + _BUILD_SECONDS) + _BUILD_SECONDS
        limits = Limits(
            wall=10 * whole,  # only a bound: time on a busy machine is not a fault
            cpu=whole,
            memory_mb=_MEMORY_MB,
            tool_calls=4 * (self.copies + 2),
        )
        try:
            done = await sandbox.run(
                _program(), inputs={"job": job}, tools={"tell": parts.append}, limits=limits
            )
        except SandboxError as error:
            part = parts[-1] if parts else "database"
            verdict = "fail" if part == "response" else "error"
            text = f"{type(error).__name__}: {error}"
            return {"verdict": verdict, "part": part, "code": "crashed", "text": text}
        return done.output if isinstance(done.output, dict) else {}

    # -- identity --------------------------------------------------------------

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings; of a database file its hash, not its place."""
        settings = super().recorded_settings()
        path = self._path
        if path is None:
            return settings
        digest = "" if path.is_dir() else f" sha256 {read_database(path).digest[:16]}"
        return {**settings, "database": f"{path.name}{digest}"}

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        """Return the key function: a changed database, also one of a folder, is another
        question.
        """
        identity = content_hash(type(self).__name__, self.recorded_settings())

        def key(ballot: Ballot, wordings: Mapping[str, str]) -> bytes:
            try:
                digest = self._database_of(ballot.instance).digest
            except SetupError:
                digest = ""
            return key_of(ballot, f"{identity} {digest}", wordings)

        return key

    def prompt_of(self, votes: Sequence[Vote]) -> Metadata:  # noqa: ARG002
        """Return nothing, since no model was asked."""
        return NOTHING

    def notes(self, item: Any, votes: Sequence[Vote]) -> tuple[str, ...]:  # noqa: ARG002
        """Return no notes: the explanation says how much was compared."""
        return ()


def _text(instance: Instance, name: str) -> str:
    value = instance.fields[name]
    return value if isinstance(value, str) else "\n".join(value)


@cache
def _program() -> str:
    """Return the program for the sandbox."""
    return Path(__file__).with_name("worker.py").read_text(encoding="utf-8") + _CALL
