"""EvalAssist: exported test cases, and their data as CSV (that by ``--as evalassist``: a bare table
tells nobody what it is).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.core.domain.criteria import CriteriaExample, CriteriaOption
from adjudge.core.domain.verdict import TIE, letter
from adjudge.errors import RunError
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    NOT_SAID,
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    by_model,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, Texts, fields_of, number, text
from adjudge.messages import Message

_VERSION = 2
_CASE = ("evaluator", "pipeline", "criteria", "syntheticGenerationConfig", "examples", "judge")
"""What a test case says beside its rows."""
_ROW = ("contextVariables", "response", "responses", "result", "expectedResult", "id")
_OWN = "adjudge"
"""Where a test case that went out from here holds what EvalAssist has no place for."""


def _matches(head: Head) -> bool:
    content = head.document.value("content")
    inside = isinstance(content, str) and '"instances"' in content
    return inside or head.document.has("instances", "criteria")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if file.head.form == "table":
        yield from _table(file, log)
        return
    content = _content(file)
    version = content.raw.get("contentFormatVersion", "not said")
    log.version = f"content version {version}"
    if isinstance(version, int) and version > _VERSION:
        raise RunError(
            "{name} is a test case of content version {version}, and versions up to "
            "{newest} are read",
            name=file.name,
            version=version,
            newest=_VERSION,
        )
    log.use(
        {"instances": "rows", "result": "votes", "expectedResult": "labels", "criteria": "criteria"}
    )
    log.whole = {
        "name": file.document(("name",)).value("name"),
        **{name: content[name] for name in _CASE if name in content},
    }
    question, model = _question(content, log), _model(content)
    for place, instance in enumerate(content.objects("instances"), 1):
        compares = isinstance(instance.value("responses"), list)
        asked = replace(question, kind="comparison", options=()) if compares else question
        yield RecordedRow(
            judge=by_model(asked.name, model),
            question=asked,
            fields=_fields(instance, asked),
            id=instance.text("id") or f"instance {place}",
            votes=tuple(_votes(instance.nested("result"), asked, model)),
            marks=tuple(_marks(instance.value("expectedResult"), asked, log)),
            more={name: value for name, value in instance.raw.items() if name not in _ROW},
        )


def _content(file: ForeignFile) -> ForeignRecord:
    inner = file.document(("content",)).value("content")
    if not isinstance(inner, str):
        return file.document(*((name,) for name in file.head.document))
    try:
        return ForeignRecord({"content": json.loads(inner)}).nested("content")
    except (ValueError, RecursionError) as error:
        raise RunError(
            "{name}: its content is not JSON: {error}", name=file.name, error=str(error)[:200]
        ) from error


def _model(content: ForeignRecord) -> str:
    judge = content.nested("judge")
    return (
        judge.nested("params").text("model", "model_name")
        or content.nested("evaluator").text("name", "id")
        or judge.text("name").removeprefix("eval_assist")  # the usual one, whatever model it asks
        or NOT_SAID
    )


def _question(content: ForeignRecord, log: ImportLog) -> RecordedQuestion:
    criteria, compares = content.nested("criteria"), content.value("type") == "pairwise"
    named = ((one.text("name"), one.raw) for one in criteria.objects("options"))
    found = [*criteria.nested("options").raw.items(), *named]
    options = tuple(_option(name, one) for name, one in found if name)
    context = tuple(map(text, criteria.values("contextFields")))
    judged = criteria.value("predictionField") or content.value("responseVariableName")
    settings = {name: content.nested(name).raw for name in ("judge", "evaluator")}
    question = RecordedQuestion(
        criteria.text("name") or "criteria",
        criteria.text("description", "criteria"),
        "comparison" if compares else "choice",
        options=() if compares else options,
        to_evaluate_field=text(judged) or "response",
        context_fields=context if isinstance(criteria.value("contextFields"), list) else None,
        higher_is_better=criteria.nested(_OWN).value("higher_is_better") is not False,
        settings={name: one for name, one in settings.items() if one},
    )
    return replace(question, examples=tuple(_examples(content, question, log)))


def _examples(
    content: ForeignRecord, question: RecordedQuestion, log: ImportLog
) -> Iterator[CriteriaExample]:
    for one in content.objects("examples"):
        answer = _answer(one.value("expectedResult"), question)
        if answer is None:
            log.skip(Message("example without an expected result"))
            continue
        label = letter(answer) if isinstance(answer, int) else answer
        yield CriteriaExample(_fields(one, question), label, _own(one).text("explanation"))


def _option(name: str, one: Json) -> CriteriaOption:
    if isinstance(one, str):
        return CriteriaOption(name, one)
    known = ForeignRecord(one if isinstance(one, Mapping) else {})
    return CriteriaOption(name, known.text("description"), known.number("score"))


def _fields(instance: ForeignRecord, question: RecordedQuestion) -> Texts:
    """The context, an empty one too, and what is judged.

    A list that went out as one text comes back, unless it was edited.
    """
    lists = _own(instance).nested("lists")
    context = {
        **instance.nested("contextVariables").raw,
        **{one.text("name"): one.value("value") for one in instance.objects("contextVariables")},
    }
    shown: Texts = {name: text(value) for name, value in context.items() if name}
    for name in shown:
        parts = tuple(map(text, lists.values(name)))
        if name in lists and "\n\n".join(parts) == shown[name]:
            shown[name] = parts
    key = "responses" if question.kind == "comparison" else "response"
    responses = tuple(
        text(one.get("value") if isinstance(one, Mapping) else one) for one in instance.values(key)
    )
    return {**shown, question.to_evaluate_field: responses or instance.text(key)}


def _own(instance: ForeignRecord) -> ForeignRecord:
    return instance.nested("metadata").nested(_OWN)


def _votes(result: ForeignRecord, question: RecordedQuestion, model: str) -> Iterator[RecordedVote]:
    if not result:
        return
    yield replace(_vote(result, question, model), more={"result": result.raw})
    other = result.nested("positionalBias").nested("result")
    if option := result.value("positionalBiasOption"):
        other = other or ForeignRecord({"selectedOption": option})
    if other:
        yield replace(_vote(other, question, model), swapped=True)


def _best(result: ForeignRecord) -> Json:
    """The response that wins most contests, where the result names none."""
    named = [one for name in result if "winrate" in (one := result.nested(name))]
    rates = [one.number("winrate") for one in result.objects("perSystemResults") or named]
    known = [rate for rate in rates if rate is not None]
    best = [place for place, rate in enumerate(rates) if known and rate == max(known)]
    return None if not best or len(known) != len(rates) else best[0] if len(best) == 1 else TIE


def _vote(result: ForeignRecord, question: RecordedQuestion, model: str) -> RecordedVote:
    about, why = result.nested("metadata"), result.text("explanation", "summary")
    vote = RecordedVote(
        model=model,
        explanation=why,
        feedback=result.text("feedback"),
        text=about.text("unparsed_response"),
    )
    compares, chosen = question.kind == "comparison", result.value("selectedOption", "option")
    chosen = _best(result) if chosen is None and compares else chosen
    answer = _answer(chosen, question)
    if about.value("generation_failed") is True:  # what stands there as chosen was drawn at random
        return vote.with_failure(
            about.value("parsing_error") or Message("the reply could not be read"),
            unreadable=True,
        )
    if answer is None and chosen not in (None, ""):
        return vote.with_failure(
            Message("{answer!r} is none of the options", answer=text(chosen)), unreadable=True
        )
    if answer is None:
        return vote.with_failure(why or Message("the result names no option"))
    return vote.with_answer(answer, result.number("score") if question.kind == "choice" else None)


def _answer(chosen: Json, question: RecordedQuestion) -> str | int | None:
    """None: it is not an answer to what was asked."""
    if chosen is None or chosen == "":
        return None
    if question.kind == "choice":
        known = [option.name for option in question.options]
        return text(chosen) if text(chosen) in known or not known else None
    if str(chosen).casefold() == TIE:
        return TIE
    place = number(chosen)
    return int(place) if place is not None and place.is_integer() and place >= 0 else None


def _marks(expected: Json, question: RecordedQuestion, log: ImportLog) -> Iterator[Mark]:
    answer = _answer(expected, question)
    if answer is not None:
        yield Mark(answer=answer, annotator="expected")
    elif expected not in (None, ""):
        log.skip(
            Message(
                "expected result {answer!r}, which is none of the options", answer=text(expected)
            )
        )


def _table(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    """The data of a test case has no verdicts: its last column is what is judged."""
    for record in file.records():
        judged = "response" if "response" in record else [*record][-1]
        fields = fields_of({name: one for name, one in record.raw.items() if name != judged})
        log.use({judged: "response"})
        yield RecordedRow(
            question=RecordedQuestion("quality", "Is the response good?"),
            fields={**fields, "response": record.text(judged)},
            id=record.name(),
        )


EVALASSIST = Format(
    "evalassist", Message("EvalAssist test case"), "eval-assist 5a1bd42", _matches, _read
)
