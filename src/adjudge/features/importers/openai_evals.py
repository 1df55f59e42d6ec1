"""Import OpenAI Evals: output items of the API, and event logs of the openai/evals repository."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adjudge.core.reading.foreign_values import seconds_of
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    ImportLog,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    as_verdict,
    by_model,
    pass_or_fail,
    rate,
)
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head, usage_in
from adjudge.features.importers.values import fields_of, number, text, with_response
from adjudge.messages import Message, join

_INVALID = "__invalid__"
_GRADED = ("match", "metrics")
_ERRORED = ("error", "errored")


def _matches(head: Head) -> bool:
    record = head.first("data")
    log = record.has("spec") and "run_id" not in record
    return (
        log
        or record.has("datasource_item", "results")
        or record.has("event_id", "sample_id", "type")
    )


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if "datasource_item" not in file.head.first("data"):
        log.version = "event log"
        yield from _events(file, log)
        return
    log.use({"datasource_item": "fields", "sample": "response", "results": "votes"})
    for item in file.records(("data",)):
        ended = (
            Message("its status is 'error'") if item.text("status").casefold() in _ERRORED else ""
        )
        wrong = _error(item.nested("sample")) or ended
        if not item.values("results"):
            skipped = Message("output item without results")
            log.skip(join(": ", (skipped, wrong)) if wrong else skipped)
        yield from _item(item, wrong)


def _item(item: ForeignRecord, wrong: str) -> Iterator[RecordedRow]:
    data = item.nested("datasource_item")
    fields = fields_of((data.nested("item") or data).raw)
    for result in item.objects("results"):
        name, model = result.text("name") or "grader", result.nested("sample").text("model")
        yield RecordedRow(
            judge=by_model(name, model),
            question=pass_or_fail(name),
            fields=with_response(fields, _output(item.nested("sample"))),
            id=item.text("datasource_item_id", "id"),
            votes=(_vote(result, wrong, model),),
            more=item.rest("datasource_item", "results", "sample"),
            at=seconds_of(item.value("created_at")),
        )


def _vote(result: ForeignRecord, wrong: str, model: str) -> RecordedVote:
    sample, success = result.nested("sample"), result.value("passed")
    grader_error = result.nested("error").value("message") or result.value("error")
    error = _error(sample) or wrong or text(grader_error)
    vote = RecordedVote(
        model=model,
        text=_output(sample),
        usage=usage_in(sample.nested("usage"), "prompt_tokens", "completion_tokens"),
        more=result.rest("name", "passed", "score", "sample"),
    )
    if error or not isinstance(success, bool):
        return vote.with_failure(error or Message("the grader gave no result"))
    return vote.with_answer(as_verdict(success), result.number("score"))


def _error(sample: ForeignRecord) -> str:
    error = sample.nested("error")
    return error.text("message") or error.text("code")


def _output(sample: ForeignRecord) -> str:
    messages = sample.objects("output")
    return messages[-1].text("content") if messages else ""


def _events(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    """Yield the graded events in a log, each with the replies sampled before it."""
    replies: dict[str, list[ForeignRecord]] = {}
    judge = "eval"
    for event in file.records():
        if spec := event.nested("spec"):
            judge = spec.text("eval_name") or spec.text("base_eval") or judge
            continue
        kind, sample = event.value("type"), event.text("sample_id")
        if kind == "sampling":
            # A sample's replies come before the events that grade them.
            replies.setdefault(sample, []).append(event.nested("data"))
        elif kind in _GRADED:
            yield from _graded_rows(event, judge, replies.pop(sample, []))
        elif kind is not None:
            log.skip(Message("event of type {kind!r}", kind=kind))


def _graded_rows(
    event: ForeignRecord, judge: str, replies: list[ForeignRecord]
) -> Iterator[RecordedRow]:
    data = event.nested("data")
    shown_data, last = (replies[0], replies[-1]) if replies else (data, EMPTY)
    verdicts = {"": _choice(data, last)} if "choice" in data else _match_verdicts(data)
    for name, (question, vote) in verdicts.items():
        full_name = f"{judge}/{name}" if name else judge
        yield RecordedRow(
            judge=full_name,
            question=replace(question, name=full_name),
            fields={
                **fields_of({"input": _prompt(shown_data)}),
                "response": _reply_text(shown_data),
            },
            id=event.text("sample_id"),
            votes=(vote,),
            more=data.rest("choice", "score", "sampled", "prompt", "correct"),
            at=seconds_of(event.value("created_at")),
        )


def _choice(data: ForeignRecord, last: ForeignRecord) -> tuple[RecordedQuestion, RecordedVote]:
    choice, vote = data.text("choice"), RecordedVote(text=_reply_text(data) or _reply_text(last))
    if choice == _INVALID or not choice:
        vote = vote.with_failure(Message("the reply contains no choice"), unreadable=True)
    else:
        vote = vote.with_answer(choice, data.number("score"))
    return RecordedQuestion(""), vote


def _match_verdicts(data: ForeignRecord) -> dict[str, tuple[RecordedQuestion, RecordedVote]]:
    """Return the ``correct`` verdict, else a score per number, else a failed vote."""
    vote, correct = RecordedVote(model="code"), data.value("correct")
    if isinstance(correct, bool):
        return {"": (pass_or_fail(""), vote.with_answer(as_verdict(correct)))}
    numbers = {
        name: points
        for name, value in data.raw.items()
        if isinstance(value, int | float) and (points := number(value)) is not None
    }
    if not numbers:
        return {"": (rate(""), vote.with_failure(Message("the event contains no number")))}
    return {
        name if len(numbers) > 1 else "": (rate(""), vote.with_answer(points))
        for name, points in numbers.items()
    }


def _prompt(data: ForeignRecord) -> str:
    messages = data.objects("prompt")
    texts = "\n".join(message.text("content") for message in messages)
    return texts if messages else data.text("prompt")


def _reply_text(data: ForeignRecord) -> str:
    """Return the sampled reply, taken out of its list if it is the only one."""
    every = data.values("sampled")
    return text(every[0]) if len(every) == 1 else data.text("sampled")


OPENAI_EVALS = Format(
    "openai-evals",
    Message("OpenAI Evals output"),
    "openai 3.49.0; openai/evals event logs",
    _matches,
    _read,
)
