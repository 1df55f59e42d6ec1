"""The value of the ``judged_agent`` fixture: the measures of one run, and assertions on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.results import Status
from adjudge.core.reading.types import keys_of
from adjudge.core.reading.values import nearest
from adjudge.errors import SetupError
from adjudge.features.agents.judge import instances_of
from adjudge.features.agents.kind import AgentEntry
from adjudge.features.agents.result import MeasureResult
from adjudge.messages import Message, join

Wanted = str | float | Sequence[str]


@dataclass(frozen=True)
class JudgedAgent:
    """A measured agent run.

    Example::

        run = judged_agent(agent.run("Cancel order 4711."), "goal", "errors")
        run.must(goal="Reached", errors=0)
    """

    results: Mapping[str, MeasureResult]
    _undecided: Callable[[str], None] = field(repr=False, compare=False)
    _render: Callable[[object], str] = field(repr=False, compare=False)

    def __getitem__(self, measure: str) -> MeasureResult:
        return self.results[measure]

    def must(self, **wanted: Wanted) -> None:
        """Fail the test unless each measure is as expected.

        An expectation is an option, one of several options, the lowest accepted share, or the
        highest accepted count. A measure without a score is reported as undecided.
        """
        __tracebackhide__ = True
        for name, expected in wanted.items():
            if name not in self.results:
                raise SetupError(
                    "{name!r} was not measured; {near}",
                    name=name,
                    near=nearest(name, list(self.results)),
                )
            result = self.results[name]
            if result.status is not Status.SCORED:
                self._undecided(join(": ", (name, result.reason or result.status.value)))
            elif not _holds(result, expected):
                raise AssertionError(self._render(_failure(result, expected)))


def _holds(result: MeasureResult, wanted: Wanted) -> bool:
    if isinstance(wanted, bool):
        return result.score == float(wanted)
    if isinstance(wanted, int | float):
        score = result.score or 0.0
        return score <= wanted if result.is_count else score >= wanted
    return result.option in ([wanted] if isinstance(wanted, str) else wanted)


def _failure(result: MeasureResult, wanted: Wanted) -> Message:
    answer = result.option or f"{result.score:g}"
    lines: list[str] = [
        Message(
            "{name}: expected {wanted}, got {found}",
            name=result.measure,
            wanted=wanted if isinstance(wanted, str) else repr(wanted),
            found=answer,
        )
    ]
    if result.explanation:
        lines.append(result.explanation)
    lines += [
        Message("step {step}: “{quote}”", step=citation.step, quote=citation.quote)
        for citation in result.evidence
        if citation.proven
    ]
    return join("\n", lines)


def agent_entry(measures: Sequence[str], settings: Mapping[str, object]) -> AgentEntry:
    """Return the judge of kind agent for a test's settings."""
    values: dict[str, Any] = dict(settings)
    if "strictness" in values:  # the older name
        values["votes"] = values.pop("strictness")
    try:
        return AgentEntry(kind="agent", measures=tuple(measures), **values)
    except TypeError:
        names = [name for name in keys_of(AgentEntry) if name not in ("kind", "measures")]
        wrong = next(name for name in settings if name not in names)
        raise SetupError(
            "judged_agent has no setting {name!r}; {near}", name=wrong, near=nearest(wrong, names)
        ) from None


def agent_row(run: object, columns: Mapping[str, JsonValue]) -> Instance:
    """Convert one agent run to a row; raise a SetupError unless ``run`` contains exactly one."""
    rows = list(instances_of(run))  # type: ignore[arg-type]  # whatever it is, it is read
    if len(rows) != 1:
        raise SetupError("pass one run of an agent, not {count}", count=len(rows))
    row = rows[0].metadata.get("row")
    row_columns = row if isinstance(row, Mapping) else {}
    return Instance(
        rows[0].fields, rows[0].id, {**rows[0].metadata, "row": {**row_columns, **columns}}
    )
