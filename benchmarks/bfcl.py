"""The expected calls of the Berkeley Function-Calling Leaderboard, several turns: read, and matched
with themselves.

    python benchmarks/bfcl.py ../shared/data/agents/bfcl-multi-turn-expected.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.reading.values import Place
from adjudge.features.agents.expectation import Expectations, ExpectedCall, read_calls, shown
from adjudge.features.agents.rules import measure
from adjudge.features.agents.trajectory import Step, ToolCall, ToolDefinition, Trajectory


def read_turns(path: Path) -> Iterator[tuple[str, list[tuple[ExpectedCall, ...]]]]:
    """The calls of each turn, by row."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        place = Place(str(path), row["id"])
        yield row["id"], [read_calls(turn, place) for turn in row["ground_truth"]]


def made(calls: Sequence[ExpectedCall]) -> Trajectory:
    """A run that makes these calls. Arguments without names get some, by a schema."""
    most = max((len(call.unnamed) for call in calls), default=0)
    names = [f"argument_{number}" for number in range(1, most + 1)]
    schema: JsonObject = {"type": "object", "properties": {name: {} for name in names}}
    steps = []
    for number, call in enumerate(calls, 1):
        named = call.with_names(names) if call.unnamed else call
        arguments = {name: shown(one) for name, one in (named.arguments or {}).items()}
        steps.append(Step(number, "assistant", "called", call=ToolCall(call.name, arguments)))
    tools = tuple(ToolDefinition(name, schema=schema) for name in {call.name for call in calls})
    return Trajectory("", tuple(steps), None, tools=tools)


def main() -> None:
    said = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    said.add_argument("path", type=Path)
    rows = dict(read_turns(said.parse_args().path))
    calls = {id: [call for turn in turns for call in turn] for id, turns in rows.items()}
    every = [call for row in calls.values() for call in row]
    print(f"{len(rows)} rows, {sum(map(len, rows.values()))} turns, {len(every)} calls")
    print(f"{sum(bool(call.unnamed) for call in every)} calls have arguments without names")
    exact = sum(
        measure("calls", made(row), Expectations({id: tuple(row)}, "exact"), {"id": id}).value
        is True
        for id, row in calls.items()
    )
    print(f"{exact} rows match the calls that they expect, exactly")


if __name__ == "__main__":
    main()
