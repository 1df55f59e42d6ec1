"""Google's ADK: sessions, and eval sets with expectations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.reading.foreign_values import (
    Object,
    elapsed_over,
    first_of,
    id_at,
    objects,
    text_at,
    time_at,
    usage_of,
)
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present, reference_call
from adjudge.features.agents.traces.turns import HandedOver, Returned, Said, TraceTurn


def _text(content: object) -> str:
    return "\n".join(text_at(part, "text") for part in objects(content, "parts"))


def _event(event: Object) -> Iterator[TraceTurn]:
    if event.get("partial") is True:
        return
    author = text_at(event, "author")
    parts = objects(event, "content", "parts")
    turns = read_turns({"role": "user" if author == "user" else "assistant", "parts": parts})
    turn = turns[0] if turns else TraceTurn("assistant")
    if turn.role == "assistant":
        turn.actor = author
        if turn.parts and all(isinstance(part, Returned) for part in turn.parts):
            turn.role = "tool"
    to = first_of(event.get("actions") or {}, "transferToAgent", "transfer_to_agent")
    has_transfer = any(
        isinstance(part, Returned) and "transfer" in part.name for part in turn.parts
    )
    if isinstance(to, str) and to and not has_transfer:
        turn.parts = [*turn.parts, HandedOver(to)]
        turn.role = "assistant"
    turn.usage = usage_of(first_of(event, "usageMetadata", "usage_metadata"))
    turn.source, turn.started = id_at(event, "id"), time_at(event, "timestamp")
    if turn.parts or turn.usage:
        yield turn
    failed = text_at(event, "errorMessage", "error_message", "errorCode", "error_code")
    if failed:  # an error of the framework, not a message
        yield TraceTurn("assistant", [Said(f"error: {failed}")], "system", ended=failed)


def _read_session(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for session in documents:
        events = objects(session["events"])
        trajectory = build_trajectory(turn for event in events for turn in _event(event))
        yield TraceRow(
            replace(trajectory, seconds=elapsed_over(events, "timestamp")),
            present(
                id=session.get("id"),
                app=first_of(session, "appName", "app_name"),
                state=session.get("state") or None,
            ),
        )


def _read_set(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for eval_set in documents:
        for case in objects(eval_set["eval_cases"]):
            turns = objects(case, "conversation")
            users = [TraceTurn("user", [Said(_text(turn.get("user_content")))]) for turn in turns]
            answers = [text for turn in turns if (text := _text(turn.get("final_response")))]
            calls = [
                reference_call(call.get("name"), call.get("args"))
                for turn in turns
                for call in _expected_calls(turn.get("intermediate_data") or {})
            ]
            id = case.get("eval_id")
            yield TraceRow(
                build_trajectory(users),
                present(
                    id=id,
                    task_id=id,
                    reference=answers[-1] if answers else None,
                    reference_calls=calls,
                ),
            )


def _expected_calls(data: Object) -> Iterator[Object]:
    yield from objects(data, "tool_uses")
    for event in objects(data, "invocation_events"):
        for part in objects(event, "content", "parts"):
            if isinstance(call := first_of(part, "function_call", "functionCall"), Mapping):
                yield call


def _read_tests(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for test in documents:
        expected = [
            reference_call(
                first_of(call, "tool_name", "name"), first_of(call, "tool_input", "args")
            )
            for call in objects(test, "expected_tool_use")
        ]
        yield TraceRow(
            build_trajectory([TraceTurn("user", [Said(text_at(test, "query"))])]),
            present(reference=test.get("reference"), reference_calls=expected),
        )


def _is_session(document: Object) -> bool:
    events = objects(document, "events")
    return (
        bool(events)
        and "author" in events[0]
        and ("invocationId" in events[0] or "invocation_id" in events[0])
    )


SESSION = TraceFormat("adk", _read_session, _is_session)
EVAL_SET = TraceFormat(
    "adk",
    _read_set,
    lambda document: "eval_set_id" in document and isinstance(document.get("eval_cases"), list),
)
TESTS = TraceFormat(
    "adk", _read_tests, lambda document: "query" in document and "expected_tool_use" in document
)
