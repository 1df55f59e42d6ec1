"""promptfoo: ``promptfoo eval -o out.json`` (results versions 2 and 3), ``.yaml``, ``.jsonl`` and
``.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.data.cells import text_of
from adjudge.domain.frozen import NOTHING
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.importers.format import Format
from adjudge.importers.record import (
    FAIL,
    NOT_SAID,
    PASS,
    Asked,
    Left,
    Mark,
    Recorded,
    RecordedVote,
    by_model,
    named,
    pass_or_fail,
)
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import (
    answered,
    fields_of,
    first,
    listed,
    mapping,
    number,
    text,
    usage_of,
    without,
)
from adjudge.messages import Message

_MODEL_GRADED = re.compile(
    r"(not-)?(llm-rubric|g-eval|factuality|model-graded-.+|answer-relevance|context-.+"
    r"|select-best|conversation-relevance|"
    r"[a-z]+-rubric|pi|classifier|moderation|trajectory:goal-success|promptfoo:redteam:.+)"
)
_BY_A_PERSON = "human"
_SET = "assert-set"
_OVERRIDDEN = "Manual result"
_NO_ASSERTIONS = "No assertions"
"""What promptfoo gives as the reason where nothing was checked: it calls that a pass."""
_HIGHLIGHT = "!highlight"
"""What the page puts before a comment on a cell that is marked; it is not a part of it."""
_ERROR = 2
_UNREADABLE = re.compile(
    r"Could not extract JSON|.*produced malformed response|.*Failed to parse|.*Invalid JSON",
    re.IGNORECASE,
)
_NOT_GRADED = re.compile(
    r"(API( call)? error|No output|Error:|Grading (failed|error)|.*rate limit|.*timed? ?out)",
    re.IGNORECASE,
)
_VERSIONS = (2, 3)
_OVERALL = pass_or_fail("overall", "Does the output pass all of its assertions?")
_READ = (
    "gradingResult",
    "response",
    "vars",
    "testCase",
    "success",
    "score",
    "id",
    "error",
    "failureReason",
)
_GROUP = re.compile(r"\[.+\] ?")
_STATUS = re.compile(r"\[(PASS|FAIL|ERROR)\](?: \((\d+(?:\.\d+)?)\))?\s*")
"""What older tables put before the output, instead of a column of its own."""
_NUMBERED = re.compile(r" \(\d+\)$")


def _matches(head: Head) -> bool:
    if head.form == "table":
        grouped = any(_GROUP.match(name) for name in head.record)
        return grouped and (
            head.has("Status", "Score") or any(map(_STATUS.match, map(text, head.record.values())))
        )
    if head.form in ("lines", "list"):
        return head.has("promptIdx", "testIdx") or (
            head.has("gradingResult", "vars") and "success" in head.record
        )
    inside, old = (
        mapping(head.at("results", "results") or head.at("data", "results", "results")),
        mapping(head.at("results")),
    )
    known = {"gradingResult", "promptIdx", "testCase", "failureReason", "namedScores"}
    return bool(
        known & inside.keys()
        or known & old.keys()
        or ({"table", "prompts"} & old.keys() and "version" in old)
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    if head.form == "table":
        yield from _table(file, left)
        return
    default = NOT_SAID
    if head.form == "object":
        _check_version(file, head, left)
        default = _provider(_default_provider(file)) or NOT_SAID
    left.use({"vars": "fields", "response": "response", "gradingResult": "votes and labels"})
    for record in file.records(
        ("results", "results"), ("results",), ("data", "results", "results")
    ):
        yield from _result(record, default, left)


def _check_version(file: ForeignFile, head: Head, left: Left) -> None:
    version = head.at("results", "version") or head.at("version")
    left.version = f"results version {version or 'not said'}"
    if isinstance(version, int) and version not in _VERSIONS:
        raise RunError(
            "{name} has results of version {version}, and versions 2 and 3 of promptfoo's are read",
            name=file.name,
            version=version,
        )


def _default_provider(file: ForeignFile) -> object:
    """It stands behind the results, so the document is walked through once for it."""
    for _, value in file.walk((), (("config", "defaultTest"),)):
        return mapping(mapping(value).get("options")).get("provider")
    return None


def _result(record: Mapping[str, object], default: str, left: Left) -> Iterator[Recorded]:
    grading = mapping(record.get("gradingResult"))
    parts = _parts(grading) or ([grading] if grading else [])
    by_model = [one for one in parts if _MODEL_GRADED.fullmatch(_type(one))]
    people = [one for one in parts if _is_human(one)]
    alone = len(by_model) == 1 and len(parts) - len(people) == 1
    marks = tuple(_mark(one, grading) for one in people)
    for one in by_model:
        yield _judged(record, one, default, marks if alone else (), left)
    if marks and not alone:
        yield _overall(record, [one for one in parts if not _is_human(one)], marks)
    code = [
        _type(one) or "no assertion" for one in parts if one not in by_model and one not in people
    ]
    for name in code:
        left.out(Message("assertion {name!r}, which no model judges", name=name))
    if not parts:
        yield from _not_graded(record, default, left)


def _parts(grading: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The results of all assertions; those of a set stand inside it, in some versions beside it as
    well.
    """
    found = [mapping(one) for one in listed(grading.get("componentResults"))]
    for one in list(found):
        found += [inner for inner in _parts(one) if inner not in found]
    return [
        one
        for one in found
        if not listed(one.get("componentResults")) or _type(one) not in ("", _SET)
    ]


def _is_human(part: Mapping[str, object]) -> bool:
    return _type(part) == _BY_A_PERSON or (
        not _type(part) and str(part.get("reason")).startswith(_OVERRIDDEN)
    )


def _judged(
    record: Mapping[str, object],
    part: Mapping[str, object],
    default: str,
    marks: tuple[Mark, ...],
    left: Left,
) -> Recorded:
    kind, assertion = _type(part), mapping(part.get("assertion"))
    inverted = kind.startswith("not-")
    if inverted:
        left.note(
            Message(
                "verdicts of not-… assertions are turned round: the judge's own, on the "
                "criteria as it is written"
            )
        )
        marks = tuple(replace(one, answer=FAIL if one.answer == PASS else PASS) for one in marks)
    vote = _vote(record, part, _provider(assertion.get("provider")) or default, inverted)
    base = kind.removeprefix("not-")
    return _row(record, by_model(base, vote.model), _asked(base, assertion, part), (vote,), marks)


def _vote(
    record: Mapping[str, object], part: Mapping[str, object], model: str, inverted: bool
) -> RecordedVote:
    about = mapping(part.get("metadata"))
    used = mapping(part.get("tokensUsed"))
    reply = about.get("graderOutputs")
    vote = RecordedVote(
        model=model,
        explanation=text(part.get("reason")) or None,
        text=text(reply) if reply else None,
        prompt=text(about.get("renderedGradingPrompt")) or None,
        usage=usage_of(used.get("prompt"), used.get("completion")),
        more=without(part, "pass", "score", "reason", "tokensUsed", "metadata", "componentResults"),
    )
    reason = text(part.get("reason"))
    wrong = _failure(record, part, reason)
    if wrong:
        return vote.failed(reason or record.get("error"), wrong)
    passed, points = bool(part.get("pass")) is not inverted, number(part.get("score"))
    score = None if points is None else 1 - points if inverted else points
    return vote.said(PASS if passed else FAIL, score)


def _failure(
    record: Mapping[str, object], part: Mapping[str, object], reason: str
) -> Outcome | None:
    """A judge that failed looks like one that said no."""
    if part.get("pass") is True:
        return None
    if _UNREADABLE.match(reason):
        return Outcome.UNREADABLE
    errored = (
        mapping(part.get("metadata")).get("graderError") or record.get("failureReason") == _ERROR
    )
    return (
        Outcome.MODEL_ERROR
        if errored or _NOT_GRADED.match(reason) or not isinstance(part.get("pass"), bool)
        else None
    )


def _not_graded(record: Mapping[str, object], default: str, left: Left) -> Iterator[Recorded]:
    """Nothing was graded, mostly because the system under test ended in an error: that is no
    verdict of the judge's.
    """
    wanted = [mapping(one) for one in listed(mapping(record.get("testCase")).get("assert"))]
    for assertion in wanted:
        kind = str(assertion.get("type")).removeprefix("not-")
        if _MODEL_GRADED.fullmatch(kind):
            vote = RecordedVote(model=_provider(assertion.get("provider")) or default).failed(
                record.get("error") or Message("it was not graded")
            )
            yield _row(
                record, by_model(kind, vote.model), _asked(kind, assertion, NOTHING), (vote,), ()
            )
            return
    left.out(
        Message("result that was not graded by a model: it ended in an error")
        if record.get("error")
        else Message("result that was not graded by a model")
    )


def _overall(
    record: Mapping[str, object], parts: Sequence[Mapping[str, object]], marks: tuple[Mark, ...]
) -> Recorded:
    """A person marks the output, not one assertion.

    Beside it stands what all assertions together said before.
    """
    graded = [one for one in parts if _failure(record, one, text(one.get("reason"))) is None]
    votes: tuple[RecordedVote, ...] = ()
    if parts and len(graded) == len(parts):
        votes = (
            RecordedVote(
                answer=PASS if all(one.get("pass") for one in parts) else FAIL, model="assertions"
            ),
        )
    elif parts:
        votes = (
            RecordedVote(model="assertions").failed(
                Message("an assertion ended without a verdict")
            ),
        )
    return _row(record, "all assertions", _OVERALL, votes, marks)


def _mark(part: Mapping[str, object], grading: Mapping[str, object]) -> Mark:
    comment = (
        text(first(part, "comment") or first(grading, "comment")).removeprefix(_HIGHLIGHT).strip()
    )
    return Mark(
        answer=PASS if part.get("pass") else FAIL,
        annotator=_BY_A_PERSON,
        judge_visible=True,
        note=comment,
    )


def _asked(kind: str, assertion: Mapping[str, object], part: Mapping[str, object]) -> Asked:
    value = assertion.get("value") or mapping(part.get("metadata")).get("renderedAssertionValue")
    words = "\n".join(map(text, value)) if isinstance(value, list) else text(value)
    name = text(assertion.get("metric")) or named(words) or kind
    return pass_or_fail(name, words or f"{kind}, as promptfoo asks it.")


def _row(
    record: Mapping[str, object],
    judge: str,
    asked: Asked,
    votes: tuple[RecordedVote, ...],
    marks: tuple[Mark, ...],
) -> Recorded:
    variables = fields_of(
        mapping(record.get("vars")) or mapping(mapping(record.get("testCase")).get("vars"))
    )
    prompt = text(mapping(record.get("prompt")).get("raw"))
    shown = variables or ({"prompt": prompt} if prompt else {})
    places = [record.get("testIdx"), record.get("promptIdx")]
    name = "-".join(str(place) for place in places if place is not None)
    return Recorded(
        judge=judge,
        asked=asked,
        fields=answered(shown, text(mapping(record.get("response")).get("output"))),
        id=name or text(record.get("id")) or None,
        votes=votes,
        marks=marks,
        more={**without(record, *_READ), **without({"error": record.get("error")})},
    )


def _type(part: Mapping[str, object]) -> str:
    return text(mapping(part.get("assertion")).get("type"))


def _provider(value: object) -> str:
    """A name, or an object with one, or one for each kind of grading."""
    if isinstance(value, str):
        return value
    found = mapping(value)
    return text(first(found, "label", "id")) or _provider(found.get("text") or "") if found else ""


# -- CSV -----------------------------------------------------------------------------


def _table(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.version = "CSV"
    left.note(
        Message(
            "the CSV says whether an output passed, not which assertion said so: the verdicts "
            "are of all assertions together"
        )
    )
    left.note(
        Message(
            "in the CSV, some errors of a grader look like FAIL: import the JSON instead where "
            "you have it"
        )
    )
    for place, row in enumerate(file.records()):
        columns = list(row)
        starts = [index for index, name in enumerate(columns) if _GROUP.match(name)]
        variables = fields_of({name: _cell(row[name]) for name in columns[: starts[0]]})
        for prompt, start in enumerate(starts):
            end = starts[prompt + 1] if prompt + 1 < len(starts) else len(columns)
            yield _cells(row, columns[start:end], variables, f"{place}-{prompt}")


def _cells(
    row: Mapping[str, object],
    columns: list[str],
    variables: Mapping[str, str | tuple[str, ...]],
    id: str,
) -> Recorded:
    cells = {_NUMBERED.sub("", name): _cell(row[name]) for name in columns[1:]}
    output = _cell(row[columns[0]])
    if "Status" not in cells and (found := _STATUS.match(output)):
        reason, _, output = output[found.end() :].rpartition("\n---\n")
        cells = {"Status": found[1], "Score": found[2] or "", "Grader Reason": reason.strip()}
    status, reason = text(cells.get("Status")).upper(), text(cells.get("Grader Reason"))
    by_person = reason.startswith(_OVERRIDDEN)
    checked = not by_person and reason.strip() != _NO_ASSERTIONS
    mark = Mark(
        answer=status, annotator=_BY_A_PERSON, judge_visible=True, note=text(cells.get("Comment"))
    )
    return Recorded(
        judge="all assertions",
        asked=_OVERALL,
        fields=answered(variables, output),
        id=id,
        votes=(_status_vote(status, number(cells.get("Score")), reason),) if checked else (),
        marks=(mark,) if by_person and status in (PASS, FAIL) else (),
        more={
            "provider": _NUMBERED.sub("", columns[0]),
            **without(cells, "Status", "Score", "Grader Reason"),
        },
    )


def _cell(value: object) -> str:
    """What was written into a cell, without what defuses it."""
    return text_of(value) if isinstance(value, str) else text(value)


def _status_vote(status: str, score: float | None, reason: str) -> RecordedVote:
    if status == PASS or (
        status == FAIL and not _NOT_GRADED.match(reason) and not _UNREADABLE.match(reason)
    ):
        return RecordedVote(
            answer=status, score=score, explanation=reason or None, model="assertions"
        )
    return RecordedVote(model="assertions").failed(
        reason or Message("its status is {status}", status=status or "empty")
    )


PROMPTFOO = Format(
    "promptfoo",
    Message("promptfoo results"),
    "promptfoo 831ec62 (2026-08), results versions 2 and 3",
    _matches,
    _read,
)
