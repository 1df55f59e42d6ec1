"""Ragas: result tables (``result.to_pandas()``, experiments) as CSV, JSON or JSONL, and annotations of verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjudge.importers.format import Format
from adjudge.importers.record import FAIL, PASS, Asked, Left, Mark, Recorded, RecordedVote, pass_or_fail
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, mapping, number, parsed, text, without

_ANSWERS = ("response", "answer", "multi_responses")
_QUESTIONS = ("user_input", "question")
_SAMPLE = (
    *_ANSWERS,
    *_QUESTIONS,
    *("retrieved_contexts", "reference_contexts", "reference", "rubrics", "contexts", "ground_truth", "ground_truths"),
    *(
        "retrieved_context_ids",
        "reference_context_ids",
        "reference_tool_calls",
        "reference_topics",
        "persona_name",
        "query_style",
    ),
    *("query_length", "synthesizer_name", "id", "index", "episode_done", "Unnamed: 0", "", "name", "timestamp", "row_id"),
    "column 1",  # what a first column without a name is called: the rows' numbers, as pandas writes them
)
_TEXTS = _SAMPLE[:12]


def _matches(head: Head) -> bool:
    if head.form == "object":
        return any("metric_input" in mapping(head.at(name)) for name in head.document)
    record = head.record
    if head.has("metric_input", "is_accepted") or head.has("metric", "is_accepted", "judge_verdict"):
        return True
    turns = isinstance(parsed(record.get("user_input")), list) or text(record.get("user_input")).startswith("[HumanMessage(")
    known = turns or (any(name in record for name in _QUESTIONS) and any(name in record for name in _ANSWERS))
    ragas = (
        turns
        or head.has("user_input", "response")
        or "retrieved_contexts" in record
        or head.has("question", "answer", "contexts")
    )
    return known and ragas and any(_is_metric(name, value) for name, value in record.items())


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    if head.form == "object":
        for name in head.document:
            yield from _annotations(file, left, name)
    elif "is_accepted" in head.record:
        yield from _annotations(file, left, "")
    else:
        yield from _table(file, left)


# -- results -------------------------------------------------------------------------


def _table(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    metrics = _metrics(file)
    left.use({**dict.fromkeys(metrics, "votes"), "user_input": "user_input", "response": "response"})
    for place, record in enumerate(file.records()):
        for metric in metrics:
            points = number(record.get(metric))
            vote = (
                RecordedVote().failed("NaN: the metric ended without a number") if points is None else RecordedVote(answer=points)
            )
            yield Recorded(
                judge=metric,
                asked=Asked(metric, f"{metric}, a metric of Ragas.", "rating"),
                fields=_fields(record),
                id=text(first(record, "id", "row_id")) or f"row {place + 1}",
                votes=(vote,),
                more=without(record, *metrics, *_SAMPLE),
            )


def _metrics(file: ForeignFile) -> list[str]:
    """The columns that hold numbers and are no part of the sample: a metric may have failed on the first rows."""
    numeric: dict[str, None] = {}
    other: set[str] = set()
    for record in file.records():
        for name, value in record.items():
            if name in _SAMPLE or value in (None, ""):
                continue
            if _is_number(value):
                numeric[name] = None
            else:
                other.add(name)
    return [name for name in numeric if name not in other]


def _is_metric(name: str, value: object) -> bool:
    return name not in _SAMPLE and (_is_number(value) or value in (None, ""))


def _is_number(value: object) -> bool:
    """NaN is one."""
    try:
        float(value)  # type: ignore[arg-type]  # whatever it is, it is asked
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def _fields(record: Mapping[str, object]) -> dict[str, str | tuple[str, ...]]:
    parts = {name: parsed(record[name]) for name in _TEXTS if record.get(name)}
    turns = parts.get("user_input")
    if isinstance(turns, list) and "response" not in parts:  # what is judged is the conversation
        parts["response"] = "\n".join(_turn(one) for one in turns)
        del parts["user_input"]
    answer = parts.pop("answer", None) if "response" not in parts else None
    return fields_of({**parts, **({"response": answer} if answer else {})}) or {"response": ""}


def _turn(one: object) -> str:
    said = mapping(one)
    return f"{text(first(said, 'type', 'role'))}: {text(said.get('content'))}" if said else text(one)


# -- annotations ---------------------------------------------------------------------


def _annotations(file: ForeignFile, left: Left, metric: str) -> Iterator[Recorded]:
    """Verdicts that people accepted or corrected: both the judge's and theirs are there."""
    left.use({"metric_output": "votes", "is_accepted": "labels", "edited_output": "labels", "target": "labels"})
    paths = ((metric,),) if metric else ()
    binary = all(_verdict(one) in (0, 1, None) for one in file.records(*paths))
    for place, record in enumerate(file.records(*paths)):
        name = metric or text(record.get("metric")) or "metric"
        yield _annotated(name, record, binary, place, left)


def _annotated(name: str, record: Mapping[str, object], binary: bool, place: int, left: Left) -> Recorded:
    said, theirs = _verdict(record), _corrected(record, binary)
    asked = pass_or_fail(name) if binary else Asked(name, kind="rating")
    if theirs is None and record.get("is_accepted") is not True:
        left.out("annotation that rejects a verdict and gives no other")
    marks = () if theirs is None else (Mark(answer=_answer(theirs, binary), judge_visible=True, note=_note(record)),)
    why = text(record.get("judge_reason")) or text(mapping(_output(record)).get("reason")) or None
    vote = (
        RecordedVote().failed("the metric has no output")
        if said is None
        else RecordedVote(answer=_answer(said, binary), explanation=why)
    )
    return Recorded(
        judge=name,
        asked=asked,
        fields=fields_of(mapping(first(record, "metric_input", "input"))) or {"response": ""},
        id=text(record.get("id")) or f"{name} {place + 1}",
        votes=(vote,),
        marks=marks,
        more=without(record, "metric_input", "input", "id", "is_accepted"),
    )


def _answer(value: float, binary: bool) -> str | float:
    return (PASS if value else FAIL) if binary else value


def _verdict(record: Mapping[str, object]) -> float | None:
    return number(first(record, "metric_output", "judge_verdict"))


def _corrected(record: Mapping[str, object], binary: bool) -> float | None:
    if record.get("is_accepted") is True:
        return _verdict(record)
    edited = mapping(_edited(record)).get("verdict")
    value = number(first(record, "target")) if record.get("target") is not None else number(edited)
    said = _verdict(record)
    return 1 - said if value is None and binary and said is not None else value


def _prompt(record: Mapping[str, object]) -> Mapping[str, object]:
    return next((mapping(one) for one in mapping(record.get("prompts")).values()), {})


def _output(record: Mapping[str, object]) -> object:
    return _prompt(record).get("prompt_output")


def _edited(record: Mapping[str, object]) -> object:
    return record.get("edited_output") or _prompt(record).get("edited_output")


def _note(record: Mapping[str, object]) -> str:
    return text(mapping(_edited(record)).get("reason"))


RAGAS = Format("ragas", "Ragas results or annotations", "ragas 0.4.3", _matches, _read)
