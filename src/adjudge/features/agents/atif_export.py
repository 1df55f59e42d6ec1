"""Export the trajectories of a run as ATIF files, one per row, with their judgments."""

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
from adjudge.features.agents.trajectory import Step, ToolCall, Trajectory
from adjudge.runs.earlier_rows import places_of_run
from adjudge.runs.exporters.files import text_file

VERSION = "ATIF-v1.7"
_UNSAFE = re.compile(r"[^\w.-]+")


def to_atif(run: Path, target: Path) -> int:
    """Write each trajectory to its own file in the folder ``target``; return the number of files.

    Raise a SetupError if the run has no trajectories.
    """
    if target.exists() and not target.is_dir():
        raise SetupError("{target} is a file, but ATIF export needs a folder", target=target)
    judgments: dict[tuple[str, int], list[JsonValue]] = {}
    for record, place in places_of_run(run):
        judgment = some_of(record, "judge", "criterion", "score", "explanation")
        judgments.setdefault(place, []).append(judgment)
    # judgments first: a file is written as soon as its trajectory is read
    written_places: set[tuple[str, int]] = set()
    for record, place in places_of_run(run):
        if place in written_places or (trajectory := trajectory_of(record)) is None:
            continue
        target.mkdir(parents=True, exist_ok=True)
        written_places.add(place)
        id = record.id or str(place[1] + 1)
        name = _UNSAFE.sub("-", id).strip("-.")[:80] or "row"
        document = atif_of(trajectory, id, record.input, judgments[place])
        with text_file(target / f"{len(written_places):04}-{name}.json") as out:
            out.write(json.dumps(document, ensure_ascii=False, indent=1))
    if not written_places:
        raise SetupError("{run} contains no trajectories to export as ATIF", run=run)
    return len(written_places)


def atif_of(
    trajectory: Trajectory,
    name: str,
    row: JsonObject = NOTHING,
    judgments: Sequence[JsonValue] = (),
) -> JsonDict:
    """Convert a trajectory to an ATIF document. Facts without an ATIF key go under ``extra``."""
    agents = [
        actor_step.actor
        for actor_step in trajectory.steps
        if actor_step.actor not in ("user", "system")
    ]
    steps = [
        {"step_id": number, **step_data}
        for number, step_data in enumerate(_steps(trajectory, agents[0] if agents else ""), 1)
    ]
    agent: JsonDict = {"name": agents[0] if agents else "unknown", "version": "unknown"}
    if trajectory.tools:
        agent["tool_definitions"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    **nonempty(description=tool.description),
                    **present(parameters=tool.schema),
                },
            }
            for tool in trajectory.tools
        ]
    facts = present(ended=trajectory.ended, seconds=trajectory.seconds)
    extra = {**row, **nonempty(adjudge={**nonempty(judgments=list(judgments)), **facts})}
    metrics = _totals(trajectory, len(steps))
    return {
        "schema_version": VERSION,
        "session_id": name,
        "agent": agent,
        "steps": steps,
        **nonempty(final_metrics=metrics, extra=extra),
    }


def _steps(trajectory: Trajectory, agent: str) -> Iterator[JsonDict]:
    if trajectory.system:
        yield {"source": "system", "message": trajectory.system}
    for step in trajectory.steps:
        by_agent = step.actor not in ("user", "system")
        source = "agent" if by_agent else step.actor
        entry: JsonDict = {"source": source, "message": "" if step.kind == "thought" else step.text}
        if step.kind == "thought" and by_agent:
            entry["reasoning_content"] = step.text
        extra: JsonDict = {}
        if by_agent and step.actor != agent:
            extra["actor"] = step.actor
        if step.kind not in ("said", "thought", "called"):
            extra["kind"] = step.kind
        extra |= nonempty(depth=step.depth)
        extra |= present(seconds=step.seconds, started=step.started, missing=step.missing)
        if step.call is not None:
            entry |= {"source": "agent", "message": ""} | _call(step.call, step.number)
            extra |= {"actor": step.actor} if not by_agent else {}
            extra |= present(error=step.call.error)
            extra |= nonempty(unparsed=step.call.unparsed)
        if metrics := _metrics(step):
            entry["metrics"] = metrics
        yield {**entry, **nonempty(extra=extra)}


def _call(call: ToolCall, number: int) -> JsonDict:
    id = f"call_{number}"
    arguments: JsonValue = (
        {"input": call.arguments} if isinstance(call.arguments, str) else dict(call.arguments)
    )
    entry: JsonDict = {
        "tool_calls": [{"tool_call_id": id, "function_name": call.name, "arguments": arguments}]
    }
    if call.result is not None:
        entry["observation"] = {"results": [{"source_call_id": id, "content": call.result}]}
    return entry


def _metrics(step: Step) -> JsonDict:
    usage, metrics = step.usage, {}
    if usage is not None and (usage.prompt_tokens or usage.completion_tokens):
        metrics = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            **nonempty(cached_tokens=usage.cached_tokens),
        }
    return {**metrics, **present(cost_usd=step.usd)}


def _totals(trajectory: Trajectory, steps: int) -> JsonDict:
    usage = trajectory.usage
    totals: JsonDict = {}
    if usage is not None and (usage.prompt_tokens or usage.completion_tokens):
        totals |= {
            "total_prompt_tokens": usage.prompt_tokens,
            "total_completion_tokens": usage.completion_tokens,
        }
    totals |= present(total_cost_usd=trajectory.usd)
    return {**totals, "total_steps": steps} if totals else {}
