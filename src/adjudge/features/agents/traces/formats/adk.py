"""Google's ADK: sessions, and eval sets with what is expected."""

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
from adjudge.features.agents.traces.builder import built
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present, reference_call
from adjudge.features.agents.traces.turns import HandedOver, Returned, Said, Turn


def _text(content: object) -> str:
    return "\n".join(text_at(part, "text") for part in objects(content, "parts"))


def _event(event: Object) -> Iterator[Turn]:
    if event.get("partial") is True:
        return
    author = text_at(event, "author")
    parts = objects(event, "content", "parts")
    turns = read_turns({"role": "user" if author == "user" else "assistant", "parts": parts})
    turn = turns[0] if turns else Turn("assistant")
    if turn.role == "assistant":
        turn.actor = author
        if turn.parts and all(isinstance(part, Returned) for part in turn.parts):
            turn.role = "tool"
    to = first_of(event.get("actions") or {}, "transferToAgent", "transfer_to_agent")
    named = any(isinstance(part, Returned) and "transfer" in part.name for part in turn.parts)
    if isinstance(to, str) and to and not named:
        turn.parts = [*turn.parts, HandedOver(to)]
        turn.role = "assistant"
    turn.usage = usage_of(first_of(event, "usageMetadata", "usage_metadata"))
    turn.source, turn.started = id_at(event, "id"), time_at(event, "timestamp")
    if turn.parts or turn.usage:
        yield turn
    failed = text_at(event, "errorMessage", "error_message", "errorCode", "error_code")
    if failed:  # nobody said it
        yield Turn("assistant", [Said(f"error: {failed}")], "system", ended=failed)


def _read_session(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        events = objects(one["events"])
        made = built(turn for event in events for turn in _event(event))
        yield TraceRow(
            replace(made, seconds=elapsed_over(events, "timestamp")),
            present(
                id=one.get("id"),
                app=first_of(one, "appName", "app_name"),
                state=one.get("state") or None,
            ),
        )


def _read_set(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        for case in objects(one["eval_cases"]):
            said = objects(case, "conversation")
            users = [Turn("user", [Said(_text(turn.get("user_content")))]) for turn in said]
            answers = [text for turn in said if (text := _text(turn.get("final_response")))]
            calls = [
                reference_call(call.get("name"), call.get("args"))
                for turn in said
                for call in _expected(turn.get("intermediate_data") or {})
            ]
            id = case.get("eval_id")
            yield TraceRow(
                built(users),
                present(
                    id=id,
                    task_id=id,
                    reference=answers[-1] if answers else None,
                    reference_calls=calls,
                ),
            )


def _expected(data: Object) -> Iterator[Object]:
    yield from objects(data, "tool_uses")
    for event in objects(data, "invocation_events"):
        for part in objects(event, "content", "parts"):
            if isinstance(call := first_of(part, "function_call", "functionCall"), Mapping):
                yield call


def _read_tests(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        expected = [
            reference_call(
                first_of(call, "tool_name", "name"), first_of(call, "tool_input", "args")
            )
            for call in objects(one, "expected_tool_use")
        ]
        yield TraceRow(
            built([Turn("user", [Said(text_at(one, "query"))])]),
            present(reference=one.get("reference"), reference_calls=expected),
        )


def _is_session(one: Object) -> bool:
    events = objects(one, "events")
    return (
        bool(events)
        and "author" in events[0]
        and ("invocationId" in events[0] or "invocation_id" in events[0])
    )


SESSION = TraceFormat("adk", _read_session, _is_session)
EVAL_SET = TraceFormat(
    "adk",
    _read_set,
    lambda one: "eval_set_id" in one and isinstance(one.get("eval_cases"), list),
)
TESTS = TraceFormat("adk", _read_tests, lambda one: "query" in one and "expected_tool_use" in one)
