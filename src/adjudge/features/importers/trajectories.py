"""Recorded runs of agents and their labels: rewards of tau-bench and tau2, and annotations of
Who&When, TRAIL, MAST and AgentRewardBench.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.json_types import JsonObject, JsonValue, object_in, objects_in
from adjudge.errors import RunError
from adjudge.features.agents.traces.files import placed_traces
from adjudge.features.agents.traces.row import TraceRow
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    NAMED_BY_ID,
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    as_verdict,
    pass_or_fail,
)
from adjudge.features.importers.source import ForeignFile, Head
from adjudge.features.importers.values import number, text
from adjudge.messages import Message

_REWARD = pass_or_fail("reward", "Was the task solved, by the state at the end?")
_BLAME = RecordedQuestion("blame", "Which step made the run fail first?")
_AGENT = RecordedQuestion("blame_agent", "Which agent made the run fail?")
_YES_OR_NO = (CriteriaOption("yes", score=0.0), CriteriaOption("no", score=1.0))
_STARS = (0.0, 5.0)
_Rows = Callable[[ForeignFile, ImportLog], Iterator[RecordedRow]]


def _row(
    place: str, trace: TraceRow, question: RecordedQuestion, mark: Mark | None, *taken: str
) -> RecordedRow:
    columns = trace.columns
    return RecordedRow(
        question=question,
        fields={"response": "", **trace.trajectory.fields},
        id=text(columns["id"]) if columns.get("id") is not None else place,
        marks=() if mark is None else (mark,),
        more={name: value for name, value in columns.items() if name not in ("id", *taken)},
    )


def _traces(file: ForeignFile, format: str) -> Iterator[tuple[str, TraceRow]]:
    return placed_traces(file.path, format, on_bad_row=file.refuse)


def _read_rewards(format: str) -> _Rows:
    def read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
        log.use({"reward": "labels", "messages": "steps"})
        for place, trace in _traces(file, format):
            reward = number(trace.columns.get("reward"))
            mark = (
                None if reward is None else Mark(answer=as_verdict(reward >= 1), annotator=format)
            )
            yield _row(place, trace, _REWARD, mark)

    return read


def _read_blame(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"history": "steps", "mistake_step": "labels of blame"})
    log.use({"mistake_agent": "labels of blame_agent"})
    log.note(Message("steps are counted from 1 here, but from 0 in the file"))
    for place, trace in _traces(file, "who-and-when"):
        columns = trace.columns
        step, note = number(columns.get("mistake_step")), text(columns.get("mistake_reason"))
        marks = {
            _BLAME: None if step is None else str(int(step) + 1),
            _AGENT: text(columns.get("mistake_agent")) or None,
        }
        for question, answer in marks.items():
            mark = None if answer is None else Mark(answer=answer, note=note)
            yield _row(place, trace, question, mark)


def _read_mast(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"trajectory": "steps", "note.options": "labels"})
    for place, trace in _traces(file, "mast"):
        for kind, value in object_in(trace.columns.get("labels")).items():
            answer = text(value).strip().lower()
            if answer not in ("yes", "no"):
                log.skip(Message("{answer!r} is neither yes nor no", answer=answer))
                continue
            question = RecordedQuestion(kind, options=_YES_OR_NO, higher_is_better=False)
            yield _row(place, trace, question, Mark(answer=answer), "labels")


def _read_trail(files: Sequence[ForeignFile], log: ImportLog) -> Iterator[RecordedRow]:
    """Yield rows from traces, joined with the annotation files of the same names."""
    log.use({"spans": "steps", "scores": "labels", "errors": "errors, with their steps"})
    notes = {file.path.stem: file for file in files if not _is_trace(file.head)}
    for file in files:
        if not _is_trace(file.head):
            continue
        note = notes.pop(file.path.stem, None)
        for place, trace in _traces(file, "trail"):
            if note is None:
                log.skip(Message("a trace without annotations"))
                continue
            yield from _score_rows(place, trace, note)
    for _ in notes:
        log.skip(Message("annotations without their trace"))


def _score_rows(place: str, trace: TraceRow, note: ForeignFile) -> Iterator[RecordedRow]:
    document = note.document(("errors",), ("scores",)).raw
    steps = {step.source: step.number for step in trace.trajectory.steps if step.source}
    errors: list[JsonValue] = [
        {**error, "step": steps.get(text(error.get("location")))}
        for error in objects_in(document.get("errors"))
    ]
    trace_with_errors = TraceRow(trace.trajectory, {**trace.columns, "errors": errors})
    for scores in objects_in(document.get("scores")):
        for name, value in scores.items():
            points = number(value)
            if points is not None:
                question = RecordedQuestion(
                    name.removesuffix("_score"), kind="rating", bounds=_STARS
                )
                yield _row(place, trace_with_errors, question, Mark(answer=points))


# Column → what was asked.
_REWARDS: Mapping[str, RecordedQuestion] = {
    "trajectory_success": RecordedQuestion(
        "goal",
        "Did the agent reach the goal?",
        options=(
            CriteriaOption("Successful", score=1.0),
            CriteriaOption("Unsuccessful", score=0.0),
        ),
    ),
    "trajectory_side_effect": RecordedQuestion(
        "side_effect", options=_YES_OR_NO, higher_is_better=False
    ),
    "trajectory_looping": RecordedQuestion("loop", options=_YES_OR_NO, higher_is_better=False),
    "trajectory_optimality": RecordedQuestion(
        "optimality",
        options=(
            CriteriaOption("1. Complete Failure", score=0.0),
            CriteriaOption("2. Suboptimal", score=1 / 3),
            CriteriaOption("3. Somewhat Optimal", score=2 / 3),
            CriteriaOption("4. Completely Optimal", score=1.0),
        ),
    ),
}


def _reward_marks(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    """Yield people's labels on agent runs whose texts are not in the file."""
    log.use(dict.fromkeys(_REWARDS, "labels"))
    log.note(NAMED_BY_ID)
    labelled: set[str] = set()
    for record in file.records():
        id = f"{record.text('exp_name')}, {record.text('task_id')}"
        annotator = record.text("annotator_name").strip() or "annotator"
        for column, question in _REWARDS.items():
            answer = record.text(column).strip()
            names = {option.name.lower(): option.name for option in question.options}
            if answer.lower() not in names:
                log.skip(Message("{answer!r} is not a valid answer", answer=answer))
                continue
            yield RecordedRow(
                question=question,
                fields={"response": id},
                id=id,
                marks=(Mark(answer=names[answer.lower()], annotator=annotator),),
                named_only=True,
                # The first annotator of a run brings its row; later ones only add labels.
                only_marks=f"{column} {id}" in labelled,
                more=record.rest("annotator_name", *_REWARDS),
            )
            labelled.add(f"{column} {id}")


def _refuse_expected_calls(file: ForeignFile, log: ImportLog) -> NoReturn:  # noqa: ARG001
    raise RunError(
        "{name} contains the calls that BFCL expects but no runs, so there is nothing to import: "
        "give it as expect, with the traces of your agent",
        name=file.name,
    )


def _refuse_half(file: ForeignFile, log: ImportLog) -> NoReturn:  # noqa: ARG001
    raise RunError(
        "{name} is only half of TRAIL: give the folder with both traces and annotations",
        name=file.name,
    )


def _is_trace(head: Head) -> bool:
    return head.at("spans").has("span_attributes", "child_spans")


def _is_annotation(head: Head) -> bool:
    errors, scores = head.at("errors"), head.at("scores")
    return scores.has("reliability_score") or errors.has("category", "location", "evidence")


def _first(head: Head) -> JsonObject:
    return (head.record or head.document).raw


TAU_BENCH = Format(
    "tau-bench",
    Message("tau-bench trajectories"),
    "sierra-research/tau-bench 59a200c",
    lambda head: head.has("task_id", "reward", "traj"),
    _read_rewards("tau-bench"),
)
TAU2 = Format(
    "tau2",
    Message("tau2-bench results"),
    "sierra-research/tau2-bench a2c0247",
    lambda head: head.at("simulations").has("messages", "task_id"),
    _read_rewards("tau2"),
)
WHO_AND_WHEN = Format(
    "who-and-when",
    Message("Who&When logs"),
    "ag2ai/Agents_Failure_Attribution f4d2b6d",
    lambda head: {"history", "mistake_agent", "mistake_step"} <= _first(head).keys(),
    _read_blame,
)
MAST = Format(
    "mast",
    Message("MAST traces"),
    "multi-agent-systems-failure-taxonomy/MAST 77b76fe",
    lambda head: "trajectory" in _first(head) and head.at("note").has("options"),
    _read_mast,
)
TRAIL = Format(
    "trail",
    Message("TRAIL traces and annotations"),
    "patronus-ai/trail-benchmark 0ffbed9",
    lambda head: _is_trace(head) or _is_annotation(head),
    _refuse_half,
    _read_trail,
)
AGENT_REWARD_BENCH = Format(
    "agent-reward-bench",
    Message("AgentRewardBench annotations"),
    "McGill-NLP/agent-reward-bench ea58fb5",
    lambda head: head.has("annotator_name", "task_id", "exp_name", *_REWARDS),
    _reward_marks,
)
BFCL = Format(
    "bfcl",
    Message("BFCL expected calls"),
    "ShishirPatil/gorilla 6ea5797",
    lambda head: head.has("id", "ground_truth") and not head.record.has("question"),
    _refuse_expected_calls,
)
