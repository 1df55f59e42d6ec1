"""Import results of Ragas: tables (``result.to_pandas()``, experiments) as CSV, JSON or JSONL, and
annotations of verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    FAIL,
    PASS,
    ImportLog,
    Mark,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    as_verdict,
    pass_or_fail,
    rate,
)
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head, named_objects
from adjudge.features.importers.values import Json, Texts, fields_of, number, parse_cell, text
from adjudge.messages import Message

_ANSWERS = ("response", "answer", "multi_responses")
_QUESTIONS = ("user_input", "question")
_TEXTS = (
    *_ANSWERS,
    *_QUESTIONS,
    "retrieved_contexts",
    "reference_contexts",
    "reference",
    "rubrics",
    "contexts",
    "ground_truth",
    "ground_truths",
)
_SAMPLE = (
    *_TEXTS,
    "retrieved_context_ids",
    "reference_context_ids",
    "reference_tool_calls",
    "reference_topics",
    "persona_name",
    "query_style",
    "query_length",
    "synthesizer_name",
    "id",
    "index",
    "episode_done",
    "Unnamed: 0",
    "",
    "name",
    "timestamp",
    "row_id",
    # what a first column without a name is called: the rows' numbers, as pandas writes them
    "column 1",
)
_OF_ANSWERS = """
    faithfulness faithfulness_with_hhem answer_relevancy answer_correctness answer_similarity
    answer_accuracy factual_correctness semantic_similarity noise_sensitivity
    response_groundedness nv_accuracy nv_response_groundedness non_llm_string_similarity
    bleu_score rouge_score chrf_score exact_match string_present summary_score
"""
_OF_CONTEXTS = """
    context_precision context_recall context_relevance context_relevancy context_utilization
    context_entity_recall llm_context_precision_with_reference nv_context_relevance
    llm_context_precision_without_reference non_llm_context_precision_with_reference
    non_llm_context_recall id_based_context_precision id_based_context_recall
"""
_OF_OTHERS = """
    agent_goal_accuracy tool_call_accuracy topic_adherence domain_specific_rubrics
    instance_rubrics llm_sql_equivalence_with_reference harmfulness maliciousness coherence
    correctness conciseness
"""
# Ragas' own metrics. Such a column is a metric even without any number.
_METRICS = frozenset(f"{_OF_ANSWERS} {_OF_CONTEXTS} {_OF_OTHERS}".split())
_LESS_IS_BETTER = ("noise_sensitivity", "harmfulness", "maliciousness")
# Words in the names of columns that say what an answer took, or how it was made.
_TAKEN = re.compile(
    "latency|costs?|price|usd|tokens?|duration|time|elapsed|runtime|seconds|ms|seed|temperature"
    "|timestamp|epoch"
)
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+")


def _matches(head: Head) -> bool:
    if head.form == "object":
        return any("metric_input" in head.at(name) for name in head.document)
    record = head.record
    if head.has("metric_input", "is_accepted") or head.has(
        "metric", "is_accepted", "judge_verdict"
    ):
        return True
    user_input = record.value("user_input")
    is_conversation = isinstance(parse_cell(user_input), list) or text(user_input).startswith(
        "[HumanMessage("
    )
    has_sample = is_conversation or (record.has_any(*_QUESTIONS) and record.has_any(*_ANSWERS))
    has_ragas_columns = (
        is_conversation
        or record.has("user_input", "response")
        or record.has("retrieved_contexts")
        or record.has("question", "answer", "contexts")
    )
    return (
        has_sample
        and has_ragas_columns
        and any(_is_metric(name, record.value(name)) for name in record)
    )


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if file.head.form == "object":
        for name in file.head.document:
            yield from _annotations(file, log, name)
    elif file.head.has("is_accepted"):
        yield from _annotations(file, log, "")
    else:
        yield from _table(file, log)


# -- results -------------------------------------------------------------------------


def _table(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    metrics = _metrics(file, log)
    log.use({**dict.fromkeys(metrics, "votes"), "user_input": "user_input", "response": "response"})
    for record in file.records():
        for metric, question in metrics.items():
            yield RecordedRow(
                judge=metric,
                question=question,
                fields=_fields(record),
                id=record.name("id", "row_id"),
                votes=(_cell_vote(record.value(metric), question),),
                more=record.rest(*metrics, *_SAMPLE),
            )


def _cell_vote(value: Json, question: RecordedQuestion) -> RecordedVote:
    points, word, vote = number(value), text(value).strip(), RecordedVote()
    if question.kind == "choice":
        empty = Message("the cell is empty, because the metric returned no verdict")
        return vote.with_answer_or_failure(word.upper() or None, empty)
    if points is None:
        is_other_text = word and not _is_number(value)
        return vote.with_failure(
            Message("{value!r} is not a number", value=word)
            if is_other_text
            else Message("NaN, because the metric returned no number")
        )
    return vote.with_answer(points if question.higher_is_better else 1 - points)


def _metrics(file: ForeignFile, log: ImportLog) -> dict[str, RecordedQuestion]:
    """Return the question of each column that holds judgments; log the others."""
    # All rows are read: a metric may have failed on the first ones.
    columns: dict[str, _Column] = {}
    for record in file.records():
        for name, value in record.raw.items():
            if name not in _SAMPLE:
                columns.setdefault(name, _Column()).see(value)
    metrics: dict[str, RecordedQuestion] = {}
    for name, column in columns.items():
        question, reason = _question_in(name, column)
        if question is not None:
            metrics[name] = question
        elif reason:
            log.skip(reason)
        if question is not None and not question.higher_is_better:
            log.note(
                Message(
                    "{name}: less is better, so scores are inverted: 1 minus what Ragas recorded",
                    name=name,
                )
            )
    return metrics


@dataclass
class _Column:
    """The kinds of values in a column."""

    numbers: bool = False
    verdicts: bool = False
    others: bool = False

    def see(self, value: Json) -> None:
        """Note the kind of one more cell; empty cells are ignored."""
        if value in (None, ""):
            return
        if _is_number(value):
            self.numbers = True
        elif _is_verdict(value):
            self.verdicts = True
        else:
            self.others = True


def _question_in(name: str, column: _Column) -> tuple[RecordedQuestion | None, str]:
    """Return the question of a column, or the reason why it is not a judgment if it looks
    like one.
    """
    metric = name.partition("(")[0]
    about = f"{name}, a metric of Ragas."
    words = (word.casefold() for word in _WORDS.findall(name))
    if metric not in _METRICS and any(map(_TAKEN.fullmatch, words)):
        reason = Message("column {name!r}, which records time or cost, not quality", name=name)
        return None, reason if column.numbers else ""
    if column.verdicts and not column.numbers and not column.others:
        return pass_or_fail(name, about), ""
    if metric in _METRICS or (column.numbers and not column.others and not column.verdicts):
        less = metric in _LESS_IS_BETTER
        about += " Less of it is better." if less else ""
        return rate(name, about, less_is_better=less), ""
    if column.numbers:
        return None, Message(
            "column {name!r}, which contains both numbers and other values", name=name
        )
    empty = Message("column {name!r}, which is empty in every row", name=name)
    return None, "" if column.others else empty


def _is_metric(name: str, value: Json) -> bool:
    return name not in _SAMPLE and (_is_number(value) or value in (None, "") or _is_verdict(value))


def _is_verdict(value: Json) -> bool:
    return text(value).strip().upper() in (PASS, FAIL)


def _is_number(value: Json) -> bool:
    """Return True if the cell holds a number; NaN counts as one."""
    try:
        float(value)  # type: ignore[arg-type]  # whatever it is, it is asked
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def _fields(record: ForeignRecord) -> Texts:
    parts = {name: parse_cell(record.value(name)) for name in _TEXTS if record.value(name)}
    if "response" not in parts:
        turns = parts.get("user_input")
        if isinstance(turns, list):  # what is judged is the conversation
            parts["response"] = "\n".join(map(_turn, ForeignRecord(parts).values("user_input")))
            del parts["user_input"]
        elif answer := parts.pop("answer", None):
            parts["response"] = answer
    return fields_of(parts) or {"response": ""}


def _turn(value: Json) -> str:
    turn = ForeignRecord({"turn": value}).nested("turn")
    return f"{turn.text('type', 'role')}: {turn.text('content')}" if turn else text(value)


# -- annotations ---------------------------------------------------------------------


def _annotations(file: ForeignFile, log: ImportLog, metric: str) -> Iterator[RecordedRow]:
    """Yield each metric verdict that a person reviewed, with the person's answer."""
    log.use(
        {
            "metric_output": "votes",
            "is_accepted": "labels",
            "edited_output": "labels",
            "target": "labels",
        }
    )
    paths = ((metric,),) if metric else ()
    annotations = (_Annotation(record) for record in file.records(*paths))
    # Numbers other than 0 and 1 on any row mean that the metric is not pass or fail.
    binary = all(
        number in (0, 1, None)
        for annotation in annotations
        for number in (annotation.verdict, annotation.result)
    )
    for record in file.records(*paths):
        name = metric or record.text("metric") or "metric"
        yield _annotated_row(name, _Annotation(record), binary, log)


def _annotated_row(name: str, annotation: _Annotation, binary: bool, log: ImportLog) -> RecordedRow:
    record, verdict = annotation.record, annotation.verdict
    correction = annotation.correction(binary)
    if correction is None and record.value("is_accepted") is not True:
        log.skip(Message("annotation that rejects a verdict without giving another"))
    why = record.text("judge_reason") or annotation.output.text("reason")
    lost = Message(
        "a person edited the parts of the metric, and the judge's own result is not in the file"
    )
    wrong = lost if annotation.is_edited else Message("the metric has no output")
    vote = RecordedVote(explanation="" if verdict is None else why)
    mark = Mark(
        answer=_answer(correction, binary) or 0.0,
        judge_visible=True,
        note=annotation.edited.text("reason"),
    )
    return RecordedRow(
        judge=name,
        question=pass_or_fail(name) if binary else rate(name),
        fields=fields_of(record.nested("metric_input", "input").raw) or {"response": ""},
        id=record.text("id") or f"{name} {record.row}",
        votes=(vote.with_answer_or_failure(_answer(verdict, binary), wrong),),
        marks=() if correction is None else (mark,),
        more=record.rest("metric_input", "input", "id", "is_accepted"),
    )


def _answer(value: float | None, binary: bool) -> RecordedAnswer | None:
    return as_verdict(value) if binary and value is not None else value


class _Annotation:
    """A metric's verdict on a row, and a person's correction."""

    def __init__(self, record: ForeignRecord) -> None:
        self.record = record
        prompts = named_objects(record.nested("prompts"))
        prompt = next(iter(prompts.values()), EMPTY)
        edited = record if record.value("edited_output") else prompt
        self.edited, self.output = edited.nested("edited_output"), prompt.nested("prompt_output")
        self.is_edited = any(
            record_or_prompt.value("edited_output")
            for record_or_prompt in (record, *prompts.values())
        )
        self.result = record.number("metric_output", "judge_verdict")
        verdict = record.number("judge_verdict")
        if verdict is None and len(prompts) == 1:
            verdict = self.output.number("verdict")
        # After an edit, the output is the person's: the judge's own verdict may be lost.
        self.verdict = self.result if verdict is None and not self.is_edited else verdict
        """The judge's own verdict. Once a person edited the output, it is no longer the judge's."""

    def correction(self, binary: bool) -> float | None:
        """Return the person's verdict: accepted, edited or, if binary, the opposite.

        Return None if a verdict was rejected and none of these exists.
        """
        verdict, edited, record = self.verdict, self.edited.number("verdict"), self.record
        if record.value("is_accepted") is True:
            return edited if edited is not None else self.result
        value = edited if record.value("target") is None else record.number("target")
        return 1 - verdict if value is None and binary and verdict is not None else value


RAGAS = Format("ragas", Message("Ragas results or annotations"), "ragas 0.4.3", _matches, _read)
