"""The kind ``sql`` of judges in eval files: its settings, and the judge made from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.types import FilePath, Number, Text, WholeNumber, Word, key
from adjudge.errors import SetupError
from adjudge.features.sql.judge import SqlJudge
from adjudge.messages import Message
from adjudge.runs.builder import JudgeKind, Models, ready_judge
from adjudge.runs.eval_file import EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.ready_judge import ReadyJudge

_SANDBOXES = ("sandlock", "bubblewrap", "docker", "podman", "none")


@light_dataclass(frozen=True, kw_only=True)
class SqlEntry(JudgeEntry):
    """The kind sql: queries that are run on a database and compared with a reference query."""

    database: str | None = key(
        FilePath(),
        "A database (.sqlite, .db), a script (.sql), or a folder of them in which database_field "
        "names one. Default: database_field is a script.",
        None,
    )
    copies: int = key(
        WholeNumber(least=0, most=100),
        "Number of changed copies of the database on which to compare the queries, too.",
        8,
    )
    tolerance: float = key(
        Number(least=0), "Maximum difference of floats that count as equal.", 1e-6
    )
    seconds: float = key(Number(above=0), "Time limit per query, in seconds.", 5.0)
    sandbox: str | None = key(
        Word(_SANDBOXES), "The sandbox to use. Default: the first that works.", None
    )
    query_field: str = key(Text(), "The field with the query.", "response")
    reference_field: str = key(Text(), "The field with the reference query.", "reference")
    database_field: str = key(
        Text(), "The field with the script of the database, or its name.", "database"
    )

    @property
    def asks_no_model(self) -> bool:
        return True

    def fields_read(self, file: EvalFile) -> FieldsRead:
        path = file.beside(self.database) if self.database else None
        per_row = path is None or path.is_dir()
        needed = (self.query_field, self.reference_field)
        return FieldsRead(
            needed=(*needed, self.database_field) if per_row else needed,
            may_be_empty=(self.query_field,),
        )

    def named_code(self) -> Iterator[tuple[str, str]]:
        if self.sandbox == "none":
            yield "sandbox", Message("SQL of the rows without a sandbox")

    def check_per(self) -> None:
        if self.per != "row":
            raise SetupError("a judge of kind sql judges rows: leave per out")


def _make(file: EvalFile, entry: SqlEntry, models: Models) -> list[ReadyJudge]:  # noqa: ARG001

    for name in ("votes", "temperature", "mode", "models"):
        default = 1 if name == "votes" else () if name == "models" else None
        if getattr(entry, name) != default:
            raise SetupError("a judge of kind sql asks no model: leave {name} out", name=name)
    judge = SqlJudge(
        database=file.beside(entry.database) if entry.database else None,
        copies=entry.copies,
        tolerance=entry.tolerance,
        seconds=entry.seconds,
        seed=entry.seed,
        sandbox=entry.sandbox,
        query_field=entry.query_field,
        reference_field=entry.reference_field,
        database_field=entry.database_field,
        name=entry.name or "sql",
        language=file.language,
        on_failure=entry.on_failure,
    )
    return [replace(ready_judge(file, entry, judge.name, judge), criteria=(judge.criteria,))]


SQL = JudgeKind(SqlEntry, _make)
"""Queries judged by execution."""
