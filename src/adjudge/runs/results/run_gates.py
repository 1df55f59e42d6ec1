"""The gates of a run: their names, and checks that they can hold."""

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
from adjudge.runs.folder import records_of
from adjudge.runs.plan import Plan
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.results.gate import Bar, bars_of, check_gate
from adjudge.runs.results.paired_gate import check_against, refuse_itself
from adjudge.runs.results.setup import Setup


@light_dataclass(frozen=True)
class RunGates:
    """The gates of a run, by judge."""

    plan: Plan
    setup: Setup
    fail_under: FailUnder | None = None
    """Bars of the command line; each goes before the file's bar of the same name."""

    def bars(self) -> tuple[Bar, ...]:
        """Return the bars of all judges."""
        return tuple(
            bar for ready, least in self._bars_by_judge for bar in self._bars(ready, least)
        )

    @cached_property
    def _bars_by_judge(self) -> list[tuple[ReadyJudge, dict[str, float]]]:
        """The judges with their bars by name; empty if the run has no gates."""
        bars_by_judge = [(ready, self._least(ready)) for ready in self.plan.judges]
        return (
            bars_by_judge
            if self.plan.file.gates.max or any(least for _, least in bars_by_judge)
            else []
        )

    def check(self) -> None:
        """Refuse gates that can never hold, before any model is asked."""
        if self.setup.against:
            check_against(self.setup)
        known_names = list(
            dict.fromkeys(name for ready, _ in self._bars_by_judge for name in self._names(ready))
        )
        # systems that are columns are only known once rows are read
        names_unknown = any(
            item.compares and not self._systems(item) for item, _ in self._bars_by_judge
        )
        for ready, bars in self._bars_by_judge:
            every = {"", ready.name, *ready.systems}
            gated_criteria = [item for item in ready.criteria if bars.keys() & {*every, item.name}]
            if "" in bars or (gated_criteria and not ready.compares):
                check_gate(ready.name, gated_criteria, compares=ready.compares)
            unknown = [
                (key, name)
                for key, names in (("fail_under", bars), ("max", dict(self.plan.file.gates.max)))
                for name in names
                if name and name not in known_names
            ]
            if unknown and not names_unknown:
                raise SetupError(_no_such_name(*unknown[0], known_names))
            self._check_polarity(ready, bars)
            self._check_counts(ready, bars)
        if self.setup.cluster:
            self._check_cluster(self.setup.cluster)

    def _check_polarity(self, ready: ReadyJudge, bars: Collection[str]) -> None:
        """Refuse a minimum for a figure for which lower is better."""
        for figure in self.setup.gate_figures.get(ready.label, ()):
            if figure.name in bars and figure.refusal:
                raise SetupError(figure.refusal)

    def _check_counts(self, ready: ReadyJudge, bars: Collection[str]) -> None:
        """Require that counts of an agent's steps have a maximum and everything else a minimum."""
        counts = {
            criterion.name
            for criterion in ready.criteria
            if not criterion.higher_is_better and not criterion.options
        }
        for name in bars:
            if name in counts or (not name and counts):
                raise SetupError(
                    "fail_under cannot be used for {name!r}, which is a count: set its maximum, "
                    "such as max: {{{name}: 0}}, and name the measures under fail_under",
                    name=name or sorted(counts)[0],
                )
        for name, _ in self.plan.file.gates.max:
            if name in {criterion.name for criterion in ready.criteria} - counts:
                raise SetupError(
                    "max cannot be used for {name!r}, which is not a count: name it under "
                    "fail_under",
                    name=name,
                )

    def _check_cluster(self, column: str) -> None:
        """Raise if the first row of this run or of the run to compare with lacks the column."""
        row, other_folder = self.plan.first_row(), self.setup.against_folder
        if row is not None:
            cell_of_column(row.id or "1", row.fields, row.input, column)
        other_record = (
            next(records_of(other_folder), None)
            if self.setup.against and holds_run(other_folder)
            else None
        )
        if other_record is not None:
            try:
                other_record.cell(column)
            except SetupError as error:
                raise SetupError("{other}: {error}", other=other_folder, error=error) from None

    def _bars(self, ready: ReadyJudge, least: Mapping[str, float]) -> Iterable[Bar]:
        names = {"", *self._names(ready)}
        for name, bar in least.items():
            if name in names or ready.compares:
                yield Bar(ready.label, bar, name)
        for name, most in self.plan.file.gates.max:
            if name in names:
                yield Bar(ready.label, most, name, most=True)

    def _names(self, ready: ReadyJudge) -> list[str]:
        """Return the names that gates of this judge may use: criteria, other figures, or compared
        systems.
        """
        figures = [named.name for named in self.setup.gate_figures.get(ready.label, ())]
        if ready.compares:
            return self._systems(ready)
        criteria = [named.name for named in ready.criteria]
        return list(dict.fromkeys([ready.name, *criteria, *figures, *ready.systems]))

    def _systems(self, ready: ReadyJudge) -> list[str]:
        """Return the compared systems known before rows are read: targets, named columns, or typed
        responses.
        """
        if ready.systems:
            return list(ready.systems)
        response_count = max(
            (
                len(value)
                for row in self.plan.file.rows
                for value in row.fields.values()
                if isinstance(value, tuple)
            ),
            default=0,
        )
        return list(self.plan.file.data.responses) or [
            f"response {place}" for place in range(1, response_count + 1)
        ]

    def _least(self, ready: ReadyJudge) -> dict[str, float]:
        """Return a judge's bars by name. Bars from the command line override the file's bars of the
        same name.
        """
        bars = bars_of(self.plan.file.gates.fail_under)
        if ready.fail_under is not None:
            bars.pop("", None)
        return {**bars, **bars_of(ready.fail_under), **bars_of(self.fail_under)}


def other_run(plan: Plan) -> str:
    """Return the path of the run that this one must not be worse than; empty if there is none.

    Raises a SetupError for a margin without such a run, or if this run is not kept.
    """
    other_folder, folder = plan.file.gates.not_worse_than, plan.folder
    if other_folder is None:
        if plan.file.gates.margin:
            raise SetupError(
                "margin needs not_worse_than, the run to compare with (--not-worse-than RUN)"
            )
        return ""
    if folder is None:
        raise SetupError("comparing with another run needs a run folder: add --run FOLDER")
    against = Path(other_folder if plan.file.typed else plan.file.beside(other_folder))
    refuse_itself(against, folder)
    return str(against)


def is_sequential(plan: Plan) -> bool:
    """Return True if gates may be checked repeatedly. Raises a SetupError without a confidence, or
    with a cluster.
    """
    gates = plan.file.gates
    if gates.sequential and gates.confidence is None:
        raise SetupError(
            "sequential applies only to confidence limits: add confidence (--confidence 0.95)"
        )
    if gates.sequential and gates.cluster:
        raise SetupError("sequential does not work with cluster: leave one of them out")
    return gates.sequential


def cluster_column(plan: Plan) -> str:
    """Return the column that groups rows, if any. Raises a SetupError if the run has no limits that
    it would affect.

    For agents' runs, trials of a task are grouped in every interval.
    """
    gates = plan.file.gates
    limits = gates.confidence is not None or gates.not_worse_than is not None
    if gates.cluster and not limits and not plan.reader.reads_traces:
        raise SetupError(
            "cluster groups rows for confidence limits: add confidence or not_worse_than"
        )
    return gates.cluster or ""


def _no_such_name(key: str, name: str, known: Sequence[str]) -> Message:
    values = {"key": key, "name": name, "names": ", ".join(map(repr, known))}
    if (hint := nearest(name, known)).startswith("did"):
        return Message("{key}: unknown name {name!r}; {hint} Known: {names}", hint=hint, **values)
    return Message("{key}: unknown name {name!r}; known: {names}", **values)
