"""Import results of promptfoo: ``promptfoo eval -o out.json`` (results versions 2 and 3),
``.yaml``, ``.jsonl`` and ``.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.data.cells import text_of
from adjudge.core.domain.repetition import ROW
from adjudge.core.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.features.importers.exported import Exported, is_same
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    FAIL,
    NOT_SAID,
    PASS,
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    as_verdict,
    by_model,
    pass_or_fail,
    shorten_name,
)
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head, usage_in
from adjudge.features.importers.values import Json, Texts, fields_of, text, with_response
from adjudge.messages import Message
from adjudge.runs.exporters.promptfoo import ANSWER, promptfoo_score

_MODEL_GRADED = re.compile(
    r"(not-)?(llm-rubric|g-eval|factuality|model-graded-.+|answer-relevance|context-.+"
    r"|select-best|conversation-relevance|"
    r"[a-z]+-rubric|pi|classifier|moderation|trajectory:goal-success|promptfoo:redteam:.+)"
)
_BY_A_PERSON = "human"
_SET = "assert-set"
_OVERRIDDEN = "Manual result"
# promptfoo's reason if nothing was checked, which it calls a pass.
_NO_ASSERTIONS = "No assertions"
# promptfoo's prefix of a comment on a marked cell; not part of the comment.
_HIGHLIGHT = "!highlight"
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
_ALL_ASSERTIONS = "all assertions"
# The models of verdicts that no model gave.
_ASSERTIONS, _CODE = "assertions", "code"
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
# The prefix of an output in older tables, which have no column for it.
_STATUS = re.compile(r"\[(PASS|FAIL|ERROR)\](?: \((\d+(?:\.\d+)?)\))?\s*")
_NUMBERED = re.compile(r" \(\d+\)$")


def _matches(head: Head) -> bool:
    record, old = head.record, head.at("results")
    if head.form == "table":
        cells = map(text, record.raw.values())
        rated = head.has("Status", "Score") or any(map(_STATUS.match, cells))
        return rated and any(map(_GROUP.match, record))
    if head.form in ("lines", "list"):
        return head.has("promptIdx", "testIdx") or head.has("gradingResult", "vars", "success")
    inside = head.at("results", "results") or head.at("data", "results", "results")
    keys = ("gradingResult", "promptIdx", "testCase", "failureReason", "namedScores")
    listed = inside.has_any(*keys) or old.has_any(*keys)
    return listed or (old.has_any("table", "prompts") and "version" in old)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if file.head.form == "table":
        yield from _table(file, log)
        return
    default = NOT_SAID
    if file.head.form == "object":
        _check_version(file, log)
        # The default provider comes after the results, so the document is read once for it alone.
        # it stands behind the results, so the document is walked through once for it
        test = file.document(("config", "defaultTest")).nested("defaultTest")
        default = _provider(test.nested("options"), "provider") or NOT_SAID
    log.use({"vars": "fields", "response": "response", "gradingResult": "votes and labels"})
    # of outputs with one assertion each, the overall verdict is that of the assertion
    overall, outputs = False, dict[str, tuple[str, str]]()
    for record in file.records(*_LISTS):
        overall = overall or len(_graded_parts(record)) != 1
        prompt = record.nested("prompt")
        outputs.setdefault(
            record.text("promptIdx"),
            (_provider(record, "provider"), shorten_name(prompt.text("label", "raw"))),
        )
    systems = _system_names(outputs)
    for record in file.records(*_LISTS):
        system = systems.get(record.text("promptIdx"))
        for row in _result(record, default, log, overall=overall):
            yield _of_system(row, system, record.text("testIdx"))


def _system_names(outputs: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return a name per output column: each pair of provider and prompt is one system.

    Return nothing if there is only one. `outputs` maps a column's number to (provider, prompt).
    """
    if len(outputs) < 2:
        return {}
    providers = {provider for provider, _ in outputs.values()}
    prompts = {prompt for _, prompt in outputs.values()}
    names: dict[str, str] = {}
    for column, (provider, prompt) in outputs.items():
        parts = [
            *([provider] if len(providers) > 1 or len(prompts) == 1 else []),
            *([prompt] if len(prompts) > 1 else []),
        ]
        name = " · ".join(part for part in parts if part) or f"output {column}"
        names[column] = f"{name} ({column})" if name in names.values() else name
    return names


def _of_system(row: RecordedRow, system: str | None, answered: str) -> RecordedRow:
    """Add the answering system and the test to the row; unchanged without a system."""
    if system is None:
        return row
    return replace(row, more={"system": system, ROW: answered, **row.more})


_LISTS = (("results", "results"), ("results",), ("data", "results", "results"))


def _graded_parts(record: ForeignRecord) -> Sequence[ForeignRecord]:
    """Return an output's assertion results, or its bare assertions if it was not graded."""
    if _find_failure(record):
        return [*_assertions(record.nested("testCase"))]
    return [part for part in _results(record) if _type(part) and not _is_human(part)]


def _results(record: ForeignRecord) -> Sequence[ForeignRecord]:
    grading = record.nested("gradingResult")
    return _parts(grading) or ([grading] if grading else [])


def _check_version(file: ForeignFile, log: ImportLog) -> None:
    head = file.head
    version = head.at("results").value("version") or head.document.value("version")
    log.version = f"results version {version or 'not said'}"
    if isinstance(version, int) and version not in _VERSIONS:
        raise RunError(
            "{name} has results of version {version}; promptfoo's versions 2 and 3 can be read",
            name=file.name,
            version=version,
        )


def _result(
    record: ForeignRecord, default: str, log: ImportLog, *, overall: bool
) -> Iterator[RecordedRow]:
    """Yield each assertion as a judgment; with `overall`, also the verdict on all of them."""
    for part in _results(record):
        if exported := _exported(part):  # adjudge's own results have one assertion each
            yield _exported_row(record, part, exported, log)
            return
    if (reason := _find_failure(record)) is not None:
        yield from _failed_rows(record, default, reason, overall=overall)
        return
    grading, parts, checked = (
        record.nested("gradingResult"),
        _results(record),
        _graded_parts(record),
    )
    marks = tuple(_mark(part, grading) for part in parts if _is_human(part))
    for part in checked:
        if _MODEL_GRADED.fullmatch(_type(part)):
            alone = len(checked) == 1 and not overall
            yield _model_row(record, part, default, marks if alone else (), log)
        else:
            kind = _type(part)
            vote = _vote(record, part, _CODE, inverted=False)
            question = _rule(kind, part.nested("assertion"))
            yield _row(
                record, by_model(kind, _CODE), question, (vote,), marks if not overall else ()
            )
    unnamed = len(parts) - len(marks) - len(checked)
    if unnamed and grading.text("reason").strip() != _NO_ASSERTIONS:
        log.skip(Message("result of an assertion that is not in the file"), unnamed)
    if overall:
        yield _overall(record, checked, marks)


def _find_failure(record: ForeignRecord) -> str | None:
    """Return why an output has no verdicts; None if it was graded."""
    response, error = record.nested("response"), record.text("error")
    # If the provider failed, promptfoo may have graded the empty output: that is not a verdict.
    failed = record.value("failureReason") == _ERROR or response.value("error")
    graded = record.nested("gradingResult")
    if (failed or (error and not graded)) and not response.text("output"):
        provider_error = error or response.text("error") or Message("no reason is recorded")
        return Message("the provider call failed: {error}", error=provider_error)
    return None if graded else error or Message("the assertion was not graded")


def _failed_rows(
    record: ForeignRecord, default: str, reason: str, *, overall: bool
) -> Iterator[RecordedRow]:
    """Yield the assertions of an output that was not graded, without verdicts."""
    for assertion in _assertions(record.nested("testCase")):
        kind = assertion.text("type")
        base = kind.removeprefix("not-")
        if _MODEL_GRADED.fullmatch(kind):
            model, question = (
                _provider(assertion, "provider") or default,
                _question(base, assertion, EMPTY),
            )
        else:
            base, model, question = kind, _CODE, _rule(kind, assertion)
        vote = RecordedVote(model=model).with_failure(reason)
        yield _row(record, by_model(base, model), question, (vote,))
    if overall:
        vote = RecordedVote(model=_ASSERTIONS).with_failure(reason)
        has_failed = record.value("error") or _graded_parts(record)
        yield _row(record, _ALL_ASSERTIONS, _OVERALL, (vote,) if has_failed else ())


def _assertions(test: ForeignRecord) -> Iterator[ForeignRecord]:
    """Yield the assertions of a test case, also those inside sets."""
    for assertion in test.objects("assert"):
        if assertion.text("type") == _SET:
            yield from _assertions(assertion)
        elif assertion.text("type"):
            yield assertion


def _rule(kind: str, assertion: ForeignRecord) -> RecordedQuestion:
    words = _words(assertion.value("value"))
    name = assertion.text("metric") or shorten_name(f"{kind}: {words}" if words else kind)
    return pass_or_fail(name, f"{kind}: {words}" if words else kind)


def _parts(grading: ForeignRecord) -> list[ForeignRecord]:
    """Return the results of all assertions, also those inside sets."""
    parts = grading.objects("componentResults")
    # Results of a set are inside it; some versions also list them next to it.
    for part in list(parts):
        raw_parts = [other.raw for other in parts]
        parts += [inner for inner in _parts(part) if inner.raw not in raw_parts]
    return [
        part
        for part in parts
        if not part.values("componentResults") or _type(part) not in ("", _SET)
    ]


def _is_human(part: ForeignRecord) -> bool:
    overridden = not _type(part) and str(part.value("reason")).startswith(_OVERRIDDEN)
    return overridden or _type(part) == _BY_A_PERSON


def _model_row(
    record: ForeignRecord,
    part: ForeignRecord,
    default: str,
    marks: tuple[Mark, ...],
    log: ImportLog,
) -> RecordedRow:
    kind, assertion = _type(part), part.nested("assertion")
    inverted = kind.startswith("not-")
    if inverted:
        log.note(
            Message(
                "verdicts of not-… assertions are inverted, so that they show the judge's "
                "verdict on the criterion as written"
            )
        )
        marks = tuple(replace(mark, answer=as_verdict(mark.answer != PASS)) for mark in marks)
    vote = _vote(record, part, _provider(assertion, "provider") or default, inverted)
    base = kind.removeprefix("not-")
    question = _question(base, assertion, part)
    return _row(record, by_model(base, vote.model), question, (vote,), marks)


def _exported(part: ForeignRecord) -> Exported | None:
    """Return the judgment that adjudge exported as this result of an assertion."""
    metadata = part.nested("metadata").raw
    score = promptfoo_score(metadata)
    is_unchanged = (
        part.value("score") == 0 if score is None else is_same(part.number("score"), score)
    )
    return Exported.of(metadata, is_unchanged)


def _exported_row(
    record: ForeignRecord, part: ForeignRecord, exported: Exported, log: ImportLog
) -> RecordedRow:
    """Return the row of adjudge's own export, with the answers that people gave."""
    question, grading, marks = exported.question, record.nested("gradingResult"), list[Mark]()
    for other in filter(_is_human, _results(record)):
        mark = _mark(other, grading)
        known = question.kind == "rating" or mark.answer in {each.name for each in question.options}
        if known and (answer := exported.mark(mark, mark.answer)):
            marks.append(answer)
        else:
            log.skip(Message("manual rating that does not say which answer it means"))
    row = _row(record, exported.judge, question, (), tuple(marks))
    return exported.row(row, RecordedVote(explanation=part.text("reason")))


def _vote(record: ForeignRecord, part: ForeignRecord, model: str, inverted: bool) -> RecordedVote:
    about, reason = part.nested("metadata"), part.text("reason")
    vote = RecordedVote(
        model=model,
        explanation=reason,
        text=about.text("graderOutputs") if about.value("graderOutputs") else "",
        prompt=about.text("renderedGradingPrompt"),
        usage=usage_in(part.nested("tokensUsed"), "prompt", "completion"),
        more=part.rest("pass", "score", "reason", "tokensUsed", "metadata", "componentResults"),
    )
    if wrong := _failure(record, part):
        return vote.with_failure(
            reason or record.value("error"), unreadable=wrong is Outcome.UNREADABLE
        )
    points = part.number("score")
    score = None if points is None else 1 - points if inverted else points
    return vote.with_answer(as_verdict(bool(part.value("pass")) is not inverted), score)


def _failure(record: ForeignRecord, part: ForeignRecord) -> Outcome | None:
    """Return how a judge failed; None if it gave a verdict."""
    # promptfoo records a grader that failed as "pass: false".
    passes, reason = part.value("pass"), part.text("reason")
    if passes is True:
        return None
    if _UNREADABLE.match(reason):
        return Outcome.UNREADABLE
    errored = (
        part.nested("metadata").value("graderError")
        or record.value("failureReason") == _ERROR
        or _NOT_GRADED.match(reason)
        or not isinstance(passes, bool)
    )
    return Outcome.MODEL_ERROR if errored else None


def _overall(
    record: ForeignRecord, parts: Sequence[ForeignRecord], marks: tuple[Mark, ...]
) -> RecordedRow:
    """Return the verdict on the output as a whole."""
    vote = RecordedVote(model=_ASSERTIONS)
    success = record.value("success")
    if any(_failure(record, part) for part in parts):
        vote = vote.with_failure(Message("an assertion ended without a verdict"))
    # A person's mark replaces promptfoo's own verdict, which knows weights and thresholds: then the
    # verdict is computed from the assertions.
    elif marks or not isinstance(success, bool):
        vote = vote.with_answer(as_verdict(all(part.value("pass") for part in parts)))
    else:
        vote = vote.with_answer(as_verdict(success), record.number("score"))
    return _row(record, _ALL_ASSERTIONS, _OVERALL, (vote,) if parts else (), marks)


def _mark(part: ForeignRecord, grading: ForeignRecord) -> Mark:
    comment = text(part.value("comment") or grading.value("comment"))
    answer = part.nested("metadata").value(ANSWER)
    return Mark(
        answer=answer if isinstance(answer, str | float) else as_verdict(part.value("pass")),
        annotator=_BY_A_PERSON,
        judge_visible=True,
        note=comment.removeprefix(_HIGHLIGHT).strip(),
    )


def _question(kind: str, assertion: ForeignRecord, part: ForeignRecord) -> RecordedQuestion:
    value = assertion.value("value") or part.nested("metadata").value("renderedAssertionValue")
    words = _words(value)
    name = assertion.text("metric") or shorten_name(words) or kind
    return pass_or_fail(name, words or f"{kind}, as promptfoo asks it.")


def _words(value: Json) -> str:
    return "\n".join(map(text, value)) if isinstance(value, list) else text(value)


def _row(
    record: ForeignRecord,
    judge: str,
    question: RecordedQuestion,
    votes: tuple[RecordedVote, ...],
    marks: tuple[Mark, ...] = (),
) -> RecordedRow:
    variables = record.nested("vars") or record.nested("testCase").nested("vars")
    prompt = record.nested("prompt").text("raw")
    fields: Texts = fields_of(variables.raw) or ({"prompt": prompt} if prompt else {})
    places = [record.value("testIdx"), record.value("promptIdx")]
    name = "-".join(str(place) for place in places if place is not None)
    return RecordedRow(
        judge=judge,
        question=question,
        fields=with_response(fields, record.nested("response").text("output")),
        id=name or record.text("id") or None,
        votes=votes,
        marks=marks,
        more={**record.rest(*_READ), **record.keep("error")},
    )


def _type(part: ForeignRecord) -> str:
    return part.nested("assertion").text("type")


def _provider(record: ForeignRecord, key: str) -> str:
    """Return a provider's name, which may be in an object or below its key ``text``."""
    value = record.value(key)
    if isinstance(value, str):
        return value
    options = record.nested(key)
    return options.text("label", "id") or (_provider(options, "text") if options else "")


# -- CSV -----------------------------------------------------------------------------


def _table(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.version = "CSV"
    log.note(
        Message(
            "the CSV says whether an output passed, not which assertion decided, so each verdict "
            "is for all assertions together"
        )
    )
    log.note(
        Message(
            "in the CSV, some grader errors look like FAIL: import the JSON instead, if you have it"
        )
    )
    for row in file.records():
        cells = {
            name: (text_of(value) if isinstance(value, str) else text(value))
            for name, value in row.raw.items()
        }
        columns = list(cells)
        starts = [place for place, name in enumerate(columns) if _GROUP.match(name)]
        variables = fields_of({name: cells[name] for name in columns[: starts[0]]})
        for prompt, (start, end) in enumerate(zip(starts, [*starts[1:], None], strict=True)):
            group = {name: cells[name] for name in columns[start:end]}
            output = _output(group, variables, f"{row.row - 1}-{prompt}")
            system = columns[start] if len(starts) > 1 else None
            yield _of_system(output, system, str(row.row - 1))


def _output(group: Mapping[str, str], variables: Texts, id: str) -> RecordedRow:
    """Read an output and the columns that follow it."""
    (provider, output), *columns = group.items()
    cells = {_NUMBERED.sub("", name): value for name, value in columns}
    # Older tables put status, score and reason into the cell of the output.
    if "Status" not in cells and (match := _STATUS.match(output)):
        reason, _, output = output[match.end() :].rpartition("\n---\n")
        cells = {"Status": match[1], "Score": match[2] or "", "Grader Reason": reason.strip()}
    record = ForeignRecord(cells)
    status, reason = record.text("Status").upper(), record.text("Grader Reason")
    by_person = reason.startswith(_OVERRIDDEN)
    checked = not by_person and reason.strip() != _NO_ASSERTIONS
    mark = Mark(
        answer=status, annotator=_BY_A_PERSON, judge_visible=True, note=record.text("Comment")
    )
    return RecordedRow(
        judge=_ALL_ASSERTIONS,
        question=_OVERALL,
        fields=with_response(variables, output),
        id=id,
        votes=(_status_vote(status, record.number("Score"), reason),) if checked else (),
        marks=(mark,) if by_person and status in (PASS, FAIL) else (),
        more={
            "provider": _NUMBERED.sub("", provider),
            **record.rest("Status", "Score", "Grader Reason"),
        },
    )


def _status_vote(status: str, score: float | None, reason: str) -> RecordedVote:
    vote = RecordedVote(model=_ASSERTIONS)
    graded = not _NOT_GRADED.match(reason) and not _UNREADABLE.match(reason)
    if status == PASS or (status == FAIL and graded):
        return replace(vote, answer=status, score=score, explanation=reason)
    return vote.with_failure(
        reason or Message("the status of the evaluation is {status}", status=status or "empty")
    )


PROMPTFOO = Format(
    "promptfoo",
    Message("promptfoo results"),
    "promptfoo 831ec62 (2026-08), results versions 2 and 3",
    _matches,
    _read,
)
