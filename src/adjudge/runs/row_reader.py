"""The rows of an eval file: the fields that are read, their source, and their reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

from adjudge.core.data.columns import ALIASES
from adjudge.core.data.dataset import OddRows, Source, read_comparisons, read_instances
from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.instance import UNSEEN, Instance
from adjudge.core.ledger.file import holds_run
from adjudge.core.reading.objects import ObjectFile
from adjudge.core.reading.values import Place
from adjudge.errors import WrongData
from adjudge.messages import Message
from adjudge.runs.earlier_rows import is_unanswered, rows_of_run
from adjudge.runs.eval_file import EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.row_source import RowSource, source_of

_ANSWERED = ("response", "contexts", "tool_call")
"""Fields that a target answers with."""


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of an eval file, any number of times.

    Constant properties are looked up once: the source, whether it holds traces or an earlier run,
    and the fields that the judges read.
    """

    file: EvalFile

    def read(
        self,
        tell: Callable[[OddRows], None],
        limit: int | None = None,
        source: Source | None = None,
    ) -> Iterator[Instance]:
        """Yield the rows of the file's data, or of ``source``.

        ``tell`` is called with odd rows, and also with bad rows unless they stop the run.
        """
        file = self.file
        limit = limit or file.data.limit
        if file.rows:
            rows = iter(file.rows)
        elif source is None and self._of_agents is not None:
            rows = self._of_agents.read_traces(file, tell, limit)
        else:
            rows = self._read(tell, limit, self._source(tell) if source is None else source)
        if unseen := self._unseen:
            rows = (replace(row, metadata={**row.metadata, UNSEEN: unseen}) for row in rows)
        if not file.given:
            return rows
        # the fields of a row go before those given for all rows
        return (replace(row, fields={**file.given, **row.fields}) for row in rows)

    @property
    def reads_traces(self) -> bool:
        """True if the rows are agents' traces."""
        return self.file.data.as_ is not None or self._of_agents is not None

    @cached_property
    def _of_agents(self) -> JudgeEntry | None:
        """The first judge of trajectories; it reads the rows for all judges."""
        return next((entry for entry in self.file.judges if entry.reads_traces), None)

    @property
    def compares_responses(self) -> bool:
        """True if each row holds several responses."""
        entries = self.file.judges
        return not self.file.target and any(entry.compares_responses for entry in entries)

    def refuse_mixed_judges(self) -> None:
        """Raise a SetupError if some judges compare responses and others read a single one."""
        compares = [entry.compares_responses for entry in self.file.judges]
        if self.compares_responses and not all(compares):
            line = self.file.judges[compares.index(True)].line
            raise Place(str(self.file.path), line=line).wrong(
                "a pairwise judge compares several responses per row, but the other judges read "
                "one: use a separate file"
            )

    @cached_property
    def fields(self) -> FieldsRead:
        """The fields that the judges read. Rows need not have those given for all rows or answered
        by a target.
        """
        parts = [entry.fields_of_rows(self.file) for entry in self.file.judges]
        read = FieldsRead(
            *(
                tuple(dict.fromkeys(name for part in parts for name in part[place]))
                for place in range(len(FieldsRead._fields))
            )
        )
        return read._replace(
            needed=tuple(filter(self._is_of_row, read.needed)),
            may_be_empty=tuple(filter(self._is_of_row, read.may_be_empty)),
        )

    @cached_property
    def _unseen(self) -> tuple[str, ...]:
        """Columns that only checks compare with. A model that saw them would see the expected
        answers.
        """
        entries = self.file.judges
        compared = {
            name
            for entry in entries
            if entry.is_check
            for name in entry.fields_read(self.file).also
        }
        others = {
            name
            for entry in entries
            if not entry.is_check
            for names in entry.fields_read(self.file)
            for name in names
        }
        named = dict(self.file.data.columns)
        return tuple(sorted(compared - others - ALIASES.keys() - named.keys()))

    @property
    def _shows_whole_rows(self) -> bool:
        """True if a model sees every field of a row, possibly including a reference that no judge
        needs.
        """
        entries = self.file.judges
        return "reference" not in self.fields.needed and any(
            entry.shows_whole_rows(self.file) for entry in entries
        )

    def _is_of_row(self, name: str) -> bool:
        is_answered = self.file.target and name in _ANSWERED
        return name not in self.file.given and not is_answered

    @cached_property
    def _holds_run(self) -> bool:
        return holds_run(self.file.local_source)

    @cached_property
    def _row_source(self) -> RowSource | None:
        """The source of rows that are not in a table; None for tables."""
        entry = self.file.data
        if entry.as_ is None and (self.compares_responses or entry.format):
            return None
        return source_of(self.file.local_source, entry.as_)

    def _source(self, tell: Callable[[OddRows], None]) -> Source:
        file = self.file
        if isinstance(file.source, ObjectFile) and file.data.as_ is None:
            return file.source
        if self._holds_run:
            return self._rows_of_run(tell)
        if self._row_source is None:
            return file.source
        tell_bad = tell if file.on_bad_row == "report" else None
        return self._row_source.read(file.local_source, file.data.as_, self.fields.needed, tell_bad)

    def _rows_of_run(self, tell: Callable[[OddRows], None]) -> Iterator[Instance]:
        """Yield the rows of an earlier run. Without an answer there is nothing to judge, unless a
        target answers the row now.
        """
        file = self.file
        for row in rows_of_run(file.local_source):
            if file.target or not is_unanswered(row):
                yield row
                continue
            place = str(row.metadata["place"])
            bad = BadRow(place, Message("its application did not answer in {run}", run=file.source))
            if file.on_bad_row == "stop":
                raise WrongData(str(bad))
            tell(bad)

    def _read(
        self, tell: Callable[[OddRows], None], limit: int | None, source: Source
    ) -> Iterator[Instance]:
        file, data = self.file, self.file.data
        if self.compares_responses:
            read = partial(read_comparisons, responses=data.responses)
        else:
            fields = self.fields
            read = partial(
                read_instances,
                needed=fields.needed,
                also=fields.also,
                may_be_empty=fields.may_be_empty,
                filled=fields.filled,
                on_labels_shown=tell if self._shows_whole_rows else None,
            )
        return read(
            source,
            columns=dict(data.columns),
            limit=limit,
            id=data.id,
            format=data.format if source == file.source else None,
            encoding=data.encoding,
            sheet=data.sheet,
            header_row=data.header_row,
            on_bad_row=tell if file.on_bad_row == "report" else None,
            on_blank_rows=tell,
            on_empty_answers=tell,
            on_other_sheets=tell,
        )
