"""Import EvalAssist's test cases, and their data as CSV.

A CSV needs ``--as evalassist``: a plain table does not show its format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from adjudge.core.domain.criteria import CriteriaExample, CriteriaOption
from adjudge.core.domain.verdict import TIE, letter
from adjudge.errors import RunError
from adjudge.features.compat.evalassist_export import OWN, POOLED
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
from adjudge.runs.exporters.judgment_metadata import FAILURE, RELATED

_VERSION = 2
# What a test case says beside its rows.
_CASE = ("evaluator", "pipeline", "criteria", "syntheticGenerationConfig", "examples", "judge")
_ROW = ("contextVariables", "response", "responses", "result", "expectedResult", "id")


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
            "{name} is a test case of content version {version}; versions up to {newest} can be "
            "read",
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
        row_question = replace(question, kind="comparison", options=()) if compares else question
        yield RecordedRow(
            judge=by_model(row_question.name, model),
            question=row_question,
            fields=_fields(instance, row_question),
            id=instance.text("id") or f"instance {place}",
            votes=tuple(_votes(instance, row_question, model)),
            marks=tuple(_marks(instance.value("expectedResult"), row_question, log)),
            systems=_systems(instance),
            more={
                **{name: value for name, value in instance.raw.items() if name not in _ROW},
                **_own(instance).keep(*RELATED),
            },
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
    listed_options = ((option.text("name"), option.raw) for option in criteria.objects("options"))
    pairs = [*criteria.nested("options").raw.items(), *listed_options]
    options = tuple(_option(name, data) for name, data in pairs if name)
    context = tuple(map(text, criteria.values("contextFields")))
    judged_field = criteria.value("predictionField") or content.value("responseVariableName")
    settings = {name: content.nested(name).raw for name in ("judge", "evaluator")}
    question = RecordedQuestion(
        criteria.text("name") or "criteria",
        criteria.text("description", "criteria"),
        "comparison" if compares else "choice",
        options=() if compares else options,
        to_evaluate_field=text(judged_field) or "response",
        context_fields=context if isinstance(criteria.value("contextFields"), list) else None,
        higher_is_better=criteria.nested(OWN).value("higher_is_better") is not False,
        settings={name: values for name, values in settings.items() if values},
    )
    return replace(question, examples=tuple(_examples(content, question, log)))


def _examples(
    content: ForeignRecord, question: RecordedQuestion, log: ImportLog
) -> Iterator[CriteriaExample]:
    for example in content.objects("examples"):
        answer = _answer(example.value("expectedResult"), question)
        if answer is None:
            log.skip(Message("example without an expected result"))
            continue
        label = letter(answer) if isinstance(answer, int) else answer
        yield CriteriaExample(_fields(example, question), label, _own(example).text("explanation"))


def _option(name: str, data: Json) -> CriteriaOption:
    if isinstance(data, str):
        return CriteriaOption(name, data)
    record = ForeignRecord(data if isinstance(data, Mapping) else {})
    return CriteriaOption(name, record.text("description"), record.number("score"))


def _fields(instance: ForeignRecord, question: RecordedQuestion) -> Texts:
    """Return the context, including empty texts, and the judged text.

    A list that was exported as one text is restored, unless the text has been edited.
    """
    lists = _own(instance).nested("lists")
    context = {
        **instance.nested("contextVariables").raw,
        **{
            entry.text("name"): entry.value("value")
            for entry in instance.objects("contextVariables")
        },
    }
    texts: Texts = {name: text(value) for name, value in context.items() if name}
    for name in texts:
        parts = tuple(map(text, lists.values(name)))
        # equal only if nobody edited the text
        if name in lists and "\n\n".join(parts) == texts[name]:
            texts[name] = parts
    key = "responses" if question.kind == "comparison" else "response"
    responses = tuple(
        text(entry.get("value") if isinstance(entry, Mapping) else entry)
        for entry in instance.values(key)
    )
    return {**texts, question.to_evaluate_field: responses or instance.text(key)}


def _own(instance: ForeignRecord) -> ForeignRecord:
    return instance.nested("metadata").nested(OWN)


def _systems(instance: ForeignRecord) -> tuple[str, ...]:
    """Return the names of the responses, if adjudge exported them and their number is the same."""
    names = tuple(map(text, _own(instance).values("systems")))
    return names if len(names) == len(instance.values("responses")) else ()


def _votes(
    instance: ForeignRecord, question: RecordedQuestion, model: str
) -> Iterator[RecordedVote]:
    result = instance.nested("result")
    if not result:
        yield from _failed_votes(_own(instance), model)
        return
    votes = _votes_in(result, question, model, len(instance.values("responses")))
    yield replace(votes[0], more={"result": result.raw})
    yield from votes[1:]
    reversed_result = result.nested("positionalBias").nested("result")
    if option := result.value("positionalBiasOption"):
        reversed_result = reversed_result or ForeignRecord({"selectedOption": option})
    # adjudge says if it has pooled the reversed order already
    if reversed_result and not _own(result).value(POOLED):
        for vote in _votes_in(reversed_result, question, model, len(instance.values("responses"))):
            yield replace(vote, swapped=True)


def _failed_votes(own: ForeignRecord, model: str) -> Iterator[RecordedVote]:
    """Yield the vote of a row that had no score when adjudge exported it."""
    if failure := own.text(FAILURE):
        yield RecordedVote(model=model).with_outcome(failure, own.value("reason"))


def _votes_in(
    result: ForeignRecord, question: RecordedQuestion, model: str, responses: int
) -> list[RecordedVote]:
    """Return a result as one vote, or as a vote for each contest of three or more responses."""
    vote = _vote(result, question, model)
    contests = _contests(result, responses) if question.kind == "comparison" else {}
    if vote.answer is None or not contests:
        return [vote]
    if responses > 2:
        return [
            replace(vote, compared=pair, answer=answer, explanation=why or vote.explanation)
            for pair, (answer, why) in contests.items()
        ]
    first, second = (system.number("winrate") for system in result.objects("perSystemResults"))
    if first is None or second is None or first in (0.0, 0.5, 1.0):
        return [vote]
    return [replace(vote, distribution={"0": first, "1": second})]


def _contests(
    result: ForeignRecord, responses: int
) -> dict[tuple[int, int], tuple[str | int, str]]:
    """Return pair → its winner, or tie, and why; empty unless every pair has one outcome."""
    systems = result.objects("perSystemResults")
    contests: dict[tuple[int, int], tuple[str | int, str]] = {}
    for place, system in enumerate(systems):
        explanations = [*system.values("explanations")]
        for number_of_contest, (won, other) in enumerate(
            zip(system.values("contestResults"), system.values("comparedTo"), strict=False)
        ):
            if not isinstance(other, int) or isinstance(other, bool) or other == place:
                return {}
            winner = TIE if won in (TIE, 0.5) else place if won in (True, 1) else other
            pair = min(place, other), max(place, other)
            why = text(explanations[number_of_contest]) if explanations else ""
            if contests.setdefault(pair, (winner, why))[0] != winner:
                return {}
    expected = {*combinations(range(responses), 2)}
    return contests if contests.keys() == expected and len(systems) == responses else {}


def _best(result: ForeignRecord) -> Json:
    """Return the response with the highest win rate, or a tie; None if a rate is missing."""
    by_name = [system for name in result if "winrate" in (system := result.nested(name))]
    systems = result.objects("perSystemResults") or by_name
    rates = [system.number("winrate") for system in systems]
    known_rates = [rate for rate in rates if rate is not None]
    best = [place for place, rate in enumerate(rates) if known_rates and rate == max(known_rates)]
    return (
        None if not best or len(known_rates) != len(rates) else best[0] if len(best) == 1 else TIE
    )


def _vote(result: ForeignRecord, question: RecordedQuestion, model: str) -> RecordedVote:
    about, why = result.nested("metadata"), result.text("explanation", "summary")
    vote = RecordedVote(
        model=model,
        explanation=why,
        feedback=result.text("feedback"),
        text=about.text("unparsed_response"),
    )
    compares, option = question.kind == "comparison", result.value("selectedOption", "option")
    option = _best(result) if option is None and compares else option
    answer = _answer(option, question)
    # EvalAssist then draws the option at random
    if about.value("generation_failed") is True:
        return vote.with_failure(
            about.value("parsing_error") or Message("the reply could not be read"),
            unreadable=True,
        )
    if answer is None and option not in (None, ""):
        return vote.with_failure(
            Message("{answer!r} is not one of the options", answer=text(option)), unreadable=True
        )
    if answer is None:
        return vote.with_failure(why or Message("the result names no option"))
    return vote.with_answer(answer, result.number("score") if question.kind == "choice" else None)


def _answer(raw_option: Json, question: RecordedQuestion) -> str | int | None:
    """Return the answer; None if it is empty or not a valid answer to the question."""
    if raw_option is None or raw_option == "":
        return None
    if question.kind == "choice":
        names = [option.name for option in question.options]
        return text(raw_option) if text(raw_option) in names or not names else None
    if str(raw_option).casefold() == TIE:
        return TIE
    place = number(raw_option)
    return int(place) if place is not None and place.is_integer() and place >= 0 else None


def _marks(expected: Json, question: RecordedQuestion, log: ImportLog) -> Iterator[Mark]:
    answer = _answer(expected, question)
    if answer is not None:
        yield Mark(answer=answer, annotator="expected")
    elif expected not in (None, ""):
        log.skip(
            Message(
                "expected result {answer!r}, which is not one of the options", answer=text(expected)
            )
        )


def _table(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    """Read a test case's data, which has no verdicts.

    The column ``response``, or else the last one, is judged.
    """
    for record in file.records():
        judged_column = "response" if "response" in record else [*record][-1]
        fields = fields_of(
            {name: cell for name, cell in record.raw.items() if name != judged_column}
        )
        log.use({judged_column: "response"})
        yield RecordedRow(
            question=RecordedQuestion("quality", "Is the response good?"),
            fields={**fields, "response": record.text(judged_column)},
            id=record.name(),
        )


EVALASSIST = Format(
    "evalassist", Message("EvalAssist test case"), "eval-assist 5a1bd42", _matches, _read
)
