"""Import logs of Inspect AI: ``.eval`` archives and ``.json`` logs.

Samples are read, never the aggregates, which hide what was not scored.
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
from adjudge.features.importers.exported import METADATA, Exported, is_same
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    NOT_SAID,
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    as_verdict,
    pass_or_fail,
    question_for,
    rate,
)
from adjudge.features.importers.scales import option_named
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head, named_objects
from adjudge.features.importers.values import Json, fields_of, is_missing, number, text
from adjudge.messages import Message
from adjudge.runs.exporters.inspect import inspect_value

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
    entries_found = dict(entries(file.path, lambda name: name in _HEADERS))
    if not entries_found:
        raise RunError(
            "{name} contains neither header.json nor _journal/start.json: it is not a log of "
            "Inspect",
            name=file.name,
        )
    header, start = _HEADERS
    return _entry(entries_found.get(header) or entries_found[start], file, header).nested("entry")


def _archive_samples(file: ForeignFile) -> Iterator[ForeignRecord]:
    for name, content in entries(file.path, lambda name: bool(_SAMPLE.fullmatch(name))):
        sample = _entry(content, file, name).nested("entry")
        if name.endswith(_SHELL):
            attached = b"attachment://" in content
            sample = sample.merge(_read_chunks(file, name.removesuffix(_SHELL), attached=attached))
        yield sample


def _read_chunks(file: ForeignFile, folder: str, *, attached: bool) -> dict[str, Json]:
    """Return a sample's metadata and attached texts if they were written as chunks."""
    metadata_name = f"{folder}/metadata.json"
    chunks = re.compile(rf"{re.escape(folder)}/attachments/(\d+)\.json")

    def is_wanted(name: str) -> bool:
        return name == metadata_name or (attached and bool(chunks.fullmatch(name)))

    parts: dict[str, Json] = {}
    texts: dict[str, Json] = {}
    has_parts = any(map(is_wanted, file.head.names))
    for name, content in entries(file.path, is_wanted) if has_parts else ():
        entry = _entry(content, file, name)
        if match := chunks.fullmatch(name):
            start_index = int(match[1])
            # A chunk's name is the index of its first text.
            texts |= {
                str(at): chunk_text
                for at, chunk_text in enumerate(entry.values("entry"), start_index)
            }
        else:
            parts["metadata"] = entry.value("entry")
    return {**parts, **nonempty(attachments=texts)}


def _entry(content: bytes, file: ForeignFile, name: str) -> ForeignRecord:
    """Parse an archive entry as JSON and return it under the key ``entry``."""
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
            "{name} is a log of version {version:g}, but only versions up to {newest} can be "
            "read: save it in an older version",
            name=file.name,
            version=version,
            newest=_VERSION,
        )
    if status not in (None, "success"):
        log.note(
            Message(
                "the eval ended with status {status!r}; its contents were imported", status=status
            )
        )


def _sample(sample: ForeignRecord, about: ForeignRecord, log: ImportLog) -> Iterator[RecordedRow]:
    if sample.value("invalidation"):
        log.skip(Message("sample that was invalidated"))
        return
    scorers = [scorer_record.text("name") for scorer_record in about.objects("scorers")] or [
        "scorer"
    ]
    scores = named_objects(sample.nested("scores"))
    if not scores and isinstance(sample.value("score"), Mapping):
        scores = {scorers[0]: sample.nested("score")}  # of version 1, without its scorer's name
    for scorer, score in scores.items():
        yield from _score_rows(scorer, score, sample, about, log)
    error = sample.nested("error").value("message") or sample.value("error")
    # The sample failed before it was scored: every scorer gets a failed vote.
    if not scores and error:
        for name in scorers:
            vote = RecordedVote(model=_grader(about, name)).with_failure(error)
            yield _row(sample, name, _letter_question(name), vote)
    elif not scores:
        log.skip(Message("sample without scores"))


def _score_rows(
    scorer: str, score: ForeignRecord, sample: ForeignRecord, about: ForeignRecord, log: ImportLog
) -> Iterator[RecordedRow]:
    """Yield a scorer's judgments; if it has several values, each is a separate question."""
    original, edits = _history(score)
    vote_base = _vote_without_verdict(original, sample, _grader(about, scorer))
    value = original.value("value")
    several = original.nested("value").raw or {
        str(place): part for place, part in enumerate(original.values("value"))
    }
    for key, part in several.items():
        name = f"{scorer}/{key}"
        yield _row(sample, name, *_verdict(name, part, vote_base))
    if several and edits:
        log.skip(Message("edit of a score that has several values"), len(edits))
    if several:
        return
    changes = [part for part in edits if part.value("value") not in (None, _UNCHANGED)]
    metadata = original.nested("metadata").raw
    exported = Exported.of(metadata, is_same(value, inspect_value(metadata)))
    question, vote = (
        (exported.question, vote_base) if exported else _verdict(scorer, value, vote_base)
    )
    row = _row(sample, scorer, question, vote, tuple(_mark(part, question) for part in changes))
    yield exported.row(row, vote) if exported else row


def _history(score: ForeignRecord) -> tuple[ForeignRecord, Sequence[ForeignRecord]]:
    """Return the judge's own score, and people's edits of it.

    If only the edits are recorded, the judge's score has no value.
    """
    history = score.objects("history")
    # Entries with a provenance are people's edits; the one without is the judge's.
    people = [entry for entry in history if entry.nested("provenance")]
    judge_entry = next((entry for entry in history if not entry.nested("provenance")), EMPTY)
    if people and len(people) == len(history):
        lost = Message("the judge's own score was overwritten")
        return score.merge({"value": None, "explanation": lost}), people
    changed = {name: value for name, value in judge_entry.raw.items() if value != _UNCHANGED}
    return score.merge(changed), people


def _vote_without_verdict(score: ForeignRecord, sample: ForeignRecord, grader: str) -> RecordedVote:
    """Return a vote with the grader's prompt, reply and explanation, but no verdict yet."""
    extra = score.nested("metadata")
    messages = extra.objects("grading")
    reply = next(
        (message for message in reversed(messages) if message.value("role") == "assistant"), EMPTY
    )
    prompt = next((message for message in messages if message.value("role") == "user"), EMPTY)
    more = ForeignRecord({**extra.rest("grading", *METADATA), "answer": score.value("answer")})
    return RecordedVote(
        model=reply.text("model") or grader,
        explanation=score.text("explanation"),
        text=_resolve(_content(reply, "content"), sample),
        prompt=_resolve(_content(prompt, "content"), sample),
        more=more.rest(),
    )


def _letter_question(name: str) -> RecordedQuestion:
    return RecordedQuestion(name, options=_GRADES)


def _verdict(
    name: str, value: Json, vote_base: RecordedVote
) -> tuple[RecordedQuestion, RecordedVote]:
    if isinstance(value, bool):
        return pass_or_fail(name), vote_base.with_answer(as_verdict(value))
    points = number(value)
    if isinstance(value, str) and points is None and not is_missing(value):
        letter = value in _LETTERS
        question, answer = (_letter_question(name), value) if letter else question_for(name, value)
        return question, vote_base.with_answer(answer)
    if points is not None:
        return rate(name), vote_base.with_answer(points)
    # Without a value, the grade may still be readable from the reply.
    grade_read = grade(vote_base.text) if vote_base.text else None
    if grade_read is not None and grade_read in _LETTERS:
        return _letter_question(name), vote_base.with_answer(grade_read, outcome=Outcome.REPAIRED)
    missing = (
        Message("NaN, because it was not scored")
        if isinstance(value, float)
        else Message("the score has no value")
    )
    unreadable = bool(vote_base.text) or (isinstance(value, float) and math.isnan(value))
    return _letter_question(name), vote_base.with_failure(
        vote_base.explanation or missing, unreadable=unreadable
    )


def _mark(edit: ForeignRecord, question: RecordedQuestion) -> Mark:
    by, value = edit.nested("provenance"), edit.value("value")
    words = as_verdict(value) if isinstance(value, bool) else text(value)
    points = edit.number("value")
    # adjudge exports a good No as its score, so people who edit it write the other score
    scored = [
        option.name for option in question.options if points is not None and option.score == points
    ]
    named = option_named(question, words) or (scored[0] if len(scored) == 1 else words)
    return Mark(
        answer=named if points is None or question.kind != "rating" else points,
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
    inputs = fields_of(
        sample.merge({"input": _content(sample, "input")}).keep("input", "target", "choices")
    )
    fields = {
        name: _resolve(value, sample) if isinstance(value, str) else value
        for name, value in inputs.items()
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
        },
        at=seconds_of(sample.value("completed_at")),
    )


def _completion(output: ForeignRecord) -> str:
    choice = next(iter(output.objects("choices")), EMPTY)
    return output.text("completion") or _content(choice.nested("message"), "content")


def _content(record: ForeignRecord, key: str) -> str:
    """Return a text, a list of messages or a message's parts as one text."""
    if not isinstance(record.value(key), list):
        return record.text(key)
    parts = record.objects(key)
    lines = []
    for part in parts:
        inner = next((name for name in ("content", "text", "reasoning") if part.value(name)), "")
        role, words = part.text("role"), _content(part, inner)
        if words:
            lines.append(f"{role}: {words}" if role and len(parts) > 1 else words)
    return "\n".join(lines)


def _resolve(words: str, sample: ForeignRecord) -> str:
    """Replace attachment references with the long texts that a sample stores once."""
    attached = sample.nested("attachments").raw
    if not attached:
        return words
    return _ATTACHMENT.sub(lambda match: text(attached.get(match[1], match[0])), words)


def _grader(about: ForeignRecord, scorer: str) -> str:
    """Return the scorer's model: from its options, else the grader role, else unknown."""
    scorers = (
        record
        for record in about.objects("scorers")
        if record.value("name") == scorer.partition("/")[0]
    )
    options = next(scorers, EMPTY).nested("options")
    holder = options if options.value("model") else about.nested("model_roles")
    key = "model" if options.value("model") else "grader"
    model = holder.value(key)
    return (model if isinstance(model, str) else holder.nested(key).text("model")) or NOT_SAID


INSPECT = Format(
    "inspect", Message("Inspect log"), "inspect_ai 0.3.285, log version 2", _matches, _read
)
