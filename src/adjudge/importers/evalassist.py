"""EvalAssist: exported test cases, and their data as CSV (that by ``--as evalassist``: a bare table
tells nobody what it is).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.domain.criteria import CriteriaExample, CriteriaOption
from adjudge.domain.verdict import TIE, letter
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.importers.format import Format
from adjudge.importers.record import NOT_SAID, Asked, Left, Mark, Recorded, RecordedVote, by_model
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, listed, mapping, number, text

_VERSION = 2
_CASE = ("evaluator", "pipeline", "criteria", "syntheticGenerationConfig", "examples", "judge")
"""What a test case says beside its rows."""
_ROW = ("contextVariables", "response", "responses", "result", "expectedResult", "id")
_OWN = "adjudge"
"""Where a test case that went out from here holds what EvalAssist has no place for."""


def _matches(head: Head) -> bool:
    content = head.document.get("content")
    return (isinstance(content, str) and '"instances"' in content) or {
        "instances",
        "criteria",
    } <= head.document.keys()


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    if head.form == "table":
        yield from _table(file, left)
        return
    content = _content(file)
    version = content.get("contentFormatVersion", "not said")
    left.version = f"content version {version}"
    if isinstance(version, int) and version > _VERSION:
        raise RunError(
            "{name} is a test case of content version {version}, and versions up to "
            "{supported} are read",
            name=file.name,
            version=version,
            supported=_VERSION,
        )
    left.use(
        {"instances": "rows", "result": "votes", "expectedResult": "labels", "criteria": "criteria"}
    )
    left.whole = {
        "name": file.value("name"),
        **{name: content[name] for name in _CASE if name in content},
    }
    criteria, model = mapping(content.get("criteria")), _model(content)
    asked = _asked(content, criteria, left)
    for place, one in enumerate(listed(content.get("instances"))):
        instance = mapping(one)
        compares = isinstance(instance.get("responses"), list)
        yield _row(
            instance,
            replace(asked, kind="comparison", options=()) if compares else asked,
            model,
            place,
            left,
        )


def _content(file: ForeignFile) -> Mapping[str, object]:
    inner = file.value("content")
    if not isinstance(inner, str):
        return {
            path[0]: value
            for path, value in file.walk((), tuple((name,) for name in file.head.document))
        }
    try:
        return mapping(json.loads(inner))
    except (ValueError, RecursionError) as error:
        raise RunError(
            "{name}: its content is not JSON: {error}", name=file.name, error=str(error)[:200]
        ) from error


def _model(content: Mapping[str, object]) -> str:
    judge, evaluator = mapping(content.get("judge")), mapping(content.get("evaluator"))
    settings = mapping(judge.get("params"))
    return (
        text(first(settings, "model", "model_name"))
        or text(first(evaluator, "name", "id"))
        or text(judge.get("name")).removeprefix(
            "eval_assist"
        )  # the usual one, whatever model it asks
        or NOT_SAID
    )


def _asked(content: Mapping[str, object], criteria: Mapping[str, object], left: Left) -> Asked:
    compares = content.get("type") == "pairwise"
    found = criteria.get("options")
    pairs = (
        found.items()
        if isinstance(found, Mapping)
        else ((text(mapping(one).get("name")), one) for one in listed(found))
    )
    options = tuple(option for option in (_option(key, one) for key, one in pairs) if option.name)
    context = criteria.get("contextFields")
    judge, settings = mapping(content.get("judge")), mapping(content.get("evaluator"))
    asked = Asked(
        text(criteria.get("name")) or "criteria",
        text(first(criteria, "description", "criteria")),
        "comparison" if compares else "choice",
        options=() if compares else options,
        to_evaluate_field=text(
            first(criteria, "predictionField") or content.get("responseVariableName")
        )
        or "response",
        context_fields=tuple(map(text, listed(context))) if isinstance(context, list) else None,
        higher_is_better=mapping(criteria.get(_OWN)).get("higher_is_better") is not False,
        settings={name: one for name, one in (("judge", judge), ("evaluator", settings)) if one},
    )
    return replace(asked, examples=tuple(_examples(content, asked, left)))


def _examples(content: Mapping[str, object], asked: Asked, left: Left) -> Iterator[CriteriaExample]:
    for one in map(mapping, listed(content.get("examples"))):
        answer = _answer(one.get("expectedResult"), asked)
        if answer is None:
            left.out("example without an expected result")
            continue
        label = letter(answer) if isinstance(answer, int) else text(answer)
        yield CriteriaExample(_fields(one, asked), label, text(_own(one).get("explanation")))


def _option(name: str, one: object) -> CriteriaOption:
    if isinstance(one, str):
        return CriteriaOption(name, one)
    return CriteriaOption(
        name, text(mapping(one).get("description")), number(mapping(one).get("score"))
    )


def _row(
    instance: Mapping[str, object], asked: Asked, model: str, place: int, left: Left
) -> Recorded:
    return Recorded(
        judge=by_model(asked.name, model),
        asked=asked,
        fields=_fields(instance, asked),
        id=text(instance.get("id")) or f"instance {place + 1}",
        votes=tuple(_votes(mapping(instance.get("result")), asked, model)),
        marks=tuple(_marks(instance.get("expectedResult"), asked, left)),
        more={name: value for name, value in instance.items() if name not in _ROW},
    )


def _fields(instance: Mapping[str, object], asked: Asked) -> dict[str, str | tuple[str, ...]]:
    """The context, an empty one too, and what is judged.

    A list that went out as one text comes back, unless it was edited.
    """
    lists = {
        name: tuple(map(text, listed(value)))
        for name, value in mapping(_own(instance).get("lists")).items()
    }
    context = {name: text(value) for name, value in _context(instance).items()}
    shown = {
        name: lists[name] if "\n\n".join(lists.get(name, ())) == value and name in lists else value
        for name, value in context.items()
    }
    answer = instance.get("responses" if asked.kind == "comparison" else "response")
    responses = tuple(
        text(mapping(one).get("value") if isinstance(one, Mapping) else one)
        for one in listed(answer)
    )
    return {
        **{name: value for name, value in shown.items() if name},
        asked.to_evaluate_field: responses or text(answer),
    }


def _own(instance: Mapping[str, object]) -> Mapping[str, object]:
    return mapping(mapping(instance.get("metadata")).get(_OWN))


def _context(instance: Mapping[str, object]) -> dict[str, object]:
    found = instance.get("contextVariables")
    if isinstance(found, Mapping):
        return dict(found)
    return {text(mapping(one).get("name")): mapping(one).get("value") for one in listed(found)}


def _votes(result: Mapping[str, object], asked: Asked, model: str) -> Iterator[RecordedVote]:
    if not result:
        return
    yield replace(_vote(result, asked, model), more={"result": result})
    bias = mapping(result.get("positionalBias"))
    other = mapping(bias.get("result")) or (
        {"selectedOption": result["positionalBiasOption"]}
        if result.get("positionalBiasOption")
        else {}
    )
    if other:
        yield replace(_vote(other, asked, model), swapped=True)


def _best(result: Mapping[str, object]) -> object:
    """The response that wins most contests, where the result names none."""
    systems = listed(result.get("perSystemResults")) or [
        one for one in result.values() if "winrate" in mapping(one)
    ]
    rates = [number(mapping(one).get("winrate")) for one in systems]
    known = [rate for rate in rates if rate is not None]
    best = [place for place, rate in enumerate(rates) if known and rate == max(known)]
    return None if not best or len(known) != len(rates) else best[0] if len(best) == 1 else TIE


def _vote(result: Mapping[str, object], asked: Asked, model: str) -> RecordedVote:
    about, why = mapping(result.get("metadata")), text(first(result, "explanation", "summary"))
    vote = RecordedVote(
        model=model,
        explanation=why or None,
        feedback=text(result.get("feedback")) or None,
        text=text(about.get("unparsed_response")) or None,
    )
    chosen = first(result, "selectedOption", "option")
    chosen = _best(result) if chosen is None and asked.kind == "comparison" else chosen
    answer = _answer(chosen, asked)
    if about.get("generation_failed") is True:  # what stands there as chosen was drawn at random
        return vote.failed(
            about.get("parsing_error") or "the reply could not be read", Outcome.UNREADABLE
        )
    if answer is None and chosen not in (None, ""):
        return vote.failed(f"{text(chosen)!r} is none of the options", Outcome.UNREADABLE)
    if answer is None:
        return vote.failed(why or "the result names no option")
    return vote.said(answer, number(result.get("score")) if asked.kind == "choice" else None)


def _answer(chosen: object, asked: Asked) -> str | int | None:
    """None: it is not an answer to what was asked."""
    if chosen is None or chosen == "":
        return None
    if asked.kind == "choice":
        known = [option.name for option in asked.options]
        return text(chosen) if text(chosen) in known or not known else None
    place = number(chosen)
    if str(chosen).casefold() == TIE:
        return TIE
    return int(place) if place is not None and place.is_integer() and place >= 0 else None


def _marks(expected: object, asked: Asked, left: Left) -> Iterator[Mark]:
    answer = _answer(expected, asked)
    if answer is not None:
        yield Mark(answer=answer, annotator="expected")
    elif expected not in (None, ""):
        left.out(f"expected result {text(expected)!r}, which is none of the options")


def _table(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    """The data of a test case has no verdicts: its last column is what is judged."""
    for place, record in enumerate(file.records()):
        names = list(record)
        judged = "response" if "response" in names else names[-1]
        fields = fields_of({name: value for name, value in record.items() if name != judged})
        left.use({judged: "response"})
        yield Recorded(
            asked=Asked("quality", "Is the response good?"),
            fields={**fields, "response": text(record[judged])},
            id=f"row {place + 1}",
        )


EVALASSIST = Format("evalassist", "EvalAssist test case", "eval-assist 5a1bd42", _matches, _read)
