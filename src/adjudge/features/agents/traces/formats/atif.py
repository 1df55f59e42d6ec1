"""ATIF, the Agent Trajectory Interchange Format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    as_text,
    elapsed_over,
    id_at,
    inner,
    inner_object,
    number,
    objects,
    seconds_of,
    text_at,
    usage_of,
)
from adjudge.features.agents.traces.builder import built
from adjudge.features.agents.traces.messages import call_of, read_turns, tools_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import (
    CalledTool,
    HandedOver,
    Retrieved,
    Returned,
    Said,
    Thought,
    Turn,
    TurnPart,
)

_DEEPEST = 20


def _turns(trajectory: Object, depth: int = 0) -> Iterator[Turn]:
    name = str(inner(trajectory, "agent", "name") or "")
    below = {
        name_of: one
        for one in objects(trajectory, "subagent_trajectories")
        if (name_of := text_at(one, "trajectory_id", "session_id"))
    }
    for step in objects(trajectory, "steps"):
        if step.get("is_copied_context") is True:
            continue
        yield from _step(step, name, depth)
        for result in objects(step, "observation", "results"):
            for ref in objects(result, "subagent_trajectory_ref"):
                named = text_at(ref, "trajectory_id", "session_id")
                if (inside := below.pop(named, None)) is not None and depth < _DEEPEST:
                    yield from _turns(inside, depth + 1)
    if depth < _DEEPEST:
        for left in below.values():
            yield from _turns(left, depth + 1)


def _step(step: Object, agent: str, depth: int) -> Iterator[Turn]:
    source = step.get("source")
    said = read_turns({"role": "user", "content": step.get("message")})
    parts: list[TurnPart] = said[0].parts if said else []
    beside = inner_object(step, "extra")
    depth += int(number(beside, "depth") or 0)
    if beside.get("kind") == "retrieved":
        parts = [Retrieved(part.text) for part in parts if isinstance(part, Said)]
    elif beside.get("kind") == "handed over" and not step.get("tool_calls"):
        parts = [HandedOver(part.text) for part in parts if isinstance(part, Said)]
    elif beside.get("kind") == "noted":
        yield Turn("user", parts, "system", source=id_at(step, "step_id"), depth=depth)
        return
    number_of = id_at(step, "step_id")
    if source != "agent":
        yield Turn("system" if source == "system" else "user", parts, source=number_of, depth=depth)
        yield from _results(step, depth)
        return
    thought = text_at(step, "reasoning_content")
    calls: list[TurnPart] = [
        _unread(call) if beside.get("unparsed") is True else call
        for call in map(call_of, objects(step, "tool_calls"))
    ]
    metrics = step.get("metrics")
    yield Turn(
        "assistant",
        [*([Thought(thought)] if thought else []), *parts, *calls],
        text_at(beside, "actor") or agent,
        usage_of(metrics),
        amount(metrics, "cost_usd"),
        amount(beside, "seconds"),
        source=number_of,
        depth=depth,
        started=seconds_of(beside.get("started") or step.get("timestamp")),
    )
    yield from _results(step, depth)


def _unread(call: CalledTool) -> CalledTool:
    """A call whose arguments were a text, which ATIF has no place for."""
    said = inner(call.arguments, "input")
    return CalledTool(call.name, said if isinstance(said, str) else "", call.id)


def _results(step: Object, depth: int) -> Iterator[Turn]:
    found = objects(step, "observation", "results")
    error = inner(step, "extra", "error")
    failed = error if isinstance(error, str) else None
    if failed is not None and not found:
        ids = [call_of(one).id for one in objects(step, "tool_calls")]
        yield Turn("tool", [Returned(None, id, error=failed) for id in ids], depth=depth)
    for one in found:
        content = one.get("content")
        turns = read_turns({"role": "user", "content": content})
        text = None if content is None else turns[0].text if turns else as_text(content)
        yield Turn(
            "tool", [Returned(text, id_at(one, "source_call_id"), error=failed)], depth=depth
        )


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        made = built(_turns(one), tools=tools_of(inner(one, "agent", "tool_definitions")))
        totals = one.get("final_metrics")
        if isinstance(totals, Mapping):
            whole = {key.removeprefix("total_"): value for key, value in totals.items()}
            calls = made.usage.calls if made.usage else 0
            usd = amount(whole, "cost_usd")
            made = replace(
                made,
                usage=made.usage or usage_of(whole, calls),
                usd=usd if usd is not None else made.usd,
            )
        lasted = elapsed_over(objects(one["steps"]), "timestamp")
        columns = inner_object(one, "extra")
        id = text_at(one, "trajectory_id", "session_id") or None
        kept = columns.get("adjudge")
        lasted = amount(kept, "seconds") if lasted is None else lasted
        ended = inner(kept, "ended")
        yield TraceRow(
            replace(
                made,
                seconds=lasted,
                ended=ended if isinstance(ended, str) else made.ended,
            ),
            {**present(**columns), **present(id=id)},
        )


ATIF = TraceFormat(
    "atif",
    _read,
    lambda one: str(one.get("schema_version", "")).startswith("ATIF-v") and "steps" in one,
)
