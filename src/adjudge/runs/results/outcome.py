"""The outcome of a run by its events: the report so far, skipped rows, and the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.data.dataset import BadRow, BlankRows
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.ledger.file import (
    OPINIONS,
    READERS,
    holds_labels,
    holds_run,
    read_meta,
    repeated_usage,
    used_in,
)
from adjudge.core.ledger.pending import batches_in
from adjudge.errors import RunStopped, SetupError
from adjudge.messages import Message
from adjudge.runs.eval_file import FailUnder
from adjudge.runs.execute import (
    ColumnsChosen,
    Event,
    JudgmentDone,
    JudgmentRepeated,
    OpinionsKept,
    RowsEnded,
    VoteCast,
)
from adjudge.runs.folder import reading, records_of, run_info
from adjudge.runs.plan import Plan
from adjudge.runs.report_facts import KEPT
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.gate import Bar, GateResult, exit_code, worst
from adjudge.runs.results.notes import (
    left_out_notes,
    lost_in,
    lost_reply_notes,
    payment_notes,
    reader_notes,
)
from adjudge.runs.results.paired_gate import compared_with_baseline, paired_gates, refuse_itself
from adjudge.runs.results.removed_rows import LEFT, LeftRows
from adjudge.runs.results.report import ENTRIES, Report, ReportTally
from adjudge.runs.results.run_gates import RunGates, cluster_column, is_sequential, other_run
from adjudge.runs.results.run_report import baseline_of
from adjudge.runs.results.setup import Baseline, Setup
from adjudge.runs.run_place import ORIGINS, earlier_run
from adjudge.trust.report import calibrations_of

if TYPE_CHECKING:
    from adjudge.trust.comparison import RunComparison


@light_dataclass()
class RunOutcome:
    """Accumulates a run's events into a report and an exit code."""

    plan: Plan
    fail_under: FailUnder | None = None
    """Bars of the command line; each goes before the file's bar of the same name."""
    baseline: Path | None = None
    shown: int = ENTRIES
    """The number of judgments that its pages list."""
    notes: tuple[str, ...] = ()
    """Further notes for the reader."""
    skipped: int = 0
    stopped: str = ""
    """The reason why it stopped early, if the part that is done is reported."""
    stopped_code: int = ExitCode.OK
    asked: int = 0
    """Votes that were asked for by this process."""
    halted: RunStopped | None = None
    """The error to raise after everything is reported, if the run is kept. It says how to
    resume.
    """
    earlier: Path | None = field(init=False, repr=False, default=None)
    """The run before the eval file was changed, once this one is reported."""
    gates: RunGates = field(init=False, repr=False)
    _tally: ReportTally = field(init=False, repr=False)
    _left: LeftRows = field(init=False, repr=False)
    _lost: Spent = field(init=False, repr=False, default=Spent())
    """Estimate for replies that did not arrive."""
    _made: Report | None = field(init=False, repr=False, default=None)
    _compared: tuple[GateResult, ...] | None = field(init=False, repr=False, default=None)
    _beside: tuple[RunComparison, ...] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        judges = self.plan.judges
        self._labels = {ready.name: ready.label for ready in judges}
        by_label = {ready.label: ready for ready in judges}
        setup = Setup.of(
            {label: ready.judge for label, ready in by_label.items()},
            lambda label: by_label[label].configuration,
            self.plan.prices,
        )
        against = other_run(self.plan)
        self._setup = replace(
            setup,
            title=self.plan.folder.name if self.plan.folder else "",
            language=self.plan.file.language,
            max_failed=self.plan.file.gates.max_failed,
            confidence=self.plan.file.gates.confidence,
            sequential=is_sequential(self.plan),
            against=against,
            against_place=str(Path(against).absolute()) if against else "",
            margin=self.plan.file.gates.margin,
            cluster=cluster_column(self.plan),
            id=self.plan.file.data.name_column or "",
            data=self.plan.file.data.path,
            baseline=self._compared_with(),
            notes=(*setup.notes, *self.notes),
        )
        self.gates = RunGates(self.plan, self._setup, self.fail_under)
        bars = self.gates.bars()
        if self._setup.confidence is not None and not bars and not self._setup.against:
            raise SetupError("confidence applies only to gates: add fail_under or not_worse_than")
        self._tally = ReportTally(replace(self._setup, bars=bars), self.shown)
        self._left = LeftRows(self.plan)

    def _compared_with(self) -> Baseline:
        if self.baseline is None:
            return Baseline()

        if self.plan.folder is not None:
            refuse_itself(self.baseline, self.plan.folder)
        return baseline_of(self.baseline)

    def see(self, event: Event) -> None:
        # a vote alone changes no number of the report
        if not isinstance(event, VoteCast):
            self._made = self._compared = self._beside = None
        match event:
            case JudgmentDone():
                self._tally.failed_calls, self._lost = event.failed_calls, event.lost
                record = event.result.record(self._labels[event.judge], event.number, votes=True)
                self._left.see(record)
                self._tally.add(record)
            case JudgmentRepeated(record=record):
                self._tally.failed_calls, self._lost = event.failed_calls, event.lost
                self._left.see(record)
                self._tally.add(record, is_stored=False)
            case RowsEnded():
                setup = self._tally.setup
                self._left.end()
                self._tally.setup = replace(setup, notes=(*self._left.notes(), *setup.notes))
            case OpinionsKept():
                self._count_again()
                self._tally.failed_calls, self._lost = event.failed_calls, event.lost
                if event.stopped:
                    note = Message("second opinions stopped: {reason}", reason=event.stopped)
                    setup = self._tally.setup
                    self._tally.setup = replace(setup, notes=(*setup.notes, note))
            case VoteCast():
                self.asked += 1
            case BadRow():
                self.skipped += 1
                self._tally.skip(event)
            case BlankRows():
                self._tally.skip_blank(event)
            case ColumnsChosen():
                self._tally.setup = replace(self._tally.setup, columns=event.columns)

    def read_folder(self) -> None:
        """Replace the judgments counted so far by all those in the run folder.

        A resumed run that halts again has only seen a part of them.
        """
        if self.plan.folder is None or not holds_run(self.plan.folder):
            return
        self._count_again()
        self._tally.failed_calls = run_info(self.plan.folder).failed_calls
        self._made = self._compared = self._beside = None

    def _count_again(self) -> None:
        """Count the judgments as the run folder has them."""
        self._tally = self._tally.without_judgments()
        for record in records_of(self.plan.folder or Path(), votes=True):
            self._tally.add(record)

    @property
    def judgments(self) -> int:
        """The number of judgments so far."""
        return self._tally.total

    def report(self) -> Report:
        """Return the report so far, including the labels in the run's folder."""
        current, folder = self._seen_so_far(), self.plan.folder
        if folder is not None and holds_run(folder):
            labelled = calibrations_of(folder) if holds_labels(folder) else ()
            with reading(folder) as ledger:
                used, paid = used_in(ledger), payment_notes(batches_in(ledger))
                facts = read_meta(ledger, *ORIGINS, OPINIONS, READERS, "spending")
                self._lost = lost_in(facts)
                self.earlier = earlier_run(folder, facts)
            current = replace(
                current,
                gates=(*current.gates, *self._paired(folder)),
                compared=self._beside_baseline(folder) if self._setup.baseline.place else (),
                calibrations=labelled,
                notes=(*current.notes, *paid, *reader_notes(facts), *left_out_notes(facts)),
                used=used,
            )
            if current.counts_requests_again:
                with reading(folder) as ledger:
                    current = current.counting_requests_once(repeated_usage(ledger))
        further = (*self._judges_without_rows(current), *lost_reply_notes(self._lost))
        current = replace(current, notes=(*current.notes, *further))
        return (
            replace(current.unfinished(), notes=(self.stopped, *current.notes))
            if self.stopped
            else current
        )

    def _seen_so_far(self) -> Report:
        """Return the report of the events so far, cached until the next judgment."""
        self._made = self._made or self._tally.report()
        return self._made

    def _paired(self, folder: Path) -> tuple[GateResult, ...]:
        """Return the gates against another run, cached until the next judgment."""
        if self._compared is None:
            self._compared = tuple(paired_gates(self._setup, folder)) if self._setup.against else ()
        return self._compared

    def _beside_baseline(self, folder: Path) -> tuple[RunComparison, ...]:
        """Return the comparisons with the baseline, cached until the next judgment."""
        if self._beside is None:
            self._beside = compared_with_baseline(self._setup, folder)
        return self._beside

    def facts(self) -> JsonObject:
        """Return the data to store in the run folder, from which the report can be rebuilt."""
        report_facts, skipped = self._tally.setup.kept(), self._tally.skipped
        if skipped.rows or skipped.blank:
            report_facts["skipped"] = skipped.kept()
        if removed_rows := self._left.kept():
            report_facts[LEFT] = removed_rows
        return {KEPT: report_facts}

    @property
    def bars(self) -> tuple[Bar, ...]:
        """The bars of all judges."""
        return self._tally.setup.bars

    def _judges_without_rows(self, report: Report) -> Iterator[Message]:
        """Yield the judges with ``rows_with`` that judged no row: the name of the field may be
        misspelt.
        """
        judged = {section.judge for section in report.sections if section.summary.attempted}
        skipped = {section.judge for section in report.sections} - judged
        for ready in self.plan.judges:
            if ready.rows_with and ready.label in skipped:
                yield Message(
                    "{judge} judged no row: is the field {field!r} of rows_with misspelt?",
                    judge=ready.name,
                    field=ready.rows_with,
                )

    def exit_code(self) -> int:
        """Return the worst code of all gates and missing scores, or the code of a stopped run.

        Raises the error that halted a resumable run.
        """
        if self.halted:
            raise self.halted
        if self.stopped:
            return self.stopped_code
        report = self._seen_so_far()
        paired = self._paired(self.plan.folder) if self.plan.folder else ()
        codes = [exit_code(section.summary) for section in report.sections] + [
            gate.code for gate in (*report.gates, *paired)
        ]
        if report.decided_nothing or any(self._judges_without_rows(report)):
            codes.append(ExitCode.GATE_INCONCLUSIVE)
        return worst([*codes, *([ExitCode.UNSCORED] if self.skipped else [])])
