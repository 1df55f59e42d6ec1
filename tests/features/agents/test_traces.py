"""Traces of agents are read as trajectories, or refused by name, never read as rows; chats among
them are chats.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import DirectJudge, SetupError
from adjudge.core.data.conversations import turns_of
from adjudge.core.data.dataset import field_names, read_comparisons, read_instances
from adjudge.errors import RunError
from adjudge.features.importers.importing import ImportOptions, import_file
from support.commands import adjudge

SAMPLES = Path(__file__).parents[2] / "samples" / "agents"
TRACES = {
    "openai-responses-items.json": "items of OpenAI's Responses API",
    "langfuse-observations-v2.json": "observations of Langfuse",
    "crewai-output.json": "outputs of CrewAI",
    "crewai-log.json": "a log of CrewAI",
}
CALL = '[tool call: get_weather(city="Paris")]'


def sample(name: str) -> object:
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "what"), TRACES.items())
def test_four_traces_are_refused_by_name_and_not_judged_row_by_row(
    tmp_path: Path, name: str, what: str
) -> None:
    path = SAMPLES / name
    skipped: list[object] = []
    with pytest.raises(RunError, match=f"{name} contains {what}.*not rows to judge"):
        list(read_instances(path, on_bad_row=skipped.append))
    with pytest.raises(RunError, match=what):
        list(read_comparisons(path, on_bad_row=skipped.append))
    with pytest.raises(RunError, match=what):
        field_names(path)
    assert not skipped
    done = adjudge(
        "judge", "--file", path, "--criterion", "Is it good?", "-m", "scripted", cwd=tmp_path
    )
    refused = name == "crewai-log.json"
    assert (done.returncode, what in done.stderr) == ((1, True) if refused else (0, False))


@pytest.mark.parametrize(("name", "what"), TRACES.items())
@pytest.mark.parametrize("kind", [None, "langfuse"])
def test_an_import_refuses_the_same_traces_by_name(
    tmp_path: Path, name: str, what: str, kind: str | None
) -> None:
    with pytest.raises(RunError, match=what):
        import_file(SAMPLES / name, tmp_path / "run", ImportOptions(kind))


@pytest.mark.parametrize("said", ["", ", as: crewai", ", as: atif"])
def test_an_eval_file_judges_trajectories(tmp_path: Path, said: str) -> None:
    path = tmp_path / "eval.yaml"
    judges = "models: [scripted]\njudges: [{kind: direct, criteria: ['Is it good?']}]\n"
    trace = SAMPLES / "crewai-output.json"
    path.write_text(f"data: {{path: {trace}{said}}}\n{judges}", encoding="utf-8")
    done = adjudge("run", path, "--run", "one", cwd=tmp_path)
    if said.endswith("atif"):
        assert (done.returncode, "not recognised as atif" in done.stderr) == (1, True), done.stderr
        return
    assert done.returncode == 0, done.stderr
    kept = adjudge("export", "one", "--to", "jsonl", "-o", "-", cwd=tmp_path)
    assert "It is 18 degrees and sunny in Paris." in kept.stdout, kept.stderr
    again = adjudge("run", path, "--run", "one", cwd=tmp_path)
    assert (again.returncode, "0 calls" in again.stdout or "already" in again.stdout) == (0, True)


def test_python_refuses_a_list_of_steps_as_what_is_judged() -> None:
    items = sample("openai-responses-items.json")
    with pytest.raises(SetupError, match="items of OpenAI's Responses API"):
        DirectJudge(lambda prompt: "{}").evaluate(items, "Is it good?")  # type: ignore[call-overload]
    with pytest.raises(RunError, match="items of OpenAI's Responses API"):
        list(read_instances(items))  # type: ignore[arg-type]


def test_steps_that_have_a_text_each_are_not_read_as_rows_either(tmp_path: Path) -> None:
    steps = sample("vercel-ai-steps.json")["steps"]  # type: ignore[index]
    responses = [
        {
            "id": "resp_1",
            "object": "response",
            "output": [{"type": "message", "role": "assistant", "content": []}],
        }
    ]
    for rows, what in (
        (sample("swe-agent.traj")["trajectory"], "steps of SWE-agent"),  # type: ignore[index]
        (steps, "steps of the Vercel AI SDK"),
        (responses, "items of OpenAI's Responses API"),
    ):
        path = tmp_path / "rows.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        with pytest.raises(RunError, match=what):
            list(read_instances(path))


def test_rows_that_merely_name_a_type_or_an_agent_are_rows() -> None:
    rows = [
        {"type": "function_call", "response": "a", "agent": "b", "status": "done", "task": "c"},
        {"action": "look", "observation": "seen", "response": "a", "traceId": "t"},
    ]
    assert len(list(read_instances(rows))) == 2


def test_a_message_that_only_calls_a_tool_does_not_make_its_log_no_chat() -> None:
    messages = sample("chat-completions.json")["messages"]  # type: ignore[index]
    assert "content" not in messages[2]
    (row,) = read_instances([{"messages": messages}])
    assert row.fields["response"] == "It is 18 degrees and sunny in Paris."
    assert row.fields["user_input"] == "What is the weather in Paris?"
    assert CALL in str(row.fields["history"])


@pytest.mark.parametrize("name", ["langgraph-state.json", "langchain-messages-to-dict.json"])
def test_messages_of_langchain_are_a_chat(name: str) -> None:
    found = sample(name)
    messages = found["messages"] if isinstance(found, dict) else found
    (row,) = read_instances([{"id": "one", "messages": messages}])
    assert row.fields["response"] == "It is 18 degrees and sunny in Paris."
    assert row.fields["user_input"] == "What is the weather in Paris?"
    assert str(row.fields["history"]).splitlines() == [
        "human: What is the weather in Paris?",
        f"ai: {CALL}",
        'tool: {"temp": 18}',
    ]
    (turn,) = turns_of(row)
    assert turn.fields["response"] == row.fields["response"]


def test_a_tools_result_in_the_users_name_is_not_the_question() -> None:
    """Anthropic's messages return what a tool said as the user's."""
    (row,) = read_instances([{"messages": sample("anthropic-messages.json")["messages"]}])  # type: ignore[index]
    assert row.fields["user_input"] == "What is the weather in Paris?"
    assert row.fields["response"] == "It is 18 degrees and sunny in Paris."
    assert "[tool result: " in str(row.fields["history"])


def test_samples_of_an_inspect_log_are_imported_and_not_judged_as_json(tmp_path: Path) -> None:
    log = json.loads(
        (SAMPLES.parent / "imports" / "inspect_0.3.285.json").read_text(encoding="utf-8")
    )
    path = tmp_path / "log.json"
    path.write_text(
        json.dumps(
            {key: value for key, value in log.items() if key in ("version", "eval", "samples")}
        ),
        encoding="utf-8",
    )
    with pytest.raises(RunError, match=r"samples of an Inspect log.*adjudge import"):
        list(read_instances(path))
