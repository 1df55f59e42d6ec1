"""What readers of traces once got wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adjudge import AgentEvaluator, Trajectory
from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.reading.foreign_values import Object
from adjudge.features.agents.traces import files
from adjudge.features.agents.traces.files import read_traces
from adjudge.features.agents.traces.reader import read_checked, read_rows, read_trajectories
from adjudge.features.agents.traces.row import TraceFormat, TraceRow
from adjudge.features.agents.traces.spans import TraceSpan, trajectory_of_spans
from adjudge.features.agents.traces.turns import CalledTool, Said, TraceTurn
from adjudge.features.agents.trajectory import ToolCall

ASKED = {"role": "user", "content": "q"}


def read(value: object) -> Trajectory:
    (found,) = read_trajectories(value)
    return found


def calls(found: Trajectory) -> list[ToolCall]:
    return [step.call for step in found.steps if step.call is not None]


def calling(*ids: str, name: str = "f") -> dict[str, Any]:
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": f'{{"n": {n}}}'}}
        for n, id in enumerate(ids)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def back(id: str, content: object, **more: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def returning(content: object) -> dict[str, object]:
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": content}
    kwargs = {"content": content, "tool_call_id": "1", "type": "tool"}
    asking = {"type": "ai", "content": "", "tool_calls": [{"id": "1", "name": "f", "args": {}}]}
    return {
        "chat": [ASKED, calling("1"), back("1", content)],
        "anthropic": [
            ASKED,
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
        "responses": [
            ASKED,
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": content},
        ],
        "langchain": [{"type": "human", "content": "q"}, asking, kwargs],
    }


@pytest.mark.parametrize("shape", list(returning("")))
@pytest.mark.parametrize(
    "content",
    [
        [{"city": "Paris", "temp": 18}],
        [1, 2, 3],
        {"type": "sunny", "temp": 18},
        [{"text": "hi", "score": 1}],
        [{"type": "resource", "resource": {"text": "a page"}}],
        [{"type": "file", "name": "a.txt"}],
    ],
)
def test_a_result_that_is_no_text_is_kept_as_json(shape: str, content: object) -> None:
    (call,) = calls(read(returning(content)[shape]))
    assert json.loads(call.result or "") == content


@pytest.mark.parametrize("shape", list(returning("")))
def test_blocks_of_text_and_media_are_read_as_before(shape: str) -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {"url": "a.png"}}]
    (call,) = calls(read(returning(blocks)[shape]))
    assert (call.result or "").splitlines() == ["one", "[image, a.png]"]
    mixed = [{"type": "text", "text": "one"}, {"type": "resource", "resource": {"text": "two"}}]
    (call,) = calls(read(returning(mixed)[shape]))
    assert "one" in (call.result or "") and '"two"' in (call.result or "")


def test_calls_of_one_message_with_one_id_get_their_own_results() -> None:
    both = [calling("x", "x"), back("x", "zero"), back("x", "one", is_error=True)]
    found = read([ASKED, *both, calling("x"), back("x", "two")])
    assert [(call.result, call.error) for call in calls(found)] == [
        ("zero", None),
        ("one", "one"),
        ("two", None),
    ]


def test_an_error_without_words_is_an_error() -> None:
    shapes = returning("")
    result: Any = shapes["anthropic"]
    del result[2]["content"][0]["content"]
    result[2]["content"][0]["is_error"] = True
    autogen = [
        {"type": "TextMessage", "source": "user", "content": "q"},
        {
            "type": "ToolCallRequestEvent",
            "source": "a",
            "content": [{"id": "1", "name": "f", "arguments": "{}"}],
        },
        {
            "type": "ToolCallExecutionEvent",
            "source": "a",
            "content": [{"call_id": "1", "name": "f", "content": "", "is_error": True}],
        },
    ]
    langchain: Any = shapes["langchain"]
    langchain[2]["status"] = "error"
    for one in (result, autogen, langchain):
        (call,) = calls(read(one))
        assert call.error


def said(text: str, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": text}


def test_what_was_said_before_the_last_question_is_no_answer() -> None:
    hello = said("Hello, what can I do?")
    assert read([hello, ASKED, calling("1"), back("1", "x")]).answer is None
    assert read([hello, ASKED]).answer is None
    done = [ASKED, said("It is 5."), said("And now?", "user")]
    assert read([*done, calling("1"), back("1", "x")]).answer is None
    assert read(done).answer == "It is 5."
    assert read([*done, said("Six.")]).answer == "Six."


def test_an_answer_after_a_call_without_a_result_is_found() -> None:
    assert read([ASKED, calling("1"), said("All done.")]).answer == "All done."
    assert read([ASKED, calling("1"), said("One more."), calling("2")]).answer is None
    items = [
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}", "id": "a"},
        {
            "type": "message",
            "id": "b",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "All done."}],
        },
    ]
    whole = {"object": "response", "id": "r", "input": "q", "output": items}
    assert read(whole).answer == "All done."


def chunk(delta: dict[str, Any], index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": delta}
    return {"object": "chat.completion.chunk", "id": "c", "choices": [choice]}


def test_streamed_calls_stand_by_number_and_other_choices_are_left_out() -> None:
    pieces = [
        chunk({"tool_calls": [{"index": n, "id": str(n), "function": {"name": f"t{n}"}}]})
        for n in range(12)
    ]
    found = read([ASKED, *pieces])
    assert [call.name for call in calls(found)] == [f"t{n}" for n in range(12)]
    found = read(
        [ASKED, chunk({"content": "a"}), chunk({"content": "X"}, 1), chunk({"content": "b"})]
    )
    assert found.answer == "ab"


def test_a_streamed_response_is_read_from_its_pieces_or_from_its_end() -> None:
    call = {"type": "function_call", "id": "i", "call_id": "1", "name": "f", "arguments": ""}
    pieces: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a"'},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": ": 1}"},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "All "},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "done."},
    ]
    message = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "All done."}],
    }
    output = [{**call, "arguments": '{"a": 1}'}, message]
    usage = {"input_tokens": 7, "output_tokens": 2}
    end = {"type": "response.completed", "response": {"output": output, "usage": usage}}
    for events in (pieces, [end], [*pieces, end]):
        found = read(events)
        assert [(one.name, one.arguments) for one in calls(found)] == [("f", {"a": 1})]
        assert found.answer == "All done."
        assert end not in events or (found.usage and found.usage.prompt_tokens == 7)


def spans(*given: dict[str, Any]) -> dict[str, Any]:
    """Model calls, one after the other."""
    made = [
        {
            "traceId": "t",
            "spanId": str(one.get("id", place)),
            "name": "chat",
            "startTimeUnixNano": str(10**18 + one.get("at", place) * 10**9),
            "endTimeUnixNano": str(10**18 + one.get("at", place) * 10**9 + 10**8),
            "attributes": [
                {"key": key, "value": value}
                for key, value in {
                    "gen_ai.operation.name": {"stringValue": "chat"},
                    "gen_ai.input.messages": {"stringValue": json.dumps(one["given"])},
                    "gen_ai.output.messages": {"stringValue": json.dumps([one["made"]])},
                    "gen_ai.usage.input_tokens": {"intValue": "1000"},
                    "gen_ai.usage.output_tokens": {"intValue": "10"},
                    "gen_ai.usage.cache_creation_input_tokens": {"intValue": "100"},
                }.items()
            ],
        }
        for place, one in enumerate(given)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}


def test_a_span_that_was_exported_twice_counts_once() -> None:
    one = {"id": "a", "at": 0, "given": [ASKED], "made": said("Done.")}
    found = read(spans(one, one))
    assert [step.text for step in found.steps] == ["q", "Done."]
    assert found.usage is not None and found.usage.calls == 1
    assert found.usage.prompt_tokens == 1000


def test_spans_that_share_an_id_by_mistake_are_all_there() -> None:
    """Two processes that count their spans from 1: no step may be lost without a word."""
    first = {"id": "1", "at": 0, "given": [ASKED], "made": said("Let me see.")}
    second = {"id": "1", "at": 5, "given": [ASKED, first["made"]], "made": said("Done.")}
    found = read(spans(first, second))
    assert [step.text for step in found.steps] == ["q", "Let me see.", "Done."]
    assert found.usage is not None and found.usage.calls == 2


def test_a_history_without_its_middle_is_not_told_again() -> None:
    one, two = [calling("a"), back("a", "1")], [calling("b"), back("b", "2")]
    three = [calling("c"), back("c", "3")]
    found = read(
        spans(
            {"given": [ASKED], "made": one[0]},
            {"given": [ASKED, *one], "made": two[0]},
            {"given": [ASKED, *two], "made": three[0]},
            {"given": [ASKED, *three], "made": said("Done.")},
        )
    )
    assert [call.result for call in calls(found)] == ["1", "2", "3"]
    assert found.answer == "Done."


def test_cached_tokens_are_counted_once() -> None:
    litellm = {
        "prompt_tokens": 1000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 800},
        "cache_read_input_tokens": 800,
        "cache_creation_input_tokens": 100,
    }
    anthropic = {"input_tokens": 100, "output_tokens": 5, "cache_read_input_tokens": 800}
    for usage, prompt in ((litellm, 1000), (anthropic, 900)):
        found = read([ASKED, {**said("x"), "usage": usage}]).usage
        assert found is not None and (found.prompt_tokens, found.cached_tokens) == (prompt, 800)


@pytest.mark.parametrize(
    "value",
    [
        {"input": [ASKED], "output": said("Five.")},
        {"messages": [ASKED], "response": "Five."},
        {"messages": [ASKED], "completion": [said("Five.")]},
        {"messages": [ASKED], "completion": "Five.", "output": "Five."},
        {"messages": [ASKED, said("Five.")], "response": "Five."},
        {"messages": [ASKED], "output": [ASKED, said("Five.")]},
        {"messages": [ASKED], "response": {"choices": [{"message": said("Five.")}]}},
        {"input": "q", "output": [said("Five.")]},
    ],
)
def test_a_reply_beside_the_messages_is_read_once(value: dict[str, Any]) -> None:
    found = read(value)
    assert [(step.actor, step.text) for step in found.steps] == [
        ("user", "q"),
        ("assistant", "Five."),
    ]
    assert found.answer == "Five."


def test_columns_beside_messages_are_kept() -> None:
    columns = {
        "id": "a",
        "checklist": ["one"],
        "usd": 0.5,
        "tokens": 10,
        "seconds": 2,
        "model_calls": 3,
        "team": "x",
        "response": {"seen": True},
    }
    (row,) = read_rows({"messages": [ASKED, said("Five.")], "tools": [], **columns})
    assert row.columns == columns


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"role": "assistant", "refusal": "I will not."}, "I will not."),
        ({"role": "assistant", "audio": {"id": "x", "transcript": "Five."}}, "Five."),
        ({"role": "assistant", "annotations": []}, None),
        ({"type": "compaction", "id": "x", "encrypted_content": "…"}, None),
        ({"type": "reasoning", "encrypted_content": "…"}, None),
    ],
)
def test_one_unknown_message_costs_nothing_else(message: dict[str, Any], answer: str) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    (row,) = read_rows(
        {
            "id": "a",
            "messages": [ASKED, calling("1"), back("1", "x"), message],
            "tools": tools,
            "reference_calls": [{"name": "f"}],
        }
    )
    assert row.columns == {"id": "a", "reference_calls": [{"name": "f"}]}
    assert [tool.name for tool in row.trajectory.tools] == ["f"]
    assert row.trajectory.answer == answer
    assert len(row.trajectory.calls) == 1
    assert read([ASKED, calling("1"), message]).answer == answer


def test_a_custom_tool_has_a_name_and_its_input() -> None:
    custom = {"id": "1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    found = read([ASKED, {"role": "assistant", "tool_calls": [custom]}, back("1", "1")])
    assert calls(found) == [ToolCall("sql", "select 1", "1", None)]


def test_an_error_of_the_program_is_no_answer() -> None:
    def event(author: str, **more: object) -> dict[str, Any]:
        return {"author": author, "invocationId": "i", "id": author, **more}

    question = event("user", content={"role": "user", "parts": [{"text": "q"}]})
    adk = {"id": "s", "events": [question, event("bot", errorCode="SAFETY")]}

    def line(kind: str, text: str, **more: object) -> dict[str, Any]:
        beside = {"sessionId": "s", "uuid": text, "parentUuid": None, "type": kind}
        return {**beside, "message": said(text, kind), **more}

    before = [line("user", "q"), line("assistant", "One."), line("user", "and?")]
    code = [*before, line("assistant", "API Error: 529", isApiErrorMessage=True)]
    for value, ended in ((adk, "SAFETY"), (code, "API Error: 529")):
        found = read(value)
        assert (found.goal, found.answer, found.ended) == ("q", None, ended)
        assert (found.steps[-1].kind, found.steps[-1].actor) == ("noted", "system")


def test_what_is_said_beside_the_last_call_of_a_sample_is_no_answer() -> None:
    last = {**calling("1"), "content": "Let me check."}
    found = read(
        {
            "id": 1,
            "epoch": 1,
            "input": "q",
            "target": "x",
            "messages": [ASKED, last, back("1", "x")],
            "output": {"choices": [{"message": last}], "completion": "Let me check."},
        }
    )
    assert found.answer is None


@pytest.mark.parametrize("role", ["environment", "tool_result"])
def test_what_comes_back_is_no_word_of_an_agent(role: str) -> None:
    found = read([ASKED, calling("1"), said("18", role)])
    assert found.answer is None
    assert [call.result for call in calls(found)] == ["18"]


def test_a_tool_whose_name_looks_like_a_handoff_is_a_call() -> None:
    money = calling("1", name="transfer_to_savings")
    assert [step.kind for step in read([ASKED, money, back("1", "done")]).steps][1:] == ["called"]
    spoken = {**said("Hello."), "name": "Savings"}
    kinds = [step.kind for step in read([ASKED, money, back("1", "done"), spoken]).steps]
    assert kinds[1:] == ["handed over", "said"]


def test_long_words_are_kept_and_cited_texts_are_one() -> None:
    gene = "ACGT" * 600
    assert read([ASKED, said(gene)]).answer == gene
    cited = {"type": "text", "text": "the sky is blue", "citations": [{"cited_text": "blue"}]}
    blocks = [{"type": "text", "text": "Since "}, cited, {"type": "text", "text": ", yes."}]
    found = read([ASKED, {"role": "assistant", "content": blocks}])
    assert found.answer == "Since the sky is blue, yes."


def test_the_end_of_a_span_around_others_is_no_answer_beside_a_call() -> None:
    last = {"type": "ai", "content": "Let me check.", "tool_calls": [{"name": "f", "args": {}}]}
    human = {"type": "human", "content": "q"}
    given = {
        "openinference.span.kind": "CHAIN",
        "input.value": json.dumps({"messages": [human]}),
        "output.value": json.dumps({"messages": [human, last]}),
    }
    span = {
        "traceId": "t",
        "spanId": "s",
        "name": "graph",
        "attributes": [{"key": key, "value": {"stringValue": one}} for key, one in given.items()],
    }
    found = read({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    assert (found.goal, found.answer) == ("q", None)


def test_a_tool_span_that_failed_without_a_message_has_an_error() -> None:
    given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}
    span = {
        "traceId": "t",
        "spanId": "s",
        "name": "f",
        "status": {"code": 2},
        "attributes": [{"key": key, "value": {"stringValue": one}} for key, one in given.items()],
    }
    (call,) = calls(read({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    assert call.error


def test_a_name_alone_is_no_handoff() -> None:
    bare = {
        "role": "assistant",
        "tool_calls": [{"id": "1", "function": {"name": "transfer_to_savings", "arguments": "{}"}}],
    }
    assert [step.kind for step in read([ASKED, bare, back("1", "done")]).steps][1:] == ["called"]
    told = read([ASKED, bare, back("1", "Successfully transferred to savings")])
    assert told.steps[1].kind == "handed over"
    named = read([ASKED, bare, back("1", '{"assistant": "Savings"}')])
    assert (named.steps[1].kind, named.steps[1].text) == ("handed over", "Savings")


def test_the_time_of_a_call_is_that_of_its_model_and_of_its_tool() -> None:
    asked = TraceTurn("user", [Said("q")])
    acting = TraceTurn("assistant", [CalledTool("look", {}, "c")])
    model = TraceSpan("m", kind="model", start=0.0, end=4.0, inputs=[asked], outputs=[acting])
    tool = TraceSpan("t", kind="tool", start=4.0, end=5.0, call=CalledTool("look", {}, "c"))
    timeless = replace(tool, start=4.0, end=None)
    for record, seconds in ((tool, 5.0), (timeless, 4.0)):
        found = trajectory_of_spans([model, record])
        assert [step.seconds for step in found.steps] == [None, seconds]
    whole = TraceSpan("w", kind="agent", start=0.0, end=9.0)
    found = trajectory_of_spans([whole, replace(model, parent="w"), replace(tool, parent="w")])
    assert AgentEvaluator(measures=["seconds"]).evaluate([found])[0].scores == {"seconds": 9.0}


def test_agents_below_one_that_does_nothing_are_asked_and_answer() -> None:
    outer = TraceSpan("w", kind="agent", name="workflow", start=0.0)
    spans = [outer]
    for place, name in enumerate(("researcher", "writer"), 1):
        agent = TraceSpan(name, "w", kind="agent", name=name, start=float(place))
        told = [TraceTurn("user", [Said(f"task of the {name}")])]
        said = [TraceTurn("assistant", [Said(f"words of the {name}")])]
        model = TraceSpan(f"m{place}", name, kind="model", start=float(place), inputs=told)
        spans += [agent, replace(model, outputs=said)]
    found = trajectory_of_spans(spans)
    assert (found.goal, found.answer) == ("task of the researcher", "words of the writer")
    assert {step.depth for step in found.steps} == {0}


def _spans_line(*traces: int) -> str:
    def span(trace: int) -> JsonDict:
        said = [{"role": "user", "parts": [{"type": "text", "content": f"task {trace}"}]}]
        given = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said)}
        return {
            "traceId": f"{trace:032x}",
            "spanId": f"{trace:016x}",
            "name": "x",
            "attributes": [{"key": key, "value": {"stringValue": v}} for key, v in given.items()],
        }

    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*map(span, traces)]}]}]})


@pytest.mark.parametrize("name", ["spans.jsonl", "traces.json", "spans.jsonl.gz"])
def test_only_open_traces_of_a_large_file_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    lines = [_spans_line(1), _spans_line(2, 1), "", _spans_line(3), _spans_line(2)]
    path = tmp_path / name
    text = "\n".join([*lines[:5], _spans_line(4)]).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    whole = [row.trajectory.goal for row in read_traces(path)]
    monkeypatch.setattr(files, "_SMALL", 0)
    held: list[int] = []

    def counted(format: TraceFormat, given: Sequence[Object]) -> Iterator[TraceRow]:
        held.append(len(given))
        return read_checked(format, given)

    monkeypatch.setattr(files, "read_checked", counted)
    assert sorted(row.trajectory.goal for row in read_traces(path)) == sorted(whole)
    assert held == [4, 1]


def test_a_trace_without_texts_costs_only_itself(tmp_path: Path) -> None:
    other = json.loads(_spans_line(2))
    other["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"] = []
    lines = [_spans_line(1), json.dumps(other), _spans_line(3), _spans_line(4)]
    spans = [one for line in lines for one in json.loads(line)["resourceSpans"]]
    for name, text in (
        ("lines.jsonl", "\n".join(lines)),
        ("document.json", json.dumps({"resourceSpans": spans})),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        bad: list[BadRow] = []
        found = [row.trajectory.goal for row in read_traces(tmp_path / name, on_bad_row=bad.append)]
        assert found == ["task 1", "task 3", "task 4"]
        (one,) = bad
        assert f"{2:032x}" in one.where


def langsmith_runs(tool: dict[str, Any]) -> list[dict[str, Any]]:
    """A run of langchain-core: a model call, the tool that it calls and that fails, a reply."""
    call = {"id": "c1", "name": "weather", "args": {"city": "Paris", "days": 2, "metric": True}}
    asked = {"type": "human", "content": "How is the weather in Paris?"}
    calling = {"type": "ai", "content": "", "tool_calls": [call]}
    failed = {"type": "tool", "content": "no such city", "tool_call_id": "c1", "status": "error"}
    final = {"type": "ai", "content": "I cannot tell."}

    def run(id: str, kind: str, second: int, **more: object) -> dict[str, Any]:
        return {
            "id": id,
            "trace_id": "r",
            "parent_run_id": None if id == "r" else "r",
            "run_type": kind,
            "name": "weather" if kind == "tool" else kind,
            "start_time": f"2026-01-01T00:00:0{second}",
            "end_time": f"2026-01-01T00:00:0{second + 1}",
            **more,
        }

    def generated(message: dict[str, Any]) -> dict[str, Any]:
        return {"generations": [[{"message": message}]]}

    return [
        run("r", "chain", 0, inputs={"messages": [asked]}, outputs={"messages": [final]}),
        run("m1", "llm", 1, inputs={"messages": [[asked]]}, outputs=generated(calling)),
        run("t", "tool", 2, outputs=None, error="ValueError('no such city')", **tool),
        run(
            *("m2", "llm", 3),
            inputs={"messages": [[asked, calling, failed]]},
            outputs=generated(final),
        ),
    ]


@pytest.mark.parametrize(
    "tool",
    [
        {"inputs": {"input": "{'city': 'Paris', 'days': 2, 'metric': True}"}},
        {"inputs": {"input": "{'city': 'Paris', 'days': 2, 'metric': <Unit.C: 1>}"}},
        {"inputs": {"input": "changed by the tool"}, "extra": {"tool_call_id": "c1"}},
        {"inputs": {"city": "Paris", "days": 2, "metric": True}},
    ],
)
def test_a_failed_tool_run_of_langsmith_is_one_call(tool: dict[str, Any]) -> None:
    run = read(langsmith_runs(tool))
    (call,) = calls(run)
    assert call.arguments == {"city": "Paris", "days": 2, "metric": True}
    assert call.error
    (result,) = AgentEvaluator(measures=["errors"]).evaluate([run])
    assert result.scores == {"errors": 1}


@pytest.mark.parametrize("tool", ["transfer_to_weather", "escalate"])
def test_a_handoff_in_a_generation_span_is_one_step(tool: str) -> None:
    asked = {"role": "user", "content": "How is the weather?"}
    made = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    calling = {"role": "assistant", "content": None, "tool_calls": [made]}
    handed = {"role": "tool", "tool_call_id": "c1", "content": '{"assistant": "Weather"}'}
    final = {"role": "assistant", "content": "It rains."}

    def span(id: str, parent: str | None, second: int, **data: object) -> dict[str, Any]:
        return {
            "object": "trace.span",
            "id": id,
            "trace_id": "t",
            "parent_id": parent,
            "started_at": f"2026-01-01T00:00:0{second}",
            "ended_at": f"2026-01-01T00:00:0{second + 1}",
            "span_data": data,
            "error": None,
        }

    run = read(
        [
            {"object": "trace", "id": "t", "workflow_name": "w"},
            span("a", None, 0, type="agent", name="Triage", tools=[], handoffs=["Weather"]),
            span("g1", "a", 1, type="generation", input=[asked], output=[calling]),
            span("h", "a", 2, type="handoff", from_agent="Triage", to_agent="Weather"),
            span("b", None, 3, type="agent", name="Weather", tools=["get_weather"]),
            span("g2", "b", 4, type="generation", input=[asked, calling, handed], output=[final]),
        ]
    )
    assert [(step.kind, step.actor) for step in run.steps] == [
        ("said", "user"),
        ("handed over", "Triage"),
        ("said", "Weather"),
    ]
    assert run.steps[1].text == "Weather"


def smolagents_trace() -> dict[str, Any]:
    """A code agent as OpenInference records it: the model is told its calls and results as texts,
    in its own conversation and in that of a planner. The first call fails, the second one prints
    something and then fails.
    """

    def text(role: str, said: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": said}]}

    def called(number: int) -> dict[str, Any]:
        function = {"name": "python_interpreter", "arguments": f"print({number})"}
        made = [{"id": f"call_{number}", "type": "function", "function": function}]
        return text("tool-call", f"Calling tools:\n{made}")

    told = [
        text("user", "New task:\nAdd."),
        text("assistant", "Thought: one\n```py\nprint(1)\n```<end_code>"),
        called(1),
        text("tool-response", "Call id: call_1\nError:\nCode execution failed: NameError"),
        text("assistant", "Thought: two\n```py\nprint(2)\n```<end_code>"),
        called(2),
        text("tool-response", "Call id: call_2\nObservation:\nExecution logs:\n2"),
        text("tool-response", "Call id: call_2\nError:\nCode parsing failed: SyntaxError"),
    ]
    asked = [told[:1], told[:4], told, [text("user", "Here are the facts."), *told[1:]]]
    replies = [
        "Thought: one\n```py\nprint(1)\n```",
        "Thought: two\n```py\nprint(2)\n```",
        "3",
        "ok",
    ]
    models = [
        {
            "trace_id": "t",
            "span_id": f"m{place}",
            "parent_span_id": f"s{place}",
            "span_name": "LiteLLMModel.__call__",
            "timestamp": f"2026-01-01T00:00:0{2 * place + 2}Z",
            "duration": "PT1S",
            "status_code": "Ok",
            "status_message": "",
            "span_attributes": {
                "openinference.span.kind": "LLM",
                "input.value": json.dumps({"messages": messages}),
                "output.value": json.dumps({"role": "assistant", "content": reply}),
            },
            "events": [],
            "child_spans": [],
        }
        for place, (messages, reply) in enumerate(zip(asked, replies, strict=True))
    ]
    return {
        "trace_id": "t",
        "spans": [
            {
                "trace_id": "t",
                "span_id": f"s{place}",
                "parent_span_id": None,
                "span_name": f"Step {place + 1}",
                "timestamp": f"2026-01-01T00:00:0{2 * place + 1}Z",
                "duration": "PT2S",
                "status_code": "Error" if place < 2 else "Ok",
                "status_message": "AgentExecutionError: failed" if place < 2 else "",
                "span_attributes": {"openinference.span.kind": "CHAIN"},
                "events": [],
                "child_spans": [model],
            }
            for place, model in enumerate(models)
        ],
    }


def test_failed_code_of_smolagents_is_a_failed_call_that_counts_once() -> None:
    run = read(smolagents_trace())
    assert [(call.name, call.result, call.error) for call in calls(run)] == [
        (
            "python_interpreter",
            "Code execution failed: NameError",
            "Code execution failed: NameError",
        ),
        (
            "python_interpreter",
            "Execution logs:\n2\nCode parsing failed: SyntaxError",
            "Code parsing failed: SyntaxError",
        ),
    ]
    (result,) = AgentEvaluator(measures=["errors", "repeats"]).evaluate([run])
    assert result.scores == {"errors": 2, "repeats": 0}
    assert sum("Thought: one" in step.text for step in run.steps) <= 2
