"""The trajectories of a run as ATIF files, one a row, with what was said of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from adjudge.core.domain.frozen_mapping import NOTHING, nonempty, some_of
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.errors import SetupError
from adjudge.features.agents.report import trajectory_of
from adjudge.features.agents.traces.row import present
from adjudge.features.agents.trajectory import Step, ToolCall, ToolDefinition, Trajectory
from adjudge.runs.earlier_rows import places_of_run
from adjudge.runs.exporters.files import text_file

VERSION = "ATIF-v1.7"
_UNSAFE = re.compile(r"[^\w.-]+")


def to_atif(run: Path, target: Path) -> int:
    """One file a trajectory in the folder ``target``. Says how many there are."""
    if target.exists() and not target.is_dir():
        raise SetupError("{target} is a file: ATIF is written to a folder", target=target)
    said: dict[tuple[str, int], list[JsonValue]] = {}
    for record, place in places_of_run(run):
        shown = some_of(record, "judge", "criterion", "score", "explanation")
        said.setdefault(place, []).append(shown)
    written: set[tuple[str, int]] = set()
    for record, place in places_of_run(run):
        if place in written or (trajectory := trajectory_of(record)) is None:
            continue
        target.mkdir(parents=True, exist_ok=True)
        written.add(place)
        id = record.id or str(place[1] + 1)
        name = _UNSAFE.sub("-", id).strip("-.")[:80] or "row"
        whole = atif_of(trajectory, id, record.input, said[place])
        with text_file(target / f"{len(written):04}-{name}.json") as out:
            out.write(json.dumps(whole, ensure_ascii=False, indent=1))
    if not written:
        raise SetupError(
            "{run} holds no trajectories, so there is nothing to write as ATIF", run=run
        )
    return len(written)


def atif_of(
    trajectory: Trajectory,
    name: str,
    row: JsonObject = NOTHING,
    judgments: Sequence[JsonValue] = (),
) -> JsonDict:
    agents = [step.actor for step in trajectory.steps if step.actor not in ("user", "system")]
    steps = [
        {"step_id": number, **said}
        for number, said in enumerate(_steps(trajectory, agents[0] if agents else ""), 1)
    ]
    agent: JsonDict = {"name": agents[0] if agents else "unknown", "version": "unknown"}
    if trajectory.tools:
        agent["tool_definitions"] = [_definition(tool) for tool in trajectory.tools]
    kept = present(ended=trajectory.ended, seconds=trajectory.seconds)
    extra = {**row, **nonempty(adjudge={**nonempty(judgments=list(judgments)), **kept})}
    metrics = _totals(trajectory, len(steps))
    return {
        "schema_version": VERSION,
        "session_id": name,
        "agent": agent,
        "steps": steps,
        **nonempty(final_metrics=metrics, extra=extra),
    }


def _definition(tool: ToolDefinition) -> JsonDict:
    about = {**nonempty(description=tool.description), **present(parameters=tool.schema)}
    return {"type": "function", "function": {"name": tool.name, **about}}


def _steps(trajectory: Trajectory, agent: str) -> Iterator[JsonDict]:
    if trajectory.system:
        yield {"source": "system", "message": trajectory.system}
    for step in trajectory.steps:
        by_agent = step.actor not in ("user", "system")
        source = "agent" if by_agent else step.actor
        said: JsonDict = {"source": source, "message": "" if step.kind == "thought" else step.text}
        if step.kind == "thought" and by_agent:
            said["reasoning_content"] = step.text
        extra: JsonDict = {}
        if by_agent and step.actor != agent:
            extra["actor"] = step.actor
        if step.kind not in ("said", "thought", "called"):
            extra["kind"] = step.kind
        extra |= nonempty(depth=step.depth)
        extra |= present(seconds=step.seconds, started=step.started, missing=step.missing)
        if step.call is not None:
            said |= {"source": "agent", "message": ""} | _call(step.call, step.number)
            extra |= {"actor": step.actor} if not by_agent else {}
            extra |= present(error=step.call.error)
            extra |= nonempty(unparsed=step.call.unparsed)
        if metrics := _metrics(step):
            said["metrics"] = metrics
        yield {**said, **nonempty(extra=extra)}


def _call(call: ToolCall, number: int) -> JsonDict:
    id = f"call_{number}"
    arguments: JsonValue = (
        {"input": call.arguments} if isinstance(call.arguments, str) else dict(call.arguments)
    )
    made: JsonDict = {
        "tool_calls": [{"tool_call_id": id, "function_name": call.name, "arguments": arguments}]
    }
    if call.result is not None:
        made["observation"] = {"results": [{"source_call_id": id, "content": call.result}]}
    return made


def _metrics(step: Step) -> JsonDict:
    usage, found = step.usage, {}
    if usage is not None and (usage.prompt_tokens or usage.completion_tokens):
        found = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            **nonempty(cached_tokens=usage.cached_tokens),
        }
    return {**found, **present(cost_usd=step.usd)}


def _totals(trajectory: Trajectory, steps: int) -> JsonDict:
    usage = trajectory.usage
    found: JsonDict = {}
    if usage is not None and (usage.prompt_tokens or usage.completion_tokens):
        found |= {
            "total_prompt_tokens": usage.prompt_tokens,
            "total_completion_tokens": usage.completion_tokens,
        }
    found |= present(total_cost_usd=trajectory.usd)
    return {**found, "total_steps": steps} if found else {}
