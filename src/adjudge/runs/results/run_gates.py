"""The gates that a run is held to: what they may name, and whether they can hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import cell_of_column
from adjudge.core.ledger.file import holds_run
from adjudge.core.reading.values import nearest
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.eval_file import FailUnder
from adjudge.runs.plan import Plan
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.results.gate import Bar, bars_of, check_gate
from adjudge.runs.results.paired_gate import check_against, refuse_itself
from adjudge.runs.results.setup import Setup


@light_dataclass(frozen=True)
class RunGates:
    """What a run must reach, by its judges."""

    plan: Plan
    setup: Setup
    fail_under: FailUnder | None = None
    """Bars of the command line; each goes before the file's bar of the same name."""

    def bars(self) -> tuple[Bar, ...]:
        """What must be reached, by judge."""
        return tuple(bar for ready, least in self._held for bar in self._bars(ready, least))

    @cached_property
    def _held(self) -> list[tuple[ReadyJudge, dict[str, float]]]:
        """The judges, each with the least by name; none where there are no gates."""
        found = [(ready, self._least(ready)) for ready in self.plan.judges]
        return found if self.plan.file.gates.max or any(least for _, least in found) else []

    def check(self) -> None:
        """Refuse a gate that cannot hold, before anything is asked."""
        if self.setup.against:
            check_against(self.setup)
        known = list(dict.fromkeys(name for ready, _ in self._held for name in self._names(ready)))
        names_unknown = any(one.compares and not self._systems(one) for one, _ in self._held)
        for ready, bars in self._held:
            every = {"", ready.name, *ready.systems}
            judged = [one for one in ready.criteria if bars.keys() & {*every, one.name}]
            if "" in bars or (judged and not ready.compares):
                check_gate(ready.name, judged, compares=ready.compares)
            unknown = [
                (key, name)
                for key, names in (("fail_under", bars), ("max", dict(self.plan.file.gates.max)))
                for name in names
                if name and name not in known
            ]
            if unknown and not names_unknown:
                raise SetupError(_no_such_name(*unknown[0], known))
            self._check_polarity(ready, bars)
            self._check_counts(ready, bars)
        if self.setup.cluster:
            self._check_cluster(self.setup.cluster)

    def _check_polarity(self, ready: ReadyJudge, bars: Collection[str]) -> None:
        """The mean of what is better the less there is of it must not be held to a least value."""
        for one in self.setup.gate_figures.get(ready.label, ()):
            if one.name in bars and one.refusal:
                raise SetupError(one.refusal)

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
        for name, _ in self.plan.file.gates.max:
            if name in {one.name for one in ready.criteria} - counts:
                raise SetupError(
                    "max cannot hold for {name!r}, which does not count: name it under fail_under",
                    name=name,
                )

    def _check_cluster(self, column: str) -> None:
        """The first row has to have it, here and in the run that this one is held to."""
        from adjudge.runs.folder import records_of  # not loaded by those who judge

        row, other = self.plan.first_row(), self.setup.against_folder
        if row is not None:
            cell_of_column(row.id or "1", row.fields, row.input, column)
        before = next(records_of(other), None) if self.setup.against and holds_run(other) else None
        if before is not None:
            try:
                before.cell(column)
            except SetupError as error:
                raise SetupError("{other}: {error}", other=other, error=error) from None

    def _bars(self, ready: ReadyJudge, least: Mapping[str, float]) -> Iterable[Bar]:
        own = {"", *self._names(ready)}
        for name, bar in least.items():
            if name in own or ready.compares:
                yield Bar(ready.label, bar, name)
        for name, most in self.plan.file.gates.max:
            if name in own:
                yield Bar(ready.label, most, name, most=True)

    def _names(self, ready: ReadyJudge) -> list[str]:
        """What a gate of this judge may name: its criteria, its other figures, the systems that it
        compares.
        """
        figures = [one.name for one in self.setup.gate_figures.get(ready.label, ())]
        if ready.compares:
            return self._systems(ready)
        criteria = [one.name for one in ready.criteria]
        return list(dict.fromkeys([ready.name, *criteria, *figures, *ready.systems]))

    def _systems(self, ready: ReadyJudge) -> list[str]:
        """The compared ones, where they are known before the rows are read: targets, named columns,
        or responses that were typed.
        """
        if ready.systems:
            return list(ready.systems)
        typed = max(
            (
                len(value)
                for row in self.plan.file.rows
                for value in row.fields.values()
                if isinstance(value, tuple)
            ),
            default=0,
        )
        return list(self.plan.file.data.responses) or [
            f"response {place}" for place in range(1, typed + 1)
        ]

    def _least(self, ready: ReadyJudge) -> dict[str, float]:
        """Return the bars of a judge by name: those of the file, of which the command line replaces
        the ones that it names. Its plain number replaces the file's plain number.
        """
        file_gates = self.plan.file.gates.fail_under
        own = file_gates if ready.fail_under is None else ready.fail_under
        return {**bars_of(own), **bars_of(self.fail_under)}


def other_run(plan: Plan) -> str:
    """The run that must not be better, as this folder sees it."""
    other, folder = plan.file.gates.not_worse_than, plan.folder
    if other is None:
        if plan.file.gates.margin:
            raise SetupError(
                "margin needs not_worse_than, the run to compare with (--not-worse-than RUN)"
            )
        return ""
    if folder is None:
        raise SetupError(
            "not worse than another run can only be said of a run that is kept: add --run FOLDER"
        )
    against = Path(other if plan.file.typed else plan.file.beside(other))
    refuse_itself(against, folder)
    return str(against)


def is_sequential(plan: Plan) -> bool:
    """Whether gates may be looked at again and again; refused where they have no limits."""
    gates = plan.file.gates
    if gates.sequential and gates.confidence is None:
        raise SetupError(
            "sequential is about limits that are looked at again and again: add confidence "
            "(--confidence 0.95)"
        )
    if gates.sequential and gates.cluster:
        raise SetupError("sequential does not work with cluster: leave one of them out")
    return gates.sequential


def cluster_column(plan: Plan) -> str:
    """The column whose equal values belong together; refused where there is nothing that it
    could widen. Of agents' runs, the trials of a task are taken together in every interval.
    """
    gates = plan.file.gates
    limits = gates.confidence is not None or gates.not_worse_than is not None
    if gates.cluster and not limits and not plan.reader.reads_traces:
        raise SetupError(
            "cluster says which rows belong together, for limits: add confidence, or not_worse_than"
        )
    return gates.cluster or ""


def _no_such_name(key: str, name: str, known: Sequence[str]) -> Message:
    values = {"key": key, "name": name, "names": ", ".join(map(repr, known))}
    if (hint := nearest(name, known)).startswith("did"):
        return Message(
            "{key}: nothing is called {name!r}; {hint} There are {names}", hint=hint, **values
        )
    return Message("{key}: nothing is called {name!r}; known: {names}", **values)
