"""Inspect AI: ``.eval`` archives and ``.json`` logs. Samples are read, never the aggregates, which
hide what was not scored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.frozen_mapping import nonempty
from adjudge.core.domain.vote import Outcome
from adjudge.core.reading.archive import entries
from adjudge.core.reading.foreign_values import seconds_of
from adjudge.core.verdicts.styles import grade
from adjudge.errors import RunError
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    NOT_SAID,
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    exported_question,
    exported_system,
    pass_or_fail,
    passed,
    question_for,
    rate,
)
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head, named_objects
from adjudge.features.importers.values import Json, fields_of, is_missing, number, text
from adjudge.messages import Message
from adjudge.runs.exporters.exported_options import OPTION_SCORES

_VERSION = 2
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/(.+_epoch_\d+)(?:\.json|/sample\.json)")
_SHELL = "/sample.json"
_ATTACHMENT = re.compile(r"attachment://(\w+)")
_GRADES = (
    CriteriaOption("C", "Correct", 1.0),
    CriteriaOption("P", "Partly correct", 0.5),
    CriteriaOption("I", "Incorrect", 0.0),
    CriteriaOption("N", "No answer"),
)
_LETTERS = tuple(option.name for option in _GRADES)
_UNCHANGED = "UNCHANGED"
_READ = (
    "id",
    "epoch",
    "input",
    "target",
    "output",
    "scores",
    "score",
    "choices",
    "events",
    "attachments",
    "messages",
    "events_data",
    "store",
)


def _matches(head: Head) -> bool:
    if head.form == "archive":
        return any(_SAMPLE.fullmatch(name) or name in _HEADERS for name in head.names)
    is_log = isinstance(head.document.value("eval"), Mapping)
    return is_log and head.document.has("version", "status")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "input": "input",
            "target": "target",
            "output": "response",
            "scores": "votes",
            "history": "labels",
        }
    )
    if file.head.form == "archive":
        head, samples = _archive_head(file), _archive_samples(file)
    else:
        head = file.document(("version",), ("eval",), ("status",))
        samples = file.records(("samples",))
    _check(head, file, log)
    about = head.nested("eval")
    for sample in samples:
        yield from _sample(sample, about, log)


def _archive_head(file: ForeignFile) -> ForeignRecord:
    found = dict(entries(file.path, lambda name: name in _HEADERS))
    if not found:
        raise RunError(
            "{name} holds neither header.json nor _journal/start.json: it is not a log of Inspect",
            name=file.name,
        )
    header, start = _HEADERS
    return _entry(found.get(header) or found[start], file, header).nested("entry")


def _archive_samples(file: ForeignFile) -> Iterator[ForeignRecord]:
    for name, content in entries(file.path, lambda name: bool(_SAMPLE.fullmatch(name))):
        sample = _entry(content, file, name).nested("entry")
        if name.endswith(_SHELL):
            attached = b"attachment://" in content
            sample = sample.merge(_beside(file, name.removesuffix(_SHELL), attached=attached))
        yield sample


def _beside(file: ForeignFile, folder: str, *, attached: bool) -> dict[str, Json]:
    """What lies beside the shell of a sample that was written in chunks: its metadata, and texts by
    their index.
    """
    kept = f"{folder}/metadata.json"
    chunks = re.compile(rf"{re.escape(folder)}/attachments/(\d+)\.json")

    def is_wanted(name: str) -> bool:
        return name == kept or (attached and bool(chunks.fullmatch(name)))

    found: dict[str, Json] = {}
    texts: dict[str, Json] = {}
    wanted = any(map(is_wanted, file.head.names))
    for name, content in entries(file.path, is_wanted) if wanted else ():
        entry = _entry(content, file, name)
        if start := chunks.fullmatch(name):
            first = int(start[1])
            texts |= {str(at): one for at, one in enumerate(entry.values("entry"), first)}
        else:
            found["metadata"] = entry.value("entry")
    return {**found, **nonempty(attachments=texts)}


def _entry(content: bytes, file: ForeignFile, name: str) -> ForeignRecord:
    """What an entry of an archive holds, under the key ``entry``."""
    try:
        return ForeignRecord({"entry": json.loads(content)}, lambda: f"{file.name}, {name}")
    except ValueError as error:
        raise RunError(
            "{name}, entry {entry!r} is not JSON: {error}",
            name=file.name,
            entry=name,
            error=error,
        ) from error


def _check(head: ForeignRecord, file: ForeignFile, log: ImportLog) -> None:
    version, status = head.number("version"), head.value("status")
    tool = head.nested("eval").nested("packages").raw.get("inspect_ai", "not said")
    log.version = f"inspect_ai {tool}, log version {head.value('version')}"
    if version is not None and version > _VERSION:
        raise RunError(
            "{name} is a log of version {version:g}, and version {newest} is read: save it "
            "by that version",
            name=file.name,
            version=version,
            newest=_VERSION,
        )
    if status not in (None, "success"):
        log.note(Message("the eval ended as {status!r}: what it holds was read", status=status))


def _sample(sample: ForeignRecord, about: ForeignRecord, log: ImportLog) -> Iterator[RecordedRow]:
    if sample.value("invalidation"):
        log.skip(Message("sample that was invalidated"))
        return
    scorers = [one.text("name") for one in about.objects("scorers")] or ["scorer"]
    scores = named_objects(sample.nested("scores"))
    if not scores and isinstance(sample.value("score"), Mapping):
        scores = {scorers[0]: sample.nested("score")}  # of version 1, without its scorer's name
    for scorer, score in scores.items():
        yield from _scored(scorer, score, sample, about, log)
    error = sample.nested("error").value("message") or sample.value("error")
    if not scores and error:
        for name in scorers:
            vote = RecordedVote(model=_grader(about, name)).failed(error)
            yield _row(sample, name, _graded(name), vote)
    elif not scores:
        log.skip(Message("sample without scores"))


def _scored(
    scorer: str, score: ForeignRecord, sample: ForeignRecord, about: ForeignRecord, log: ImportLog
) -> Iterator[RecordedRow]:
    """A scorer's value may be several under one name; each is a question of its own."""
    original, edits = _history(score)
    known = _known(original, sample, _grader(about, scorer))
    value = original.value("value")
    several = original.nested("value").raw or {
        str(place): one for place, one in enumerate(original.values("value"))
    }
    for key, one in several.items():
        name = f"{scorer}/{key}"
        yield _row(sample, name, *_verdict(name, one, known))
    if several and edits:
        log.skip(Message("edit of a score that has several values"), len(edits))
    if not several:
        question, vote = _exported(scorer, original, known) or _verdict(scorer, value, known)
        changes = [one for one in edits if one.value("value") not in (None, _UNCHANGED)]
        yield _row(sample, scorer, question, vote, tuple(_mark(one, question) for one in changes))


def _history(score: ForeignRecord) -> tuple[ForeignRecord, Sequence[ForeignRecord]]:
    """The judge's own score, and what people made of it: the first entry of a history is what stood
    there before.
    """
    history = score.objects("history")
    people = [one for one in history if one.nested("provenance")]
    own = next((one for one in history if not one.nested("provenance")), EMPTY)
    if people and len(people) == len(history):
        lost = Message("the judge's own score was overwritten")
        return score.merge({"value": None, "explanation": lost}), people
    changed = {name: value for name, value in own.raw.items() if value != _UNCHANGED}
    return score.merge(changed), people


def _known(score: ForeignRecord, sample: ForeignRecord, grader: str) -> RecordedVote:
    """What is known of a vote beside its verdict."""
    extra = score.nested("metadata")
    messages = extra.objects("grading")
    reply = next((one for one in reversed(messages) if one.value("role") == "assistant"), EMPTY)
    prompt = next((one for one in messages if one.value("role") == "user"), EMPTY)
    more = ForeignRecord({**extra.rest("grading", OPTION_SCORES), "answer": score.value("answer")})
    return RecordedVote(
        model=reply.text("model") or grader,
        explanation=score.text("explanation"),
        text=_resolve(_content(reply, "content"), sample),
        prompt=_resolve(_content(prompt, "content"), sample),
        more=more.rest(),
    )


def _graded(name: str) -> RecordedQuestion:
    return RecordedQuestion(name, options=_GRADES)


def _exported(
    name: str, score: ForeignRecord, known: RecordedVote
) -> tuple[RecordedQuestion, RecordedVote] | None:
    """The verdict of an export of ours, whose option may be in ``answer``; None of other scores."""
    question = exported_question(name, score.nested("metadata").raw)
    words = {option.name for option in question.options} if question else set()
    word = next((one for key in ("value", "answer") if (one := score.text(key)) in words), None)
    return (question, known.said(word)) if question and word else None


def _verdict(name: str, value: Json, known: RecordedVote) -> tuple[RecordedQuestion, RecordedVote]:
    if isinstance(value, bool):
        return pass_or_fail(name), known.said(passed(value))
    points = number(value)
    if isinstance(value, str) and points is None and not is_missing(value):
        letter = value in _LETTERS
        question, answer = (_graded(name), value) if letter else question_for(name, value)
        return question, known.said(answer)
    if points is not None:
        return rate(name), known.said(points)
    again = grade(known.text) if known.text else None
    if again is not None and again in _LETTERS:
        return _graded(name), known.said(again, outcome=Outcome.REPAIRED)
    missing = (
        Message("NaN: it was not scored")
        if isinstance(value, float)
        else Message("it has no value")
    )
    unreadable = bool(known.text) or (isinstance(value, float) and math.isnan(value))
    return _graded(name), known.failed(known.explanation or missing, unreadable=unreadable)


def _mark(edit: ForeignRecord, question: RecordedQuestion) -> Mark:
    by, value = edit.nested("provenance"), edit.value("value")
    words = passed(value) if isinstance(value, bool) else text(value)
    points = edit.number("value") if question.kind == "rating" else None
    return Mark(
        answer=words if points is None else points,
        annotator=by.text("author") or "editor",
        judge_visible=True,
        note=by.text("reason"),
        at=seconds_of(by.value("timestamp")),
    )


def _row(
    sample: ForeignRecord,
    judge: str,
    question: RecordedQuestion,
    vote: RecordedVote,
    marks: tuple[Mark, ...] = (),
) -> RecordedRow:
    shown = fields_of(
        sample.merge({"input": _content(sample, "input")}).keep("input", "target", "choices")
    )
    fields = {
        name: _resolve(one, sample) if isinstance(one, str) else one for name, one in shown.items()
    }
    name, epoch = sample.text("id"), sample.value("epoch")
    return RecordedRow(
        judge=judge,
        question=question,
        fields={**fields, "response": _resolve(_completion(sample.nested("output")), sample)},
        id=f"{name} (epoch {epoch})" if isinstance(epoch, int) and epoch > 1 else name,
        votes=(vote,),
        marks=marks,
        more={
            "sample_id": name,
            "epoch": epoch,
            **sample.rest(*_READ),
            **exported_system(sample.nested("metadata").raw),
        },
        at=seconds_of(sample.value("completed_at")),
    )


def _completion(output: ForeignRecord) -> str:
    choice = next(iter(output.objects("choices")), EMPTY)
    return output.text("completion") or _content(choice.nested("message"), "content")


def _content(record: ForeignRecord, key: str) -> str:
    """A text, messages, or the parts of a message, as one text."""
    if not isinstance(record.value(key), list):
        return record.text(key)
    parts = record.objects(key)
    said = []
    for one in parts:
        inner = next((name for name in ("content", "text", "reasoning") if one.value(name)), "")
        role, words = one.text("role"), _content(one, inner)
        if words:
            said.append(f"{role}: {words}" if role and len(parts) > 1 else words)
    return "\n".join(said)


def _resolve(words: str, sample: ForeignRecord) -> str:
    """Long texts stand once in a sample, and elsewhere a reference to them."""
    attached = sample.nested("attachments").raw
    if not attached:
        return words
    return _ATTACHMENT.sub(lambda found: text(attached.get(found[1], found[0])), words)


def _grader(about: ForeignRecord, scorer: str) -> str:
    """The model that a scorer asks: its option, else the role, else nobody says."""
    own = (one for one in about.objects("scorers") if one.value("name") == scorer.partition("/")[0])
    options = next(own, EMPTY).nested("options")
    found = options if options.value("model") else about.nested("model_roles")
    key = "model" if options.value("model") else "grader"
    chosen = found.value(key)
    return (chosen if isinstance(chosen, str) else found.nested(key).text("model")) or NOT_SAID


INSPECT = Format(
    "inspect", Message("Inspect log"), "inspect_ai 0.3.285, log version 2", _matches, _read
)
