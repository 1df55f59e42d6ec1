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
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import call_of, read_turns, tools_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import (
    CalledTool,
    HandedOver,
    Retrieved,
    Returned,
    Said,
    Thought,
    TraceTurn,
    TurnPart,
)

_DEEPEST = 20


def _turns(trajectory: Object, depth: int = 0) -> Iterator[TraceTurn]:
    name = str(inner(trajectory, "agent", "name") or "")
    below = {
        id: subagent
        for subagent in objects(trajectory, "subagent_trajectories")
        if (id := text_at(subagent, "trajectory_id", "session_id"))
    }
    for step in objects(trajectory, "steps"):
        if step.get("is_copied_context") is True:
            continue
        yield from _step(step, name, depth)
        for result in objects(step, "observation", "results"):
            for ref in objects(result, "subagent_trajectory_ref"):
                id_of_reference = text_at(ref, "trajectory_id", "session_id")
                if (inside := below.pop(id_of_reference, None)) is not None and depth < _DEEPEST:
                    yield from _turns(inside, depth + 1)
    if depth < _DEEPEST:
        # sub-agents that no step refers to come last
        for unreferenced in below.values():
            yield from _turns(unreferenced, depth + 1)


def _step(step: Object, agent: str, depth: int) -> Iterator[TraceTurn]:
    source = step.get("source")
    turns = read_turns({"role": "user", "content": step.get("message")})
    parts: list[TurnPart] = turns[0].parts if turns else []
    extra = inner_object(step, "extra")
    depth += int(number(extra, "depth") or 0)
    if extra.get("kind") == "retrieved":
        parts = [Retrieved(part.text) for part in parts if isinstance(part, Said)]
    elif extra.get("kind") == "handed over" and not step.get("tool_calls"):
        parts = [HandedOver(part.text) for part in parts if isinstance(part, Said)]
    elif extra.get("kind") == "noted":
        yield TraceTurn("user", parts, "system", source=id_at(step, "step_id"), depth=depth)
        return
    number_of = id_at(step, "step_id")
    if source != "agent":
        yield TraceTurn(
            "system" if source == "system" else "user", parts, source=number_of, depth=depth
        )
        yield from _results(step, depth)
        return
    thought = text_at(step, "reasoning_content")
    calls: list[TurnPart] = [
        _with_text_arguments(call) if extra.get("unparsed") is True else call
        for call in map(call_of, objects(step, "tool_calls"))
    ]
    metrics = step.get("metrics")
    yield TraceTurn(
        "assistant",
        [*([Thought(thought)] if thought else []), *parts, *calls],
        text_at(extra, "actor") or agent,
        usage_of(metrics),
        amount(metrics, "cost_usd"),
        amount(extra, "seconds"),
        source=number_of,
        depth=depth,
        started=seconds_of(extra.get("started") or step.get("timestamp")),
    )
    yield from _results(step, depth)


def _with_text_arguments(call: CalledTool) -> CalledTool:
    """Restore arguments that were plain text: ATIF, which has only objects, keeps them under
    ``input``.
    """
    text = inner(call.arguments, "input")
    return CalledTool(call.name, text if isinstance(text, str) else "", call.id)


def _results(step: Object, depth: int) -> Iterator[TraceTurn]:
    results = objects(step, "observation", "results")
    error = inner(step, "extra", "error")
    failed = error if isinstance(error, str) else None
    if failed is not None and not results:
        ids = [call_of(call).id for call in objects(step, "tool_calls")]
        yield TraceTurn("tool", [Returned(None, id, error=failed) for id in ids], depth=depth)
    for result in results:
        content = result.get("content")
        turns = read_turns({"role": "user", "content": content})
        text = None if content is None else turns[0].text if turns else as_text(content)
        yield TraceTurn(
            "tool", [Returned(text, id_at(result, "source_call_id"), error=failed)], depth=depth
        )


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        trajectory = build_trajectory(
            _turns(document), tools=tools_of(inner(document, "agent", "tool_definitions"))
        )
        totals = document.get("final_metrics")
        if isinstance(totals, Mapping):
            totals_by_name = {key.removeprefix("total_"): value for key, value in totals.items()}
            calls = trajectory.usage.calls if trajectory.usage else 0
            usd = amount(totals_by_name, "cost_usd")
            trajectory = replace(
                trajectory,
                usage=trajectory.usage or usage_of(totals_by_name, calls),
                usd=usd if usd is not None else trajectory.usd,
            )
        lasted = elapsed_over(objects(document["steps"]), "timestamp")
        columns = inner_object(document, "extra")
        id = text_at(document, "trajectory_id", "session_id") or None
        own_extra = columns.get("adjudge")
        lasted = amount(own_extra, "seconds") if lasted is None else lasted
        ended = inner(own_extra, "ended")
        yield TraceRow(
            replace(
                trajectory,
                seconds=lasted,
                ended=ended if isinstance(ended, str) else trajectory.ended,
            ),
            {**present(**columns), **present(id=id)},
        )


ATIF = TraceFormat(
    "atif",
    _read,
    lambda document: (
        str(document.get("schema_version", "")).startswith("ATIF-v") and "steps" in document
    ),
)
