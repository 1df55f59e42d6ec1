"""Import conversations of other tools: tau2-bench, tau-bench, Scenario, deepeval, ADK, and any
trace of an agent in which a user speaks.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from adjudge.core.checks.language import language_of
from adjudge.core.data.dataset import OddRows
from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in, objects_in
from adjudge.core.reading.foreign_values import arguments_of
from adjudge.errors import RunError, WrongData
from adjudge.features.agents.traces.files import placed_traces
from adjudge.features.agents.traces.reader import trajectory_of
from adjudge.features.agents.traces.row import TraceRow
from adjudge.features.agents.trajectory import ToolCall, Trajectory
from adjudge.features.conversations.conversation import Conversation, End, Turn
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.stored_conversation import StoredConversation
from adjudge.features.conversations.user import read_message
from adjudge.messages import Message

_LARGEST = 200_000_000
_ENDS: Mapping[str, End] = {
    "user_stop": "user stopped",
    "agent_stop": "agent stopped",
    "max_steps": "turn limit",
    "too_many_errors": "application failed",
    "agent_error": "agent stopped",
    "user_error": "user broken",
    "timeout": "application failed",
    "context_window_exceeded": "application failed",
    "infrastructure_error": "application failed",
    "unexpected_error": "application failed",
}
"""Ends of tau2-bench."""
_PASSED: Mapping[str, bool | None] = {
    "success": True,
    "failure": False,
    "passed": True,
    "failed": False,
    "inconclusive": None,
    "1": True,
    "2": False,
}
_Reader = Callable[[JsonValue], Iterator[StoredConversation]]


def holds_conversations(path: Path) -> bool:
    """Return True if a path holds conversations: a folder that is not empty, or JSON that is not
    scenarios.

    A list under ``scenarios``, or objects that all have a goal, are scenarios.
    """
    if path.is_dir():
        return any(path.iterdir())
    if not _is_json(path):
        return False
    try:
        content = _read_json(path)
    except (OSError, ValueError):
        return False  # the reader of scenarios says what is wrong
    # a file of scenarios with their list under a key
    if isinstance(content, Mapping) and "scenarios" in content:
        return False
    rows = objects_in(content)
    return not (rows and all("goal" in row for row in rows))


def read_conversations(
    path: Path, format: str | None, tell: Callable[[OddRows], None]
) -> Iterator[StoredConversation]:
    """Yield the conversations in a file; those that cannot be read are passed to ``tell``."""
    if format is None and path.is_file() and _is_json(path):
        content = _read_json(path)
        for reader in (_of_scenario, _of_deepeval, _of_adk_results):
            first_conversation = next(reader(content), None)
            if first_conversation is not None:
                # begins again, since the first conversation was taken from the reader
                yield from reader(content)
                return
    for place, row in placed_traces(path, format, on_bad_row=tell):
        conversation = _of_trace(place, row)
        if isinstance(conversation, BadRow):
            tell(conversation)
        else:
            yield conversation


def _is_json(path: Path) -> bool:
    name = path.name.removesuffix(".gz").lower()
    return name.endswith((".json", ".jsonl", ".ndjson"))


def _read_json(path: Path) -> JsonValue:
    if path.stat().st_size > _LARGEST:
        raise WrongData("{path} is larger than {most} MB", path=path, most=_LARGEST // 1_000_000)
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    try:
        content: JsonValue = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    # older versions of ADK write a JSON text of the JSON text
    return json.loads(content) if isinstance(content, str) else content


# -- traces of agents: tau2-bench, tau-bench, ADK sessions, chats ------------------------


def _of_trace(place: str, row: TraceRow) -> StoredConversation | BadRow:
    columns = row.columns
    id = columns.get("task_id", columns.get("id"))
    conversation = of_trajectory(row.trajectory)
    if not conversation.spoken_by("user"):
        return BadRow(place, Message("there is no message from the user"))
    task = columns.get("task")
    has_task = isinstance(task, str) and bool(task.strip())
    goal = str(task) if has_task else row.trajectory.goal
    reward = columns.get("reward")
    passed = reward >= 1 if isinstance(reward, int | float) else None
    trial = columns.get("trial")
    more: JsonDict = {} if reward is None else {"reward": reward}
    return StoredConversation(
        _scenario(str(id) if id is not None else place, goal or "–", place, is_complete=has_task),
        conversation,
        int(trial) + 1 if isinstance(trial, int) else 1,
        "",
        passed,
        more,
    )


def _scenario(
    id: str, goal: str, place: str, *, is_complete: bool = True, **more: JsonValue
) -> Scenario:
    """Build a scenario whose prose is its goal, without splitting it into facts.

    ``is_complete=False``: the file does not say what the user knew, so facts are not checked.
    """
    language = "ru" if language_of(goal) == "ru" else "en"
    # one character that no file can have must not stop the conversations of a whole file
    id, goal = (
        text.replace("\0", "\ufffd").encode(errors="replace").decode() for text in (id, goal)
    )
    row: JsonDict = {"id": id, "goal": goal, "tells_all": True, "language": language, **more}
    return Scenario.of(row if is_complete else {**row, "open_facts": True}, place)


def of_trajectory(run: Trajectory) -> Conversation:
    """Convert a run to a conversation, with the calls before each of the agent's messages."""
    turns: list[Turn] = []
    calls: list[ToolCall] = []
    end: End = _ENDS.get(run.ended or "", "unknown")

    def add(speaker: str, text: str, seconds: float | None = None) -> None:
        is_user = speaker == "user"
        turns.append(
            Turn(
                number=len(turns) + 1,
                speaker="user" if is_user else "agent",
                text=text,
                calls=() if is_user else tuple(calls),
                seconds=seconds,
            )
        )
        if not is_user:
            calls.clear()

    for step in run.steps:
        if step.call is not None and step.actor != "user":
            calls.append(step.call)
        elif step.kind == "said" and step.actor == "user":
            if calls:
                # the agent may have called tools and said nothing before the user went on
                add("agent", "")
            message = read_message(step.text)
            # tau2-bench's users end a conversation by a mark in their last message
            end = message.end or end
            if message.text or not message.end:
                add("user", message.text)
        elif step.kind == "said":
            add("agent", step.text, step.seconds)
    if calls:
        add("agent", "")
    return Conversation(turns=tuple(turns), ended=end, user="recorded")


# -- Scenario (langwatch) ----------------------------------------------------------------


def _of_scenario(content: JsonValue) -> Iterator[StoredConversation]:
    events = objects_in(
        object_in(content).get("events") if isinstance(content, Mapping) else content
    )
    runs: dict[str, dict[str, JsonObject]] = {}
    started_runs = 0
    for event in events:
        kind = str(event.get("type", ""))
        if kind.startswith("SCENARIO_"):
            started_runs += kind == "SCENARIO_RUN_STARTED"
            name = _either(event, "scenario_run_id", "scenarioRunId")
            # without ids, the events of a run follow its start
            runs.setdefault(f"run {started_runs}" if name is None else str(name), {})[kind] = event
    trials: dict[str, int] = {}
    for name, events_by_kind in runs.items():
        started = events_by_kind.get("SCENARIO_RUN_STARTED", {})
        about = object_in(started.get("metadata"))
        id = str(about.get("name") or _either(started, "scenario_id", "scenarioId") or name)
        trials[id] = trials.get(id, 0) + 1
        finished = events_by_kind.get("SCENARIO_RUN_FINISHED", {})
        results = object_in(finished.get("results"))
        status = str(finished.get("status", "")).casefold()
        messages = objects_in(events_by_kind.get("SCENARIO_MESSAGE_SNAPSHOT", {}).get("messages"))
        conversation = (
            of_trajectory(trajectory_of([_as_chat(message) for message in messages]))
            if messages
            else _EMPTY
        )
        passed: bool | None = None
        if status not in ("success", "failed"):
            end: End = "application failed" if status == "error" else "unknown"
            detail = str(results.get("error") or results.get("reasoning") or "")
            conversation = replace(conversation, ended=end, detail=detail)
        else:
            verdict = str(results.get("verdict") or status).casefold()
            # Scenario writes "failure" even if its judge could decide none of the open criteria
            if not _is_undecided(results):
                passed = _PASSED.get(verdict)
            # a status and a verdict that contradict each other say nothing
            if passed is not None and passed is not _PASSED[status]:
                passed = None
            reason = str(results.get("reasoning", ""))
            is_limit = not passed and _TURN_LIMIT.match(reason) is not None
            conversation = replace(
                conversation, ended="turn limit" if is_limit else "state reached"
            )
        yield StoredConversation(
            _scenario(id, str(about.get("description") or id), name),
            conversation,
            trials[id],
            "",
            passed,
            {"status": status} if status else {},
        )


_TURN_LIMIT = re.compile(r"Reached maximum turns \(\d+\)")
"""Scenario's own reason; a judge may write "maximum" too."""


def _as_chat(message: JsonObject) -> JsonDict:
    """Convert a snapshot's message to the field names of chats; content parts are JSON text
    there.
    """
    chat: JsonDict = dict(message)
    for name, chat_name in (("toolCalls", "tool_calls"), ("toolCallId", "tool_call_id")):
        if value := chat.pop(name, None):
            chat[chat_name] = value
    content = chat.get("content")
    if chat.get("role") != "tool" and isinstance(content, str) and content.startswith("[{"):
        try:
            parts = json.loads(content)
        except ValueError:
            return chat
        if isinstance(parts, list) and all(isinstance(part, dict) for part in parts):
            texts = [str(part["text"]) for part in parts if isinstance(part.get("text"), str)]
            if texts:
                chat["content"] = "\n".join(texts)
    return chat


def _is_undecided(results: JsonObject) -> bool:
    """Return True if all unmet criteria are ones that the judge could not decide.

    Scenario reports "failure" for these, too.
    """
    unmet, undecided = (
        _either(results, *names) or []
        for names in (
            ("unmetCriteria", "unmet_criteria"),
            ("inconclusiveCriteria", "inconclusive_criteria"),
        )
    )
    if not isinstance(unmet, list) or not isinstance(undecided, list):
        return False
    return bool(undecided) and all(criterion in undecided for criterion in unmet)


def _either(row: JsonObject, *names: str) -> JsonValue:
    return next((row[name] for name in names if row.get(name) is not None), None)


_EMPTY = Conversation(turns=(), ended="unknown", user="recorded")


# -- deepeval ----------------------------------------------------------------------------


_CASES = (
    "conversationalTestCases",
    "conversational_test_cases",
    "testCases",
    "test_results",
    "testResults",
)


_USER_ROLES = ("user", "human")


def _deepeval_rows(document: JsonValue) -> JsonValue:
    """Return the cases in a file: test cases, a test run, or the result of ``evaluate``."""
    if not isinstance(document, Mapping):
        return document
    content = object_in(document.get("testRunData") or document)
    if "turns" in content:
        return [dict(content)]
    return next((content[name] for name in _CASES if content.get(name)), None)


def _of_deepeval(document: JsonValue) -> Iterator[StoredConversation]:
    rows = objects_in(_deepeval_rows(document))
    if not any(_has_turns(case) for case in rows):
        return
    trials: dict[str, int] = {}
    for number, case in enumerate(rows, 1):
        id = str(case.get("name") or case.get("id") or f"case {number}")
        trials[id] = trials.get(id, 0) + 1
        converted: list[Turn] = []
        for turn in objects_in(case.get("turns")):
            converted.append(
                Turn(
                    number=len(converted) + 1,
                    speaker="user" if turn.get("role") in _USER_ROLES else "agent",
                    text=str(turn.get("content") or ""),
                    calls=tuple(_deepeval_calls(turn)),
                )
            )
        prose = case.get("scenario")
        persona = _either(case, "userDescription", "user_description")
        if persona is None:
            persona = object_in(case.get("metadata")).get("Persona")
        stop = _either(case, "expectedOutcome", "expected_outcome")
        context = case.get("context")
        more: JsonDict = {
            **({"persona": persona} if isinstance(persona, str) and persona.strip() else {}),
            **({"stop": stop} if isinstance(stop, str) and stop.strip() else {}),
            **({"context": {"context": context}} if context else {}),
        }
        opening = next((turn.text for turn in converted if turn.speaker == "user"), None)
        goal = str(prose or opening or id)
        yield StoredConversation(
            _scenario(id, goal, id, is_complete=isinstance(prose, str), **more),
            Conversation(turns=tuple(converted), ended="unknown", user="deepeval"),
            trials[id],
            "",
            _deepeval_outcome(case),
            {},
        )


def _has_turns(case: JsonObject) -> bool:
    turns = objects_in(case.get("turns"))
    return bool(turns) and all("role" in turn for turn in turns)


def _deepeval_outcome(case: JsonObject) -> bool | None:
    """Return the outcome; None if no metric was measured, all failed metrics have errors, or the
    case says something else than its metrics.
    """
    success = case.get("success")
    metrics = objects_in(_either(case, "metricsData", "metrics_data"))
    if not isinstance(success, bool) or not metrics:
        return None
    failed = [
        metric
        for metric in metrics
        if metric.get("success") is not True and metric.get("flaky") is not True
    ]
    if not success and failed and all(metric.get("error") for metric in failed):
        return None
    is_contradiction = (
        any(metric.get("success") is False for metric in failed) if success else not failed
    )
    return None if is_contradiction else success


def _deepeval_calls(turn: JsonObject) -> Iterator[ToolCall]:
    for call in objects_in(_either(turn, "tools_called", "toolsCalled")):
        output = call.get("output")
        arguments = _either(call, "input_parameters", "inputParameters")
        yield ToolCall(
            str(call.get("name", "unknown")),
            arguments_of(arguments or {}),
            None if output is None else output if isinstance(output, str) else json.dumps(output),
        )


# -- ADK ---------------------------------------------------------------------------------


def _of_adk_results(document: JsonValue) -> Iterator[StoredConversation]:
    content = object_in(document) if isinstance(document, Mapping) else {}
    trials: dict[str, int] = {}
    for case in objects_in(_either(content, "evalCaseResults", "eval_case_results")):
        session = object_in(_either(case, "sessionDetails", "session_details"))
        status = _either(case, "finalEvalStatus", "final_eval_status")
        id = str(_either(case, "evalId", "eval_id") or "case")
        trials[id] = trials.get(id, 0) + 1
        passed = _PASSED.get(str(status).casefold())
        conversation = _EMPTY
        try:
            conversation = of_trajectory(trajectory_of(dict(session))) if session else _EMPTY
        except RunError:
            if session.get("events"):
                # without its messages, nobody can tell whose fault the outcome was
                unread = Message("the messages of the session could not be read")
                passed, conversation = None, replace(_EMPTY, detail=unread)
        if not conversation.turns and not conversation.detail:
            # a case without events failed before anybody spoke
            conversation = replace(conversation, ended="application failed")
        # the plan of the simulated user is not in the file
        opening = next((turn.text for turn in conversation.spoken_by("user")), "")
        yield StoredConversation(
            _scenario(id, opening or id, id, is_complete=False),
            conversation,
            trials[id],
            "",
            passed,
            {},
        )
