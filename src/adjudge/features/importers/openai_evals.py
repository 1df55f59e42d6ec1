"""OpenAI Evals: output items of the API, and the event logs of the openai/evals repository."""

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
    by_model,
    pass_or_fail,
    passed,
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
        wrong = _wrong(item)
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


def _wrong(item: ForeignRecord) -> str:
    """How an item ended that was not answered; its graders did not judge an answer."""
    ended = Message("its status is 'error'") if item.text("status").casefold() in _ERRORED else ""
    return _error(item.nested("sample")) or ended


def _vote(result: ForeignRecord, wrong: str, model: str) -> RecordedVote:
    sample, success = result.nested("sample"), result.value("passed")
    said = result.nested("error").value("message") or result.value("error")
    error = _error(sample) or wrong or text(said)
    vote = RecordedVote(
        model=model,
        text=_output(sample),
        usage=usage_in(sample.nested("usage"), "prompt_tokens", "completion_tokens"),
        more=result.rest("name", "passed", "score", "sample"),
    )
    if error or not isinstance(success, bool):
        return vote.failed(error or Message("the grader gave no result"))
    return vote.said(passed(success), result.number("score"))


def _error(sample: ForeignRecord) -> str:
    found = sample.nested("error")
    return found.text("message") or found.text("code")


def _output(sample: ForeignRecord) -> str:
    messages = sample.objects("output")
    return messages[-1].text("content") if messages else ""


def _events(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    """A sample's replies come before what was made of them."""
    replies: dict[str, list[ForeignRecord]] = {}
    judge = "eval"
    for event in file.records():
        if spec := event.nested("spec"):
            judge = spec.text("eval_name") or spec.text("base_eval") or judge
            continue
        kind, sample = event.value("type"), event.text("sample_id")
        if kind == "sampling":
            replies.setdefault(sample, []).append(event.nested("data"))
        elif kind in _GRADED:
            yield from _graded(event, judge, replies.pop(sample, []))
        elif kind is not None:
            log.skip(Message("event of type {kind!r}", kind=kind))


def _graded(
    event: ForeignRecord, judge: str, replies: list[ForeignRecord]
) -> Iterator[RecordedRow]:
    data = event.nested("data")
    shown, last = (replies[0], replies[-1]) if replies else (data, EMPTY)
    said = {"": _choice(data, last)} if "choice" in data else _matched(data)
    for name, (question, vote) in said.items():
        full_name = f"{judge}/{name}" if name else judge
        yield RecordedRow(
            judge=full_name,
            question=replace(question, name=full_name),
            fields={**fields_of({"input": _prompt(shown)}), "response": _sampled(shown)},
            id=event.text("sample_id"),
            votes=(vote,),
            more=data.rest("choice", "score", "sampled", "prompt", "correct"),
            at=seconds_of(event.value("created_at")),
        )


def _choice(data: ForeignRecord, last: ForeignRecord) -> tuple[RecordedQuestion, RecordedVote]:
    choice, vote = data.text("choice"), RecordedVote(text=_sampled(data) or _sampled(last))
    if choice == _INVALID or not choice:
        vote = vote.failed(Message("the reply names no choice"), unreadable=True)
    else:
        vote = vote.said(choice, data.number("score"))
    return RecordedQuestion(""), vote


def _matched(data: ForeignRecord) -> dict[str, tuple[RecordedQuestion, RecordedVote]]:
    """Whether it is correct; else each of its numbers, by its name where there are several.

    A text that is a number is none.
    """
    vote, correct = RecordedVote(model="code"), data.value("correct")
    if isinstance(correct, bool):
        return {"": (pass_or_fail(""), vote.said(passed(correct)))}
    found = {
        name: points
        for name, value in data.raw.items()
        if isinstance(value, int | float) and (points := number(value)) is not None
    }
    if not found:
        return {"": (rate(""), vote.failed(Message("the event holds no number")))}
    return {
        name if len(found) > 1 else "": (rate(""), vote.said(points))
        for name, points in found.items()
    }


def _prompt(shown: ForeignRecord) -> str:
    messages = shown.objects("prompt")
    said = "\n".join(one.text("content") for one in messages)
    return said if messages else shown.text("prompt")


def _sampled(shown: ForeignRecord) -> str:
    """What was replied, which may stand alone in a list."""
    every = shown.values("sampled")
    return text(every[0]) if len(every) == 1 else shown.text("sampled")


OPENAI_EVALS = Format(
    "openai-evals",
    Message("OpenAI Evals output"),
    "openai 3.49.0; openai/evals event logs",
    _matches,
    _read,
)
