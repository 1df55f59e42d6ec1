"""What a run comes to, by its events: its report so far, what was left out,
whether the gates hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.data.dataset import BadRow, BlankRows
from adjudge.domain.json_types import JsonObject
from adjudge.domain.message import Usage
from adjudge.domain.record import cell_of_column
from adjudge.errors import RunStopped, SetupError
from adjudge.ledger.batches import batches_in
from adjudge.ledger.file import holds_labels, holds_run, used_in
from adjudge.messages import Message
from adjudge.reading.values import nearest
from adjudge.results.exit_code import ExitCode
from adjudge.results.gate import Bar, GateResult, bars_of, check_gate, exit_code, worst
from adjudge.results.paired_gate import check_against, compared_with_baseline, paired_gates
from adjudge.results.payments import payment_notes
from adjudge.results.report import ENTRIES, Report, ReportTally
from adjudge.results.setup import KEPT, Baseline, Setup
from adjudge.results.trusted import calibrations_of
from adjudge.runs.build import reads_traces
from adjudge.runs.eval_file import FailUnder
from adjudge.runs.execute import ColumnsChosen, EvalRun, Event, JudgmentDone, VoteCast
from adjudge.runs.ready_judge import ReadyJudge

if TYPE_CHECKING:
    from adjudge.trust.comparison import RunComparison


@dataclass
class RunOutcome:
    """Accumulates a run's events into a report and an exit code."""

    run: EvalRun
    fail_under: FailUnder | None = None
    """A gate that goes before those of the file."""
    baseline: Path | None = None
    shown: int = ENTRIES
    """How many judgments its pages list."""
    skipped: int = 0
    stopped: str = ""
    """Why it ended before the end, where what there is of it is reported all the same."""
    stopped_code: int = ExitCode.OK
    asked: int = 0
    """Votes that were asked for by this process."""
    halted: RunStopped | None = None
    """What is raised when all of it is told, where it is kept: it says how to resume it."""
    _tally: ReportTally = field(init=False, repr=False)
    _made: Report | None = field(init=False, repr=False, default=None)
    _compared: tuple[GateResult, ...] | None = field(init=False, repr=False, default=None)
    _beside: tuple[RunComparison, ...] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        judges = self.run.judges
        self._labels = {ready.name: ready.label for ready in judges}
        made = Setup.of(
            {ready.label: ready.judge for ready in judges},
            {ready.label: ready.criteria for ready in judges},
        )
        self._setup = replace(
            made,
            title=self.run.folder.name if self.run.folder else "",
            language=self.run.file.language,
            max_failed=self.run.file.gates.max_failed,
            confidence=self.run.file.gates.confidence,
            sequential=self._sequential(),
            against=self._against(),
            margin=self.run.file.gates.margin,
            cluster=self._cluster(),
            id=self.run.file.data.name_column or "",
            data=self.run.file.data.path,
            baseline=self._compared_with(),
        )
        bars = tuple(bar for ready in judges for bar in self._bars(ready))
        if self._setup.confidence is not None and not bars and not self._setup.against:
            raise SetupError(
                "confidence says how sure a gate must be: add fail_under or not_worse_than"
            )
        self._tally = ReportTally(replace(self._setup, bars=bars), self.shown)

    def _compared_with(self) -> Baseline:
        if self.baseline is None:
            return Baseline()
        from adjudge.results.run_report import baseline_of

        return baseline_of(self.baseline)

    def see(self, event: Event) -> None:
        if not isinstance(event, VoteCast):
            self._made = self._compared = self._beside = None
        match event:
            case JudgmentDone():
                self._tally.failed_calls = event.failed_calls
                self._tally.add(
                    event.result.record(self._labels[event.judge], event.number, votes=True)
                )
            case VoteCast():
                self.asked += 1
            case BadRow():
                self.skipped += 1
                self._tally.skip(event)
            case BlankRows():
                self._tally.skip_blank(event)
            case ColumnsChosen():
                self._tally.setup = replace(self._tally.setup, columns=event.columns)

    @property
    def judgments(self) -> int:
        """How many there are so far."""
        return self._tally.total

    def report(self) -> Report:
        """What it comes to so far; with what people's labels say, where its folder holds some."""
        made, folder = self._seen_so_far(), self.run.folder
        if folder is not None and holds_run(folder):
            labelled = calibrations_of(folder) if holds_labels(folder) else ()
            used, paid = _payments(folder)
            made = replace(
                made,
                gates=(*made.gates, *self._paired(folder)),
                compared=self._beside_baseline(folder),
                calibrations=labelled,
                notes=(*made.notes, *paid),
                used=used,
            )
        return (
            replace(made.unfinished(), notes=(self.stopped, *made.notes)) if self.stopped else made
        )

    def _seen_so_far(self) -> Report:
        """Made once, after the last judgment."""
        self._made = self._made or self._tally.report()
        return self._made

    def _paired(self, folder: Path) -> tuple[GateResult, ...]:
        """Gates against another run; looked at once, after the last judgment."""
        if self._compared is None:
            self._compared = tuple(paired_gates(self._setup, folder)) if self._setup.against else ()
        return self._compared

    def _beside_baseline(self, folder: Path) -> tuple[RunComparison, ...]:
        """How it compares with its baseline, row by row; looked at once, after
        the last judgment.
        """
        if self._beside is None:
            self._beside = compared_with_baseline(self._setup, folder)
        return self._beside

    def _against(self) -> str:
        """The run that must not be better, as this folder sees it."""
        other, folder = self.run.file.gates.not_worse_than, self.run.folder
        if other is None:
            if self.run.file.gates.margin:
                raise SetupError(
                    "margin needs not_worse_than, the run to compare with (--not-worse-than RUN)"
                )
            return ""
        if folder is None:
            raise SetupError(
                "not worse than another run can only be said of a run that is kept: add "
                "--run FOLDER"
            )
        return str(other if self.run.file.typed else self.run.file.beside(other))

    def _sequential(self) -> bool:
        """Whether gates may be looked at again and again; refused where they have no limits."""
        gates = self.run.file.gates
        if gates.sequential and gates.confidence is None:
            raise SetupError(
                "sequential is about limits that are looked at again and again: add confidence "
                "(--confidence 0.95)"
            )
        if gates.sequential and gates.cluster:
            raise SetupError("sequential does not work with cluster: leave one of them out")
        return gates.sequential

    def _cluster(self) -> str:
        """The column whose equal values belong together; refused where there is nothing that it
        could widen. Of agents' runs, the trials of a task are taken together in every interval.
        """
        gates = self.run.file.gates
        limits = gates.confidence is not None or gates.not_worse_than is not None
        if gates.cluster and not limits and not reads_traces(self.run.file):
            raise SetupError(
                "cluster says which rows belong together, for limits: add confidence, or "
                "not_worse_than"
            )
        return gates.cluster or ""

    def facts(self) -> JsonObject:
        """What the run folder keeps, so that its report can be made again later."""
        return {KEPT: {**self._tally.setup.kept(), "skipped": self._tally.skipped.kept()}}

    @property
    def bars(self) -> tuple[Bar, ...]:
        """What must be reached, by judge."""
        return self._tally.setup.bars

    def check_gates(self) -> None:
        """Refuse a gate that cannot hold, before anything is asked."""
        if self._setup.against:
            check_against(self._setup.against)
        known = list(
            dict.fromkeys(name for ready in self.run.judges for name in self._names(ready))
        )
        names_unknown = any(one.compares and not self._systems(one) for one in self.run.judges)
        for ready in self.run.judges:
            bars = bars_of(self._gate(ready))
            every = {"", ready.name, *ready.systems}
            judged = [one for one in ready.criteria if bars.keys() & {*every, one.name}]
            if "" in bars or (judged and not ready.compares):
                check_gate(ready.name, judged, compares=ready.compares)
            unknown = [
                (key, name)
                for key, names in (("fail_under", bars), ("max", dict(self.run.file.gates.max)))
                for name in names
                if name and name not in known
            ]
            if unknown and not names_unknown:
                raise SetupError(_no_such_name(*unknown[0], known))
            self._check_polarity(ready, bars)
            self._check_counts(ready, bars)
        if self._setup.cluster:
            self._check_cluster(self._setup.cluster)

    def _check_polarity(self, ready: ReadyJudge, bars: Collection[str]) -> None:
        """The mean of what is better the less there is of it must not be held to a least value."""
        for one in self._setup.measures.get(ready.label, ()):
            if one.name in bars and not one.higher_is_better:
                raise SetupError(
                    "fail_under cannot hold for {name!r}: the less there is of it the "
                    "better; name context_precision, or give it a weight in the composite",
                    name=one.name,
                )

    def _check_counts(self, ready: ReadyJudge, bars: Collection[str]) -> None:
        """What an agent's steps are counted by is held to a most, and all else to a least."""
        counts = {
            one.name for one in ready.criteria if not one.higher_is_better and not one.options
        }
        for name in bars:
            if name in counts or (not name and counts):
                raise SetupError(
                    "fail_under cannot hold for {name!r}, which counts: name the most that it may "
                    "be, such as max: {{{name}: 0}}, and name the measures under fail_under",
                    name=name or sorted(counts)[0],
                )
        for name, _ in self.run.file.gates.max:
            if name in {one.name for one in ready.criteria} - counts:
                raise SetupError(
                    "max cannot hold for {name!r}, which does not count: name it under fail_under",
                    name=name,
                )

    def _check_cluster(self, column: str) -> None:
        """The first row has to have it, here and in the run that this one is held to."""
        from adjudge.runs.folder import records_of  # not loaded by those who judge

        row, other = self.run.first_row(), Path(self._setup.against)
        if row is not None:
            cell_of_column(row.id or "1", row.fields, row.input, column)
        before = next(records_of(other), None) if self._setup.against and holds_run(other) else None
        if before is not None:
            try:
                before.cell(column)
            except SetupError as error:
                raise SetupError("{other}: {error}", other=other, error=error) from None

    def exit_code(self) -> int:
        """By the gates of the command line, of each judge and of the file; what was stopped has not
        passed them. Raises what halted a run that can be resumed.
        """
        if self.halted:
            raise self.halted
        if self.stopped:
            return self.stopped_code
        report = self._seen_so_far()
        paired = self._paired(self.run.folder) if self.run.folder else ()
        codes = [exit_code(one.summary) for one in report.sections] + [
            gate.code for gate in (*report.gates, *paired)
        ]
        return worst([*codes, *([ExitCode.UNSCORED] if self.skipped else [])])

    def _bars(self, ready: ReadyJudge) -> Iterable[Bar]:
        own = {"", *self._names(ready)}
        for name, least in bars_of(self._gate(ready)).items():
            if name in own or ready.compares:
                yield Bar(ready.label, least, name)
        for name, most in self.run.file.gates.max:
            if name in own:
                yield Bar(ready.label, most, name, most=True)

    def _names(self, ready: ReadyJudge) -> list[str]:
        """What a gate of this judge may name: its criteria, its dimensions, the systems that it
        compares.
        """
        dimensions = [one.name for one in self._setup.dimensions.get(ready.label, ())]
        dimensions += [one.name for one in self._setup.measures.get(ready.label, ())]
        if ready.compares:
            return self._systems(ready)
        criteria = [one.name for one in ready.criteria]
        return list(dict.fromkeys([ready.name, *criteria, *dimensions, *ready.systems]))

    def _systems(self, ready: ReadyJudge) -> list[str]:
        """The compared ones, where they are known before the rows are read: targets, named columns,
        or responses that were typed.
        """
        if ready.systems:
            return list(ready.systems)
        typed = max(
            (
                len(value)
                for row in self.run.file.rows
                for value in row.fields.values()
                if isinstance(value, tuple)
            ),
            default=0,
        )
        return list(self.run.file.data.responses) or [
            f"response {place}" for place in range(1, typed + 1)
        ]

    def _gate(self, ready: ReadyJudge) -> FailUnder | None:
        gates = (self.fail_under, ready.fail_under, self.run.file.gates.fail_under)
        return next((one for one in gates if one is not None), None)


def _payments(folder: Path) -> tuple[dict[str, Usage], tuple[str, ...]]:
    """What the run took, each answer once however many rows share it, and what to know of that."""
    from adjudge.runs.folder import reading  # not loaded by those who judge

    with reading(folder) as ledger:
        return used_in(ledger), payment_notes(batches_in(ledger))


def _no_such_name(key: str, name: str, known: Sequence[str]) -> Message:
    values = {"key": key, "name": name, "names": ", ".join(map(repr, known))}
    if (hint := nearest(name, known)).startswith("did"):
        return Message(
            "{key}: nothing is called {name!r}; {hint} There are {names}", hint=hint, **values
        )
    return Message("{key}: nothing is called {name!r}; there are {names}", **values)
