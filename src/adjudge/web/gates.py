"""Gates of a run as pages show them: the outcome in the words of the terminal, and a link to the
rows that cost it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.ledger.columns import COLUMN, DIMENSION
from adjudge.core.ledger.conditions import equals, quoted
from adjudge.core.ledger.file import read_judges, read_meta
from adjudge.errors import AdjudgeError
from adjudge.runs.folder import reading
from adjudge.runs.report_facts import KEPT
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.run_report import report_of_run
from adjudge.web.library import Library, RunPlace
from adjudge.web.page_registry import dimensions_of

_GATES = "gates"


def has_gates(library: Library, place: RunPlace) -> bool:
    """Return True if the run has a gate. This is cheap, since it only reads the ledger's facts."""

    def find() -> bool:
        with reading(place.folder) as connection:
            stored = object_in(read_meta(connection).get(KEPT))
        return bool(stored.get("bars") or stored.get("against")) or (
            stored.get("max_failed") is not None
        )

    try:
        return library.get_or_compute(place, "has gates", find)
    except AdjudgeError:  # the list of runs says what is wrong
        return False


def gates_would_wait(library: Library, place: RunPlace) -> bool:
    """Return True if reading the gates takes too long for a blank page."""
    return has_gates(library, place) and library.would_wait(place, _GATES)


def gates_data(library: Library, place: RunPlace) -> list[JsonDict]:
    """Return a run's gates. This reads every judgment, but is cached until the run changes."""
    if not has_gates(library, place):
        return []
    try:
        return library.get_or_compute(place, _GATES, lambda: _gates(library, place))
    except AdjudgeError:  # the list of runs says what is wrong
        return []


def standing(gates: Sequence[Mapping[str, object]]) -> str | None:
    """Return the worst verdict of these gates; None if there are none."""
    verdicts = {gate["verdict"] for gate in gates}
    order = ("failed", "inconclusive", "holds")
    return next((verdict for verdict in order if verdict in verdicts), None)


def line_with_gates(library: Library, place: RunPlace, line: JsonDict, *, wait: bool) -> JsonDict:
    """Add the worst gate verdict and the bars on means to a line in the list of runs.

    If the list does not wait for slow gates, they are left out, and the line is marked as
    incomplete.
    """
    if "error" in line:
        return line
    is_counted = wait or not gates_would_wait(library, place)
    gates = gates_data(library, place) if is_counted else []
    judges = cast("list[JsonDict]", line["judges"])
    return {
        **line,
        "gate": standing(gates),
        "complete": line["complete"] and is_counted,
        "judges": [
            {
                **judge,
                "means": with_bars(
                    cast("dict[str, JsonDict]", judge["means"]), gates, str(judge["judge"])
                ),
            }
            for judge in judges
        ],
    }


def with_bars(
    means: Mapping[str, JsonDict], gates: Sequence[Mapping[str, object]], judge: str
) -> dict[str, JsonDict]:
    """Add to each mean the bar of its gate.

    The mean of a judge with one criterion and one system has no name.
    """
    bars = {
        of_system(str(gate["name"]), str(gate.get("system", ""))): cast(float, gate["bar"])
        for gate in gates
        # a bar on one dimension of an answer is not about the mean
        if gate["judge"] == judge and gate["is_about_mean"]
    }
    return {
        name: {**mean, "bar": bar}
        if (bar := bars.get(name) if name else next(iter(bars.values()), None)) is not None
        else mean
        for name, mean in means.items()
    }


def with_win_bars(
    wins: Mapping[str, JsonDict], gates: Sequence[Mapping[str, object]], judge: str
) -> dict[str, JsonDict]:
    """Add to each system's win rate the bar of its gate, if the judge has one criterion."""
    bars = {
        str(gate["name"]): cast(float, gate["bar"])
        for gate in gates
        if gate["judge"] == judge and gate["measure"] == "win rate"
    }
    return {
        name: {**rate, "bar": bars[name]} if name in bars else rate for name, rate in wins.items()
    }


def _gates(library: Library, place: RunPlace) -> list[JsonDict]:
    report = report_of_run(place.folder, shown=0)
    others = {other.folder.resolve(): other.id for other in library.scan()}
    against = report.setup.against and others.get(report.setup.against_folder.resolve())
    with reading(place.folder) as connection:
        configurations = read_judges(connection)
    return [
        _gate_data(
            gate,
            [section.criteria for section in report.sections if section.judge == gate.judge],
            configurations.get(gate.judge, JudgeConfiguration()),
            against or None,
        )
        for gate in report.gates
    ]


def _gate_data(
    gate: GateResult,
    criteria: Sequence[str],
    configuration: JudgeConfiguration,
    against: str | None,
) -> JsonDict:
    is_mean = gate.measure in ("mean", "composite") and gate.name in criteria
    names = {*criteria}
    query: JsonDict = {"judge": gate.judge}
    if gate.name in names and len(names) > 1:
        query["criteria"] = gate.name
    if any(dimension["name"] == gate.name for dimension in dimensions_of(configuration)):
        query["sort"] = f"{DIMENSION}{gate.name}"
    elif condition := _costing_rows(gate, is_mean=is_mean):
        in_system = f"{equals(f'{COLUMN}system', gate.system)} and " if gate.system else ""
        query["where"] = f"{in_system}({condition})" if in_system else condition
    else:
        query = {}
    return {
        **gate.to_dict(),
        "is_about_mean": is_mean,
        "rows_query": query,
        "against_run": against if gate.measure == "difference" else None,
    }


def _costing_rows(gate: GateResult, *, is_mean: bool) -> str:
    """Return an expression for the rows that pull the figure to the wrong side of its bar; empty if
    there is none.
    """
    unscored = "status = failed or status = abstained"
    if gate.measure == "missing":
        return unscored
    if gate.measure == "win rate":
        return f"verdict != {quoted(gate.name)}"
    if gate.measure == "most":
        return f"score > {gate.bar!r}"
    if is_mean:
        below = f"score < {gate.bar!r}"
        return f"{below} or {unscored}" if gate.missing else below
    return ""
