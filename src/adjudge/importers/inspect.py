"""Inspect AI: ``.eval`` archives and ``.json`` logs. Samples are read, never the aggregates, which
hide what was not scored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping

from adjudge.domain.criteria import CriteriaOption
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.importers.archive import entries
from adjudge.importers.format import Format
from adjudge.importers.record import (
    NOT_SAID,
    PASS_OR_FAIL,
    Asked,
    Left,
    Mark,
    Recorded,
    RecordedVote,
    asked_for,
)
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import (
    fields_of,
    is_missing,
    listed,
    mapping,
    number,
    seconds,
    text,
    without,
)
from adjudge.verdicts.styles import grade

_VERSION = 2
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
        return any(
            _SAMPLE.fullmatch(name) or name in ("header.json", "_journal/start.json")
            for name in head.names
        )
    return (
        isinstance(head.document.get("eval"), Mapping)
        and {"version", "status"} <= head.document.keys()
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "input": "input",
            "target": "target",
            "output": "response",
            "scores": "votes",
            "history": "labels",
        }
    )
    if file.head.form == "archive":
        yield from _archive(file, left)
        return
    head = {path[0]: value for path, value in file.walk((), (("version",), ("eval",), ("status",)))}
    _check(head, file, left)
    for sample in file.records(("samples",)):
        yield from _sample(sample, mapping(head["eval"]), left)


def _archive(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    heads = ("header.json", "_journal/start.json")
    found = dict(entries(file.path, lambda name: name in heads))
    if not found:
        raise RunError(
            "{name} holds neither header.json nor _journal/start.json: it is not a log of Inspect",
            name=file.name,
        )
    head = mapping(_json(found.get(heads[0]) or found[heads[1]], file, heads[0]))
    _check(head, file, left)
    for name, content in entries(file.path, lambda name: bool(_SAMPLE.fullmatch(name))):
        sample = mapping(_json(content, file, name))
        if name.endswith(_SHELL):
            sample = {
                **sample,
                **_beside(file, name.removesuffix(_SHELL), attached=b"attachment://" in content),
            }
        yield from _sample(sample, mapping(head["eval"]), left)


def _beside(file: ForeignFile, folder: str, *, attached: bool) -> dict[str, object]:
    """What lies beside the shell of a sample that was written in chunks: its metadata, and texts by
    their index.
    """
    kept, chunks = (
        f"{folder}/metadata.json",
        re.compile(rf"{re.escape(folder)}/attachments/(\d+)\.json"),
    )
    found: dict[str, object] = {}
    texts: dict[str, object] = {}
    if not any(name == kept or (attached and chunks.fullmatch(name)) for name in file.head.names):
        return found
    for name, content in entries(
        file.path, lambda name: name == kept or (attached and bool(chunks.fullmatch(name)))
    ):
        value = _json(content, file, name)
        if start := chunks.fullmatch(name):
            texts.update(
                {str(int(start[1]) + place): one for place, one in enumerate(listed(value))}
            )
        else:
            found["metadata"] = value
    return {**found, **({"attachments": texts} if texts else {})}


def _json(content: bytes, file: ForeignFile, name: str) -> object:
    try:
        found: object = json.loads(content)
        return found
    except ValueError as error:
        raise RunError(
            "{name}, entry {name2!r} is not JSON: {error}", name=file.name, name2=name, error=error
        ) from error


def _check(head: Mapping[str, object], file: ForeignFile, left: Left) -> None:
    version = number(head.get("version"))
    about = mapping(head.get("eval"))
    left.version = (
        f"inspect_ai {mapping(about.get('packages')).get('inspect_ai', 'not said')}, log "
        f"version {head.get('version')}"
    )
    if version is not None and version > _VERSION:
        raise RunError(
            "{name} is a log of version {version:g}, and version {supported} is read: save it "
            "by that version",
            name=file.name,
            version=version,
            supported=_VERSION,
        )
    if head.get("status") not in (None, "success"):
        left.note(f"the eval ended as {head.get('status')!r}: what it holds was read")


def _sample(
    sample: Mapping[str, object], about: Mapping[str, object], left: Left
) -> Iterator[Recorded]:
    if sample.get("invalidation"):
        left.out("sample that was invalidated")
        return
    scores = mapping(sample.get("scores")) or _only_score(sample, about)
    for scorer, score in scores.items():
        yield from _scored(scorer, mapping(score), sample, about, left)
    if not scores and sample.get("error"):
        reason = mapping(sample["error"]).get("message") or sample["error"]
        for name in _scorers(about) or ["scorer"]:
            yield _row(
                sample,
                name,
                Asked(name, options=_GRADES),
                (RecordedVote(model=_grader(about, name)).failed(reason),),
                (),
            )
    elif not scores:
        left.out("sample without scores")


def _only_score(sample: Mapping[str, object], about: Mapping[str, object]) -> Mapping[str, object]:
    """Logs of version 1 have one score, without its scorer's name."""
    found = sample.get("score")
    return {(_scorers(about) or ["scorer"])[0]: found} if isinstance(found, Mapping) else {}


def _scored(
    scorer: str,
    score: Mapping[str, object],
    sample: Mapping[str, object],
    about: Mapping[str, object],
    left: Left,
) -> Iterator[Recorded]:
    """A scorer's value may be several under one name; each is a question of its own."""
    original, edits = _history(score)
    value = original.get("value")
    several = mapping(value) or (
        {str(place): one for place, one in enumerate(value)} if isinstance(value, list) else {}
    )
    for key, one in several.items():
        yield _judged(f"{scorer}/{key}", one, original, sample, about, scorer, ())
    if several and edits:
        left.out("edit of a score that has several values", len(edits))
    if not several:
        yield _judged(scorer, value, original, sample, about, scorer, edits)


def _history(
    score: Mapping[str, object],
) -> tuple[Mapping[str, object], tuple[Mapping[str, object], ...]]:
    """The judge's own score, and what people made of it: the first entry of a history is what stood
    there before.
    """
    history = [mapping(one) for one in listed(score.get("history"))]
    people = tuple(one for one in history if mapping(one.get("provenance")))
    own = next((one for one in history if not mapping(one.get("provenance"))), None)
    if people and own is None:
        return {
            **score,
            "value": None,
            "explanation": "the judge's own score was overwritten",
        }, people
    return (
        {**score, **{name: value for name, value in own.items() if value != _UNCHANGED}}
        if own
        else score
    ), people


def _judged(
    name: str,
    value: object,
    score: Mapping[str, object],
    sample: Mapping[str, object],
    about: Mapping[str, object],
    scorer: str,
    edits: tuple[Mapping[str, object], ...],
) -> Recorded:
    extra = mapping(score.get("metadata"))
    messages = [mapping(one) for one in listed(extra.get("grading"))]
    reply = next((one for one in reversed(messages) if one.get("role") == "assistant"), {})
    prompt = next((one for one in messages if one.get("role") == "user"), {})
    known = RecordedVote(
        model=text(reply.get("model")) or _grader(about, scorer),
        explanation=text(score.get("explanation")) or None,
        text=_resolved(_content(reply.get("content")), sample) or None,
        prompt=_resolved(_content(prompt.get("content")), sample) or None,
        more=without({**without(extra, "grading"), "answer": score.get("answer")}),
    )
    asked, vote = _verdict(name, value, known)
    marks = tuple(
        _mark(edit, asked) for edit in edits if edit.get("value") not in (None, _UNCHANGED)
    )
    return _row(sample, name, asked, (vote,), marks)


def _verdict(name: str, value: object, known: RecordedVote) -> tuple[Asked, RecordedVote]:
    if isinstance(value, bool):
        return Asked(name, options=PASS_OR_FAIL), known.said("PASS" if value else "FAIL")
    if isinstance(value, str) and number(value) is None and not is_missing(value):
        asked, answer = (
            (Asked(name, options=_GRADES), value) if value in _LETTERS else asked_for(name, value)
        )
        return asked, known.said(answer)
    points = number(value)
    again = grade(known.text) if points is None and known.text else None
    graded = Asked(name, options=_GRADES)
    if again is not None and again in _LETTERS:
        return graded, known.said(again, outcome=Outcome.REPAIRED)
    if points is None:
        reason = text(known.explanation) or (
            "NaN: it was not scored" if isinstance(value, float) else "it has no value"
        )
        outcome = (
            Outcome.UNREADABLE
            if known.text or (isinstance(value, float) and math.isnan(value))
            else Outcome.MODEL_ERROR
        )
        return graded, known.failed(reason, outcome)
    return Asked(name, kind="rating"), known.said(points)


def _mark(edit: Mapping[str, object], asked: Asked) -> Mark:
    by = mapping(edit.get("provenance"))
    value = edit["value"]
    answer = (
        number(value)
        if asked.kind == "rating"
        else ("PASS" if value else "FAIL")
        if isinstance(value, bool)
        else text(value)
    )
    return Mark(
        answer=answer if answer is not None else text(value),
        annotator=text(by.get("author")) or "editor",
        judge_visible=True,
        note=text(by.get("reason")),
        at=seconds(by.get("timestamp")),
    )


def _row(
    sample: Mapping[str, object],
    judge: str,
    asked: Asked,
    votes: tuple[RecordedVote, ...],
    marks: tuple[Mark, ...],
) -> Recorded:
    output = mapping(sample.get("output"))
    parts = {
        "input": _content(sample.get("input")),
        "target": sample.get("target"),
        "choices": sample.get("choices"),
    }
    fields = {
        name: _resolved(one, sample) if isinstance(one, str) else one
        for name, one in fields_of(parts).items()
    }
    name, epoch = text(sample.get("id")), sample.get("epoch")
    return Recorded(
        judge=judge,
        asked=asked,
        fields={**fields, "response": _resolved(_completion(output), sample)},
        id=f"{name} (epoch {epoch})" if isinstance(epoch, int) and epoch > 1 else name,
        votes=votes,
        marks=marks,
        more={"sample_id": name, "epoch": epoch, **without(sample, *_READ)},
        at=seconds(sample.get("completed_at")),
    )


def _completion(output: Mapping[str, object]) -> str:
    choices = listed(output.get("choices"))
    message = mapping(mapping(choices[0]).get("message")) if choices else {}
    return text(output.get("completion")) or _content(message.get("content"))


def _content(value: object) -> str:
    """A text, messages, or the parts of a message, as one text."""
    if not isinstance(value, list):
        return text(value)
    parts = [mapping(one) for one in value]
    said = [
        (
            text(one.get("role")),
            _content(one.get("content") or one.get("text") or one.get("reasoning")),
        )
        for one in parts
    ]
    return "\n".join(
        f"{role}: {words}" if role and len(parts) > 1 else words for role, words in said if words
    )


def _resolved(words: str, sample: Mapping[str, object]) -> str:
    """Long texts stand once in a sample, and elsewhere a reference to them."""
    attached = mapping(sample.get("attachments"))
    return (
        _ATTACHMENT.sub(lambda found: text(attached.get(found[1], found[0])), words)
        if attached
        else words
    )


def _scorers(about: Mapping[str, object]) -> list[str]:
    return [text(mapping(one).get("name")) for one in listed(about.get("scorers"))]


def _grader(about: Mapping[str, object], scorer: str) -> str:
    """The model that a scorer asks: its option, else the role, else nobody says."""
    base = scorer.partition("/")[0]
    options = next(
        (
            mapping(mapping(one).get("options"))
            for one in listed(about.get("scorers"))
            if mapping(one).get("name") == base
        ),
        {},
    )
    chosen = options.get("model") or mapping(about.get("model_roles")).get("grader")
    return text(chosen if isinstance(chosen, str) else mapping(chosen).get("model")) or NOT_SAID


INSPECT = Format("inspect", "Inspect log", "inspect_ai 0.3.285, log version 2", _matches, _read)
