"""How much is done for a long trace: in proportion to its spans, whatever they repeat."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from adjudge.core.data.sources.row import BadRow
from adjudge.core.reading import archive
from adjudge.features.agents.judge import AgentEvaluator
from adjudge.features.agents.rules import RULES, measure
from adjudge.features.agents.traces import files
from adjudge.features.agents.traces.spans import TraceSpan, trajectory_of_spans
from adjudge.features.agents.traces.turns import CalledTool, Returned, Said, TraceTurn

Shape = Callable[[int], list[TraceSpan]]


def call(place: int, id: str | None) -> TraceTurn:
    return TraceTurn("assistant", [CalledTool("look", {"n": place}, id)])


def result(place: int) -> TraceTurn:
    return TraceTurn("tool", [Returned(f"result {place}", f"c{place}")])


def model(place: int, inputs: list[TraceTurn], outputs: list[TraceTurn]) -> TraceSpan:
    return TraceSpan(
        f"m{place}", kind="model", start=float(place), inputs=inputs, outputs=outputs, trace="t"
    )


def windows(count: int) -> list[TraceSpan]:
    """Each call is given the goal and what came last."""
    goal = TraceTurn("user", [Said("Do it.")])
    return [
        model(
            place, [goal, call(place - 1, f"c{place - 1}"), result(place - 1)], [call(place, None)]
        )
        for place in range(1, count + 1)
    ]


def conversations(count: int) -> list[TraceSpan]:
    """Each begins alike and is another one."""
    begin = TraceTurn("user", [Said("Rate this.")])
    return [
        model(
            place,
            [begin, TraceTurn("user", [Said(f"text {place}")])],
            [TraceTurn("assistant", [Said(f"good {place}")])],
        )
        for place in range(count)
    ]


def without_beginning(count: int) -> list[TraceSpan]:
    """The beginning of the conversation is left out more and more."""
    said = [TraceTurn("user", [Said(f"word {place % 3}")]) for place in range(2 * count)]
    return [model(place, said[2 * place : 2 * place + 4], []) for place in range(count)]


def unanswered(count: int) -> list[TraceSpan]:
    """Calls whose results nobody is shown, and of which tools recorded every second one."""
    made = [model(place, [], [call(place, f"c{place}")]) for place in range(count)]
    tools = [
        TraceSpan(
            f"t{place}",
            kind="tool",
            start=place + 0.5,
            call=CalledTool("look", {"n": place}, f"c{place}"),
            result=Returned("Error: no", error="no"),
        )
        for place in range(0, count, 2)
    ]
    return [*made, *tools]


def chain(count: int) -> list[TraceSpan]:
    """Each span is below the one before, and only the first has a time; the last closes a circle
    of its own.
    """
    spans = [
        TraceSpan(f"s{place}", f"s{place - 1}", kind="tool", call=CalledTool("look", {"n": place}))
        for place in range(1, count)
    ]
    return [TraceSpan("s0", "gone", start=1.0), *spans, TraceSpan("a", "b"), TraceSpan("b", "a")]


def lines_run(shape: Shape, count: int) -> int:
    """Lines of Python that reading and measuring takes."""
    lines = 0

    def count_line(_frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count_line

    spans = shape(count)
    expectations = AgentEvaluator(measures=["errors"]).expectations
    sys.settrace(count_line)
    try:
        run = trajectory_of_spans(spans)
        for name in RULES:
            measure(name, run, expectations, {})
    finally:
        sys.settrace(None)
    return lines


@pytest.mark.parametrize("shape", [windows, conversations, without_beginning, unanswered, chain])
def test_four_times_the_spans_are_four_times_the_work(shape: Shape) -> None:
    assert lines_run(shape, 240) < 4.4 * lines_run(shape, 60)


def test_parallel_calls_get_their_own_results_however_many_there_are() -> None:
    ids = [f"c{place}" for place in range(3000)]
    calls = TraceTurn("assistant", [CalledTool("look", {"id": id}, id) for id in ids])
    results = [TraceTurn("tool", [Returned(f"of {id}", id)]) for id in reversed(ids)]
    goal = TraceTurn("user", [Said("Do it.")])
    asked = model(1, [goal], [calls])
    run = trajectory_of_spans([asked, model(2, [goal, calls, *results], [])])
    made = [step.call for step in run.steps if step.call]
    assert [(one.arguments, one.result) for one in made] == [({"id": id}, f"of {id}") for id in ids]


def test_a_trace_that_no_memory_holds_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = {"traceId": "t", "spanId": "s", "name": "x" * 1000, "attributes": []}
    line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    monkeypatch.setattr(files, "LARGEST_TRACE", 5_000_000)
    for name, text in (
        ("one.jsonl", f"{line}\n" * 6000),
        ("one.jsonl.gz", f"{line}\n" * 6000),
        ("document.json", json.dumps({"resourceSpans": ["x" * 6_000_000]})),
        ("document.json.gz", json.dumps({"resourceSpans": ["x" * 6_000_000]})),
        ("list.json", json.dumps([{"role": "user", "content": "x" * 6_000_000}])),
        ("table.csv.gz", "id,messages\n" + "x" * 6_000_000),
    ):
        packed = gzip.compress if name.endswith(".gz") else bytes
        (tmp_path / name).write_bytes(packed(text.encode()))
        bad: list[BadRow] = []
        assert list(files.read_traces(tmp_path / name, on_bad_row=bad.append)) == []
        (found,) = bad
        assert "6 MB is too large (limit 5 MB)" in str(found), name


def test_a_table_of_traces_leaves_the_limit_of_cells_as_it_was(tmp_path: Path) -> None:
    """The limit is one per process: without it, a data set with an open quote fills the memory."""
    before = csv.field_size_limit()
    path = tmp_path / "traces.csv"
    path.write_text("id,messages\n1,[]\n", encoding="utf-8")
    list(files.read_traces(path, on_bad_row=lambda row: None))
    assert csv.field_size_limit() == before


def test_a_file_that_unpacks_to_a_thousand_times_its_size_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_SUSPICIOUS", 1_000_000)
    line = json.dumps({"role": "user", "content": "0" * 100_000})
    path = tmp_path / "zeros.jsonl.gz"
    path.write_bytes(gzip.compress(f"{line}\n".encode() * 100))
    bad: list[BadRow] = []
    assert list(files.read_traces(path, on_bad_row=bad.append)) == []
    (found,) = bad
    assert "unpacks to more than" in str(found)


def test_a_window_that_moves_on_repeats_nothing() -> None:
    goal = TraceTurn("user", [Said("Do it.")])
    for width in range(1, 8):
        told = [goal]
        spans = []
        for place in range(30):
            spans.append(model(place, told[-width:], [call(place, f"c{place}")]))
            told = [*told, call(place, f"c{place}"), result(place)]
        run = trajectory_of_spans(spans)
        made = [step.call for step in run.steps if step.call]
        assert [one.arguments for one in made] == [{"n": place} for place in range(30)], width
        assert [one.result for one in made[:-1]] == [f"result {place}" for place in range(29)]
        assert len(run.steps) == 31, width


def test_a_window_of_words_that_moves_on_repeats_nothing() -> None:
    for width in range(1, 8):
        told, spans = [], []
        for place in range(20):
            told.append(TraceTurn("user", [Said(f"ask {place}")]))
            reply = TraceTurn("assistant", [Said(f"answer {place}")])
            spans.append(model(place, told[-width:], [reply]))
            told.append(reply)
        run = trajectory_of_spans(spans)
        words = [step.text for step in run.steps]
        assert words == [f"{one} {n}" for n in range(20) for one in ("ask", "answer")], width
