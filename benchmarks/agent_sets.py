"""What public sets of agents' runs hold, counted by our own readers.

python benchmarks/agent_sets.py --data ../shared/data/agents
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from adjudge.features.agents.traces.files import read_traces
from adjudge.features.agents.traces.formats.trail import spans_below
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.turns import CalledTool

Figures = dict[str, float]


def tau_bench(path: Path) -> Figures:
    """Messages by role, calls, ids that repeat: of every run of a file of trajectories."""
    packed = path.read_bytes()
    runs = json.loads(gzip.decompress(packed) if path.suffix == ".gz" else packed)
    figures: Counter[str] = Counter()
    for run in runs:
        turns = read_turns(run["traj"])
        seen: set[str | None] = set()
        again = 0
        for turn in turns:
            figures[f"messages of {turn.role}"] += 1
            calls = [part for part in turn.parts if isinstance(part, CalledTool)]
            figures["calls"] += len(calls)
            figures["calls with arguments that are not JSON"] += sum(
                isinstance(call.arguments, str) for call in calls
            )
            figures["messages with several calls"] += len(calls) > 1
            for call in calls:
                again += call.id in seen
                seen.add(call.id)
        figures["calls whose id stood before in the run"] += again
        figures["runs with such calls"] += again > 0
        figures["runs without reward_info"] += not run["info"].get("reward_info")
    rows = list(read_traces(path))
    return {
        "trajectories": len(rows),
        "tasks": len({str(row.columns["task_id"]) for row in rows}),
        "trials": len({str(row.columns["trial"]) for row in rows}),
        "mean reward": sum(float(str(row.columns["reward"])) for row in rows) / len(rows),
        **figures,
    }


def who_and_when(folder: Path) -> Figures:
    """Logs, steps, and who speaks at the step that is blamed."""
    figures: Counter[str] = Counter()
    for row in read_traces(folder, "who-and-when"):
        steps, step = row.trajectory.steps, int(str(row.columns["mistake_step"]))
        figures["logs"] += 1
        figures["steps"] += len(steps)
        speaker = steps[step].actor if step < len(steps) else None
        figures["the agent that is blamed speaks"] += speaker == row.columns["mistake_agent"]
        figures["mistake at the very first step"] += step == 0
    return dict(figures)


def trail(folder: Path) -> Figures:
    """Traces, spans by kind, and the errors of the annotations that are JSON."""
    figures: Counter[str] = Counter()
    for path in sorted((folder / "traces").glob("*.json")):
        figures["traces"] += 1
        document = json.loads(path.read_text("utf-8"))
        for span, _ in spans_below(document["spans"]):
            figures["spans"] += 1
            kind = span["span_attributes"].get("openinference.span.kind", "none")
            figures[f"spans of kind {kind}"] += 1
        (row,) = read_traces(path)
        recorded = sum(len(text) for text in _recorded(document["spans"]))
        figures["characters of messages as recorded"] += recorded
        figures["characters of steps"] += sum(len(step.canonical) for step in row.trajectory.steps)
    for path in sorted((folder / "annotations").glob("*.json")):
        figures["annotations"] += 1
        try:
            errors = json.loads(path.read_text("utf-8"))["errors"]
        except json.JSONDecodeError:
            figures["annotations that are not JSON"] += 1
            continue
        figures["errors"] += len(errors)
        figures.update(f"errors of impact {error['impact'].lower()}" for error in errors)
    return dict(figures)


def _recorded(spans: list[dict[str, object]]) -> Iterator[str]:
    for span, _ in spans_below(spans):
        for key, value in span["span_attributes"].items():
            if key.endswith(".message.content") and isinstance(value, str):
                yield value


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True, help="the folder of the sets")
    data: Path = options.parse_args().data
    found = {
        "tau-bench": (data / "tau-bench-gpt-4o-airline.json.gz", tau_bench),
        "Who&When": (data / "who-and-when", who_and_when),
        "TRAIL": (data / "trail", trail),
    }
    for name, (path, counted) in found.items():
        print(name if path.exists() else f"{name}: not there")
        for figure, value in (counted(path) if path.exists() else {}).items():
            print(f"  {figure:45} {value:12,.6g}")


if __name__ == "__main__":
    main()
