"""What a run comes to, by its events: how many were scored, what was left out, whether the gates hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from adjudge.reports.exit_code import ExitCode
from adjudge.reports.gate import check_gate, exit_code, worst
from adjudge.reports.summary import Summary, Tally
from adjudge.runs.build import ReadyJudge
from adjudge.runs.execute import EvalRun, Event, Judged, RowSkipped


@dataclass
class Outcome:
    """As far as the run has come."""

    run: EvalRun
    fail_under: float | None = None
    """A gate that goes before those of the file."""
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Judge → its results, added up."""
    skipped: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    """What the results have to say about themselves, each once."""

    def see(self, event: Event) -> None:
        """Count it."""
        if isinstance(event, Judged):
            self.tallies.setdefault(event.judge, Tally()).add(event.result)
            self.notes.update(dict.fromkeys(event.result.notes))
        elif isinstance(event, RowSkipped):
            self.skipped += 1

    def summary(self, judge: str) -> Summary:
        """What one judge's results come to."""
        return self.tallies.get(judge, Tally()).summary()

    def check_gates(self) -> None:
        """Refuse a gate that cannot hold, before anything is asked."""
        for ready in self.run.judges:
            if self._gate(ready) is not None:
                check_gate(ready.name, ready.criteria, compares=ready.compares)

    def exit_code(self) -> ExitCode:
        """By the gates of the command line, of each judge and of the file."""
        codes = [ExitCode.UNSCORED] if self.skipped else []
        for ready in self.run.judges:
            summary = self.summary(ready.name)
            codes.append(exit_code(summary, self._gate(ready)))
            codes += [ExitCode.GATE_FAILED] if _too_many_failed(summary, self.run.file.gates.max_failed) else []
        return worst(codes)

    def _gate(self, ready: ReadyJudge) -> float | None:
        gates = (self.fail_under, ready.fail_under, self.run.file.gates.fail_under)
        return next((one for one in gates if one is not None), None)


def _too_many_failed(found: Summary, most: float | None) -> bool:
    return most is not None and found.attempted - found.scored > most * found.attempted
