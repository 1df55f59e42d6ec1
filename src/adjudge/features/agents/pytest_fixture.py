"""What the ``judged_agent`` fixture gives back: the measures of one run, and what may be asserted
of them.
"""

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
    """What an agent did, measured."""

    results: Mapping[str, MeasureResult]
    _undecided: Callable[[str], None] = field(repr=False, compare=False)
    _render: Callable[[object], str] = field(repr=False, compare=False)

    def __getitem__(self, measure: str) -> MeasureResult:
        return self.results[measure]

    def must(self, **wanted: Wanted) -> None:
        """Fail the test unless each measure is what is wanted: an option, one of several, the least
        that a share must be, or the most that a count may be. What nobody could tell decides
        nothing.
        """
        __tracebackhide__ = True
        for name, one in wanted.items():
            if name not in self.results:
                raise SetupError(
                    "{name!r} was not measured; {near}",
                    name=name,
                    near=nearest(name, list(self.results)),
                )
            result = self.results[name]
            if result.status is not Status.SCORED:
                self._undecided(join(": ", (name, result.reason or result.status.value)))
            elif not _holds(result, one):
                raise AssertionError(self._render(_failure(result, one)))


def _holds(result: MeasureResult, wanted: Wanted) -> bool:
    if isinstance(wanted, bool):
        return result.score == float(wanted)
    if isinstance(wanted, int | float):
        score = result.score or 0.0
        return score <= wanted if result.is_count else score >= wanted
    return result.option in ([wanted] if isinstance(wanted, str) else wanted)


def _failure(result: MeasureResult, wanted: Wanted) -> Message:
    found = result.option or f"{result.score:g}"
    lines: list[str] = [
        Message(
            "{name}: expected {wanted}, got {found}",
            name=result.measure,
            wanted=wanted if isinstance(wanted, str) else repr(wanted),
            found=found,
        )
    ]
    if result.explanation:
        lines.append(result.explanation)
    lines += [
        Message("step {step}: “{quote}”", step=one.step, quote=one.quote)
        for one in result.evidence
        if one.proven
    ]
    return join("\n", lines)


def agent_entry(measures: Sequence[str], settings: Mapping[str, object]) -> AgentEntry:
    """The judge of kind agent that a test asks for."""
    given: dict[str, Any] = dict(settings)
    if "strictness" in given:  # the older name
        given["votes"] = given.pop("strictness")
    try:
        return AgentEntry(kind="agent", measures=tuple(measures), **given)
    except TypeError:
        known = [one for one in keys_of(AgentEntry) if one not in ("kind", "measures")]
        wrong = next(one for one in settings if one not in known)
        raise SetupError(
            "judged_agent has no setting {name!r}; {near}", name=wrong, near=nearest(wrong, known)
        ) from None


def agent_row(run: object, columns: Mapping[str, JsonValue]) -> Instance:
    """One run of an agent as a row."""
    rows = list(instances_of(run))  # type: ignore[arg-type]  # whatever it is, it is read
    if len(rows) != 1:
        raise SetupError("give one run of an agent, not {count}", count=len(rows))
    row = rows[0].metadata.get("row")
    known = row if isinstance(row, Mapping) else {}
    return Instance(rows[0].fields, rows[0].id, {**rows[0].metadata, "row": {**known, **columns}})
