"""Ragas: result tables (``result.to_pandas()``, experiments) as CSV, JSON or JSONL, and annotations
of verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adjudge.importers.format import Format
from adjudge.importers.record import (
    FAIL,
    PASS,
    Asked,
    Left,
    Mark,
    Recorded,
    RecordedVote,
    pass_or_fail,
)
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, mapping, number, parsed, text, without
from adjudge.messages import Message

_ANSWERS = ("response", "answer", "multi_responses")
_QUESTIONS = ("user_input", "question")
_SAMPLE = (
    *_ANSWERS,
    *_QUESTIONS,
    *(
        "retrieved_contexts",
        "reference_contexts",
        "reference",
        "rubrics",
        "contexts",
        "ground_truth",
        "ground_truths",
    ),
    *(
        "retrieved_context_ids",
        "reference_context_ids",
        "reference_tool_calls",
        "reference_topics",
        "persona_name",
        "query_style",
    ),
    *(
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
    ),
    # what a first column without a name is called: the rows' numbers, as pandas writes them
    "column 1",
)
_TEXTS = _SAMPLE[:12]
_METRICS = frozenset(
    (
        *(
            "faithfulness",
            "faithfulness_with_hhem",
            "answer_relevancy",
            "answer_correctness",
            "answer_similarity",
        ),
        *(
            "answer_accuracy",
            "context_precision",
            "context_recall",
            "context_relevance",
            "context_relevancy",
        ),
        *("context_utilization", "context_entity_recall", "llm_context_precision_with_reference"),
        *(
            "llm_context_precision_without_reference",
            "non_llm_context_precision_with_reference",
            "non_llm_context_recall",
        ),
        *(
            "id_based_context_precision",
            "id_based_context_recall",
            "factual_correctness",
            "semantic_similarity",
        ),
        *("noise_sensitivity", "response_groundedness", "nv_accuracy", "nv_context_relevance"),
        *(
            "nv_response_groundedness",
            "non_llm_string_similarity",
            "bleu_score",
            "rouge_score",
            "chrf_score",
        ),
        *(
            "exact_match",
            "string_present",
            "summary_score",
            "agent_goal_accuracy",
            "tool_call_accuracy",
        ),
        *(
            "topic_adherence",
            "domain_specific_rubrics",
            "instance_rubrics",
            "llm_sql_equivalence_with_reference",
        ),
        *("harmfulness", "maliciousness", "coherence", "correctness", "conciseness"),
    )
)
"""Ragas' own: of these a column is a metric also where nothing in it is a number."""
_LESS_IS_BETTER = ("noise_sensitivity", "harmfulness", "maliciousness")
_TAKEN = frozenset(
    (
        *(
            "latency",
            "cost",
            "costs",
            "price",
            "usd",
            "token",
            "tokens",
            "duration",
            "time",
            "elapsed",
            "runtime",
            "seconds",
        ),
        *("ms", "seed", "temperature", "timestamp", "epoch"),
    )
)
"""Words in the names of columns that say what an answer took, or how it was made."""
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+")


def _matches(head: Head) -> bool:
    if head.form == "object":
        return any("metric_input" in mapping(head.at(name)) for name in head.document)
    record = head.record
    if head.has("metric_input", "is_accepted") or head.has(
        "metric", "is_accepted", "judge_verdict"
    ):
        return True
    turns = isinstance(parsed(record.get("user_input")), list) or text(
        record.get("user_input")
    ).startswith("[HumanMessage(")
    known = turns or (
        any(name in record for name in _QUESTIONS) and any(name in record for name in _ANSWERS)
    )
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
    metrics = _metrics(file, left)
    left.use(
        {**dict.fromkeys(metrics, "votes"), "user_input": "user_input", "response": "response"}
    )
    for place, record in enumerate(file.records()):
        for metric, asked in metrics.items():
            yield Recorded(
                judge=metric,
                asked=asked,
                fields=_fields(record),
                id=text(first(record, "id", "row_id")) or f"row {place + 1}",
                votes=(_cell_vote(record.get(metric), asked),),
                more=without(record, *metrics, *_SAMPLE),
            )


def _cell_vote(value: object, asked: Asked) -> RecordedVote:
    points, said = number(value), text(value).strip()
    vote = RecordedVote()
    if asked.kind == "choice":
        return (
            vote.said(said.upper())
            if said
            else vote.failed(Message("the cell is empty: the metric ended without a verdict"))
        )
    if points is None:
        other = said and not _is_number(value)
        return vote.failed(
            Message("{value!r} is not a number", value=said)
            if other
            else Message("NaN: the metric ended without a number")
        )
    return vote.said(points if asked.higher_is_better else 1 - points)


def _metrics(file: ForeignFile, left: Left) -> dict[str, Asked]:
    """The columns that are judgments: a metric may have failed on the first rows, or on all of
    them.
    """
    columns: dict[str, _Column] = {}
    for record in file.records():
        for name, value in record.items():
            if name not in _SAMPLE:
                columns.setdefault(name, _Column()).see(value)
    found: dict[str, Asked] = {}
    for name, column in columns.items():
        asked, reason = _asked_in(name, column)
        if asked is not None:
            found[name] = asked
        elif reason:
            left.out(reason)
        if asked is not None and not asked.higher_is_better:
            left.note(
                Message(
                    "{name}: less is better, so that scores are turned round: 1 minus what "
                    "Ragas recorded",
                    name=name,
                )
            )
    return found


@dataclass
class _Column:
    """What the cells of a column are."""

    numbers: bool = False
    verdicts: bool = False
    others: bool = False

    def see(self, value: object) -> None:
        """One more cell; an empty one tells nothing."""
        if value in (None, ""):
            return
        if _is_number(value):
            self.numbers = True
        elif text(value).strip().upper() in (PASS, FAIL):
            self.verdicts = True
        else:
            self.others = True


def _asked_in(name: str, column: _Column) -> tuple[Asked | None, Message | None]:
    """What a column asks; else why it is not a judgment, where somebody might take it for one."""
    known = name.partition("(")[0]
    about = f"{name}, a metric of Ragas."
    if known not in _METRICS and not _TAKEN.isdisjoint(
        word.casefold() for word in _WORDS.findall(name)
    ):
        return None, (
            Message(
                "column {name!r}, which says what an answer took, not how good it is", name=name
            )
            if column.numbers
            else None
        )
    if column.verdicts and not column.numbers and not column.others:
        return pass_or_fail(name, about), None
    if known in _METRICS or (column.numbers and not column.others and not column.verdicts):
        less = known in _LESS_IS_BETTER
        return Asked(
            name,
            about + (" Less of it is better." if less else ""),
            "rating",
            higher_is_better=not less,
        ), None
    if column.numbers:
        return None, Message("column {name!r}, which holds numbers and other things", name=name)
    return None, (
        None
        if column.others
        else Message("column {name!r}, which is empty on every row", name=name)
    )


def _is_metric(name: str, value: object) -> bool:
    return name not in _SAMPLE and (
        _is_number(value) or value in (None, "") or text(value).strip().upper() in (PASS, FAIL)
    )


def _is_number(value: object) -> bool:
    """Whether the cell holds a number; NaN counts as one."""
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
    return (
        f"{text(first(said, 'type', 'role'))}: {text(said.get('content'))}" if said else text(one)
    )


# -- annotations ---------------------------------------------------------------------


def _annotations(file: ForeignFile, left: Left, metric: str) -> Iterator[Recorded]:
    """Verdicts that people accepted or corrected: both the judge's and theirs are there."""
    left.use(
        {
            "metric_output": "votes",
            "is_accepted": "labels",
            "edited_output": "labels",
            "target": "labels",
        }
    )
    paths = ((metric,),) if metric else ()
    binary = all(
        one in (0, 1, None)
        for record in file.records(*paths)
        for one in (_verdict(record), _result(record))
    )
    for place, record in enumerate(file.records(*paths)):
        name = metric or text(record.get("metric")) or "metric"
        yield _annotated(name, record, binary, place, left)


def _annotated(
    name: str, record: Mapping[str, object], binary: bool, place: int, left: Left
) -> Recorded:
    said, theirs = _verdict(record), _corrected(record, binary)
    asked = pass_or_fail(name) if binary else Asked(name, kind="rating")
    if theirs is None and record.get("is_accepted") is not True:
        left.out(Message("annotation that rejects a verdict and gives no other"))
    marks = (
        ()
        if theirs is None
        else (Mark(answer=_answer(theirs, binary), judge_visible=True, note=_note(record)),)
    )
    why = text(record.get("judge_reason")) or text(mapping(_output(record)).get("reason")) or None
    lost = Message(
        "a person edited what the metric is made of, and the judge's own result is not in the file"
    )
    vote = (
        RecordedVote().failed(lost if _is_edited(record) else Message("the metric has no output"))
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
    """The judge's own: the metric's output is what a person made of it, once somebody edited it."""
    own = number(first(record, "judge_verdict"))
    if own is None and len(mapping(record.get("prompts"))) == 1:
        own = number(mapping(_output(record)).get("verdict"))
    return own if own is not None else None if _is_edited(record) else _result(record)


def _result(record: Mapping[str, object]) -> float | None:
    return number(first(record, "metric_output", "judge_verdict"))


def _is_edited(record: Mapping[str, object]) -> bool:
    parts = [mapping(one) for one in mapping(record.get("prompts")).values()]
    return bool(record.get("edited_output")) or any(one.get("edited_output") for one in parts)


def _corrected(record: Mapping[str, object], binary: bool) -> float | None:
    said, edited = _verdict(record), number(mapping(_edited(record)).get("verdict"))
    if record.get("is_accepted") is True:
        return edited if edited is not None else _result(record)
    value = number(record.get("target")) if record.get("target") is not None else edited
    return 1 - said if value is None and binary and said is not None else value


def _prompt(record: Mapping[str, object]) -> Mapping[str, object]:
    return next((mapping(one) for one in mapping(record.get("prompts")).values()), {})


def _output(record: Mapping[str, object]) -> object:
    return _prompt(record).get("prompt_output")


def _edited(record: Mapping[str, object]) -> object:
    return record.get("edited_output") or _prompt(record).get("edited_output")


def _note(record: Mapping[str, object]) -> str:
    return text(mapping(_edited(record)).get("reason"))


RAGAS = Format("ragas", Message("Ragas results or annotations"), "ragas 0.4.3", _matches, _read)
