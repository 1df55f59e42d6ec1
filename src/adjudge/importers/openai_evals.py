"""OpenAI Evals: output items of the API, and the event logs of the openai/evals repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.domain.vote import Outcome
from adjudge.importers.format import Format
from adjudge.importers.record import (
    FAIL,
    PASS,
    Asked,
    Left,
    Recorded,
    RecordedVote,
    by_model,
    pass_or_fail,
)
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import (
    answered,
    fields_of,
    listed,
    mapping,
    number,
    seconds,
    text,
    usage_of,
    without,
)
from adjudge.messages import Message, join

_INVALID = "__invalid__"
_GRADED = ("match", "metrics")
_ERRORED = ("error", "errored")


def _matches(head: Head) -> bool:
    record = head.record or mapping(head.at("data"))
    return (
        {"datasource_item", "results"} <= record.keys()
        or ("spec" in record and "run_id" not in record)
        or {"event_id", "sample_id", "type"} <= record.keys()
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    record = head.record or mapping(head.at("data"))
    if "datasource_item" in record:
        left.use({"datasource_item": "fields", "sample": "response", "results": "votes"})
        for item in file.records(("data",)):
            if not listed(item.get("results")):
                reason = Message("output item without results")
                wrong = _wrong(item)
                left.out(join(": ", (reason, wrong)) if wrong else reason)
            yield from _item(item)
    else:
        left.version = "event log"
        yield from _events(file, left)


def _item(item: Mapping[str, object]) -> Iterator[Recorded]:
    data = mapping(item.get("datasource_item"))
    fields = fields_of(mapping(data.get("item")) or data)
    sample = mapping(item.get("sample"))
    for result in map(mapping, listed(item.get("results"))):
        own = mapping(result.get("sample"))
        name, model = text(result.get("name")) or "grader", text(own.get("model"))
        yield Recorded(
            judge=by_model(name, model),
            asked=pass_or_fail(name),
            fields=answered(fields, _output(sample)),
            id=text(
                item.get("datasource_item_id")
                if item.get("datasource_item_id") is not None
                else item.get("id")
            ),
            votes=(_vote(result, own, _wrong(item), model),),
            more=without(item, "datasource_item", "results", "sample"),
            at=seconds(item.get("created_at")),
        )


def _wrong(item: Mapping[str, object]) -> str:
    """How an item ended that was not answered; its graders did not judge an answer."""
    ended = (
        Message("its status is 'error'") if text(item.get("status")).casefold() in _ERRORED else ""
    )
    return _error(mapping(item.get("sample"))) or ended


def _vote(
    result: Mapping[str, object], own: Mapping[str, object], wrong: str, model: str
) -> RecordedVote:
    error = (
        _error(own)
        or wrong
        or text(mapping(result.get("error")).get("message") or result.get("error"))
    )
    used = mapping(own.get("usage"))
    vote = RecordedVote(
        model=model,
        text=_output(own) or None,
        usage=usage_of(used.get("prompt_tokens"), used.get("completion_tokens")),
        more=without(result, "name", "passed", "score", "sample"),
    )
    passed = result.get("passed")
    if error or not isinstance(passed, bool):
        return vote.failed(error or Message("the grader gave no result"))
    return vote.said(PASS if passed else FAIL, number(result.get("score")))


def _error(sample: Mapping[str, object]) -> str:
    found = mapping(sample.get("error"))
    return text(found.get("message")) or text(found.get("code"))


def _output(sample: Mapping[str, object]) -> str:
    messages = [mapping(one) for one in listed(sample.get("output"))]
    return text(messages[-1].get("content")) if messages else ""


def _events(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    """A sample's replies come before what was made of them."""
    replies: dict[str, list[Mapping[str, object]]] = {}
    judge = "eval"
    for event in file.records():
        if spec := mapping(event.get("spec")):
            judge = text(spec.get("eval_name")) or text(spec.get("base_eval")) or judge
            continue
        kind, sample = event.get("type"), text(event.get("sample_id"))
        if kind == "sampling":
            replies.setdefault(sample, []).append(mapping(event.get("data")))
        elif kind in _GRADED:
            yield from _graded(event, judge, replies.pop(sample, []))
        elif kind is not None:
            left.out(Message("event of type {kind!r}", kind=kind))


def _graded(
    event: Mapping[str, object], judge: str, replies: list[Mapping[str, object]]
) -> Iterator[Recorded]:
    data = mapping(event.get("data"))
    said = {"": _choice(data, replies)} if "choice" in data else _matched(data)
    shown = replies[0] if replies else data
    for name, (asked, vote) in said.items():
        question = f"{judge}/{name}" if name else judge
        yield Recorded(
            judge=question,
            asked=replace(asked, name=question),
            fields={
                **fields_of({"input": _prompt(shown.get("prompt"))}),
                "response": text(_only(shown.get("sampled"))),
            },
            id=text(event.get("sample_id")),
            votes=(vote,),
            more=without(data, "choice", "score", "sampled", "prompt", "correct"),
            at=seconds(event.get("created_at")),
        )


def _choice(
    data: Mapping[str, object], replies: list[Mapping[str, object]]
) -> tuple[Asked, RecordedVote]:
    choice, reply = (
        text(data.get("choice")),
        text(_only(data.get("sampled")))
        or (text(_only(replies[-1].get("sampled"))) if replies else ""),
    )
    if choice == _INVALID or not choice:
        return Asked(""), RecordedVote(text=reply or None).failed(
            Message("the reply names no choice"), Outcome.UNREADABLE
        )
    return Asked(""), RecordedVote(
        answer=choice, score=number(data.get("score")), text=reply or None
    )


def _matched(data: Mapping[str, object]) -> dict[str, tuple[Asked, RecordedVote]]:
    """Whether it is correct; else each of its numbers, by its name where there are several.

    A text that is a number is none.
    """
    vote, rating = RecordedVote(model="code"), Asked("", kind="rating")
    if isinstance(data.get("correct"), bool):
        return {"": (pass_or_fail(""), vote.said(PASS if data["correct"] else FAIL))}
    found = {
        name: points
        for name, value in data.items()
        if isinstance(value, int | float) and (points := number(value)) is not None
    }
    if not found:
        return {"": (rating, vote.failed(Message("the event holds no number")))}
    return {
        name if len(found) > 1 else "": (rating, vote.said(points))
        for name, points in found.items()
    }


def _prompt(value: object) -> str:
    messages = [mapping(one) for one in listed(value)]
    return "\n".join(text(one.get("content")) for one in messages) if messages else text(value)


def _only(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


OPENAI_EVALS = Format(
    "openai-evals",
    Message("OpenAI Evals output"),
    "openai 3.49.0; openai/evals event logs",
    _matches,
    _read,
)
